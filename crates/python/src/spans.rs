//! Reductions in pieces: a stream takes them in order, spans take them from anywhere.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyType};
use warpfold::{Array, DType, Options, Spans as State};

use crate::input::Input;
use crate::options::{self, Count, Keywords};
use crate::reduce::mask;
use crate::{error, numpy, pool};

/// What a state of a reduction takes by keyword.
const NAMES: [&str; 7] = ["masked", "result_dtype", "initial", "ddof", "correction", "ord", "precision"];

/// A state without parts.
fn state<'py>(
    op: &str,
    dtype: &Bound<'py, PyAny>,
    shape: &[usize],
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<State> {
    let keywords = Keywords::of(options, &NAMES)?;
    let masked = keywords.value("masked")?.unwrap_or(false);
    let ((op, skip), dtype_of) = (options::op(op)?, options::dtype(dtype)?);
    let result = keywords.given()?.options(op, dtype_of, skip)?;
    State::new(op, dtype_of, shape, masked, &result).map_err(|e| error::of(dtype.py(), &e))
}

/// The elements that a piece may have its mask for, and the layout of both.
fn pieces<'py>(x: &Bound<'py, PyAny>, given: Option<&Bound<'py, PyAny>>) -> PyResult<(Input<'py>, Option<Input<'py>>)> {
    let x = Input::of(x)?;
    let mask = mask(&x, given)?;
    Ok((x, mask))
}

/// A reduction of which parts are known: from anywhere, in any order, in any process.
///
/// Parts join as they become adjacent. When all are there, the result has the bits of the reduction of the whole.
///
/// Parameters
/// ----------
/// op : str
///     The name of a reduction, such as ``"var"`` or ``"nansum"``.
/// dtype : dtype
///     Of the elements.
/// shape : tuple of int
///     Of the result: the axes that parts keep.
/// masked : bool
///     Whether parts may have masks.
/// result_dtype, initial, ddof, correction, ord, precision
///     As those of the reduction; `result_dtype` is its `dtype`.
///
/// Raises
/// ------
/// TypeError, ValueError
///     For options that the reduction does not have.
///
/// Examples
/// --------
/// >>> import numpy as np, warpfold as wf
/// >>> x = np.arange(10.0).reshape(2, 5)
/// >>> right, left = wf.Spans("sum", x.dtype, (2,)), wf.Spans("sum", x.dtype, (2,))
/// >>> right.add(x[:, 3:], axis=1, start=3, total=5)
/// >>> left.add(x[:, :3], axis=1, start=0, total=5)
/// >>> right.merge(wf.Spans.from_bytes(left.to_bytes()))
/// >>> right.ranges, right.finish(5)
/// ([(0, 5)], array([10., 35.]))
#[pyclass(module = "warpfold")]
pub struct Spans {
    state: State,
}

#[pymethods]
impl Spans {
    #[new]
    #[pyo3(signature = (op, dtype, shape=Vec::new(), **options))]
    fn new<'py>(
        op: &str,
        dtype: &Bound<'py, PyAny>,
        shape: Vec<Count>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Self> {
        let shape: Vec<usize> = shape.into_iter().map(|Count(len)| len).collect();
        Ok(Self { state: state(op, dtype, &shape, options)? })
    }

