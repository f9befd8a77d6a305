//! Arrays of other libraries, lent by `__dlpack__`.

use std::ptr::NonNull;

use pyo3::exceptions::{PyBufferError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use warpfold::{ArrayRef, DType, MAX_RANK};

use super::exchange::Exchange;
use super::structs::{
    CPU, CUDA, CUDA_HOST, CUDA_MANAGED, DataType, Device, DlTensor, MAJOR, Managed, PLAIN, VERSIONED, Versioned,
};
use crate::error;

/// An array that another library lends as long as this value lives. A capsule is left as it is: whoever made it frees
/// the tensor when the capsule goes.
pub struct Tensor<'py> {
    /// The capsule, or the array itself.
    keeper: Bound<'py, PyAny>,
    device: Device,
    address: usize,
    dtype: DType,
    shape: Vec<usize>,
    strides: Vec<isize>,
}

impl<'py> Tensor<'py> {
    /// Asks an object for its memory. `stream` is what the consumer queues its work on, if that is a GPU.
    ///
    /// # Errors
    /// TypeError if the object does not lend, or has another dtype; ValueError for too many axes.
    pub fn of(x: &Bound<'py, PyAny>, stream: Option<i64>) -> PyResult<Self> {
        let py = x.py();
        let arguments = PyDict::new(py);
        arguments.set_item(intern!(py, "max_version"), (1u32, 1u32))?;
        if let Some(stream) = stream {
            arguments.set_item(intern!(py, "stream"), stream)?;
        }
        let name = intern!(py, "__dlpack__");
        let capsule = match x.call_method(name, (), Some(&arguments)) {
            // A library from before versions.
            Err(e) if e.is_instance_of::<PyTypeError>(py) => {
                arguments.del_item(intern!(py, "max_version"))?;
                x.call_method(name, (), Some(&arguments))
            }
            said => said,
        };
        let capsule = capsule.map_err(|e| {
            let refused = e.is_instance_of::<PyBufferError>(py) || e.is_instance_of::<PyRuntimeError>(py);
            if refused { error::not_lent(py, &e) } else { e }
        })?;
        let tensor = lent(&capsule)?;
        // SAFETY: the capsule has the tensor, which lives as long as the capsule.
        unsafe { Self::new(&capsule, tensor.as_ref()) }
    }

    /// The memory of an object whose class exchanges in C: for the time in which the interpreter runs nothing else, if
    /// it is the host's. (A GPU's is freed in the order of the work that is queued.)
    ///
    /// # Errors
    /// As [`Tensor::of`].
    pub fn borrowed(x: &Bound<'py, PyAny>, exchange: Exchange) -> PyResult<Self> {
        let tensor = exchange.borrow(x)?;
        // SAFETY: the object, which is kept, has lent the tensor just now.
        unsafe { Self::new(x, &tensor) }
    }

    /// # Safety
    /// The tensor's lengths and strides are valid, and `keeper` keeps the memory.
    unsafe fn new(keeper: &Bound<'py, PyAny>, lent: &DlTensor) -> PyResult<Self> {
        let dtype = lent.dtype.dtype().ok_or_else(|| unknown(lent.dtype))?;
        let rank = usize::try_from(lent.rank).unwrap_or(0);
        if rank > MAX_RANK {
            return Err(error::of(keeper.py(), &warpfold::Error::RankTooHigh { rank }));
        }
        let shape: Vec<usize> = (0..rank)
            // SAFETY: a tensor has a length for each axis.
            .map(|i| usize::try_from(unsafe { *lent.shape.add(i) }))
            .collect::<Result<_, _>>()
            .map_err(|_| PyValueError::new_err("an array lent by DLPack has a negative length"))?;
        let size = dtype.size() as isize;
        let strides = if lent.strides.is_null() {
            dense(&shape, size)
        } else {
            // SAFETY: a tensor with strides has one for each axis.
            (0..rank).map(|i| unsafe { *lent.strides.add(i) } as isize * size).collect()
        };
        let address = (lent.data as usize).wrapping_add(lent.offset as usize);
        if lent.data.is_null() && !shape.contains(&0) {
            return Err(error::not_lent(keeper.py(), &PyBufferError::new_err("elements without an address")));
        }
        Ok(Self { keeper: keeper.clone(), device: lent.device, address, dtype, shape, strides })
    }

