//! Results, lent to other libraries by `__dlpack__`.

use std::ffi::c_void;
use std::sync::Arc;

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use warpfold::{DType, Values};

use super::structs::{CPU, CUDA, DataType, Device, DlTensor, MAJOR, Managed, PLAIN, VERSIONED, Versioned};

/// What keeps the memory of a result.
#[derive(Clone)]
pub enum Owner {
    Host(Arc<Values>),
    /// The array on a GPU of that index, which `Arc` keeps, and its address.
    Gpu {
        keeper: Arc<dyn Send + Sync>,
        index: usize,
        address: u64,
    },
}

/// A result that other libraries read where it is: an object with `__dlpack__`.
#[pyclass(frozen, module = "warpfold._native")]
pub struct Exported {
    owner: Owner,
    dtype: DType,
    shape: Vec<usize>,
}

/// What a lent tensor refers to, until it is deleted.
struct Context {
    /// Lengths, then strides.
    numbers: Vec<i64>,
    _owner: Owner,
}

impl Exported {
    /// A result in C order.
    pub fn new(owner: Owner, dtype: DType, shape: Vec<usize>) -> Self {
        Self { owner, dtype, shape }
    }

    /// The result as a tensor that frees itself.
    pub fn versioned(&self) -> Box<Versioned> {
        let (tensor, context) = self.tensor();
        let (deleter, flags) = (Some(delete_versioned as unsafe extern "C" fn(_)), 0);
        Box::new(Versioned { major: MAJOR, minor: 0, context, deleter, flags, tensor })
    }

    fn device(&self) -> Device {
        match self.owner {
            Owner::Host(_) => Device { kind: CPU, index: 0 },
            Owner::Gpu { index, .. } => Device { kind: CUDA, index: index as i32 },
        }
    }

    /// The tensor, and what it refers to.
    fn tensor(&self) -> (DlTensor, *mut c_void) {
        let rank = self.shape.len();
        let mut numbers: Vec<i64> = self.shape.iter().map(|&len| len as i64).collect();
        numbers.extend(super::import::dense(&self.shape, 1).iter().map(|&stride| stride as i64));
        let data = match &self.owner {
            Owner::Host(values) => values.as_bytes().as_ptr().cast_mut().cast(),
            Owner::Gpu { address, .. } => std::ptr::without_provenance_mut(*address as usize),
        };
        let context = Box::into_raw(Box::new(Context { numbers, _owner: self.owner.clone() }));
        // SAFETY: made just now; the vector stays where it is until the deleter drops the box.
        let shape = unsafe { (*context).numbers.as_mut_ptr() };
        let tensor = DlTensor {
            data,
            device: self.device(),
            rank: rank as i32,
            dtype: DataType::of(self.dtype),
            shape,
            strides: shape.wrapping_add(rank),
            offset: 0,
        };
        (tensor, context.cast())
    }
}

#[pymethods]
impl Exported {
    /// The memory as a capsule of DLPack.
    #[pyo3(signature = (**arguments))]
    fn __dlpack__<'py>(&self, py: Python<'py>, arguments: Option<&Bound<'py, PyDict>>) -> PyResult<Bound<'py, PyAny>> {
        let get = |name: &str| match arguments {
            Some(arguments) => Ok::<_, PyErr>(arguments.get_item(name)?.filter(|value| !value.is_none())),
            None => Ok(None),
        };
        if get("copy")?.is_some_and(|copy| copy.is_truthy().unwrap_or(false)) {
            return Err(PyBufferError::new_err("a result is lent, not copied"));
        }
        if let Some(asked) = get("dl_device")? {
            let Device { kind, index } = self.device();
            if asked.extract::<(i32, i32)>()? != (kind, index) {
                return Err(PyBufferError::new_err("a result is lent on its own device only"));
            }
        }
        let versioned = match get("max_version")? {
            Some(version) => version.extract::<(u32, u32)>()?.0 >= MAJOR,
            None => false,
        };
        // SAFETY: the capsules' destructors free what no consumer has taken; consumers free what they take.
        unsafe {
            let capsule = if versioned {
                let managed = Box::into_raw(self.versioned());
                ffi::PyCapsule_New(managed.cast(), VERSIONED.as_ptr(), Some(forget_versioned))
            } else {
                let (tensor, context) = self.tensor();
                let managed = Managed { tensor, context, deleter: Some(delete_plain) };
                let managed = Box::into_raw(Box::new(managed));
                ffi::PyCapsule_New(managed.cast(), PLAIN.as_ptr(), Some(forget_plain))
            };
            Bound::from_owned_ptr_or_err(py, capsule)
        }
    }

    /// The device: DLPack's kind and the index.
    fn __dlpack_device__(&self) -> (i32, i32) {
        let Device { kind, index } = self.device();
        (kind, index)
    }
}

unsafe extern "C" fn delete_plain(managed: *mut Managed) {
    // SAFETY: made in `__dlpack__` from two boxes, deleted once.
    unsafe { drop(Box::<Context>::from_raw(Box::from_raw(managed).context.cast())) };
}

unsafe extern "C" fn delete_versioned(managed: *mut Versioned) {
    // SAFETY: made in `__dlpack__` from two boxes, deleted once.
    unsafe { drop(Box::<Context>::from_raw(Box::from_raw(managed).context.cast())) };
}

unsafe extern "C" fn forget_plain(capsule: *mut ffi::PyObject) {
    // SAFETY: a capsule of `__dlpack__`, which has its name as long as no consumer has taken the tensor.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, PLAIN.as_ptr()) != 0 {
            delete_plain(ffi::PyCapsule_GetPointer(capsule, PLAIN.as_ptr()).cast());
        }
    }
}

unsafe extern "C" fn forget_versioned(capsule: *mut ffi::PyObject) {
    // SAFETY: as above.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, VERSIONED.as_ptr()) != 0 {
            delete_versioned(ffi::PyCapsule_GetPointer(capsule, VERSIONED.as_ptr()).cast());
        }
    }
}
