//! From memory to the elements that a kernel reads: the same bytes where that is possible, a scratch tile where it is
//! not (other strides, another dtype, the other byte order, no alignment, a mask).

use half::{bf16, f16};
use warpfold_core::{DType, Element};

use super::halves::widen_halves;
use super::simd::{at_level, vectorize};
use warpfold_array::problem::{At, Dim};

/// Reads a run of elements into a tile: from `x`, `stride` bytes apart, `n` of them.
pub type Gather<T> = unsafe fn(x: *const u8, stride: isize, n: usize, to: *mut T);

/// How a kernel's elements come out of memory.
pub trait Load<I>: Sync {
    /// Whether elements are numbers: types without padding.
    const WHOLE: bool = false;

    /// Whether memory holds them as they are, so that an aligned contiguous run can be lent.
    fn direct(&self) -> bool;

    /// Copies `n` elements along `dim` from `at`.
    ///
    /// # Safety
    /// They are readable, and `to` has room.
    unsafe fn gather(&self, at: At, dim: &Dim, n: usize, to: *mut I);
}

/// Elements as numbers. Those that are absent become one that lifts to the reducer's identity.
pub struct Plain<T> {
    /// Reads and converts.
    pub gather: Gather<T>,
    /// See [`Load::direct`].
    pub direct: bool,
    /// In place of a masked-out element; `None` without a mask.
    pub masked_as: Option<T>,
    /// In place of a NaN, if it is not the reducer that skips them.
    pub nan_as: Option<T>,
}

impl<T: Element> Load<T> for Plain<T> {
    const WHOLE: bool = true;

    fn direct(&self) -> bool {
        self.direct && self.masked_as.is_none() && self.nan_as.is_none()
    }

