//! Operations on rows on a GPU: a row is reduced, and each of its elements computed from the element and the row's
//! reduction. Results have the bits of [`warpfold_cpu::rows`].
//!
//! In one call: [`softmax`], [`log_softmax`], [`rms_norm`], [`layer_norm`], and the gradients of all;
//! [`cross_entropy`]; [`group_norm`], [`batch_norm`] and their gradients; [`loss`], [`dot`], and theirs;
//! [`cosine_similarity`]. Prepared once and run many times, also in a [`Graph`](crate::Graph): [`RowMap`],
//! [`ChannelMap`] of norms of channels, and [`Zipped`] of two arrays. Of arrays in the host's memory:
//! [`softmax_host`] and its kin.

mod channels;
mod check;
mod host;
mod map;
mod once;
mod options;
mod pairs;
mod prepare;
mod sequence;
mod zip_plan;
mod zip_work;
mod zipped;

pub use channels::{
    ChannelAddresses, ChannelArrays, ChannelMap, batch_norm, batch_norm_backward, batch_norm_host, group_norm,
    group_norm_backward, group_norm_host, group_norm_noted,
};
pub use host::{layer_norm_host, log_softmax_host, rms_norm_host, softmax_host};
pub use map::{RowAddresses, RowArrays, RowMap};
pub use once::{
    cross_entropy, layer_norm, layer_norm_backward, log_softmax, log_softmax_backward, rms_norm, rms_norm_backward,
    softmax, softmax_backward,
};
pub use options::{BatchNorm, BatchNormed, CrossEntropy, Norm, NormGradients, Pairs, RowLosses, Softmax};
pub use pairs::{
    cosine_similarity, cosine_similarity_host, dot, dot_backward, dot_backward_host, dot_host, loss, loss_backward,
    loss_backward_host, loss_host,
};
pub use zipped::Zipped;
