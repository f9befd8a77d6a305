//! `f32` and `f64`, in which means, variances, norms and logsumexp are computed.

use crate::exponential::Exponential;
use crate::real::{DoubleWord, Real};

/// `f32` or `f64`: the type of an accumulator of floats.
pub trait Float: Real + PartialOrd + Exponential {
    /// The double word of this type.
    type Double: Real;
    /// Widens to a double word, exactly.
    fn double(self) -> Self::Double;
    /// The sum as a double word. It has the bits of the sum of [`Float::double`] of both, and takes fewer operations.
    fn add_double(self, right: Self) -> Self::Double;
    /// The same of numbers whose sum does not overflow, in fewer operations.
    fn add_double_finite(self, right: Self) -> Self::Double;
    /// The sum of finite double words, if it does not overflow, in fewer operations and in either order.
    fn add_finite(left: Self::Double, right: Self::Double) -> Self::Double;
    /// The square as a double word if `square` is set, else the number. It must not be negative, and in the range of
    /// [`DoubleWord::<f32>::fused_product`] or that of `f64`.
    fn double_power(self, square: bool) -> Self::Double;
    /// Rounds a double word to its high word.
    fn from_double(x: Self::Double) -> Self;
    /// `self` if `x` is finite, otherwise NaN. `self` must not be negative.
    fn spoiled_by(self, x: Self) -> Self;
    /// `self + x * y`. The product must be exact, or overflow with the sign of `self`: then a fused operation has the
    /// same bits as two rounded ones.
    fn add_exact(self, x: Self, y: Self) -> Self;
    /// Widens to `f64`, exactly.
    fn to_f64(self) -> f64;
}

macro_rules! float {
    ($f:ident) => {
        impl Float for $f {
            type Double = DoubleWord<$f>;
            #[inline(always)]
            fn double(self) -> Self::Double {
                DoubleWord::<$f>::new(self)
            }
            #[inline(always)]
            fn add_double(self, right: Self) -> Self::Double {
                DoubleWord::<$f>::of_sum(self, right)
            }
            #[inline(always)]
            fn add_double_finite(self, right: Self) -> Self::Double {
                DoubleWord::<$f>::of_finite(self, right)
            }
            #[inline(always)]
            fn add_finite(left: Self::Double, right: Self::Double) -> Self::Double {
                left.add_finite(right)
            }
            #[inline(always)]
            fn double_power(self, square: bool) -> Self::Double {
                #[cfg(target_arch = "nvptx64")]
                return DoubleWord::<$f>::fused_product(
                    self,
                    if square { self } else { 1.0 },
                    #[inline(always)]
                    |a, b, c| core::$f::math::mul_add(a, b, c),
                );
                #[cfg(not(target_arch = "nvptx64"))]
                return if square { self.double().square() } else { self.double() };
            }
            #[inline(always)]
            fn from_double(x: Self::Double) -> Self {
                x.hi
            }
            // One fused instruction on a GPU. The unfused operations of the CPU have the same bits.
            #[inline(always)]
            fn spoiled_by(self, x: Self) -> Self {
                #[cfg(target_arch = "nvptx64")]
                return core::$f::math::mul_add(x, 0.0, self);
                #[cfg(not(target_arch = "nvptx64"))]
                return self + (x - x);
            }
            #[inline(always)]
            fn add_exact(self, x: Self, y: Self) -> Self {
                #[cfg(target_arch = "nvptx64")]
                return core::$f::math::mul_add(x, y, self);
                #[cfg(not(target_arch = "nvptx64"))]
                return self + x * y;
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
        }
    };
}
float!(f32);
float!(f64);
