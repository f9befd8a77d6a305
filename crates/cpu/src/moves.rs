//! Moves of elements to where loops read them. A move depends on the size of elements only, so it is compiled once for
//! each size, not once for each kernel.

use std::mem::MaybeUninit;

use super::policy::{AHEAD, LINES_AHEAD};
use super::simd::prefetch;

/// Columns that a panel reduces at a time. Their nodes stay in L1, level by level, and every loop is long enough for
/// vectors.
pub const TILE: usize = 64;

/// Names a type of a given number of bytes, which need not be initialised: `by_size!(bytes, T => f::<T>(…), else …)`.
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

/// Names a number as a constant if it is listed: `by_number!(n, N in [1 2 3] => f::<N>(…), else …)`.
macro_rules! by_number {
    ($number:expr, $n:ident in [$($listed:literal)*] => $of:expr, else $other:expr) => {
        match $number {
            $($listed => {
                const $n: usize = $listed;
                $of
            })*
            _ => $other,
        }
    };
}

pub(crate) use by_number;

/// Copies a value of `bytes` bytes, at any alignment.
///
/// # Safety
/// The bytes are readable at `from`, and `to` has room for them.
#[inline(always)]
pub unsafe fn copy<T>(from: *const T, to: *mut T, bytes: usize) {
    // SAFETY: the caller vouches for `bytes` bytes on either side.
    unsafe {
        by_size!(
            bytes,
            W => to.cast::<W>().write_unaligned(from.cast::<W>().read_unaligned()),
            else std::ptr::copy_nonoverlapping(from.cast::<u8>(), to.cast(), bytes)
        );
    }
}

/// Writes the first of `n` values over the others.
///
/// # Safety
/// The first value is readable, and there is room for `n` of `bytes` bytes.
pub unsafe fn repeat<T>(to: *mut T, n: usize, bytes: usize) {
    // SAFETY: the caller vouches for the first value, and for room for all.
    unsafe {
        by_size!(
            bytes,
            W => {
                let first = to.cast::<W>().read_unaligned();
                (1..n).for_each(|i| to.cast::<W>().add(i).write_unaligned(first));
            },
            else for i in 1..n {
                copy(to, to.wrapping_byte_add(i * bytes), bytes);
            }
        );
    }
}

