//! NumPy's arrays: their memory as an [`ArrayRef`], and results as arrays and scalars.
//!
//! Fields are read from NumPy's own struct, since asking for an array's attributes takes longer than a small reduction.

use std::ffi::{c_int, c_long, c_void};
use std::ptr::null_mut;

use numpy::npyffi::{
    NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_CARRAY, NPY_TYPES, NpyTypes, PY_ARRAY_API, PyArray_Descr, PyArrayObject,
    get_type_object,
};
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use warpfold::{Array, ArrayRef, DType, Scalar, Values};

use crate::error;

/// Whether an object is an array of NumPy, of that very class.
pub fn is_exact(x: &Bound<'_, PyAny>) -> bool {
    // SAFETY: the type is NumPy's own, and only compared.
    unsafe { ffi::Py_TYPE(x.as_ptr()) == get_type_object(x.py(), NpyTypes::PyArray_Type) }
}

/// Whether an object is an array of NumPy, or of a class derived from it.
pub fn is_array(x: &Bound<'_, PyAny>) -> bool {
    // SAFETY: the type is NumPy's own.
    unsafe { ffi::PyObject_TypeCheck(x.as_ptr(), get_type_object(x.py(), NpyTypes::PyArray_Type)) != 0 }
}

/// The memory of an array of NumPy.
///
/// The array must outlive the layout, and must keep its memory: callers hold the object for as long.
///
/// # Errors
/// TypeError for a dtype that Warpfold does not have; ValueError for too many axes.
pub fn layout<'a>(x: &'a Bound<'_, PyAny>) -> PyResult<ArrayRef<'a>> {
    debug_assert!(is_array(x));
    // SAFETY: an array of NumPy begins with these fields.
    let fields = unsafe { &(*x.as_ptr().cast::<PyArrayObject>()).fields };
    let (dtype, swapped) = dtype(x.py(), fields.descr)?;
    let rank = fields.nd as usize;
    let (shape, strides): (&[usize], &[isize]) = match rank {
        0 => (&[], &[]),
        // SAFETY: there are `rank` lengths, none negative, and as many strides; both have a machine word's size.
        _ => unsafe {
            (
                std::slice::from_raw_parts(fields.dimensions.cast(), rank),
                std::slice::from_raw_parts(fields.strides.cast(), rank),
            )
        },
    };
    // SAFETY: the array has these elements, and the caller keeps it. If a thread writes meanwhile, the numbers are
    // unspecified, as with NumPy.
    let array = unsafe { ArrayRef::from_raw(fields.data.cast(), dtype, shape, strides) };
    let array = array.map_err(|e| error::of(x.py(), &e))?;
    Ok(array.with_bytes_swapped(swapped))
}

/// Whether the elements lie side by side in C order.
pub fn is_dense(x: &Bound<'_, PyAny>) -> bool {
    // SAFETY: an array of NumPy begins with these fields.
    unsafe { (*x.as_ptr().cast::<PyArrayObject>()).fields.flags & NPY_ARRAY_C_CONTIGUOUS != 0 }
}

/// The dtype of a descriptor, and whether its bytes are swapped.
fn dtype(py: Python<'_>, descr: *mut PyArray_Descr) -> PyResult<(DType, bool)> {
    // SAFETY: an array's descriptor begins with these fields.
    let fields = unsafe { &(*descr).fields };
    let foreign = if cfg!(target_endian = "little") { b'>' } else { b'<' };
    let swapped = fields.byteorder as u8 == foreign;
    let long = size_of::<c_long>() == 8;
    let dtype = match fields.type_num {
        0 => DType::Bool,
        1 => DType::I8,
        2 => DType::U8,
        3 => DType::I16,
        4 => DType::U16,
        5 => DType::I32,
        6 => DType::U32,
        7 if long => DType::I64,
        7 => DType::I32,
        8 if long => DType::U64,
        8 => DType::U32,
        9 => DType::I64,
        10 => DType::U64,
        11 => DType::F32,
        12 => DType::F64,
        23 => DType::F16,
        number if number >= 256 && number == bfloat16_number(py, descr)? => DType::BF16,
        _ => {
            // SAFETY: a descriptor is an object, which the array holds.
            let descr = unsafe { Bound::from_borrowed_ptr(py, descr.cast()) };
            return Err(unknown(&descr));
        }
    };
    Ok((dtype, swapped))
}