    /// Adds a part: an array whose axes ``axis`` (by default all) are reduced. Along each of them the part begins at
    /// ``start`` of ``total`` elements. With ``threads=1`` it is reduced on the calling thread, for callers who have
    /// threads of their own.
    #[pyo3(signature = (x, axis=None, start=None, total=None, *, r#where=None, threads=None))]
    #[allow(clippy::too_many_arguments)]
    fn add<'py>(
        &mut self,
        x: &Bound<'py, PyAny>,
        axis: Option<&Bound<'py, PyAny>>,
        start: Option<&Bound<'py, PyAny>>,
        total: Option<&Bound<'py, PyAny>>,
        r#where: Option<&Bound<'py, PyAny>>,
        threads: Option<usize>,
    ) -> PyResult<()> {
        let threads = match threads {
            None => pool::threads(),
            Some(1) => 1,
            Some(other) => return Err(PyValueError::new_err(format!("threads must be 1 or None, not {other}"))),
        };
        let (x, mask) = pieces(x, r#where)?;
        let py = x.py();
        let (array, mask) = (x.layout()?, mask.as_ref().map(Input::layout).transpose()?);
        let rank = array.shape().len();
        let axes = match axis {
            Some(axis) => options::axes(axis)?,
            None => (0..rank as isize).collect(),
        };
        // In the order of the axes of the part, as the library takes them.
        let place = |axis: &isize| if *axis < 0 { axis + rank as isize } else { *axis };
        let mut order: Vec<usize> = (0..axes.len()).collect();
        order.sort_by_key(|&i| place(&axes[i]));
        let numbers = |given: Option<&Bound<'_, PyAny>>, name: &str, whole: bool| -> PyResult<Vec<u64>> {
            let all = match given {
                None => axes.iter().map(|axis| match array.shape().get(place(axis) as usize) {
                    Some(&len) if whole => len as u64,
                    _ => 0,
                }),
                Some(given) => {
                    let all = given.extract::<u64>().map(|one| vec![one]).or_else(|_| given.extract::<Vec<u64>>());
                    let all = all.map_err(|_| {
                        PyTypeError::new_err(format!("{name} must be a number for each axis, not negative"))
                    })?;
                    if all.len() != axes.len() {
                        let (axes, given) = (axes.len(), all.len());
                        let text = format!("{name} must have a number for each of {axes} axes, not {given}");
                        return Err(PyValueError::new_err(text));
                    }
                    return Ok(order.iter().map(|&i| all[i]).collect());
                }
            };
            let all: Vec<u64> = all.collect();
            Ok(order.iter().map(|&i| all[i]).collect())
        };
        let (start, total) = (numbers(start, "start", false)?, numbers(total, "total", true)?);
        let state = &mut self.state;
        pool::run_on(py, threads, array.len(), |how| {
            let options = Options { mask, threads: how.threads, progress: how.progress, ..Options::default() };
            state.add(array, &axes, &start, &total, &options)
        })
    }

    /// Adds all that other states of the same reduction have.
    #[pyo3(signature = (*others))]
    fn merge(&mut self, py: Python<'_>, others: Vec<Bound<'_, Self>>) -> PyResult<()> {
        let own = |_| PyValueError::new_err("a state has its own parts already, or is in use by another thread");
        let others = others.iter().map(|other| other.try_borrow().map_err(own)).collect::<PyResult<Vec<_>>>()?;
        let others: Vec<&State> = others.iter().map(|other| &other.state).collect();
        let state = &mut self.state;
        // States may have many ranges.
        py.detach(|| state.merge_all(&others)).map_err(|e| error::of(py, &e))
    }

    /// The result, when all ``total`` elements of the reduced axes are there.
    fn finish<'py>(&self, py: Python<'py>, total: Count) -> PyResult<Bound<'py, PyAny>> {
        numpy::result(py, self.state.finish(total.0 as u64).map_err(|e| error::of(py, &e))?)
    }

    /// The ranges of the reduced elements that are there.
    #[getter]
    fn ranges(&self) -> Vec<(u64, u64)> {
        self.state.ranges().collect()
    }

    /// About how many bytes of memory the state takes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.state.bytes()
    }

    /// The name of the reduction.
    #[getter]
    fn op(&self) -> String {
        self.state.op().name().replace('-', "_")
    }

    /// The shape of the result.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyTuple>> {
        pyo3::types::PyTuple::new(py, self.state.shape())
    }

    /// The state as bytes, the same on every machine.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.state.to_bytes())
    }

    /// The state of ``to_bytes``.
    #[classmethod]
    fn from_bytes(_class: &Bound<'_, PyType>, py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        Ok(Self { state: State::from_bytes(bytes).map_err(|e| error::of(py, &e))? })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let py = slf.py();
        Ok((slf.get_type().getattr("from_bytes")?, (slf.borrow().to_bytes(py),)))
    }

    fn __repr__(&self) -> String {
        let (op, dtype, shape) = (self.op(), self.state.dtype(), self.state.shape());
        format!("<warpfold.Spans: {op} of {dtype} into {shape:?}, {:?}>", self.ranges())
    }
}

/// A reduction of a sequence that comes in pieces, in order, with the bits of the whole.
///
/// Parameters
/// ----------
/// op : str
///     The name of a reduction, such as ``"var"`` or ``"nansum"``.
/// dtype : dtype
///     Of the elements.
/// start : int
///     The index of the first element, if the stream begins in the middle of the sequence.
/// masked : bool
///     Whether pieces may have masks.
/// result_dtype, initial, ddof, correction, ord, precision
///     As those of the reduction; `result_dtype` is its `dtype`.
///
/// Raises
/// ------
/// TypeError, ValueError
///     For options that the reduction does not have.
///
/// Examples
/// --------
/// >>> import numpy as np, warpfold as wf
/// >>> x = np.arange(100, dtype="f4")
/// >>> left, right = wf.Stream("var", "f4"), wf.Stream("var", "f4", start=70)
/// >>> left.push(x[:70])
/// >>> right.push(x[70:])
/// >>> left.merge(right)
/// >>> left.count, left.finish() == wf.var(x)
/// (100, np.True_)
#[pyclass(module = "warpfold")]
pub struct Stream {
    state: State,
    start: u64,
    end: u64,
}

