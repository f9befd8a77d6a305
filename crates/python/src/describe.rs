//! Many statistics in one read, and what a reduction will do.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use warpfold::cpu::simd::Simd;
use warpfold::cuda;
use warpfold::{Array, DeviceName, Options, describe_on};

use crate::gpu::{GpuArray, Together};
use crate::input::Input;
use crate::options::{self, Given};
use crate::reduce::mask;
use crate::{error, pool};

/// The statistics of an array: the number of elements of each slice, and each statistic by name.
#[pyfunction]
#[pyo3(signature = (x, axis, keepdims, r#where, skip_nan, device))]
fn describe<'py>(
    x: &Bound<'py, PyAny>,
    axis: Option<&Bound<'py, PyAny>>,
    keepdims: bool,
    r#where: Option<&Bound<'py, PyAny>>,
    skip_nan: bool,
    device: Option<&str>,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = x.py();
    let given = Given { axis, keepdims, r#where, device, ..Given::default() };
    let axes = axis.map(options::axes).transpose()?;
    if let Some(on) = Together::of([x], given.device(py)?)? {
        if given.r#where.is_some() {
            let text = "where= is not taken by describe on a GPU: ask for the statistics that you need one by one, or \
                        move the array to the host first (x.cpu() of PyTorch, x.get() of CuPy)";
            return Err(PyTypeError::new_err(text));
        }
        return on.describe(axes, keepdims, skip_nan);
    }
    let device = given.device(py)?.unwrap_or(DeviceName::Cpu);
    let input = Input::of(x)?;
    let array = input.layout()?;
    let mask = mask(&input, given.r#where)?;
    let mask = mask.as_ref().map(Input::layout).transpose()?;
    let found = pool::run(py, array.len(), |how| {
        let (threads, progress) = (how.threads, how.progress);
        let options = Options { axes, keepdims, mask, skip_nan, threads, progress, ..Options::default() };
        describe_on(device, array, &options)
    })?;
    let all = PyDict::new(py);
    for (name, values) in found.stats {
        all.set_item(name, input.result(py, Array { shape: found.shape.clone(), values }, axis)?)?;
    }
    let (dtype, shape) = (array.dtype().name(), PyTuple::new(py, array.shape())?);
    PyTuple::new(
        py,
        [
            found.count.into_pyobject(py)?.into_any(),
            all.into_any(),
            dtype.into_pyobject(py)?.into_any(),
            shape.into_any(),
        ],
    )
}

/// What a reduction would do, in words.
#[pyfunction]
#[pyo3(signature = (op, x, axis, keepdims, dtype, precision, device))]
fn explain<'py>(
    op: &str,
    x: &Bound<'py, PyAny>,
    axis: Option<&Bound<'py, PyAny>>,
    keepdims: bool,
    dtype: Option<&Bound<'py, PyAny>>,
    precision: Option<&str>,
    device: Option<&str>,
) -> PyResult<String> {
    let py = x.py();
    let given = Given { axis, keepdims, dtype, precision, device, ..Given::default() };
    let (op, skip_nan) = options::op(op)?;
    let gpu = |index: usize| cuda::devices().ok().and_then(|all| all.into_iter().find(|gpu| gpu.index == index));
    if let Some(array) = GpuArray::of(x)? {
        array.stays(given.device(py)?)?;
        let (options, view) = (given.options(op, array.dtype, skip_nan)?, array.view()?);
        let said = cuda::explain_view(op, view, &options, gpu(array.device).as_ref());
        return said.map(|plan| plan.to_string()).map_err(|e| error::of(py, &e));
    }
    let input = Input::of(x)?;
    let array = input.layout()?;
    let options = Options { threads: Some(pool::threads()), ..given.options(op, array.dtype(), skip_nan)? };
    let said = match given.device(py)? {
        Some(DeviceName::Cuda(index)) => {
            cuda::explain(op, array, &options, gpu(index).as_ref()).map(|plan| plan.to_string())
        }
        _ => warpfold::explain(op, array, &options).map(|plan| plan.to_string()),
    };
    said.map_err(|e| error::of(py, &e))
}

/// What `devices` says of each.
type Device = (String, String, usize, u64, Option<(u32, u32)>);

/// The devices: for each its name, a description, processors, bytes of memory (0: not known), compute capability.
#[pyfunction]
fn devices() -> Vec<Device> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut all = vec![("cpu".to_string(), format!("CPU with {}", Simd::current().name()), cores, 0, None)];
    // Without a driver there is no GPU.
    for gpu in cuda::devices().unwrap_or_default() {
        let cores = gpu.multiprocessors as usize;
        all.push((format!("cuda:{}", gpu.index), gpu.name, cores, gpu.memory_bytes, Some(gpu.capability)));
    }
    all
}

/// Adds the functions of this file.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(describe, module)?)?;
    module.add_function(wrap_pyfunction!(explain, module)?)?;
    module.add_function(wrap_pyfunction!(devices, module)?)
}
