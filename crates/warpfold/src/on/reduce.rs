//! Reductions and statistics of whole arrays.

use warpfold_array::{Array, ArrayRef, Error, Op, Options};
use warpfold_cpu::{Description, describe, reduce};

use crate::device::DeviceName;

/// Reduces a host array on the device named, as [`crate::reduce`]. [`DeviceName::Auto`] is the CPU.
///
/// ```
/// use warpfold::{ArrayRef, DeviceName, Op, Options, reduce_on};
///
/// let x = ArrayRef::from_slice(&[1.0f32, 2.0, 3.0], &[3])?;
/// let sum = reduce_on(DeviceName::Auto, Op::Sum, x, &Options::default())?;
/// assert_eq!(sum.into_vec::<f32>().unwrap(), [6.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// As [`crate::reduce`]; and if the device is not there, or fails.
pub fn reduce_on(device: DeviceName, op: Op, array: ArrayRef<'_>, options: &Options<'_>) -> Result<Array, Error> {
    on!(
        device,
        cpu: reduce(op, array, options),
        gpu: |gpu| crate::cuda::reduce_host(op, array, options, &gpu),
    )
}

/// The statistics of a host array on the device named, as [`crate::describe()`]. [`DeviceName::Auto`] is the CPU.
///
/// ```
/// use warpfold::{ArrayRef, DeviceName, Options, Scalar, describe_on};
///
/// let x = ArrayRef::from_slice(&[3i32, 4], &[2])?;
/// let statistics = describe_on(DeviceName::Auto, x, &Options::default())?;
/// assert_eq!(statistics.get("max").unwrap().get(0), Scalar::I32(4));
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// As [`crate::describe()`]; and if the device is not there, or fails.
pub fn describe_on(device: DeviceName, array: ArrayRef<'_>, options: &Options<'_>) -> Result<Description, Error> {
    on!(
        device,
        cpu: describe(array, options),
        gpu: |gpu| crate::cuda::describe_host(array, options, &gpu),
    )
}
