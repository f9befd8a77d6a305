//! Blocks of the variance. Of floats: means and sums of squares in arrays of their own, so that both are vectors. Of small
//! integers: sums, as long as no node of the tree rounds.

use std::mem::MaybeUninit;

use warpfold_core::ops::{Deviation, Moments, Plain};
use warpfold_core::{Accumulate, Element, Float, Real, Reducer};

use super::dense::fold_dense;
use super::halves::Wide;
use super::kernel::Kernel;
use super::panel::{block_of_each, fold_short_rows};
use super::policy::{AHEAD, BLOCK, PANEL};
use super::simd::{Simd, at_level, prefetch, vectorize};
use super::tree::{Level, Ragged, climb, tree_levels};

/// The variance of floats, and of integers as floats.
#[derive(Clone)]
pub struct Spread<T>(pub Deviation<T, Plain>);

impl<T: Wide> Kernel for Spread<T> {
    type R = Deviation<T, Plain>;

    fn reducer(&self) -> &Self::R {
        &self.0
    }

    fn block(&self, x: &[T], start: u64) -> Moments<T::Float> {
        at_level(
            #[inline(always)]
            |level| spread(level, &self.0, x, start),
        )
    }
}

/// Elements under each node that a piece leaves.
const LEAF: usize = 8;

/// The tree over a block, in pieces of as many bytes for either width.
#[inline(always)]
fn spread<T: Wide>(level: Simd, reducer: &Deviation<T>, x: &[T], start: u64) -> Moments<T::Float> {
    match size_of::<T::Float>() {
        4 => spread_pieces::<T, 256, 128, 64, 32>(level, reducer, x, start),
        _ => spread_pieces::<T, 128, 64, 32, 16>(level, reducer, x, start),
    }
}

/// The same, in pieces of `P` elements, `P2` pairs, `P4` fours and `P8` leaves. The arithmetic is [`Deviation`]'s for equal
/// halves.
#[inline(always)]
fn spread_pieces<T: Wide, const P: usize, const P2: usize, const P4: usize, const P8: usize>(
    level: Simd,
    reducer: &Deviation<T>,
    x: &[T],
    start: u64,
) -> Moments<T::Float> {
    const LEAVES: usize = BLOCK / LEAF;
    const LEAST: usize = 128;
    const { assert!(P >= LEAST && P == LEAF * P8) };
    let (pieces, rest) = x.as_chunks::<P>();
    // Levels take turns in two pairs of arrays.
    let (mut means, mut m2s) = ([T::Float::ZERO; LEAVES], [T::Float::ZERO; LEAVES]);
    let (mut next_means, mut next_m2s) = ([T::Float::ZERO; LEAVES / 2], [T::Float::ZERO; LEAVES / 2]);
    let leaves = means.as_chunks_mut::<P8>().0.iter_mut().zip(m2s.as_chunks_mut::<P8>().0);
    for (piece, (means, m2s)) in pieces.iter().zip(leaves) {
        prefetch(piece.as_ptr().wrapping_byte_add(AHEAD), P);
        // The deviation of one element, x - x, is left out: it is 0 unless x is not finite, and then what follows is not.
        let (mean, m2) = pair::<_, P, P2>(&T::widen(level, piece));
        let (mean, m2) = halve::<_, P2, P4>(&mean, &m2, 2);
        (*means, *m2s) = halve::<_, P4, P8>(&mean, &m2, 4);
    }
    let mut from = (&mut means[..], &mut m2s[..]);
    let mut to = (&mut next_means[..], &mut next_m2s[..]);
    let (mut nodes, mut weight) = (pieces.len() * P8, LEAF);
    while weight < P {
        nodes /= 2;
        level_up(weight, nodes, (from.0, from.1), (to.0, to.1));
        weight *= 2;
        std::mem::swap(&mut from, &mut to);
    }
    let mut a: Level<Moments<T::Float>, { BLOCK / LEAST }> = [const { MaybeUninit::uninit() }; BLOCK / LEAST];
    let mut b: Level<Moments<T::Float>, { BLOCK / LEAST / 2 }> = [const { MaybeUninit::uninit() }; BLOCK / LEAST / 2];
    for ((node, &mean), &m2) in a[..nodes].iter_mut().zip(&*from.0).zip(&*from.1) {
        node.write(Moments { mean, m2 });
    }
    let mut ragged = Ragged { tail: None };
    if !rest.is_empty() {
        let at = start + (nodes * P) as u64;
        ragged.prepend(reducer, tree_levels(reducer, rest, at), rest.len() as u64);
    }
    // SAFETY: there is a node per piece.
    unsafe { climb(reducer, &mut a, &mut b, nodes, P as u64, &mut ragged) };
    let node = ragged.tail.expect("a block is not empty").0;
    if node.m2.sub(node.m2) == T::Float::ZERO { node } else { not_finite(reducer, x, start) }
}

/// A block with infinities or NaN in it, or with squares that overflow: whatever they meet on the way up, the root's sum
/// of squares is not finite either, for no two of them have opposite signs.
#[cold]
#[inline(never)]
fn not_finite<T: Wide>(reducer: &Deviation<T>, x: &[T], start: u64) -> Moments<T::Float> {
    tree_levels(reducer, x, start)
}

/// One level up, to `n` nodes, from twice as many of `weight` elements each.
#[inline(always)]
fn level_up<F: Float>(weight: usize, n: usize, from: (&[F], &[F]), to: (&mut [F], &mut [F])) {
    let half = F::from_count(weight as u64).half();
    let (mean, m2) = (&from.0[..2 * n], &from.1[..2 * n]);
    let (means, m2s) = (&mut to.0[..n], &mut to.1[..n]);
    for i in 0..n {
        let d = mean[2 * i + 1].sub(mean[2 * i]);
        means[i] = mean[2 * i].add(d.half());
        m2s[i] = m2[2 * i].add(m2[2 * i + 1]).add(d.square().mul(half));
    }
}

