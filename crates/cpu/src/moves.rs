//! Elements brought to where loops want them. Nothing but their size matters for that, so each move is compiled once
//! per size, not once per kernel.

use std::mem::MaybeUninit;

use super::policy::{AHEAD, PANEL};
use super::simd::{array, prefetch, vectorize};

/// Columns that panels take at a time: their nodes stay in L1, level by level, and every loop is long enough to be
/// vectors.
pub const TILE: usize = 64;

/// Names a type of so many bytes, which need not be initialised: `by_size!(bytes, T => f::<T>(…), else …)`.
macro_rules! by_size {
    ($bytes:expr, $t:ident => $of:expr, else $other:expr) => {
        match $bytes {
            1 => by_size!(u8, $t => $of),
            2 => by_size!(u16, $t => $of),
            4 => by_size!(u32, $t => $of),
            8 => by_size!(u64, $t => $of),
            16 => by_size!(u128, $t => $of),
            _ => $other,
        }
    };
    ($word:ident, $t:ident => $of:expr) => {{
        type $t = std::mem::MaybeUninit<$word>;
        $of
    }};
}
pub(crate) use by_size;

/// Copies a value of so many bytes.
///
/// # Safety
/// They are readable, and there is room for them. Neither need be aligned.
#[inline(always)]
pub unsafe fn copy<T>(from: *const T, to: *mut T, bytes: usize) {
    // SAFETY: the caller vouches for so many bytes on either side.
    unsafe {
        by_size!(
            bytes,
            W => to.cast::<W>().write_unaligned(from.cast::<W>().read_unaligned()),
            else std::ptr::copy_nonoverlapping(from.cast::<u8>(), to.cast(), bytes)
        );
    }
}

/// Takes rows of `columns` elements of `bytes` apart: column c goes to the elements from `c * n` on. `whole` ones are
/// numbers; others may have bytes that are not initialised.
///
/// # Safety
/// `n * columns` elements are readable at `x`, at any alignment, and `to` has room for as many.
pub unsafe fn take_apart<X>(x: *const X, n: usize, columns: usize, bytes: usize, whole: bool, to: *mut X) {
    // SAFETY: the caller vouches for `n * columns` elements on either side; the size is that of the type.
    unsafe {
        match bytes {
            1 if whole => take_apart_typed::<u8>(x.cast(), n, columns, to.cast()),
            2 if whole => take_apart_typed::<u16>(x.cast(), n, columns, to.cast()),
            // A copy keeps all bits of a float, too, and it takes an instruction less to put one into a vector: 204
            // rows of 20 elements take 1.26 us, and 1.60 us as integers (AVX2).
            4 if whole => take_apart_typed::<f32>(x.cast(), n, columns, to.cast()),
            8 if whole => take_apart_typed::<f64>(x.cast(), n, columns, to.cast()),
            _ => by_size!(bytes, T => any::<T>(x.cast(), n, columns, to.cast()), else {
                for i in 0..n * columns {
                    let place = i % columns * n + i / columns;
                    copy(x.wrapping_byte_add(i * bytes), to.wrapping_byte_add(place * bytes), bytes);
                }
            }),
        }
    }
}

/// [`take_apart`] of elements of one type.
///
/// # Safety
/// `n * columns` elements are readable at `x`, at any alignment, and `to` has room for as many.
#[inline(never)]
unsafe fn take_apart_typed<T: Copy>(x: *const T, n: usize, columns: usize, to: *mut T) {
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
                // SAFETY: row i and column c are within the `n` rows that the caller vouches for.
                unsafe { to.add(c * n + i).write_unaligned(x.add(i * C + c).read_unaligned()) };
            }
        }
    }
    vectorize(
        #[inline(always)]
        // SAFETY: the caller vouches for `n * columns` elements on either side.
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
            // SAFETY: row i and column c are within the `n` rows that the caller vouches for.
            unsafe { to.add(c * n + i).write_unaligned(x.add(i * columns + c).read_unaligned()) };
        }
    }
}

/// Columns of narrow rows that are brought side by side.
pub const WIDE: usize = 4 * TILE;

/// Elements from one of these rows to the next: not a power of two, so that rows do not compete for one cache set.
pub const PITCH: usize = WIDE + 16;

/// Fills `n` elements with the first of `x`.
///
/// # Safety
/// It is readable, and there is room.
pub unsafe fn fill<X>(to: *mut X, x: *const X, n: usize, bytes: usize) {
    // SAFETY: the caller vouches for so many bytes on either side.
    unsafe {
        by_size!(bytes, T => {
            let x = x.cast::<T>().read_unaligned();
            for i in 0..n {
                to.cast::<T>().add(i).write_unaligned(x);
            }
        }, else (0..n).for_each(|i| copy(x, to.byte_add(i * bytes), bytes)));
    }
}

