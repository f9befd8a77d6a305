//! Cross-entropy of logits, and classes or distributions over them.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use warpfold::cuda;
use warpfold::cuda::rows::{RowArrays, RowMap};
use warpfold::rows::{self, CrossEntropy};
use warpfold::{ArrayMut, ArrayRef, Meeting, RowError};

use super::call::{Object, computed, host, layout, optional, reduction, text};
use crate::gpu::{GpuRows, Wanted};
use crate::{error, pool};

#[doc = text!(
    "The cross-entropy of rows of logits and the class of each row: its logsumexp less the logit of the class.",
    [logits targets classes class_options],
    "scalar or array\n    The loss, or that of each row, in the dtype of the logits. The mean of no rows is NaN.",
    ">>> bool(wf.cross_entropy([[0.0, 0.0], [3.0, 3.0]], [1, 0]) == np.log(2.0))\nTrue\n\
     >>> bool(wf.cross_entropy([[0.0, 1000.0]], [0], reduction=\"sum\") == 1000)\nTrue\n\
     >>> bool(wf.cross_entropy([[0.0, 0.0]], [[0.25, 0.75]]) == np.log(2.0))\nTrue\n"
)]
#[pyfunction]
#[pyo3(signature = (
    logits, targets, axis=-1, *, ignore_index=-100, label_smoothing=0.0, weight=None, reduction="mean"
))]
fn cross_entropy<'py>(
    logits: &Bound<'py, PyAny>,
    targets: &Bound<'py, PyAny>,
    axis: isize,
    ignore_index: i64,
    label_smoothing: f64,
    weight: Object<'_, 'py>,
    reduction: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let (input, targets, weight) = (host(logits)?, host(targets)?, optional(weight)?);
    let (logits, targets, weights) = (input.layout()?, targets.layout()?, layout(&weight)?);
    let (ignore, smoothing, reduction) = (ignore_index, label_smoothing, self::reduction(reduction)?);
    computed(&input, &logits, |threads| {
        let options = CrossEntropy { ignore, smoothing, weights, reduction, gradient: None, threads };
        rows::cross_entropy(logits, targets, axis, &options)
    })
}

/// The loss, the gradient of the logits and the logsumexp of each row. The docstring is Python's, in `warpfold._rows`,
/// which has found that `out`, where the gradient goes, can be written to.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
fn cross_entropy_gradient<'py>(
    logits: &Bound<'py, PyAny>,
    targets: &Bound<'py, PyAny>,
    axis: isize,
    ignore: i64,
    smoothing: f64,
    weight: Object<'_, 'py>,
    reduction: &str,
    gradient: Object<'_, 'py>,
    out: Object<'_, 'py>,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = logits.py();
    let (input, targets, place) = (host(logits)?, host(targets)?, optional(out)?);
    let (weight, gradient) = (optional(weight)?, optional(gradient)?);
    let (logits, targets) = (input.layout()?, targets.layout()?);
    let (weights, gradient, reduction) = (layout(&weight)?, layout(&gradient)?, self::reduction(reduction)?);
    let to = layout(&place)?.map(|to| To::of(py, &to, &logits, &targets)).transpose()?;
    let (loss, gradient, logsumexp) = pool::run(py, logits.len(), |how| {
        let options = CrossEntropy { ignore, smoothing, weights, reduction, gradient, threads: how.threads };
        let found = match to {
            None => {
                let found = rows::cross_entropy_gradient(logits, targets, axis, &options)?;
                return Ok((found.loss, Some(found.gradient), found.logsumexp));
            }
            Some(To::InPlace(logits)) => rows::cross_entropy_in_place(logits, targets, axis, &options)?,
            Some(To::Elsewhere(to)) => rows::cross_entropy_gradient_into(logits, targets, axis, &options, to)?,
        };
        Ok((found.loss, None, found.logsumexp))
    })?;
    let [loss, logsumexp] = [loss, logsumexp].map(|array| input.result(py, array, None));
    let gradient = gradient.map(|array| input.result(py, array, None)).transpose()?;
    PyTuple::new(py, [Some(loss?), gradient, Some(logsumexp?)])
}

