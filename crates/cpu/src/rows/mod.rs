//! Operations on rows: a row is reduced, and each of its elements computed from the element and the row's reduction.
//!
//! A row lies along some axes of an array, in row-major order; the other axes are the batch. The formulas are those of
//! [`warpfold_core::rows`]. Sums are the library's tree, so a row's results depend on the row alone.
#![cfg(feature = "reductions")]

pub(crate) mod call;
mod columns;
mod each;
mod engine;
mod exponents;
pub(crate) mod lines;
mod loss;
mod nodes;
mod norm;
mod pairs;
mod softmax;

pub use loss::{CrossEntropy, CrossEntropyLoss, LossReduction, cross_entropy, cross_entropy_gradient};
pub use norm::{Norm, NormGradients, layer_norm, layer_norm_backward, rms_norm, rms_norm_backward};
pub use pairs::{Loss, Pairs, cosine_similarity, cosine_similarity_backward, dot, dot_backward, loss, loss_backward};
pub use softmax::{Softmax, log_softmax, log_softmax_backward, softmax, softmax_backward};
