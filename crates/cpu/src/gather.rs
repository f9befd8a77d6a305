//! Gathers: elements of an axis, copied to a tile and converted.

use std::mem::MaybeUninit;

use half::{bf16, f16};
use warpfold_core::{Cast, Element, Float};

use super::halves::widen_halves;
use super::policy::AHEAD;
use super::simd::{at_level, inlined, prefetch, vectorize};
use super::tree::PIECE;

/// Copies `n` elements, the first at `x` and then every `stride` bytes, to a tile, and converts them. Any alignment
/// will do at `x`.
pub type Gather<T> = unsafe fn(x: *const u8, stride: isize, n: usize, to: *mut T);

/// A dtype's element as memory holds it: at any alignment, in either byte order.
pub trait Readable: Element {
    /// Reads an element. Of a bool, any byte but 0 is true.
    ///
    /// # Safety
    /// The bytes of an element are readable at `x`.
    #[inline(always)]
    unsafe fn read(x: *const Self) -> Self {
        // SAFETY: the caller vouches for the bytes, and any bytes are a number.
        unsafe { x.read_unaligned() }
    }

    /// Reverses the bytes.
    fn swap(self) -> Self;
}

macro_rules! stored_int {
    ($($t:ty),*) => {$(impl Readable for $t {
        #[inline(always)]
        fn swap(self) -> Self {
            self.swap_bytes()
        }
    })*};
}
stored_int!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! stored_float {
    ($($t:ty),*) => {$(impl Readable for $t {
        #[inline(always)]
        fn swap(self) -> Self {
            Self::from_bits(self.to_bits().swap_bytes())
        }
    })*};
}
stored_float!(f16, bf16, f32, f64);

impl Readable for bool {
    #[inline(always)]
    unsafe fn read(x: *const Self) -> Self {
        // SAFETY: the caller vouches for the byte, which is read as an integer, since it may be neither 0 nor 1.
        unsafe { *x.cast::<u8>() != 0 }
    }

    #[inline(always)]
    fn swap(self) -> Self {
        self
    }
}

/// A [`Gather`] that converts by `f`.
///
/// # Safety
/// `n` elements, `stride` bytes apart, are readable from `x`; `to` has room for as many.
#[inline(always)]
unsafe fn copy<S: Readable, T>(x: *const u8, stride: isize, n: usize, to: *mut T, f: impl Fn(S) -> T) {
    /// Elements a number of elements apart that the compiler knows.
    #[inline(always)]
    unsafe fn steps<S: Readable, T, const STEP: usize>(x: *const S, n: usize, to: *mut T, f: impl Fn(S) -> T) {
        for from in (0..n).step_by(PIECE) {
            prefetch(x.wrapping_add(from * STEP).wrapping_byte_add(AHEAD), PIECE * STEP);
            for i in from..n.min(from + PIECE) {
                // SAFETY: the caller of `copy` vouches for `n` elements, this many apart, and room for them.
                unsafe { to.add(i).write(f(S::read(x.add(i * STEP)))) };
            }
        }
    }
    let size = size_of::<S>() as isize;
    // SAFETY: the caller vouches for `n` elements, `stride` bytes apart, and room for them.
    unsafe {
        if stride == size {
            steps::<S, T, 1>(x.cast(), n, to, f);
        } else if stride == 2 * size {
            steps::<S, T, 2>(x.cast(), n, to, f);
        } else if stride == 3 * size {
            steps::<S, T, 3>(x.cast(), n, to, f);
        } else {
            for i in 0..n {
                to.add(i).write(f(S::read(x.wrapping_offset(stride * i as isize).cast::<S>())));
            }
        }
    }
}

/// The dtype as it is.
unsafe fn same<T: Readable>(x: *const u8, stride: isize, n: usize, to: *mut T) {
    vectorize(
        #[inline(always)]
        // SAFETY: the caller vouches for `n` elements, `stride` bytes apart, and room for them.
        || unsafe { copy::<T, T>(x, stride, n, to, |v| v) },
    );
}

