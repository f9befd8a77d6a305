//! A few rows of a matrix, column by column: what the columns route does with each panel.

use std::mem::MaybeUninit;

use warpfold_core::Reducer;

use super::kernel::{Acc, Item, Kernel};
use super::policy::{BLOCK, PANEL};
use super::simd::vectorize;

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
/// The same for the last columns.
const NARROW: usize = 16;

/// See [`Kernel::panel`].
#[inline(always)]
pub(super) unsafe fn fold_columns<R: Reducer>(
    reducer: &R,
    rows: &[*const R::Item],
    start: u64,
    out: &mut [MaybeUninit<R::Acc>],
) {
    let (tiles, rest) = out.as_chunks_mut::<TILE>();
    let (narrow, last) = rest.as_chunks_mut::<NARROW>();
    let mut column = 0;
    for out in tiles {
        // SAFETY: the caller's: every row is good for all columns.
        let row = |i: usize| unsafe { &*rows[i].add(column).cast::<[R::Item; TILE]>() };
        fold_tile(reducer, rows.len(), row, start, out);
        column += TILE;
    }
    for out in narrow {
        // SAFETY: as above.
        let row = |i: usize| unsafe { &*rows[i].add(column).cast::<[R::Item; NARROW]>() };
        fold_tile(reducer, rows.len(), row, start, out);
        column += NARROW;
    }
    if !last.is_empty() {
        // Fewer columns than that, with copies of the last one beside them.
        // SAFETY: as above.
        let element = |row: usize, i: usize| unsafe { *rows[row].add(column + i.min(last.len() - 1)) };
        let mut tile = [[element(0, 0); NARROW]; PANEL];
        for (row, tile) in tile[..rows.len()].iter_mut().enumerate() {
            *tile = std::array::from_fn(|i| element(row, i));
        }
        let mut nodes = [const { MaybeUninit::uninit() }; NARROW];
        fold_tile(reducer, rows.len(), |i| &tile[i], start, &mut nodes);
        last.copy_from_slice(&nodes[..last.len()]);
    }
}

/// One tile of columns, level by level.
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "several rows are indexed alike, and the vectoriser sees it")]
fn fold_tile<'a, R: Reducer<Item: 'a>, const W: usize>(
    reducer: &R,
    rows: usize,
    row: impl Fn(usize) -> &'a [R::Item; W],
    start: u64,
    out: &mut [MaybeUninit<R::Acc>; W],
) {
    // A local array, which cannot overlap the rows: the vectoriser needs no proof of that.
    let mut nodes = [[const { MaybeUninit::<R::Acc>::uninit() }; W]; PANEL / 2];
    if rows == PANEL {
        let x: [&[R::Item; W]; PANEL] = std::array::from_fn(&row);
        for i in 0..W {
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
    let mut n = rows.div_ceil(2);
    for (pair, nodes) in nodes[..n].iter_mut().enumerate() {
        let (left, at) = (row(2 * pair), start + 2 * pair as u64);
        if 2 * pair + 1 < rows {
            let right = row(2 * pair + 1);
            for i in 0..W {
                nodes[i].write(reducer.combine_counted(
                    reducer.lift(left[i], at),
                    1,
                    reducer.lift(right[i], at + 1),
                    1,
                ));
            }
        } else {
            weights[pair] = 1;
            for i in 0..W {
                nodes[i].write(reducer.lift(left[i], at));
            }
        }
    }
    while n > 1 {
        for pair in 0..n / 2 {
            let (m, k) = (weights[2 * pair], weights[2 * pair + 1]);
            for i in 0..W {
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

/// Takes rows of `columns` elements apart: column c goes to `to[c * n..]`.
///
/// # Safety
/// `n * columns` elements are readable at `x`, at any alignment, and `to` has room for as many.
pub unsafe fn take_apart<T: Copy>(x: *const T, n: usize, columns: usize, to: *mut T) {
    /// Pieces of C vectors, small enough for the compiler to take apart in registers.
    #[inline(always)]
    #[expect(clippy::needless_range_loop, reason = "a column is an index within every row")]
    unsafe fn fixed<T: Copy, const C: usize>(x: *const T, n: usize, to: *mut T) {
        const LINE: usize = 32;
        for i in (0..n / LINE * LINE).step_by(LINE) {
            // SAFETY: the caller's: LINE rows are readable from the row i.
            let rows = unsafe { x.add(i * C).cast::<[[T; C]; LINE]>().read_unaligned() };
            for c in 0..C {
                let column: [T; LINE] = std::array::from_fn(
                    #[inline(always)]
                    |i| rows[i][c],
                );
                // SAFETY: the caller's: there is room for n elements of each column.
                unsafe { to.add(c * n + i).cast::<[T; LINE]>().write_unaligned(column) };
            }
        }
        for i in n / LINE * LINE..n {
            for c in 0..C {
                // SAFETY: the caller's.
                unsafe { to.add(c * n + i).write(x.add(i * C + c).read_unaligned()) };
            }
        }
    }
    vectorize(
        #[inline(always)]
        // SAFETY: the caller's.
        || unsafe {
            match columns {
                2 => fixed::<T, 2>(x, n, to),
                3 => fixed::<T, 3>(x, n, to),
                4 => fixed::<T, 4>(x, n, to),
                5 => fixed::<T, 5>(x, n, to),
                6 => fixed::<T, 6>(x, n, to),
                7 => fixed::<T, 7>(x, n, to),
                8 => fixed::<T, 8>(x, n, to),
                _ => {
                    for i in 0..n * columns {
                        to.add(i % columns * n + i / columns).write(x.add(i).read_unaligned());
                    }
                }
            }
        },
    );
}

/// The trees over rows of at most [`PANEL`] elements: taken apart, they are the columns of a panel.
pub(super) fn fold_short_rows<K: Kernel>(kernel: &K, x: &[Item<K>], len: usize, out: &mut Vec<Acc<K>>) {
    debug_assert!(len <= PANEL && x.len() <= BLOCK);
    let mut tile = [const { MaybeUninit::<Item<K>>::uninit() }; BLOCK];
    let n = x.len() / len;
    let tile = tile.as_mut_ptr().cast::<Item<K>>();
    out.reserve(n);
    // SAFETY: the tile has room for `n` rows, which are all written, and `out` for `n` nodes, as the panel writes.
    unsafe {
        take_apart(x.as_ptr(), n, len, tile);
        let rows: RowList<Item<K>> = (0..len).map(|i| tile.add(i * n).cast_const()).collect();
        kernel.panel(rows.as_slice(), 0, &mut out.spare_capacity_mut()[..n]);
        out.set_len(out.len() + n);
    }
}
