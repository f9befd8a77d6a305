//! The two precisions of floats in the tree.

use crate::float::Float;
use crate::real::Real;

/// The representation of real numbers in the tree's nodes: [`Plain`] or [`Compensated`].
pub trait Precision<F>: Copy + Send + Sync + 'static {
    /// The number in the tree.
    type Real: Real;
    /// Converts exactly.
    fn widen(x: F) -> Self::Real;
    /// The sum of two numbers, with the bits of the sum of both widened.
    fn pair(left: F, right: F) -> Self::Real;
    /// The sum of numbers that are finite, as it is, in either order and in fewer operations.
    fn add_finite(left: Self::Real, right: Self::Real) -> Self::Real;
    /// The same of two numbers as in [`Precision::pair`].
    fn pair_finite(left: F, right: F) -> Self::Real;
    /// Rounds once.
    fn round(x: Self::Real) -> F;
}

/// Plain floats.
#[derive(Clone, Copy, Debug)]
pub struct Plain;

impl<F: Float> Precision<F> for Plain {
    type Real = F;
    #[inline(always)]
    fn widen(x: F) -> F {
        x
    }
    #[inline(always)]
    fn pair(left: F, right: F) -> F {
        left.add(right)
    }
    #[inline(always)]
    fn add_finite(left: F, right: F) -> F {
        left.add(right)
    }
    #[inline(always)]
    fn pair_finite(left: F, right: F) -> F {
        left.add(right)
    }
    #[inline(always)]
    fn round(x: F) -> F {
        x
    }
}

/// Double words: the same tree with about twice the precision.
#[derive(Clone, Copy, Debug)]
pub struct Compensated;

impl<F: Float> Precision<F> for Compensated {
    type Real = F::Double;
    #[inline(always)]
    fn widen(x: F) -> F::Double {
        x.double()
    }
    #[inline(always)]
    fn pair(left: F, right: F) -> F::Double {
        left.add_double(right)
    }
    #[inline(always)]
    fn add_finite(left: F::Double, right: F::Double) -> F::Double {
        F::add_finite(left, right)
    }
    #[inline(always)]
    fn pair_finite(left: F, right: F) -> F::Double {
        left.add_double_finite(right)
    }
    #[inline(always)]
    fn round(x: F::Double) -> F {
        F::from_double(x)
    }
}
