use core::fmt::Debug;
use core::marker::PhantomData;

use super::{Plain, Precision};
use crate::{Accumulate, Element, Reducer};

/// A sum of exponentials: `sum * 2^exponent`, where the exponent is the greatest of any term under the node.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Powers<E, R> {
    /// The greatest exponent under the node.
    pub exponent: E,
    /// The sum of the terms over 2 to that exponent: at least about 1, at most about twice their number.
    pub sum: R,
}

/// `log(sum(exp(x)))` in one read: every element becomes `t * 2^e` with `t` in about [1, 2), and two nodes meet at the
/// greater exponent. Scaling by a power of two is exact, so nothing has to be known of the maximum beforehand.
/// The logsumexp of nothing is minus infinity.
#[derive(Clone, Debug, Default)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(bound(serialize = "", deserialize = ""))
)]
pub struct LogSumExp<T, P = Plain>(PhantomData<(T, P)>);

impl<T, P> LogSumExp<T, P> {
    /// The reducer.
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T: Element, P: Precision<T::Float>> Reducer for LogSumExp<T, P> {
    type Item = T;
    type Acc = Powers<<T::Float as Exponential>::Exponent, P::Real>;
    type Output = T::Mean;

    const INDEXED: bool = false;

    #[inline(always)]
    fn identity(&self) -> Option<Self::Acc> {
        Some(Powers { exponent: T::Float::NO_TERM, sum: P::Real::ZERO })
    }

    #[inline(always)]
    fn lift(&self, x: T, _index: u64) -> Self::Acc {
        let (exponent, t) = x.float().power();
        Powers { exponent, sum: P::widen(t) }
    }

    #[inline(always)]
    fn combine(&self, left: Self::Acc, right: Self::Acc) -> Self::Acc {
        let exponent = left.exponent.max(right.exponent);
        let down = |node: Self::Acc| node.sum.mul(P::widen(T::Float::scale_down(exponent, node.exponent)));
        Powers { exponent, sum: down(left).add(down(right)) }
    }

    #[inline(always)]
    fn finish(&self, acc: Self::Acc, _count: u64) -> T::Mean {
        T::Mean::from_float(T::Float::log(acc.exponent, P::round(acc.sum)))
    }
}

/// What logsumexp needs of `f32` and `f64`. Pure additions and multiplications, so every backend agrees bit for bit.
pub trait Exponential: Sized {
    /// `i32` for `f32`, `i64` for `f64`.
    type Exponent: Ord + Copy + Send + Sync + Debug + 'static;
    /// Below every term's exponent.
    const NO_TERM: Self::Exponent;
    /// `(e, t)` with `exp(x) = t * 2^e`. Beyond `2^29` (f32) or `2^58` (f64), where an ulp exceeds every logarithm of a
    /// count, the exponent only ranks x, and t is 1. A NaN has a NaN t.
    fn power(self) -> (Self::Exponent, Self);
    /// `2^(from - to)`, or zero where that is subnormal; `from <= to`.
    fn scale_down(to: Self::Exponent, from: Self::Exponent) -> Self;
    /// The natural logarithm of `sum * 2^exponent`.
    fn log(exponent: Self::Exponent, sum: Self) -> Self;
}

macro_rules! exponential {
    ($f:ident, $e:ident, $u:ident, $mantissa:literal, $bias:literal,
     limit $limit:expr, offset $offset:expr, split $mask:literal $l1:literal $l2:literal, poly $poly:expr, log $log:expr) => {
        impl Exponential for $f {
            type Exponent = $e;
            const NO_TERM: $e = $e::MIN;

            #[inline(always)]
            fn power(self) -> ($e, $f) {
                let magnitude = self.to_bits() & ($u::MAX >> 1);
                let far = magnitude >= ($limit as $f).to_bits();
                // x log2 e in two words: the high one, of short factors, is exact.
                let x = if far { 0.0 } else { self };
                let high = $f::from_bits(x.to_bits() & $mask);
                let p = high * $l1;
                let q = (x - high) * $l1 + x * $l2;
                let y = p + q;
                // SAFETY: |y| is below 2 * $limit, so it fits $e.
                let toward_zero: $e = unsafe { y.to_int_unchecked() };
                let e = toward_zero - ((toward_zero as $f) > y) as $e;
                let f = ((p - e as $f) + q) - 0.5;
                let coefficients = $poly;
                let mut t = coefficients[coefficients.len() - 1];
                let mut i = coefficients.len() - 1;
                while i > 0 {
                    i -= 1;
                    t = t * f + coefficients[i];
                }
                let rank = $offset + (magnitude.wrapping_sub(($limit as $f).to_bits())) as $e;
                let rank = if self.to_bits() >> ($u::BITS - 1) == 0 { rank } else { -rank };
                let nan = magnitude > $f::INFINITY.to_bits();
                let far_t = if nan { $f::NAN } else { 1.0 };
                (if far { rank } else { e }, if far { far_t } else { t })
            }

            #[inline(always)]
            fn scale_down(to: $e, from: $e) -> $f {
                let drop = (to.wrapping_sub(from) as $u).min($bias);
                $f::from_bits(($bias - drop) << $mantissa)
            }

            fn log(exponent: $e, sum: $f) -> $f {
                if sum != sum {
                    $f::NAN
                } else if exponent == $e::MIN {
                    $f::NEG_INFINITY
                } else if exponent.unsigned_abs() >= $offset {
                    let bits = ($limit as $f).to_bits() + (exponent.unsigned_abs() - $offset);
                    $f::from_bits(bits).copysign_of(exponent < 0)
                } else {
                    $log(exponent, sum)
                }
            }
        }
    };
}

trait CopySign {
    fn copysign_of(self, negative: bool) -> Self;
}

impl CopySign for f32 {
    fn copysign_of(self, negative: bool) -> f32 {
        if negative { -self } else { self }
    }
}

impl CopySign for f64 {
    fn copysign_of(self, negative: bool) -> f64 {
        if negative { -self } else { self }
    }
}

// 2^(f + 1/2) on [-1/2, 1/2]: interpolation at Chebyshev nodes, relative error 2.6e-9 and 4.2e-18 before rounding.
exponential!(f32, i32, u32, 23, 127, limit 536_870_912.0, offset 774_600_000,
    split 0xffff_f000 1.442_382_8 0.000_312_228_4,
    poly [
        core::f32::consts::SQRT_2, 0.980_258_17, 0.339_731_57, 0.078_493_48, 0.013_601_986, 0.001_895_108_6, 0.000_218_658_01,
    ],
    log |e: i32, s: f32| (e as f64 * core::f64::consts::LN_2 + libm::log(s as f64)) as f32);
exponential!(f64, i64, u64, 52, 1023, limit 288_230_376_151_711_744.0, offset 420_000_000_000_000_000,
split 0xffff_ffff_f800_0000 1.442_695_021_629_333_5 1.925_962_991_126_617_5e-8,
poly [
    core::f64::consts::SQRT_2, 0.980_258_143_468_547_2, 0.339_731_584_183_076_2, 0.078_494_663_241_220_77,
    0.013_602_088_628_605_286, 0.001_885_649_876_533_827_2, 0.000_217_838_816_902_858_52,
    2.157_062_306_202_851e-5, 1.868_944_389_419_337_2e-6, 1.439_394_635_570_640_7e-7,
    1.000_442_697_907_749_9e-8, 6.301_481_028_219_153e-10,
],
log |e: i64, s: f64| {
    let (high, low) = (0.693_146_705_627_441_4, 4.749_325_039_031_672_6e-7);
    e as f64 * high + (e as f64 * low + libm::log(s))
});
