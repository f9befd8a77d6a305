//! logsumexp. Where all elements are ordinary ([`Exponential::is_ordinary`]), a node is a plain sum, so one number. Of
//! elements that had 16 bits, exponentials take fewer operations on a CPU that fuses them, and have the same bits.

use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

use warpfold_core::ops::{Exponential, LogSumExp, Powers, Sum, SumExp};
use warpfold_core::{DType, Element, Float, Reducer, bf16, f16};

use super::block::{fold_rows, low, tree_of_pieces};
use super::kernel::{Item, Kernel, Tree, any_rows, each_row};
use super::panel::{Panel, RowList, TILE, fold_columns};
use super::policy::{AHEAD, BLOCK, SHORT};
use super::simd::{Simd, at_level, prefetch, vectorize};
use super::tree::PIECE;

/// logsumexp of plain floats.
#[derive(Clone)]
pub struct Exponentials<F> {
    /// The mathematics.
    pub reducer: LogSumExp<F>,
    /// The dtype that all elements have been rounded to.
    pub dtype: DType,
}

/// A float with an operation that is fused.
pub trait Fused: Element<Float = Self> + Float {
    /// `a * b + c`, rounded once.
    fn fused(a: Self, b: Self, c: Self) -> Self;
}

impl Fused for f32 {
    #[inline(always)]
    fn fused(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
}

impl Fused for f64 {
    #[inline(always)]
    fn fused(a: f64, b: f64, c: f64) -> f64 {
        a.mul_add(b, c)
    }
}

/// [`SumExp`] of elements that have been rounded to the dtype of `D`, with the same bits: of 16-bit floats by fused
/// operations.
#[derive(Clone)]
struct Terms<F, D>(PhantomData<(F, D)>);

impl<F: Fused, D: Element> Reducer for Terms<F, D> {
    type Item = F;
    type Acc = F;
    type Output = F;

    const INDEXED: bool = false;

    const PADDED: bool = true;

    const BY_VECTORS: bool = size_of::<D>() == 2;

    fn identity(&self) -> Option<F> {
        Some(F::NOTHING)
    }

    #[inline(always)]
    fn lift(&self, x: F, _index: u64) -> F {
        if D::DTYPE == F::DTYPE {
            return x.ordinary_exp();
        }
        x.fused_exp_of(
            D::DTYPE,
            #[inline(always)]
            |a, b, c| F::fused(a, b, c),
        )
    }

    #[inline(always)]
    fn combine(&self, left: F, right: F) -> F {
        left.add(right)
    }

    #[inline(always)]
    fn finish(&self, acc: F, _count: u64) -> F {
        acc
    }
}

/// Names a reducer that sums exponentials of elements of a dtype, in the fewest operations of a level.
macro_rules! with_terms {
    ($level:expr, $dtype:expr, $f:ty, $terms:ident => $of:expr) => {
        // Without its instruction, a fused operation is a call.
        match $dtype {
            DType::BF16 if $level != Simd::Baseline && size_of::<$f>() == 4 => {
                let $terms = Terms::<$f, bf16>(PhantomData);
                $of
            }
            DType::F16 if $level != Simd::Baseline && size_of::<$f>() == 4 => {
                let $terms = Terms::<$f, f16>(PhantomData);
                $of
            }
            _ => {
                let $terms = Terms::<$f, $f>(PhantomData);
                $of
            }
        }
    };
}

impl<F: Fused> Exponentials<F> {
    /// The kernel of any elements, ordinary or not.
    fn any(&self) -> Tree<LogSumExp<F>> {
        Tree(self.reducer.clone())
    }
}

impl<F: Fused> Kernel for Exponentials<F> {
    type R = LogSumExp<F>;

    const SHORT: usize = SHORT;

    fn reducer(&self) -> &Self::R {
        &self.reducer
    }

