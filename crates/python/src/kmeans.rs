//! k-means: what the estimator `warpfold.KMeans` calls, and the update step by itself.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use warpfold::keys::{Axes, EmptyCluster, Fit, Init, Stage};
use warpfold::{Array, ArrayRef, DType, DeviceName, Error, KMeans, Points, Value, Values};

use crate::gpu::{GpuArray, Together};
use crate::input::Input;
use crate::options::{Count, Given};
use crate::pool::{self, How};
use crate::{error, numpy};

/// Work that always goes to the package's own threads: rayon's, which k-means would take otherwise, do not survive a
/// fork.
fn run<T: Send>(py: Python<'_>, work: impl FnOnce(How<'_>) -> Result<T, Error> + Send) -> PyResult<T> {
    pool::run(py, usize::MAX, work)
}

/// The elements of an array that the estimator has made: side by side, and aligned.
fn dense<'a, T: Value>(array: &ArrayRef<'a>) -> PyResult<&'a [T]> {
    array.as_slice().ok_or_else(|| PyTypeError::new_err("centroids and weights must be dense arrays"))
}

/// Centroids as an array of the library: float64, or float32.
fn owned(x: &Bound<'_, PyAny>) -> PyResult<Array> {
    let input = Input::of(x)?;
    let array = input.layout()?;
    let values = match array.dtype() {
        DType::F64 => Values::F64(dense(&array)?.to_vec()),
        _ => Values::F32(dense(&array)?.to_vec()),
    };
    Ok(Array { shape: array.shape().to_vec(), values })
}

/// The first centroids: a name, or an array.
fn init(init: &Bound<'_, PyAny>) -> PyResult<Init> {
    if let Ok(name) = init.cast::<PyString>() {
        return match &*name.to_cow()? {
            "k-means++" => Ok(Init::PlusPlus),
            "random" => Ok(Init::Random),
            other => Err(PyValueError::new_err(format!("init must be k-means++, random or an array, not {other}"))),
        };
    }
    Ok(Init::Given(owned(init)?))
}

/// A fit: centroids, centre, labels, inertia, iterations, whether it converged. `tell` is called with the run, the
/// iteration and the inertia.
#[pyfunction]
#[pyo3(signature = (x, clusters, first, iterations, tolerance, seed, runs, keep_empty, weights, device, tell))]
#[allow(clippy::too_many_arguments)]
fn kmeans_fit<'py>(
    x: &Bound<'py, PyAny>,
    clusters: usize,
    first: &Bound<'py, PyAny>,
    iterations: usize,
    tolerance: f64,
    seed: u64,
    runs: usize,
    keep_empty: bool,
    weights: Option<&Bound<'py, PyAny>>,
    device: Option<&str>,
    tell: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    let named = Given { device, ..Given::default() }.device(py)?;
    let (on, device) = (Together::of([x], named)?, named.unwrap_or(DeviceName::Cpu));
    if weights.is_some() && (matches!(device, DeviceName::Cuda(_)) || on.is_some()) {
        let text = "sample_weight is computed on the CPU only: leave out device=, and move points on a GPU to the host";
        return Err(PyValueError::new_err(text));
    }
    let empty = if keep_empty { EmptyCluster::Keep } else { EmptyCluster::Farthest };
    let kmeans = KMeans { clusters, init: init(first)?, iterations, tolerance, seed, runs, empty, threads: None };
    let mut said: Option<PyErr> = None;
    let mut watch = |how: How<'_>, stage: Stage| {
        // Ends the work if the user has interrupted it.
        how.progress.inspect(|look| look(0));
        if let (Stage::Assigned(step), Some(tell), None) = (stage, &tell, &said) {
            let done = Python::try_attach(|py| tell.call1(py, (step.run, step.iteration, step.inertia)));
            said = done.and_then(Result::err);
        }
    };
    let fit = match &on {
        Some(on) => on.fit(&kmeans, tell.is_some(), watch)?,
        None => {
            let (input, weights) = (Input::of(x)?, weights.map(Input::of).transpose()?);
            let points = Points::new(input.layout()?, Axes::PointsFirst).map_err(|e| error::of(py, &e))?;
            let weights = weights.as_ref().map(|weights| dense::<f64>(&weights.layout()?)).transpose()?;
            run(py, |how| {
                let mut watch = |stage: Stage| watch(how, stage);
                match weights {
                    Some(weights) => kmeans.fit_weighted(&points, weights, &mut watch),
                    None => warpfold::kmeans_watched(device, &kmeans, &points, tell.is_some(), &mut watch),
                }
            })?
        }
    };
    if let Some(e) = said {
        return Err(e);
    }
    let labels = Array { shape: vec![fit.labels.len()], values: Values::I32(fit.labels) };
    let [centroids, labels] = match &on {
        Some(on) => [on.uploaded(&fit.centroids)?, on.uploaded(&labels)?],
        None => [numpy::result(py, fit.centroids)?, numpy::result(py, labels)?],
    };
    let found = (centroids, numpy::result(py, fit.centre)?, labels, fit.inertia, fit.iterations, fit.converged);
    Ok(found.into_pyobject(py)?.into_any())
}

