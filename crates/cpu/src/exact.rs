//! The variance of small integers: nodes are computed from sums and sums of squares wherever no node of the tree below
//! is rounded.

use std::mem::MaybeUninit;

use warpfold_core::ops::{Deviation, Moments, Plain};
use warpfold_core::{Element, Reducer};

use super::high::fold_high_columns;
use super::kernel::{Kernel, each_row};
use super::panel::{Panel, TILE, fold_columns_at_level, fold_tile};
use super::periods::fold_periods;
use super::policy::{AHEAD, BLOCK, FEW_DENSE_COLUMNS, HIGH, PANEL, SHORT_BYTES};
use super::simd::{prefetch, vectors};
use super::tree::Ragged;

/// Integers of so few bits that the sum and the sum of squares of a few thousand of them are exact.
pub trait Small: Element<Float = f64> {
    /// Nodes of up to this many elements do not round. With b bits per element and 2^k of them, their mean is a
    /// multiple of 2^-k below 2^b, the difference of two halves' means takes b+k-1 bits, its square 2(b+k-1), and the
    /// sum of squared deviations, a multiple of 2^-k below 2^(k+2b-2), 2(b+k-1) bits, too: at most 53 for b = 8, k = 12
    /// and b = 16, k = 11.
    const EXACT: usize;

    /// The sum and the sum of squares of at most [`Small::EXACT`] elements.
    fn sums(x: &[Self]) -> (i64, i64);

    /// Calls `each` with the sum and the sum of squares of each column, in order, of a power of two of dense rows.
    fn sums_dense(x: &[Self], width: usize, each: impl FnMut(i64, i64));

    /// The sum and the sum of squares of each column of at most 128 rows.
    fn sums_tile<const W: usize>(rows: &[&[Self; W]]) -> ([f64; W], [f64; W]);
}

