//! logsumexp. Where all elements are ordinary ([`Exponential::is_ordinary`]), a node is a plain sum, so one number. Of
//! elements that had 16 bits, exponentials take fewer operations on a CPU that fuses them, and have the same bits.
//!
//! Such elements are read in place, and widened a piece at a time. 128 MiB, two threads of a busy EPYC with AVX-512,
//! CPU time of each, ms of elements that are widened on the way in, and of these: logsumexp of bf16 (67108864) 11.2,
//! 8.5; (336, 199728) along axis 0 21.2, 13.2; (8388608, 8) along axis 0 18.3, 11.3; (655000, 102) along axis 1 27.2,
//! 20.8; of f16 (67108864) 11.2, 9.1. Columns of 32 rows in place of 8: of f32 (2046, 18, 911) along axis 1 14.0, 12.5.

use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

use warpfold_core::ops::{Exponential, LogSumExp, Powers, Sum, SumExp};
use warpfold_core::{Accumulate, DType, Element, Key, Reducer, bf16, f16};

use super::block::{fold_rows, low, tree_of_pieces};
#[cfg(feature = "reductions")]
use super::halves::Wide;
use super::halves::{fold_widened, widened};
use super::high::{fold_high, fold_high_columns};
use super::kernel::{Item, Kernel, Tree, any_rows, each_row};
use super::panel::{Panel, TILE, fold_tile};
use super::policy::{AHEAD, BLOCK, HIGH, PANEL, SHORT};
#[cfg(feature = "reductions")]
use super::simd::at_level;
use super::simd::{Simd, fold_lanes, inlined, prefetch, vectorize, vectors, vectors_at_level, written};
#[cfg(feature = "reductions")]
use super::terms::Fused;
use super::terms::{Exponent, Terms, with_terms};
use super::tree::{PIECE, combine_nodes};

/// logsumexp of plain floats. Those of 16 bits are widened a piece at a time.
#[derive(Clone)]
pub struct Exponentials<T> {
    /// The mathematics.
    pub reducer: LogSumExp<T>,
    /// The dtype that all elements have been rounded to.
    pub dtype: DType,
}

/// A node over elements of a type.
type Node<T> = Powers<<T as Element>::Float, <T as Element>::Float>;

impl<T: Exponent> Exponentials<T> {
    /// The kernel of any elements, ordinary or not.
    fn any(&self) -> Tree<LogSumExp<T>> {
        Tree(self.reducer.clone())
    }

    /// Whether elements have 16 bits in memory, too.
    const NARROW: bool = size_of::<T>() < size_of::<T::Float>();

    /// The dtype that all elements have been rounded to, which the compiler knows if they have it in memory.
    #[inline(always)]
    fn rounded_to(&self) -> DType {
        if Self::NARROW { T::DTYPE } else { self.dtype }
    }
}

impl<T: Exponent> Kernel for Exponentials<T> {
    type R = LogSumExp<T>;

    const SHORT: usize = SHORT;

    const ROWS: usize = HIGH;

    fn reducer(&self) -> &Self::R {
        &self.reducer
    }

    fn block(&self, x: &[T], start: u64) -> Node<T> {
        let mut tile = [const { MaybeUninit::<T::Float>::uninit() }; BLOCK];
        let tile = &mut tile[..x.len()];
        let terms = vectors_at_level(
            #[inline(always)]
            |level| match (level, self.rounded_to()) {
                (Simd::Baseline, _) => exponentials(&Terms::<T::Float, T::Float>(PhantomData), x, tile).then_some(None),
                (_, DType::BF16) if size_of::<T::Float>() == 4 => sum_of_pieces::<T, bf16>(level, x).map(Some),
                (_, DType::F16) if size_of::<T::Float>() == 4 => sum_of_pieces::<T, f16>(level, x).map(Some),
                _ => exponentials(&Terms::<T::Float, T::Float>(PhantomData), x, tile).then_some(None),
            },
        );
        match terms {
            Some(Some(sum)) => SumExp::<T>::raise(sum),
            Some(None) => {
                // SAFETY: the tile is as long as `x`, and the loops above have written a term for each element.
                let terms = unsafe { tile.assume_init_ref() };
                SumExp::<T>::raise(Tree(Sum::<T::Float>::total()).block(terms, start))
            }
            None => self.any().block(x, start),
        }
    }

    fn rows(&self, x: &[T], len: usize, out: &mut [MaybeUninit<Node<T>>]) {
        if !len.is_power_of_two() {
            return each_row(self, x, len, out);
        }
        let ordinary = vectors_at_level(
            #[inline(always)]
            |level| {
                if !all_ordinary(x) {
                    return false;
                }
                let mut sums = [const { MaybeUninit::<T::Float>::uninit() }; BLOCK];
                let sums = &mut sums[..out.len()];
                let mut tile = [const { MaybeUninit::<T::Float>::uninit() }; BLOCK];
                let x = widened(level, x, &mut tile);
                with_terms!(level, self.rounded_to(), T::Float, terms => fold_rows(level, &terms, x, len, sums));
                for (sum, out) in sums.iter().zip(&mut *out) {
                    // SAFETY: `fold_rows` writes a sum for each row, and there are as many rows as places in `out`.
                    out.write(SumExp::<T>::raise(unsafe { sum.assume_init() }));
                }
                true
            },
        );
        if !ordinary {
            any_rows(&self.any(), x, len, out);
        }
    }

