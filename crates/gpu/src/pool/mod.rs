//! Pooling on a GPU: the greatest element or the mean of each window along the last axes of an array, and the
//! gradients. Results have the bits of [`warpfold_cpu::pool`].
//!
//! In one call: [`max_pool`], [`avg_pool`] and their gradients. Prepared once and run many times, also in a
//! [`Graph`](crate::Graph): [`Pooled`]. Of arrays in the host's memory: [`max_pool_host`] and its kin.

mod once;
mod pooled;

pub use once::{
    avg_pool, avg_pool_backward, avg_pool_backward_host, avg_pool_host, max_pool, max_pool_backward,
    max_pool_backward_host, max_pool_host,
};
pub use pooled::{MaxPool, Pooled};
