//! Groups of equal labels.

use warpfold_array::{Array, ArrayRef, Error, Op, Options, Scalar};
use warpfold_cpu::keys::{Descriptions, Groups, group_by};

use crate::device::DeviceName;

/// The labels of a grouped computation on a device that is named at run time: one for each index of the first axis of
/// the values.
///
/// ```
/// use warpfold::{ArrayRef, DeviceName, GroupLabels, group_sizes_on};
///
/// let labels = GroupLabels::new(ArrayRef::from_slice(&[2i32, 0, 2, -1, 0], &[5])?).groups(4);
/// let sizes = group_sizes_on(DeviceName::Auto, &labels)?;
/// assert_eq!(sizes.into_vec::<i64>().unwrap(), [2, 0, 2, 0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct GroupLabels<'a> {
    array: ArrayRef<'a>,
    groups: Option<usize>,
    fill: Option<Scalar>,
}

impl<'a> GroupLabels<'a> {
    /// Labels of any integer dtype, along one axis. An element of label -1 belongs to no group.
    pub fn new(array: ArrayRef<'a>) -> Self {
        Self { array, groups: None, fill: None }
    }

    /// The number of groups. Without a call there is one more than the greatest label.
    pub fn groups(self, groups: usize) -> Self {
        Self { groups: Some(groups), ..self }
    }

    /// The result of a group that has none of its own, as [`Groups::fill`].
    ///
    /// ```
    /// use warpfold::{ArrayRef, DeviceName, GroupLabels, Op, Options, Scalar, group_by_on};
    ///
    /// let x = ArrayRef::from_slice(&[1.5f32, 2.5], &[2])?;
    /// let labels = GroupLabels::new(ArrayRef::from_slice(&[1u8, 1], &[2])?).fill(Scalar::F32(-1.0));
    /// let maxima = group_by_on(DeviceName::Auto, Op::Max, x, &labels, &Options::default())?;
    /// assert_eq!(maxima.into_vec::<f32>().unwrap(), [-1.0, 2.5]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn fill(self, x: Scalar) -> Self {
        Self { fill: Some(x), ..self }
    }

    /// The groups, sorted by the CPU.
    fn sorted(&self) -> Result<Groups, Error> {
        Ok(self.fill.into_iter().fold(Groups::new(self.array, self.groups)?, Groups::fill))
    }
}

/// Reduces each group of a host array on the device named, as [`Groups::reduce`]. [`DeviceName::Auto`] is the CPU.
///
/// A GPU takes no mask.
///
/// ```
/// use warpfold::{ArrayRef, DeviceName, GroupLabels, Op, Options, group_by_on};
///
/// let x = ArrayRef::from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0], &[5])?;
/// let labels = GroupLabels::new(ArrayRef::from_slice(&[2i32, 0, 2, -1, 0], &[5])?);
/// let sums = group_by_on(DeviceName::Auto, Op::Sum, x, &labels, &Options::default())?;
/// assert_eq!(sums.into_vec::<f32>().unwrap(), [7.0, 0.0, 4.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// As [`Groups::new`] and [`Groups::reduce`]; and if the device is not there, fails, or has no kernel for the options.
pub fn group_by_on(
    device: DeviceName,
    op: Op,
    values: ArrayRef<'_>,
    labels: &GroupLabels<'_>,
    options: &Options<'_>,
) -> Result<Array, Error> {
    let GroupLabels { array, groups, fill } = *labels;
    on!(
        device,
        cpu: match fill {
            None => group_by(op, array, values, groups, options),
            Some(_) => labels.sorted()?.reduce(op, values, options),
        },
        gpu: |gpu| crate::cuda::group_by_host(op, array, values, groups, options, fill, &gpu),
    )
}

/// The first element of each group, or the first row of `values`, on the device named, as [`Groups::first`].
/// [`DeviceName::Auto`] is the CPU.
///
/// ```
/// use warpfold::{ArrayRef, DeviceName, GroupLabels, group_first_on};
///
/// let x = ArrayRef::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[4])?;
/// let labels = GroupLabels::new(ArrayRef::from_slice(&[1u8, 0, 1, 0], &[4])?);
/// let first = group_first_on(DeviceName::Auto, x, &labels)?;
/// assert_eq!(first.into_vec::<f32>().unwrap(), [2.0, 1.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// As [`Groups::new`] and [`Groups::first`]; and if the device is not there, or fails.
pub fn group_first_on(device: DeviceName, values: ArrayRef<'_>, labels: &GroupLabels<'_>) -> Result<Array, Error> {
    end_on(device, values, labels, false)
}

