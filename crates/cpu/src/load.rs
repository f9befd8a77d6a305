//! From memory to the elements that a kernel reads. Elements that lie in memory as the kernel reads them are read in
//! place. Others are copied to a tile: elements of other strides, another dtype or the other byte order, elements that
//! are not aligned, and elements with a mask.

use half::{bf16, f16};
use warpfold_core::{Cast, DType, Element, Float, Kind, with_dtype};

use super::halves::widen_halves;
use super::policy::AHEAD;
use super::simd::{at_level, prefetch, vectorize};
use super::tree::PIECE;
use warpfold_array::problem::{At, Dim};

/// Copies `n` elements, the first at `x` and then every `stride` bytes, to a tile, and converts them. Any alignment
/// will do at `x`.
pub type Gather<T> = unsafe fn(x: *const u8, stride: isize, n: usize, to: *mut T);

/// How a kernel's elements come out of memory.
pub trait Load<I>: Sync {
    /// Whether elements are numbers, which have no padding.
    const WHOLE: bool = false;

    /// Whether memory holds numbers, which have no padding.
    const NUMBERS: bool = Self::WHOLE;

    /// Whether memory holds elements as the kernel reads them, so that an aligned contiguous run is read in place.
    fn direct(&self) -> bool;

    /// Copies `n` elements along `dim` from `at`.
    ///
    /// # Safety
    /// The elements and their mask are readable, and `to` has room for `n` elements.
    unsafe fn gather(&self, at: At, dim: &Dim, n: usize, to: *mut I);
}

/// Elements as numbers. An absent element is replaced by a number that lifts to the reducer's identity.
pub struct Plain<T> {
    /// Reads and converts.
    pub gather: Gather<T>,
    /// See [`Load::direct`].
    pub direct: bool,
    /// The number in place of a masked-out element; `None` without a mask.
    pub masked_as: Option<T>,
    /// The number in place of a NaN that is skipped; `None` if NaNs count, or the reducer skips them itself.
    pub nan_as: Option<T>,
}

impl<T: Element> Load<T> for Plain<T> {
    const WHOLE: bool = true;

    fn direct(&self) -> bool {
        self.direct && self.masked_as.is_none() && self.nan_as.is_none()
    }

    unsafe fn gather(&self, at: At, dim: &Dim, n: usize, to: *mut T) {
        // SAFETY: the caller vouches for `n` elements, their mask, and room for `n` at `to`; the gather writes all `n`
        // before they are read again.
        unsafe {
            (self.gather)(at.x, dim.x, n, to);
            if let Some(absent) = self.nan_as {
                for x in std::slice::from_raw_parts_mut(to, n).iter_mut().filter(|x| x.is_nan()) {
                    *x = absent;
                }
            }
            if let Some(absent) = self.masked_as {
                for i in 0..n {
                    if *at.mask.wrapping_offset(dim.mask * i as isize) == 0 {
                        *to.add(i) = absent;
                    }
                }
            }
        }
    }
}

/// Elements that may be absent: masked out, or NaN and skipped.
pub struct Optional<T> {
    /// Reads and converts.
    pub gather: Gather<T>,
    /// Whether there is a mask.
    pub masked: bool,
    /// Whether NaNs are absent.
    pub skip_nan: bool,
}

impl<T: Element> Load<Option<T>> for Optional<T> {
    const NUMBERS: bool = true;

    fn direct(&self) -> bool {
        false
    }

    unsafe fn gather(&self, at: At, dim: &Dim, n: usize, to: *mut Option<T>) {
        const PIECE: usize = 64;
        let mut tile = [std::mem::MaybeUninit::<T>::uninit(); PIECE];
        for from in (0..n).step_by(PIECE) {
            let len = PIECE.min(n - from);
            // SAFETY: these `len` elements are among the `n` that the caller vouches for, with their mask and room; the
            // gather writes `len` elements of the tile before they are read.
            unsafe {
                let here = at.step(dim, from);
                (self.gather)(here.x, dim.x, len, tile.as_mut_ptr().cast());
                for (i, x) in tile[..len].iter().enumerate() {
                    let x = x.assume_init();
                    let masked = self.masked && *here.mask.wrapping_offset(dim.mask * i as isize) == 0;
                    let absent = masked || (self.skip_nan && x.is_nan());
                    to.add(from + i).write((!absent).then_some(x));
                }
            }
        }
    }
}

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

/// Another dtype.
unsafe fn convert<S: Readable, T: Element, const SWAP: bool>(x: *const u8, stride: isize, n: usize, to: *mut T) {
    let f = |v: S| T::from_cast(if SWAP { v.swap() } else { v }.cast());
    // SAFETY: the caller vouches for `n` elements, `stride` bytes apart, and room for them.
    unsafe { copy::<S, T>(x, stride, n, to, f) }
}

/// From elements of another dtype, `S`.
fn gather_other<S: Readable, T: Element>(swap: bool) -> Gather<T> {
    if swap { convert::<S, T, true> } else { convert::<S, T, false> }
}

