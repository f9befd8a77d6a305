//! The arguments of a call as options of a reduction.

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt};
use warpfold::{DType, DeviceName, Error, Op, Options, Ord, Precision, Scalar};

use crate::error;
use crate::input::adapt;

/// The arguments of a reduction as the caller has given them; `None` is the default of each.
#[derive(Default)]
pub struct Given<'a, 'py> {
    pub axis: Option<&'a Bound<'py, PyAny>>,
    pub dtype: Option<&'a Bound<'py, PyAny>>,
    pub out: Option<&'a Bound<'py, PyAny>>,
    pub keepdims: bool,
    pub initial: Option<&'a Bound<'py, PyAny>>,
    pub r#where: Option<&'a Bound<'py, PyAny>>,
    pub ddof: Option<f64>,
    pub correction: Option<f64>,
    pub ord: Option<&'a Bound<'py, PyAny>>,
    pub precision: Option<&'a str>,
    pub device: Option<&'a str>,
}

impl Given<'_, '_> {
    /// Whether all elements are to be reduced into a scalar, without any option.
    pub fn is_plain(&self) -> bool {
        let Self { axis, dtype, out, keepdims, initial, r#where, ddof, correction, ord, precision, device } = self;
        axis.is_none()
            && dtype.is_none()
            && out.is_none()
            && !keepdims
            && initial.is_none()
            && r#where.is_none()
            && ddof.is_none()
            && correction.is_none()
            && ord.is_none()
            && precision.is_none()
            && device.is_none()
    }

    /// The options, but for a mask, which is an array.
    pub fn options(&self, op: Op, dtype: DType, skip_nan: bool) -> PyResult<Options<'static>> {
        let ddof = match (self.ddof, self.correction) {
            (Some(_), Some(_)) => return Err(PyValueError::new_err("ddof and correction are one option: give one")),
            (ddof, correction) => ddof.or(correction),
        };
        let cast = self.dtype.map(|name| self::dtype(name)).transpose()?;
        let result = cast.unwrap_or(op.result_dtype(dtype));
        let given = self.initial.map(|x| value("initial", x, result)).transpose()?;
        Ok(Options {
            axes: self.axis.map(|axis| axes(axis)).transpose()?,
            keepdims: self.keepdims,
            dtype: cast,
            precision: precision(self.precision)?,
            skip_nan,
            initial: given,
            ddof,
            ord: self.ord.map(|ord| self::ord(ord)).transpose()?,
            ..Options::default()
        })
    }

    /// The dtype of the result.
    pub fn result(&self, op: Op, dtype: DType) -> PyResult<DType> {
        Ok(self.dtype.map(|name| self::dtype(name)).transpose()?.unwrap_or(op.result_dtype(dtype)))
    }

    /// The device that is named.
    pub fn device(&self, py: Python<'_>) -> PyResult<Option<DeviceName>> {
        self.device.map(|name| name.parse().map_err(|e| error::of(py, &e))).transpose()
    }
}

/// Arguments by keyword, where many functions share a list of them.
pub struct Keywords<'py>(Vec<(&'static str, Bound<'py, PyAny>)>);

impl<'py> Keywords<'py> {
    /// The keywords of a call, of which only `names` are known. None is the same as nothing.
    ///
    /// # Errors
    /// TypeError for an unknown one.
    pub fn of(given: Option<&Bound<'py, PyDict>>, names: &[&'static str]) -> PyResult<Self> {
        let mut all = Vec::new();
        for (name, value) in given.into_iter().flatten() {
            let name: String = name.extract()?;
            let Some(known) = names.iter().find(|known| **known == name) else {
                let names = names.join(", ");
                return Err(PyTypeError::new_err(format!("unknown argument {name}; there are {names}")));
            };
            if !value.is_none() {
                all.push((*known, value));
            }
        }
        Ok(Self(all))
    }

    /// The argument of this name.
    pub fn get(&self, name: &str) -> Option<&Bound<'py, PyAny>> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// A name or a number of this name.
    pub fn value<'a, T: FromPyObject<'a, 'py>>(&'a self, name: &str) -> PyResult<Option<T>>
    where
        PyErr: From<T::Error>,
    {
        Ok(self.get(name).map(|value| value.extract()).transpose()?)
    }

    /// The arguments as those of a reduction; `result_dtype` is its dtype, too.
    pub fn given(&self) -> PyResult<Given<'_, 'py>> {
        Ok(Given {
            dtype: self.get("dtype").or(self.get("result_dtype")),
            initial: self.get("initial"),
            r#where: self.get("where"),
            ddof: self.value("ddof")?,
            correction: self.value("correction")?,
            ord: self.get("ord"),
            precision: self.value("precision")?,
            device: self.value("device")?,
            ..Given::default()
        })
    }
}

/// One axis, or a tuple or list of them.
pub fn axes(axis: &Bound<'_, PyAny>) -> PyResult<Vec<isize>> {
    if axis.is_instance_of::<PyInt>() && !axis.is_instance_of::<PyBool>() {
        return Ok(vec![axis.extract()?]);
    }
    let wrong = |_| {
        let kind = axis.get_type().name().map_or_else(|_| "?".into(), |name| name.to_string());
        PyTypeError::new_err(format!("axis must be an integer, a tuple of integers or None, not {kind}"))
    };
    if axis.is_instance_of::<PyBool>() || axis.is_instance_of::<pyo3::types::PyString>() {
        return Err(wrong(PyTypeError::new_err("")));
    }
    match axis.call_method0("__index__") {
        Ok(index) => Ok(vec![index.extract()?]),
        Err(_) => axis.extract::<Vec<isize>>().map_err(wrong),
    }
}

