//! Operations on rows in one call.

use warpfold_array::Error;

use super::map::{RowArrays, RowMap};
use super::options::{Norm, Softmax};
use crate::array::Array;
use crate::stream::Stream;
use crate::view::ArrayView;

/// The operations as functions: a row has the documentation and the name of each, its options, and the arrays among
/// these.
macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident, $options:ident, |$given:ident| $arrays:expr;)*) => {$(
        $(#[$doc])*
        pub fn $name(
            x: ArrayView<'_>,
            axes: &[isize],
            options: &$options<'_>,
            stream: &Stream,
        ) -> Result<Array, Error> {
            let map = RowMap::$name(&stream.device(), &x, axes, options)?;
            let (mut out, $given) = (map.output()?, options);
            map.run(stream, x, &$arrays, &mut out)?;
            Ok(out)
        }
    )*};
}

operations! {
    /// The softmax over some axes: as [`warpfold_cpu::rows::softmax`]. The work is queued.
    ///
    /// # Errors
    /// As [`warpfold_cpu::rows::softmax`]; arrays of another device; what the driver says.
    softmax, Softmax, |options| RowArrays { mask: options.mask, ..RowArrays::default() };
    /// The logarithm of [`softmax`]: as [`warpfold_cpu::rows::log_softmax`]. The work is queued.
    ///
    /// # Errors
    /// As [`softmax`].
    log_softmax, Softmax, |options| RowArrays { mask: options.mask, ..RowArrays::default() };
    /// Each row over the root of its mean square: as [`warpfold_cpu::rows::rms_norm`]. The work is queued.
    ///
    /// # Errors
    /// As [`warpfold_cpu::rows::rms_norm`]; arrays of another device; what the driver says.
    rms_norm, Norm, |options| RowArrays { weight: options.weight, bias: options.bias, ..RowArrays::default() };
    /// Each row less its mean, over its deviation: as [`warpfold_cpu::rows::layer_norm`]. The work is queued.
    ///
    /// # Errors
    /// As [`rms_norm`].
    layer_norm, Norm, |options| RowArrays { weight: options.weight, bias: options.bias, ..RowArrays::default() };
}

/// The gradients as functions: a row has the documentation and the name of each.
macro_rules! gradients {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name(
            y: ArrayView<'_>,
            gradient: ArrayView<'_>,
            axes: &[isize],
            options: &Softmax<'_>,
            stream: &Stream,
        ) -> Result<Array, Error> {
            let map = RowMap::$name(&stream.device(), &y, &gradient, axes, options)?;
            let mut out = map.output()?;
            map.run(stream, y, &RowArrays { gradient: Some(gradient), ..RowArrays::default() }, &mut out)?;
            Ok(out)
        }
    )*};
}

gradients! {
    /// The gradient of the elements before [`softmax`], from its result `y` and the gradient of that: as
    /// [`warpfold_cpu::rows::softmax_backward`]. Of the options only the scale counts. The work is queued.
    ///
    /// # Errors
    /// As [`warpfold_cpu::rows::softmax_backward`]; arrays of another device; what the driver says.
    softmax_backward;
    /// The gradient of the elements before [`log_softmax`]: as [`warpfold_cpu::rows::log_softmax_backward`]. The work
    /// is queued.
    ///
    /// # Errors
    /// As [`softmax_backward`].
    log_softmax_backward;
}