/// The error of a dtype that Warpfold does not have.
fn unknown(descr: &Bound<'_, PyAny>) -> PyErr {
    let name = descr.str().map_or_else(|_| "?".into(), |name| name.to_string());
    let why = match name.as_str() {
        "object" => "convert the elements to numbers first, as by x.astype(float)",
        name if name.starts_with("complex") => "reduce x.real and x.imag by themselves",
        name if name.starts_with("datetime") || name.starts_with("timedelta") => "reduce x.view('i8')",
        _ => "it has bool, integers, float16, bfloat16, float32 and float64",
    };
    PyTypeError::new_err(format!("warpfold has no dtype {name}: {why}"))
}

/// The number that NumPy has given to the dtype of `descr` if that is ml_dtypes' bfloat16; else -1.
fn bfloat16_number(py: Python<'_>, descr: *mut PyArray_Descr) -> PyResult<c_int> {
    static NUMBER: PyOnceLock<c_int> = PyOnceLock::new();
    if let Some(&number) = NUMBER.get(py) {
        return Ok(number);
    }
    // SAFETY: a descriptor is an object, which its array holds.
    let object = unsafe { Bound::from_borrowed_ptr(py, descr.cast()) };
    if object.str()?.to_cow()? != "bfloat16" {
        return Ok(-1);
    }
    // SAFETY: as above.
    Ok(*NUMBER.get_or_init(py, || unsafe { (*descr).fields.type_num }))
}

/// The descriptor of a dtype: a new reference.
fn descriptor(py: Python<'_>, dtype: DType) -> PyResult<*mut PyArray_Descr> {
    let number = match dtype {
        DType::Bool => NPY_TYPES::NPY_BOOL,
        DType::I8 => NPY_TYPES::NPY_BYTE,
        DType::I16 => NPY_TYPES::NPY_SHORT,
        DType::I32 => NPY_TYPES::NPY_INT,
        DType::I64 if size_of::<c_long>() == 8 => NPY_TYPES::NPY_LONG,
        DType::I64 => NPY_TYPES::NPY_LONGLONG,
        DType::U8 => NPY_TYPES::NPY_UBYTE,
        DType::U16 => NPY_TYPES::NPY_USHORT,
        DType::U32 => NPY_TYPES::NPY_UINT,
        DType::U64 if size_of::<c_long>() == 8 => NPY_TYPES::NPY_ULONG,
        DType::U64 => NPY_TYPES::NPY_ULONGLONG,
        DType::F16 => NPY_TYPES::NPY_HALF,
        DType::F32 => NPY_TYPES::NPY_FLOAT,
        DType::F64 => NPY_TYPES::NPY_DOUBLE,
        DType::BF16 => return Ok(bfloat16(py)?.into_ptr().cast()),
    };
    // SAFETY: a number of NumPy's own.
    Ok(unsafe { PY_ARRAY_API.PyArray_DescrFromType(py, number as c_int) })
}

/// ml_dtypes' bfloat16, as NumPy has none of its own.
fn bfloat16(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let module = py.import("ml_dtypes").map_err(|_| {
        PyTypeError::new_err("NumPy has no bfloat16: install ml_dtypes, or ask for another dtype with dtype=")
    })?;
    py.import("numpy")?.call_method1("dtype", (module.getattr("bfloat16")?,))
}

/// What holds the memory of a result that NumPy reads.
#[pyclass(frozen, module = "warpfold._native")]
struct Memory(#[allow(dead_code, reason = "keeps the memory")] Values);

/// Results of at most so many bytes are copied into memory of NumPy's, which takes less time than an owner.
const COPIED: usize = 1 << 14;

/// A result as an array of NumPy; without axes, as a scalar.
pub fn result(py: Python<'_>, array: Array) -> PyResult<Bound<'_, PyAny>> {
    match array.shape[..] {
        [] => scalar(py, &array.values),
        _ => self::array(py, array),
    }
}

/// The first element, as a scalar of NumPy.
fn scalar<'py>(py: Python<'py>, values: &Values) -> PyResult<Bound<'py, PyAny>> {
    scalar_of(py, values.dtype(), values.as_bytes())
}

