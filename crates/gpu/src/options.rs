//! The options of a reduction on a GPU.

use crate::view::ArrayView;
use warpfold_array::{ArrayRef, Ord, Precision, Scalar};
use warpfold_core::DType;

/// How to reduce an array on a GPU: as [`warpfold_array::Options`], with a mask on the device.
///
/// ```
/// use warpfold_gpu::Options;
///
/// let options = Options { axes: Some(vec![0]), skip_nan: true, ..Options::default() };
/// assert!(options.mask.is_none());
/// ```
#[derive(Clone, Debug, Default)]
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
    pub mask: Option<ArrayView<'a>>,
    /// One more element on the left: sum, prod, min, max.
    pub initial: Option<Scalar>,
    /// Subtracted from the count in the divisor: var, std. Default 0.
    pub ddof: Option<f64>,
    /// Which norm. Default 2.
    pub ord: Option<Ord>,
}

/// One kind of options from the other, with another mask: all fields that both kinds have, by their names.
macro_rules! with_mask {
    ($($kind:ident)::+, $from:expr, $mask:expr $(, ..$rest:expr)?) => {
        $($kind)::+ {
            axes: $from.axes.clone(),
            keepdims: $from.keepdims,
            dtype: $from.dtype,
            precision: $from.precision,
            skip_nan: $from.skip_nan,
            mask: $mask,
            initial: $from.initial,
            ddof: $from.ddof,
            ord: $from.ord,
            $(..$rest)?
        }
    };
}

impl<'a> Options<'a> {
    /// The options of a host array for an array on a GPU, with a mask there.
    pub(crate) fn of(options: &warpfold_array::Options<'_>, mask: Option<ArrayView<'a>>) -> Options<'a> {
        with_mask!(Options, options, mask)
    }

    /// The options for code that reads no element, with the layout of the mask in place of the mask.
    pub(crate) fn with_layout<'m>(&self, mask: Option<ArrayRef<'m>>) -> warpfold_array::Options<'m> {
        with_mask!(warpfold_array::Options, self, mask, ..warpfold_array::Options::default())
    }
}
