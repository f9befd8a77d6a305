//! The arrays of a call, of whatever library, as memory.

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyList;
use std::sync::Arc;

use warpfold::{Array, ArrayRef};

use crate::dlpack::{Exchange, Exported, Owner, Tensor};
use crate::numpy;
use crate::pool::HOLD;

/// An array of the host, held for the time of a call.
pub enum Input<'py> {
    /// An array of NumPy: the argument, or what `warpfold._adapt` has made of it.
    Numpy {
        array: Bound<'py, PyAny>,
        /// Where elements are present, of an array that knows.
        mask: Option<Bound<'py, PyAny>>,
        /// A function of the result and the axes, if the result is to be of another kind.
        wrap: Option<Bound<'py, PyAny>>,
    },
    /// An array that another library lends: `of` is the argument.
    Lent {
        tensor: Tensor<'py>,
        of: Bound<'py, PyAny>,
        /// How results are given to the library.
        exchange: Option<Exchange>,
    },
}

/// What the class of an argument says at once of its memory.
pub enum AtOnce<'py> {
    /// It is the host's: an array of NumPy, a small tensor.
    Host(Input<'py>),
    /// It is a GPU's.
    Gpu { tensor: Tensor<'py>, of: Bound<'py, PyAny>, exchange: Exchange },
    /// Nothing is known: the argument is to be asked.
    Unknown,
}

impl<'py> AtOnce<'py> {
    /// Looks at the class.
    ///
    /// # Errors
    /// As [`Input::of`].
    pub fn of(x: &Bound<'py, PyAny>) -> PyResult<Self> {
        if numpy::is_exact(x) {
            return Ok(Self::Host(Input::Numpy { array: x.clone(), mask: None, wrap: None }));
        }
        if numpy::is_array(x) {
            return Ok(Self::Unknown);
        }
        let Some(exchange) = Exchange::of(x)? else { return Ok(Self::Unknown) };
        let of = readable(x)?;
        let tensor = Tensor::borrowed(&of, exchange)?;
        if tensor.gpu()?.is_some() {
            return Ok(Self::Gpu { tensor, of, exchange });
        }
        // A larger tensor is to be kept while other code of the interpreter runs.
        let small = tensor.shape().iter().product::<usize>() <= HOLD;
        Ok(if small { Self::Host(Input::Lent { tensor, of, exchange: Some(exchange) }) } else { Self::Unknown })
    }
}

impl<'py> Input<'py> {
    /// The memory of an argument. An array on a GPU is refused.
    ///
    /// # Errors
    /// TypeError if the argument is no array of a dtype that Warpfold has.
    pub fn of(x: &Bound<'py, PyAny>) -> PyResult<Self> {
        Self::on_host(x, "an array on a GPU is not taken here")
    }

    /// [`Input::of`], with what is said of an array on a GPU.
    pub fn on_host(x: &Bound<'py, PyAny>, refusal: &str) -> PyResult<Self> {
        if let AtOnce::Host(found) = AtOnce::of(x)? {
            return Ok(found);
        }
        let py = x.py();
        if !numpy::is_array(x) && lends(x)? {
            let tensor = Tensor::of(&detached(x)?, None)?;
            if tensor.gpu()?.is_some() {
                return Err(on_a_gpu(refusal));
            }
            return Ok(Self::Lent { tensor, of: x.clone(), exchange: Exchange::of(x)? });
        }
        if !numpy::is_array(x) && !lends(x)? && x.get_type().hasattr(intern!(py, "__cuda_array_interface__"))? {
            return Err(on_a_gpu(refusal));
        }
        let made = adapt(py)?.call_method1(intern!(py, "adapt"), (x,))?;
        let (array, mask, wrap): (Bound<'py, PyAny>, Option<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>) =
            made.extract()?;
        Ok(Self::Numpy { array, mask, wrap })
    }

    /// The interpreter.
    pub fn py(&self) -> Python<'py> {
        match self {
            Self::Numpy { array, .. } => array.py(),
            Self::Lent { of, .. } => of.py(),
        }
    }

