//! Group norm and batch norm, whose weights are of channels. Docstrings that are not here are Python's, in
//! `warpfold._rows`.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use warpfold::rows::{self, BatchNorm, Norm};

use super::call::{Object, computed, host, layout, optional, text};
use super::norm::gradients;
use crate::options::Count;
use crate::pool;

#[doc = text!(
    "Each group of channels of each sample less its mean, over its deviation, as torch.nn.functional.group_norm.",
    [samples groups of_channels epsilon offset],
    "array\n    Of the shape and dtype of `x`.",
    ">>> wf.group_norm([[1.0, 3.0, 10.0, 30.0]], 2, epsilon=0)\narray([[-1.,  1., -1.,  1.]])\n"
)]
#[pyfunction]
#[pyo3(signature = (x, num_groups, weight=None, bias=None, *, epsilon=1e-5, weight_offset=0.0))]
fn group_norm<'py>(
    x: &Bound<'py, PyAny>,
    num_groups: Count,
    weight: Object<'_, 'py>,
    bias: Object<'_, 'py>,
    epsilon: f64,
    weight_offset: f64,
) -> PyResult<Bound<'py, PyAny>> {
    let (input, weight, bias) = (host(x)?, optional(weight)?, optional(bias)?);
    let (x, weight, bias) = (input.layout()?, layout(&weight)?, layout(&bias)?);
    computed(&input, &x, |threads| {
        rows::group_norm(x, num_groups.0, &Norm { weight, weight_offset, bias, epsilon, frozen: false, threads })
    })
}

#[pyfunction]
#[pyo3(signature = (x, gradient, groups, weight, bias, epsilon, weight_offset, frozen=false))]
#[allow(clippy::too_many_arguments)]
fn group_norm_backward<'py>(
    x: &Bound<'py, PyAny>,
    gradient: &Bound<'py, PyAny>,
    groups: Count,
    weight: Object<'_, 'py>,
    bias: Object<'_, 'py>,
    epsilon: f64,
    weight_offset: f64,
    frozen: bool,
) -> PyResult<Bound<'py, PyTuple>> {
    let (input, gradient, weights, biases) = (host(x)?, host(gradient)?, optional(weight)?, optional(bias)?);
    let (x, gradient, weight, bias) = (input.layout()?, gradient.layout()?, layout(&weights)?, layout(&biases)?);
    let found = pool::run(input.py(), x.len(), |how| {
        let options = Norm { weight, weight_offset, bias, epsilon, frozen, threads: how.threads };
        rows::group_norm_backward(x, gradient, groups.0, &options)
    })?;
    gradients(&input, &weights, &biases, found)
}

#[pyfunction]
#[allow(clippy::too_many_arguments)]
fn batch_norm<'py>(
    x: &Bound<'py, PyAny>,
    weight: Object<'_, 'py>,
    bias: Object<'_, 'py>,
    mean: Object<'_, 'py>,
    variance: Object<'_, 'py>,
    axis: isize,
    epsilon: f64,
) -> PyResult<Bound<'py, PyTuple>> {
    let (py, input) = (x.py(), host(x)?);
    let (weight, bias, mean, variance) = (optional(weight)?, optional(bias)?, optional(mean)?, optional(variance)?);
    let (x, weight, bias) = (input.layout()?, layout(&weight)?, layout(&bias)?);
    let statistics = layout(&mean)?.zip(layout(&variance)?);
    let found = pool::run(py, x.len(), |how| {
        rows::batch_norm(x, axis, &BatchNorm { weight, bias, statistics, epsilon, threads: how.threads })
    })?;
    let [y, mean, variance] = [found.y, found.mean, found.variance].map(|array| input.result(py, array, None));
    PyTuple::new(py, [y?, mean?, variance?])
}

#[pyfunction]
#[allow(clippy::too_many_arguments)]
fn batch_norm_backward<'py>(
    x: &Bound<'py, PyAny>,
    gradient: &Bound<'py, PyAny>,
    axis: isize,
    epsilon: f64,
    weight: Object<'_, 'py>,
    bias: Object<'_, 'py>,
    mean: Object<'_, 'py>,
    variance: Object<'_, 'py>,
) -> PyResult<Bound<'py, PyTuple>> {
    let (input, gradient, mean, variance) = (host(x)?, host(gradient)?, optional(mean)?, optional(variance)?);
    let (weights, biases) = (optional(weight)?, optional(bias)?);
    let (x, gradient, statistics) = (input.layout()?, gradient.layout()?, layout(&mean)?.zip(layout(&variance)?));
    let (weight, bias) = (layout(&weights)?, layout(&biases)?);
    let found = pool::run(input.py(), x.len(), |how| {
        let options = BatchNorm { weight, bias, statistics, epsilon, threads: how.threads };
        rows::batch_norm_backward(x, gradient, axis, &options)
    })?;
    gradients(&input, &weights, &biases, found)
}

/// Adds the functions of this file.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(group_norm, module)?)?;
    module.add_function(wrap_pyfunction!(group_norm_backward, module)?)?;
    module.add_function(wrap_pyfunction!(batch_norm, module)?)?;
    module.add_function(wrap_pyfunction!(batch_norm_backward, module)?)
}
