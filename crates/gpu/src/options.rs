use crate::view::ArrayView;
use warpfold_array::ArrayRef;
use warpfold_array::Scalar;
use warpfold_array::{Ord, Precision};
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

impl<'a> Options<'a> {
    /// The same for an array on a GPU, with a mask there.
    pub(crate) fn of(options: &warpfold_array::Options<'_>, mask: Option<ArrayView<'a>>) -> Options<'a> {
        let warpfold_array::Options { axes, keepdims, dtype, precision, skip_nan, mask: _, initial, ddof, ord, .. } =
            options;
        Options {
            axes: axes.clone(),
            keepdims: *keepdims,
            dtype: *dtype,
            precision: *precision,
            skip_nan: *skip_nan,
            mask,
            initial: *initial,
            ddof: *ddof,
            ord: *ord,
        }
    }

    /// The same for code that reads no element: `mask` is that of `self`, as a layout.
    pub(crate) fn with_layout<'m>(&self, mask: Option<ArrayRef<'m>>) -> warpfold_array::Options<'m> {
        let Options { axes, keepdims, dtype, precision, skip_nan, mask: _, initial, ddof, ord } = self;
        warpfold_array::Options {
            axes: axes.clone(),
            keepdims: *keepdims,
            dtype: *dtype,
            precision: *precision,
            skip_nan: *skip_nan,
            mask,
            initial: *initial,
            ddof: *ddof,
            ord: *ord,
            ..warpfold_array::Options::default()
        }
    }
}
