//! What each operation on rows is, for [`RowMap`].

use warpfold_array::Error;
use warpfold_core::DType;

use super::check::Asked;
use super::map::{RowArrays, RowMap};
use super::options::{CrossEntropy, Norm, Softmax};
use crate::device::Device;
use crate::plan::rowwise::RowOperation;
use crate::view::ArrayView;

/// The constructors: a row has the documentation and the name of each, the arrays beside the elements, the options, the
/// check of its arguments, and the operation and the arrays that follow from these.
macro_rules! constructors {
    ($(
        $(#[$doc:meta])*
        $name:ident($($array:ident)?), $options:ident: $check:ident, $plan:ident, [$($of:expr),*];
    )*) => {
        impl RowMap {$(
            $(#[$doc])*
            pub fn $name(
                device: &Device,
                x: &ArrayView<'_>,
                $($array: &ArrayView<'_>,)?
                axes: &[isize],
                options: &$options<'_>,
            ) -> Result<RowMap, Error> {
                let asked = Asked::$check(stringify!($name), x, $($array,)? axes, options)?;
                let (op, given) = $plan([$($of),*], x.dtype(), options);
                Self::new(device, x, &asked, &RowArrays { $($array: Some(*$array),)? ..given }, &op)
            }
        )*}
    };
}

constructors! {
    /// Plans [`softmax`](super::softmax) of arrays like `x` with masks like that of the options, and loads its kernels.
    ///
    /// # Errors
    /// As [`softmax`](super::softmax).
    softmax(), Softmax: softmax, exponentials, [("softmax", 2), ("softmax_masked", 2)];
    /// The same of [`log_softmax`](super::log_softmax).
    ///
    /// # Errors
    /// As [`log_softmax`](super::log_softmax).
    log_softmax(), Softmax: softmax, exponentials, [("log_softmax", 2), ("log_softmax_masked", 2)];
    /// The same of [`softmax_backward`](super::softmax_backward), with gradients like the one given.
    ///
    /// # Errors
    /// As [`softmax_backward`](super::softmax_backward).
    softmax_backward(gradient), Softmax: gradient, gradients, [("softmax_backward", 1)];
    /// The same of [`log_softmax_backward`](super::log_softmax_backward).
    ///
    /// # Errors
    /// As [`log_softmax_backward`](super::log_softmax_backward).
    log_softmax_backward(gradient), Softmax: gradient, gradients, [("log_softmax_backward", 1)];
    /// The same of [`rms_norm`](super::rms_norm), with weights and biases like those of the options.
    ///
    /// # Errors
    /// As [`rms_norm`](super::rms_norm).
    rms_norm(), Norm: norm, norm, [("rms_norm", 1)];
    /// The same of [`layer_norm`](super::layer_norm).
    ///
    /// # Errors
    /// As [`layer_norm`](super::layer_norm).
    layer_norm(), Norm: norm, norm, [("layer_norm", 2)];
    /// The same of [`rms_norm_backward`](super::rms_norm_backward), with gradients like the one given.
    ///
    /// # Errors
    /// As [`rms_norm_backward`](super::rms_norm_backward).
    rms_norm_backward(gradient), Norm: norm_gradient, norm_gradient, [("rms_norm_backward", 1), ("rms_norm", 1)];
    /// The same of [`layer_norm_backward`](super::layer_norm_backward).
    ///
    /// # Errors
    /// As [`layer_norm_backward`](super::layer_norm_backward).
    layer_norm_backward(gradient), Norm: norm_gradient, norm_gradient,
        [("layer_norm_backward", 2), ("layer_norm", 2)];
    /// The same of [`cross_entropy`](super::cross_entropy), with targets like these.
    ///
    /// # Errors
    /// As [`cross_entropy`](super::cross_entropy).
    cross_entropy(targets), CrossEntropy: classes, losses, [("cross_entropy", 2)];
}

/// An operation's name in the names of kernels, and how many words its nodes of f32 have.
type Named = (&'static str, usize);

/// Softmax or its logarithm, as it is, or scaled and masked.
fn exponentials<'a>(of: [Named; 2], dtype: DType, options: &Softmax<'a>) -> (RowOperation, RowArrays<'a>) {
    let &Softmax { scale, mask } = options;
    let is_plain = scale == 1.0 && mask.is_none();
    let op = RowOperation { masked: mask.is_some(), scale, ..operation(of[!is_plain as usize], dtype) };
    (op, RowArrays { mask, ..RowArrays::default() })
}

/// A gradient of these.
fn gradients<'a>([of]: [Named; 1], dtype: DType, options: &Softmax<'_>) -> (RowOperation, RowArrays<'a>) {
    (RowOperation { scale: options.scale, ..operation(of, dtype) }, RowArrays::default())
}

/// A norm.
fn norm<'a>([of]: [Named; 1], dtype: DType, options: &Norm<'a>) -> (RowOperation, RowArrays<'a>) {
    let &Norm { weight, weight_offset: offset, bias, epsilon, .. } = options;
    (RowOperation { epsilon, offset, ..operation(of, dtype) }, RowArrays { weight, bias, ..RowArrays::default() })
}

/// The gradients of a norm, whose second name is given, too.
fn norm_gradient<'a>(
    [of, (noted_by, _)]: [Named; 2],
    dtype: DType,
    options: &Norm<'a>,
) -> (RowOperation, RowArrays<'a>) {
    let ((op, arrays), noted) = (norm([of], dtype, options), options.noted);
    let op = RowOperation { noted_by: Some(noted_by), noted: noted.is_some(), ..op };
    (op, RowArrays { noted, ..arrays })
}

/// Cross-entropy of classes.
fn losses<'a>([of]: [Named; 1], dtype: DType, options: &CrossEntropy<'a>) -> (RowOperation, RowArrays<'a>) {
    let &CrossEntropy { ignore, weights: weight, scales, noted, .. } = options;
    let scaled = scales.is_some_and(|scales| !scales.shape().is_empty());
    let op = RowOperation { ignore, scaled, noted: noted.is_some(), ..operation(of, dtype) };
    (op, RowArrays { weight, scales, noted, ..RowArrays::default() })
}

/// An operation without options.
fn operation((name, words): Named, dtype: DType) -> RowOperation {
    RowOperation::new(name, words * dtype.size().div_ceil(4), dtype)
}
