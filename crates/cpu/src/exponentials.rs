//! Blocks of logsumexp. Where all elements are ordinary, nodes are plain sums: one number each.

use std::mem::MaybeUninit;

use warpfold_core::ops::{Exponential, LogSumExp, Powers, Sum, SumExp};
use warpfold_core::{Element, Float};

use super::kernel::Kernel;
use super::panel::{RowList, fold_columns, fold_short_rows};
use super::policy::{AHEAD, BLOCK, PANEL};
use super::simd::{extend, prefetch, vectorize};
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

    fn rows(&self, x: &[F], len: usize, out: &mut Vec<Powers<F, F>>) {
        if len.is_power_of_two() {
            vectorize(
                #[inline(always)]
                || {
                    if all_ordinary(x) {
                        let mut sums = Vec::new();
                        fold_rows(&SumExp::<F>::new(), x, len, &mut sums);
                        extend!(out, sums.len(), i => SumExp::<F>::raise(sums[i]));
                    } else {
                        fold_rows(&self.0, x, len, out);
                    }
                },
            );
        } else if len < PANEL {
            fold_short_rows(self, x, len, out);
        } else {
            out.extend(x.chunks_exact(len).map(|row| self.block(row, 0)));
        }
    }

    unsafe fn panel(&self, rows: &[*const F], start: u64, out: &mut [MaybeUninit<Powers<F, F>>]) {
        vectorize(
            #[inline(always)]
            || {
                let mut sums = [const { MaybeUninit::<F>::uninit() }; COLUMNS];
                for (i, out) in out.chunks_mut(COLUMNS).enumerate() {
                    // SAFETY: the caller's: every row is good for all columns.
                    let rows: RowList<F> = rows.iter().map(|row| unsafe { row.add(i * COLUMNS) }).collect();
                    let rows = rows.as_slice();
                    // SAFETY: as above.
                    let row = |row: &*const F| unsafe { std::slice::from_raw_parts(*row, out.len()) };
                    if rows.iter().all(|x| all_ordinary(row(x))) {
                        let sums = &mut sums[..out.len()];
                        // SAFETY: as above; all sums are written.
                        unsafe { fold_columns(&SumExp::<F>::new(), rows, start, sums) };
                        for (sum, out) in sums.iter().zip(out) {
                            // SAFETY: as above.
                            out.write(SumExp::<F>::raise(unsafe { sum.assume_init() }));
                        }
                    } else {
                        // SAFETY: as above.
                        unsafe { fold_columns(&self.0, rows, start, out) };
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
