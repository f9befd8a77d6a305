//! How often each label occurs, or the sum of its weights, on a GPU.

use super::{count_groups, group_by};
use crate::array::Array;
use crate::device::Device;
use crate::options::Options;
use crate::plan::rows::of_labels;
use crate::stream::Stream;
use crate::view::ArrayView;
use warpfold_array::ArrayRef;
use warpfold_array::KeyError;
use warpfold_array::{Error, Op};
use warpfold_core::DType;
use warpfold_kernels::group::bins::BinsAt;

/// How often each label occurs, or the sum of its `weights`, as [`warpfold_cpu::keys::bincount`]: -1 is not counted,
/// and there are at least `least` bins. Waits for the greatest label, and for sums of weights; counting is queued.
///
/// # Errors
/// As [`super::Groups::new`] and [`super::Grouped::new`]; weights of another shape than labels.
pub fn bincount(
    labels: ArrayView<'_>,
    weights: Option<ArrayView<'_>>,
    least: usize,
    stream: &Stream,
) -> Result<Array, Error> {
    let bins = count_groups(labels, stream)?.max(least);
    match weights {
        None => {
            let mut counts = Array::new(&stream.device(), DType::I64, &[bins])?;
            counts.fill(stream, 0)?;
            let (device, n) = (stream.device(), labels.shape()[0]);
            let launch = device.ready(&of_labels(labels.dtype(), n, bins, device.multiprocessors()))?;
            let at = BinsAt { input: labels.address(), counts: counts.address(), ..BinsAt::default() };
            // SAFETY: as many labels as were planned for, and a count for each; all stays until the device is done with
            // it.
            unsafe { launch.queue(stream, at) }?;
            Ok(counts)
        }
        Some(weights) if weights.shape() != labels.shape() => {
            Err(KeyError::WeightsShape { weights: weights.shape().to_vec(), array: labels.shape().to_vec() }.into())
        }
        Some(weights) => group_by(Op::Sum, labels, weights, Some(bins), &Options::default(), stream),
    }
}

/// Counts labels, as [`bincount`], of host arrays.
///
/// # Errors
/// As [`bincount`].
pub fn bincount_host(
    labels: ArrayRef<'_>,
    weights: Option<ArrayRef<'_>>,
    least: usize,
    device: &Device,
) -> Result<warpfold_array::Array, Error> {
    let stream = Stream::new(device)?;
    let by = Array::upload(&stream, labels)?;
    let weights = weights.map(|weights| Array::upload(&stream, weights)).transpose()?;
    bincount(by.view(), weights.as_ref().map(Array::view), least, &stream)?.download(&stream)
}