/// The bits of one element, as a scalar of NumPy of a dtype of their size.
pub fn element(py: Python<'_>, x: Scalar, dtype: DType) -> PyResult<Bound<'_, PyAny>> {
    debug_assert_eq!(x.dtype().size(), dtype.size());
    let bits = x.bits().0.to_ne_bytes();
    let from = if cfg!(target_endian = "little") { 0 } else { bits.len() - dtype.size() };
    scalar_of(py, dtype, &bits[from..])
}

/// One element in memory, as a scalar of NumPy.
fn scalar_of<'py>(py: Python<'py>, dtype: DType, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    assert!(bytes.len() >= dtype.size(), "there is an element");
    let descr = descriptor(py, dtype)?;
    // SAFETY: there is an element of the descriptor's dtype at the address, which NumPy copies. The reference to the
    // descriptor is this function's.
    unsafe {
        let scalar = PY_ARRAY_API.PyArray_Scalar(py, bytes.as_ptr().cast_mut().cast(), descr, null_mut());
        ffi::Py_DECREF(descr.cast());
        Bound::from_owned_ptr_or_err(py, scalar)
    }
}

/// A result as an array of NumPy, in the memory that it has already if there is much of it.
fn array(py: Python<'_>, Array { shape, values }: Array) -> PyResult<Bound<'_, PyAny>> {
    let bytes = values.as_bytes();
    let (data, len) = (bytes.as_ptr(), bytes.len());
    if len <= COPIED {
        let array = new(py, values.dtype(), &shape, null_mut())?;
        // SAFETY: NumPy has made room for the elements of this shape and dtype, of which `values` has as many.
        unsafe {
            let to = (*array.as_ptr().cast::<PyArrayObject>()).fields.data;
            std::ptr::copy_nonoverlapping(data, to.cast(), len);
        }
        return Ok(array);
    }
    let dtype = values.dtype();
    let owner = Bound::new(py, Memory(values))?;
    // The elements of a `Values` stay where they are when it moves.
    let array = new(py, dtype, &shape, data.cast_mut().cast())?;
    // SAFETY: the array has no base yet; the call takes the reference to the owner.
    match unsafe { PY_ARRAY_API.PyArray_SetBaseObject(py, array.as_ptr().cast(), owner.into_any().into_ptr()) } {
        0 => Ok(array),
        _ => Err(PyErr::fetch(py)),
    }
}

/// Writes a result to an array of NumPy of the same shape and dtype whose elements lie side by side. Returns whether
/// `out` is one: else nothing is written.
///
/// All elements have been read by then, so `out` may be memory of the array that was reduced.
pub fn fill(out: &Bound<'_, PyAny>, result: &Array) -> bool {
    if !is_exact(out) {
        return false;
    }
    // SAFETY: an array of NumPy begins with these fields.
    let flags = unsafe { (*out.as_ptr().cast::<PyArrayObject>()).fields.flags };
    if flags & NPY_ARRAY_CARRAY != NPY_ARRAY_CARRAY {
        return false;
    }
    let Ok(array) = layout(out) else { return false };
    let same = array.dtype() == result.values.dtype() && array.shape() == result.shape && !array.is_swapped();
    if same {
        let bytes = result.values.as_bytes();
        // SAFETY: `out` is writable, and has room for as many elements of the dtype side by side.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), array.base().cast_mut(), bytes.len()) };
    }
    same
}

/// A new array in C order, at an address, or in memory of NumPy's if that is null.
fn new<'py>(py: Python<'py>, dtype: DType, shape: &[usize], data: *mut c_void) -> PyResult<Bound<'py, PyAny>> {
    let descr = descriptor(py, dtype)?;
    let flags = if data.is_null() { 0 } else { NPY_ARRAY_CARRAY };
    // SAFETY: the call takes the reference to the descriptor. Lengths have a machine word's size. The caller owns the
    // memory at the address.
    unsafe {
        let array = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            get_type_object(py, NpyTypes::PyArray_Type),
            descr,
            shape.len() as c_int,
            shape.as_ptr().cast_mut().cast(),
            null_mut(),
            data,
            flags,
            null_mut(),
        );
        Bound::from_owned_ptr_or_err(py, array)
    }
}
