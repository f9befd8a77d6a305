//! k-means on a GPU: the update step, whole iterations, and fits. The bits are those of the CPU.

mod fit;
mod lloyd;
mod update;

use warpfold_core::DType;
use warpfold_device::kernels::keys::plan::{self, Problem};
use warpfold_device::kernels::keys::{distance, plan::Launch as Planned};

use super::launch::Launch;
use super::{Array, ArrayView, Device, Error, Options, Stream};
use crate::keys::{Axes, Points, Scale};
use crate::{ArrayRef, Op, Ord, Order};

pub(crate) use fit::fit_told;
pub use fit::{fit, fit_host};
pub use lloyd::Lloyd;
pub use update::{CentroidUpdate, centroid_update};

/// Points in a GPU's memory: how many, and where their coordinates are.
///
/// # Errors
/// What [`Points::new`] refuses; clusters and coordinates that no kernel is for.
fn problem(points: &ArrayView<'_>, axes: Axes, clusters: usize) -> Result<Problem, crate::Error> {
    let found = Points::new(*points.layout(), axes)?;
    let refuse = |why: String| Err(crate::Error::from(Error::Clusters { why }));
    if clusters == 0 || clusters > i32::MAX as usize {
        return refuse(format!("give 1 to {} clusters, not {clusters}", i32::MAX));
    }
    if found.dimensions() > distance::MOST {
        return refuse(format!("{} coordinates are more than {}: use `cpu`", found.dimensions(), distance::MOST));
    }
    Ok(crate::gpu::problem(&found, points.address(), clusters))
}

/// The scale of points in a GPU's memory: one read of them.
///
/// # Errors
/// What [`Points::new`] refuses; [`crate::KeyError::NotFinite`] of the first point with a NaN or an infinity; what the driver says.
pub fn scale(stream: &Stream, points: ArrayView<'_>, axes: Axes) -> Result<Scale, crate::Error> {
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
fn to_host(stream: &Stream, array: ArrayView<'_>) -> Result<crate::Array, crate::Error> {
    let options = Options { axes: Some(vec![]), ..Options::default() };
    super::reduce(Op::Sum, array, &options, stream)?.download(stream)
}

/// A host array, to be read.
fn seen(array: &crate::Array) -> Result<ArrayRef<'_>, crate::Error> {
    ArrayRef::from_bytes(array.values.as_bytes(), array.dtype(), &array.shape, Order::C, false)
}

/// Loads the kernel of a launch.
fn load(device: &Device, launch: &Planned) -> Result<Launch, Error> {
    let plan::Launch { entry, grid, block, params } = launch;
    Launch::of_struct(device.kernel(entry)?, *grid, *block, params)
}

/// Whether an array is of this dtype and shape, and in C order.
fn expect(what: &'static str, array: &ArrayView<'_>, dtype: DType, shape: &[usize]) -> Result<(), Error> {
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
    Err(Error::Layout { what, found, expected: format!("{dtype} {shape:?} in C order") })
}

/// What points are computed in.
fn computed(problem: &Problem) -> DType {
    if problem.dtype == DType::F64 { DType::F64 } else { DType::F32 }
}

/// Room for a mean of each cluster.
fn means(device: &Device, problem: &Problem) -> Result<Array, crate::Error> {
    Array::new(device, computed(problem), &[problem.clusters, problem.dimensions])
}
