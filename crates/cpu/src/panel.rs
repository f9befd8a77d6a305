//! A few rows of a matrix, column by column: what the columns route does with each panel.

use std::mem::MaybeUninit;

use warpfold_core::Reducer;

use super::dense::dense_rows;
use super::kernel::{Acc, Item, Kernel};
use super::policy::{AHEAD, BLOCK, MOST_ROWS, PANEL};
use super::simd::{array, inlined, prefetch, vectorize};

/// Up to [`MOST_ROWS`] row addresses, on the stack.
pub struct RowList<T> {
    rows: [MaybeUninit<*const T>; MOST_ROWS],
    /// How many.
    pub len: usize,
}

impl<T> RowList<T> {
    /// None.
    pub fn empty() -> Self {
        Self { rows: [MaybeUninit::uninit(); MOST_ROWS], len: 0 }
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
    // SAFETY: the caller's.
    unsafe {
        fold_columns_by(
            rows,
            out,
            #[inline(always)]
            |rows, out| fold_tile(reducer, rows, start, out),
        );
    }
}

/// The same, where `fold` makes the nodes of a tile of columns, given its part of each row.
///
/// # Safety
/// Every pointer in `rows`, of which there are at most [`PANEL`], is good for `out.len()` elements.
#[inline(always)]
pub(super) unsafe fn fold_columns_by<T: Copy, A: Copy>(
    rows: &[*const T],
    out: &mut [MaybeUninit<A>],
    fold: impl Fn(&[&[T; TILE]], &mut [MaybeUninit<A>; TILE]),
) {
    let (n, width) = (rows.len(), out.len());
    if width < TILE {
        // SAFETY: the caller's.
        let mut tile = unsafe { [[*rows[0]; TILE]; PANEL] };
        for (row, tile) in rows.iter().zip(&mut tile) {
            // SAFETY: as above.
            unsafe { copy_row(*row, width, tile.as_mut_ptr()) };
        }
        let mut nodes = [const { MaybeUninit::uninit() }; TILE];
        fold(&tile.each_ref()[..n], &mut nodes);
        out.copy_from_slice(&nodes[..width]);
        return;
    }
    let mut column = 0;
    while column < width {
        // The last tile may overlap the one before.
        column = column.min(width - TILE);
        // SAFETY: the caller's: every row is good for all columns.
        let row = inlined(
            #[inline(always)]
            |i: usize| unsafe { &*rows[i].add(column).cast::<[T; TILE]>() },
        );
        let out = out[column..].first_chunk_mut().expect("a tile");
        if n == PANEL {
            // A number that the compiler knows.
            let tile: [&[T; TILE]; PANEL] = array!(PANEL, i => row(i));
            fold(&tile, out);
        } else {
            let tile: [&[T; TILE]; PANEL] = array!(PANEL, i => row(i.min(n - 1)));
            fold(&tile[..n], out);
        }
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
pub(super) fn fold_tile<R: Reducer, const W: usize>(
    reducer: &R,
    rows: &[&[R::Item; W]],
    start: u64,
    out: &mut [MaybeUninit<R::Acc>; W],
) {
    // A local array, which cannot overlap the rows: the vectoriser needs no proof of that.
    let mut nodes = [[const { MaybeUninit::<R::Acc>::uninit() }; W]; PANEL / 2];
    if let Ok(x) = <&[&[R::Item; W]; PANEL]>::try_from(rows) {
        for i in 0..W {
            let leaf = inlined(
                #[inline(always)]
                |r: usize| reducer.lift(x[r][i], start + r as u64),
            );
            let pair = inlined(
                #[inline(always)]
                |r: usize| reducer.combine_counted(leaf(r), 1, leaf(r + 1), 1),
            );
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
        let (left, at) = (rows[2 * pair], start + 2 * pair as u64);
        if let Some(right) = rows.get(2 * pair + 1) {
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
                let column: [T; LINE] = array!(LINE, i => rows[i][c]);
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
                _ => any(x, n, columns, to),
            }
        },
    );
}

/// The same of any number of columns: some elements of one column after the other.
#[inline(always)]
unsafe fn any<T: Copy>(x: *const T, n: usize, columns: usize, to: *mut T) {
    const LINE: usize = 16;
    let mut i = 0;
    while i + LINE <= n {
        // SAFETY: the caller's: LINE rows are readable from the row i, and there is room for n elements of each column.
        unsafe {
            let rows = x.add(i * columns);
            prefetch(rows.wrapping_byte_add(AHEAD), LINE * columns);
            for c in 0..columns {
                let column: [T; LINE] = array!(LINE, i => rows.add(i * columns + c).read_unaligned());
                to.add(c * n + i).cast::<[T; LINE]>().write_unaligned(column);
            }
        }
        i += LINE;
    }
    for i in i..n {
        for c in 0..columns {
            // SAFETY: the caller's.
            unsafe { to.add(c * n + i).write(x.add(i * columns + c).read_unaligned()) };
        }
    }
}

/// Calls `f` with rows of `len` elements each taken apart: column c of all rows is the row c.
#[inline(always)]
pub(super) fn with_columns<T: Copy, O>(x: &[T], len: usize, f: impl FnOnce(&[T]) -> O) -> O {
    debug_assert!(x.len() <= BLOCK);
    let mut tile = [const { MaybeUninit::<T>::uninit() }; BLOCK];
    // SAFETY: the tile has room for all rows, which are written.
    f(unsafe {
        take_apart(x.as_ptr(), x.len() / len, len, tile.as_mut_ptr().cast());
        tile[..x.len()].assume_init_ref()
    })
}

/// The trees over rows of at most [`BLOCK`] / [`PANEL`] elements: taken apart, they are columns.
pub(super) fn fold_short_rows<K: Kernel>(kernel: &K, x: &[Item<K>], len: usize, out: &mut Vec<Acc<K>>) {
    debug_assert!(len <= BLOCK / PANEL);
    let n = x.len() / len;
    with_columns(x, len, |x| {
        if out.is_empty() {
            *out = dense_rows(kernel, x, n, 0, std::mem::take(out));
        } else {
            out.extend(dense_rows(kernel, x, n, 0, Vec::new()));
        }
    });
}
