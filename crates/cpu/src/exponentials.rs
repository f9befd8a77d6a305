//! logsumexp. Where all elements are ordinary ([`Exponential::is_ordinary`]), a node is a plain sum, so one number.

use std::mem::MaybeUninit;

use warpfold_core::ops::{Exponential, LogSumExp, Powers, Sum, SumExp};
use warpfold_core::{Element, Float, Reducer};

use super::block::tree_block;
use super::kernel::{Kernel, each_row};
use super::panel::{Panel, RowList, TILE, fold_columns};
use super::policy::{AHEAD, BLOCK, SHORT};
use super::simd::{prefetch, vectorize};
use super::tree::{PIECE, fold_rows, tree_levels};

/// logsumexp of plain floats.
#[derive(Clone)]
pub struct Exponentials<F>(pub LogSumExp<F>);

impl<F: Element<Float = F> + Float> Kernel for Exponentials<F> {
    type R = LogSumExp<F>;

    const SHORT: usize = SHORT;

    fn reducer(&self) -> &Self::R {
        &self.0
    }

    fn block(&self, x: &[F], start: u64) -> Powers<F, F> {
        vectorize(
            #[inline(always)]
            || {
                let mut tile = [const { MaybeUninit::<F>::uninit() }; BLOCK];
                let tile = &mut tile[..x.len()];
                let mut ordinary = true;
                for (x, terms) in x.chunks(PIECE).zip(tile.chunks_mut(PIECE)) {
                    prefetch(x.as_ptr().wrapping_byte_add(AHEAD), PIECE);
                    for (x, term) in x.iter().zip(terms) {
                        ordinary &= x.is_ordinary();
                        term.write(x.ordinary_exp());
                    }
                }
                if ordinary {
                    // SAFETY: the tile is as long as `x`, and the loops above have written a term for each element.
                    let terms = unsafe { tile.assume_init_ref() };
                    SumExp::<F>::raise(tree_block(&Sum::<F>::total(), terms, start))
                } else {
                    tree_levels(&self.0, x, start)
                }
            },
        )
    }

    fn rows(&self, x: &[F], len: usize, out: &mut [MaybeUninit<Powers<F, F>>]) {
        if !len.is_power_of_two() {
            return each_row(self, x, len, out);
        }
        vectorize(
            #[inline(always)]
            || {
                if !all_ordinary(x) {
                    return fold_rows(&self.0, x, len, out);
                }
                let mut sums = [const { MaybeUninit::<F>::uninit() }; BLOCK];
                let sums = &mut sums[..out.len()];
                fold_rows(&SumExp::<F>::new(), x, len, sums);
                for (sum, out) in sums.iter().zip(out) {
                    // SAFETY: `fold_rows` writes a sum for each row, and there are as many rows as places in `out`.
                    out.write(SumExp::<F>::raise(unsafe { sum.assume_init() }));
                }
            },
        );
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
                            out.write(self.0.finish(*node, count));
                        }
                    }
                }
            },
        );
    }

    unsafe fn panel(&self, panel: Panel<'_, F>, out: &mut [MaybeUninit<Powers<F, F>>]) {
        vectorize(
            #[inline(always)]
            || {
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
                            // SAFETY: every row is good for `n` columns from `from` on, and there are `n` sums.
                            unsafe { fold_columns::<true, _>(&SumExp::<F>::new(), rows, sums) };
                            for (sum, out) in sums.iter().zip(out) {
                                // SAFETY: `fold_columns` has written the sum of every column.
                                out.write(SumExp::<F>::raise(unsafe { sum.assume_init() }));
                            }
                        } else {
                            // SAFETY: every row is good for `n` columns from `from` on, and `out` has `n` places.
                            unsafe { fold_columns::<false, _>(&self.0, rows, out) };
                        }
                    }
                }
            },
        );
    }
}

/// Nodes whose logarithms are computed together.
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
