//! Operations on rows on a GPU: a row is reduced, and each of its elements computed from the element and the row's
//! reduction. Results have the bits of [`warpfold_cpu::rows`].
//!
//! In one call: [`softmax`], [`log_softmax`], and the gradients of both; [`rms_norm`], [`layer_norm`]. Prepared once
//! and run many times, also in a [`Graph`](crate::Graph): [`RowMap`]. Of arrays in the host's memory: [`softmax_host`]
//! and its kin.

mod check;
mod host;
mod map;
mod once;
mod options;
mod sequence;

pub use host::{layer_norm_host, log_softmax_host, rms_norm_host, softmax_host};
pub use map::{RowArrays, RowMap};
pub use once::{layer_norm, log_softmax, log_softmax_backward, rms_norm, softmax, softmax_backward};
pub use options::{Norm, Softmax};
