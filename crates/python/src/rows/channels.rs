//! Group norm and batch norm, whose weights are of channels. Docstrings that are not here are Python's, in
//! `warpfold._rows`.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use warpfold::cuda::rows::{ChannelArrays, ChannelMap};
use warpfold::cuda::{self, ArrayView};
use warpfold::rows::{self, BatchNorm, Norm};

use super::call::{Object, computed, host, layout, optional, text};
use super::norm::gradients;
use crate::gpu::{GpuChannels, OfChannels};
use crate::options::Count;
use crate::pool;

/// The options of a GPU's group norm.
fn of_groups<'a>(
    &ChannelArrays { weight, bias, .. }: &ChannelArrays<'a>,
    [epsilon, weight_offset]: [f64; 2],
    noted: Option<ArrayView<'a>>,
) -> cuda::rows::Norm<'a> {
    cuda::rows::Norm { weight, weight_offset, bias, epsilon, noted }
}

/// Those of its batch norm.
fn of_channels<'a>(
    &ChannelArrays { weight, bias, statistics, .. }: &ChannelArrays<'a>,
    epsilon: f64,
    noted: bool,
) -> cuda::rows::BatchNorm<'a> {
    let [statistics, noted] = if noted { [None, statistics] } else { [statistics, None] };
    cuda::rows::BatchNorm { weight, bias, statistics, epsilon, noted }
}

/// The results of a gradient that are wanted.
fn wanted(frozen: bool) -> [Option<OfChannels>; 3] {
    [Some(OfChannels::Elements), (!frozen).then_some(OfChannels::Weight), Some(OfChannels::Bias)]
}

/// The wanted results of group norm, if its elements are on a GPU. The numbers are `epsilon` and `weight_offset`.
fn groups_on_gpu<'py, const N: usize>(
    x: &Bound<'py, PyAny>,
    [weight, bias]: [Object<'_, 'py>; 2],
    groups: usize,
    numbers: [f64; 2],
    wanted: [Option<OfChannels>; N],
) -> PyResult<Option<[Option<Bound<'py, PyAny>>; N]>> {
    let Some(on) = GpuChannels::of("group_norm", x, [None, weight, bias, None, None])? else { return Ok(None) };
    let found = on.results(groups as isize, numbers, wanted, |device, x, arrays| {
        ChannelMap::group_norm(device, x, None, groups, &of_groups(arrays, numbers, None))
    })?;
    Ok(Some(found))
}

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
    let wanted = [Some(OfChannels::Elements)];
    if let Some([y]) = groups_on_gpu(x, [weight, bias], num_groups.0, [epsilon, weight_offset], wanted)? {
        return Ok(y.expect("it was asked for"));
    }
    let (input, weight, bias) = (host(x)?, optional(weight)?, optional(bias)?);
    let (x, weight, bias) = (input.layout()?, layout(&weight)?, layout(&bias)?);
    computed(&input, &x, |threads| {
        rows::group_norm(x, num_groups.0, &Norm { weight, weight_offset, bias, epsilon, frozen: false, threads })
    })
}

/// The same of an array on a GPU, and what its gradients take: means and variances of groups.
#[pyfunction]
fn group_norm_noted<'py>(
    x: &Bound<'py, PyAny>,
    groups: Count,
    weight: Object<'_, 'py>,
    bias: Object<'_, 'py>,
    epsilon: f64,
) -> PyResult<Bound<'py, PyTuple>> {
    let (py, wanted) = (x.py(), [OfChannels::Elements, OfChannels::Noted].map(Some));
    if let Some(found) = groups_on_gpu(x, [weight, bias], groups.0, [epsilon, 0.0], wanted)? {
        return PyTuple::new(py, found);
    }
    PyTuple::new(py, [Some(group_norm(x, groups, weight, bias, epsilon, 0.0)?), None])
}

#[pyfunction]
#[pyo3(signature = (x, gradient, groups, weight, bias, epsilon, weight_offset, frozen=false, noted=None))]
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
    noted: Object<'_, 'py>,
) -> PyResult<Bound<'py, PyTuple>> {
    if let Some(on) = GpuChannels::of("group_norm_backward", x, [Some(gradient), weight, bias, noted, None])? {
        let (numbers, noted) = ([epsilon, weight_offset], on.noted()?);
        let found = on.results(groups.0 as isize, numbers, wanted(frozen), |device, x, arrays| {
            ChannelMap::group_norm(device, x, arrays.gradient.as_ref(), groups.0, &of_groups(arrays, numbers, noted))
        })?;
        return PyTuple::new(x.py(), found);
    }
    let (input, gradient, weights, biases) = (host(x)?, host(gradient)?, optional(weight)?, optional(bias)?);
    let (x, gradient, weight, bias) = (input.layout()?, gradient.layout()?, layout(&weights)?, layout(&biases)?);
    let found = pool::run(input.py(), x.len(), |how| {
        let options = Norm { weight, weight_offset, bias, epsilon, frozen, threads: how.threads };
        rows::group_norm_backward(x, gradient, groups.0, &options)
    })?;
    gradients(&input, &weights, &biases, found)
}

