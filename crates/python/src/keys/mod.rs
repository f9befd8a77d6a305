//! Reductions by key: segments, groups, runs; and beside them distinct values and histograms.

mod bins;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString, PyTuple};
use warpfold::{
    ArrayRef, DType, DeviceName, Error, GroupLabels, Groups, Op, Options, Scalar, Segments, group_by_on,
    group_first_on, group_last_on, group_sizes_on, reduce_by_key_on, segmented_on,
};

use crate::gpu::Together;
use crate::input::Input;
use crate::options::{self, Count, Keywords, Of, scalar, value};
use crate::pool;
use crate::reduce::mask;

/// The options of a reduction by key: keywords.
struct Keyed<'py> {
    options: Keywords<'py>,
}

impl<'py> Keyed<'py> {
    const NAMES: [&'static str; 6] = ["fill", "dtype", "where", "ddof", "precision", "device"];

    fn of(given: Option<&Bound<'py, PyDict>>) -> PyResult<Self> {
        Ok(Self { options: Keywords::of(given, &Self::NAMES)? })
    }

    fn fill(&self) -> PyResult<Option<Scalar>> {
        self.options.get("fill").map(scalar).transpose()
    }

    /// The filling of results of a dtype.
    fn fill_of(&self, result: DType) -> PyResult<Option<Scalar>> {
        self.options.get("fill").map(|x| value("fill", x, result)).transpose()
    }

    /// The dtype of results, of values of a dtype.
    fn result(&self, of: Of, dtype: DType) -> PyResult<DType> {
        match of {
            Of::Op(op, _) => self.options.given()?.result(op, dtype),
            Of::First | Of::Last => Ok(dtype),
            Of::Size => Ok(DType::I64),
        }
    }

    fn device(&self, py: Python<'_>) -> PyResult<DeviceName> {
        Ok(self.options.given()?.device(py)?.unwrap_or(DeviceName::Cpu))
    }

    /// The arrays of a call, if they are on a GPU, whose kernels by key take no mask.
    fn on_gpu<const N: usize>(&self, arrays: [&Bound<'py, PyAny>; N]) -> PyResult<Option<Together<'py, N>>> {
        let given = self.options.given()?;
        let found = Together::of(arrays, given.device(arrays[0].py())?)?;
        let all = |mask: &Bound<'py, PyAny>| mask.cast::<PyBool>().is_ok_and(|mask| mask.is_true());
        if found.is_some() && given.r#where.is_some_and(|mask| !all(mask)) {
            let text = "where= is not taken by key on a GPU: leave elements out by label -1, or move the arrays to the \
                        host first (x.cpu() of PyTorch, x.get() of CuPy)";
            return Err(PyTypeError::new_err(text));
        }
        Ok(found)
    }

    fn mask(&self, values: &Input<'py>) -> PyResult<Option<Input<'py>>> {
        mask(values, self.options.get("where"))
    }

    fn options(&self, op: Op, dtype: DType, skip_nan: bool) -> PyResult<Options<'static>> {
        self.options.given()?.options(op, dtype, skip_nan)
    }

    /// The results of a reduction by name, which `run` computes.
    fn reduced<T: Send>(
        &self,
        values: &Input<'py>,
        op: &str,
        run: impl FnOnce(DeviceName, Op, ArrayRef<'_>, &Options<'_>) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let ((op, skip), array, device) = (options::op(op)?, values.layout()?, self.device(values.py())?);
        let mask = self.mask(values)?;
        let (options, mask) = (self.options(op, array.dtype(), skip)?, layout(&mask)?);
        pool::run(values.py(), array.len(), |how| {
            let options = Options { mask, threads: how.threads, progress: how.progress, ..options };
            run(device, op, array, &options)
        })
    }
}

/// Reduces consecutive parts of the first axis: part i is ``values[offsets[i]:offsets[i + 1]]``.
///
/// Parameters
/// ----------
/// values : array
///     With at least one axis.
/// offsets : array of int
///     One more than there are parts. They do not decrease.
/// op : str
///     The name of a reduction: ``"sum"``, ``"nanmean"``, ``"argmax"``…
/// fill : number, optional
///     The result of parts that have none, such as the least of no elements. Without it they are a ValueError. It must
///     be a number of the result's dtype.
/// dtype, where, ddof, precision, device
///     As those of the reduction. Arrays on a GPU are computed there, and the call waits until it is done; `where` is
///     not taken there.
///
/// Returns
/// -------
/// array
///     With an axis of parts in place of the first axis.
///
/// Raises
/// ------
/// TypeError, ValueError
///     For offsets that are no integers, decrease, or exceed the values; for a part without a result.
///
/// Examples
/// --------
/// >>> import warpfold as wf
/// >>> wf.segmented([1.0, 2.0, 3.0, 4.0], [0, 1, 1, 4], "sum")
/// array([1., 0., 9.])
#[pyfunction]
#[pyo3(signature = (values, offsets, op="sum", **keywords))]
#[pyo3(text_signature = "(values, offsets, op='sum', *, fill=None, \
    dtype=None, where=None, ddof=None, precision=None, device=None)")]
fn segmented<'py>(
    values: &Bound<'py, PyAny>,
    offsets: &Bound<'py, PyAny>,
    op: &str,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = values.py();
    let keyed = Keyed::of(keywords)?;
    if let Some(on) = keyed.on_gpu([values, offsets])? {
        let (named, skip) = options::op(op)?;
        let fill = keyed.fill_of(keyed.result(Of::Op(named, skip), on.dtype())?)?;
        return on.segmented(named, &keyed.options(named, on.dtype(), skip)?, fill);
    }
    let (values, offsets) = (Input::of(values)?, Input::of(offsets)?);
    let result = keyed.result(Of::named(op)?, values.layout()?.dtype())?;
    let (offsets, fill) = (offsets.layout()?, keyed.fill_of(result)?);
    let found = keyed.reduced(&values, op, |device, op, array, options| {
        let segments = fill.into_iter().fold(Segments::new(offsets)?, Segments::fill);
        segmented_on(device, op, array, &segments, options)
    })?;
    values.result(py, found, None)
}

