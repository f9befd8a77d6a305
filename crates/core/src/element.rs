//! The elements of arrays: what each dtype accumulates in, how it is ordered, how it is converted.

use core::fmt::Debug;

use half::{bf16, f16};

use crate::cast::Cast;
use crate::dtype::DType;
use crate::float::Float;
use crate::half_float::{narrow_bf16, narrow_f16, to_odd, widen_bf16, widen_f16};
use crate::key::Key;

mod sealed {
    /// Keeps [`super::Element`] to the dtypes, whose sizes and bits memory is read by.
    pub trait Sealed {}
}

/// An element of an array: its accumulators, its order, its conversions. Only the dtypes' types are elements.
///
/// | dtype | sums and products | means, variances, norms, logsumexp |
/// |---|---|---|
/// | f16, bf16, f32 | f32 | f32 |
/// | f64 | f64 | f64 |
/// | signed integers, bool | i64, wrapping | exact (mean) or f64 |
/// | unsigned integers | u64, wrapping | exact (mean) or f64 |
///
/// ```
/// use warpfold_core::{DType, Element};
///
/// assert_eq!(<u8 as Element>::Sum::DTYPE, DType::U64);
/// assert!((-0.0f32).key() < 0.0f32.key() && (-0.0f32).key_eq() == 0.0f32.key_eq());
/// ```
pub trait Element: sealed::Sealed + Copy + Send + Sync + Debug + 'static {
    /// The dtype of this type.
    const DTYPE: DType;
    /// The accumulator of means, variances, norms and logsumexp: `f32` or `f64`.
    type Float: Float;
    /// The dtype of a sum: itself for floats, `i64` or `u64` for integers.
    type Sum: Element;
    /// The dtype of a mean: itself for floats, `f64` for integers.
    type Mean: Element<Float = Self::Float>;
    /// An integer with the order of the elements, -0.0 below +0.0. For a float dtype, the least and the greatest
    /// integer are keys of no number.
    type Key: Key;

    /// Widens to the accumulator of means, variances, norms and logsumexp.
    fn float(self) -> Self::Float;
    /// Rounds a result to this dtype; to an integer dtype, towards zero.
    fn from_float(x: Self::Float) -> Self;
    /// The bits, as an integer of the same size.
    fn bits(self) -> Self::Key;
    /// The inverse of [`Element::bits`].
    fn of_bits(bits: Self::Key) -> Self;
    /// The key of a number. The key of a NaN has no meaning: check [`Element::is_nan`] first.
    fn key(self) -> Self::Key;
    /// The inverse of [`Element::key`]. The least and the greatest key are the canonical NaN of a float.
    fn from_key(key: Self::Key) -> Self;
    /// Like [`Element::key`], but -0.0 has the key of +0.0, as both are equal by `==`.
    fn key_eq(self) -> Self::Key;
    /// Whether the element is NaN; false for integers.
    fn is_nan(self) -> bool;
    /// Whether the element is not zero; true for NaN.
    fn truthy(self) -> bool;
    /// The first half of a conversion between dtypes.
    fn cast(self) -> Cast;
    /// The second half of a conversion. Floats are rounded to nearest even. Float to integer truncates and saturates.
    /// Integer to integer wraps.
    fn from_cast(x: Cast) -> Self;
}