/// The norm, and if they are asked for the mean and the variance of each channel.
#[pyfunction]
#[pyo3(signature = (x, weight, bias, mean, variance, axis, epsilon, statistics=true))]
#[allow(clippy::too_many_arguments)]
fn batch_norm<'py>(
    x: &Bound<'py, PyAny>,
    weight: Object<'_, 'py>,
    bias: Object<'_, 'py>,
    mean: Object<'_, 'py>,
    variance: Object<'_, 'py>,
    axis: isize,
    epsilon: f64,
    statistics: bool,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = x.py();
    if let Some(on) = GpuChannels::of("batch_norm", x, [None, weight, bias, mean, variance])? {
        let also = |result| statistics.then_some(result);
        let wanted = [Some(OfChannels::Elements), also(OfChannels::Mean), also(OfChannels::Variance)];
        let found = on.results(axis, [epsilon, 0.0], wanted, |device, x, arrays| {
            ChannelMap::batch_norm(device, x, None, axis, &of_channels(arrays, epsilon, false))
        })?;
        return PyTuple::new(py, found);
    }
    let input = host(x)?;
    let (weight, bias, mean, variance) = (optional(weight)?, optional(bias)?, optional(mean)?, optional(variance)?);
    let (x, weight, bias) = (input.layout()?, layout(&weight)?, layout(&bias)?);
    let given = layout(&mean)?.zip(layout(&variance)?);
    let found = pool::run(py, x.len(), |how| {
        rows::batch_norm(x, axis, &BatchNorm { weight, bias, statistics: given, epsilon, threads: how.threads })
    })?;
    let also = |array| statistics.then_some(array);
    let found = [Some(found.y), also(found.mean), also(found.variance)];
    let [y, mean, variance] = found.map(|array| array.map(|array| input.result(py, array, None)).transpose());
    PyTuple::new(py, [y?, mean?, variance?])
}

#[pyfunction]
#[pyo3(signature = (x, gradient, axis, epsilon, weight, bias, mean, variance, frozen=false, noted=false))]
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
    frozen: bool,
    noted: bool,
) -> PyResult<Bound<'py, PyTuple>> {
    if let Some(on) = GpuChannels::of("batch_norm_backward", x, [Some(gradient), weight, bias, mean, variance])? {
        // Statistics that were noted are planned otherwise than those that are given.
        let numbers = [epsilon, noted as u8 as f64];
        let found = on.results(axis, numbers, wanted(frozen), |device, x, arrays| {
            ChannelMap::batch_norm(device, x, arrays.gradient.as_ref(), axis, &of_channels(arrays, epsilon, noted))
        })?;
        return PyTuple::new(x.py(), found);
    }
    let (input, gradient, mean, variance) = (host(x)?, host(gradient)?, optional(mean)?, optional(variance)?);
    let (weights, biases) = (optional(weight)?, optional(bias)?);
    let (x, gradient) = (input.layout()?, gradient.layout()?);
    // What was noted on the CPU is found again.
    let statistics = layout(&mean)?.zip(layout(&variance)?).filter(|_| !noted);
    let (weight, bias) = (layout(&weights)?, layout(&biases)?);
    let found = pool::run(input.py(), x.len(), |how| {
        let options = BatchNorm { weight, bias, statistics, epsilon, threads: how.threads };
        rows::batch_norm_backward(x, gradient, axis, &options)
    })?;
    gradients(&input, &weights.filter(|_| !frozen), &biases, found)
}

/// Adds the functions of this file.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(group_norm, module)?)?;
    module.add_function(wrap_pyfunction!(group_norm_backward, module)?)?;
    module.add_function(wrap_pyfunction!(group_norm_noted, module)?)?;
    module.add_function(wrap_pyfunction!(batch_norm, module)?)?;
    module.add_function(wrap_pyfunction!(batch_norm_backward, module)?)
}
