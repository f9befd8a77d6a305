//! Distinct values, histograms, counts by label.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use warpfold::{Array, Bins, DeviceName, Distinct, Values, bincount_on, histogram_on, unique_on};

use crate::input::Input;
use crate::options::Given;
use crate::pool;

/// The distinct values, and what else is asked for: values, counts, first positions, the index of each element's value.
#[pyfunction]
#[pyo3(signature = (x, first, inverse, device=None))]
fn unique<'py>(x: &Bound<'py, PyAny>, first: bool, inverse: bool, device: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    let device = Given { device, ..Given::default() }.device(py)?.unwrap_or(DeviceName::Cpu);
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
///     Where to compute.
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
#[pyo3(signature = (x, weights=None, minlength=0, *, device=None))]
fn bincount<'py>(
    x: &Bound<'py, PyAny>,
    weights: Option<&Bound<'py, PyAny>>,
    minlength: usize,
    device: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    let device = Given { device, ..Given::default() }.device(py)?.unwrap_or(DeviceName::Cpu);
    let (input, weights) = (Input::of(x)?, weights.map(Input::of).transpose()?);
    let (labels, weights) = (input.layout()?, weights.as_ref().map(Input::layout).transpose()?);
    let found = pool::run(py, labels.len(), |_| bincount_on(device, labels, weights, minlength))?;
    input.result(py, found, None)
}

/// The number of elements between edges, or the sum of their weights.
///
/// Parameters
/// ----------
/// x : array
///     Of any shape. NaN and what is outside of all bins is not counted.
/// bins : int or sequence of number
///     The number of bins of one width, or their edges. Edges do not decrease.
/// range : tuple of number, optional
///     The first and the last edge; by default the least and the greatest element.
/// weights : array, optional
///     Of the shape of `x`.
/// device : str, optional
///     Where to compute.
///
/// Returns
/// -------
/// tuple of array
///     Counts (int64) or sums, and the edges: those of ``numpy.histogram``, bit for bit.
///
/// Raises
/// ------
/// ValueError
///     For no bins, edges that decrease, a range that is not finite.
///
/// Examples
/// --------
/// >>> import warpfold as wf
/// >>> wf.histogram([1.0, 2.0, 2.5, 4.0], bins=3)
/// (array([1, 2, 1]), array([1., 2., 3., 4.]))
#[pyfunction]
#[pyo3(signature = (x, bins=None, range=None, weights=None, *, device=None))]
fn histogram<'py>(
    x: &Bound<'py, PyAny>,
    bins: Option<&Bound<'py, PyAny>>,
    range: Option<(f64, f64)>,
    weights: Option<&Bound<'py, PyAny>>,
    device: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    let device = Given { device, ..Given::default() }.device(py)?.unwrap_or(DeviceName::Cpu);
    let bins = match bins {
        None => Bins::Uniform { bins: 10, range },
        Some(bins) => match bins.extract::<usize>() {
            Ok(bins) => Bins::Uniform { bins, range },
            Err(_) if range.is_some() => return Err(PyValueError::new_err("give edges, or a range, not both")),
            Err(_) => Bins::Edges(edges(bins)?),
        },
    };
    let (input, weights) = (Input::of(x)?, weights.map(Input::of).transpose()?);
    let (array, weights) = (input.layout()?, weights.as_ref().map(Input::layout).transpose()?);
    let found = pool::run(py, array.len(), |_| histogram_on(device, array, &bins, weights))?;
    let both = [input.result(py, found.counts, None)?, input.result(py, found.edges, None)?];
    Ok(PyTuple::new(py, both)?.into_any())
}

fn edges(bins: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    let wrong = || PyTypeError::new_err("bins must be a number of bins, or a sequence of edges");
    let each = bins.try_iter().map_err(|_| wrong())?;
    each.map(|edge| edge?.extract().map_err(|_| wrong())).collect()
}

/// Adds the functions of this file.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(unique, module)?)?;
    module.add_function(wrap_pyfunction!(bincount, module)?)?;
    module.add_function(wrap_pyfunction!(histogram, module)?)
}