/// Where a gradient is written.
enum To<'a> {
    /// Over the logits.
    InPlace(ArrayMut<'a>),
    /// To memory that no argument has.
    Elsewhere(ArrayMut<'a>),
}

impl<'a> To<'a> {
    /// An array that can be written to.
    ///
    /// # Errors
    /// TypeError for another byte order; ValueError for elements that share memory, and for arrays that do.
    fn of(py: Python<'_>, to: &ArrayRef<'a>, logits: &ArrayRef<'_>, targets: &ArrayRef<'_>) -> PyResult<Self> {
        const OP: &str = "cross_entropy_gradient";
        if to.is_swapped() {
            return Err(PyTypeError::new_err(format!("{OP}: out must be in this machine's byte order")));
        }
        // SAFETY: the caller has found that the array, which is held, can be written to. If another thread uses it
        // meanwhile, the numbers are unspecified, as with NumPy.
        let to = unsafe { ArrayMut::from_raw(to.base().cast_mut(), to.dtype(), to.shape(), to.strides()) };
        let to = to.map_err(|e| error::of(py, &e))?;
        let overlap = |what| Err(error::of(py, &RowError::Overlap { op: OP, what }.into()));
        // Other arrays have been read before a gradient is written.
        if to.meets(targets) != Meeting::Apart && targets.dtype().is_float() {
            return overlap("the targets");
        }
        match to.meets(logits) {
            Meeting::Apart => Ok(Self::Elsewhere(to)),
            Meeting::Same => Ok(Self::InPlace(to)),
            Meeting::Overlap => overlap("the logits"),
        }
    }
}

/// Of arrays on a GPU the loss of each row and what follows from rows, or, if that is given as `noted`, the gradient of
/// the logits; or the loss of each row and the gradient, if only `scales` are given: as
/// `warpfold::cuda::rows::cross_entropy`, for `warpfold.torch`.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
fn cross_entropy_rows<'py>(
    logits: &Bound<'py, PyAny>,
    targets: &Bound<'py, PyAny>,
    axis: isize,
    ignore: i64,
    weight: Object<'_, 'py>,
    scales: Object<'_, 'py>,
    noted: Object<'_, 'py>,
) -> PyResult<Bound<'py, PyTuple>> {
    const OP: &str = "cross_entropy";
    let others = [None, weight, None, None, Some(targets), scales, noted];
    let on = GpuRows::of(OP, logits, others)?.ok_or_else(|| PyTypeError::new_err(format!("{OP}: not on a GPU")))?;
    let gradient = noted.is_some() || scales.is_some();
    let wanted = match (noted, scales) {
        (Some(_), _) => [Some(Wanted::Elements), None],
        (None, Some(_)) => [Wanted::Losses, Wanted::Elements].map(Some),
        (None, None) => [Wanted::Losses, Wanted::Noted].map(Some),
    };
    let found = classes_on_gpu(&on, axis, ignore, gradient, wanted)?;
    PyTuple::new(logits.py(), found)
}

/// Writes the gradient that [`cross_entropy_rows`] has computed for the number `used` anew, if `scale` is another one.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
fn cross_entropy_again<'py>(
    logits: &Bound<'py, PyAny>,
    targets: &Bound<'py, PyAny>,
    axis: isize,
    ignore: i64,
    weight: Object<'_, 'py>,
    scale: &Bound<'py, PyAny>,
    used: &Bound<'py, PyAny>,
    out: &Bound<'py, PyAny>,
) -> PyResult<()> {
    const OP: &str = "cross_entropy";
    let others = [None, weight, None, None, Some(targets), Some(scale), None];
    let on = GpuRows::of(OP, logits, others)?.ok_or_else(|| PyTypeError::new_err(format!("{OP}: not on a GPU")))?;
    let [] = classes_on_gpu(&on.again(out, used)?, axis, ignore, true, [])?;
    Ok(())
}

/// Queues cross-entropy of arrays on a GPU.
fn classes_on_gpu<'py, const N: usize>(
    on: &GpuRows<'py>,
    axis: isize,
    ignore: i64,
    gradient: bool,
    wanted: [Option<Wanted>; N],
) -> PyResult<[Option<Bound<'py, PyAny>>; N]> {
    // The ignored class as it is, in the bits of a number.
    let numbers = [f64::from_bits(ignore.cast_unsigned()), 0.0];
    on.results(vec![axis], numbers, wanted, |device, logits, _, arrays| {
        let &RowArrays { weight: weights, scales, noted, .. } = arrays;
        let targets = arrays.targets.expect("they were given");
        let options = cuda::rows::CrossEntropy { ignore, weights, scales, gradient, noted };
        RowMap::cross_entropy(device, logits, &targets, &[axis], &options)
    })
}

/// Adds the functions of this file.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(cross_entropy, module)?)?;
    module.add_function(wrap_pyfunction!(cross_entropy_rows, module)?)?;
    module.add_function(wrap_pyfunction!(cross_entropy_again, module)?)?;
    module.add_function(wrap_pyfunction!(cross_entropy_gradient, module)?)
}
