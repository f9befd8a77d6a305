//! Operations on rows.

use warpfold_array::{Array, ArrayRef, Error};
use warpfold_cpu::rows;

use crate::device::DeviceName;

/// The operations as functions: a row has the documentation, the function here and that of the CPU, its options, and
/// the function of a GPU.
macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident = $cpu:ident, $options:ident, $gpu:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name(
            device: DeviceName,
            x: ArrayRef<'_>,
            axes: &[isize],
            options: &rows::$options<'_>,
        ) -> Result<Array, Error> {
            on!(
                device,
                cpu: rows::$cpu(x, axes, options),
                gpu: |gpu| crate::cuda::rows::$gpu(x, axes, options, &gpu),
            )
        }
    )*};
}

operations! {
    /// The softmax over some axes, as [`rows::softmax`], of a host array on the device named. [`DeviceName::Auto`] is
    /// the CPU.
    ///
    /// ```
    /// use warpfold::{ArrayRef, DeviceName, rows, softmax_on};
    ///
    /// let x = ArrayRef::flat(&[0.0f32, 0.0, -1000.0]);
    /// let y = softmax_on(DeviceName::Auto, x, &[0], &rows::Softmax::default())?;
    /// assert_eq!(y.into_vec::<f32>().unwrap(), [0.5, 0.5, 0.0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`rows::softmax`]; and if the device is not there, or fails.
    softmax_on = softmax, Softmax, softmax_host;
    /// The logarithm of the softmax, as [`rows::log_softmax`], on the device named. [`DeviceName::Auto`] is the CPU.
    ///
    /// # Errors
    /// As [`softmax_on`].
    log_softmax_on = log_softmax, Softmax, log_softmax_host;
    /// Each row over the root of its mean square, as [`rows::rms_norm`], on the device named. [`DeviceName::Auto`] is
    /// the CPU.
    ///
    /// ```
    /// use warpfold::{ArrayRef, DeviceName, rms_norm_on, rows};
    ///
    /// let x = ArrayRef::flat(&[3.0f32, -3.0]);
    /// let y = rms_norm_on(DeviceName::Auto, x, &[0], &rows::Norm { epsilon: 0.0, ..rows::Norm::default() })?;
    /// assert_eq!(y.into_vec::<f32>().unwrap(), [1.0, -1.0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`rows::rms_norm`]; and if the device is not there, or fails.
    rms_norm_on = rms_norm, Norm, rms_norm_host;
    /// Each row less its mean, over its deviation, as [`rows::layer_norm`], on the device named. [`DeviceName::Auto`]
    /// is the CPU.
    ///
    /// # Errors
    /// As [`rms_norm_on`].
    layer_norm_on = layer_norm, Norm, layer_norm_host;
}

/// Groups of channels of each sample less their mean, over their deviation, as [`rows::group_norm`], on the device
/// named. [`DeviceName::Auto`] is the CPU.
///
/// # Errors
/// As [`rows::group_norm`]; and if the device is not there, or fails.
pub fn group_norm_on(
    device: DeviceName,
    x: ArrayRef<'_>,
    groups: usize,
    options: &rows::Norm<'_>,
) -> Result<Array, Error> {
    on!(
        device,
        cpu: rows::group_norm(x, groups, options),
        gpu: |gpu| crate::cuda::rows::group_norm_host(x, groups, options, &gpu),
    )
}

/// Each channel less its mean, over its deviation, as [`rows::batch_norm`], on the device named.
/// [`DeviceName::Auto`] is the CPU.
///
/// ```
/// use warpfold::{ArrayRef, DeviceName, batch_norm_on, rows};
///
/// let x = [1.0f32, 10.0, 3.0, 30.0];
/// let x = ArrayRef::from_slice(&x, &[2, 2])?;
/// let of = batch_norm_on(DeviceName::Auto, x, 1, &rows::BatchNorm::default())?;
/// assert_eq!(of.mean.into_vec::<f32>().unwrap(), [2.0, 20.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// As [`rows::batch_norm`]; and if the device is not there, or fails.
pub fn batch_norm_on(
    device: DeviceName,
    x: ArrayRef<'_>,
    axis: isize,
    options: &rows::BatchNorm<'_>,
) -> Result<rows::BatchNormed, Error> {
    on!(
        device,
        cpu: rows::batch_norm(x, axis, options),
        gpu: |gpu| crate::cuda::rows::batch_norm_host(x, axis, options, &gpu),
    )
}
