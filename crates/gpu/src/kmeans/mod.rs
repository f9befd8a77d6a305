//! k-means on a GPU: the update step, whole iterations, and fits. The bits are those of the CPU.

use crate::array::Array;
use crate::device::Device;
use crate::options::Options;
use crate::plan::kmeans::Problem;
use crate::stream::Stream;
use crate::view::ArrayView;
use warpfold_array::{ArrayRef, CudaError, Error, Op, Ord, Order};
use warpfold_core::DType;
use warpfold_cpu::keys::{Axes, Points, Scale};
use warpfold_kernels::kmeans::distance;
mod fit;
mod fitted;
mod lloyd;
mod update;

pub use fit::{fit, fit_host, fit_told, fit_watched};
pub use fitted::{predict, transform};
pub use lloyd::Lloyd;
pub use update::{CentroidUpdate, centroid_update};

/// The problem of points in a GPU's memory: their number, dtype and layout.
///
/// # Errors
/// What [`Points::new`] refuses; clusters and coordinates that no kernel is for.
fn problem(points: &ArrayView<'_>, axes: Axes, clusters: usize) -> Result<Problem, Error> {
    let found = Points::new(*points.layout(), axes)?;
    let refuse = |why: String| Err(Error::from(CudaError::Clusters { why }));
    if clusters == 0 || clusters > i32::MAX as usize {
        return refuse(format!("give 1 to {} clusters, not {clusters}", i32::MAX));
    }
    if found.dimensions() > distance::MOST {
        return refuse(format!("{} coordinates are more than {}: use `cpu`", found.dimensions(), distance::MOST));
    }
    let ([along, across], dtype) = (found.steps(), points.dtype());
    let (n, dimensions, address) = (found.len(), found.dimensions(), points.address());
    Ok(Problem { dtype, n, dimensions, along, across, address, clusters })
}

/// The scale of points in a GPU's memory: one read of them.
///
/// # Errors
/// What [`Points::new`] refuses; [`warpfold_array::KeyError::NotFinite`] of the first point with a NaN or an infinity;
/// what the driver says.
pub fn scale(stream: &Stream, points: ArrayView<'_>, axes: Axes) -> Result<Scale, Error> {
    let found = Points::new(*points.layout(), axes)?;
    if found.is_empty() {
        return Ok(Scale::new(found.computed(), vec![0.0; found.dimensions()]));
    }
    let options = Options { axes: Some(vec![axis(&points, axes)]), ord: Some(Ord::Inf), ..Options::default() };
    let greatest = super::reduce(Op::Norm, points, &options, stream)?.download(stream)?.values;
    let greatest: Vec<f64> = (0..greatest.len()).map(|i| greatest.get(i).to_f64()).collect();
    if greatest.iter().all(|x| x.is_finite()) {
        return Ok(Scale::new(found.computed(), greatest));
    }
    // The host says which.
    let copy = to_host(stream, points)?;
    Points::new(seen(&copy)?, axes)?.scale()
}

/// The axis along which the points lie.
fn axis(points: &ArrayView<'_>, axes: Axes) -> isize {
    if points.shape().len() == 2 && axes == Axes::CoordinatesFirst { 1 } else { 0 }
}

/// A copy in C order on the host: a sum over no axis.
fn to_host(stream: &Stream, array: ArrayView<'_>) -> Result<warpfold_array::Array, Error> {
    let options = Options { axes: Some(vec![]), ..Options::default() };
    super::reduce(Op::Sum, array, &options, stream)?.download(stream)
}

/// A host array, to be read.
fn seen(array: &warpfold_array::Array) -> Result<ArrayRef<'_>, Error> {
    ArrayRef::from_bytes(array.values.as_bytes(), array.dtype(), &array.shape, Order::C, false)
}

/// Whether an array is of this dtype and shape, and in C order.
fn expect(what: &'static str, array: &ArrayView<'_>, dtype: DType, shape: &[usize]) -> Result<(), CudaError> {
    let mut step = dtype.size() as isize;
    let mut dense = true;
    for (&len, &stride) in array.shape().iter().zip(array.strides()).rev() {
        dense &= len < 2 || stride == step;
        step *= len as isize;
    }
    if array.dtype() == dtype && array.shape() == shape && dense {
        return Ok(());
    }
    let found = format!("{} {:?} with steps of {:?} bytes", array.dtype(), array.shape(), array.strides());
    Err(CudaError::Layout { what, found, expected: format!("{dtype} {shape:?} in C order") })
}

/// The dtype in which points are computed.
fn computed(problem: &Problem) -> DType {
    if problem.dtype == DType::F64 { DType::F64 } else { DType::F32 }
}

/// Room for a mean of each cluster.
fn means(device: &Device, problem: &Problem) -> Result<Array, Error> {
    Array::new(device, computed(problem), &[problem.clusters, problem.dimensions])
}
