//! `top_k` of arrays on a GPU: queued on the current stream of the library that has them, without waiting, with results
//! in memory of that library, as reductions are.

use std::sync::Arc;

use pyo3::prelude::*;
use warpfold::DType;
use warpfold::cuda::select::Selection;

use super::array::GpuArray;
use super::cache;
use crate::pool;

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
    let places = x.place(&stream, selection.shape(), DType::I64)?;
    let is_own = values.is_own() || places.is_own();
    let to = [values.address, places.address];
    pool::detached(py, || {
        // SAFETY: there is room for results of this shape and these dtypes in C order, which nobody else knows yet. The
        // library frees memory in the order of the stream.
        unsafe { selection.run_at(&stream, view, to[0], to[1]) }?;
        if is_own { Ok(stream.synchronize()?) } else { Ok(()) }
    })?;
    let results = (values.lent(x)?, places.lent(x)?);
    x.keep(&Arc::clone(&stream))?;
    Ok(results)
}
