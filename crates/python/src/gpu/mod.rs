//! Arrays on a GPU: reduced there, on the current stream of the library that has them, without waiting. The result is
//! an array of that library, in memory of that library.
//!
//! Only two kinds of calls wait: reductions some of whose outputs may have no value, since that is an error; and those
//! of libraries whose memory Warpfold cannot allocate.

mod array;
mod cache;
mod channels;
mod describe;
mod keys;
mod kmeans;
mod rows;
mod selected;
mod torch;
mod windows;
mod zipped;

use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBool;
use warpfold::Op;
use warpfold::cuda::{ArrayView, Reduction, Stream};

use crate::options::Given;
use crate::pool;

pub use array::GpuArray;
pub use channels::{GpuChannels, OfChannels};
pub use keys::Together;
pub use rows::{GpuRows, Wanted};
pub use selected::selected;
pub use windows::pooled;
pub use zipped::GpuPairs;

/// Reduces an array on a GPU.
pub fn reduce<'py>(
    array: &GpuArray<'py>,
    op: Op,
    skip_nan: bool,
    given: &Given<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = array.of.py();
    array.stays(given.device(py)?)?;
    let mask = given.r#where.filter(|mask| !mask.cast::<PyBool>().is_ok_and(|mask| mask.is_true()));
    let mask = match mask.map(GpuArray::of).transpose()? {
        Some(None) => return Err(PyTypeError::new_err("the array is on a GPU: its mask must be there, too")),
        mask => mask.flatten(),
    };
    let options = given.options(op, array.dtype, skip_nan)?;
    let prepared = cache::Prepared { op, array, mask: mask.as_ref(), options: &options };
    let (stream, reduction) = (cache::stream(array)?, prepared.reduction()?);
    let result = queued(array, mask.as_ref(), &stream, reduction)?;
    for read in [Some(array), mask.as_ref()].into_iter().flatten() {
        read.keep(&stream)?;
    }
    if op != Op::MinMax && given.out.is_none() {
        return Ok(result);
    }
    let gpu = py.import(intern!(py, "warpfold._gpu"))?;
    let result = if op == Op::MinMax { gpu.call_method1("halves", (result,))? } else { result };
    match given.out {
        None => Ok(result),
        Some(out) => gpu.call_method1("store", (out, result)),
    }
}

/// Queues a reduction into new memory of the array's library.
fn queued<'py>(
    array: &GpuArray<'py>,
    mask: Option<&GpuArray<'py>>,
    stream: &Arc<Stream>,
    reduction: Arc<Reduction>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = array.of.py();
    let (view, mask) = (array.view()?, mask.map(GpuArray::view).transpose()?);
    let Some((result, address)) = array.room(reduction.shape(), reduction.dtype())? else {
        return in_own_memory(array, &view, mask, stream, &reduction);
    };
    // SAFETY: the library has made room for an array of this shape and dtype in C order, which nobody else knows yet.
    // The library frees memory in the order of the stream.
    pool::detached(py, || unsafe { reduction.run_at(stream, view, mask, address) })?;
    Ok(result)
}

/// Reduces into memory of Warpfold's own, which the array's library then reads by DLPack.
fn in_own_memory<'py>(
    array: &GpuArray<'py>,
    view: &ArrayView<'_>,
    mask: Option<ArrayView<'_>>,
    stream: &Arc<Stream>,
    reduction: &Reduction,
) -> PyResult<Bound<'py, PyAny>> {
    let py = array.of.py();
    let out = pool::detached(py, || {
        let mut out = reduction.output()?;
        reduction.run(stream, *view, mask, &mut out)?;
        // The library reads the result on streams that are not known here: this waits. Some outputs may have no value.
        out.check(stream)?;
        Ok(out)
    })?;
    array.lend(out)
}