    fn single(&self, x: &[Item<Self>], out: &mut [MaybeUninit<T::Mean>]) {
        let mut nodes = [Powers { scale: T::Float::ZERO, sum: T::Float::ZERO }; LOGS];
        for (x, out) in x.chunks(LOGS).zip(out.chunks_mut(LOGS)) {
            let nodes = &mut nodes[..x.len()];
            vectors(
                #[inline(always)]
                || {
                    for (node, &x) in nodes.iter_mut().zip(x) {
                        *node = self.reducer.lift(x, 0);
                    }
                },
            );
            self.finish(nodes, 1, out);
        }
    }

    fn finish(&self, nodes: &[Node<T>], count: u64, out: &mut [MaybeUninit<T::Mean>]) {
        vectorize(
            #[inline(always)]
            || {
                for (nodes, out) in nodes.chunks(LOGS).zip(out.chunks_mut(LOGS)) {
                    // Side by side: the last of pairs that are read in part would be left to a loop without vectors.
                    let (mut sums, mut ordinary) = ([nodes[0].sum; LOGS], true);
                    for (node, sum) in nodes.iter().zip(&mut sums) {
                        *sum = node.sum;
                        ordinary &= node.scale == T::Float::ZERO;
                    }
                    for &sum in &sums {
                        ordinary &= T::Float::has_ordinary_log(sum);
                    }
                    if ordinary {
                        for sum in &mut sums {
                            *sum = T::Float::ordinary_log(*sum);
                        }
                        for (&log, out) in sums.iter().zip(out) {
                            out.write(T::Mean::from_float(log));
                        }
                    } else {
                        for (node, out) in nodes.iter().zip(out) {
                            out.write(self.reducer.finish(*node, count));
                        }
                    }
                }
            },
        );
    }

    fn merge(&self, left: &[Node<T>], n_left: u64, right: &mut [Node<T>], n_right: u64) {
        vectorize(
            #[inline(always)]
            || {
                for (left, right) in left.chunks(LOGS).zip(right.chunks_mut(LOGS)) {
                    let ordinary = left.iter().zip(&*right).fold(
                        true,
                        #[inline(always)]
                        |all, (a, b)| all & (a.scale == T::Float::ZERO) & (b.scale == T::Float::ZERO),
                    );
                    if ordinary {
                        for (a, b) in left.iter().zip(right) {
                            b.sum = a.sum.add(b.sum);
                        }
                    } else {
                        for (a, b) in left.iter().zip(right) {
                            *b = self.reducer.combine_counted(*a, n_left, *b, n_right);
                        }
                    }
                }
            },
        );
    }

    unsafe fn panel(&self, panel: Panel<'_, T>, out: &mut [MaybeUninit<Node<T>>]) {
        vectors_at_level(
            #[inline(always)]
            // SAFETY: the caller vouches for a group's share of `out` in every row.
            |level| unsafe {
                with_terms!(level, self.rounded_to(), T::Float, terms => fold_high_columns(
                    panel,
                    out,
                    #[inline(always)]
                    |rows, out| {
                        if !are_ordinary(rows) {
                            return not_ordinary(self, rows, out);
                        }
                        let sums = sums_of_columns(level, &terms, rows);
                        for (sum, out) in sums.into_iter().zip(out) {
                            out.write(SumExp::<T>::raise(sum));
                        }
                    },
                ));
            },
        );
    }
}

/// The sums of the columns of rows, whose elements are widened first if they have 16 bits. Lower nodes stay in
/// registers.
#[inline(always)]
fn sums_of_columns<T: Exponent, R: Reducer<Item = T::Float, Acc = T::Float>>(
    level: Simd,
    terms: &R,
    rows: &[&[T; TILE]],
) -> [T::Float; TILE] {
    fold_high(
        rows,
        #[inline(always)]
        |_, rows| {
            let mut sums = [const { MaybeUninit::uninit() }; TILE];
            if size_of::<T>() == size_of::<T::Float>() {
                // SAFETY: elements that are not narrow are their own floats.
                let rows = unsafe { &*(std::ptr::from_ref(rows) as *const [&[T::Float; TILE]]) };
                fold_tile::<true, _, _>(terms, rows, 0, &mut sums);
            } else {
                fold_widened(level, terms, rows, 0, &mut sums);
            }
            // SAFETY: either writes the sum of each column.
            unsafe { written(sums) }
        },
        #[inline(always)]
        |left, _, right, _| {
            for i in 0..TILE {
                right[i] = left[i].add(right[i]);
            }
        },
    )
}

