//! The typed API: the dtype is a Rust type, and so is the result's.

mod ops;
mod over;
mod pool;
mod rows;
mod view;
mod zip;

pub use ops::{all, any, argmax, argmin, count_nonzero, logsumexp, max, mean, min, minmax, norm, prod, std, sum, var};
pub use over::{Over, over};
pub use pool::{avg_pool, max_pool, top_k};
pub use rows::{cross_entropy, group_norm, layer_norm, log_softmax, rms_norm, softmax};
pub use view::View;
pub use zip::{Zip, zip};
