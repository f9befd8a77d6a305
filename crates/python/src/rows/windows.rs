//! Pooling, `top_k` and `sample`. The docstrings are Python's, in `warpfold._pool`.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use warpfold::cuda::pool::Pooled;
use warpfold::pool::{self, Pool};
use warpfold::{Array, select};

use super::call::{computed, host};
use crate::gpu::{GpuArray, pooled, selected};
use crate::input::Input;
use crate::options::{self, Count};
use crate::pool::run;

/// Numbers of elements: one for each axis of a window, or one for all of them.
struct Numbers {
    given: Vec<usize>,
    for_all: bool,
}

impl Numbers {
    /// One for each of so many axes.
    fn of(self, axes: usize) -> Vec<usize> {
        if self.for_all { vec![self.given[0]; axes] } else { self.given }
    }
}

impl<'py> FromPyObject<'_, 'py> for Numbers {
    type Error = PyErr;

    fn extract(x: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let given = options::axes(&x).map_err(|_| {
            PyTypeError::new_err("numbers of elements are an integer, or a tuple of integers below 2^63")
        })?;
        let negative = |n: &isize| PyValueError::new_err(format!("numbers of elements are not negative, this is {n}"));
        let given: Result<Vec<usize>, _> = given.iter().map(|n| usize::try_from(*n).map_err(|_| negative(n))).collect();
        Ok(Self { given: given?, for_all: x.len().is_err() })
    }
}

/// Windows, as both poolings and their gradients take them.
struct Windows {
    kernel_size: Vec<usize>,
    stride: Vec<usize>,
    padding: Vec<usize>,
    dilation: Vec<usize>,
    ceil_mode: bool,
}

impl Windows {
    fn of(
        kernel_size: Numbers,
        stride: Option<Numbers>,
        padding: Numbers,
        dilation: Option<Numbers>,
        ceil_mode: bool,
    ) -> Self {
        let kernel_size = kernel_size.of(1);
        let axes = kernel_size.len();
        let each = |numbers: Option<Numbers>| numbers.map_or_else(Vec::new, |numbers| numbers.of(axes));
        Self { stride: each(stride), padding: each(Some(padding)), dilation: each(dilation), kernel_size, ceil_mode }
    }

    fn options(&self, threads: Option<usize>) -> Pool<'_> {
        let Self { kernel_size, stride, padding, dilation, ceil_mode } = self;
        Pool { kernel_size, stride, padding, dilation, ceil_mode: *ceil_mode, threads, ..Pool::default() }
    }
}

/// Two results of one kind, of which the second may be left out.
type Two<'py> = (Bound<'py, PyAny>, Option<Bound<'py, PyAny>>);

fn two<'py>(input: &Input<'py>, first: Array, second: Option<Array>) -> PyResult<Two<'py>> {
    let of = |array| input.result(input.py(), array, None);
    Ok((of(first)?, second.map(of).transpose()?))
}

#[pyfunction]
fn max_pool<'py>(
    x: &Bound<'py, PyAny>,
    kernel_size: Numbers,
    stride: Option<Numbers>,
    padding: Numbers,
    dilation: Numbers,
    ceil_mode: bool,
    return_indices: bool,
) -> PyResult<Two<'py>> {
    let windows = Windows::of(kernel_size, stride, padding, Some(dilation), ceil_mode);
    if let Some(x) = GpuArray::of(x)? {
        let options = windows.options(None);
        return pooled(("max_pool", &options, &[][..]), &x, None, return_indices, |device, x, _| {
            Pooled::max_pool(device, x, &options, return_indices)
        });
    }
    let input = host(x)?;
    let x = input.layout()?;
    let found = run(input.py(), x.len(), |how| pool::max_pool(x, &windows.options(how.threads), return_indices))?;
    two(&input, found.values, found.indices)
}

