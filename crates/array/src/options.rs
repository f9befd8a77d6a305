//! How to reduce: everything but the array.

use warpfold_core::DType;

use crate::layout::ArrayRef;
use crate::op::{Ord, Precision};
use crate::values::Scalar;

/// Told how many bytes of the input a finished task has read.
pub type Progress<'a> = &'a (dyn Fn(u64) + Sync);

/// How to reduce: everything but the array.
#[derive(Clone, Default)]
pub struct Options<'a> {
    /// The axes to reduce, negative ones from the end; `None`: all.
    pub axes: Option<Vec<isize>>,
    /// Whether reduced axes stay, with length 1.
    pub keepdims: bool,
    /// Cast elements to this dtype first; it is also the result's.
    pub dtype: Option<DType>,
    /// Plain floats, or double words.
    pub precision: Precision,
    /// Leave NaNs out.
    pub skip_nan: bool,
    /// Reduce only where this bool array, broadcast to the array's shape, is true.
    pub mask: Option<ArrayRef<'a>>,
    /// One more element on the left: sum, prod, min, max.
    pub initial: Option<Scalar>,
    /// Subtracted from the count in the divisor: var, std. Default 0.
    pub ddof: Option<f64>,
    /// Which norm. Default 2.
    pub ord: Option<Ord>,
    /// How many threads; `None`: all of rayon's current pool.
    pub threads: Option<usize>,
    /// Told how many bytes each finished task has read.
    pub progress: Option<Progress<'a>>,
}
