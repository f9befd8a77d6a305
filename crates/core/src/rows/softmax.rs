//! Softmax and its logarithm, from the node of [`crate::ops::LogSumExp`] over the row.

use crate::float::Float;
use crate::ops::Powers;

/// The softmax of a row's elements.
///
/// ```
/// use warpfold_core::{Reducer, ops::LogSumExp, rows::Softmax, tree};
///
/// let (reducer, row) = (LogSumExp::<f64>::new(), [0.0, 0.0, -1000.0]);
/// let node = tree::tree(&reducer, row.map(|x| reducer.lift(x, 0))).unwrap();
/// assert_eq!(row.map(|x| Softmax::of(node).probability(x)), [0.5, 0.5, 0.0]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Softmax<F> {
    /// The scale of the row.
    pub scale: F,
    /// One over the sum of exponentials in that scale; NaN if the sum is not finite.
    pub inverse: F,
}

impl<F: Float> Softmax<F> {
    /// The row with this node.
    #[inline(always)]
    pub fn of(row: Powers<F, F>) -> Self {
        // Zero is added to a finite quotient, and NaN if the sum is not finite.
        Self { scale: row.scale, inverse: F::ONE.div(row.sum).add(row.sum.sub(row.sum)) }
    }

    /// The softmax of an element.
    #[inline(always)]
    pub fn probability(self, x: F) -> F {
        let (scale, term) = x.scaled_exp();
        term.mul(self.inverse).shift(scale.sub(self.scale))
    }

    /// The same bits, of the exponential of an ordinary element in a row of scale zero.
    #[inline(always)]
    pub fn of_ordinary(self, exponential: F) -> F {
        exponential.mul(self.inverse)
    }
}

/// The logarithm of the softmax of a row's elements.
///
/// ```
/// use warpfold_core::{Reducer, ops::LogSumExp, rows::LogSoftmax, tree};
///
/// let reducer = LogSumExp::<f64>::new();
/// let row = LogSoftmax::of(tree::tree(&reducer, [0.0, 0.0].map(|x| reducer.lift(x, 0))).unwrap());
/// assert_eq!(row.log_probability(0.0), -(2f64.ln()));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LogSoftmax<F> {
    /// The logsumexp of the row.
    pub log: F,
    /// What rounding that left out; NaN if the sum of exponentials is not finite.
    pub rest: F,
}

impl<F: Float> LogSoftmax<F> {
    /// The row with this node.
    #[inline(always)]
    pub fn of(row: Powers<F, F>) -> Self {
        let (log, rest) = F::log_words(row.scale, row.sum);
        Self { log, rest }
    }

    /// The logarithm of an element's softmax.
    #[inline(always)]
    pub fn log_probability(self, x: F) -> F {
        x.sub(self.log).sub(self.rest)
    }
}

/// The gradient of an element before softmax: `y` is its softmax, `gradient` the gradient of that, and `dot` the sum of
/// the products of both over the row.
#[inline(always)]
pub fn softmax_gradient<F: Float>(y: F, gradient: F, dot: F) -> F {
    y.mul(gradient.sub(dot))
}

/// The gradient of an element before the logarithm of softmax: `probability` is the exponential of that logarithm,
/// `gradient` the logarithm's gradient, and `total` the sum of the row's gradients.
#[inline(always)]
pub fn log_softmax_gradient<F: Float>(probability: F, gradient: F, total: F) -> F {
    gradient.sub(probability.mul(total))
}