/// The dtype as it is, bytes reversed.
unsafe fn swapped<T: Readable>(x: *const u8, stride: isize, n: usize, to: *mut T) {
    // SAFETY: the caller vouches for `n` elements, `stride` bytes apart, and room for them.
    unsafe { copy::<T, T>(x, stride, n, to, T::swap) }
}

/// From elements of the same dtype.
pub fn gather_same<T: Readable>(swap: bool) -> Gather<T> {
    if swap { swapped::<T> } else { same::<T> }
}

/// A conversion of `n` elements side by side, at any alignment.
type Convert<S, T> = unsafe fn(x: *const S, n: usize, to: *mut T);

/// A [`Gather`] by a conversion of elements side by side. Others, and those of the other byte order, are brought side
/// by side first, by the loops that bring any elements of their dtype: so there is one loop for each two dtypes.
///
/// # Safety
/// As of a [`Gather`] and of the conversion.
#[inline(never)]
unsafe fn by<S: Readable, T>(convert: Convert<S, T>, swap: bool, x: *const u8, stride: isize, n: usize, to: *mut T) {
    if stride == size_of::<S>() as isize && !swap {
        // SAFETY: the caller vouches for `n` elements, which are side by side, and room for them.
        return unsafe { convert(x.cast(), n, to) };
    }
    let bring = gather_same::<S>(swap);
    let mut piece = [const { MaybeUninit::<S>::uninit() }; PIECE];
    for from in (0..n).step_by(PIECE) {
        let some = PIECE.min(n - from);
        // SAFETY: these are among the `n` elements that the caller vouches for, and `bring` writes them to the piece.
        unsafe {
            bring(x.wrapping_offset(stride * from as isize), stride, some, piece.as_mut_ptr().cast());
            convert(piece.as_ptr().cast(), some, to.add(from));
        }
    }
}

/// A [`Convert`] by `f`.
///
/// # Safety
/// `n` elements are readable from `x`; `to` has room for as many.
#[inline(always)]
unsafe fn each<S: Readable, T>(x: *const S, n: usize, to: *mut T, f: impl Fn(S) -> T) {
    for from in (0..n).step_by(PIECE) {
        prefetch(x.wrapping_add(from).wrapping_byte_add(AHEAD), PIECE);
        for i in from..n.min(from + PIECE) {
            // SAFETY: the caller vouches for `n` elements, and room for them.
            unsafe { to.add(i).write(f(S::read(x.add(i)))) };
        }
    }
}

/// Another dtype.
pub(super) unsafe fn convert<S: Readable, T: Element, const SWAP: bool>(
    x: *const u8,
    stride: isize,
    n: usize,
    to: *mut T,
) {
    unsafe fn one<S: Readable, T: Element>(x: *const S, n: usize, to: *mut T) {
        // SAFETY: the caller vouches for `n` elements, and room for them.
        unsafe { each(x, n, to, |v| T::from_cast(v.cast())) }
    }
    // SAFETY: the caller vouches for `n` elements, `stride` bytes apart, and room for them.
    unsafe { by(one::<S, T>, SWAP, x, stride, n, to) }
}

/// From elements of another dtype, `S`.
pub(super) fn gather_other<S: Readable, T: Element>(swap: bool) -> Gather<T> {
    if swap { convert::<S, T, true> } else { convert::<S, T, false> }
}

