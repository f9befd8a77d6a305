//! Consecutive parts of the first axis: segments between offsets, and runs of equal keys.

use warpfold_array::{Array, ArrayRef, Error, Op, Options};
use warpfold_cpu::keys::{Descriptions, Segments, reduce_by_key};

use crate::device::DeviceName;

/// Reduces each segment of a host array on the device named, as [`Segments::reduce`]. [`DeviceName::Auto`] is the CPU.
///
/// A GPU takes no mask.
///
/// ```
/// use warpfold::{ArrayRef, DeviceName, Op, Options, Segments, segmented_on};
///
/// let x = ArrayRef::from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0], &[5])?;
/// let segments = Segments::new(ArrayRef::from_slice(&[0i64, 2, 2, 5], &[4])?)?;
/// let sums = segmented_on(DeviceName::Auto, Op::Sum, x, &segments, &Options::default())?;
/// assert_eq!(sums.into_vec::<f32>().unwrap(), [3.0, 0.0, 12.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// As [`Segments::reduce`]; and if the device is not there, fails, or has no kernel for the options.
pub fn segmented_on(
    device: DeviceName,
    op: Op,
    values: ArrayRef<'_>,
    segments: &Segments,
    options: &Options<'_>,
) -> Result<Array, Error> {
    on!(
        device,
        cpu: segments.reduce(op, values, options),
        gpu: |gpu| crate::cuda::segmented_host(op, values, segments, options, &gpu),
    )
}

/// The statistics of each segment of a host array on the device named, as [`Segments::describe`]. [`DeviceName::Auto`]
/// is the CPU.
///
/// ```
/// use warpfold::{ArrayRef, DeviceName, Scalar, Segments, describe_segments_on};
///
/// let x = ArrayRef::from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0], &[5])?;
/// let segments = Segments::new(ArrayRef::from_slice(&[0i64, 2, 5], &[3])?)?;
/// let statistics = describe_segments_on(DeviceName::Auto, x, &segments)?;
/// assert_eq!(statistics.counts, [2, 3]);
/// assert_eq!(statistics.get("max").unwrap().get(1), Scalar::F32(5.0));
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// As [`Segments::describe`]; and if the device is not there, or fails.
pub fn describe_segments_on(
    device: DeviceName,
    values: ArrayRef<'_>,
    segments: &Segments,
) -> Result<Descriptions, Error> {
    on!(
        device,
        cpu: segments.describe(values, &Options::default()),
        gpu: |gpu| crate::cuda::describe_segments_host(values, segments, &gpu),
    )
}

/// Reduces each run of equal consecutive keys of a host array on the device named, as [`crate::reduce_by_key`].
/// [`DeviceName::Auto`] is the CPU.
///
/// A GPU takes no mask.
///
/// ```
/// use warpfold::{ArrayRef, DeviceName, Op, Options, reduce_by_key_on};
///
/// let keys = ArrayRef::from_slice(&[7u8, 7, 2, 7], &[4])?;
/// let x = ArrayRef::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[4])?;
/// let (keys, sums) = reduce_by_key_on(DeviceName::Auto, Op::Sum, keys, x, &Options::default())?;
/// assert_eq!(keys.into_vec::<u8>().unwrap(), [7, 2, 7]);
/// assert_eq!(sums.into_vec::<f32>().unwrap(), [3.0, 3.0, 4.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// As [`crate::reduce_by_key`]; and if the device is not there, fails, or has no kernel for the options.
pub fn reduce_by_key_on(
    device: DeviceName,
    op: Op,
    keys: ArrayRef<'_>,
    values: ArrayRef<'_>,
    options: &Options<'_>,
) -> Result<(Array, Array), Error> {
    on!(
        device,
        cpu: reduce_by_key(op, keys, values, options),
        gpu: |gpu| crate::cuda::reduce_by_key_host(op, keys, values, options, &gpu),
    )
}
