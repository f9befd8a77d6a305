//! Variances of integers, of which a tree of f64 moments is computed.
//!
//! Nodes over few small integers are not rounded, so that sums of the elements and of their squares say the same: a
//! tile of a row is integer arithmetic, and becomes moments at its end. Wider integers are moments from the first.

use crate::node::{Counted, Node, fields};
use crate::reduce::fold::moments::{counted_moments, halves};
use crate::reduce::fold::{Parts, Tree, no_plain};
use crate::reduce::out::Out;
use crate::reduce::recipe::{Recipe, flag};
use crate::source::Bits;
use core::marker::PhantomData;
use warpfold_core::ops::Moments;
use warpfold_simt::Simt;

/// An integer of 8 or 16 bits, as unsigned.
pub trait Small: Bits {
    /// Nodes of up to this many elements do not round, as the CPU's kernel for small integers argues.
    const EXACT: u32;
    /// Holds the squares of so many.
    type Squares: Node;
    /// The square of an element.
    fn square(x: u32) -> Self::Squares;
    /// Adds.
    fn add(left: Self::Squares, right: Self::Squares) -> Self::Squares;
    /// Sums over the elements of 16 bytes, and over their squares.
    fn sums<S: Simt>(s: &S, words: [u32; 4]) -> (u32, Self::Squares);
    /// In 64 bits.
    fn wide(squares: Self::Squares) -> u64;
}

impl Small for u8 {
    const EXACT: u32 = 4096;
    type Squares = u32;
    #[inline(always)]
    fn square(x: u32) -> u32 {
        x * x
    }
    #[inline(always)]
    fn add(left: u32, right: u32) -> u32 {
        left + right
    }
    #[inline(always)]
    fn sums<S: Simt>(s: &S, words: [u32; 4]) -> (u32, u32) {
        words.into_iter().fold(
            (0, 0),
            #[inline(always)]
            |(sum, squares), word| (s.add_u8x4(word, sum), s.add_squares_u8x4(word, squares)),
        )
    }
    #[inline(always)]
    fn wide(squares: u32) -> u64 {
        squares as u64
    }
}

impl Small for u16 {
    const EXACT: u32 = 2048;
    type Squares = u64;
    #[inline(always)]
    fn square(x: u32) -> u64 {
        x as u64 * x as u64
    }
    #[inline(always)]
    fn add(left: u64, right: u64) -> u64 {
        left + right
    }
    #[inline(always)]
    fn sums<S: Simt>(s: &S, words: [u32; 4]) -> (u32, u64) {
        words.into_iter().fold(
            (0, 0),
            #[inline(always)]
            |(sum, squares), word| {
                let squares = squares + Self::square(word & 0xffff) + Self::square(word >> 16);
                (s.add_u16x2(word, sum), squares)
            },
        )
    }
    #[inline(always)]
    fn wide(squares: u64) -> u64 {
        squares
    }
}

/// The sums of the elements under a node and of their squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Squares<Q> {
    sum: u32,
    squares: Q,
}

fields! { [Q] Squares<Q> { sum: u32, squares: Q } }

/// Variances and standard deviations of integers of 8 and 16 bits. Signed ones are moved up by half their range, which
/// changes no deviation, until they become moments.
#[derive(Clone, Copy)]
pub struct ExactDeviations<B> {
    /// By how much, in each element of a word.
    up: u32,
    kind: PhantomData<B>,
}

impl<B: Small> Parts for ExactDeviations<B> {
    type Part = Counted<Moments<f64>>;
    #[inline(always)]
    fn new(recipe: &Recipe) -> Self {
        let half = if B::SIZE == 1 { 0x8080_8080 } else { 0x8000_8000 };
        Self { up: if recipe.has(flag::UNSIGNED) { 0 } else { half }, kind: PhantomData }
    }
    counted_moments!(all);
}

