//! Errors as exceptions: TypeError, ValueError, `numpy.exceptions.AxisError`, MemoryError, and `warpfold.Error` for
//! devices and threads.

use std::any::Any;

use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use warpfold::{Error as Fault, KeyError, PoolError, RowError};
use warpfold_array::CudaError;

pyo3::create_exception!(
    warpfold,
    Error,
    PyRuntimeError,
    "A device or a thread that is not there, or failed.\n\nThe message says what to do about it."
);

/// The exception of an error.
pub fn of(py: Python<'_>, error: &Fault) -> PyErr {
    let text = error.to_string();
    match error {
        Fault::AxisOutOfRange { axis, rank } => axis_error(py, *axis, *rank),
        Fault::MaskDType { .. } | Fault::Key(KeyError::NotIntegers { .. }) => PyTypeError::new_err(text),
        Fault::Row(RowError::NotFloats { .. } | RowError::NotIntegers { .. } | RowError::NotIndices { .. }) => {
            PyTypeError::new_err(text)
        }
        Fault::Row(RowError::ResultDType { .. }) => PyTypeError::new_err(text),
        Fault::Pool(PoolError::IndexDType { .. }) => PyTypeError::new_err(text),
        Fault::Unsupported { option: "this ddof", .. } => PyValueError::new_err(text),
        Fault::Unsupported { .. } => PyTypeError::new_err(text),
        Fault::Memory { .. } | Fault::Cuda(CudaError::OutOfMemory { .. }) => PyMemoryError::new_err(text),
        Fault::Device { .. } | Fault::Cuda(_) | Fault::Emulator { .. } | Fault::Threads { .. } => Error::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

/// NumPy's error of an axis that is not there.
fn axis_error(py: Python<'_>, axis: isize, rank: usize) -> PyErr {
    static TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    match TYPE.import(py, "numpy.exceptions", "AxisError").and_then(|of| of.call1((axis, rank))) {
        Ok(error) => PyErr::from_value(error),
        Err(other) => other,
    }
}

/// The exception of an array whose library does not lend its memory. PyTorch says why in the first line of many.
pub fn not_lent(py: Python<'_>, why: &PyErr) -> PyErr {
    let said = why.value(py).to_string();
    let why = said.lines().next().unwrap_or_default();
    PyTypeError::new_err(format!("the array does not lend its memory, make a dense one of numbers first: {why}"))
}

/// The exception of a panic, which is a bug.
pub fn panicked(what: &(dyn Any + Send)) -> PyErr {
    let said = what.downcast_ref::<String>().map(String::as_str).or(what.downcast_ref::<&str>().copied());
    Error::new_err(format!("a bug in warpfold, please report it: {}", said.unwrap_or("no message")))
}
