//! The number by which a class is drawn.

use crate::float::Float;
use crate::zip::Zip;

/// A logit, and noise times a temperature. The class with the greatest sum is drawn: from the softmax of the logits
/// over the temperature, if the noise is Gumbel's. A class whose logit is minus infinity is not drawn before others,
/// whatever its noise.
///
/// ```
/// use warpfold_core::{Zip, rows::Noisy};
///
/// let noisy = Noisy { temperature: 0.5f32 };
/// assert_eq!(noisy.zip(1.0, 3.0), 2.5);
/// assert_eq!(noisy.zip(f32::NEG_INFINITY, f32::INFINITY), f32::NEG_INFINITY);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Noisy<F> {
    /// Greater than zero.
    pub temperature: F,
}

impl<F: Float> Zip<F, F> for Noisy<F> {
    type Item = F;
    #[inline(always)]
    fn zip(&self, logit: F, noise: F) -> F {
        let sum = logit.add(noise.mul(self.temperature));
        if logit == F::from_f64(f64::NEG_INFINITY) { logit } else { sum }
    }
}