/// f16 to f32. It is frequent, so the CPU's own instruction converts adjacent elements.
unsafe fn widen_f16(x: *const u8, stride: isize, n: usize, to: *mut f32) {
    at_level(
        #[inline(always)]
        // SAFETY: the caller vouches for `n` elements, `stride` bytes apart, and room for them.
        |level| unsafe {
            if stride == size_of::<f16>() as isize {
                let x = x.cast::<f16>();
                for from in (0..n).step_by(PIECE) {
                    prefetch(x.wrapping_add(from).wrapping_byte_add(AHEAD), PIECE);
                    widen_halves(level, x.add(from), PIECE.min(n - from), to.add(from));
                }
            } else {
                copy::<f16, f32>(x, stride, n, to, f16::float);
            }
        },
    );
}

/// bf16 to f32. It is frequent, so it is vectorised.
unsafe fn widen_bf16(x: *const u8, stride: isize, n: usize, to: *mut f32) {
    vectorize(
        #[inline(always)]
        // SAFETY: the caller vouches for `n` elements, `stride` bytes apart, and room for them.
        || unsafe { copy::<bf16, f32>(x, stride, n, to, bf16::float) },
    );
}

/// Bools to numbers of one byte. Whatever compares bools reads them so, so it is vectorised.
unsafe fn truths<T: Element>(x: *const u8, stride: isize, n: usize, to: *mut T) {
    vectorize(
        #[inline(always)]
        // SAFETY: the caller vouches for `n` elements, `stride` bytes apart, and room for them.
        || unsafe {
            copy::<bool, T>(
                x,
                stride,
                n,
                to,
                #[inline(always)]
                |truth| T::from_cast(Cast::Unsigned(truth as u64)),
            );
        },
    );
}

/// Any dtype to f64. It is frequent for integers, so it is vectorised.
unsafe fn to_f64<S: Readable>(x: *const u8, stride: isize, n: usize, to: *mut f64) {
    vectorize(
        #[inline(always)]
        // SAFETY: the caller vouches for `n` elements, `stride` bytes apart, and room for them.
        || unsafe {
            copy::<S, f64>(
                x,
                stride,
                n,
                to,
                #[inline(always)]
                |v| v.float().to_f64(),
            );
        },
    );
}

/// Any dtype to f32, rounded to the 16-bit float `H` on the way.
unsafe fn through<S: Readable, H: Element<Float = f32>, const SWAP: bool>(
    x: *const u8,
    stride: isize,
    n: usize,
    to: *mut f32,
) {
    let f = |v: S| H::from_cast(if SWAP { v.swap() } else { v }.cast()).float();
    // SAFETY: the caller vouches for `n` elements, `stride` bytes apart, and room for them.
    unsafe { copy::<S, f32>(x, stride, n, to, f) }
}

/// From elements of the dtype `S` to the f32 values of the nearest 16-bit floats.
fn gather_rounded<S: Readable, H: Element<Float = f32>>(swap: bool) -> Gather<f32> {
    if swap { through::<S, H, true> } else { through::<S, H, false> }
}

/// Whether a cast between two dtypes keeps all bits: they are one, or integers of one size.
pub fn has_bits_of(a: DType, b: DType) -> bool {
    let integer = |dtype: DType| matches!(dtype.kind(), Kind::Signed | Kind::Unsigned);
    a == b || integer(a) && integer(b) && a.size() == b.size()
}

/// A dtype that kernels read.
pub trait Loaded: Element {
    /// From elements of `dtype` to elements of this type, by way of `result` if that is a 16-bit float.
    fn gather(dtype: DType, swap: bool, result: DType) -> Gather<Self>;
}

macro_rules! loaded {
    ($($t:ident),*) => {$(
        impl Loaded for $t {
            fn gather(dtype: DType, swap: bool, _result: DType) -> Gather<$t> {
                if has_bits_of(dtype, <$t>::DTYPE) {
                    return gather_same(swap);
                }
                if dtype == DType::Bool {
                    return truths::<$t>;
                }
                with_dtype!(dtype, S => gather_other::<S, $t>(swap))
            }
        }
    )*};
}
loaded!(i8, i16, i32, i64, u8, u16, u32, u64);

impl Loaded for f64 {
    fn gather(dtype: DType, swap: bool, _result: DType) -> Gather<f64> {
        match dtype {
            DType::F64 => gather_same(swap),
            _ if swap => with_dtype!(dtype, S => convert::<S, f64, true> as Gather<f64>),
            _ => with_dtype!(dtype, S => to_f64::<S> as Gather<f64>),
        }
    }
}

impl Loaded for f32 {
    fn gather(dtype: DType, swap: bool, result: DType) -> Gather<f32> {
        match (dtype, result) {
            (_, DType::F16) if dtype != result => with_dtype!(dtype, S => gather_rounded::<S, f16>(swap)),
            (_, DType::BF16) if dtype != result => with_dtype!(dtype, S => gather_rounded::<S, bf16>(swap)),
            (DType::F32, _) => gather_same(swap),
            (DType::F16, _) if !swap => widen_f16,
            (DType::BF16, _) if !swap => widen_bf16,
            _ => with_dtype!(dtype, S => gather_other::<S, f32>(swap)),
        }
    }
}
