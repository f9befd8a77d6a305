//! The transposition of short rows: many rows of a few elements become a few rows of many.

use std::mem::MaybeUninit;
#[cfg(target_arch = "x86_64")]
use std::ops::Range;

#[cfg(target_arch = "x86_64")]
use super::decks::Decks;
use super::moves::{by_number, by_size, copy_run};
#[cfg(target_arch = "x86_64")]
use super::policy::ROWS_AHEAD;
use super::policy::{AHEAD, LINES};
#[cfg(target_arch = "x86_64")]
use super::simd::inlined;
use super::simd::{Simd, array, at_level, prefetch};

/// Rows of elements.
#[derive(Clone, Copy)]
pub struct Rows {
    /// The number of rows.
    pub n: usize,
    /// Elements of a row.
    pub columns: usize,
    /// Elements from one row to the next.
    pub step: usize,
    /// Bytes of an element.
    pub bytes: usize,
    /// Whether elements are numbers. Other elements may have bytes that are not initialised.
    pub whole: bool,
}

impl Rows {
    /// Rows that follow one another without a gap.
    pub fn dense(n: usize, columns: usize, bytes: usize, whole: bool) -> Self {
        Self { n, columns, step: columns, bytes, whole }
    }
}

/// Transposes rows: column c goes to the `n` elements from `c * pitch` on.
///
/// # Safety
/// The rows are readable at `x`, at any alignment, and `to` has room for all columns.
#[inline]
pub unsafe fn take_apart<X>(x: *const X, rows: Rows, to: *mut X, pitch: usize) {
    // SAFETY: the caller's. A transposition depends on the size of elements only.
    unsafe { take_apart_bytes(x.cast(), rows, to.cast(), pitch) };
}

/// [`take_apart`] of elements of which only the size is known.
///
/// # Safety
/// As of [`take_apart`].
#[inline(never)]
unsafe fn take_apart_bytes(x: *const MaybeUninit<u8>, rows: Rows, to: *mut MaybeUninit<u8>, pitch: usize) {
    let Rows { n, columns, step, bytes, whole } = rows;
    debug_assert!(pitch >= n);
    // SAFETY: the caller vouches for `n * columns` elements on either side; the size is that of the type.
    unsafe {
        match bytes {
            1 if whole => take_apart_typed::<u8>(x.cast(), n, columns, step, to.cast(), pitch),
            2 if whole => take_apart_typed::<u16>(x.cast(), n, columns, step, to.cast(), pitch),
            // As floats, whose bits a copy keeps, too: it takes an instruction less to put a float into a vector. 204
            // rows of 20 elements take 1.26 us, and 1.60 us as integers (AVX2).
            4 if whole => take_apart_typed::<f32>(x.cast(), n, columns, step, to.cast(), pitch),
            8 if whole => take_apart_typed::<f64>(x.cast(), n, columns, step, to.cast(), pitch),
            _ => by_size!(bytes, T => any::<T>(Simd::Baseline, x.cast(), n, columns, step, to.cast(), pitch), else {
                // Some columns at a time, so that the lines of all of them stay in the cache.
                for first in (0..columns).step_by(LINES) {
                    for row in 0..n {
                        let (x, to) = (x.wrapping_byte_add(row * step * bytes), to.wrapping_byte_add(row * bytes));
                        for column in first..columns.min(first + LINES) {
                            let to = to.wrapping_byte_add(column * pitch * bytes);
                            copy_run(x.wrapping_byte_add(column * bytes), to, bytes);
                        }
                    }
                }
            }),
        }
    }
}

/// Bytes of a cache line.
pub const LINE_BYTES: usize = 64;

/// The fewest columns that are transposed in square blocks, of elements of 1, 2, 4 and 8 bytes. Fewer are left to the
/// compiler. A Xeon with AVX-512, ns of an element by the compiler and in blocks: u16, rows of 3 0.052, 0.063; of 4
/// 0.063, 0.047; of 7 0.243, 0.058; u8, of 4 0.035, 0.044; of 7 0.170, 0.045; f32, of 4 0.107, 0.122; of 7 0.301,
/// 0.133. An EPYC with AVX-512, f64, of 4 0.270, 0.165; of 7 0.397, 0.182.
const LEAST_BLOCKS: [usize; 4] = if cfg!(target_arch = "x86_64") { [5, 4, 5, 3] } else { [9; 4] };