fn layout<'a>(mask: &'a Option<Input<'_>>) -> PyResult<Option<ArrayRef<'a>>> {
    mask.as_ref().map(Input::layout).transpose()
}

/// Reduces the elements of each label along the first axis: group k is ``values[labels == k]``.
///
/// Parameters
/// ----------
/// values : array
///     With at least one axis.
/// labels : array of int
///     One for each index of the first axis. An element of label -1 belongs to no group.
/// op : str or list of str
///     By default the sum. The name of a reduction (``"sum"``, ``"nanmean"``, ``"argmax"``…), or ``"first"``,
///     ``"last"``, ``"size"``; or several, which share one sort of the labels.
/// num_groups : int, optional
///     By default there is one group more than the greatest label.
/// fill : number, optional
///     The result of groups that have none. Without it they are a ValueError. It must be a number of the result's
///     dtype.
/// dtype, where, ddof, precision, device
///     As those of the reduction. Arrays on a GPU are computed there, and the call waits until it is done; `where` is
///     not taken there.
///
/// Returns
/// -------
/// array, or dict of array by the names
///     With an axis of groups in place of the first axis.
///
/// Raises
/// ------
/// TypeError, ValueError
///     For labels that are no integers, or out of range; for a group without a result.
///
/// Examples
/// --------
/// >>> import warpfold as wf
/// >>> wf.group_by([1.0, 2.0, 3.0, 4.0], [2, 0, 2, -1], "sum")
/// array([2., 0., 4.])
/// >>> wf.group_by([1.0, 2.0, 3.0], [1, 0, 1], ["mean", "max"])
/// {'mean': array([2., 2.]), 'max': array([2., 3.])}
#[pyfunction]
#[pyo3(signature = (values, labels, op=None, num_groups=None, **keywords))]
#[pyo3(text_signature = "(values, labels, op='sum', \
    num_groups=None, *, fill=None, dtype=None, where=None, ddof=None, precision=None, device=None)")]
