//! Operations on rows: a row is reduced, and each of its elements computed from the element and the row's reduction.
//!
//! A row lies along some axes of an array, in row-major order; the other axes are the batch. The formulas are those of
//! [`warpfold_core::rows`]. Sums are the library's tree, so a row's results depend on the row alone.
#![cfg(feature = "reductions")]

mod aligned;
mod batch;
pub(crate) mod call;
mod classes;
mod columns;
mod distribution;
mod each;
mod engine;
mod exponents;
mod group;
mod layer;
pub(crate) mod lines;
mod loss;
mod nodes;
mod norm;
mod op;
mod pairs;
mod scatter;
mod softmax;
mod stretches;

pub use batch::{BatchNorm, BatchNormed, batch_norm, batch_norm_backward};
pub use group::{group_norm, group_norm_backward};
pub use loss::{
    CrossEntropy, CrossEntropyLoss, CrossEntropyRows, LossReduction, cross_entropy, cross_entropy_gradient,
    cross_entropy_gradient_into, cross_entropy_in_place,
};
pub use norm::{
    Norm, NormGradients, ResidualNorm, layer_norm, layer_norm_backward, layer_norm_backward_given, layer_norm_residual,
    rms_norm, rms_norm_backward, rms_norm_residual,
};
pub use pairs::{Loss, Pairs, cosine_similarity, cosine_similarity_backward, dot, dot_backward, loss, loss_backward};
pub use scatter::{Embedding, embedding_backward, index_add, scatter_add};
pub use softmax::{Softmax, log_softmax, log_softmax_backward, softmax, softmax_backward};