/// [`take_apart`] of elements of one type.
///
/// # Safety
/// `n * columns` elements are readable at `x`, at any alignment, and `to` has room for all columns.
#[inline(never)]
unsafe fn take_apart_typed<T: Copy>(x: *const T, n: usize, columns: usize, step: usize, to: *mut T, pitch: usize) {
    /// Rows of C elements, in pieces that the compiler transposes in registers.
    #[inline(always)]
    #[expect(clippy::needless_range_loop, reason = "a column is an index within every row")]
    unsafe fn fixed<T: Copy, const C: usize>(x: *const T, n: usize, to: *mut T, pitch: usize) {
        const LINE: usize = 32;
        for i in (0..n / LINE * LINE).step_by(LINE) {
            prefetch(x.wrapping_add(i * C).wrapping_byte_add(AHEAD), LINE * C);
            // SAFETY: LINE rows are readable from row i on, which is at most `n - LINE`.
            let rows = unsafe { x.add(i * C).cast::<[[T; C]; LINE]>().read_unaligned() };
            for c in 0..C {
                let column: [T; LINE] = array!(LINE, i => rows[i][c]);
                // SAFETY: `to` has room for `n` elements of each column, and LINE of them follow element i.
                unsafe { to.add(c * pitch + i).cast::<[T; LINE]>().write_unaligned(column) };
            }
        }
        for i in n / LINE * LINE..n {
            for c in 0..C {
                // SAFETY: row i and column c are within the `n` rows that the caller vouches for.
                unsafe { to.add(c * pitch + i).write_unaligned(x.add(i * C + c).read_unaligned()) };
            }
        }
    }
    at_level(
        #[inline(always)]
        // SAFETY: the caller vouches for `n * columns` elements on either side.
        |level| unsafe {
            // Few CPUs of x86-64 lack AVX2, so what they run is small.
            if level == Simd::Baseline && cfg!(target_arch = "x86_64") {
                return blocks(level, x, n, columns, step, to, pitch);
            }
            if pitch == n && n * size_of::<T>() < 16 {
                return by_number!(n, N in [2 3 4 5 6 7] => woven::<T, N>(x, columns, step, to), else {
                    any(level, x, n, columns, step, to, pitch);
                });
            }
            let few = if step == columns { columns } else { 0 };
            by_number!(
                few,
                C in [2 3 4 5 6 7 8] => if C < LEAST_BLOCKS[size_of::<T>().ilog2() as usize] {
                    fixed::<T, C>(x, n, to, pitch);
                } else {
                    blocks(level, x, n, C, C, to, pitch);
                },
                else blocks(level, x, n, columns, step, to, pitch)
            );
        },
    );
}

/// [`take_apart`] of a few long rows whose columns follow one another: their elements take turns.
#[inline(always)]
unsafe fn woven<T: Copy, const N: usize>(x: *const T, columns: usize, step: usize, to: *mut T) {
    const LINE: usize = 32;
    for c in (0..columns / LINE * LINE).step_by(LINE) {
        // SAFETY: LINE elements of each row are readable from column c on, which is at most `columns - LINE`, and there
        // is room for as many columns.
        unsafe {
            let rows: [[T; LINE]; N] = array!(N, r => x.add(r * step + c).cast::<[T; LINE]>().read_unaligned());
            let turns: [[T; N]; LINE] = array!(LINE, c => array!(N, r => rows[r][c]));
            to.add(c * N).cast::<[[T; N]; LINE]>().write_unaligned(turns);
        }
    }
    for c in columns / LINE * LINE..columns {
        for r in 0..N {
            // SAFETY: row r and column c are among those that the caller vouches for.
            unsafe { to.add(c * N + r).write_unaligned(x.add(r * step + c).read_unaligned()) };
        }
    }
}

