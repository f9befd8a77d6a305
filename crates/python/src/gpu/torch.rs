//! Tensors of PyTorch on a GPU, asked by the shortest ways that PyTorch has: a small sum takes the host no longer than
//! PyTorch's own.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};
use warpfold::DType;

use crate::dlpack::dense;
use crate::input::adapt;

/// Whether an object is a tensor of PyTorch.
pub fn is_tensor(x: &Bound<'_, PyAny>) -> PyResult<bool> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let (py, kind) = (x.py(), x.get_type());
    let class = match CLASS.get(py) {
        Some(class) => class.bind(py),
        None => {
            // Whoever has a tensor has imported PyTorch.
            let modules = py.import(intern!(py, "sys"))?.getattr(intern!(py, "modules"))?;
            let Ok(torch) = modules.get_item(intern!(py, "torch")) else { return Ok(false) };
            let class = torch.getattr(intern!(py, "Tensor"))?.cast_into::<PyType>()?;
            CLASS.get_or_init(py, || class.unbind()).bind(py)
        }
    };
    Ok(kind.is(class) || kind.is_subclass(class)?)
}

/// A new tensor in C order beside another one, which is on the GPU of that index, and its address.
pub fn empty<'py>(
    like: &Bound<'py, PyAny>,
    gpu: usize,
    shape: &[usize],
    dtype: DType,
) -> PyResult<(Bound<'py, PyAny>, u64)> {
    let py = like.py();
    let (dims, dtype) = (PyTuple::new(py, shape)?, own(py, dtype)?);
    let array = match quick(py) {
        Some((device, empty)) if device.call0()?.extract::<usize>()? == gpu => {
            empty.call1((dims, PyTuple::new(py, dense(shape, 1))?, dtype))?
        }
        _ => {
            let arguments = PyDict::new(py);
            arguments.set_item(intern!(py, "dtype"), dtype)?;
            like.call_method(intern!(py, "new_empty"), (dims,), Some(&arguments))?
        }
    };
    let address = array.call_method0(intern!(py, "data_ptr"))?.extract()?;
    Ok((array, address))
}

/// The function by which code that PyTorch has compiled makes tensors on the current device, in half the time of a
/// method, and the one that says which device that is. None in a PyTorch that has no such functions.
fn quick(py: Python<'_>) -> Option<(&Bound<'_, PyAny>, &Bound<'_, PyAny>)> {
    static FUNCTIONS: PyOnceLock<Option<[Py<PyAny>; 2]>> = PyOnceLock::new();
    let find = || {
        let torch = py.import("torch._C")?;
        let empty = torch.getattr("_dynamo")?.getattr("guards")?.getattr("_empty_strided_cuda")?;
        PyResult::Ok([torch.getattr("_cuda_getDevice")?.unbind(), empty.unbind()])
    };
    let [device, empty] = FUNCTIONS.get_or_init(py, || find().ok()).as_ref()?;
    Some((device.bind(py), empty.bind(py)))
}

/// PyTorch's name of a dtype.
fn own(py: Python<'_>, dtype: DType) -> PyResult<&Bound<'_, PyAny>> {
    static DTYPES: PyOnceLock<Vec<Py<PyAny>>> = PyOnceLock::new();
    let all = DTYPES.get_or_try_init(py, || {
        let (torch, names) = (py.import("torch")?, adapt(py)?.getattr("LONG_NAMES")?);
        let find = |dtype: DType| torch.getattr(names.get_item(dtype.name())?.extract::<&str>()?).map(Bound::unbind);
        DType::ALL.into_iter().map(find).collect::<PyResult<_>>()
    })?;
    let at = DType::ALL.into_iter().position(|other| other == dtype).expect("all are there");
    Ok(all[at].bind(py))
}

/// PyTorch's objects of streams, by the indices of GPUs and the driver's handles.
type Streams = HashMap<(usize, usize), Py<PyAny>>;

/// Has PyTorch keep the memory of a tensor until its current stream, of this handle on this GPU, has read it.
pub fn record(x: &Bound<'_, PyAny>, gpu: usize, stream: usize) -> PyResult<()> {
    static STREAMS: LazyLock<Mutex<Streams>> = LazyLock::new(Mutex::default);
    let (py, key) = (x.py(), (gpu, stream));
    let known = STREAMS.lock().unwrap_or_else(PoisonError::into_inner).get(&key).map(|stream| stream.clone_ref(py));
    let stream = match known {
        Some(stream) => stream,
        None => {
            let stream = py.import("torch.cuda")?.call_method1("current_stream", (gpu,))?.unbind();
            let mut all = STREAMS.lock().unwrap_or_else(PoisonError::into_inner);
            all.entry(key).or_insert(stream).clone_ref(py)
        }
    };
    x.call_method1(intern!(py, "record_stream"), (stream,))?;
    Ok(())
}
