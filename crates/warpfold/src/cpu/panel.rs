//! A few rows of a matrix, column by column: what the columns route does with each panel.

use std::mem::MaybeUninit;

use warpfold_core::Reducer;

use super::kernel::{Acc, Item, Kernel};
use super::policy::{AHEAD, BLOCK, PANEL};
use super::simd::{prefetch, vectorize};

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

/// Columns that are taken at a time: their nodes stay in L1, level by level, and every loop is long enough to be vectors.
pub(super) const TILE: usize = 64;

/// See [`Kernel::panel`].
#[inline(always)]
pub(super) unsafe fn fold_columns<R: Reducer>(
    reducer: &R,
    rows: &[*const R::Item],
    start: u64,
    out: &mut [MaybeUninit<R::Acc>],
) {
    let width = out.len();
    if width < TILE {
        // SAFETY: the caller's: every row has `width` elements.
        let mut tile = unsafe { [[*rows[0]; TILE]; PANEL] };
        for (row, tile) in rows.iter().zip(&mut tile) {
            // SAFETY: as above.
            unsafe { copy_row(*row, width, tile.as_mut_ptr()) };
        }
        let mut nodes = [const { MaybeUninit::uninit() }; TILE];
        fold_tile(reducer, rows.len(), |i| &tile[i], start, &mut nodes);
        out.copy_from_slice(&nodes[..width]);
        return;
    }
    let mut column = 0;
    while column < width {
        // The last tile may overlap the one before.
        column = column.min(width - TILE);
        // SAFETY: the caller's: every row is good for all columns.
        let row = |i: usize| unsafe { &*rows[i].add(column).cast::<[R::Item; TILE]>() };
        fold_tile(reducer, rows.len(), row, start, out[column..].first_chunk_mut().expect("a tile"));
        column += TILE;
    }
}

/// Copies a row of a few elements, in pieces that the compiler knows the size of.
///
/// # Safety
/// `width` elements are readable, and `to` has room for them.
#[inline(always)]
pub(super) unsafe fn copy_row<T: Copy>(x: *const T, width: usize, to: *mut T) {
    /// Pieces of N, the last of which may overlap the one before.
    #[inline(always)]
    unsafe fn pieces<T: Copy, const N: usize>(x: *const T, width: usize, to: *mut T) {
        let mut at = 0;
        while at < width {
            at = at.min(width - N);
            // SAFETY: the caller's; width is at least N.
            unsafe { to.add(at).cast::<[T; N]>().write_unaligned(x.add(at).cast::<[T; N]>().read_unaligned()) };
            at += N;
        }
    }
    // SAFETY: the caller's.
    unsafe {
        match width {
            1 => pieces::<T, 1>(x, 1, to),
            2 => pieces::<T, 2>(x, 2, to),
            3 => pieces::<T, 3>(x, 3, to),
            4 => pieces::<T, 4>(x, 4, to),
            5 => pieces::<T, 5>(x, 5, to),
            6 => pieces::<T, 6>(x, 6, to),
            7 => pieces::<T, 7>(x, 7, to),
            8..16 => pieces::<T, 8>(x, width, to),
            _ => pieces::<T, 16>(x, width, to),
        }
    }
}

/// One tile of columns, level by level.
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "several rows are indexed alike, and the vectoriser sees it")]
pub(super) fn fold_tile<'a, R: Reducer<Item: 'a>, const W: usize>(
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
            prefetch(x.wrapping_add(i * C).wrapping_byte_add(AHEAD), LINE * C);
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

/// [`Kernel::dense`] by [`Kernel::block`]: the columns, at most [`PANEL`], are taken apart.
pub(super) fn block_of_each<K: Kernel>(kernel: &K, x: &[Item<K>], start: u64, out: &mut [MaybeUninit<Acc<K>>]) {
    debug_assert!(x.len() <= BLOCK);
    let mut tile = [const { MaybeUninit::<Item<K>>::uninit() }; BLOCK];
    let rows = x.len() / out.len();
    let tile = tile.as_mut_ptr().cast::<Item<K>>();
    // SAFETY: the tile has room for all columns, which are written.
    let columns = unsafe {
        take_apart(x.as_ptr(), rows, out.len(), tile);
        std::slice::from_raw_parts(tile, x.len())
    };
    for (column, out) in columns.chunks_exact(rows).zip(out) {
        out.write(kernel.block(column, start));
    }
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
