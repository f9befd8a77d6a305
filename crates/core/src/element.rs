use core::fmt::Debug;

use half::{bf16, f16};

use crate::DType;
use crate::ops::Exponential;
use crate::real::{DoubleWord, Real};

/// A number on its way from one dtype to another: wide enough for every dtype's every value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Cast {
    /// A signed integer.
    Signed(i64),
    /// An unsigned integer, or a bool as 0 or 1.
    Unsigned(u64),
    /// A float.
    Float(f64),
}

/// `f32` or `f64`: what floats accumulate in.
pub trait Float: Real + PartialOrd + Exponential {
    /// The double word made of two of these.
    type Double: Real;
    /// Widens, exactly.
    fn double(self) -> Self::Double;
    /// The sum of two: that of their double words, bit for bit, for less.
    fn add_double(self, right: Self) -> Self::Double;
    /// Rounds a double word.
    fn from_double(x: Self::Double) -> Self;
    /// `self`, which is not negative; NaN if `x` is not finite.
    fn spoiled_by(self, x: Self) -> Self;
    /// `self + x * y`, where the product is exact or overflows and has the sign of `self`, so that nothing tells whether it is
    /// rounded before it is added.
    fn add_exact(self, x: Self, y: Self) -> Self;
    /// Exact.
    fn to_f64(self) -> f64;
}

/// What takes one fused instruction on a GPU, and has the same bits without it.
macro_rules! fused {
    ($f:ident) => {
        #[cfg(target_arch = "nvptx64")]
        #[inline(always)]
        fn spoiled_by(self, x: Self) -> Self {
            core::$f::math::mul_add(x, 0.0, self)
        }
        #[cfg(not(target_arch = "nvptx64"))]
        #[inline(always)]
        fn spoiled_by(self, x: Self) -> Self {
            self + (x - x)
        }
        #[cfg(target_arch = "nvptx64")]
        #[inline(always)]
        fn add_exact(self, x: Self, y: Self) -> Self {
            core::$f::math::mul_add(x, y, self)
        }
        #[cfg(not(target_arch = "nvptx64"))]
        #[inline(always)]
        fn add_exact(self, x: Self, y: Self) -> Self {
            self + x * y
        }
    };
}

impl Float for f32 {
    type Double = DoubleWord<f32>;
    #[inline(always)]
    fn double(self) -> Self::Double {
        DoubleWord::<f32>::new(self)
    }
    #[inline(always)]
    fn add_double(self, right: Self) -> Self::Double {
        DoubleWord::<f32>::of_sum(self, right)
    }
    fused!(f32);
    #[inline(always)]
    fn from_double(x: Self::Double) -> Self {
        x.hi
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self as f64
    }
}

impl Float for f64 {
    type Double = DoubleWord<f64>;
    #[inline(always)]
    fn double(self) -> Self::Double {
        DoubleWord::<f64>::new(self)
    }
    #[inline(always)]
    fn add_double(self, right: Self) -> Self::Double {
        DoubleWord::<f64>::of_sum(self, right)
    }
    fused!(f64);
    #[inline(always)]
    fn from_double(x: Self::Double) -> Self {
        x.hi
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
}

/// The integers that elements are ordered by.
pub trait Key: Ord + Copy + Send + Sync + Debug + core::ops::BitXor<Output = Self> + 'static {
    /// The least.
    const MIN: Self;
    /// The greatest.
    const MAX: Self;
    /// No bit set.
    const ZERO: Self;
    /// Every bit set.
    const ONES: Self;
    /// The highest bit.
    const TOP: Self;
    /// A number below 128, in a lane as wide as a key.
    fn from_small(n: u8) -> Self;
    /// And back.
    fn to_small(self) -> u8;
    /// The greater, without regard to signs.
    fn max_unsigned(self, other: Self) -> Self;
    /// The less, without regard to signs.
    fn min_unsigned(self, other: Self) -> Self;
}

