//! min, max, minmax's halves and the infinity norm: the greatest of integer keys, with all bits flipped for the least.

use crate::reduce::fold::halves::{Halves, greater};
use crate::reduce::fold::key::Key;
use crate::reduce::fold::keys::Keys;
use crate::reduce::fold::{Heap, Parts, as_brief};
use crate::reduce::out::Out;
use crate::reduce::recipe::{Recipe, flag};
use crate::source::Bits;
use warpfold_simt::Simt;

/// Running values of an extreme.
impl<B: Bits, K: Key> Keys<B, K> {
    /// A lane's running value before the first element: of 16-bit ones two keys of [`Halves`].
    #[inline(always)]
    fn start(&self) -> K {
        if B::SIZE == 2 { K::cut(0) } else { K::MIN }
    }

    /// Takes packs.
    #[inline(always)]
    fn take<S: Simt, const N: usize>(&self, s: &S, acc: K, packs: &[[u32; 4]; N]) -> K {
        if B::SIZE != 2 {
            return acc.max(self.most(s, packs));
        }
        K::cut(Halves::<false>::taking(s, self).packs(s, acc.long() as u32, packs) as i64)
    }

    /// Takes one element.
    #[inline(always)]
    fn take_one<S: Simt>(&self, s: &S, acc: K, bits: B) -> K {
        if B::SIZE != 2 {
            return acc.max(self.key(bits));
        }
        let word = bits.to_bits() as u32 * 0x1_0001;
        K::cut(Halves::<false>::taking(s, self).take(s, acc.long() as u32, word) as i64)
    }

    /// The key of a running value.
    #[inline(always)]
    fn end(&self, acc: K) -> K {
        if B::SIZE == 2 { Halves::<false>::of(self).key(self, greater(acc.long() as u32) >> 16) } else { acc }
    }
}

/// The greatest or the least element.
#[derive(Clone, Copy)]
pub struct Extremum<B, K>(pub(super) Keys<B, K>);

impl<B: Bits, K: Key> Parts for Extremum<B, K> {
    const NARROW: bool = true;
    type Part = K;
    const SWAPS: bool = true;
    #[inline(always)]
    fn new(recipe: &Recipe) -> Self {
        Self(Keys::new(recipe, false))
    }
    #[inline(always)]
    fn nothing(&self) -> K {
        K::MIN
    }
    #[inline(always)]
    fn meet(&self, left: K, right: K) -> K {
        left.max(right)
    }
    #[inline(always)]
    fn narrow<S: Simt>(&self, _s: &S, recipe: &Recipe, part: K) -> u32 {
        self.result(recipe, part) as u32
    }
    #[inline(always)]
    fn finish<S: Simt>(&self, s: &S, recipe: &Recipe, part: K, out: Out) {
        self.0.write(s, recipe, self.result(recipe, part), out);
    }
}

impl<B: Bits, K: Key> Extremum<B, K> {
    /// The bits of the result.
    #[inline(always)]
    fn result(&self, recipe: &Recipe, part: K) -> u64 {
        self.0.bits(part.max(self.0.initial(recipe)))
    }
}

impl<B: Bits, K: Key> Heap for Extremum<B, K> {
    type Bits = B;
    type Acc = K;
    const REPEATS: bool = true;
    const TOGETHER: bool = B::SIZE == 8;
    as_brief!();
    #[inline(always)]
    fn blank(&self) -> Option<B> {
        self.0.lowest()
    }
    #[inline(always)]
    fn start(&self) -> K {
        self.0.start()
    }
    #[inline(always)]
    fn pack<S: Simt>(&self, s: &S, acc: K, words: &[u32; 4], _place: u32) -> K {
        self.0.take(s, acc, &[*words])
    }
    #[inline(always)]
    fn packs<S: Simt, const N: usize>(&self, s: &S, acc: K, packs: &[[u32; 4]; N]) -> K {
        self.0.take(s, acc, packs)
    }
    #[inline(always)]
    fn two<S: Simt>(&self, s: &S, packs: &[[u32; 4]; 2], _count: [u32; 2]) -> K {
        self.0.take(s, self.start(), packs)
    }
    #[inline(always)]
    fn one<S: Simt>(&self, s: &S, acc: K, bits: B, _place: u32) -> K {
        self.0.take_one(s, acc, bits)
    }
    #[inline(always)]
    fn part(&self, acc: K) -> K {
        self.0.end(acc)
    }
}

/// The least and the greatest element; two outputs each.
#[derive(Clone, Copy)]
pub struct MinMax<B, K> {
    pub(super) least: Keys<B, K>,
    pub(super) greatest: Keys<B, K>,
}

impl<B: Bits, K: Key> Parts for MinMax<B, K> {
    /// Both as keys of which the greatest is looked for.
    type Part = (K, K);
    const RESULTS: u64 = 2;
    const SWAPS: bool = true;
    #[inline(always)]
    fn new(recipe: &Recipe) -> Self {
        let with = |least: u32| Keys::new(&Recipe { flags: recipe.flags & !flag::LEAST | least, ..*recipe }, false);
        Self { least: with(flag::LEAST), greatest: with(0) }
    }
    #[inline(always)]
    fn nothing(&self) -> (K, K) {
        (K::MIN, K::MIN)
    }
    #[inline(always)]
    fn meet(&self, left: (K, K), right: (K, K)) -> (K, K) {
        (left.0.max(right.0), left.1.max(right.1))
    }
    #[inline(always)]
    fn finish<S: Simt>(&self, s: &S, recipe: &Recipe, part: (K, K), out: Out) {
        self.least.write(s, recipe, self.least.bits(part.0), out);
        // `Out` counts elements, of which there are two to each result.
        self.greatest.write(s, recipe, self.greatest.bits(part.1), Out { index: out.index + 1, ..out });
    }
}

impl<B: Bits, K: Key> Heap for MinMax<B, K> {
    type Bits = B;
    type Acc = (K, K);
    const REPEATS: bool = true;
    as_brief!();
    #[inline(always)]
    fn start(&self) -> (K, K) {
        (self.least.start(), self.greatest.start())
    }
    #[inline(always)]
    fn pack<S: Simt>(&self, s: &S, acc: (K, K), words: &[u32; 4], _place: u32) -> (K, K) {
        (self.least.take(s, acc.0, &[*words]), self.greatest.take(s, acc.1, &[*words]))
    }
    #[inline(always)]
    fn two<S: Simt>(&self, s: &S, packs: &[[u32; 4]; 2], _count: [u32; 2]) -> (K, K) {
        let start = self.start();
        (self.least.take(s, start.0, packs), self.greatest.take(s, start.1, packs))
    }
    #[inline(always)]
    fn one<S: Simt>(&self, s: &S, acc: (K, K), bits: B, _place: u32) -> (K, K) {
        (self.least.take_one(s, acc.0, bits), self.greatest.take_one(s, acc.1, bits))
    }
    #[inline(always)]
    fn part(&self, acc: (K, K)) -> (K, K) {
        (self.least.end(acc.0), self.greatest.end(acc.1))
    }
}