/// [`take_apart`] of any number of columns: a few elements of one column after the other.
#[inline(always)]
unsafe fn any<T: Copy>(_: Simd, x: *const T, n: usize, columns: usize, step: usize, to: *mut T, pitch: usize) {
    const LINE: usize = 16;
    let mut i = 0;
    while i + LINE <= n {
        // SAFETY: row i is at most `n - LINE`, so LINE rows are readable from there, and LINE elements of each column
        // have room from element i on.
        unsafe {
            let rows = x.add(i * step);
            for c in 0..columns {
                if step == columns {
                    prefetch(rows.wrapping_byte_add(AHEAD).wrapping_add(c * LINE), LINE);
                }
                let column: [T; LINE] = array!(LINE, i => rows.add(i * step + c).read_unaligned());
                to.add(c * pitch + i).cast::<[T; LINE]>().write_unaligned(column);
            }
        }
        i += LINE;
    }
    for i in i..n {
        for c in 0..columns {
            // SAFETY: row i and column c are within the `n` rows that the caller vouches for.
            unsafe { to.add(c * pitch + i).write_unaligned(x.add(i * step + c).read_unaligned()) };
        }
    }
}

/// [`take_apart`] of any number of columns, in blocks that are transposed in registers: as many elements of each row as
/// 16 bytes hold, of as many rows, or, with wider vectors, of two or four times as many. To transpose 2^k rows is to
/// shuffle them k times as a deck of cards: the rows of the first half take turns with those of the second, and so do
/// their elements. Each 16 bytes of a wider vector are a deck of their own, of the rows that follow.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn blocks<T: Copy>(level: Simd, x: *const T, n: usize, columns: usize, step: usize, to: *mut T, pitch: usize) {
    use std::arch::x86_64::*;

    /// Transposes whole blocks of `$b` columns. Indices are written out, so that a block stays in registers.
    macro_rules! square {
        ($name:ident, $b:literal, $stages:literal: $($low:literal)* / $($high:literal)*) => {
            #[inline(always)]
            unsafe fn $name<T: Copy, V: Decks>(
                x: *const T,
                rows: Range<usize>,
                columns: usize,
                step: usize,
                to: *mut T,
                pitch: usize,
                n: usize,
            ) {
                const B: usize = $b;
                let high = V::DECKS * B;
                // Blocks below one another fill a cache line of each column: not of few columns, nor of rows that
                // compete for one cache set.
                let line = LINE_BYTES / 16 / V::DECKS * high;
                let (row, apart) = (columns * size_of::<T>(), step * size_of::<T>());
                let is_deep = row >= 2 * LINE_BYTES && !apart.is_multiple_of(1024);
                // All of these rows are read at once.
                let ahead = if is_deep { AHEAD.max(line * row) } else { AHEAD };
                // The block of the rows from `i` on that begins in column c.
                let block = inlined(
                    #[inline(always)]
                    |(i, c): (usize, usize)| {
                    let rows = x.wrapping_add(i * step);
                    if step == columns {
                        // A block's share of later rows.
                        prefetch(rows.wrapping_byte_add(ahead).wrapping_add(c * high), high * B);
                    } else if (c * size_of::<T>()).is_multiple_of(LINE_BYTES) {
                        let first = ROWS_AHEAD.max(LINE_BYTES / size_of::<T>());
                        for row in first..first + high {
                            prefetch(rows.wrapping_add(row * step + c), 1);
                        }
                    }
                    let end = (n - 1 - i) * step + columns;
                    let some = B.min(columns - c);
                    // SAFETY: rows `i..i + high` are among the `n`. The block reads B elements of each of them, which
                    // lie before the end of all rows, as is checked; elements past the row's end are not written.
                    unsafe {
                        if (high - 1) * step + c + B > end {
                            for (row, c) in (0..high).flat_map(|row| (c..c + some).map(move |c| (row, c))) {
                                let x = rows.add(row * step + c).read_unaligned();
                                to.add(c * pitch + i + row).write_unaligned(x);
                            }
                            return;
                        }
                        let (x, to) = (rows.add(c), to.add(c * pitch + i));
                        let load = |row: usize| V::load(x.add(row * step).cast(), B * step * size_of::<T>());
                        let mut block = [$(load($low),)* $(load($high),)*];
                        for _ in 0..$stages {
                            let turns = [$(V::zip::<T>(block[$low], block[$low + B / 2]),)*];
                            block = *turns.as_flattened().first_chunk::<B>().expect("B vectors");
                        }
                        let store = |c: usize| V::store(block[c], to.add(c * pitch).cast());
                        if some == B {
                            $(store($low);)*
                            $(store($high);)*
                        } else {
                            $(if $low < some {
                                store($low);
                            })*
                            $(if $high < some {
                                store($high);
                            })*
                        }
                    }
                });
                let Range { start: mut next, end } = rows;
                if is_deep {
                    while next + line <= end {
                        for c in (0..columns).step_by(B) {
                            for below in (0..line).step_by(high) {
                                block((next + below, c));
                            }
                        }
                        next += line;
                    }
                }
                while next < end {
                    // The last rows may have been in the block before.
                    let i = next.min(end - high);
                    for c in (0..columns).step_by(B) {
                        block((i, c));
                    }
                    next += high;
                }
            }
        };
    }
    square!(of_sixteen, 16, 4: 0 1 2 3 4 5 6 7 / 8 9 10 11 12 13 14 15);
    square!(of_eight, 8, 3: 0 1 2 3 / 4 5 6 7);
    square!(of_four, 4, 2: 0 1 / 2 3);
    square!(of_two, 2, 1: 0 / 1);

    // SAFETY: the caller vouches for all rows and columns, and code compiled for a level runs only where the CPU has
    // the level's instructions; a block is no higher than there are rows.
    unsafe {
        match (size_of::<T>(), level) {
            (1, _) if n >= 16 => of_sixteen::<T, __m128i>(x, 0..n, columns, step, to, pitch, n),
            (2, _) if n >= 8 => of_eight::<T, __m128i>(x, 0..n, columns, step, to, pitch, n),
            (4, _) if n >= 4 => of_four::<T, __m128i>(x, 0..n, columns, step, to, pitch, n),
            (8, _) if n >= 2 => {
                // Of so small decks, several abreast. ns of an element of 144 columns in the cache, and from memory:
                // one deck 0.57, 0.78; two 0.33, 0.54; four 0.21, 0.50. Of 4 bytes 0.19, 0.35; 0.13, 0.28; 0.11, 0.28,
                // but of 50 columns from memory 0.23; 0.25; 0.30, and smaller elements gain less.
                let whole = match level {
                    Simd::Avx512 => n / 8 * 8,
                    Simd::Avx2 => n / 4 * 4,
                    Simd::Baseline => 0,
                };
                match level {
                    Simd::Avx512 => of_two::<T, __m512i>(x, 0..whole, columns, step, to, pitch, n),
                    Simd::Avx2 => of_two::<T, __m256i>(x, 0..whole, columns, step, to, pitch, n),
                    Simd::Baseline => {}
                }
                of_two::<T, __m128i>(x, whole..n, columns, step, to, pitch, n);
            }
            _ => any(level, x, n, columns, step, to, pitch),
        }
    }
}

