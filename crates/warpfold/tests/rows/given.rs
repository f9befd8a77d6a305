//! What a cross-entropy is given beside logits and targets.

use warpfold::DType;
use warpfold::rows::{CrossEntropy, LossReduction};

use crate::reference::{Random, Strided};
use crate::{FLOATS, float};

/// What is given beside logits and targets.
pub struct Given {
    pub weights: Option<Strided>,
    pub smoothing: f64,
    pub reduction: LossReduction,
    pub of_loss: Vec<usize>,
    pub upstream: Option<Strided>,
    threads: Option<usize>,
}

impl Given {
    pub fn new(r: &mut Random, dtype: DType, classes: usize, batch: &[usize]) -> Self {
        let of_weights = FLOATS[r.below(4)];
        let weights = r.chance(40).then(|| Strided::new(r, of_weights, &[classes], |r| float(r, of_weights, 2.0, 0)));
        let smoothing = [0.0, 0.0, 0.1, 1.0][r.below(4)];
        let reduction = [LossReduction::None, LossReduction::Mean, LossReduction::Sum][r.below(3)];
        let of_loss = if reduction == LossReduction::None { batch.to_vec() } else { Vec::new() };
        let upstream = r.chance(40).then(|| Strided::new(r, dtype, &of_loss, |r| float(r, dtype, 3.0, 0)));
        Self { weights, smoothing, reduction, of_loss, upstream, threads: Some(1 + r.below(3)) }
    }

    pub fn options(&self) -> CrossEntropy<'_> {
        CrossEntropy {
            smoothing: self.smoothing,
            weights: self.weights.as_ref().map(Strided::view),
            reduction: self.reduction,
            gradient: self.upstream.as_ref().map(Strided::view),
            threads: self.threads,
            ..CrossEntropy::default()
        }
    }
}
