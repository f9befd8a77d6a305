//! Two trees beside each other: of elements of 2 bytes in the halves of words.

use crate::reduce::fold::{Parts, Tree, no_plain};
use crate::reduce::out::Out;
use crate::reduce::recipe::Recipe;
use crate::source::Bits;
use warpfold_simt::Simt;

/// The tree of the low halves and that of the high ones, of a fold that has no cheaper tree. Nodes and parts are pairs.
#[derive(Clone, Copy)]
pub struct Twins<F>(pub F);

/// What `f` makes of each half.
#[inline(always)]
fn halves<B: Bits, T>(word: u32, f: impl Fn(B) -> T) -> [T; 2] {
    [f(B::from_bits((word & 0xffff) as u128)), f(B::from_bits((word >> 16) as u128))]
}

impl<F: Parts> Parts for Twins<F> {
    type Part = [F::Part; 2];
    const SWAPS: bool = F::SWAPS;
    #[inline(always)]
    fn new(recipe: &Recipe) -> Self {
        Self(F::new(recipe))
    }
    #[inline(always)]
    fn nothing(&self) -> Self::Part {
        [self.0.nothing(); 2]
    }
    #[inline(always)]
    fn meet(&self, left: Self::Part, right: Self::Part) -> Self::Part {
        [self.0.meet(left[0], right[0]), self.0.meet(left[1], right[1])]
    }
    /// Writes both results, side by side.
    #[inline(always)]
    fn finish<S: Simt>(&self, s: &S, recipe: &Recipe, part: Self::Part, out: Out) {
        self.0.finish(s, recipe, part[0], out);
        self.0.finish(s, recipe, part[1], Out { index: out.index + 1, ..out });
    }
}

impl<F: Tree> Tree for Twins<F> {
    type Bits = u32;
    type Node = [F::Node; 2];
    const COMMUTES: bool = F::COMMUTES;
    const NEUTRAL: bool = F::NEUTRAL;
    no_plain!();
    #[inline(always)]
    fn neutral(&self) -> Self::Node {
        [self.0.neutral(); 2]
    }
    #[inline(always)]
    fn lift<S: Simt>(&self, s: &S, word: u32) -> Self::Node {
        halves(
            word,
            #[inline(always)]
            |bits| self.0.lift(s, bits),
        )
    }
    #[inline(always)]
    fn pair<S: Simt>(&self, s: &S, left: u32, right: u32) -> Self::Node {
        let same = |bits: F::Bits| bits;
        let ([a, b], [c, d]) = (halves(left, same), halves(right, same));
        [self.0.pair(s, a, c), self.0.pair(s, b, d)]
    }
    #[inline(always)]
    fn join(&self, left: Self::Node, right: Self::Node, each: u32) -> Self::Node {
        [self.0.join(left[0], right[0], each), self.0.join(left[1], right[1], each)]
    }
    #[inline(always)]
    fn part(&self, node: Self::Node, count: u32) -> Self::Part {
        [self.0.part(node[0], count), self.0.part(node[1], count)]
    }
}
