//! Operations on rows on a GPU: a row is reduced, and each of its elements computed from the element and the row's
//! reduction. Results have the bits of [`warpfold_cpu::rows`].
//!
//! In one call: [`softmax`], [`log_softmax`], and the gradients of both; [`rms_norm`], [`layer_norm`]. Prepared once and run many times, also in a
//! [`Graph`](crate::Graph): [`RowMap`]. Of arrays in the host's memory: [`softmax_host`] and its kin.

mod check;
mod host;
mod map;
mod sequence;

pub use host::{layer_norm_host, log_softmax_host, rms_norm_host, softmax_host};
pub use map::{RowArrays, RowMap};

use warpfold_array::Error;

use crate::array::Array;
use crate::stream::Stream;
use crate::view::ArrayView;

/// The options of [`softmax`] and [`log_softmax`]: as [`warpfold_cpu::rows::Softmax`], with a mask on the device.
#[derive(Clone, Copy, Debug)]
pub struct Softmax<'a> {
    /// Elements are multiplied by this number first. Default 1.
    pub scale: f64,
    /// Elements where this bool array, broadcast to the array's shape, is false take no part.
    pub mask: Option<ArrayView<'a>>,
}

impl Default for Softmax<'_> {
    fn default() -> Self {
        Self { scale: 1.0, mask: None }
    }
}

/// The options of [`rms_norm`] and [`layer_norm`]: as [`warpfold_cpu::rows::Norm`], with arrays on the device.
#[derive(Clone, Copy, Debug)]
pub struct Norm<'a> {
    /// Factors of the normalised elements, an array of the shape of a row, of any float dtype. `None`: 1.
    pub weight: Option<ArrayView<'a>>,
    /// Added to each weight. Default 0.
    pub weight_offset: f64,
    /// Addends after that, an array of the shape of a row, of any float dtype. `None`: 0.
    pub bias: Option<ArrayView<'a>>,
    /// Added to the mean square, or to the variance, before its root is taken. Default 1e-5.
    pub epsilon: f64,
}

impl Default for Norm<'_> {
    fn default() -> Self {
        Self { weight: None, weight_offset: 0.0, bias: None, epsilon: 1e-5 }
    }
}

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
    /// The gradient of the elements before [`log_softmax`]: as [`warpfold_cpu::rows::log_softmax_backward`]. The work is
    /// queued.
    ///
    /// # Errors
    /// As [`softmax_backward`].
    log_softmax_backward;
}