    unsafe fn gather(&self, at: At, dim: &Dim, n: usize, to: *mut T) {
        // SAFETY: the caller vouches for `n` elements, their mask, and room for them.
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
    fn direct(&self) -> bool {
        false
    }

    unsafe fn gather(&self, at: At, dim: &Dim, n: usize, to: *mut Option<T>) {
        const PIECE: usize = 64;
        let mut tile = [std::mem::MaybeUninit::<T>::uninit(); PIECE];
        for from in (0..n).step_by(PIECE) {
            let len = PIECE.min(n - from);
            // SAFETY: the caller's; the gather writes `len` elements of the tile.
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

/// Elements of a type of the caller's own choice, as they are.
pub struct Copied;

impl<T: Copy> Load<T> for Copied {
    fn direct(&self) -> bool {
        true
    }

    unsafe fn gather(&self, at: At, dim: &Dim, n: usize, to: *mut T) {
        for i in 0..n {
            // SAFETY: element i is one of the `n` that the caller vouches for.
            unsafe { to.add(i).write(at.x.wrapping_offset(dim.x * i as isize).cast::<T>().read_unaligned()) };
        }
    }
}

/// The same, some of them masked out.
pub struct CopiedOptional;

impl<T: Copy> Load<Option<T>> for CopiedOptional {
    fn direct(&self) -> bool {
        false
    }

    unsafe fn gather(&self, at: At, dim: &Dim, n: usize, to: *mut Option<T>) {
        for i in 0..n {
            let at = at.step(dim, i);
            // SAFETY: element i is one of the `n` that the caller vouches for, as is its mask.
            unsafe { to.add(i).write((*at.mask != 0).then(|| at.x.cast::<T>().read_unaligned())) };
        }
    }
}

/// An element as it lies in memory: `S` in either byte order, at any alignment.
pub trait Stored: Element {
    /// Reverses the bytes.
    fn swap(self) -> Self;
}

macro_rules! stored_int {
    ($($t:ty),*) => {$(impl Stored for $t {
        #[inline(always)]
        fn swap(self) -> Self {
            self.swap_bytes()
        }
    })*};
}
stored_int!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! stored_float {
    ($($t:ty),*) => {$(impl Stored for $t {
        #[inline(always)]
        fn swap(self) -> Self {
            Self::from_bits(self.to_bits().swap_bytes())
        }
    })*};
}
stored_float!(f16, bf16, f32, f64);

/// # Safety
/// See [`Gather`].
#[inline(always)]
unsafe fn copy<S: Stored, T>(x: *const u8, stride: isize, n: usize, to: *mut T, f: impl Fn(S) -> T) {
    // SAFETY: the caller vouches for `n` elements, `stride` bytes apart, and room for them.
    unsafe {
        if stride == size_of::<S>() as isize {
            let x = x.cast::<S>();
            for i in 0..n {
                to.add(i).write(f(x.add(i).read_unaligned()));
            }
        } else {
            for i in 0..n {
                to.add(i).write(f(x.wrapping_offset(stride * i as isize).cast::<S>().read_unaligned()));
            }
        }
    }
}

/// The dtype as it is.
unsafe fn same<T: Stored>(x: *const u8, stride: isize, n: usize, to: *mut T) {
    // SAFETY: the caller vouches for `n` elements, `stride` bytes apart, and room for them.
    unsafe { copy::<T, T>(x, stride, n, to, |v| v) }
}

/// The dtype as it is, bytes reversed.
unsafe fn swapped<T: Stored>(x: *const u8, stride: isize, n: usize, to: *mut T) {
    // SAFETY: the caller vouches for `n` elements, `stride` bytes apart, and room for them.
    unsafe { copy::<T, T>(x, stride, n, to, T::swap) }
}

/// From 16-bit floats as they are.
pub fn gather_halves<T: Stored>(swapped: bool) -> Gather<T> {
    if swapped { self::swapped::<T> } else { same::<T> }
}

/// Another dtype.
unsafe fn convert<S: Stored, T: Element, const SWAP: bool>(x: *const u8, stride: isize, n: usize, to: *mut T) {
    let f = |v: S| T::from_cast(if SWAP { v.swap() } else { v }.cast());
    // SAFETY: the caller vouches for `n` elements, `stride` bytes apart, and room for them.
    unsafe { copy::<S, T>(x, stride, n, to, f) }
}

/// f16 to f32: hot, hence by the CPU's own instruction where elements are adjacent.
unsafe fn widen_f16(x: *const u8, stride: isize, n: usize, to: *mut f32) {
    at_level(
        #[inline(always)]
        // SAFETY: the caller vouches for `n` elements, `stride` bytes apart, and room for them.
        |level| unsafe {
            if stride == size_of::<f16>() as isize {
                widen_halves(level, x.cast(), n, to);
            } else {
                copy::<f16, f32>(x, stride, n, to, f16::float);
            }
        },
    );
}

/// bf16 to f32: hot, hence vectorised.
unsafe fn widen_bf16(x: *const u8, stride: isize, n: usize, to: *mut f32) {
    vectorize(
        #[inline(always)]
        // SAFETY: the caller vouches for `n` elements, `stride` bytes apart, and room for them.
        || unsafe { copy::<bf16, f32>(x, stride, n, to, bf16::float) },
    );
}

/// An integer to f64: hot, hence vectorised.
unsafe fn to_f64<S: Stored<Float = f64>>(x: *const u8, stride: isize, n: usize, to: *mut f64) {
    vectorize(
        #[inline(always)]
        // SAFETY: the caller vouches for `n` elements, `stride` bytes apart, and room for them.
        || unsafe { copy::<S, f64>(x, stride, n, to, S::float) },
    );
}

/// To f32, rounded to a 16-bit float on the way.
unsafe fn through<S: Stored, H: Element<Float = f32>, const SWAP: bool>(
    x: *const u8,
    stride: isize,
    n: usize,
    to: *mut f32,
) {
    let f = |v: S| H::from_cast(if SWAP { v.swap() } else { v }.cast()).float();
    // SAFETY: the caller vouches for `n` elements, `stride` bytes apart, and room for them.
    unsafe { copy::<S, f32>(x, stride, n, to, f) }
}

/// Elements of `dtype` as the f32 values of the 16-bit float nearest to each.
fn rounded_to_half<H: Element<Float = f32>>(dtype: DType, swap: bool) -> Gather<f32> {
    macro_rules! pick {
        ($s:ty) => {
            if swap { through::<$s, H, true> } else { through::<$s, H, false> }
        };
    }
    match dtype {
        DType::Bool => truth::<f32>,
        DType::I8 => pick!(i8),
        DType::I16 => pick!(i16),
        DType::I32 => pick!(i32),
        DType::I64 => pick!(i64),
        DType::U8 => pick!(u8),
        DType::U16 => pick!(u16),
        DType::U32 => pick!(u32),
        DType::U64 => pick!(u64),
        DType::F16 => pick!(f16),
        DType::BF16 => pick!(bf16),
        DType::F32 => pick!(f32),
        DType::F64 => pick!(f64),
    }
}

/// Bools of any bytes, as 0 and 1.
unsafe fn truth<T: Element>(x: *const u8, stride: isize, n: usize, to: *mut T) {
    // SAFETY: the caller vouches for `n` elements, `stride` bytes apart, and room for them.
    unsafe { copy::<u8, T>(x, stride, n, to, |v| T::from_cast((v != 0).cast())) }
}

/// A dtype that kernels read.
pub trait Loaded: Element {
    /// From elements of `dtype` to elements of this type, by way of `result` if that is a 16-bit float.
    fn gather(dtype: DType, swapped: bool, result: DType) -> Gather<Self>;
}

macro_rules! loaded {
    ($($t:ident),*) => {$(
        impl Loaded for $t {
            fn gather(dtype: DType, swap: bool, _result: DType) -> Gather<$t> {
                if dtype == <$t>::DTYPE {
                    return if swap { swapped::<$t> } else { same::<$t> };
                }
                macro_rules! pick {
                    ($s:ty) => {
                        if swap { convert::<$s, $t, true> } else { convert::<$s, $t, false> }
                    };
                }
                match dtype {
                    DType::Bool => truth::<$t>,
                    DType::I8 => pick!(i8),
                    DType::I16 => pick!(i16),
                    DType::I32 => pick!(i32),
                    DType::I64 => pick!(i64),
                    DType::U8 => pick!(u8),
                    DType::U16 => pick!(u16),
                    DType::U32 => pick!(u32),
                    DType::U64 => pick!(u64),
                    DType::F16 => pick!(f16),
                    DType::BF16 => pick!(bf16),
                    DType::F32 => pick!(f32),
                    DType::F64 => pick!(f64),
                }
            }
        }
    )*};
}
loaded!(i8, i16, i32, i64, u8, u16, u32, u64);

impl Loaded for f64 {
    fn gather(dtype: DType, swap: bool, _result: DType) -> Gather<f64> {
        macro_rules! pick {
            ($s:ty) => {
                if swap { convert::<$s, f64, true> } else { to_f64::<$s> }
            };
        }
        macro_rules! widened {
            ($s:ty) => {
                if swap { convert::<$s, f64, true> } else { convert::<$s, f64, false> }
            };
        }
        match dtype {
            DType::Bool => truth::<f64>,
            DType::I8 => pick!(i8),
            DType::I16 => pick!(i16),
            DType::I32 => pick!(i32),
            DType::I64 => pick!(i64),
            DType::U8 => pick!(u8),
            DType::U16 => pick!(u16),
            DType::U32 => pick!(u32),
            DType::U64 => pick!(u64),
            DType::F16 => widened!(f16),
            DType::BF16 => widened!(bf16),
            DType::F32 => widened!(f32),
            DType::F64 if swap => swapped::<f64>,
            DType::F64 => same::<f64>,
        }
    }
}

impl Loaded for f32 {
    fn gather(dtype: DType, swap: bool, result: DType) -> Gather<f32> {
        match result {
            DType::F16 if dtype != result => return rounded_to_half::<f16>(dtype, swap),
            DType::BF16 if dtype != result => return rounded_to_half::<bf16>(dtype, swap),
            _ => {}
        }
        macro_rules! pick {
            ($s:ty) => {
                if swap { convert::<$s, f32, true> } else { convert::<$s, f32, false> }
            };
        }
        match dtype {
            DType::F32 if swap => swapped::<f32>,
            DType::F32 => same::<f32>,
            DType::F16 if !swap => widen_f16,
            DType::BF16 if !swap => widen_bf16,
            DType::F16 => pick!(f16),
            DType::BF16 => pick!(bf16),
            DType::Bool => truth::<f32>,
            DType::I8 => pick!(i8),
            DType::I16 => pick!(i16),
            DType::I32 => pick!(i32),
            DType::I64 => pick!(i64),
            DType::U8 => pick!(u8),
            DType::U16 => pick!(u16),
            DType::U32 => pick!(u32),
            DType::U64 => pick!(u64),
            DType::F64 => pick!(f64),
        }
    }
}