impl<B: Small> Tree for ExactDeviations<B> {
    type Bits = B;
    type Node = Squares<B::Squares>;
    type Large = Moments<f64>;
    const COMMUTES: bool = true;
    // Zeros change no sum, but the count.
    const NEUTRAL: bool = false;
    const MOST: u32 = B::EXACT;
    no_plain!(plain);
    #[inline(always)]
    fn neutral(&self) -> Self::Node {
        Node::zero()
    }
    #[inline(always)]
    fn lift<S: Simt>(&self, _s: &S, bits: B) -> Self::Node {
        let up = self.up & ((1 << (8 * B::SIZE)) - 1);
        let x = bits.to_bits() as u32 ^ up;
        Squares { sum: x, squares: B::square(x) }
    }
    #[inline(always)]
    fn join(&self, left: Self::Node, right: Self::Node, _each: u32) -> Self::Node {
        Squares { sum: left.sum + right.sum, squares: B::add(left.squares, right.squares) }
    }
    #[inline(always)]
    fn pack<S: Simt>(&self, s: &S, w: &[u32; 4]) -> Self::Node {
        let moved = w.map(
            #[inline(always)]
            |word| word ^ self.up,
        );
        let (sum, squares) = B::sums(s, moved);
        Squares { sum, squares }
    }
    #[inline(always)]
    fn part(&self, node: Self::Node, count: u32) -> Self::Part {
        self.part_large(self.large(node, count), count)
    }
    #[inline(always)]
    fn large(&self, node: Self::Node, each: u32) -> Moments<f64> {
        let (n, sum) = (each as u64, node.sum as u64);
        let m2 = B::wide(node.squares) * n - sum * sum;
        // A power of two.
        let scale = 1.0 / each as f64;
        let up = self.up & ((1 << (8 * B::SIZE)) - 1);
        let mean = (node.sum as i32).wrapping_sub((each * up) as i32);
        Moments { mean: mean as f64 * scale, m2: m2 as f64 * scale }
    }
    #[inline(always)]
    fn join_large(&self, left: Moments<f64>, right: Moments<f64>, each: u32) -> Moments<f64> {
        Moments::of_halves(left, right, each)
    }
    #[inline(always)]
    fn part_large(&self, node: Moments<f64>, count: u32) -> Self::Part {
        Counted { acc: node, count: count as u64 }
    }
}

/// Variances and standard deviations of integers of 32 and 64 bits, as f64.
#[derive(Clone, Copy)]
pub struct IntegerDeviations<B> {
    unsigned: bool,
    kind: PhantomData<B>,
}

impl<B: Bits> IntegerDeviations<B> {
    /// The nearest number to an element.
    #[inline(always)]
    fn number(&self, bits: B) -> f64 {
        let bits = bits.to_bits() as u64;
        if B::SIZE == 8 {
            return if self.unsigned { bits as f64 } else { bits as i64 as f64 };
        }
        // The last digits of 2^52: exact, and cheaper than a conversion. Signed ones are moved up by 2^31.
        let up = if self.unsigned { 0 } else { 1u64 << 31 };
        let one = (1023 + 52) << 52;
        f64::from_bits(one | (bits ^ up)) - f64::from_bits(one | up)
    }
}

impl<B: Bits> Parts for IntegerDeviations<B> {
    type Part = Counted<Moments<f64>>;
    #[inline(always)]
    fn new(recipe: &Recipe) -> Self {
        Self { unsigned: recipe.has(flag::UNSIGNED), kind: PhantomData }
    }
    counted_moments!(all);
}

impl<B: Bits> Tree for IntegerDeviations<B> {
    type Bits = B;
    type Node = Moments<f64>;
    const COMMUTES: bool = false;
    const NEUTRAL: bool = false;
    no_plain!();
    #[inline(always)]
    fn neutral(&self) -> Self::Node {
        Node::zero()
    }
    #[inline(always)]
    fn lift<S: Simt>(&self, _s: &S, bits: B) -> Self::Node {
        Moments { mean: self.number(bits), m2: 0.0 }
    }
    #[inline(always)]
    fn pair<S: Simt>(&self, _s: &S, left: B, right: B) -> Self::Node {
        Moments::of_finite(self.number(left), self.number(right))
    }
    halves!();
}