/// A fit of which only the centroids and the centre are known.
fn known(centroids: &Bound<'_, PyAny>, centre: &Bound<'_, PyAny>) -> PyResult<Fit> {
    let (centroids, centre) = (owned(centroids)?, owned(centre)?);
    Ok(Fit { centroids, centre, labels: Vec::new(), inertia: 0.0, iterations: 0, converged: true, run: 0 })
}

/// What `work` makes of points and of a fit.
fn with_fit<T: Send>(
    x: &Bound<'_, PyAny>,
    fit: &Fit,
    work: impl FnOnce(&Fit, &Points<'_>) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let input = Input::of(x)?;
    let points = Points::new(input.layout()?, Axes::PointsFirst).map_err(|e| error::of(x.py(), &e))?;
    run(x.py(), |_| work(fit, &points))
}

/// The label of each point.
#[pyfunction]
fn kmeans_predict<'py>(
    x: &Bound<'py, PyAny>,
    centroids: &Bound<'py, PyAny>,
    centre: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let fit = known(centroids, centre)?;
    if let Some(on) = Together::of([x], None)? {
        return on.predict(&fit);
    }
    let labels = with_fit(x, &fit, Fit::predict)?;
    numpy::result(x.py(), Array { shape: vec![labels.len()], values: Values::I32(labels) })
}

/// The distance from each point to each centroid.
#[pyfunction]
fn kmeans_transform<'py>(
    x: &Bound<'py, PyAny>,
    centroids: &Bound<'py, PyAny>,
    centre: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(on) = Together::of([x], None)? {
        return on.transform(&known(centroids, centre)?);
    }
    numpy::result(x.py(), with_fit(x, &known(centroids, centre)?, Fit::transform)?)
}

/// The shape and the name of the dtype of an array on a GPU; None for all else.
#[pyfunction]
fn on_gpu<'py>(x: &Bound<'py, PyAny>) -> PyResult<Option<(Bound<'py, PyTuple>, &'static str)>> {
    let Some(array) = GpuArray::of(x)? else { return Ok(None) };
    Ok(Some((PyTuple::new(x.py(), &array.shape)?, array.dtype.name())))
}

/// An array on a GPU as one of NumPy; all else as it is.
#[pyfunction]
fn on_host<'py>(x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    match Together::of([x], None)? {
        Some(on) => numpy::result(x.py(), on.on_host()?),
        None => Ok(x.clone()),
    }
}

/// The means of clusters, and their sizes: the update step of k-means.
///
/// Sums are exact in fixed point, so no result depends on an order: coordinates are rounded to 2**-31 (float64: 2**-62)
/// of the greatest magnitude of each coordinate.
///
/// Parameters
/// ----------
/// x : array of float
///     Points, of the shape (points, coordinates). With points and labels on a GPU the means are computed there, and
///     the call waits until they are done.
/// labels : array of int
///     The cluster of each point. A point of label -1 belongs to none.
/// num_clusters : int
///     Labels are below this number.
///
/// Returns
/// -------
/// tuple of array
///     Means, (clusters, coordinates), of float64 for float64 points and of float32 for all others; NaN for a cluster
///     without points. And the number of points of each cluster, int64.
///
/// Raises
/// ------
/// TypeError, ValueError
///     For points that are no floats, or not finite; for labels that are no integers, or out of range, or not as many
///     as there are points.
///
/// Examples
/// --------
/// >>> import warpfold as wf
/// >>> means, counts = wf.centroid_update([[0.0, 1.0], [2.0, 5.0], [9.0, 9.0]], [0, 0, 1], 2)
/// >>> means
/// array([[1., 3.],
///        [9., 9.]])
/// >>> counts
/// array([2, 1])
#[pyfunction]
fn centroid_update<'py>(
    x: &Bound<'py, PyAny>,
    labels: &Bound<'py, PyAny>,
    num_clusters: Count,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    if let Some(on) = Together::of([x, labels], None)? {
        return on.centroid_update(num_clusters.0);
    }
    let (input, labels) = (Input::of(x)?, Input::of(labels)?);
    if input.mask().is_some() || labels.mask().is_some() {
        return Err(PyTypeError::new_err("points and labels with nulls are not taken: drop them first"));
    }
    let points = Points::new(input.layout()?, Axes::PointsFirst).map_err(|e| error::of(py, &e))?;
    let labels = labels.layout()?;
    let found = run(py, |_| warpfold::centroid_update(&points, labels, num_clusters.0))?;
    let counts = Array { shape: vec![found.counts.len()], values: Values::I64(found.counts) };
    let both = [input.result(py, found.means, None)?, input.result(py, counts, None)?];
    Ok(PyTuple::new(py, both)?.into_any())
}

/// Adds the functions of this file.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(kmeans_fit, module)?)?;
    module.add_function(wrap_pyfunction!(kmeans_predict, module)?)?;
    module.add_function(wrap_pyfunction!(kmeans_transform, module)?)?;
    module.add_function(wrap_pyfunction!(on_gpu, module)?)?;
    module.add_function(wrap_pyfunction!(on_host, module)?)?;
    module.add_function(wrap_pyfunction!(centroid_update, module)?)
}