/// f16 to f32. It is frequent, so the CPU's own instruction converts.
pub(super) unsafe fn widen_f16(x: *const u8, stride: isize, n: usize, to: *mut f32) {
    unsafe fn one(x: *const f16, n: usize, to: *mut f32) {
        at_level(
            #[inline(always)]
            // SAFETY: the caller vouches for `n` elements, and room for them.
            |level| unsafe {
                for from in (0..n).step_by(PIECE) {
                    prefetch(x.wrapping_add(from).wrapping_byte_add(AHEAD), PIECE);
                    widen_halves(level, x.add(from), PIECE.min(n - from), to.add(from));
                }
            },
        );
    }
    // SAFETY: the caller vouches for `n` elements, `stride` bytes apart, and room for them.
    unsafe { by(one, false, x, stride, n, to) }
}

/// bf16 to f32. It is frequent, so it is vectorised.
pub(super) unsafe fn widen_bf16(x: *const u8, stride: isize, n: usize, to: *mut f32) {
    unsafe fn one(x: *const bf16, n: usize, to: *mut f32) {
        vectorize(
            #[inline(always)]
            // SAFETY: the caller vouches for `n` elements, and room for them.
            || unsafe { each(x, n, to, bf16::float) },
        );
    }
    // SAFETY: the caller vouches for `n` elements, `stride` bytes apart, and room for them.
    unsafe { by(one, false, x, stride, n, to) }
}

/// [`each`] by the instructions of the level in use.
///
/// # Safety
/// As of [`each`].
#[inline(always)]
unsafe fn each_by_vectors<S: Readable, T>(x: *const S, n: usize, to: *mut T, f: impl Fn(S) -> T) {
    vectorize(
        #[inline(always)]
        // SAFETY: the caller's.
        || unsafe { each(x, n, to, f) },
    );
}

/// Bools to numbers of one byte. Whatever compares bools reads them so, so it is vectorised.
pub(super) unsafe fn truths<T: Element>(x: *const u8, stride: isize, n: usize, to: *mut T) {
    unsafe fn one<T: Element>(x: *const bool, n: usize, to: *mut T) {
        let number = inlined(
            #[inline(always)]
            |truth| T::from_cast(Cast::Unsigned(truth as u64)),
        );
        // SAFETY: the caller vouches for `n` elements, and room for them.
        unsafe { each_by_vectors(x, n, to, number) }
    }
    // SAFETY: the caller vouches for `n` elements, `stride` bytes apart, and room for them.
    unsafe { by(one::<T>, false, x, stride, n, to) }
}

/// Any dtype to f64. It is frequent for integers, so it is vectorised.
pub(super) unsafe fn to_f64<S: Readable>(x: *const u8, stride: isize, n: usize, to: *mut f64) {
    unsafe fn one<S: Readable>(x: *const S, n: usize, to: *mut f64) {
        let wide = inlined(
            #[inline(always)]
            |v: S| v.float().to_f64(),
        );
        // SAFETY: the caller vouches for `n` elements, and room for them.
        unsafe { each_by_vectors(x, n, to, wide) }
    }
    // SAFETY: the caller vouches for `n` elements, `stride` bytes apart, and room for them.
    unsafe { by(one::<S>, false, x, stride, n, to) }
}

/// Any dtype to f32, rounded to the 16-bit float `H` on the way.
unsafe fn through<S: Readable, H: Element<Float = f32>, const SWAP: bool>(
    x: *const u8,
    stride: isize,
    n: usize,
    to: *mut f32,
) {
    unsafe fn one<S: Readable, H: Element<Float = f32>>(x: *const S, n: usize, to: *mut f32) {
        // SAFETY: the caller vouches for `n` elements, and room for them.
        unsafe { each(x, n, to, |v| H::from_cast(v.cast()).float()) }
    }
    // SAFETY: the caller vouches for `n` elements, `stride` bytes apart, and room for them.
    unsafe { by(one::<S, H>, SWAP, x, stride, n, to) }
}

/// From elements of the dtype `S` to the f32 values of the nearest 16-bit floats.
pub(super) fn gather_rounded<S: Readable, H: Element<Float = f32>>(swap: bool) -> Gather<f32> {
    if swap { through::<S, H, true> } else { through::<S, H, false> }
}