macro_rules! key {
    ($($t:ty, $unsigned:ty);*) => {$(impl Key for $t {
        const MIN: Self = <$t>::MIN;
        const MAX: Self = <$t>::MAX;
        const ZERO: Self = 0;
        const ONES: Self = !0;
        const TOP: Self = 1 << (<$t>::BITS - 1);
        #[inline(always)]
        fn from_small(n: u8) -> Self {
            n as $t
        }
        #[inline(always)]
        fn to_small(self) -> u8 {
            self as u8
        }
        #[inline(always)]
        fn max_unsigned(self, other: Self) -> Self {
            (self as $unsigned).max(other as $unsigned) as $t
        }
        #[inline(always)]
        fn min_unsigned(self, other: Self) -> Self {
            (self as $unsigned).min(other as $unsigned) as $t
        }
    })*};
}
key!(i8, u8; i16, u16; i32, u32; i64, u64; u8, u8; u16, u16; u32, u32; u64, u64);

/// An element of an array: what it accumulates in, and how it is ordered.
///
/// | dtype | sums and products | means, variances, norms, logsumexp |
/// |---|---|---|
/// | f16, bf16, f32 | f32 | f32 |
/// | f64 | f64 | f64 |
/// | signed integers, bool | i64, wrapping | exact (mean) or f64 |
/// | unsigned integers | u64, wrapping | exact (mean) or f64 |
pub trait Element: Copy + Send + Sync + Debug + 'static {
    /// The dtype of this type.
    const DTYPE: DType;
    /// What means, variances, norms and logsumexp accumulate in: `f32` or `f64`.
    type Float: Float;
    /// The dtype of a sum: itself for floats, `i64` or `u64` for integers.
    type Sum: Element;
    /// The dtype of a mean: itself for floats, `f64` for integers.
    type Mean: Element<Float = Self::Float>;
    /// An integer that is ordered as the elements are, with -0.0 below +0.0. The least and the greatest integer are no
    /// number's key if the dtype is a float.
    type Key: Key;

    /// For means, variances, norms and logsumexp.
    fn float(self) -> Self::Float;
    /// Rounds a float result to this dtype; integers are cut off towards zero.
    fn from_float(x: Self::Float) -> Self;
    /// The bits, as an integer of the same size.
    fn bits(self) -> Self::Key;
    /// The inverse of [`Element::bits`].
    fn of_bits(bits: Self::Key) -> Self;
    /// The order of a number. A NaN's key means nothing: ask [`Element::is_nan`] first.
    fn key(self) -> Self::Key;
    /// The inverse of [`Element::key`]. The least and the greatest key are the canonical NaN of a float.
    fn from_key(key: Self::Key) -> Self;
    /// Like [`Element::key`], but -0.0 equals +0.0, as `==` has it.
    fn key_eq(self) -> Self::Key;
    /// False for integers.
    fn is_nan(self) -> bool;
    /// Not zero; a NaN is true.
    fn truthy(self) -> bool;
    /// Starts a cast.
    fn cast(self) -> Cast;
    /// Ends a cast: rounds to nearest even; floats go to integers by truncation, saturating; integers wrap.
    fn from_cast(x: Cast) -> Self;
}

