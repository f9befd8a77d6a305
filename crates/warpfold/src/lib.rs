//! Reductions over arrays of any shape, with one result.

#[cfg(feature = "cuda")]
pub mod cuda;
mod device;
mod elements;
#[cfg(feature = "emulator")]
mod emulate;
mod on;
mod typed;

pub use device::DeviceName;
pub use elements::reduce_elements;
#[cfg(feature = "emulator")]
pub use emulate::{Emulated, emulate_elements};
pub use on::{
    GroupLabels, bincount_on, describe_groups_on, describe_on, describe_segments_on, group_by_on, group_first_on,
    group_last_on, group_sizes_on, histogram_on, kmeans_on, kmeans_watched, reduce_by_key_on, reduce_on, segmented_on,
    unique_on,
};
pub use typed::{
    Over, View, all, any, argmax, argmin, count_nonzero, logsumexp, max, mean, min, minmax, norm, over, prod, std, sum,
    var,
};
pub use warpfold_array::{
    Array, ArrayRef, Error, KeyError, MAX_RANK, Op, Options, Ord, Order, Precision, Scalar, Tensor, Value, Values,
    problem,
};
pub use warpfold_core as core;
pub use warpfold_core::{DType, Element, Kind, Reducer, Span, bf16, f16};
pub use warpfold_cpu as cpu;
pub use warpfold_cpu::keys::{
    Bins, Distinct, Groups, KMeans, Points, Segments, bincount, centroid_update, group_by, histogram, reduce_by_key,
    segmented, unique,
};
pub use warpfold_cpu::{Description, Plan, Stream, describe, explain, keys, reduce};

/// The examples of the README are tests.
#[cfg(all(doctest, feature = "cuda", feature = "ndarray"))]
#[doc = include_str!("../../../README.md")]
struct Readme;
