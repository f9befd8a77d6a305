//! Every statistic of groups and segments on a GPU: one reduction for each statistic.

use super::Groups;
use crate::array::Array;
use crate::device::Device;
use crate::options::Options;
use crate::reduce::describe::each_alone;
use crate::segments::segmented::Segmented;
use crate::stream::Stream;
use crate::view::ArrayView;
use warpfold_array::ArrayRef;
use warpfold_array::KeyError;
use warpfold_array::{Error, Op};
use warpfold_core::DType;
use warpfold_cpu::keys::{Descriptions, Segments};

impl Groups {
    /// Every statistic of [`warpfold_cpu::describe()`] of each group, as [`warpfold_cpu::keys::Groups::describe`]:
    /// eight to ten reductions. Waits for them.
    ///
    /// # Errors
    /// As [`Groups::reduce`]; a group without elements, which has no least one.
    pub fn describe(&self, values: ArrayView<'_>, stream: &Stream) -> Result<Descriptions, Error> {
        let shape: Vec<usize> = [self.len()].into_iter().chain(values.shape().iter().skip(1).copied()).collect();
        let doubles = doubles(&values, stream)?;
        let stats = each_alone(values.dtype(), shape.iter().product(), |op, skip_nan| {
            let options = Options { skip_nan, ..Options::default() };
            let values = doubles.as_ref().filter(|_| is_of_floats(op)).map_or(values, Array::view);
            Ok(self.reduce(op, values, &options, None, stream)?.download(stream)?.values)
        })?;
        let counts = self.counts(stream)?.download(stream)?.into_vec::<i64>().unwrap_or_default();
        Ok(Descriptions { shape, counts, stats })
    }
}

/// Whether the op is computed in f64 for integers.
fn is_of_floats(op: Op) -> bool {
    matches!(op, Op::Std | Op::Norm)
}

/// Integers as f64: no kernel for segments converts them on the way.
fn doubles(values: &ArrayView<'_>, stream: &Stream) -> Result<Option<Array>, Error> {
    // A sum over no axis is a copy.
    let options = Options { axes: Some(vec![]), dtype: Some(DType::F64), ..Options::default() };
    let convert = || crate::reduce::once::reduce(Op::Sum, *values, &options, stream);
    (!values.dtype().is_float()).then(convert).transpose()
}

/// Every statistic of [`warpfold_cpu::describe()`] of each group of host arrays, on a GPU, as
/// [`warpfold_cpu::keys::Groups::describe`].
///
/// # Errors
/// As [`Groups::new`] and [`Groups::describe`].
pub fn describe_groups_host(
    labels: ArrayRef<'_>,
    values: ArrayRef<'_>,
    groups: Option<usize>,
    device: &Device,
) -> Result<Descriptions, Error> {
    let stream = Stream::new(device)?;
    let [by, x] = [Array::upload(&stream, labels)?, Array::upload(&stream, values)?];
    let ordered = Groups::new(by.view(), groups, &stream)?;
    match ordered.describe(x.view(), &stream) {
        // The CPU says which.
        Err(Error::Key(KeyError::SomeEmpty { .. })) => warpfold_cpu::keys::Groups::new(labels, Some(ordered.len()))?
            .describe(values, &warpfold_array::Options::default()),
        said => said,
    }
}

/// Every statistic of [`warpfold_cpu::describe()`] of each segment of a host array, on a GPU, as
/// [`Segments::describe`].
///
/// # Errors
/// As [`crate::segmented_host`]; a segment without elements, which has no least one.
pub fn describe_segments_host(
    values: ArrayRef<'_>,
    segments: &Segments,
    device: &Device,
) -> Result<Descriptions, Error> {
    segments.fits(&values, &warpfold_array::Options::default())?;
    let stream = Stream::new(device)?;
    let offsets: Vec<u64> = segments.offsets().iter().map(|&offset| offset as u64).collect();
    let offsets = Array::upload(&stream, ArrayRef::from_slice(&offsets, &[offsets.len()])?)?;
    let on_device = Array::upload(&stream, values)?;
    let shape: Vec<usize> = [segments.len()].into_iter().chain(values.shape()[1..].iter().copied()).collect();
    let doubles = doubles(&on_device.view(), &stream)?;
    let stats = each_alone(values.dtype(), shape.iter().product(), |op, skip_nan| {
        let options = Options { skip_nan, ..Options::default() };
        let x = doubles.as_ref().filter(|_| is_of_floats(op)).unwrap_or(&on_device).view();
        let reduction = Segmented::new(device, op, &x, &offsets.view(), &options, None)?;
        let mut out = reduction.output()?;
        reduction.run(&stream, x, offsets.view(), &mut out)?;
        Ok(out.download(&stream)?.values)
    });
    match stats {
        // The CPU says which.
        Err(Error::Key(KeyError::SomeEmpty { .. })) => segments.describe(values, &warpfold_array::Options::default()),
        stats => Ok(Descriptions { shape, counts: segments.counts(), stats: stats? }),
    }
}