macro_rules! integer {
    ($t:ty, $dtype:ident, $total:ty, $variant:ident, $wide:ty) => {
        impl sealed::Sealed for $t {}
        impl Element for $t {
            const DTYPE: DType = DType::$dtype;
            type Float = f64;
            type Sum = $total;
            type Mean = f64;
            type Key = $t;
            #[inline(always)]
            fn float(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn from_float(x: f64) -> Self {
                x as $t
            }
            #[inline(always)]
            fn bits(self) -> $t {
                self
            }
            #[inline(always)]
            fn of_bits(bits: $t) -> Self {
                bits
            }
            #[inline(always)]
            fn key(self) -> $t {
                self
            }
            #[inline(always)]
            fn from_key(key: $t) -> Self {
                key
            }
            #[inline(always)]
            fn key_eq(self) -> $t {
                self
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                false
            }
            #[inline(always)]
            fn truthy(self) -> bool {
                self != 0
            }
            #[inline(always)]
            fn cast(self) -> Cast {
                Cast::$variant(self as $wide)
            }
            #[inline(always)]
            fn from_cast(x: Cast) -> Self {
                match x {
                    Cast::Signed(v) => v as $t,
                    Cast::Unsigned(v) => v as $t,
                    Cast::Float(v) => v as $t,
                }
            }
        }
    };
}
integer!(i8, I8, i64, Signed, i64);
integer!(i16, I16, i64, Signed, i64);
integer!(i32, I32, i64, Signed, i64);
integer!(i64, I64, i64, Signed, i64);
integer!(u8, U8, u64, Unsigned, u64);
integer!(u16, U16, u64, Unsigned, u64);
integer!(u32, U32, u64, Unsigned, u64);
integer!(u64, U64, u64, Unsigned, u64);

impl sealed::Sealed for bool {}

impl Element for bool {
    const DTYPE: DType = DType::Bool;
    type Float = f64;
    type Sum = i64;
    type Mean = f64;
    type Key = u8;
    #[inline(always)]
    fn float(self) -> f64 {
        self as u8 as f64
    }
    #[inline(always)]
    fn from_float(x: f64) -> Self {
        x != 0.0
    }
    #[inline(always)]
    fn bits(self) -> u8 {
        self as u8
    }
    #[inline(always)]
    fn of_bits(bits: u8) -> Self {
        bits != 0
    }
    #[inline(always)]
    fn key(self) -> u8 {
        self as u8
    }
    #[inline(always)]
    fn from_key(key: u8) -> Self {
        key != 0
    }
    #[inline(always)]
    fn key_eq(self) -> u8 {
        self as u8
    }
    #[inline(always)]
    fn is_nan(self) -> bool {
        false
    }
    #[inline(always)]
    fn truthy(self) -> bool {
        self
    }
    #[inline(always)]
    fn cast(self) -> Cast {
        Cast::Unsigned(self as u64)
    }
    #[inline(always)]
    fn from_cast(x: Cast) -> Self {
        match x {
            Cast::Signed(v) => v != 0,
            Cast::Unsigned(v) => v != 0,
            Cast::Float(v) => v != 0.0,
        }
    }
}

macro_rules! float {
    ($t:ty, $dtype:ident, $acc:ty, $key:ty, $bits:ty, $widen:expr, $narrow:expr, $round:expr) => {
        impl sealed::Sealed for $t {}
        impl Element for $t {
            const DTYPE: DType = DType::$dtype;
            type Float = $acc;
            type Sum = $t;
            type Mean = $t;
            type Key = $key;
            #[inline(always)]
            fn float(self) -> $acc {
                $widen(self)
            }
            #[inline(always)]
            fn from_float(x: $acc) -> Self {
                $narrow(x)
            }
            #[inline(always)]
            fn bits(self) -> $key {
                self.to_bits() as $key
            }
            #[inline(always)]
            fn of_bits(bits: $key) -> Self {
                <$t>::from_bits(bits as $bits)
            }
            #[inline(always)]
            fn key(self) -> $key {
                let b = self.to_bits() as $key;
                b ^ (((b >> (<$key>::BITS - 1)) as $bits) >> 1) as $key
            }
            #[inline(always)]
            fn from_key(key: $key) -> Self {
                if key == <$key>::MIN || key == <$key>::MAX {
                    return <$t>::NAN;
                }
                let b = key ^ (((key >> (<$key>::BITS - 1)) as $bits) >> 1) as $key;
                <$t>::from_bits(b as $bits)
            }
            #[inline(always)]
            fn key_eq(self) -> $key {
                let k = self.key();
                // -0.0 has the key -1, +0.0 the key 0.
                if k == -1 { 0 } else { k }
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                const INF: $bits = <$t>::INFINITY.to_bits();
                (self.to_bits() & (<$bits>::MAX >> 1)) > INF
            }
            #[inline(always)]
            fn truthy(self) -> bool {
                (self.to_bits() << 1) != 0
            }
            #[inline(always)]
            fn cast(self) -> Cast {
                Cast::Float($widen(self) as f64)
            }
            #[inline(always)]
            fn from_cast(x: Cast) -> Self {
                match x {
                    Cast::Signed(v) => $round(v as f64, v as $acc),
                    Cast::Unsigned(v) => $round(v as f64, v as $acc),
                    Cast::Float(v) => $round(v, v as $acc),
                }
            }
        }
    };
}
macro_rules! canonical {
    ($name:ident, $f:ident) => {
        /// The number, or the canonical NaN. On a CPU this is by bits: to the compiler every NaN that an instruction
        /// gives is as good, so it may leave the choice of a float out.
        #[inline(always)]
        fn $name(x: $f) -> $f {
            #[cfg(target_arch = "nvptx64")]
            return if x.is_nan() { $f::NAN } else { x };
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let is_nan = x.to_bits() << 1 > $f::INFINITY.to_bits() << 1;
                $f::from_bits(if is_nan { $f::NAN.to_bits() } else { x.to_bits() })
            }
        }
    };
}
canonical!(canonical_f32, f32);
canonical!(canonical_f64, f64);

float!(f16, F16, f32, i16, u16, widen_f16, narrow_f16, |v: f64, _: f32| f16::from_f32(to_odd(v)));
float!(bf16, BF16, f32, i16, u16, widen_bf16, narrow_bf16, |v: f64, _: f32| bf16::from_f32(to_odd(v)));
float!(f32, F32, f32, i32, u32, |x: f32| x, canonical_f32, |_: f64, v: f32| v);
float!(f64, F64, f64, i64, u64, |x: f64| x, canonical_f64, |_: f64, v: f64| v);
