//! Distinct values, histograms, and counts by label.

use warpfold_array::{Array, ArrayRef, Error};
use warpfold_cpu::keys::{Bins, Distinct, Histogram, Unique, bincount, histogram, unique};

use crate::device::DeviceName;

/// The distinct values of a host array on the device named, as [`crate::unique`]. [`DeviceName::Auto`] is the CPU.
///
/// ```
/// use warpfold::{ArrayRef, DeviceName, Distinct, unique_on};
///
/// let x = ArrayRef::from_slice(&[3.0f32, 1.0, 3.0], &[3])?;
/// let found = unique_on(DeviceName::Auto, x, Distinct::default())?;
/// assert_eq!(found.values.into_vec::<f32>().unwrap(), [1.0, 3.0]);
/// assert_eq!(found.counts, [1, 2]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// As [`crate::unique`]; and if the device is not there, fails, or sorts fewer elements than there are.
pub fn unique_on(device: DeviceName, array: ArrayRef<'_>, what: Distinct) -> Result<Unique, Error> {
    on!(
        device,
        cpu: unique(array, what),
        gpu: |gpu| crate::cuda::unique_host(array, what, &gpu),
    )
}

/// Counts the elements of a host array between edges on the device named, or adds up their weights, as
/// [`crate::histogram`]. [`DeviceName::Auto`] is the CPU.
///
/// ```
/// use warpfold::{ArrayRef, Bins, DeviceName, histogram_on};
///
/// let x = ArrayRef::from_slice(&[1.0f32, 2.0, 2.5, 4.0], &[4])?;
/// let found = histogram_on(DeviceName::Auto, x, &Bins::Uniform { bins: 3, range: None }, None)?;
/// assert_eq!(found.counts.into_vec::<i64>().unwrap(), [1, 2, 1]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// As [`crate::histogram`]; and if the device is not there, or fails.
pub fn histogram_on(
    device: DeviceName,
    array: ArrayRef<'_>,
    bins: &Bins,
    weights: Option<ArrayRef<'_>>,
) -> Result<Histogram, Error> {
    on!(
        device,
        cpu: histogram(array, bins, weights),
        gpu: |gpu| crate::cuda::histogram_host(array, bins, weights, &gpu),
    )
}

/// Counts each label on the device named, or adds up its weights, as [`crate::bincount`]. [`DeviceName::Auto`] is the
/// CPU.
///
/// ```
/// use warpfold::{ArrayRef, DeviceName, bincount_on};
///
/// let labels = ArrayRef::from_slice(&[2u8, 0, 2], &[3])?;
/// let counts = bincount_on(DeviceName::Auto, labels, None, 0)?;
/// assert_eq!(counts.into_vec::<i64>().unwrap(), [1, 0, 2]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// As [`crate::bincount`]; and if the device is not there, or fails.
pub fn bincount_on(
    device: DeviceName,
    labels: ArrayRef<'_>,
    weights: Option<ArrayRef<'_>>,
    least: usize,
) -> Result<Array, Error> {
    on!(
        device,
        cpu: bincount(labels, weights, least),
        gpu: |gpu| crate::cuda::bincount_host(labels, weights, least, &gpu),
    )
}
