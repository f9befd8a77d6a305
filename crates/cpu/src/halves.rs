//! Sums, means and norms of 16-bit floats, and elements that are widened in registers, a piece at a time. f16 is
//! widened by an instruction where the CPU has one. Widening is exact.

use std::mem::MaybeUninit;

use warpfold_core::ops::{Plain, Precision, Sum, Term, Value};
use warpfold_core::{Accumulate, DType, Element, Real, Reducer};
use warpfold_core::{bf16, f16};

use super::block::{fold_rows_by, low, tree_block, tree_of_pieces};
use super::kernel::{Kernel, Tree, any_rows, each_row};
use super::lanes::lanes;
use super::panel::{Panel, TILE, fold_columns_at_level, fold_padded, fold_tile};
use super::policy::{AHEAD, BLOCK, PANEL, SHORT};
use super::simd::{Simd, array, inlined, prefetch, vectorize, vectors_at_level};
use super::staggered::{Staggered, by_tiles, fold_staggered, item_of, units, with_rows};
use super::tree::{GROUP, PIECE, lift_pairs, upper_levels};

/// Sums, means and norms of 16-bit floats.
#[derive(Clone)]
pub struct Halves<T: Element, W = Value>(pub Sum<T, W, Plain>);

impl<T: Half, W: Term> Kernel for Halves<T, W> {
    type R = Sum<T, W, Plain>;

    fn reducer(&self) -> &Self::R {
        &self.0
    }

    #[inline]
    fn block(&self, x: &[T], start: u64) -> f32 {
        block_of_sum(&self.0, x, start)
    }

    const SHORT: usize = SHORT;

    fn rows(&self, x: &[T], len: usize, out: &mut [MaybeUninit<f32>]) {
        if !len.is_power_of_two() {
            return each_row(self, x, len, out);
        }
        let wide = self.0.of::<f32>();
        if len < GROUP {
            let mut tile = [const { MaybeUninit::uninit() }; BLOCK];
            let x = vectors_at_level(
                #[inline(always)]
                |level| widened(level, x, &mut tile),
            );
            return any_rows(&Tree(wide), x, len, out);
        }
        vectors_at_level(
            #[inline(always)]
            |level| {
                fold_rows_by::<true, _>(
                    &self.0,
                    x,
                    len,
                    out,
                    #[inline(always)]
                    |piece, nodes| match T::DTYPE {
                        _ if lanes(level, &self.0) > 0 => low::<true, _>(level, &self.0, piece, 0, nodes),
                        DType::BF16 => low::<true, _>(level, &self.0, piece, 0, nodes),
                        _ => widened_piece(level, &wide, piece, nodes),
                    },
                );
            },
        );
    }

    fn finish(&self, nodes: &[f32], count: u64, out: &mut [MaybeUninit<T>]) {
        vectorize(
            #[inline(always)]
            || {
                let sum = self.0.clone();
                finish_rounded(
                    nodes,
                    out,
                    #[inline(always)]
                    |node| sum.value(node, count),
                );
            },
        );
    }

    unsafe fn panel(&self, panel: Panel<'_, T>, out: &mut [MaybeUninit<f32>]) {
        // Either is known to the compiler where elements are lifted: a test of each would keep loops from being
        // vectorised.
        let wide = self.0.of::<f32>();
        // SAFETY: the caller vouches for a group's share of `out` in every row.
        unsafe {
            match wide.skips_nan() {
                true => columns(wide.skip_nan(true), panel, out),
                false => columns(wide.skip_nan(false), panel, out),
            }
        }
    }

    const STAGGERED: bool = true;

    unsafe fn staggered(&self, rows: Staggered<'_, T>, out: &mut [MaybeUninit<f32>]) {
        let wide = self.0.of::<f32>();
        // SAFETY: the caller vouches for the elements of every row.
        unsafe {
            match wide.skips_nan() {
                true => fold_staggered_wide(&wide.skip_nan(true), rows, out),
                false => fold_staggered_wide(&wide.skip_nan(false), rows, out),
            }
        }
    }
}

/// [`Kernel::panel`] by a reducer of f32.
///
/// # Safety
/// Every row is good for a group's share of `out`.
#[inline(always)]
unsafe fn columns<T: Half, W: Term>(sum: Sum<f32, W>, panel: Panel<'_, T>, out: &mut [MaybeUninit<f32>]) {
    // SAFETY: the caller vouches for a group's share of `out` in every row.
    unsafe {
        fold_columns_at_level::<true, _, _>(
            panel,
            out,
            #[inline(always)]
            |level, rows, at, out| fold_widened(level, &sum, rows, at, out),
        );
    }
}