/// Copies rows of `width` elements, fewer than [`TILE`], to the rows of a tile, and fills the other columns of the tile
/// with elements of the same row.
///
/// # Safety
/// Every pointer in `rows` is good for `width` elements; the tile has as many rows, of [`TILE`] elements.
pub unsafe fn copy_rows<X>(rows: &[*const X], width: usize, bytes: usize, tile: *mut X) {
    debug_assert!((1..TILE).contains(&width));
    for (i, &row) in rows.iter().enumerate() {
        // SAFETY: the caller vouches for `width` elements of each row, and for a row of the tile for each; a copy
        // within a row of the tile reads the `done` elements before those that it writes, and ends with the row.
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

/// Copies runs of `len` elements that follow one another: of `n` lines of `runs` runs each, run i of every line goes to
/// the elements from `i * pitch` on, line after line.
///
/// # Safety
/// All runs are readable, and `to` has room for them.
pub unsafe fn copy_runs<X>(x: *const X, [n, runs]: [usize; 2], len: usize, bytes: usize, to: *mut X, pitch: usize) {
    let (x, to, width) = (x.cast::<MaybeUninit<u8>>(), to.cast::<MaybeUninit<u8>>(), len * bytes);
    for line in 0..n {
        for run in 0..runs {
            let x = x.wrapping_add((line * runs + run) * width);
            prefetch(x.wrapping_byte_add(AHEAD), width);
            // SAFETY: the caller vouches for all runs on either side.
            unsafe { copy_run(x, to.add((run * pitch + line * len) * bytes), width) };
        }
    }
}

/// Copies `n` lines of `len` elements of `bytes` bytes, `step` bytes apart, to lines that are `pitch` elements apart.
///
/// # Safety
/// All lines are readable, and `to` has room for them.
pub unsafe fn copy_lines<X>(x: *const X, n: usize, step: isize, len: usize, bytes: usize, to: *mut X, pitch: usize) {
    let (x, to, width) = (x.cast::<MaybeUninit<u8>>(), to.cast::<MaybeUninit<u8>>(), len * bytes);
    let (x, to) = (|i: usize| x.wrapping_offset(i as isize * step), |i: usize| to.wrapping_add(i * pitch * bytes));
    // Lines that are far apart are no stream that the CPU sees.
    let ahead = (AHEAD / step.unsigned_abs().max(1)).max(LINES_AHEAD);
    // SAFETY: the caller vouches for all lines on either side.
    unsafe {
        by_number!(width, N in [8 16 32 64 128] => for i in 0..n {
            prefetch(x(i + ahead), 1);
            to(i).cast::<[MaybeUninit<u8>; N]>().write_unaligned(x(i).cast::<[MaybeUninit<u8>; N]>().read_unaligned());
        }, else for i in 0..n {
            prefetch(x(i + ahead), width);
            copy_run(x(i), to(i), width);
        });
    }
}

/// Copies the same pieces of `n` blocks, which follow one another, each `block` bytes long. A piece has `len` elements
/// of `bytes` bytes. `places` has the element of a block where each piece begins, and the row and the column that the
/// first block's piece goes to; that of each block goes behind that of the block before, `width` columns further. Rows
/// are `n * width` elements long. Blocks are read in the order of memory: one piece of all blocks after the other would
/// wait for memory again and again.
///
/// # Safety
/// All blocks are readable, and `to` has room for all pieces.
#[expect(clippy::too_many_arguments, reason = "blocks, pieces, rows")]
pub unsafe fn copy_pieces<X>(
    x: *const X,
    n: usize,
    block: usize,
    places: &[[usize; 3]],
    len: usize,
    bytes: usize,
    to: *mut X,
    width: usize,
) {
    let (x, to) = (x.cast::<MaybeUninit<u8>>(), to.cast::<MaybeUninit<u8>>());
    for i in 0..n {
        let (x, to) = (x.wrapping_add(i * block), to.wrapping_add(i * width * bytes));
        prefetch(x.wrapping_add(AHEAD), block);
        let place = |&[from, row, column]: &[usize; 3]| {
            (x.wrapping_add(from * bytes), to.wrapping_add((row * n * width + column) * bytes))
        };
        // SAFETY: the caller vouches for the pieces of all blocks on either side.
        unsafe {
            by_number!(len * bytes, N in [8 16 32 64 128] => for (x, to) in places.iter().map(place) {
                to.cast::<[MaybeUninit<u8>; N]>().write_unaligned(x.cast::<[MaybeUninit<u8>; N]>().read_unaligned());
            }, else for (x, to) in places.iter().map(place) {
                copy_run(x, to, len * bytes);
            });
        }
    }
}

/// Copies bytes past the caches: lines that are written whole are not read before. [`streamed`] ends such copies.
///
/// # Safety
/// The bytes are readable and initialised at `from`, and `to` has room for them.
pub unsafe fn stream(from: *const u8, to: *mut u8, bytes: usize) {
    const LINE: usize = 64;
    // Up to the first whole line, and after the last one.
    let head = to.align_offset(LINE).min(bytes);
    let tail = if cfg!(target_arch = "x86_64") { (bytes - head) % LINE } else { bytes - head };
    let end = bytes - tail;
    // SAFETY: the caller's. Lines from `head` to `end` are whole, and every x86-64 has these instructions.
    unsafe {
        std::ptr::copy_nonoverlapping(from, to, head);
        #[cfg(target_arch = "x86_64")]
        for line in (head..end).step_by(LINE) {
            use std::arch::x86_64::{_mm_loadu_si128, _mm_stream_si128};
            let x: [_; 4] = std::array::from_fn(|i| _mm_loadu_si128(from.add(line + 16 * i).cast()));
            for (i, x) in x.into_iter().enumerate() {
                _mm_stream_si128(to.add(line + 16 * i).cast(), x);
            }
        }
        std::ptr::copy_nonoverlapping(from.add(end), to.add(end), tail);
    }
}

/// After this, other threads that hear of this one's work see what it has copied by [`stream`].
pub fn streamed() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 has the instruction.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// Copies a run of a few bytes, or of many.
///
/// # Safety
/// `bytes` bytes are readable, and `to` has room for them.
#[inline(always)]
pub unsafe fn copy_run(x: *const MaybeUninit<u8>, to: *mut MaybeUninit<u8>, bytes: usize) {
    /// Bytes of a run from which on a call costs little.
    const LONG: usize = 256;
    // SAFETY: the caller's; no piece is longer than the run.
    unsafe {
        match bytes {
            16..LONG => copy_row_by::<MaybeUninit<u8>, 16>(x, bytes, to),
            8..16 => copy_row_by::<MaybeUninit<u8>, 8>(x, bytes, to),
            4..8 => copy_row_by::<MaybeUninit<u8>, 4>(x, bytes, to),
            _ => std::ptr::copy_nonoverlapping(x, to, bytes),
        }
    }
}

/// Copies a row of a few elements, in pieces whose size the compiler knows.
///
/// # Safety
/// `width` elements are readable, and `to` has room for them.
#[inline(always)]
unsafe fn copy_row<T: Copy>(x: *const T, width: usize, to: *mut T) {
    // SAFETY: the caller vouches for `width` elements on either side.
    unsafe {
        by_number!(width, N in [1 2 3 4 5 6 7] => copy_row_by::<T, N>(x, N, to), else match width {
            8..16 => copy_row_by::<T, 8>(x, width, to),
            _ => copy_row_by::<T, 16>(x, width, to),
        });
    }
}

/// Copies a row in pieces of N elements, the last of which may overlap the one before.
///
/// # Safety
/// As of [`copy_row`]; the row has N elements.
#[inline(always)]
unsafe fn copy_row_by<T: Copy, const N: usize>(x: *const T, width: usize, to: *mut T) {
    let mut at = 0;
    while at < width {
        at = at.min(width - N);
        // SAFETY: `at` is at most `width - N`, so N of the `width` elements follow on either side.
        unsafe { to.add(at).cast::<[T; N]>().write_unaligned(x.add(at).cast::<[T; N]>().read_unaligned()) };
        at += N;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_any_length_are_brought_together() {
        for (bytes, len) in [1, 2, 4, 8, 16].into_iter().flat_map(|bytes| (1..40).map(move |len| (bytes, len))) {
            let (n, runs, pitch) = (5, 3, 5 * len + 2);
            let x: Vec<u8> = (0..n * runs * len * bytes).map(|i| (i % 251) as u8).collect();
            let mut to = vec![255u8; runs * pitch * bytes];
            // SAFETY: `x` has all runs, and `to` room for them.
            unsafe { copy_runs(x.as_ptr(), [n, runs], len, bytes, to.as_mut_ptr(), pitch) };
            for (i, &got) in to.iter().enumerate() {
                let (run, place) = (i / (pitch * bytes), i % (pitch * bytes));
                let (line, at) = (place / (len * bytes), place % (len * bytes));
                let want = if line < n { x[(line * runs + run) * len * bytes + at] } else { 255 };
                assert_eq!(got, want, "runs of {len} elements of {bytes} bytes");
            }
        }
    }

    #[test]
    fn pieces_of_blocks_become_rows() {
        for (bytes, len) in [1, 2, 4, 8].into_iter().flat_map(|bytes| (1..20).map(move |len| (bytes, len))) {
            // Three pieces of a block of `3 * len + 1` elements, of which two share a row.
            let (n, width, block) = (5, 2 * len, 3 * len + 1);
            let places = [[0, 1, 0], [len, 0, 0], [2 * len + 1, 1, len]];
            let x: Vec<u8> = (0..n * block * bytes).map(|i| (i % 251) as u8).collect();
            let mut to = vec![255u8; 2 * n * width * bytes];
            // SAFETY: `x` has all blocks, and `to` both rows.
            unsafe { copy_pieces(x.as_ptr(), n, block * bytes, &places, len, bytes, to.as_mut_ptr(), width) };
            let mut want = vec![255u8; to.len()];
            for (i, [from, row, column]) in (0..n).flat_map(|i| places.map(|place| (i, place))) {
                let (from, at) = ((i * block + from) * bytes, (row * n * width + i * width + column) * bytes);
                want[at..at + len * bytes].copy_from_slice(&x[from..from + len * bytes]);
            }
            assert_eq!(to, want, "pieces of {len} elements of {bytes} bytes");
        }
    }
}
