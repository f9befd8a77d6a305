//! Pooling in one call.

use warpfold_array::{ArrayRef, Error};
use warpfold_cpu::pool::{self, Pool};

use super::pooled::{MaxPool, Pooled};
use crate::array::Array;
use crate::device::Device;
use crate::stream::Stream;
use crate::view::ArrayView;

/// Runs what has one result.
fn values(pooled: &Pooled, stream: &Stream, x: ArrayView<'_>, indices: Option<ArrayView<'_>>) -> Result<Array, Error> {
    let mut out = MaxPool { values: pooled.output()?, indices: None };
    pooled.run(stream, x, indices, &mut out)?;
    Ok(out.values)
}

/// The mean of each window over the last axes: as [`warpfold_cpu::pool::avg_pool`]. The work is queued.
///
/// # Errors
/// As [`warpfold_cpu::pool::avg_pool`]; an array of another device; planes of nearly 2^31 elements and more,
/// and axes, strides between taps and windows of 2^30 elements and more; what the driver says.
pub fn avg_pool(x: ArrayView<'_>, options: &Pool<'_>, stream: &Stream) -> Result<Array, Error> {
    values(&Pooled::avg_pool(&stream.device(), &x, options)?, stream, x, None)
}

/// The gradient of the elements before [`avg_pool`]: as [`warpfold_cpu::pool::avg_pool_backward`]. The work is queued.
///
/// # Errors
/// As [`warpfold_cpu::pool::avg_pool_backward`], and as [`avg_pool`].
pub fn avg_pool_backward(
    gradient: ArrayView<'_>,
    size: &[usize],
    options: &Pool<'_>,
    stream: &Stream,
) -> Result<Array, Error> {
    values(&Pooled::avg_pool_backward(&stream.device(), &gradient, size, options)?, stream, gradient, None)
}

/// The greatest element of each window over the last axes, and where it is: as [`warpfold_cpu::pool::max_pool`]. The
/// work is queued.
///
/// # Errors
/// As [`warpfold_cpu::pool::max_pool`], and as [`avg_pool`].
pub fn max_pool(x: ArrayView<'_>, options: &Pool<'_>, indices: bool, stream: &Stream) -> Result<MaxPool, Error> {
    let pooled = Pooled::max_pool(&stream.device(), &x, options, indices)?;
    let indices = indices.then(|| pooled.output_of_indices()).transpose()?;
    let mut out = MaxPool { values: pooled.output()?, indices };
    pooled.run(stream, x, None, &mut out)?;
    Ok(out)
}

/// The gradient of the elements before [`max_pool`]: as [`warpfold_cpu::pool::max_pool_backward`], but that an index
/// beyond the axes is no error, since to find one would wait for the device: it has no gradient, as one that is not in
/// its window. The work is queued.
///
/// # Errors
/// As [`warpfold_cpu::pool::max_pool_backward`], and as [`avg_pool`].
pub fn max_pool_backward(
    gradient: ArrayView<'_>,
    indices: ArrayView<'_>,
    size: &[usize],
    options: &Pool<'_>,
    stream: &Stream,
) -> Result<Array, Error> {
    let pooled = Pooled::max_pool_backward(&stream.device(), &gradient, &indices, size, options)?;
    values(&pooled, stream, gradient, Some(indices))
}

/// [`avg_pool`] of an array in the host's memory.
///
/// # Errors
/// As [`avg_pool`].
pub fn avg_pool_host(x: ArrayRef<'_>, options: &Pool<'_>, device: &Device) -> Result<warpfold_array::Array, Error> {
    let stream = Stream::new(device)?;
    avg_pool(Array::upload(&stream, x)?.view(), options, &stream)?.download(&stream)
}

/// [`avg_pool_backward`] of an array in the host's memory.
///
/// # Errors
/// As [`avg_pool_backward`].
pub fn avg_pool_backward_host(
    gradient: ArrayRef<'_>,
    size: &[usize],
    options: &Pool<'_>,
    device: &Device,
) -> Result<warpfold_array::Array, Error> {
    let stream = Stream::new(device)?;
    avg_pool_backward(Array::upload(&stream, gradient)?.view(), size, options, &stream)?.download(&stream)
}

/// [`max_pool`] of an array in the host's memory.
///
/// # Errors
/// As [`max_pool`].
pub fn max_pool_host(
    x: ArrayRef<'_>,
    options: &Pool<'_>,
    indices: bool,
    device: &Device,
) -> Result<pool::MaxPool, Error> {
    let stream = Stream::new(device)?;
    // It stays until the results are there.
    let x = Array::upload(&stream, x)?;
    let MaxPool { values, indices } = max_pool(x.view(), options, indices, &stream)?;
    let indices = indices.map(|indices| indices.download(&stream)).transpose()?;
    Ok(pool::MaxPool { values: values.download(&stream)?, indices })
}

/// [`max_pool_backward`] of arrays in the host's memory.
///
/// # Errors
/// As [`max_pool_backward`].
pub fn max_pool_backward_host(
    gradient: ArrayRef<'_>,
    indices: ArrayRef<'_>,
    size: &[usize],
    options: &Pool<'_>,
    device: &Device,
) -> Result<warpfold_array::Array, Error> {
    let stream = Stream::new(device)?;
    let [x, places] = [Array::upload(&stream, gradient)?, Array::upload(&stream, indices)?];
    max_pool_backward(x.view(), places.view(), size, options, &stream)?.download(&stream)
}
