//! A few rows of a matrix, column by column: what the columns route does with each panel.

use std::mem::MaybeUninit;

use warpfold_core::Reducer;

use super::kernel::short_tail;
use super::policy::PANEL;

/// Up to [`PANEL`] row addresses, on the stack.
pub struct RowList<T> {
    rows: [MaybeUninit<*const T>; PANEL],
    /// How many.
    pub len: usize,
}

impl<T> RowList<T> {
    /// None.
    pub fn empty() -> Self {
        Self { rows: [MaybeUninit::uninit(); PANEL], len: 0 }
    }

    /// The addresses.
    pub fn as_slice(&self) -> &[*const T] {
        // SAFETY: the first `len` are written.
        unsafe { self.rows[..self.len].assume_init_ref() }
    }
}

impl<T> FromIterator<*const T> for RowList<T> {
    fn from_iter<I: IntoIterator<Item = *const T>>(rows: I) -> Self {
        let mut pointers = Self::empty();
        for p in rows {
            pointers.rows[pointers.len].write(p);
            pointers.len += 1;
        }
        pointers
    }
}

/// Columns that [`fold_columns`] takes at a time: their nodes stay in L1, level by level.
const TILE: usize = 64;

/// See [`Kernel::panel`](super::kernel::Kernel::panel).
#[inline(always)]
pub(super) unsafe fn fold_columns<R: Reducer>(
    reducer: &R,
    rows: &[*const R::Item],
    start: u64,
    out: &mut [MaybeUninit<R::Acc>],
) {
    let (tiles, rest) = out.as_chunks_mut::<TILE>();
    let whole = tiles.len() * TILE;
    for (tile, out) in tiles.iter_mut().enumerate() {
        // SAFETY: the caller's.
        unsafe { fold_tile(reducer, rows, tile * TILE, start, out) };
    }
    for (i, out) in rest.iter_mut().enumerate() {
        let mut column = [const { MaybeUninit::uninit() }; PANEL];
        for (row, x) in rows.iter().zip(&mut column) {
            // SAFETY: the caller's.
            x.write(unsafe { *row.add(whole + i) });
        }
        // SAFETY: one element per row is written.
        let x = unsafe { column[..rows.len()].assume_init_ref() };
        out.write(short_tail(reducer, x, start).expect("at least one row").0);
    }
}

/// One tile of columns, level by level.
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "several rows are indexed alike, and the vectoriser sees it")]
unsafe fn fold_tile<R: Reducer>(
    reducer: &R,
    rows: &[*const R::Item],
    column: usize,
    start: u64,
    out: &mut [MaybeUninit<R::Acc>; TILE],
) {
    // SAFETY: the caller's: every row is good for all columns.
    let row = |i: usize| unsafe { &*rows[i].add(column).cast::<[R::Item; TILE]>() };
    // A local array, which cannot overlap the rows: the vectoriser needs no proof of that.
    let mut nodes = [[const { MaybeUninit::<R::Acc>::uninit() }; TILE]; PANEL / 2];
    if rows.len() == PANEL {
        let x: [&[R::Item; TILE]; PANEL] = std::array::from_fn(row);
        for i in 0..TILE {
            let leaf = |r: usize| reducer.lift(x[r][i], start + r as u64);
            let pair = |r: usize| reducer.combine_counted(leaf(r), 1, leaf(r + 1), 1);
            let low = reducer.combine_counted(pair(0), 2, pair(2), 2);
            let high = reducer.combine_counted(pair(4), 2, pair(6), 2);
            nodes[0][i].write(reducer.combine_counted(low, 4, high, 4));
        }
        *out = nodes[0];
        return;
    }
    let mut weights = [2u64; PANEL / 2];
    let mut n = rows.len().div_ceil(2);
    for (pair, nodes) in nodes[..n].iter_mut().enumerate() {
        let (left, at) = (row(2 * pair), start + 2 * pair as u64);
        if 2 * pair + 1 < rows.len() {
            let right = row(2 * pair + 1);
            for i in 0..TILE {
                nodes[i].write(reducer.combine_counted(
                    reducer.lift(left[i], at),
                    1,
                    reducer.lift(right[i], at + 1),
                    1,
                ));
            }
        } else {
            weights[pair] = 1;
            for i in 0..TILE {
                nodes[i].write(reducer.lift(left[i], at));
            }
        }
    }
    while n > 1 {
        for pair in 0..n / 2 {
            let (m, k) = (weights[2 * pair], weights[2 * pair + 1]);
            for i in 0..TILE {
                // SAFETY: every node of the level is written.
                let (a, b) = unsafe { (nodes[2 * pair][i].assume_init(), nodes[2 * pair + 1][i].assume_init()) };
                nodes[pair][i].write(reducer.combine_counted(a, m, b, k));
            }
            weights[pair] = m + k;
        }
        if n % 2 == 1 {
            nodes[n / 2] = nodes[n - 1];
            weights[n / 2] = weights[n - 1];
        }
        n = n.div_ceil(2);
    }
    *out = nodes[0];
}