/// A number of things, which is an argument.
pub struct Count(pub usize);

impl<'py> FromPyObject<'_, 'py> for Count {
    type Error = PyErr;

    fn extract(x: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let py = x.py();
        let given: i64 = x.extract().map_err(|e: PyErr| match e.is_instance_of::<PyOverflowError>(py) {
            true => PyValueError::new_err("a number of things must be below 2^63"),
            false => e,
        })?;
        let negative = |_| PyValueError::new_err(format!("a number of things must not be negative, this is {given}"));
        usize::try_from(given).map(Self).map_err(negative)
    }
}

/// A dtype, as NumPy, PyTorch, JAX and ml_dtypes name it.
pub fn dtype(name: &Bound<'_, PyAny>) -> PyResult<DType> {
    let text: String = adapt(name.py())?.getattr("dtype_name")?.call1((name,))?.extract()?;
    text.parse().map_err(|e| PyTypeError::new_err(format!("dtype {text}: {e}")))
}

/// A number of Python or NumPy.
pub fn scalar(x: &Bound<'_, PyAny>) -> PyResult<Scalar> {
    if x.is_instance_of::<PyBool>() {
        return Ok(Scalar::Bool(x.extract()?));
    }
    if x.is_instance_of::<PyFloat>() {
        return Ok(Scalar::F64(x.extract()?));
    }
    let index = if x.is_instance_of::<PyInt>() { Some(x.clone()) } else { x.call_method0("__index__").ok() };
    if let Some(index) = index {
        return match (index.extract::<i64>(), index.extract::<u64>()) {
            (Ok(x), _) => Ok(Scalar::I64(x)),
            (_, Ok(x)) => Ok(Scalar::U64(x)),
            _ => Ok(Scalar::F64(index.extract()?)),
        };
    }
    x.extract().map(Scalar::F64).map_err(|_| {
        let kind = x.get_type().name().map_or_else(|_| "?".into(), |name| name.to_string());
        PyTypeError::new_err(format!("a value must be a real number, not {kind}"))
    })
}

/// The argument `name`, which becomes a result, or an operand of one: a number that the result's dtype has.
pub fn value(name: &str, x: &Bound<'_, PyAny>, result: DType) -> PyResult<Scalar> {
    let given = scalar(x)?;
    let bits = 8 * result.size() as u32;
    let (least, most) = match result {
        _ if result.is_float() => return Ok(given),
        DType::Bool => (0, 1),
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => (0, (1 << bits) - 1),
        _ => (-(1i128 << (bits - 1)), (1 << (bits - 1)) - 1),
    };
    let whole = match given {
        Scalar::I64(x) => x.into(),
        Scalar::U64(x) => x.into(),
        other => match other.to_f64() {
            x if x.fract() == 0.0 => x as i128,
            x => {
                let text =
                    format!("{name}={x} is no {result}, which the result is: give an integer from {least} to {most}");
                return Err(PyTypeError::new_err(text));
            }
        },
    };
    match (least..=most).contains(&whole) {
        true => Ok(given),
        false => {
            let text = format!("{name}={x} does not fit {result}, which the result is: give {least} to {most}");
            Err(PyValueError::new_err(text))
        }
    }
}

/// `"tree"` or `"compensated"`.
pub fn precision(name: Option<&str>) -> PyResult<Precision> {
    match name {
        None | Some("tree") => Ok(Precision::Tree),
        Some("compensated") => Ok(Precision::Compensated),
        Some(other) => {
            Err(PyValueError::new_err(format!("precision must be \"tree\" or \"compensated\", not {other:?}")))
        }
    }
}

/// 1, 2 or infinity.
fn ord(ord: &Bound<'_, PyAny>) -> PyResult<Ord> {
    match ord.extract::<f64>() {
        Ok(1.0) => Ok(Ord::One),
        Ok(2.0) => Ok(Ord::Two),
        Ok(f64::INFINITY) => Ok(Ord::Inf),
        _ => Err(PyValueError::new_err(format!("ord must be 1, 2 or inf, not {ord}"))),
    }
}

/// A reduction by its name in Python, and whether it skips NaN: `count_nonzero`, `nansum`.
pub fn op(name: &str) -> PyResult<(Op, bool)> {
    let skipping = name.strip_prefix("nan").and_then(|rest| rest.parse().ok());
    match skipping {
        Some(op) => Ok((op, true)),
        None => name.parse().map(|op| (op, false)).map_err(|e: Error| PyValueError::new_err(e.to_string())),
    }
}

/// What is computed of each group.
#[derive(Clone, Copy)]
pub enum Of {
    /// A reduction, and whether it skips NaN.
    Op(Op, bool),
    First,
    Last,
    Size,
}

impl Of {
    /// By the name: that of a reduction, or `first`, `last`, `size`.
    pub fn named(name: &str) -> PyResult<Self> {
        Ok(match name {
            "first" => Self::First,
            "last" => Self::Last,
            "size" => Self::Size,
            _ => {
                let (op, skip) = op(name)?;
                Self::Op(op, skip)
            }
        })
    }
}
