//! `top_k` of arrays on a GPU: queued on the current stream of the library that has them, without waiting, with results
//! in memory of that library, as reductions are.

use pyo3::prelude::*;
use warpfold::DType;
use warpfold::cuda::select::Selection;

use super::array::{GpuArray, Place};
use super::cache;

/// The first `k` elements along an axis, and their indices.
///
/// # Errors
/// As [`warpfold::cuda::select::top_k`].
pub fn selected<'py>(
    x: &GpuArray<'py>,
    k: usize,
    axis: isize,
    largest: bool,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let py = x.of.py();
    let stream = cache::stream(x)?;
    let view = x.view()?;
    let key = (x.device, cache::layout(x), k, axis, largest);
    let selection = cache::selection(py, key, |device| Selection::top_k(device, &view, k, axis, largest))?;
    let values = x.place(&stream, selection.shape(), selection.dtype())?;
    let indices = x.place(&stream, selection.shape(), DType::I64)?;
    let to = [values.address, indices.address];
    let [values, indices] = Place::filled([Some(values), Some(indices)], x, &stream, [x].into_iter(), || {
        // SAFETY: there is room for results of this shape and these dtypes in C order, which nobody else knows yet. The
        // library frees memory in the order of the stream.
        unsafe { selection.run_at(&stream, view, to[0], to[1]) }
    })?;
    Ok((values.expect("it was asked for"), indices.expect("they were asked for")))
}
