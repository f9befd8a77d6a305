//! Reductions by key: segments, groups, runs; and beside them distinct values and histograms.

mod bins;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use warpfold::{
    ArrayRef, DType, DeviceName, Error, GroupLabels, Groups, Op, Options, Scalar, Segments, group_by_on,
    group_first_on, group_last_on, group_sizes_on, reduce_by_key_on, segmented_on,
};

use crate::input::Input;
use crate::options::{self, Count, Keywords, scalar, value};
use crate::pool;
use crate::reduce::mask;

/// What is computed of each group.
#[derive(Clone, Copy)]
enum Of {
    /// A reduction, and whether it skips NaN.
    Op(Op, bool),
    First,
    Last,
    Size,
}

impl Of {
    fn named(name: &str) -> PyResult<Self> {
        Ok(match name {
            "first" => Self::First,
            "last" => Self::Last,
            "size" => Self::Size,
            _ => {
                let (op, skip) = options::op(name)?;
                Self::Op(op, skip)
            }
        })
    }
}

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

    fn device(&self, py: Python<'_>) -> PyResult<DeviceName> {
        Ok(self.options.given()?.device(py)?.unwrap_or(DeviceName::Cpu))
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
///     As those of the reduction.
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
    let (values, offsets) = (Input::of(values)?, Input::of(offsets)?);
    let result = keyed.options.given()?.result(options::op(op)?.0, values.layout()?.dtype())?;
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
///     As those of the reduction.
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
        keyed.fill_of(match of {
            Of::Op(op, _) => keyed.options.given()?.result(op, array.dtype())?,
            Of::First | Of::Last => array.dtype(),
            Of::Size => DType::I64,
        })?;
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
    let Some(op) = op else { return one("sum", None) };
    if let Ok(name) = op.cast::<PyString>() {
        return one(&name.to_cow()?, None);
    }
    let names: Vec<String> = op.extract().map_err(|_| PyTypeError::new_err("op must be a name, or a list of names"))?;
    // Several share one sort, which the CPU does.
    let sorted = match device {
        DeviceName::Cuda(_) => None,
        _ => Some(pool::run(py, labels.len(), |_| {
            Ok(fill.into_iter().fold(Groups::new(labels, num_groups)?, Groups::fill))
        })?),
    };
    let all = PyDict::new(py);
    for name in names {
        all.set_item(&name, one(&name, sorted.as_ref())?)?;
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
///     As those of the reduction.
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
    let (keys, values) = (Input::of(keys)?, Input::of(values)?);
    let by = keys.layout()?;
    let run = |device, op, array: ArrayRef<'_>, options: &Options<'_>| reduce_by_key_on(device, op, by, array, options);
    let (found, results) = Keyed::of(keywords)?.reduced(&values, op, run)?;
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