/// The lowest level, of finite elements.
#[inline(always)]
fn pair<F: Float, const M: usize, const N: usize>(x: &[F; M]) -> ([F; N], [F; N]) {
    let (mut means, mut m2s) = ([F::ZERO; N], [F::ZERO; N]);
    for i in 0..N {
        Moments { mean: means[i], m2: m2s[i] } = Moments::of_finite(x[2 * i], x[2 * i + 1]);
    }
    (means, m2s)
}

/// One level up, from nodes of `weight` elements.
#[inline(always)]
fn halve<F: Float, const M: usize, const N: usize>(mean: &[F; M], m2: &[F; M], weight: u64) -> ([F; N], [F; N]) {
    let half = F::from_count(weight).half();
    let (mut means, mut m2s) = ([F::ZERO; N], [F::ZERO; N]);
    for i in 0..N {
        let d = mean[2 * i + 1].sub(mean[2 * i]);
        means[i] = mean[2 * i].add(d.half());
        m2s[i] = m2[2 * i].add(m2[2 * i + 1]).add(d.square().mul(half));
    }
    (means, m2s)
}

/// Integers so small that the sums of a few thousand of them and of their squares are exact.
pub trait Small: Element<Float = f64> {
    /// Nodes of up to this many elements do not round. With b bits per element and 2^k of them, their mean is a multiple of
    /// 2^-k below 2^b, the difference of two halves' means takes b+k-1 bits, its square 2(b+k-1), and the sum of squared
    /// deviations, a multiple of 2^-k below 2^(k+2b-2), 2(b+k-1) bits, too: at most 53 for b = 8, k = 12 and b = 16, k = 11.
    const EXACT: usize;

    /// The sum and the sum of squares of at most [`Small::EXACT`] elements.
    fn sums(x: &[Self]) -> (i64, i64);
}

macro_rules! small {
    ($($t:ty, $exact:literal, $sum:ty, $square:ty, $squares:ty);*) => {$(
        impl Small for $t {
            const EXACT: usize = $exact;

            #[inline(always)]
            fn sums(x: &[Self]) -> (i64, i64) {
                const LANES: usize = 32;
                const { assert!($exact <= 128 * LANES) };
                let (mut sums, mut squares) = ([0 as $sum; LANES], [0 as $squares; LANES]);
                let (pieces, tail) = x.as_chunks::<LANES>();
                for piece in pieces {
                    for i in 0..LANES {
                        sums[i] += piece[i] as $sum;
                        squares[i] += (piece[i] as $square * piece[i] as $square) as $squares;
                    }
                }
                let sum = sums.iter().map(|&x| x as i64).sum::<i64>() + tail.iter().map(|&x| x as i64).sum::<i64>();
                let squares = squares.iter().map(|&x| x as i64).sum::<i64>();
                (sum, squares + tail.iter().map(|&x| x as i64 * x as i64).sum::<i64>())
            }
        }
    )*};
}
// No lane overflows: 128 additions of 8 bits fit 16, and of 16 bits 32; a square takes twice the bits of its root.
small!(i8, 4096, i16, i16, i32; u8, 4096, u16, u16, u32; i16, 2048, i32, i32, i64; u16, 2048, u32, u32, u64);

/// The variance of small integers.
#[derive(Clone)]
pub struct Exact<T>(pub Deviation<T, Plain>);

impl<T: Small> Kernel for Exact<T> {
    type R = Deviation<T, Plain>;

    fn reducer(&self) -> &Self::R {
        &self.0
    }

    fn block(&self, x: &[T], _start: u64) -> Moments<f64> {
        vectorize(
            #[inline(always)]
            || {
                let mut ragged = Ragged { tail: None };
                let mut rest = x;
                while !rest.is_empty() {
                    // The lowest set bit of the length: a subtree of that many elements at the right end.
                    let n = 1 << rest.len().trailing_zeros();
                    let (before, last) = rest.split_at(rest.len() - n);
                    ragged.prepend(&self.0, exact_node(&self.0, last), n as u64);
                    rest = before;
                }
                ragged.tail.expect("a block is not empty").0
            },
        )
    }

    fn rows(&self, x: &[T], len: usize, out: &mut Vec<Moments<f64>>) {
        if len <= PANEL {
            return fold_short_rows(self, x, len, out);
        }
        for row in x.chunks_exact(len) {
            out.push(self.block(row, 0));
        }
    }

    fn dense(&self, x: &[T], start: u64, out: &mut [MaybeUninit<Moments<f64>>]) {
        if out.len() <= PANEL {
            return block_of_each(self, x, start, out);
        }
        vectorize(
            #[inline(always)]
            || fold_dense(&self.0, x, start, out),
        );
    }
}

/// The node of a power of two of elements, of at most a block.
#[inline(always)]
fn exact_node<T: Small>(reducer: &Deviation<T>, x: &[T]) -> Moments<f64> {
    const { assert!(BLOCK <= 2 * T::EXACT) };
    let n = x.len().min(T::EXACT);
    let (left, right) = x.split_at(n);
    match right {
        [] => of_sums(left),
        _ => reducer.combine_counted(of_sums(left), n as u64, of_sums(right), n as u64),
    }
}

/// The node of a power of two of elements, at most [`Small::EXACT`].
#[inline(always)]
fn of_sums<T: Small>(x: &[T]) -> Moments<f64> {
    let (sum, squares) = T::sums(x);
    let scale = 1.0 / x.len() as f64;
    Moments { mean: sum as f64 * scale, m2: (squares * x.len() as i64 - sum * sum) as f64 * scale }
}
