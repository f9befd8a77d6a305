//! Reductions over arrays of any shape, with one result: the same bits with any number of threads, any memory layout
//! and any axis position, on CPUs and NVIDIA GPUs.
//!
//! ```
//! use warpfold::{DeviceName, Op, Options, over};
//!
//! assert_eq!(warpfold::sum(&[1.5f32, 2.0, 3.5])?, 7.0);
//! assert_eq!(over(&[1.0f32, f32::NAN, 2.0]).skip_nan().mean()?.item(), Some(1.5));
//!
//! // Op and device named at run time.
//! let x = warpfold::ArrayRef::from_slice(&[1u8, 2, 3, 4], &[2, 2])?;
//! let options = Options { axes: Some(vec![0]), ..Options::default() };
//! let sums = warpfold::reduce_on(DeviceName::Cpu, Op::Sum, x, &options)?;
//! assert_eq!(sums.into_vec::<u64>(), Some(vec![4, 6]));
//! # Ok::<(), warpfold::Error>(())
//! ```
//!
//! - Typed: [`over`] and a function for each op, such as [`sum()`].
//! - Op and dtype at run time: [`reduce`], [`describe`], [`explain`]; in pieces: [`Stream`].
//! - By key: [`segmented`], [`group_by`], [`unique`], [`histogram`], [`KMeans`]; [`keys`] has the rest.
//! - Of rows: [`softmax()`], [`rms_norm`], [`cross_entropy`] and their kin; their gradients and options in [`rows`].
//! - Of windows: [`max_pool`], [`avg_pool`]; their gradients and indices in [`pool`]. [`top_k`] is in [`select`], too.
//!   So is `sample`, which draws a class of each row.
//! - Of two arrays: [`zip()`], and then a loss, a dot product, a cosine, or a reducer of pairs.
//! - On a device named at run time: [`reduce_on`] and the other functions whose names end in `_on`. Arrays that stay
//!   on a GPU: the module `cuda`, with the feature of that name.
//! - Reducers of your own: [`Reducer`], [`Over::with`], [`reduce_elements`].
//!
//! Features: `cuda` and `ndarray` are default; `emulator` runs GPU kernels without a GPU; `serde`.

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
pub use emulate::{Emulated, emulate_elements, emulate_pairs};
pub use on::{
    GroupLabels, avg_pool_backward_on, avg_pool_on, batch_norm_on, bincount_on, cosine_similarity_on,
    describe_groups_on, describe_on, describe_segments_on, dot_backward_on, dot_on, group_by_on, group_first_on,
    group_last_on, group_norm_on, group_sizes_on, histogram_on, kmeans_on, kmeans_watched, layer_norm_on,
    log_softmax_on, loss_backward_on, loss_on, max_pool_backward_on, max_pool_on, reduce_by_key_on, reduce_on,
    rms_norm_on, segmented_on, softmax_on, top_k_on, unique_on,
};
pub use typed::{
    Over, View, Zip, all, any, argmax, argmin, avg_pool, count_nonzero, cross_entropy, group_norm, layer_norm,
    log_softmax, logsumexp, max, max_pool, mean, min, minmax, norm, over, prod, rms_norm, softmax, std, sum, top_k,
    var, zip,
};
pub use warpfold_array::{
    Array, ArrayMut, ArrayRef, Error, KeyError, MAX_RANK, Meeting, Op, Options, Ord, Order, PoolError, Precision,
    RowError, Scalar, Tensor, Value, Values, problem,
};
pub use warpfold_core as core;
pub use warpfold_core::{DType, Element, Kind, Reducer, Span, bf16, f16};
pub use warpfold_cpu as cpu;
pub use warpfold_cpu::keys::{
    Bins, Distinct, Groups, KMeans, Points, Segments, bincount, centroid_update, group_by, histogram, reduce_by_key,
    segmented, unique,
};
pub use warpfold_cpu::{
    Description, Plan, Spans, Stream, describe, describe_into, explain, keys, pool, reduce, reduce_into, rows, select,
};

/// The examples of the README are tests.
#[cfg(all(doctest, feature = "cuda", feature = "ndarray"))]
#[doc = include_str!("../../../README.md")]
struct Readme;
