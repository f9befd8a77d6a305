//! DLPack's table of functions for exchanges in C: a class of arrays has it as `__dlpack_c_exchange_api__`. A small
//! tensor is lent and a result given in a tenth of the time of `__dlpack__`.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;

use super::structs::{CUDA, DlTensor, MAJOR, Versioned};
use crate::error;

/// The table. Functions that are not used here have no type.
#[repr(C)]
struct Table {
    major: u32,
    minor: u32,
    _earlier: *const c_void,
    _allocate: *const c_void,
    _export: *const c_void,
    give: Option<unsafe extern "C" fn(*mut Versioned, *mut *mut ffi::PyObject) -> c_int>,
    borrow: Option<unsafe extern "C" fn(*mut ffi::PyObject, *mut DlTensor) -> c_int>,
    stream: Option<unsafe extern "C" fn(c_int, i32, *mut *mut c_void) -> c_int>,
}

/// The functions of a class.
#[derive(Clone, Copy)]
pub struct Exchange(&'static Table);

impl Exchange {
    /// The functions of an object's class, if it has them.
    pub fn of(x: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let py = x.py();
        let Some(capsule) = x.get_type().getattr_opt(intern!(py, "__dlpack_c_exchange_api__"))? else {
            return Ok(None);
        };
        let name = c"dlpack_exchange_api".as_ptr();
        // SAFETY: the capsule is alive. Its table is static in the library, as DLPack demands.
        let table = unsafe {
            if ffi::PyCapsule_IsValid(capsule.as_ptr(), name) == 0 {
                return Ok(None);
            }
            &*ffi::PyCapsule_GetPointer(capsule.as_ptr(), name).cast::<Table>()
        };
        let whole = table.major == MAJOR && table.give.is_some() && table.borrow.is_some() && table.stream.is_some();
        Ok(whole.then_some(Self(table)))
    }

    /// The tensor of an object of the class, whose lengths and strides are valid until the interpreter runs other code.
    ///
    /// # Errors
    /// TypeError if the object does not lend its memory.
    pub fn borrow(self, x: &Bound<'_, PyAny>) -> PyResult<DlTensor> {
        let mut tensor = MaybeUninit::uninit();
        let borrow = self.0.borrow.expect("`of` has seen it");
        // SAFETY: the object is of the class, and there is room for a tensor.
        match unsafe { borrow(x.as_ptr(), tensor.as_mut_ptr()) } {
            // SAFETY: the function has succeeded, so it has written the tensor.
            0 => Ok(unsafe { tensor.assume_init() }),
            _ => Err(error::not_lent(x.py(), &PyErr::fetch(x.py()))),
        }
    }

    /// The stream of a GPU that the library queues its work on at present: the driver's handle.
    pub fn stream(self, py: Python<'_>, gpu: usize) -> PyResult<usize> {
        let mut handle = std::ptr::null_mut();
        let stream = self.0.stream.expect("`of` has seen it");
        // SAFETY: there is room for a handle.
        match unsafe { stream(CUDA, gpu as i32, &raw mut handle) } {
            0 => Ok(handle.expose_provenance()),
            _ => Err(PyErr::fetch(py)),
        }
    }

    /// An array of the class that owns a tensor.
    pub fn give<'py>(self, py: Python<'py>, tensor: Box<Versioned>) -> PyResult<Bound<'py, PyAny>> {
        let mut object = std::ptr::null_mut();
        let give = self.0.give.expect("`of` has seen it");
        // SAFETY: the library takes the tensor, whatever it returns, and returns a new reference if it succeeds.
        unsafe {
            match give(Box::into_raw(tensor), &raw mut object) {
                0 => Bound::from_owned_ptr_or_err(py, object),
                _ => Err(PyErr::fetch(py)),
            }
        }
    }
}