    /// The memory.
    pub fn layout(&self) -> PyResult<ArrayRef<'_>> {
        match self {
            Self::Numpy { array, .. } => numpy::layout(array),
            Self::Lent { tensor, .. } => tensor.layout(),
        }
    }

    /// Whether results are of another kind than the native module makes.
    pub fn wraps(&self) -> bool {
        matches!(self, Self::Numpy { wrap: Some(_), .. })
    }

    /// The memory of labels, of which `x` is the argument. An empty list has no dtype, and is taken as integers.
    pub fn labels(&self, x: &Bound<'_, PyAny>) -> PyResult<ArrayRef<'_>> {
        let array = self.layout()?;
        let nothing = array.shape() == [0] && x.is_instance_of::<PyList>();
        Ok(if nothing { ArrayRef::flat::<i64>(&[]) } else { array })
    }

    /// Where elements are present, of an array that knows.
    pub fn mask(&self) -> Option<&Bound<'py, PyAny>> {
        match self {
            Self::Numpy { mask, .. } => mask.as_ref(),
            Self::Lent { .. } => None,
        }
    }

    /// A result as an array of the argument's kind.
    pub fn result(
        &self,
        py: Python<'py>,
        array: Array,
        axis: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Numpy { wrap: None, .. } => numpy::result(py, array),
            Self::Numpy { wrap: Some(wrap), .. } => wrap.call1((numpy::result(py, array)?, axis)),
            Self::Lent { of, exchange, .. } => lent(of, *exchange, array),
        }
    }
}

/// The exception of an array on a GPU where only the host's are taken.
fn on_a_gpu(refusal: &str) -> PyErr {
    PyTypeError::new_err(format!("{refusal}: move it to the host first (x.cpu() of PyTorch, x.get() of CuPy)"))
}

/// The module `warpfold._adapt`.
pub fn adapt(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    Ok(MODULE.get_or_try_init(py, || py.import("warpfold._adapt").map(Bound::unbind))?.bind(py))
}

/// Whether an object is to be asked by `__dlpack__`.
pub fn lends(x: &Bound<'_, PyAny>) -> PyResult<bool> {
    let (py, kind) = (x.py(), x.get_type());
    if !kind.hasattr(intern!(py, "__dlpack__"))? {
        return Ok(false);
    }
    // Arrays of pyarrow lend their values only, without the mask.
    Ok(!kind.module()?.to_cow()?.starts_with("pyarrow"))
}

/// A tensor of PyTorch without its history, and without a sign that is to be changed when elements are read. Other
/// objects are returned as they are.
pub fn detached<'py>(x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if requires_grad(x)? || is_negative(x)? { unrecorded(x) } else { Ok(x.clone()) }
}

/// The same where the history matters to nobody: what lends in C gives its memory away with or without one.
fn readable<'py>(x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let recorded = requires_grad(x)? && records(x.py())?;
    if recorded || is_negative(x)? { unrecorded(x) } else { Ok(x.clone()) }
}

fn requires_grad(x: &Bound<'_, PyAny>) -> PyResult<bool> {
    x.getattr_opt(intern!(x.py(), "requires_grad"))?.map_or(Ok(false), |found| found.is_truthy())
}

fn is_negative(x: &Bound<'_, PyAny>) -> PyResult<bool> {
    match x.getattr_opt(intern!(x.py(), "is_neg"))? {
        Some(method) => method.call0()?.is_truthy(),
        None => Ok(false),
    }
}

/// A tensor without its history, where gradients are not recorded; else a TypeError. Signs are resolved.
fn unrecorded<'py>(x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    adapt(x.py())?.call_method1(intern!(x.py(), "detached"), (x,))
}

/// Whether PyTorch records gradients now.
fn records(py: Python<'_>) -> PyResult<bool> {
    static ENABLED: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let enabled = ENABLED.get_or_try_init(py, || {
        py.import(intern!(py, "torch"))?.getattr(intern!(py, "is_grad_enabled")).map(Bound::unbind)
    });
    enabled?.bind(py).call0()?.is_truthy()
}

/// A result of the host as an array of the library that `like` is of.
fn lent<'py>(like: &Bound<'py, PyAny>, exchange: Option<Exchange>, array: Array) -> PyResult<Bound<'py, PyAny>> {
    let Array { shape, values } = array;
    let dtype = values.dtype();
    let result = Exported::new(Owner::Host(Arc::new(values)), dtype, shape);
    match exchange {
        Some(exchange) => exchange.give(like.py(), result.versioned()),
        None => exported(like, result),
    }
}

/// A result as an array of the library that `like` is of.
pub fn exported<'py>(like: &Bound<'py, PyAny>, result: Exported) -> PyResult<Bound<'py, PyAny>> {
    let py = like.py();
    adapt(py)?.call_method1(intern!(py, "from_dlpack"), (like, Bound::new(py, result)?))
}