/// The node of a block of a sum of any floats.
#[inline(always)]
pub(super) fn block_of_sum<T: Wide, W: Term>(sum: &Sum<T, W, Plain>, x: &[T], start: u64) -> T::Float
where
    Plain: Precision<T::Float, Real = T::Float>,
{
    vectors_at_level(
        #[inline(always)]
        |level| {
            if T::DTYPE != DType::F16 || lanes(level, sum) > 0 {
                // A shift widens bf16, between any two other instructions. This is 1.5 times as fast as widening a
                // piece at a time. Vectors of nodes load f16 and widen it at once.
                return tree_block(level, sum, x, start);
            }
            let wide = sum.of::<T::Float>();
            tree_of_pieces(
                sum,
                x,
                start,
                #[inline(always)]
                |piece, _, nodes| widened_piece(level, &wide, piece, nodes),
            )
        },
    )
}

/// The first levels of a piece, whose elements are widened first.
#[inline(always)]
fn widened_piece<T: Wide, R: Reducer<Item = T::Float>>(
    level: Simd,
    reducer: &R,
    piece: &[T; PIECE],
    nodes: &mut [MaybeUninit<R::Acc>; PIECE / GROUP],
) {
    prefetch(piece.as_ptr().wrapping_byte_add(AHEAD), PIECE);
    let pairs = lift_pairs(reducer, &T::widen(level, piece), 0);
    upper_levels::<_, 128, 64, 32, 16>(reducer, &pairs, nodes);
}

/// One tile of columns, whose elements are widened first.
#[inline(always)]
pub(super) fn fold_widened<T: Wide, R: Reducer<Item = T::Float>>(
    level: Simd,
    reducer: &R,
    rows: &[&[T; TILE]],
    start: u64,
    out: &mut [MaybeUninit<R::Acc>; TILE],
) {
    macro_rules! known {
        ($($n:expr),*) => {$(
            if let Ok(rows) = <&[&[T; TILE]; $n]>::try_from(rows) {
                let wide: [[T::Float; TILE]; $n] = array!($n, r => T::widen(level, rows[r]));
                let wide: [&[T::Float; TILE]; $n] = array!($n, r => &wide[r]);
                return fold_tile::<true, _, _>(reducer, &wide, start, out);
            }
        )*};
    }
    // Numbers that the compiler knows.
    known!(PANEL, 1, 2, 3, 4);
    let n = rows.len();
    if let Some(absent) = reducer.identity().filter(|_| R::PADDED) {
        let wide: [[T::Float; TILE]; PANEL] = array!(PANEL, r => T::widen(level, rows[r.min(n - 1)]));
        return fold_padded(reducer, &array!(PANEL, r => &wide[r]), n, absent, start, out);
    }
    let mut wide = [[rows[0][0].float(); TILE]; PANEL];
    for (row, wide) in rows.iter().zip(&mut wide) {
        *wide = T::widen(level, row);
    }
    fold_tile::<true, _, _>(reducer, &wide.each_ref()[..n], start, out);
}

/// [`fold_staggered`] of elements that are widened first, unless they are floats of that type.
///
/// # Safety
/// Every row is good for `out.len()` elements, at least [`TILE`].
#[inline(always)]
pub(super) unsafe fn fold_staggered_wide<T: Wide, R: Reducer<Item = T::Float>>(
    reducer: &R,
    rows: Staggered<'_, T>,
    out: &mut [MaybeUninit<R::Acc>],
) {
    if T::DTYPE == <T::Float as Element>::DTYPE {
        // SAFETY: the caller's; the elements are of one type.
        return unsafe { fold_staggered(reducer, rows.cast(), out) };
    }
    vectors_at_level(
        #[inline(always)]
        |level| {
            // SAFETY: the caller's.
            unsafe {
                by_tiles(
                    rows,
                    out,
                    #[inline(always)]
                    |rows, firsts, nodes| {
                        with_rows!(rows, N => if T::DTYPE == DType::F16 {
                            // By an instruction, where the CPU has one.
                            let wide: [[T::Float; TILE]; N] = array!(N, r => T::widen(level, rows[r]));
                            units::<R, N>(reducer, item_of(&array!(N, r => &wide[r])), firsts, nodes);
                        } else {
                            let item = inlined(
                                #[inline(always)]
                                |(r, i): (usize, usize)| rows[r][i].float(),
                            );
                            units::<R, N>(reducer, item, firsts, nodes);
                        });
                    },
                );
            }
        },
    );
}

/// At most a block of elements as floats: in a tile, unless they are floats of that type.
#[inline(always)]
pub(super) fn widened<'t, T: Wide>(
    level: Simd,
    x: &'t [T],
    tile: &'t mut [MaybeUninit<T::Float>; BLOCK],
) -> &'t [T::Float] {
    if T::DTYPE == <T::Float as Element>::DTYPE {
        // SAFETY: they are of one type.
        return unsafe { std::slice::from_raw_parts(x.as_ptr().cast(), x.len()) };
    }
    let (pieces, last) = x.as_chunks::<PIECE>();
    for (piece, tile) in pieces.iter().zip(tile.as_chunks_mut::<PIECE>().0) {
        let wide = T::widen(level, piece);
        *tile = array!(PIECE, i => MaybeUninit::new(wide[i]));
    }
    for (x, tile) in last.iter().zip(&mut tile[pieces.len() * PIECE..]) {
        tile.write(x.float());
    }
    // SAFETY: the loops above have written an element of the tile for each element of `x`.
    unsafe { tile[..x.len()].assume_init_ref() }
}

