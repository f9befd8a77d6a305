//! Norms of channels in one call, and of arrays in the host's memory.

use warpfold_array::{ArrayRef, Error};
use warpfold_cpu::rows as cpu;

use super::map::{ChannelAddresses, ChannelArrays, ChannelMap, halves};
use crate::array::Array;
use crate::device::Device;
use crate::rows::options::{BatchNorm, BatchNormed, Norm, NormGradients};
use crate::stream::Stream;
use crate::view::ArrayView;

/// The group norm of an array whose axis 0 has samples and axis 1 channels: as [`warpfold_cpu::rows::group_norm`]. The
/// work is queued.
///
/// # Errors
/// As [`warpfold_cpu::rows::group_norm`]; arrays of another device; what the driver says.
pub fn group_norm(x: ArrayView<'_>, groups: usize, options: &Norm<'_>, stream: &Stream) -> Result<Array, Error> {
    let map = ChannelMap::group_norm(&stream.device(), &x, None, groups, options)?;
    let (out, &Norm { weight, bias, .. }) = (map.output()?, options);
    let to = ChannelAddresses { x: out.address(), ..ChannelAddresses::default() };
    // SAFETY: the array has the dtype and the shape of the result, and stays until the device is done with it.
    unsafe { map.run_into(stream, x, &ChannelArrays { weight, bias, ..ChannelArrays::default() }, &to) }?;
    Ok(out)
}

/// The same, and beside it what [`Norm::noted`] takes: the means and then the variances of all groups of each sample.
/// The work is queued.
///
/// # Errors
/// As [`group_norm`].
pub fn group_norm_noted(
    x: ArrayView<'_>,
    groups: usize,
    options: &Norm<'_>,
    stream: &Stream,
) -> Result<[Array; 2], Error> {
    let (device, &Norm { weight, bias, .. }) = (stream.device(), options);
    let map = ChannelMap::group_norm(&device, &x, None, groups, options)?;
    let shape = [2, x.shape()[0], groups];
    let (out, noted) = (map.output()?, Array::new(&device, map.dtype_of_statistics(), &shape)?);
    let half = (shape[1] * groups * map.dtype_of_statistics().size()) as u64;
    let (mean, variance) = (noted.address(), noted.address() + half);
    let to = ChannelAddresses { x: out.address(), mean, variance, ..ChannelAddresses::default() };
    // SAFETY: as in `group_norm`; both halves of what is noted have the statistics' shape.
    unsafe { map.run_into(stream, x, &ChannelArrays { weight, bias, ..ChannelArrays::default() }, &to) }?;
    Ok([out, noted])
}

/// The gradients of [`group_norm`]: as [`warpfold_cpu::rows::group_norm_backward`]. The work is queued.
///
/// # Errors
/// As [`group_norm`]; a gradient of another shape.
pub fn group_norm_backward(
    x: ArrayView<'_>,
    gradient: ArrayView<'_>,
    groups: usize,
    options: &Norm<'_>,
    stream: &Stream,
) -> Result<NormGradients, Error> {
    let map = ChannelMap::group_norm(&stream.device(), &x, Some(&gradient), groups, options)?;
    let &Norm { weight, bias, noted, .. } = options;
    let statistics = noted.map(|noted| halves(&noted)).transpose()?;
    gradients(&map, x, &ChannelArrays { gradient: Some(gradient), weight, bias, statistics }, stream)
}

/// Each channel, along one axis, less its mean, over its deviation: as [`warpfold_cpu::rows::batch_norm`]. The work is
/// queued.
///
/// # Errors
/// As [`warpfold_cpu::rows::batch_norm`]; arrays of another device; what the driver says.
pub fn batch_norm(
    x: ArrayView<'_>,
    axis: isize,
    options: &BatchNorm<'_>,
    stream: &Stream,
) -> Result<BatchNormed, Error> {
    let (device, &BatchNorm { weight, bias, statistics, .. }) = (stream.device(), options);
    let map = ChannelMap::batch_norm(&device, &x, None, axis, options)?;
    let of_channels = || Array::new(&device, map.dtype_of_statistics(), &[map.channels()]);
    let out = BatchNormed { y: map.output()?, mean: of_channels()?, variance: of_channels()? };
    let [x_at, mean, variance] = [&out.y, &out.mean, &out.variance].map(Array::address);
    let to = ChannelAddresses { x: x_at, mean, variance, ..ChannelAddresses::default() };
    // SAFETY: the arrays have the dtypes and shapes of the results, and stay until the device is done with them.
    unsafe { map.run_into(stream, x, &ChannelArrays { gradient: None, weight, bias, statistics }, &to) }?;
    Ok(out)
}

