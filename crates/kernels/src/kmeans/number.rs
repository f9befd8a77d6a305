//! What points are computed in, f32 or f64, and how sums of it are kept.
//!
//! A coordinate in units becomes two numbers, high and low, which are added up apart. Those of f32 have 16 bits
//! ([`mod@limbs`]), and both sums make one word in global memory. Of f64, the low one has 31 bits and the high one the
//! 31 others and the sign: sums of fewer than 2^32 of them stay below 2^63, so each is a word, no carry is lost, and
//! the mean is made of both.

use crate::kmeans::limbs::{self, limbs};
use crate::kmeans::{Totals, Update};
use warpfold_core::Fixed;
use warpfold_simt::{Atom, Pack, Shared, Simt, Word};

/// Bits of a low number of f64.
const LOW: u32 = 31;

/// `f32` or `f64`.
pub trait Number: Fixed + Word {
    /// What is added up.
    type Part: Atom;
    /// None of it.
    const NONE: Self::Part;
    /// Words of a sum in global memory.
    const WORDS: u32;
    /// The mean of nothing.
    const NAN: Self;

    /// `a * b + c`, rounded once.
    fn fma<S: Simt>(s: &S, a: Self, b: Self, c: Self) -> Self;

    /// Four neighbours in shared memory, where such fours are counted by `at`.
    fn four<S: Simt>(s: &S, array: Shared<Self>, at: u32) -> [Self; 4];

    /// A scale as [`Number::parts`] wants it.
    fn factor(scale: Self) -> Self;

    /// A coordinate, high and low, and what [`Number::less`] takes away.
    fn parts<S: Simt>(s: &S, x: Self, factor: Self) -> [Self::Part; 2];

    /// The sums of so many.
    fn less(sums: [Self::Part; 2], many: u32) -> [Self::Part; 2];

    /// What both sums are.
    fn total(high: Self::Part, low: Self::Part) -> Self::Total;

    /// Adds to the sum of a cluster.
    fn give<S: Simt>(s: &S, totals: &Totals, cluster: u32, coordinate: u32, high: Self::Part, low: Self::Part);

    /// The sum at a place \[cluster\]\[coordinate\], which is zero from then on.
    fn take<S: Simt>(s: &S, totals: &Totals, at: usize) -> Self::Total;

    /// Where the sums are.
    #[inline(always)]
    fn totals(call: &Update) -> Totals {
        Totals::at(call.at.totals, call.clusters, call.dimensions * Self::WORDS)
    }
}

impl Number for f32 {
    type Part = u32;
    const NONE: u32 = 0;
    const WORDS: u32 = 1;
    const NAN: f32 = f32::NAN;

    #[inline(always)]
    fn fma<S: Simt>(s: &S, a: f32, b: f32, c: f32) -> f32 {
        s.fma_f32(a, b, c)
    }

    #[inline(always)]
    fn four<S: Simt>(s: &S, array: Shared<f32>, at: u32) -> [f32; 4] {
        s.get(array.cast::<Pack<f32, 4>>(), at).0
    }

    #[inline(always)]
    fn factor(scale: f32) -> f32 {
        limbs::scale(scale)
    }

    #[inline(always)]
    fn parts<S: Simt>(s: &S, x: f32, factor: f32) -> [u32; 2] {
        limbs(s, x, factor)
    }

    #[inline(always)]
    fn less(sums: [u32; 2], many: u32) -> [u32; 2] {
        let over = many.wrapping_mul(limbs::EACH);
        sums.map(|sum| sum.wrapping_sub(over))
    }

    #[inline(always)]
    fn total(high: u32, low: u32) -> i64 {
        limbs::total(high, low) as i64
    }

    #[inline(always)]
    fn give<S: Simt>(s: &S, totals: &Totals, cluster: u32, coordinate: u32, high: u32, low: u32) {
        totals.add(s, totals.sum(cluster, coordinate), limbs::total(high, low));
    }

    #[inline(always)]
    fn take<S: Simt>(s: &S, totals: &Totals, at: usize) -> i64 {
        totals.take(s, at) as i64
    }
}

impl Number for f64 {
    type Part = u64;
    const NONE: u64 = 0;
    const WORDS: u32 = 2;
    const NAN: f64 = f64::NAN;

    #[inline(always)]
    fn fma<S: Simt>(s: &S, a: f64, b: f64, c: f64) -> f64 {
        s.fma_f64(a, b, c)
    }

    #[inline(always)]
    fn four<S: Simt>(s: &S, array: Shared<f64>, at: u32) -> [f64; 4] {
        let pairs = array.cast::<Pack<f64, 2>>();
        let ([a, b], [c, d]) = (s.get(pairs, 2 * at).0, s.get(pairs, 2 * at + 1).0);
        [a, b, c, d]
    }

    #[inline(always)]
    fn factor(scale: f64) -> f64 {
        scale
    }

    #[inline(always)]
    fn parts<S: Simt>(_: &S, x: f64, factor: f64) -> [u64; 2] {
        let units = x.quantize(factor);
        [(units >> LOW) as u64, units as u64 & ((1 << LOW) - 1)]
    }

    #[inline(always)]
    fn less(sums: [u64; 2], _: u32) -> [u64; 2] {
        sums
    }

    #[inline(always)]
    fn total(high: u64, low: u64) -> i128 {
        ((high as i64 as i128) << LOW) + low as i128
    }

    #[inline(always)]
    fn give<S: Simt>(s: &S, totals: &Totals, cluster: u32, coordinate: u32, high: u64, low: u64) {
        let at = totals.sum(cluster, coordinate * 2);
        totals.add(s, at, high);
        totals.add(s, at + 1, low);
    }

    #[inline(always)]
    fn take<S: Simt>(s: &S, totals: &Totals, at: usize) -> i128 {
        Self::total(totals.take(s, at * 2), totals.take(s, at * 2 + 1))
    }
}