/// The results of nodes, rounded: in a loop of its own, for in one loop with `value` rounding would not be vectorised.
#[inline(always)]
pub(super) fn finish_rounded<A: Copy, T: Element<Float: Real>>(
    nodes: &[A],
    out: &mut [MaybeUninit<T>],
    value: impl Fn(A) -> T::Float,
) {
    if size_of::<T>() == size_of::<T::Float>() {
        for (node, out) in nodes.iter().zip(out) {
            out.write(T::from_float(value(*node)));
        }
        return;
    }
    let mut results = [T::Float::ZERO; PIECE];
    for (nodes, out) in nodes.chunks(PIECE).zip(out.chunks_mut(PIECE)) {
        for (node, result) in nodes.iter().zip(&mut results) {
            *result = value(*node);
        }
        for (result, out) in results.iter().zip(out) {
            out.write(T::from_float(*result));
        }
    }
}

/// Elements of rows as floats, by row and column. f16 are widened to `room` before, by instructions for vectors.
#[cfg(feature = "reductions")]
#[inline(always)]
pub(super) fn floats<'t, T: Wide, const N: usize>(
    level: Simd,
    rows: &'t [&[T; TILE]; N],
    room: &'t mut [MaybeUninit<[T::Float; TILE]>; N],
) -> impl Fn((usize, usize)) -> T::Float + 't {
    if T::DTYPE == DType::F16 {
        for (row, wide) in rows.iter().zip(&mut *room) {
            wide.write(T::widen(level, row));
        }
    }
    let room = &*room;
    inlined(
        #[inline(always)]
        move |(r, i): (usize, usize)| match T::DTYPE {
            // SAFETY: the loop above has written every row.
            DType::F16 => unsafe { room[r].assume_init_ref()[i] },
            _ => rows[r][i].float(),
        },
    )
}

/// Elements that can be widened in registers.
pub trait Wide: Element<Float: Element<Float = <Self as Element>::Float, Mean = <Self as Element>::Float>> {
    /// Widens elements, in code compiled for `level`. A NaN stays a NaN, but its bits may change.
    #[inline(always)]
    fn widen<const N: usize>(level: Simd, x: &[Self; N]) -> [Self::Float; N] {
        let _ = level;
        array!(N, i => x[i].float())
    }
}

/// A 16-bit float that kernels read without a conversion.
pub trait Half: Wide<Float = f32, Mean = Self> {}

impl Half for f16 {}
impl Half for bf16 {}

impl Wide for f32 {}
impl Wide for f64 {}
impl Wide for bf16 {}
impl Wide for i32 {}
impl Wide for u32 {}
impl Wide for i64 {}
impl Wide for u64 {}

impl Wide for f16 {
    #[inline(always)]
    fn widen<const N: usize>(level: Simd, x: &[f16; N]) -> [f32; N] {
        let mut wide = MaybeUninit::<[f32; N]>::uninit();
        // SAFETY: both arrays have N elements, and all of `wide` is written. Code compiled for a level runs only where
        // the CPU has the level's instructions.
        unsafe {
            widen_halves(level, x.as_ptr(), N, wide.as_mut_ptr().cast());
            wide.assume_init()
        }
    }
}

/// Widens `n` elements of f16, at any alignment, to f32. A NaN stays a NaN, but the instruction makes it quiet.
///
/// # Safety
/// `n` elements are readable at `x`, `to` has room for `n`, and the CPU has the instructions of `level`.
#[inline(always)]
pub unsafe fn widen_halves(level: Simd, x: *const f16, n: usize, to: *mut f32) {
    let mut i = 0;
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{
            _mm_loadu_si128, _mm256_cvtph_ps, _mm256_loadu_si256, _mm256_storeu_ps, _mm512_cvtph_ps, _mm512_storeu_ps,
        };
        // SAFETY: the caller vouches for `n` elements, `n` places and the level's instructions; the conditions of the
        // loops keep each vector within the `n`.
        unsafe {
            if level == Simd::Avx512 {
                while i + 16 <= n {
                    _mm512_storeu_ps(to.add(i), _mm512_cvtph_ps(_mm256_loadu_si256(x.add(i).cast())));
                    i += 16;
                }
            } else if level == Simd::Avx2 {
                while i + 8 <= n {
                    _mm256_storeu_ps(to.add(i), _mm256_cvtph_ps(_mm_loadu_si128(x.add(i).cast())));
                    i += 8;
                }
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = level;
    while i < n {
        // SAFETY: i is below `n`, and the caller vouches for `n` elements and `n` places.
        unsafe { to.add(i).write(x.add(i).read_unaligned().float()) };
        i += 1;
    }
}