    fn block(&self, x: &[F], start: u64) -> Powers<F, F> {
        let mut tile = [const { MaybeUninit::<F>::uninit() }; BLOCK];
        let tile = &mut tile[..x.len()];
        let terms = at_level(
            #[inline(always)]
            |level| match (level, self.dtype) {
                (Simd::Baseline, _) => exponentials(&Terms::<F, F>(PhantomData), x, tile).then_some(None),
                (_, DType::BF16) if size_of::<F>() == 4 => sum_of_pieces::<F, bf16>(level, x).map(Some),
                (_, DType::F16) if size_of::<F>() == 4 => sum_of_pieces::<F, f16>(level, x).map(Some),
                _ => exponentials(&Terms::<F, F>(PhantomData), x, tile).then_some(None),
            },
        );
        match terms {
            Some(Some(sum)) => SumExp::<F>::raise(sum),
            Some(None) => {
                // SAFETY: the tile is as long as `x`, and the loops above have written a term for each element.
                let terms = unsafe { tile.assume_init_ref() };
                SumExp::<F>::raise(Tree(Sum::<F>::total()).block(terms, start))
            }
            None => self.any().block(x, start),
        }
    }

    fn rows(&self, x: &[F], len: usize, out: &mut [MaybeUninit<Powers<F, F>>]) {
        if !len.is_power_of_two() {
            return each_row(self, x, len, out);
        }
        let ordinary = at_level(
            #[inline(always)]
            |level| {
                if !all_ordinary(x) {
                    return false;
                }
                let mut sums = [const { MaybeUninit::<F>::uninit() }; BLOCK];
                let sums = &mut sums[..out.len()];
                with_terms!(level, self.dtype, F, terms => fold_rows(level, &terms, x, len, sums));
                for (sum, out) in sums.iter().zip(&mut *out) {
                    // SAFETY: `fold_rows` writes a sum for each row, and there are as many rows as places in `out`.
                    out.write(SumExp::<F>::raise(unsafe { sum.assume_init() }));
                }
                true
            },
        );
        if !ordinary {
            any_rows(&self.any(), x, len, out);
        }
    }