    /// The index of the GPU that has the memory; none if that is the host.
    ///
    /// # Errors
    /// TypeError for a device of another kind.
    pub fn gpu(&self) -> PyResult<Option<usize>> {
        let device = self.device;
        match device.kind {
            CPU | CUDA_HOST => Ok(None),
            CUDA | CUDA_MANAGED => Ok(Some(device.index.max(0) as usize)),
            kind => Err(PyTypeError::new_err(format!("arrays on a device of DLPack's kind {kind} are not supported"))),
        }
    }

    /// What keeps the memory, lengths, and strides in bytes.
    pub fn into_parts(self) -> (Bound<'py, PyAny>, Vec<usize>, Vec<isize>) {
        (self.keeper, self.shape, self.strides)
    }

    /// Where the element with all indices 0 is.
    pub fn address(&self) -> usize {
        self.address
    }

    pub fn dtype(&self) -> DType {
        self.dtype
    }

    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The array, which is in the host's memory.
    pub fn layout(&self) -> PyResult<ArrayRef<'_>> {
        let base = std::ptr::with_exposed_provenance(self.address);
        // SAFETY: the lender has these elements, and keeps them as long as the capsule lives, or the array. Callers
        // have seen that the memory is the host's.
        let array = unsafe { ArrayRef::from_raw(base, self.dtype, &self.shape, &self.strides) };
        array.map_err(|e| error::of(self.keeper.py(), &e))
    }
}

/// The steps of an array in C order.
pub fn dense(shape: &[usize], size: isize) -> Vec<isize> {
    let mut strides = vec![0; shape.len()];
    let mut step = size;
    for (stride, &len) in strides.iter_mut().zip(shape).rev() {
        *stride = step;
        step = step.wrapping_mul(len.max(1) as isize);
    }
    strides
}

/// The tensor in a capsule of either kind.
fn lent(capsule: &Bound<'_, PyAny>) -> PyResult<NonNull<DlTensor>> {
    let raw = capsule.as_ptr();
    // SAFETY: the object is alive; a capsule of these names has a pointer to the struct that belongs to the name.
    unsafe {
        if ffi::PyCapsule_IsValid(raw, VERSIONED.as_ptr()) != 0 {
            let managed: *mut Versioned = ffi::PyCapsule_GetPointer(raw, VERSIONED.as_ptr()).cast();
            if (*managed).major != MAJOR {
                let found = (*managed).major;
                return Err(PyTypeError::new_err(format!("DLPack of version {found} is not supported, only {MAJOR}")));
            }
            return Ok(NonNull::new_unchecked(&raw mut (*managed).tensor));
        }
        if ffi::PyCapsule_IsValid(raw, PLAIN.as_ptr()) != 0 {
            let managed: *mut Managed = ffi::PyCapsule_GetPointer(raw, PLAIN.as_ptr()).cast();
            return Ok(NonNull::new_unchecked(&raw mut (*managed).tensor));
        }
    }
    Err(PyTypeError::new_err("__dlpack__ has returned no capsule of DLPack"))
}

fn unknown(DataType { code, bits, lanes }: DataType) -> PyErr {
    let name = match code {
        0 => "int",
        1 => "uint",
        2 => "float",
        4 => "bfloat",
        5 => "complex",
        6 => "bool",
        // Of 8 bits and fewer.
        7..=17 => "float",
        _ => "of another kind, ",
    };
    let text = format!("warpfold has no dtype {name}{bits} (code {code}, {lanes} lanes of DLPack)");
    PyTypeError::new_err(text)
}