/// The gradients of [`batch_norm`]: as [`warpfold_cpu::rows::batch_norm_backward`]. The work is queued.
///
/// # Errors
/// As [`batch_norm`]; a gradient of another shape.
pub fn batch_norm_backward(
    x: ArrayView<'_>,
    gradient: ArrayView<'_>,
    axis: isize,
    options: &BatchNorm<'_>,
    stream: &Stream,
) -> Result<NormGradients, Error> {
    let map = ChannelMap::batch_norm(&stream.device(), &x, Some(&gradient), axis, options)?;
    let &BatchNorm { weight, bias, statistics, noted, .. } = options;
    let statistics = statistics.or(noted);
    gradients(&map, x, &ChannelArrays { gradient: Some(gradient), weight, bias, statistics }, stream)
}

fn gradients(
    map: &ChannelMap,
    x: ArrayView<'_>,
    arrays: &ChannelArrays<'_>,
    stream: &Stream,
) -> Result<NormGradients, Error> {
    let like = |array: Option<ArrayView<'_>>| {
        array.map(|array| Array::new(&stream.device(), array.dtype(), array.shape())).transpose()
    };
    let out = NormGradients { x: map.output()?, weight: like(arrays.weight)?, bias: like(arrays.bias)? };
    let [weight, bias] = [&out.weight, &out.bias].map(|array| array.as_ref().map_or(0, Array::address));
    let to = ChannelAddresses { x: out.x.address(), weight, bias, ..ChannelAddresses::default() };
    // SAFETY: the arrays have the dtypes and shapes of the results, and stay until the device is done with them.
    unsafe { map.run_into(stream, x, arrays, &to) }?;
    Ok(out)
}

/// [`group_norm`] of an array in the host's memory.
///
/// # Errors
/// As [`group_norm`].
pub fn group_norm_host(
    x: ArrayRef<'_>,
    groups: usize,
    options: &cpu::Norm<'_>,
    device: &Device,
) -> Result<warpfold_array::Array, Error> {
    let stream = Stream::new(device)?;
    let there = |array: ArrayRef<'_>| Array::upload(&stream, array);
    let (x, weight, bias) = (there(x)?, options.weight.map(there).transpose()?, options.bias.map(there).transpose()?);
    let [weight, bias] = [&weight, &bias].map(|array| array.as_ref().map(Array::view));
    let &cpu::Norm { weight_offset, epsilon, .. } = options;
    group_norm(x.view(), groups, &Norm { weight, weight_offset, bias, epsilon, noted: None }, &stream)?
        .download(&stream)
}

/// [`batch_norm`] of an array in the host's memory.
///
/// # Errors
/// As [`batch_norm`].
pub fn batch_norm_host(
    x: ArrayRef<'_>,
    axis: isize,
    options: &cpu::BatchNorm<'_>,
    device: &Device,
) -> Result<cpu::BatchNormed, Error> {
    let stream = Stream::new(device)?;
    let there = |array: ArrayRef<'_>| Array::upload(&stream, array);
    let (mean, variance) = options.statistics.unzip();
    let x = there(x)?;
    let mut others = [None, None, None, None];
    for (other, array) in others.iter_mut().zip([options.weight, options.bias, mean, variance]) {
        *other = array.map(there).transpose()?;
    }
    let [weight, bias, mean, variance] = others.each_ref().map(|array| array.as_ref().map(Array::view));
    let (statistics, epsilon) = (mean.zip(variance), options.epsilon);
    let options = BatchNorm { weight, bias, statistics, epsilon, noted: None };
    let BatchNormed { y, mean, variance } = batch_norm(x.view(), axis, &options, &stream)?;
    let [y, mean, variance] = [y, mean, variance].map(|array| array.download(&stream));
    Ok(cpu::BatchNormed { y: y?, mean: mean?, variance: variance? })
}
