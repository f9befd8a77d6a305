//! Cross-entropy of a row of logits, and a class or a distribution over classes.

use super::softmax::Softmax;
use crate::dtype::DType;
use crate::float::Float;

/// How the loss of a row weighs its classes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClassWeights<F> {
    /// The share of the target, 1 without label smoothing.
    pub target: F,
    /// The share of every class, the target too; 0 without label smoothing.
    pub each: F,
}

impl<F: Float> ClassWeights<F> {
    /// With label smoothing, between 0 and 1.
    #[inline(always)]
    pub fn smoothed(smoothing: f64, classes: usize) -> Self {
        Self { target: F::from_f64(1.0 - smoothing), each: F::from_f64(smoothing / classes as f64) }
    }

    /// The share of a class in the loss of a distribution in which it has this probability.
    #[inline(always)]
    pub fn share(self, probability: F) -> F {
        let smoothed = probability.mul(self.target).add(self.each);
        if self.each == F::ZERO { probability } else { smoothed }
    }
}

/// The gradient of a logit in the loss of a distribution, times `scale`: from the softmax, the weighted share of the
/// class, and the sum of these shares.
#[inline(always)]
pub fn distribution_gradient<F: Float>(softmax: F, share: F, total: F, scale: F) -> F {
    softmax.mul(total).sub(share).mul(scale)
}

/// The loss of a row, and its gradient.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClassLoss<F> {
    /// The factor of the target's loss.
    target: F,
    /// The factor of each class's loss.
    each: F,
    /// The factor of a class's probability in its gradient.
    probability: F,
}

impl<F: Float> ClassLoss<F> {
    /// `weight` is that of the target's class, and `weights` the sum of all classes' weights.
    #[inline(always)]
    pub fn new(shares: ClassWeights<F>, weight: F, weights: F) -> Self {
        let ClassWeights { target, each } = shares;
        let target = target.mul(weight);
        let probability = if each == F::ZERO { target } else { target.add(each.mul(weights)) };
        Self { target, each, probability }
    }

    /// The loss, from the target's log-probability and the sum of all weighted log-probabilities.
    #[inline(always)]
    pub fn loss(self, target: F, all: F) -> F {
        let loss = self.target.mul(target);
        let loss = if self.each == F::ZERO { loss } else { loss.add(self.each.mul(all)) };
        F::ZERO.sub(loss)
    }

    /// The gradient of a logit, from the class's probability and weight, times `scale`.
    #[inline(always)]
    pub fn gradient(self, probability: F, weight: F, is_target: bool, scale: F) -> F {
        let all = probability.mul(self.probability);
        let all = if self.each == F::ZERO { all } else { all.sub(self.each.mul(weight)) };
        let all = if is_target { all.sub(self.target) } else { all };
        all.mul(scale)
    }

    /// The factor with which [`brief_exp`](crate::ops::brief_exp) of an ordinary logit is its gradient, if it is not
    /// the target's and the logits were bf16. Zero, if gradients are only as [`ClassLoss::gradient`] has them: with
    /// smoothing, of a row whose scale is not zero, and for a factor beyond 2^±64.
    #[inline(always)]
    pub fn brief_factor(self, dtype: DType, row: Softmax<F>, scale: F) -> F {
        let factor = row.inverse.mul(self.probability).mul(scale);
        let (size, far) = (factor.abs(), F::from_f64((1u128 << 64) as f64));
        let near = size < far && size > F::ONE.div(far);
        if matches!(dtype, DType::BF16) && self.each == F::ZERO && row.scale == F::ZERO && near {
            factor
        } else {
            F::ZERO
        }
    }
}
