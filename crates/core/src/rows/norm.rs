//! Root-mean-square norm and layer norm of a row.

use crate::float::Float;
use crate::ops::Moments;

/// A row's mean and one over its deviation: an element is normalised to `(x - mean) · inverse`.
///
/// ```
/// use warpfold_core::rows::Norm;
///
/// let norm = Norm::rms(50.0f64, 2, 0.0); // of 5 and -5
/// assert_eq!(norm.normalised(5.0), 1.0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Norm<F> {
    /// The mean; +0.0 for the root-mean-square norm, where subtracting it changes no bit.
    pub mean: F,
    /// One over the deviation.
    pub inverse: F,
}

impl<F: Float> Norm<F> {
    /// The root-mean-square norm of a row of `count` elements, from the sum of their squares.
    #[inline(always)]
    pub fn rms(squares: F, count: u64, epsilon: F) -> Self {
        Self::with(F::ZERO, squares, count, epsilon)
    }

    /// The layer norm of a row of `count` elements.
    #[inline(always)]
    pub fn layer(row: Moments<F>, count: u64, epsilon: F) -> Self {
        Self::with(row.mean, row.m2, count, epsilon)
    }

    /// By a mean and a variance that are given.
    #[inline(always)]
    pub fn given(mean: F, variance: F, epsilon: F) -> Self {
        Self { mean, inverse: F::ONE.div(variance.add(epsilon).sqrt()) }
    }

    #[inline(always)]
    fn with(mean: F, squares: F, count: u64, epsilon: F) -> Self {
        Self::given(mean, squares.div(F::from_count(count)), epsilon)
    }

    /// An element, normalised.
    #[inline(always)]
    pub fn normalised(self, x: F) -> F {
        x.sub(self.mean).mul(self.inverse)
    }
}

/// The gradient of a row before normalisation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NormGradient<F> {
    /// The mean of the gradients; +0.0 for the root-mean-square norm, where subtracting it changes no bit.
    pub mean: F,
    /// The mean of the products of gradients and normalised elements.
    pub slope: F,
}

impl<F: Float> NormGradient<F> {
    /// From the sum of the gradients of `count` normalised elements, and that of their products with these elements.
    #[inline(always)]
    pub fn of(total: F, dot: F, count: u64) -> Self {
        let count = F::from_count(count);
        Self { mean: total.div(count), slope: dot.div(count) }
    }

    /// The gradient of an element, from that of the normalised element.
    #[inline(always)]
    pub fn gradient(self, norm: Norm<F>, normalised: F, gradient: F) -> F {
        gradient.sub(self.mean).sub(normalised.mul(self.slope)).mul(norm.inverse)
    }
}
