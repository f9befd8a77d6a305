//! Reductions on the CPU: rayon threads, vector instructions chosen at run time, and the tree.
//!
//! Every loop over elements is compiled in this crate, once per level of vector instructions. [`reduce`] and the
//! functions beside it are entered by (op, dtype, layout) as values and are generic over nothing that the caller
//! chooses, so the caller's `opt-level`, LTO and codegen units change nothing. Only reducers of one's own
//! ([`engine::run`], [`Stream`]) are instantiated by the caller.

pub mod args;
mod block;
pub mod copied;
mod crossing;
pub mod engine;
pub mod exact;
pub mod exponentials;
pub mod extrema;
mod fallback;
pub mod free;
mod gate;
pub mod gather;
pub mod halves;
mod high;
pub mod hot;
pub mod integers;
pub mod kernel;
mod lanes;
pub mod load;
mod loops;
pub mod moments;
mod moves;
mod output;
mod padded;
mod panel;
pub mod parallel;
mod periods;
pub mod policy;
pub mod pool;
pub mod route;
pub mod rows;
mod running;
mod sample;
mod search;
pub mod select;
pub mod simd;
mod staggered;
mod stretches;
pub mod terms;
mod totals;
mod transpose;
mod tree;
mod uneven;
pub mod zip;

#[cfg(feature = "reductions")]
mod bound;
#[cfg(target_arch = "x86_64")]
mod decks;
#[cfg(feature = "reductions")]
mod describe;
#[cfg(feature = "reductions")]
mod dispatch;
#[cfg(feature = "reductions")]
pub mod keys;
#[cfg(feature = "reductions")]
mod live;
#[cfg(feature = "reductions")]
mod live_mean;
#[cfg(feature = "reductions")]
mod plan;
#[cfg(feature = "reductions")]
mod reduction;
#[cfg(feature = "reductions")]
mod spans;
#[cfg(feature = "reductions")]
mod statistics;
#[cfg(feature = "reductions")]
mod store;
#[cfg(feature = "reductions")]
mod stream;
#[cfg(feature = "reductions")]
mod wire;

#[cfg(feature = "reductions")]
pub use {
    describe::{Description, STATS, check_describe, describe, describe_into},
    dispatch::Kernels,
    keys::{
        Bins, Distinct, Groups, KMeans, Points, Segments, bincount, centroid_update, group_by, histogram,
        reduce_by_key, segmented, unique,
    },
    plan::Plan,
    reduction::{decided, explain, on_threads, reduce, reduce_into, reduce_slice},
    spans::Spans,
    stream::Stream,
};
