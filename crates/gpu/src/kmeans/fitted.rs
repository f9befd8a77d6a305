//! What is computed by clusters that were found, of points in a GPU's memory: labels, and distances to all centroids.

use super::{Axes, Lloyd, scale, seen, to_host};
use crate::array::Array;
use crate::stream::Stream;
use crate::view::ArrayView;
use warpfold_array::{Error, Values};
use warpfold_core::DType;
use warpfold_cpu::keys::kmeans::most;
use warpfold_cpu::keys::{Fit, Points};

/// The nearest centroid of each point, i32, in the GPU's memory: the labels of [`Fit::predict`].
///
/// # Errors
/// As [`Fit::predict`]; what the driver says.
pub fn predict(stream: &Stream, fit: &Fit, points: ArrayView<'_>, axes: Axes) -> Result<Array, Error> {
    let found = Points::new(*points.layout(), axes)?;
    fit.fits(&found)?;
    let mut labels = Array::new(&stream.device(), DType::I32, &[found.len()])?;
    if found.is_empty() {
        return Ok(labels);
    }
    let scale = scale(stream, points, axes)?;
    let numbers = |values: &Values| (0..values.len()).map(|i| values.get(i).to_f64()).collect::<Vec<_>>();
    let (centroids, centre) = (numbers(&fit.centroids.values), numbers(&fit.centre.values));
    let most = if found.computed() == DType::F64 { most::<f64>() } else { most::<f32>() };
    scale.reaches(most, &[&centroids[..], &centre].concat())?;
    labels.fill(stream, 0xff)?;
    let centroids = Array::upload(stream, seen(&fit.centroids)?)?;
    let mut lloyd = Lloyd::new(stream, &points, axes, fit.centroids.shape[0], &scale, &centre)?;
    lloyd.assign(stream, points, &centroids, &mut labels)?;
    Ok(labels)
}

/// The distance from each point to each centroid, in the GPU's memory. The host computes the distances, from a copy of
/// the points.
///
/// # Errors
/// As [`Fit::transform`]; what the driver says.
pub fn transform(stream: &Stream, fit: &Fit, points: ArrayView<'_>, axes: Axes) -> Result<Array, Error> {
    fit.fits(&Points::new(*points.layout(), axes)?)?;
    let host = to_host(stream, points)?;
    let distances = fit.transform(&Points::new(seen(&host)?, axes)?)?;
    Array::upload(stream, seen(&distances)?)
}