/// Whether all elements of rows are ordinary.
#[inline(always)]
fn are_ordinary<T: Exponent>(rows: &[&[T; TILE]]) -> bool {
    let mut most = [T::Key::ZERO; TILE];
    let (groups, rest) = rows.as_chunks::<PANEL>();
    for group in groups {
        // As one expression: between loops the greatest ones are in memory.
        for i in 0..TILE {
            let pair = inlined(
                #[inline(always)]
                |r: usize| magnitude(group[r][i]).max(magnitude(group[r + 1][i])),
            );
            most[i] = most[i].max(pair(0).max(pair(2)).max(pair(4).max(pair(6))));
        }
    }
    for row in rest {
        for i in 0..TILE {
            most[i] = most[i].max(magnitude(row[i]));
        }
    }
    let most = fold_lanes(
        most,
        #[inline(always)]
        |a, b| a.max(b),
    );
    T::of_bits(most).float().is_ordinary()
}

/// The bits of an element's magnitude. Those of a NaN are beyond all others.
#[inline(always)]
fn magnitude<T: Exponent>(x: T) -> T::Key {
    x.bits().min_unsigned(x.bits() ^ T::Key::TOP)
}

/// The nodes of a tile's columns with elements that are not ordinary.
#[inline(never)]
fn not_ordinary<T: Exponent>(kernel: &Exponentials<T>, rows: &[&[T; TILE]], out: &mut [MaybeUninit<Node<T>>; TILE]) {
    let reducer = &kernel.reducer;
    for (column, out) in out.iter_mut().enumerate() {
        let mut nodes = [const { MaybeUninit::uninit() }; HIGH];
        for (node, row) in nodes.iter_mut().zip(rows) {
            node.write(reducer.lift(row[column], 0));
        }
        // SAFETY: there is a node for each row, of which there are at least one and at most HIGH.
        let nodes = unsafe { nodes[..rows.len()].assume_init_mut() };
        combine_nodes(reducer, nodes, 1, 1);
        out.write(nodes[0]);
    }
}

/// Writes the exponential of each element, which was a `dtype`, and returns whether all are ordinary.
#[cfg(feature = "reductions")]
pub(crate) fn exponentials_of<F: Fused + Wide>(dtype: DType, x: &[F], to: &mut [F]) -> bool {
    // SAFETY: `MaybeUninit<F>` has the layout of `F`, and only numbers are written.
    let to = unsafe { &mut *(std::ptr::from_mut(to) as *mut [MaybeUninit<F>]) };
    at_level(
        #[inline(always)]
        |level| with_terms!(level, dtype, F, terms => exponentials(&terms, x, to)),
    )
}

/// The sum of the exponentials of a block of elements that were rounded to the dtype of `D`; `None` if one of them is
/// not ordinary. Piece by piece, as few operations leave an exponential.
#[inline(always)]
fn sum_of_pieces<T: Exponent, D: Element>(level: Simd, x: &[T]) -> Option<T::Float> {
    let ordinary = Cell::new(true);
    let terms = Terms::<T::Float, D>(PhantomData);
    let sum = tree_of_pieces(
        &Terms::<T, D>(PhantomData),
        x,
        0,
        #[inline(always)]
        |piece, _, nodes| {
            ordinary.set(ordinary.get() & all_ordinary(piece));
            prefetch(piece.as_ptr().wrapping_byte_add(AHEAD), PIECE);
            low::<false, _>(level, &terms, &T::widen(level, piece), 0, nodes);
        },
    );
    let (_, rest) = x.as_chunks::<PIECE>();
    (ordinary.get() & all_ordinary(rest)).then_some(sum)
}

/// Writes the exponential of each element, and returns whether all are ordinary.
#[inline(always)]
fn exponentials<T: Exponent, R: Reducer<Item = T::Float, Acc = T::Float>>(
    terms: &R,
    x: &[T],
    to: &mut [MaybeUninit<T::Float>],
) -> bool {
    let mut ordinary = true;
    for (x, to) in x.chunks(PIECE).zip(to.chunks_mut(PIECE)) {
        prefetch(x.as_ptr().wrapping_byte_add(AHEAD), PIECE);
        for (x, to) in x.iter().zip(to) {
            let x = x.float();
            ordinary &= x.is_ordinary();
            to.write(terms.lift(x, 0));
        }
    }
    ordinary
}

/// Nodes whose logarithms are computed, or that are merged, together.
const LOGS: usize = 64;

/// Whether all elements are ordinary: of those of 16 bits, whether the one of the greatest magnitude is.
#[inline(always)]
fn all_ordinary<T: Exponent>(x: &[T]) -> bool {
    if size_of::<T>() == size_of::<T::Float>() {
        return x.iter().fold(
            true,
            #[inline(always)]
            |all, x| all & x.float().is_ordinary(),
        );
    }
    let most = x.iter().fold(
        T::Key::ZERO,
        #[inline(always)]
        |most, &x| most.max(magnitude(x)),
    );
    T::of_bits(most).float().is_ordinary()
}
