//! From memory to the elements that a kernel reads. Elements that lie in memory as the kernel reads them are read in
//! place. Others are copied to a tile: elements of other strides, another dtype or the other byte order, elements that
//! are not aligned, and elements with a mask.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use half::{bf16, f16};
use warpfold_core::{DType, Element, Kind, with_dtype};

use super::gather::{
    Gather, convert, gather_other, gather_rounded, gather_same, to_f64, truths, widen_bf16, widen_f16,
};
use super::loops::Item;
use warpfold_array::problem::{At, Dim};

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
        let mut tile = [MaybeUninit::<T>::uninit(); PIECE];
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

/// A way of loading without its types.
pub trait Fetch: Sync {
    /// [`Load::WHOLE`].
    fn whole(&self) -> bool;

    /// [`Load::NUMBERS`].
    fn numbers(&self) -> bool;

    /// [`Load::direct`].
    fn direct(&self) -> bool;

    /// [`Load::gather`].
    ///
    /// # Safety
    /// The elements and their mask are readable, and `to` has room for `n` elements of the kernel's type.
    unsafe fn gather(&self, at: At, dim: &Dim, n: usize, to: *mut Item);
}

/// Elements of a type, by a way of loading them.
pub struct By<'a, T, L>(pub &'a L, pub PhantomData<fn() -> T>);

impl<T, L: Load<T>> Fetch for By<'_, T, L> {
    fn whole(&self) -> bool {
        L::WHOLE
    }

    fn numbers(&self) -> bool {
        L::NUMBERS
    }

    fn direct(&self) -> bool {
        self.0.direct()
    }

    unsafe fn gather(&self, at: At, dim: &Dim, n: usize, to: *mut Item) {
        // SAFETY: the caller vouches for `n` readable elements, and for room for as many at `to`.
        unsafe { self.0.gather(at, dim, n, to.cast()) };
    }
}