/// The most elements of a sequence.
const MOST: u64 = i64::MAX as u64;

#[pymethods]
impl Stream {
    #[new]
    #[pyo3(signature = (op, dtype, *, start=Count(0), **options))]
    #[pyo3(text_signature = "(op, dtype, *, start=0, **options)")]
    fn new<'py>(
        op: &str,
        dtype: &Bound<'py, PyAny>,
        start: Count,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Self> {
        let start = start.0 as u64;
        Ok(Self { state: state(op, dtype, &[], options)?, start, end: start })
    }

    /// Appends the next elements: an array of one axis, or a scalar. They must have the dtype of the stream.
    #[pyo3(signature = (x, /, *, r#where=None))]
    fn push<'py>(&mut self, x: &Bound<'py, PyAny>, r#where: Option<&Bound<'py, PyAny>>) -> PyResult<()> {
        let (x, mask) = pieces(x, r#where)?;
        let py = x.py();
        let (array, mask) = (x.layout()?, mask.as_ref().map(Input::layout).transpose()?);
        let rank = array.shape().len();
        if rank > 1 {
            let text = format!("a stream takes arrays of one axis, not of {rank}: flatten the array first");
            return Err(PyValueError::new_err(text));
        }
        let (axes, place) = if rank == 0 { (vec![], vec![]) } else { (vec![0], vec![self.end]) };
        let n = array.len();
        let (state, end) = (&mut self.state, self.end);
        pool::run(py, n, |how| {
            let options = Options { mask, threads: how.threads, progress: how.progress, ..Options::default() };
            if axes.is_empty() {
                let one = array.line(0, 1, array.dtype().size() as isize);
                return state.add(one, &[0], &[end], &[MOST], &options);
            }
            state.add(array, &axes, &place, &[MOST], &options)
        })?;
        self.end += n as u64;
        Ok(())
    }

    /// Appends the stream of the elements that follow.
    fn merge(&mut self, other: &Bound<'_, Self>) -> PyResult<()> {
        let py = other.py();
        let other = other.try_borrow().map_err(|_| PyValueError::new_err("a stream does not follow itself"))?;
        if other.start != self.end {
            let (end, start) = (self.end, other.start);
            let text = format!("the stream ends at {end}, the other starts at {start}: merge the one that follows");
            return Err(PyValueError::new_err(text));
        }
        self.state.merge_all(&[&other.state]).map_err(|e| error::of(py, &e))?;
        self.end = other.end;
        Ok(())
    }

    /// The result of all elements so far. The stream can go on.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if self.start != 0 {
            let text = format!("the stream begins at {}: merge it into the one that begins at 0", self.start);
            return Err(PyValueError::new_err(text));
        }
        let Array { shape, values } = self.state.finish(self.end).map_err(|e| error::of(py, &e))?;
        numpy::result(py, Array { shape, values })
    }

    /// The number of elements so far.
    #[getter]
    fn count(&self) -> u64 {
        self.end - self.start
    }

    /// The index of the first element in the sequence.
    #[getter]
    fn start(&self) -> u64 {
        self.start
    }

    /// The name of the reduction.
    #[getter]
    fn op(&self) -> String {
        self.state.op().name().replace('-', "_")
    }

    /// The stream as bytes, the same on every machine.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let bytes = [&self.start.to_le_bytes()[..], &self.end.to_le_bytes(), &self.state.to_bytes()].concat();
        PyBytes::new(py, &bytes)
    }

    /// The stream of ``to_bytes``.
    #[classmethod]
    fn from_bytes(_class: &Bound<'_, PyType>, py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        let wrong = || PyValueError::new_err("these bytes are no stream");
        let (start, rest) = bytes.split_first_chunk().ok_or_else(wrong)?;
        let (end, rest) = rest.split_first_chunk().ok_or_else(wrong)?;
        let (start, end) = (u64::from_le_bytes(*start), u64::from_le_bytes(*end));
        let state = State::from_bytes(rest).map_err(|e| error::of(py, &e))?;
        let whole = if start == end { vec![] } else { vec![(start, end)] };
        if start > end || end > MOST || !state.ranges().eq(whole) || !state.shape().is_empty() {
            return Err(wrong());
        }
        Ok(Self { state, start, end })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let py = slf.py();
        Ok((slf.get_type().getattr("from_bytes")?, (slf.borrow().to_bytes(py),)))
    }

    fn __repr__(&self) -> String {
        let dtype: DType = self.state.dtype();
        format!("<warpfold.Stream: {} of {dtype}, {} elements>", self.op(), self.count())
    }
}