/// The last element of each group, or the last row of `values`, on the device named, as [`Groups::last`].
/// [`DeviceName::Auto`] is the CPU.
///
/// ```
/// use warpfold::{ArrayRef, DeviceName, GroupLabels, group_last_on};
///
/// let x = ArrayRef::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[4])?;
/// let labels = GroupLabels::new(ArrayRef::from_slice(&[1u8, 0, 1, 0], &[4])?);
/// let last = group_last_on(DeviceName::Auto, x, &labels)?;
/// assert_eq!(last.into_vec::<f32>().unwrap(), [4.0, 3.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// As [`Groups::new`] and [`Groups::last`]; and if the device is not there, or fails.
pub fn group_last_on(device: DeviceName, values: ArrayRef<'_>, labels: &GroupLabels<'_>) -> Result<Array, Error> {
    end_on(device, values, labels, true)
}

/// The first or, if `last`, the last element of each group.
fn end_on(device: DeviceName, values: ArrayRef<'_>, labels: &GroupLabels<'_>, last: bool) -> Result<Array, Error> {
    on!(
        device,
        cpu: {
            let groups = labels.sorted()?;
            if last { groups.last(values) } else { groups.first(values) }
        },
        gpu: |gpu| {
            let GroupLabels { array, groups, fill } = *labels;
            let end = if last { crate::cuda::End::Last } else { crate::cuda::End::First };
            crate::cuda::ends_host(end, array, values, groups, fill, &gpu)
        },
    )
}

/// The number of elements of each group, an `i64` array, on the device named, as [`Groups::sizes`].
/// [`DeviceName::Auto`] is the CPU.
///
/// ```
/// use warpfold::{ArrayRef, DeviceName, GroupLabels, group_sizes_on};
///
/// let labels = GroupLabels::new(ArrayRef::from_slice(&[1u8, 0, 1], &[3])?);
/// assert_eq!(group_sizes_on(DeviceName::Auto, &labels)?.into_vec::<i64>().unwrap(), [1, 2]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// As [`Groups::new`] and [`Groups::sizes`]; and if the device is not there, or fails.
pub fn group_sizes_on(device: DeviceName, labels: &GroupLabels<'_>) -> Result<Array, Error> {
    on!(
        device,
        cpu: labels.sorted()?.sizes(),
        gpu: |gpu| {
            let stream = crate::cuda::Stream::new(&gpu)?;
            let array = crate::cuda::Array::upload(&stream, labels.array)?;
            crate::cuda::Groups::new(array.view(), labels.groups, &stream)?.counts(&stream)?.download(&stream)
        },
    )
}

/// The statistics of each group of a host array on the device named, as [`Groups::describe`]. [`DeviceName::Auto`] is
/// the CPU. Nothing is filled in: a group without elements is an error.
///
/// ```
/// use warpfold::{ArrayRef, DeviceName, GroupLabels, Scalar, describe_groups_on};
///
/// let x = ArrayRef::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[4])?;
/// let labels = GroupLabels::new(ArrayRef::from_slice(&[1u8, 0, 1, 0], &[4])?);
/// let statistics = describe_groups_on(DeviceName::Auto, x, &labels)?;
/// assert_eq!(statistics.counts, [2, 2]);
/// assert_eq!(statistics.get("mean").unwrap().get(0), Scalar::F32(3.0));
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// As [`Groups::new`] and [`Groups::describe`]; and if the device is not there, or fails.
pub fn describe_groups_on(
    device: DeviceName,
    values: ArrayRef<'_>,
    labels: &GroupLabels<'_>,
) -> Result<Descriptions, Error> {
    on!(
        device,
        cpu: Groups::new(labels.array, labels.groups)?.describe(values, &Options::default()),
        gpu: |gpu| crate::cuda::describe_groups_host(labels.array, values, labels.groups, &gpu),
    )
}