fn group_by<'py>(
    values: &Bound<'py, PyAny>,
    labels: &Bound<'py, PyAny>,
    op: Option<&Bound<'py, PyAny>>,
    num_groups: Option<Count>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = values.py();
    let (keyed, num_groups) = (Keyed::of(keywords)?, num_groups.map(|Count(n)| n));
    if let Some(on) = keyed.on_gpu([values, labels])? {
        let fill = keyed.fill()?;
        let options = |op, skip| keyed.options(op, on.dtype(), skip);
        return named(py, op, |names| {
            for name in names {
                keyed.fill_of(keyed.result(Of::named(name)?, on.dtype())?)?;
            }
            on.group_by(names, num_groups, fill, options)
        });
    }
    let (values, by) = (Input::of(values)?, Input::of(labels)?);
    let (array, labels) = (values.layout()?, by.labels(labels)?);
    let (mask, fill, device) = (keyed.mask(&values)?, keyed.fill()?, keyed.device(py)?);
    let mask = layout(&mask)?;
    let one = |name: &str, sorted: Option<&Groups>| -> PyResult<Bound<'py, PyAny>> {
        let of = Of::named(name)?;
        let options = match of {
            Of::Op(op, skip) => keyed.options(op, array.dtype(), skip)?,
            _ => Options::default(),
        };
        keyed.fill_of(keyed.result(of, array.dtype())?)?;
        let mut groups = GroupLabels::new(labels);
        groups = num_groups.into_iter().fold(groups, GroupLabels::groups);
        groups = fill.into_iter().fold(groups, GroupLabels::fill);
        let found = pool::run(py, array.len(), |how| {
            let options = Options { mask, threads: how.threads, progress: how.progress, ..options };
            match (of, sorted) {
                (Of::Op(op, _), Some(sorted)) => sorted.reduce(op, array, &options),
                (Of::First, Some(sorted)) => sorted.first(array),
                (Of::Last, Some(sorted)) => sorted.last(array),
                (Of::Size, Some(sorted)) => sorted.sizes(),
                (Of::Op(op, _), None) => group_by_on(device, op, array, &groups, &options),
                (Of::First, None) => group_first_on(device, array, &groups),
                (Of::Last, None) => group_last_on(device, array, &groups),
                (Of::Size, None) => group_sizes_on(device, &groups),
            }
        })?;
        values.result(py, found, None)
    };
    named(py, op, |names| {
        // Several share one sort, which the CPU does.
        let sorted = match (device, names) {
            (DeviceName::Cuda(_), _) | (_, [_]) => None,
            _ => Some(pool::run(py, labels.len(), |_| {
                Ok(fill.into_iter().fold(Groups::new(labels, num_groups)?, Groups::fill))
            })?),
        };
        names.iter().map(|name| one(name, sorted.as_ref())).collect()
    })
}

/// What `run` computes of one name, by default the sum; or of a list of names, as a dict.
fn named<'py>(
    py: Python<'py>,
    op: Option<&Bound<'py, PyAny>>,
    run: impl FnOnce(&[String]) -> PyResult<Vec<Bound<'py, PyAny>>>,
) -> PyResult<Bound<'py, PyAny>> {
    let alone = match op {
        None => Some("sum".to_owned()),
        Some(op) => op.cast::<PyString>().ok().map(|name| name.extract()).transpose()?,
    };
    if let Some(name) = alone {
        return Ok(run(&[name])?.remove(0));
    }
    let wrong = |_| PyTypeError::new_err("op must be a name, or a list of names");
    let names: Vec<String> = op.map(|op| op.extract().map_err(wrong)).transpose()?.unwrap_or_default();
    let all = PyDict::new(py);
    for (name, found) in names.iter().zip(run(&names)?) {
        all.set_item(name, found)?;
    }
    Ok(all.into_any())
}

/// Reduces each run of equal consecutive keys.
///
/// Parameters
/// ----------
/// keys : array
///     Of one axis. NaN equals NaN.
/// values : array
///     With as many indices along the first axis as there are keys.
/// op : str
///     The name of a reduction.
/// dtype, where, ddof, precision, device
///     As those of the reduction. Arrays on a GPU are computed there, and the call waits until it is done; `where` is
///     not taken there.
///
/// Returns
/// -------
/// tuple of array
///     The key of each run, and the results.
///
/// Raises
/// ------
/// TypeError, ValueError
///     For another number of values than keys; for what the reduction refuses.
///
/// Examples
/// --------
/// >>> import warpfold as wf
/// >>> wf.reduce_by_key([7, 7, 2, 7], [1.0, 2.0, 3.0, 4.0], "sum")
/// (array([7, 2, 7]), array([3., 3., 4.]))
#[pyfunction]
#[pyo3(signature = (keys, values, op="sum", **keywords))]
#[pyo3(text_signature = "(keys, values, op='sum', *, dtype=None, \
    where=None, ddof=None, precision=None, device=None)")]
fn reduce_by_key<'py>(
    keys: &Bound<'py, PyAny>,
    values: &Bound<'py, PyAny>,
    op: &str,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let keyed = Keyed::of(keywords)?;
    if let Some(on) = keyed.on_gpu([values, keys])? {
        let (op, skip) = options::op(op)?;
        let options = keyed.options(op, on.dtype(), skip)?;
        return on.reduce_by_key(op, &options);
    }
    let (keys, values) = (Input::of(keys)?, Input::of(values)?);
    let by = keys.layout()?;
    let run = |device, op, array: ArrayRef<'_>, options: &Options<'_>| reduce_by_key_on(device, op, by, array, options);
    let (found, results) = keyed.reduced(&values, op, run)?;
    let both = [keys.result(keys.py(), found, None)?, values.result(keys.py(), results, None)?];
    Ok(PyTuple::new(keys.py(), both)?.into_any())
}

/// Adds the functions of this folder.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(segmented, module)?)?;
    module.add_function(wrap_pyfunction!(group_by, module)?)?;
    module.add_function(wrap_pyfunction!(reduce_by_key, module)?)?;
    bins::add(module)
}