/// Elsewhere the compiler chooses the instructions.
#[cfg(not(target_arch = "x86_64"))]
use any as blocks;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_become_rows() {
        fn check<T: Copy + PartialEq + std::fmt::Debug>(of: fn(usize) -> T) {
            for columns in (1..70).chain([100, 300]) {
                for n in [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 40] {
                    let (step, pitch) = (columns + n % 3, n + columns % 3);
                    let x: Vec<T> = (0..(n - 1) * step + columns).map(of).collect();
                    let mut to = vec![of(usize::MAX); pitch * columns];
                    let rows = Rows { n, columns, step, bytes: size_of::<T>(), whole: true };
                    // SAFETY: `x` has all rows, and `to` all columns.
                    unsafe { take_apart(x.as_ptr(), rows, to.as_mut_ptr(), pitch) };
                    for (i, &x) in to.iter().enumerate() {
                        let (column, row) = (i / pitch, i % pitch);
                        let want = if row < n { of(row * step + column) } else { of(usize::MAX) };
                        assert_eq!(x, want, "{n} rows of {columns}: element {row} of column {column}");
                    }
                }
            }
        }
        check(|i| (i % 251) as u8);
        check(|i| i as u16);
        check(|i| i as f32);
        check(|i| i as f64);
    }
}
