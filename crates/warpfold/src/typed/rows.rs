//! Operations on rows of typed arrays. Their gradients, and more options, are in [`warpfold_cpu::rows`].

use warpfold_array::{Array, Error, Tensor, Value};
use warpfold_core::Element;
use warpfold_cpu::rows;

use super::view::{View, viewed};

/// The softmax over some axes (from the end if negative), exp(x) / Σ exp(x), of any floats. With a mask or a scale:
/// [`rows::softmax`].
///
/// ```
/// assert_eq!(warpfold::softmax(&[0.0f32, 0.0, -1000.0], &[0])?.data, [0.5, 0.5, 0.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// Bad axes; [`Error::Memory`].
pub fn softmax<V>(array: &V, axes: &[isize]) -> Result<Tensor<V::Elem>, Error>
where
    V: View<Elem: Element<Mean = V::Elem>> + ?Sized,
{
    Ok(tensor(rows::softmax(viewed(array)?, axes, &rows::Softmax::default())?))
}

/// The logarithm of [`softmax()`], without its loss of digits.
///
/// ```
/// # #[cfg(feature = "ndarray")] {
/// let x = ndarray::array![[0.0f64, -1000.0], [0.0, 0.0]];
/// let y = warpfold::log_softmax(&x, &[-1])?;
/// assert_eq!(y.data, [0.0, -1000.0, -(2f64.ln()), -(2f64.ln())]);
/// # }
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// Bad axes; [`Error::Memory`].
pub fn log_softmax<V>(array: &V, axes: &[isize]) -> Result<Tensor<V::Elem>, Error>
where
    V: View<Elem: Element<Mean = V::Elem>> + ?Sized,
{
    Ok(tensor(rows::log_softmax(viewed(array)?, axes, &rows::Softmax::default())?))
}

/// Each row over the root of its mean square, with weights in the options: see [`rows::rms_norm`].
///
/// ```
/// use warpfold::rows::Norm;
///
/// let options = Norm { epsilon: 0.0, ..Norm::default() };
/// assert_eq!(warpfold::rms_norm(&[3.0f32, -3.0], &[0], &options)?.data, [1.0, -1.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// Bad axes; [`warpfold_array::RowError`] of weights of another shape; [`Error::Memory`].
pub fn rms_norm<V>(array: &V, axes: &[isize], options: &rows::Norm<'_>) -> Result<Tensor<V::Elem>, Error>
where
    V: View<Elem: Element<Mean = V::Elem>> + ?Sized,
{
    Ok(tensor(rows::rms_norm(viewed(array)?, axes, options)?))
}

/// Each row less its mean, over its deviation, with weights and biases in the options: see [`rows::layer_norm`].
///
/// ```
/// use warpfold::rows::Norm;
///
/// let options = Norm { epsilon: 0.0, ..Norm::default() };
/// assert_eq!(warpfold::layer_norm(&[1.0f32, 3.0], &[0], &options)?.data, [-1.0, 1.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// As [`rms_norm`].
pub fn layer_norm<V>(array: &V, axes: &[isize], options: &rows::Norm<'_>) -> Result<Tensor<V::Elem>, Error>
where
    V: View<Elem: Element<Mean = V::Elem>> + ?Sized,
{
    Ok(tensor(rows::layer_norm(viewed(array)?, axes, options)?))
}

/// Each group of channels of each sample less its mean, over its deviation: see [`rows::group_norm`], and
/// [`rows::batch_norm`] for its kin.
///
/// ```
/// use warpfold::rows::Norm;
///
/// # #[cfg(feature = "ndarray")] {
/// let x = ndarray::array![[1.0f32, 3.0, 10.0, 30.0]];
/// let options = Norm { epsilon: 0.0, ..Norm::default() };
/// assert_eq!(warpfold::group_norm(&x, 2, &options)?.data, [-1.0, 1.0, -1.0, 1.0]);
/// # }
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// [`warpfold_array::RowError`] of groups that do not divide the channels, or weights of another shape; an array
/// without an axis of channels; [`Error::Memory`].
pub fn group_norm<V>(array: &V, groups: usize, options: &rows::Norm<'_>) -> Result<Tensor<V::Elem>, Error>
where
    V: View<Elem: Element<Mean = V::Elem>> + ?Sized,
{
    Ok(tensor(rows::group_norm(viewed(array)?, groups, options)?))
}

/// The cross-entropy of rows of logits along an axis and the class of each row: see [`rows::cross_entropy`], and
/// [`rows::cross_entropy_gradient`] for the gradient in the same call.
///
/// ```
/// use warpfold::rows::CrossEntropy;
///
/// # #[cfg(feature = "ndarray")] {
/// let logits = ndarray::array![[0.0f64, 0.0], [0.0, 0.0]];
/// let loss = warpfold::cross_entropy(&logits, &[1u8, 0], -1, &CrossEntropy::default())?;
/// assert_eq!(loss.item(), Some(2f64.ln()));
/// # }
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// A bad axis; [`warpfold_array::RowError`] of targets that are no classes, or arrays of another shape;
/// [`Error::Memory`].
pub fn cross_entropy<V, T>(
    logits: &V,
    targets: &T,
    axis: isize,
    options: &rows::CrossEntropy<'_>,
) -> Result<Tensor<V::Elem>, Error>
where
    V: View<Elem: Element<Mean = V::Elem>> + ?Sized,
    T: View + ?Sized,
{
    Ok(tensor(rows::cross_entropy(viewed(logits)?, targets.view()?, axis, options)?))
}

/// A result in the dtype of the elements.
pub(super) fn tensor<T: Value>(array: Array) -> Tensor<T> {
    let Array { shape, values } = array;
    Tensor { shape, data: T::unwrap(values).expect("the result has the dtype of the elements") }
}
