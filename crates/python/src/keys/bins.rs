//! Distinct values, histograms, counts by label.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyTuple};
use warpfold::cuda::Wanted;
use warpfold::{Array, Bins, DeviceName, Distinct, Values, bincount_on, histogram_on, unique_on};

use crate::gpu::Together;
use crate::input::Input;
use crate::options::{Count, Given};
use crate::pool;

/// The distinct values, and what else is asked for: values, counts, first positions, the index of each element's value.
/// The CPU always counts.
#[pyfunction]
#[pyo3(signature = (x, first, inverse, device=None, counts=true))]
fn unique<'py>(
    x: &Bound<'py, PyAny>,
    first: bool,
    inverse: bool,
    device: Option<&str>,
    counts: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    let device = Given { device, ..Given::default() }.device(py)?;
    if let Some(on) = Together::of([x], device)? {
        return on.unique(Wanted { counts, first, inverse });
    }
    let device = device.unwrap_or(DeviceName::Cpu);
    let input = Input::of(x)?;
    if input.mask().is_some() {
        return Err(PyValueError::new_err("distinct values of an array with nulls: drop the nulls first"));
    }
    let array = input.layout()?;
    let found = pool::run(py, array.len(), |_| unique_on(device, array, Distinct { first, inverse }))?;
    let list =
        |values: Vec<i64>| input.result(py, Array { shape: vec![values.len()], values: Values::I64(values) }, None);
    let nothing = || Ok(py.None().into_bound(py));
    let parts = [
        input.result(py, found.values, None)?,
        list(found.counts)?,
        found.first.map_or_else(nothing, list)?,
        found.inverse.map_or_else(nothing, |inverse| input.result(py, inverse, None))?,
    ];
    Ok(PyTuple::new(py, parts)?.into_any())
}

/// The number of times that each label occurs, or the sum of its weights.
///
/// Parameters
/// ----------
/// x : array of int
///     Labels, along one axis; -1 is not counted.
/// weights : array, optional
///     One for each label.
/// minlength : int
///     The least number of bins.
/// device : str, optional
///     Where to compute. Arrays on a GPU are computed there, and the call waits until it is done.
///
/// Returns
/// -------
/// array
///     int64, or of the dtype of a sum of the weights.
///
/// Raises
/// ------
/// TypeError, ValueError
///     For labels that are no integers, or below -1; for another number of weights.
///
/// Examples
/// --------
/// >>> import warpfold as wf
/// >>> wf.bincount([2, 0, 2], minlength=4)
/// array([1, 0, 2, 0])
#[pyfunction]
#[pyo3(signature = (x, weights=None, minlength=Count(0), *, device=None))]
#[pyo3(text_signature = "(x, weights=None, minlength=0, *, device=None)")]
fn bincount<'py>(
    x: &Bound<'py, PyAny>,
    weights: Option<&Bound<'py, PyAny>>,
    minlength: Count,
    device: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    let device = Given { device, ..Given::default() }.device(py)?;
    if let Some(on) = Together::weighted(x, weights, device)? {
        return on.bincount(minlength.0);
    }
    let device = device.unwrap_or(DeviceName::Cpu);
    let (input, weights) = (Input::of(x)?, weights.map(Input::of).transpose()?);
    let (labels, weights) = (input.labels(x)?, weights.as_ref().map(Input::layout).transpose()?);
    let found = pool::run(py, labels.len(), |_| bincount_on(device, labels, weights, minlength.0))?;
    input.result(py, found, None)
}

/// The number of elements between edges, or the sum of their weights: a number of bins, or edges.
#[pyfunction]
#[pyo3(signature = (x, bins, range, weights, device))]
fn histogram<'py>(
    x: &Bound<'py, PyAny>,
    bins: &Bound<'py, PyAny>,
    range: Option<(f64, f64)>,
    weights: Option<&Bound<'py, PyAny>>,
    device: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    let device = Given { device, ..Given::default() }.device(py)?;
    let bins = match bins.is_instance_of::<PyInt>() {
        true => Bins::Uniform { bins: bins.extract::<Count>()?.0, range },
        false => Bins::Edges(bins.extract()?),
    };
    if let Some(on) = Together::weighted(x, weights, device)? {
        return on.histogram(&bins);
    }
    let device = device.unwrap_or(DeviceName::Cpu);
    let (input, weights) = (Input::of(x)?, weights.map(Input::of).transpose()?);
    let (array, weights) = (input.layout()?, weights.as_ref().map(Input::layout).transpose()?);
    let found = pool::run(py, array.len(), |_| histogram_on(device, array, &bins, weights))?;
    let both = [input.result(py, found.counts, None)?, input.result(py, found.edges, None)?];
    Ok(PyTuple::new(py, both)?.into_any())
}

/// Adds the functions of this file.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(unique, module)?)?;
    module.add_function(wrap_pyfunction!(bincount, module)?)?;
    module.add_function(wrap_pyfunction!(histogram, module)?)
}
