//! Histograms on a GPU.

use super::{check, group_by, side_by_side, view};
use crate::array::Array;
use crate::buffer::Buffer;
use crate::device::Device;
use crate::options::Options;
use crate::plan::rows::between;
use crate::stream::Stream;
use crate::view::ArrayView;
use warpfold_array::ArrayRef;
use warpfold_array::KeyError;
use warpfold_array::{Error, Op};
use warpfold_core::DType;
use warpfold_cpu::keys::{Bins, edges};
use warpfold_kernels::group::bins::BinsAt;

/// The number of elements in each bin: as [`warpfold_cpu::keys::Histogram`].
pub struct Histogram {
    /// The counts (i64), or the sums of the weights, on the device.
    pub counts: Array,
    /// Where bins meet.
    pub edges: warpfold_array::Array,
}

/// Counts elements between edges on a GPU, as [`warpfold_cpu::keys::histogram`], with the same edges and counts. Arrays
/// lie side by side in C order. Waits until it is done, as the memory of the edges is freed then.
///
/// # Errors
/// As [`warpfold_cpu::keys::histogram`]; arrays that do not lie side by side; [`KeyError::TooMany`] from 2^30 weights
/// on; what the driver says.
pub fn histogram(
    array: ArrayView<'_>,
    bins: &Bins,
    weights: Option<ArrayView<'_>>,
    stream: &Stream,
) -> Result<Histogram, Error> {
    let n = array.shape().iter().product();
    if let Some(weights) = weights.filter(|weights| weights.shape() != array.shape()) {
        return Err(KeyError::WeightsShape { weights: weights.shape().to_vec(), array: array.shape().to_vec() }.into());
    }
    side_by_side("elements", &array)?;
    array.is_on(stream, "array")?;
    let (device, dtype) = (stream.device(), array.dtype());
    let (edges, edges_dtype) = edges(bins, dtype, n, || {
        let both =
            crate::reduce::once::reduce(Op::MinMax, array, &Options::default(), stream)?.download(stream)?.values;
        Ok((both.get(0).to_f64(), both.get(1).to_f64()))
    })?;
    let k = edges.len() - 1;
    let launch = device.ready(&between(dtype, n, &edges, device.multiprocessors()))?;
    let there = Buffer::upload(stream, &edges)?;
    let at = BinsAt { input: array.address(), edges: there.address(), ..BinsAt::default() };
    let counts = match weights {
        None => {
            let mut counts = Array::new(&device, DType::I64, &[k])?;
            counts.fill(stream, 0)?;
            // SAFETY: as many elements as were planned for, and a count for each bin; all stays until the device is
            // done with it.
            unsafe { launch.queue(stream, BinsAt { counts: counts.address(), ..at }) }?;
            counts
        }
        Some(weights) => {
            check("weights", &weights)?;
            weights.is_on(stream, "weights")?;
            let labels = Array::new(&device, DType::I32, &[n])?;
            // SAFETY: the array has as many elements as were planned for, and the labels have room for a label of each
            // element. All stay until the device is done with them.
            unsafe { launch.queue(stream, BinsAt { labels: labels.address(), ..at }) }?;
            // SAFETY: the same elements, as a list: they lie side by side.
            let weights = unsafe { view(weights.device(), weights.address(), weights.dtype(), n)? };
            group_by(Op::Sum, labels.view(), weights, Some(k), &Options::default(), stream)?
        }
    };
    let edges =
        warpfold_array::Array { shape: vec![k + 1], values: warpfold_array::Values::F64(edges).cast(edges_dtype) };
    Ok(Histogram { counts, edges })
}

/// Counts elements in bins, as [`histogram`], of host arrays.
///
/// # Errors
/// As [`histogram`].
pub fn histogram_host(
    array: ArrayRef<'_>,
    bins: &Bins,
    weights: Option<ArrayRef<'_>>,
    device: &Device,
) -> Result<warpfold_cpu::keys::Histogram, Error> {
    let stream = Stream::new(device)?;
    let x = Array::upload(&stream, array)?;
    let weights = weights.map(|weights| Array::upload(&stream, weights)).transpose()?;
    let found = histogram(x.view(), bins, weights.as_ref().map(Array::view), &stream)?;
    Ok(warpfold_cpu::keys::Histogram { counts: found.counts.download(&stream)?, edges: found.edges })
}
