//! Reductions over arrays of any shape, with one result.

// Tests of this crate share code with those in `tests/`.
#[cfg(test)]
extern crate self as warpfold;

pub mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
mod describe;
mod device;
mod dispatch;
mod elements;
mod error;
#[cfg(feature = "cuda")]
#[allow(dead_code)]
mod gpu;
pub mod keys;
mod layout;
mod memory;
mod on;
mod op;
mod plan;
pub mod problem;
mod reduction;
mod stream;
mod typed;
mod values;

pub use describe::{Description, describe};
pub use device::DeviceName;
pub use elements::reduce_elements;
pub use error::Error;
#[cfg(feature = "emulator")]
pub use gpu::{Emulated, emulate_elements};
pub use keys::{
    Bins, Distinct, Groups, KMeans, KeyError, Points, Segments, bincount, centroid_update, group_by, histogram,
    reduce_by_key, segmented, unique,
};
pub use layout::{ArrayRef, MAX_RANK, Order};
pub use on::{describe_on, reduce_on};
pub use op::{Op, Ord, Precision};
pub use plan::Plan;
pub use reduction::{Options, explain, reduce};
pub use stream::Stream;
pub use typed::{
    Over, Tensor, View, all, any, argmax, argmin, count_nonzero, logsumexp, max, mean, min, minmax, norm, over, prod,
    std, sum, var,
};
pub use values::{Array, Scalar, Value, Values};
pub use warpfold_core as core;
pub use warpfold_core::{DType, Element, Kind, Reducer, Span, bf16, f16};

/// The examples of the README are tests.
#[cfg(all(doctest, feature = "cuda", feature = "ndarray"))]
#[doc = include_str!("../../../README.md")]
struct Readme;
