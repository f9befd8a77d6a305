//! The options of a reduction.

use warpfold_core::DType;

use crate::layout::ArrayRef;
use crate::op::{Ord, Precision};
use crate::values::Scalar;

/// A function that is called with the number of bytes that each finished task has read.
pub type Progress<'a> = &'a (dyn Fn(u64) + Sync);

/// The options of a reduction: everything but the op and the array.
///
/// ```
/// use warpfold_array::Options;
///
/// let options = Options { axes: Some(vec![-1]), keepdims: true, ..Options::default() };
/// assert!(!options.skip_nan);
/// ```
#[derive(Clone, Default)]
pub struct Options<'a> {
    /// The axes to reduce, negative ones counted from the end; `None`: all axes.
    pub axes: Option<Vec<isize>>,
    /// Whether reduced axes stay, with length 1.
    pub keepdims: bool,
    /// Cast elements to this dtype first; it is also the result's.
    pub dtype: Option<DType>,
    /// The precision of sums.
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
    /// How many threads; `None`: as many as rayon's current pool has.
    pub threads: Option<usize>,
    /// Called with the number of bytes that each finished task has read.
    pub progress: Option<Progress<'a>>,
}