    fn single(&self, x: &[Item<Self>], out: &mut [MaybeUninit<F::Mean>]) {
        let mut nodes = [Powers { scale: F::ZERO, sum: F::ZERO }; LOGS];
        for (x, out) in x.chunks(LOGS).zip(out.chunks_mut(LOGS)) {
            let nodes = &mut nodes[..x.len()];
            vectorize(
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

    fn finish(&self, nodes: &[Powers<F, F>], count: u64, out: &mut [MaybeUninit<F::Mean>]) {
        vectorize(
            #[inline(always)]
            || {
                for (nodes, out) in nodes.chunks(LOGS).zip(out.chunks_mut(LOGS)) {
                    let ordinary = nodes.iter().fold(
                        true,
                        #[inline(always)]
                        |all, node| all & (node.scale == F::ZERO) & F::has_ordinary_log(node.sum),
                    );
                    if ordinary {
                        for (node, out) in nodes.iter().zip(out) {
                            out.write(F::Mean::from_float(F::ordinary_log(node.sum)));
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

    fn merge(&self, left: &[Powers<F, F>], n_left: u64, right: &mut [Powers<F, F>], n_right: u64) {
        vectorize(
            #[inline(always)]
            || {
                for (left, right) in left.chunks(LOGS).zip(right.chunks_mut(LOGS)) {
                    let ordinary = left.iter().zip(&*right).fold(
                        true,
                        #[inline(always)]
                        |all, (a, b)| all & (a.scale == F::ZERO) & (b.scale == F::ZERO),
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

    unsafe fn panel(&self, panel: Panel<'_, F>, out: &mut [MaybeUninit<Powers<F, F>>]) {
        at_level(
            #[inline(always)]
            |level| {
                let width = out.len() / panel.groups;
                let mut sums = [const { MaybeUninit::<F>::uninit() }; COLUMNS];
                for (group, out) in out.chunks_exact_mut(width).enumerate() {
                    let start = panel.start + (group * panel.rows.len()) as u64;
                    for from in (0..width).step_by(COLUMNS) {
                        let n = COLUMNS.min(width - from).max(TILE);
                        let from = from.min(width - n);
                        let out = &mut out[from..from + n];
                        let at = |row: &*const F| row.wrapping_byte_add(group * panel.step).wrapping_add(from);
                        let rows: RowList<F> = panel.rows.iter().map(at).collect();
                        let rows = Panel::new(rows.as_slice(), start);
                        // SAFETY: the caller vouches for all columns of every row, and `from + n` is at most `width`.
                        let row = |row: &*const F| unsafe { std::slice::from_raw_parts(*row, n) };
                        if rows.rows.iter().all(|x| all_ordinary(row(x))) {
                            let sums = &mut sums[..n];
                            with_terms!(level, self.dtype, F, terms => {
                                // SAFETY: every row is good for `n` columns from `from` on, and there are `n` sums.
                                unsafe { fold_columns::<true, _>(level, &terms, rows, sums) }
                            });
                            for (sum, out) in sums.iter().zip(out) {
                                // SAFETY: `fold_columns` has written the sum of every column.
                                out.write(SumExp::<F>::raise(unsafe { sum.assume_init() }));
                            }
                        } else {
                            // SAFETY: every row is good for `n` columns from `from` on, and `out` has `n` places.
                            unsafe { panel_not_ordinary(self, rows, out) };
                        }
                    }
                }
            },
        );
    }
}

/// [`Kernel::panel`] of rows with elements that are not ordinary.
///
/// # Safety
/// As of [`Kernel::panel`].
#[inline(never)]
unsafe fn panel_not_ordinary<F: Fused>(
    kernel: &Exponentials<F>,
    panel: Panel<'_, F>,
    out: &mut [MaybeUninit<Powers<F, F>>],
) {
    // SAFETY: the caller's.
    unsafe { kernel.any().panel(panel, out) };
}

/// Writes the exponential of each element, which was a `dtype`, and returns whether all are ordinary.
#[cfg(feature = "reductions")]
pub(crate) fn exponentials_of<F: Fused>(dtype: DType, x: &[F], to: &mut [F]) -> bool {
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
fn sum_of_pieces<F: Fused, D: Element>(level: Simd, x: &[F]) -> Option<F> {
    let terms = Terms::<F, D>(PhantomData);
    let ordinary = Cell::new(true);
    let sum = tree_of_pieces(
        &terms,
        x,
        0,
        #[inline(always)]
        |piece, _, nodes| {
            ordinary.set(ordinary.get() & all_ordinary(piece));
            low::<true, _>(level, &terms, piece, 0, nodes);
        },
    );
    let (_, rest) = x.as_chunks::<PIECE>();
    (ordinary.get() & all_ordinary(rest)).then_some(sum)
}

/// Writes the exponential of each element, and returns whether all are ordinary.
#[inline(always)]
fn exponentials<R: Reducer<Item: Exponential, Acc = <R as Reducer>::Item>>(
    terms: &R,
    x: &[R::Item],
    to: &mut [MaybeUninit<R::Item>],
) -> bool {
    let mut ordinary = true;
    for (x, to) in x.chunks(PIECE).zip(to.chunks_mut(PIECE)) {
        prefetch(x.as_ptr().wrapping_byte_add(AHEAD), PIECE);
        for (x, to) in x.iter().zip(to) {
            ordinary &= x.is_ordinary();
            to.write(terms.lift(*x, 0));
        }
    }
    ordinary
}

/// Nodes whose logarithms are computed, or that are merged, together.
const LOGS: usize = 64;

/// Columns of a panel that are checked together for elements that are not ordinary.
const COLUMNS: usize = 256;

/// Whether all elements are ordinary.
#[inline(always)]
fn all_ordinary<F: Exponential>(x: &[F]) -> bool {
    x.iter().fold(
        true,
        #[inline(always)]
        |all, x| all & x.is_ordinary(),
    )
}