macro_rules! small {
    ($($t:ty, $exact:literal, $sum:ty, $square:ty, $squares:ty);*) => {$(
        impl Small for $t {
            const EXACT: usize = $exact;

            #[inline(always)]
            fn sums(x: &[Self]) -> (i64, i64) {
                const LANES: usize = 32;
                const { assert!($exact <= 128 * LANES) };
                if x.len() < LANES {
                    return x.iter().fold((0, 0), |(sum, squares), &x| (sum + x as i64, squares + x as i64 * x as i64));
                }
                let (mut sums, mut squares) = ([0 as $sum; LANES], [0 as $squares; LANES]);
                let (pieces, tail) = x.as_chunks::<LANES>();
                for piece in pieces {
                    prefetch(piece.as_ptr().wrapping_byte_add(AHEAD), LANES);
                    for i in 0..LANES {
                        sums[i] += piece[i] as $sum;
                        squares[i] += (piece[i] as $square * piece[i] as $square) as $squares;
                    }
                }
                let sum = sums.iter().map(|&x| x as i64).sum::<i64>() + tail.iter().map(|&x| x as i64).sum::<i64>();
                let squares = squares.iter().map(|&x| x as i64).sum::<i64>();
                (sum, squares + tail.iter().map(|&x| x as i64 * x as i64).sum::<i64>())
            }

            #[inline(always)]
            fn sums_dense(x: &[Self], width: usize, mut each: impl FnMut(i64, i64)) {
                let mut sums = [const { MaybeUninit::<i32>::uninit() }; FEW_DENSE_COLUMNS];
                let mut squares = [const { MaybeUninit::<i64>::uninit() }; FEW_DENSE_COLUMNS];
                let (sums, squares) = (&mut sums[..width], &mut squares[..width]);
                let square = |x: $t| (x as $square * x as $square) as $squares;
                fold_periods(x, |x| x as $sum, |a, b| a + b, |lane| lane as i32, |a, b| a + b, sums);
                fold_periods(x, square, |a, b| a + b, |lane| lane as i64, |a, b| a + b, squares);
                for (sum, squares) in sums.iter().zip(squares) {
                    // SAFETY: `fold_periods` has written both nodes of every column.
                    unsafe { each(sum.assume_init() as i64, squares.assume_init() as i64) };
                }
            }

            #[inline(always)]
            fn sums_tile<const W: usize>(rows: &[&[Self; W]]) -> ([f64; W], [f64; W]) {
                let (mut sums, mut squares) = ([0 as $sum; W], [0 as $squares; W]);
                for row in rows {
                    for i in 0..W {
                        sums[i] += row[i] as $sum;
                        squares[i] += (row[i] as $square * row[i] as $square) as $squares;
                    }
                }
                (sums.map(|x| x as f64), squares.map(|x| x as f64))
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
        vectors(
            #[inline(always)]
            || exact_block(&self.0, x).moments,
        )
    }

    fn apart(len: usize) -> bool {
        len * size_of::<T>() < SHORT_BYTES
    }

    fn rows(&self, x: &[T], len: usize, out: &mut [MaybeUninit<Moments<f64>>]) {
        each_row(self, x, len, out);
    }

    const ROWS: usize = if size_of::<T>() == 1 { HIGH } else { PANEL };

    unsafe fn panel(&self, panel: Panel<'_, T>, out: &mut [MaybeUninit<Moments<f64>>]) {
        debug_assert!(panel.groups == 1, "dense rows are not cut into groups");
        if size_of::<T>() == 1 {
            return vectors(
                #[inline(always)]
                // SAFETY: the caller vouches for an element of each node in every row, and for a tile of nodes.
                || unsafe {
                    fold_high_columns(
                        panel,
                        out,
                        #[inline(always)]
                        |rows, out| exact_tile(&self.0, rows, out),
                    );
                },
            );
        }
        // SAFETY: the caller vouches for a group's share of `out` in every row.
        unsafe {
            fold_columns_at_level::<false, _, _>(
                panel,
                out,
                #[inline(always)]
                |_, rows, at, out| {
                    if !rows.len().is_power_of_two() {
                        return fold_tile::<false, _, _>(&self.0, rows, at, out);
                    }
                    let ((sums, squares), n) = (T::sums_tile(rows), rows.len() as f64);
                    let scale = 1.0 / n;
                    for i in 0..TILE {
                        // As in `exact`, but in f64: sums of so few elements and of their squares are exact there.
                        let m2 = (squares[i] * n - sums[i] * sums[i]) * scale;
                        out[i].write(Moments { mean: sums[i] * scale, m2 });
                    }
                },
            );
        }
    }

    const DENSE: bool = true;

    fn dense(&self, x: &[T], _start: u64, out: &mut [MaybeUninit<Moments<f64>>]) {
        vectors(
            #[inline(always)]
            || {
                let rows = x.len() / out.len();
                debug_assert!(rows <= T::EXACT);
                let mut places = out.iter_mut();
                T::sums_dense(
                    x,
                    places.len(),
                    #[inline(always)]
                    |sum, squares| {
                        let place = places.next().expect("a place for each column");
                        place.write(exact(sum, squares, rows));
                    },
                );
            },
        );
    }
}

/// The nodes of a tile's columns of at most [`HIGH`] rows.
#[inline(always)]
fn exact_tile<T: Small>(reducer: &Deviation<T>, rows: &[&[T; TILE]], out: &mut [MaybeUninit<Moments<f64>>; TILE]) {
    const { assert!(HIGH <= 128 && HIGH <= T::EXACT) };
    // Powers of two of rows, the fewest, at the right end, first.
    let (mut rest, mut right) = (rows, 0);
    while !rest.is_empty() {
        let n = 1 << rest.len().trailing_zeros();
        let (before, last) = rest.split_at(rest.len() - n);
        // As in `exact`, but in f64: sums of so few elements and of their squares are exact there.
        let ((sums, squares), of) = (T::sums_tile(last), n as f64);
        let scale = 1.0 / of;
        for i in 0..TILE {
            let m2 = (squares[i] * of - sums[i] * sums[i]) * scale;
            let node = Moments { mean: sums[i] * scale, m2 };
            out[i].write(match right {
                0 => node,
                // SAFETY: the nodes of the rows on the right have been written.
                _ => reducer.combine_counted(node, n as u64, unsafe { out[i].assume_init() }, right),
            });
        }
        (right, rest) = (right + n as u64, before);
    }
}

/// Sums that are exact, and what they make.
pub(super) struct Sums {
    pub sum: i64,
    pub squares: i64,
    pub moments: Moments<f64>,
}

/// The sums and the node of a block.
#[inline(always)]
pub(super) fn exact_block<T: Small>(reducer: &Deviation<T>, x: &[T]) -> Sums {
    let (mut sum, mut squares) = (0, 0);
    let mut ragged = Ragged { tail: None };
    let mut rest = x;
    while !rest.is_empty() {
        // The lowest set bit of the length: a subtree of that many elements at the right end.
        let n = 1 << rest.len().trailing_zeros();
        let (before, last) = rest.split_at(rest.len() - n);
        let node = exact_node(reducer, last);
        ragged.prepend(reducer, node.moments, n as u64);
        (sum, squares, rest) = (sum + node.sum, squares + node.squares, before);
    }
    Sums { sum, squares, moments: ragged.tail.expect("a block is not empty").0 }
}

/// The sums and the node of a power of two of elements, at most a block.
#[inline(always)]
fn exact_node<T: Small>(reducer: &Deviation<T>, x: &[T]) -> Sums {
    const { assert!(BLOCK <= 2 * T::EXACT) };
    let n = x.len().min(T::EXACT);
    let (left, right) = x.split_at(n);
    let left = of_sums(left);
    if right.is_empty() {
        return left;
    }
    let right = of_sums(right);
    let moments = reducer.combine_counted(left.moments, n as u64, right.moments, n as u64);
    Sums { sum: left.sum + right.sum, squares: left.squares + right.squares, moments }
}

/// The sums and the node of a power of two of elements, at most [`Small::EXACT`].
#[inline(always)]
fn of_sums<T: Small>(x: &[T]) -> Sums {
    let (sum, squares) = T::sums(x);
    Sums { sum, squares, moments: exact(sum, squares, x.len()) }
}

/// The node of `n` elements from their sum and their sum of squares. `n` is a power of two, at most [`Small::EXACT`].
#[inline(always)]
pub(super) fn exact(sum: i64, squares: i64, n: usize) -> Moments<f64> {
    let scale = 1.0 / n as f64;
    Moments { mean: sum as f64 * scale, m2: (squares * n as i64 - sum * sum) as f64 * scale }
}
