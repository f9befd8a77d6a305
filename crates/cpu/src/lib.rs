//! Reductions on the CPU: rayon threads, vector instructions chosen at run time, and the tree.
//!
//! Every loop over elements is compiled in this crate, once per level of vector instructions. [`reduce`] and its kin are entered
//! by (op, dtype, layout) as values and are generic over nothing that the caller chooses, so the caller's `opt-level`, LTO and
//! codegen units change nothing. Only reducers of one's own ([`engine::run`], [`Stream`]) are instantiated by the caller.

pub mod args;
mod columns;
mod counter;
mod dense;
pub mod engine;
pub mod exact;
pub mod exponentials;
pub mod extrema;
pub mod free;
pub mod groups;
pub mod halves;
pub mod hot;
pub mod kernel;
pub mod load;
pub mod moments;
mod panel;
mod periods;
pub mod policy;
pub mod route;
mod runs;
mod segments;
pub mod simd;
pub mod transposed;
mod tree;

mod describe;
mod dispatch;
pub mod keys;
mod plan;
mod reduction;
mod stream;

pub use describe::{Description, STATS, check_describe, describe};
pub use dispatch::Kernels;
pub use keys::{
    Bins, Distinct, Groups, KMeans, Points, Segments, bincount, centroid_update, group_by, histogram, reduce_by_key,
    segmented, unique,
};
pub use plan::Plan;
pub use reduction::{explain, on_threads, reduce, reduce_slice};
pub use stream::Stream;