#[pyfunction]
#[allow(clippy::too_many_arguments)]
fn max_pool_backward<'py>(
    gradient: &Bound<'py, PyAny>,
    indices: &Bound<'py, PyAny>,
    size: Numbers,
    kernel_size: Numbers,
    stride: Option<Numbers>,
    padding: Numbers,
    dilation: Numbers,
    ceil_mode: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let windows = Windows::of(kernel_size, stride, padding, Some(dilation), ceil_mode);
    let size = size.of(windows.kernel_size.len());
    if let Some(gradient) = GpuArray::of(gradient)? {
        let options = windows.options(None);
        let asked = ("max_pool_backward", &options, &size[..]);
        let (found, _) = pooled(asked, &gradient, Some(indices), false, |device, gradient, indices| {
            let indices = indices.expect("they were given");
            Pooled::max_pool_backward(device, gradient, indices, &size, &options)
        })?;
        return Ok(found);
    }
    let (input, indices) = (host(gradient)?, host(indices)?);
    let (gradient, indices) = (input.layout()?, indices.layout()?);
    computed(&input, &gradient, |threads| pool::max_pool_backward(gradient, indices, &size, &windows.options(threads)))
}

/// Averages and their gradients: `size` is of the latter.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
fn avg_pool<'py>(
    x: &Bound<'py, PyAny>,
    size: Option<Numbers>,
    kernel_size: Numbers,
    stride: Option<Numbers>,
    padding: Numbers,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: Option<i64>,
) -> PyResult<Bound<'py, PyAny>> {
    let windows = Windows::of(kernel_size, stride, padding, None, ceil_mode);
    let size = size.map(|size| size.of(windows.kernel_size.len()));
    let options = |threads| Pool { count_include_pad, divisor_override, ..windows.options(threads) };
    if let Some(x) = GpuArray::of(x)? {
        let options = options(None);
        let asked = match &size {
            None => ("avg_pool", &options, &[][..]),
            Some(size) => ("avg_pool_backward", &options, &size[..]),
        };
        let (found, _) = pooled(asked, &x, None, false, |device, x, _| match &size {
            None => Pooled::avg_pool(device, x, &options),
            Some(size) => Pooled::avg_pool_backward(device, x, size, &options),
        })?;
        return Ok(found);
    }
    let input = host(x)?;
    let x = input.layout()?;
    computed(&input, &x, |threads| {
        let options = options(threads);
        match size {
            None => pool::avg_pool(x, &options),
            Some(size) => pool::avg_pool_backward(x, &size, &options),
        }
    })
}

#[pyfunction]
fn top_k<'py>(x: &Bound<'py, PyAny>, k: Count, axis: isize, largest: bool) -> PyResult<Two<'py>> {
    if let Some(x) = GpuArray::of(x)? {
        let (values, indices) = selected(&x, k.0, axis, largest)?;
        return Ok((values, Some(indices)));
    }
    let input = host(x)?;
    let x = input.layout()?;
    let found = run(input.py(), x.len(), |how| select::top_k(x, k.0, axis, largest, how.threads))?;
    two(&input, found.values, Some(found.indices))
}

#[pyfunction]
fn sample<'py>(
    logits: &Bound<'py, PyAny>,
    noise: &Bound<'py, PyAny>,
    temperature: f64,
    axis: isize,
) -> PyResult<Bound<'py, PyAny>> {
    let (input, noise) = (host(logits)?, host(noise)?);
    let (logits, noise) = (input.layout()?, noise.layout()?);
    computed(&input, &logits, |threads| select::sample(logits, noise, temperature, axis, threads))
}

/// Adds the functions of this file.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(max_pool, module)?)?;
    module.add_function(wrap_pyfunction!(max_pool_backward, module)?)?;
    module.add_function(wrap_pyfunction!(avg_pool, module)?)?;
    module.add_function(wrap_pyfunction!(top_k, module)?)?;
    module.add_function(wrap_pyfunction!(sample, module)?)
}