/// Copies rows of `width` elements of `bytes`, fewer than [`TILE`], to those of a tile of so many columns, and fills
/// what is left of each with elements.
///
/// # Safety
/// Every pointer in `rows` is good for `width` elements; the tile has as many rows.
pub unsafe fn copy_rows<X>(rows: &[*const X], width: usize, bytes: usize, tile: *mut X) {
    debug_assert!((1..TILE).contains(&width));
    for (i, &row) in rows.iter().enumerate() {
        // SAFETY: the caller vouches for `width` elements of each row, and for as many rows of the tile.
        unsafe {
            let to = tile.byte_add(i * TILE * bytes);
            by_size!(bytes, T => copy_row::<T>(row.cast(), width, to.cast()), else {
                std::ptr::copy_nonoverlapping(row.cast::<MaybeUninit<u8>>(), to.cast(), width * bytes);
            });
            let mut done = width;
            while done < TILE {
                let n = done.min(TILE - done);
                std::ptr::copy_nonoverlapping(
                    to.cast::<MaybeUninit<u8>>(),
                    to.byte_add(done * bytes).cast(),
                    n * bytes,
                );
                done += n;
            }
        }
    }
}

/// Row r of every group of `n` rows of `width` elements becomes row r of the tile. `groups` is a power of two; the
/// groups stand in the order of their numbers' reversed bits. Rows of the tile are [`PITCH`] apart.
///
/// # Safety
/// The groups are readable, and together no wider than the tile.
pub unsafe fn side_by_side<X>(x: *const X, groups: usize, n: usize, width: usize, bytes: usize, tile: *mut X) {
    debug_assert!(groups * width <= WIDE && n <= PANEL);
    // SAFETY: the caller vouches for so many bytes on either side.
    unsafe {
        by_size!(bytes, T => side_by_side_typed::<T>(x.cast(), groups, n, width, tile.cast()), else {
            for row in 0..groups * n {
                let place = (row / n).reverse_bits().checked_shr(usize::BITS - groups.ilog2()).unwrap_or(0);
                let to = tile.byte_add((row % n * PITCH + place * width) * bytes);
                let from = x.byte_add(row * width * bytes);
                std::ptr::copy_nonoverlapping(from.cast::<MaybeUninit<u8>>(), to.cast(), width * bytes);
            }
        });
    }
}

/// Numbers with their bits reversed, as many bits as [`WIDE`] needs: there is no instruction for it on most CPUs.
const REVERSED: [u8; WIDE] = {
    let mut reversed = [0; WIDE];
    let mut i = 0;
    while i < WIDE {
        reversed[i] = ((i as u32).reverse_bits() >> (u32::BITS - WIDE.ilog2())) as u8;
        i += 1;
    }
    reversed
};

/// [`side_by_side`] of elements of one type.
///
/// # Safety
/// The groups are readable, and together no wider than the tile.
#[inline(never)]
unsafe fn side_by_side_typed<T: Copy>(x: *const T, groups: usize, n: usize, width: usize, tile: *mut T) {
    #[inline(always)]
    unsafe fn copy_groups<T: Copy>(x: *const T, groups: usize, n: usize, width: usize, tile: *mut T) {
        let unused = REVERSED.len().ilog2() - groups.ilog2();
        for (group, &reversed) in REVERSED[..groups].iter().enumerate() {
            let place = usize::from(reversed) >> unused;
            for row in 0..n {
                // SAFETY: the row is as wide as said, and all groups fit a row of the tile.
                unsafe { copy_row(x.add((group * n + row) * width), width, tile.add(row * PITCH + place * width)) };
            }
        }
    }
    // A loop for each of the frequent widths.
    // SAFETY: the caller vouches for `width` elements on either side.
    unsafe {
        match width {
            1 if n == PANEL => copy_groups(x, groups, PANEL, 1, tile),
            2 if n == PANEL => copy_groups(x, groups, PANEL, 2, tile),
            3 if n == PANEL => copy_groups(x, groups, PANEL, 3, tile),
            4 if n == PANEL => copy_groups(x, groups, PANEL, 4, tile),
            8 if n == PANEL => copy_groups(x, groups, PANEL, 8, tile),
            16 if n == PANEL => copy_groups(x, groups, PANEL, 16, tile),
            _ => copy_groups(x, groups, n, width, tile),
        }
    }
}

/// Copies a row of a few elements, in pieces that the compiler knows the size of.
///
/// # Safety
/// `width` elements are readable, and `to` has room for them.
#[inline(always)]
unsafe fn copy_row<T: Copy>(x: *const T, width: usize, to: *mut T) {
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
    // SAFETY: the caller vouches for `width` elements on either side.
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
