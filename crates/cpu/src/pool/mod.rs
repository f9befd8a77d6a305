//! Pooling: the greatest element or the mean of each window along the last axes of an array, and the gradients.
//!
//! The formulas are those of [`warpfold_core::pool`]. A window's mean is the library's tree over its elements, in
//! row-major order, and an element's gradient the tree over the windows that hold it: results depend on nothing but the
//! data. Global pooling is a reduction along the same axes.
#![cfg(feature = "reductions")]

mod average;
mod call;
mod fold;
mod max;
mod max_backward;
mod reach;
mod tasks;

pub use average::{avg_pool, avg_pool_backward};
pub use call::{Call, MaxPool, Pool, divisor, floats};
pub use max::max_pool;
pub use max_backward::max_pool_backward;
