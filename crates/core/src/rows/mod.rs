//! Rows: a row is reduced, and each of its elements is computed from the element and the row's reduction.
//!
//! Each formula is written once, here, for `f32` and `f64`. Backends bring the elements and their reductions, and round
//! each result once.

mod loss;
mod norm;
mod pairs;
mod sample;
mod softmax;

pub use loss::{ClassLoss, ClassWeights, distribution_gradient};
pub use norm::{Norm, NormGradient};
pub use pairs::{BinaryEntropy, Cosine, Distance, Divergence, Dots, Huber, Loss, Product, Squared};
pub use sample::Noisy;
pub use softmax::{LogSoftmax, Softmax, log_softmax_gradient, softmax_gradient};
