//! Operations on rows in one call.

use warpfold_array::Error;

use super::map::{RowArrays, RowMap};
use super::options::{CrossEntropy, Norm, NormGradients, RowLosses, Softmax};
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

/// The gradients as functions: a row has the documentation and the name of each, its options, what it returns, and the
/// function that runs it.
macro_rules! gradients {
    ($($(#[$doc:meta])* $name:ident($x:ident), $options:ident, $returns:ident, $run:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name(
            $x: ArrayView<'_>,
            gradient: ArrayView<'_>,
            axes: &[isize],
            options: &$options<'_>,
            stream: &Stream,
        ) -> Result<$returns, Error> {
            $run(&RowMap::$name(&stream.device(), &$x, &gradient, axes, options)?, [$x, gradient], options, stream)
        }
    )*};
}

gradients! {
    /// The gradient of the elements before [`softmax`], from its result `y` and the gradient of that: as
    /// [`warpfold_cpu::rows::softmax_backward`]. Of the options only the scale counts. The work is queued.
    ///
    /// # Errors
    /// As [`warpfold_cpu::rows::softmax_backward`]; arrays of another device; what the driver says.
    softmax_backward(y), Softmax, Array, of_elements;
    /// The gradient of the elements before [`log_softmax`]: as [`warpfold_cpu::rows::log_softmax_backward`]. The work
    /// is queued.
    ///
    /// # Errors
    /// As [`softmax_backward`].
    log_softmax_backward(y), Softmax, Array, of_elements;
    /// The gradients of [`rms_norm`] of the elements `x`, from that of its result: as
    /// [`warpfold_cpu::rows::rms_norm_backward`]. The work is queued.
    ///
    /// # Errors
    /// As [`warpfold_cpu::rows::rms_norm_backward`]; arrays of another device; what the driver says.
    rms_norm_backward(x), Norm, NormGradients, of_norm;
    /// The gradients of [`layer_norm`], as [`rms_norm_backward`].
    ///
    /// # Errors
    /// As [`rms_norm_backward`].
    layer_norm_backward(x), Norm, NormGradients, of_norm;
}

/// Runs a gradient of elements alone.
fn of_elements(map: &RowMap, [y, g]: [ArrayView<'_>; 2], _: &Softmax<'_>, stream: &Stream) -> Result<Array, Error> {
    let mut out = map.output()?;
    map.run(stream, y, &RowArrays { gradient: Some(g), ..RowArrays::default() }, &mut out)?;
    Ok(out)
}

/// Runs the gradients of a norm.
fn of_norm(
    map: &RowMap,
    [x, gradient]: [ArrayView<'_>; 2],
    &Norm { weight, bias, noted, .. }: &Norm<'_>,
    stream: &Stream,
) -> Result<NormGradients, Error> {
    let like = |factor: Option<ArrayView<'_>>| {
        factor.map(|factor| Array::new(&stream.device(), factor.dtype(), factor.shape())).transpose()
    };
    let mut out = NormGradients { x: map.output()?, weight: like(weight)?, bias: like(bias)? };
    let given = RowArrays { weight, bias, gradient: Some(gradient), noted, ..RowArrays::default() };
    map.run_gradients(stream, x, &given, &mut out)?;
    Ok(out)
}

/// The cross-entropy of rows of logits along an axis and the class of each row, an array of
/// [`I64`](warpfold_core::DType::I64) of the shape of the other axes; and the gradient of the logits, of which each
/// row's loss has the gradient [`CrossEntropy::scales`].
///
/// As [`warpfold_cpu::rows::cross_entropy_gradient`] without a reduction of the losses, which are not rounded to the
/// dtype of the logits: a mean is their sum over the number of rows that are not ignored, of which one over that number
/// is the scale. The work is queued.
///
/// A row whose target is no class has the loss NaN and a gradient of NaN: to find it would wait for the device.
///
/// # Errors
/// As [`warpfold_cpu::rows::cross_entropy`], but for classes; arrays of another device; what the driver says.
pub fn cross_entropy(
    logits: ArrayView<'_>,
    targets: ArrayView<'_>,
    axis: isize,
    options: &CrossEntropy<'_>,
    stream: &Stream,
) -> Result<RowLosses, Error> {
    let device = stream.device();
    let map = RowMap::cross_entropy(&device, &logits, &targets, &[axis], options)?;
    let of_rows = || Array::new(&device, map.dtype_of_losses(), map.batch());
    let gradient = options.gradient.then(|| map.output()).transpose()?;
    let noted = Array::new(&device, map.dtype_of_losses(), &map.shape_of_noted());
    let noted = if options.noted.is_none() { Some(noted?) } else { None };
    let mut out = RowLosses { losses: of_rows()?, logsumexp: of_rows()?, gradient, noted };
    let &CrossEntropy { weights: weight, scales, noted, .. } = options;
    let given = RowArrays { weight, scales, noted, targets: Some(targets), ..RowArrays::default() };
    map.run_losses(stream, logits, &given, &mut out)?;
    Ok(out)
}
