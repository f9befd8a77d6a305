//! Blocks of the variance. Of floats: means and sums of squares in arrays of their own, so that both are vectors. Of small
//! integers: sums, as long as no node of the tree rounds.

use std::mem::MaybeUninit;

use warpfold_core::ops::{Deviation, Moments, Plain};
use warpfold_core::{Element, Float, Reducer};

use super::kernel::{GROUP, Kernel, Level, PIECE, Ragged, climb, tree_levels};
use super::panel::fold_short_rows;
use super::policy::{AHEAD, BLOCK, PANEL};
use super::simd::vectorize;

/// The variance of plain floats.
#[derive(Clone)]
pub struct Spread<F>(pub Deviation<F, Plain>);

impl<F: Element<Float = F> + Float> Kernel for Spread<F> {
    type R = Deviation<F, Plain>;

    fn reducer(&self) -> &Self::R {
        &self.0
    }

    fn block(&self, x: &[F], start: u64) -> Moments<F> {
        vectorize(
            #[inline(always)]
            || match x.as_chunks::<PIECE>() {
                (pieces, []) => spread(&self.0, pieces),
                _ => tree_levels(&self.0, x, start),
            },
        )
    }
}

/// Nodes that a piece leaves.
const NODES: usize = PIECE / GROUP;

/// The tree over whole pieces: the arithmetic is [`Deviation`]'s for equal halves.
#[inline(always)]
fn spread<F: Element<Float = F> + Float>(reducer: &Deviation<F>, pieces: &[[F; PIECE]]) -> Moments<F> {
    const GROUPS: usize = BLOCK / GROUP;
    let (mut means, mut m2s) = ([F::ZERO; GROUPS], [F::ZERO; GROUPS]);
    let places = means.as_chunks_mut::<NODES>().0.iter_mut().zip(m2s.as_chunks_mut::<NODES>().0);
    for (piece, (means, m2s)) in pieces.iter().zip(places) {
        prefetch(piece.as_ptr().wrapping_add(AHEAD * PIECE), PIECE);
        // The deviation of one element, x - x, is left out: it is 0 unless x is not finite, and then what follows is not.
        let (mean, m2) = pair(piece);
        let (mut mean, mut m2) = climb_piece(&mean, &m2);
        let not_finite = m2.iter().fold(
            false,
            #[inline(always)]
            |found, &m2| found | (m2.sub(m2) != F::ZERO),
        );
        if not_finite {
            (mean, m2) = whole_piece(piece);
        }
        (*means, *m2s) = (mean, m2);
    }
    let mut a: Level<Moments<F>, GROUPS> = [const { MaybeUninit::uninit() }; GROUPS];
    let mut b: Level<Moments<F>, { GROUPS / 2 }> = [const { MaybeUninit::uninit() }; GROUPS / 2];
    let mut ragged = Ragged { tail: None };
    let (mut whole, mut weight) = (pieces.len() * NODES, GROUP);
    if whole == GROUPS {
        // A whole block stays in arrays of their own for some levels more.
        let (mean, m2) = halve::<F, GROUPS, { GROUPS / 2 }>(&means, &m2s, GROUP as u64);
        let (mean, m2) = halve::<F, { GROUPS / 2 }, { GROUPS / 4 }>(&mean, &m2, 2 * GROUP as u64);
        let (mean, m2) = halve::<F, { GROUPS / 4 }, { GROUPS / 8 }>(&mean, &m2, 4 * GROUP as u64);
        let (mean, m2) = halve::<F, { GROUPS / 8 }, { GROUPS / 16 }>(&mean, &m2, 8 * GROUP as u64);
        (whole, weight) = (GROUPS / 16, 16 * GROUP);
        means[..whole].copy_from_slice(&mean);
        m2s[..whole].copy_from_slice(&m2);
    }
    for ((node, &mean), &m2) in a[..whole].iter_mut().zip(&means).zip(&m2s) {
        node.write(Moments { mean, m2 });
    }
    // SAFETY: there is a node per group.
    unsafe { climb(reducer, &mut a, &mut b, whole, weight as u64, &mut ragged) };
    ragged.tail.expect("a block is not empty").0
}

/// Asks for the cache lines of `n` elements, wherever they are.
#[inline(always)]
fn prefetch<T>(x: *const T, n: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..n).step_by(64 / size_of::<T>()) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint; it reads nothing, and any address will do.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(x.wrapping_add(line).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (x, n);
}

/// A piece with infinities or NaN in it, or with squares that overflow.
#[cold]
#[inline(never)]
fn whole_piece<F: Float>(x: &[F; PIECE]) -> ([F; NODES], [F; NODES]) {
    let m2 = x.map(|x| x.sub(x));
    let (mean, m2) = halve::<F, PIECE, { PIECE / 2 }>(x, &m2, 1);
    climb_piece(&mean, &m2)
}

/// From pairs to groups.
#[inline(always)]
fn climb_piece<F: Float>(mean: &[F; PIECE / 2], m2: &[F; PIECE / 2]) -> ([F; NODES], [F; NODES]) {
    let (mean, m2) = halve::<F, { PIECE / 2 }, { PIECE / 4 }>(mean, m2, 2);
    let (mean, m2) = halve::<F, { PIECE / 4 }, { PIECE / 8 }>(&mean, &m2, 4);
    halve::<F, { PIECE / 8 }, NODES>(&mean, &m2, 8)
}

/// The lowest level, of finite elements.
#[inline(always)]
fn pair<F: Float>(x: &[F; PIECE]) -> ([F; PIECE / 2], [F; PIECE / 2]) {
    let (mut means, mut m2s) = ([F::ZERO; PIECE / 2], [F::ZERO; PIECE / 2]);
    for i in 0..PIECE / 2 {
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