macro_rules! integer {
    ($t:ty, $dtype:ident, $total:ty, $variant:ident, $wide:ty) => {
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
float!(f16, F16, f32, i16, u16, widen_f16, narrow_f16, |v: f64, _: f32| f16::from_f32(to_odd(v)));
float!(bf16, BF16, f32, i16, u16, widen_bf16, narrow_bf16, |v: f64, _: f32| bf16::from_f32(to_odd(v)));
float!(f32, F32, f32, i32, u32, |x: f32| x, |x: f32| if x.is_nan() { f32::NAN } else { x }, |_: f64, v: f32| v);
float!(f64, F64, f64, i64, u64, |x: f64| x, |x: f64| if x.is_nan() { f64::NAN } else { x }, |_: f64, v: f64| v);

/// f64 to f32, rounded to odd: a second rounding, to 16 bits, then gives what one rounding would (Boldo and Melquiond,
/// *Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to odd*, 2008).
#[inline(always)]
fn to_odd(x: f64) -> f32 {
    let near = x as f32;
    let wide = near as f64;
    if wide == x || x.is_nan() {
        return near;
    }
    let toward_zero = near.to_bits() - (wide.abs() > x.abs()) as u32;
    f32::from_bits(toward_zero | 1)
}

/// bf16 to f32, by shifting: exact.
#[inline(always)]
fn widen_bf16(x: bf16) -> f32 {
    f32::from_bits((x.to_bits() as u32) << 16)
}

/// f16 to f32 without a branch, so that it vectorises: the exponent is rebiased by a multiplication, which also
/// normalises subnormals; Inf and NaN get their exponent back by an OR.
#[inline(always)]
fn widen_f16(x: f16) -> f32 {
    let h = x.to_bits() as u32;
    let magnitude = f32::from_bits((h & 0x7fff) << 13) * f32::from_bits(0x7780_0000); // 2^112
    let special = if (h & 0x7c00) == 0x7c00 { 0x7f80_0000 } else { 0 };
    f32::from_bits(magnitude.to_bits() | special | ((h & 0x8000) << 16))
}

/// f32 to bf16: nearest, halves to even; any NaN is the canonical one. On a CPU without a branch, so that it vectorises.
#[inline(always)]
fn narrow_bf16(x: f32) -> bf16 {
    #[cfg(target_arch = "nvptx64")]
    return if x.is_nan() { bf16::NAN } else { bf16::from_f32(x) };
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let b = x.to_bits();
        let number = b.wrapping_add(0x7fff + (b >> 16 & 1)) >> 16;
        bf16::from_bits(select(x.is_nan(), bf16::NAN.to_bits() as u32, number) as u16)
    }
}

/// f32 to f16, likewise: below 2^-14 the addition of 0.5, whose ulp is the least subnormal of f16, rounds.
#[inline(always)]
fn narrow_f16(x: f32) -> f16 {
    #[cfg(target_arch = "nvptx64")]
    return if x.is_nan() { f16::NAN } else { f16::from_f32(x) };
    #[cfg(not(target_arch = "nvptx64"))]
    {
        const LEAST_NORMAL: u32 = 0x3880_0000; // 2^-14
        let (sign, b) = (x.to_bits() >> 16 & 0x8000, x.to_bits() & 0x7fff_ffff);
        // What overflows has at least the bits of an infinity.
        let normal = (b.wrapping_sub(112 << 23).wrapping_add(0xfff + (b >> 13 & 1)) >> 13).min(0x7c00);
        let subnormal = (f32::from_bits(b) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
        let number = sign | select(b < LEAST_NORMAL, subnormal, normal);
        f16::from_bits(select(x.is_nan(), f16::NAN.to_bits() as u32, number) as u16)
    }
}

/// By masks: of an `if` with so much in its arms the compiler makes a branch, and no vectors.
#[cfg(not(target_arch = "nvptx64"))]
#[inline(always)]
fn select(condition: bool, yes: u32, no: u32) -> u32 {
    let mask = (condition as u32).wrapping_neg();
    yes & mask | no & !mask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_bits_are_rounded_as_half_rounds_them() {
        let mut random = 0x9e37_79b9u32;
        for high in 0..1u32 << 19 {
            random = random.wrapping_mul(0x915f_77f5).wrapping_add(0x6a09_e667);
            // Halves, what is next to them, and anything.
            for low in [0, 1, 0xfff, 0x1000, 0x1001, 0x1fff, random >> 19] {
                for bits in [high << 13 | low, high.rotate_right(8) ^ random >> 8] {
                    let x = f32::from_bits(bits);
                    let (h, b) = if x.is_nan() { (f16::NAN, bf16::NAN) } else { (f16::from_f32(x), bf16::from_f32(x)) };
                    assert_eq!(narrow_f16(x).to_bits(), h.to_bits(), "{bits:#x}");
                    assert_eq!(narrow_bf16(x).to_bits(), b.to_bits(), "{bits:#x}");
                }
            }
        }
    }
}
