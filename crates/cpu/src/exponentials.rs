//! Blocks of logsumexp. Where all elements are ordinary, nodes are plain sums: one number each.

use std::mem::MaybeUninit;

use warpfold_core::ops::{Exponential, LogSumExp, Powers, Sum, SumExp};
use warpfold_core::{Element, Float};

use super::kernel::{Kernel, each_row};
use super::panel::{Panel, RowList, TILE, fold_columns};
use super::policy::{AHEAD, BLOCK};
use super::simd::{prefetch, vectorize};
use super::tree::{PIECE, fold_rows, tree_block, tree_levels};

/// logsumexp of plain floats.
#[derive(Clone)]
pub struct Exponentials<F>(pub LogSumExp<F>);

impl<F: Element<Float = F> + Float> Kernel for Exponentials<F> {
    type R = LogSumExp<F>;

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
                    // SAFETY: all of the tile is written.
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
                    // SAFETY: all sums are written.
                    out.write(SumExp::<F>::raise(unsafe { sum.assume_init() }));
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
                        // SAFETY: the caller's: every row is good for all columns.
                        let row = |row: &*const F| unsafe { std::slice::from_raw_parts(*row, n) };
                        if rows.rows.iter().all(|x| all_ordinary(row(x))) {
                            let sums = &mut sums[..n];
                            // SAFETY: as above; all sums are written.
                            unsafe { fold_columns::<true, _>(&SumExp::<F>::new(), rows, sums) };
                            for (sum, out) in sums.iter().zip(out) {
                                // SAFETY: as above.
                                out.write(SumExp::<F>::raise(unsafe { sum.assume_init() }));
                            }
                        } else {
                            // SAFETY: the caller vouches for a group's share of `out` in every row.
                            unsafe { fold_columns::<false, _>(&self.0, rows, out) };
                        }
                    }
                }
            },
        );
    }
}

/// Columns of a panel that are looked through together.
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
