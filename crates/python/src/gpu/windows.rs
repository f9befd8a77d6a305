//! Pooling of arrays on a GPU: queued on the current stream of the library that has them, without waiting, with results
//! in memory of that library, as reductions are.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use warpfold::cuda::pool::Pooled;
use warpfold::cuda::{ArrayView, Device};
use warpfold::pool::Pool;
use warpfold::{DType, Error};

use super::array::{GpuArray, Place};
use super::cache::{self, PoolKey};

/// Two results, of which the second may be left out.
type Two<'py> = (Bound<'py, PyAny>, Option<Bound<'py, PyAny>>);

/// Pools an array, as `plan` prepares it for the array and the indices of a gradient, if it is the first call of its
/// kind: of this name, these options, and the size of what a gradient is of. The indices of the results are the second
/// result, if they are wanted.
///
/// # Errors
/// TypeError and ValueError for indices that are not on the GPU of the array; as those of `plan`; what the driver says.
pub fn pooled<'py>(
    (op, options, size): (&'static str, &Pool<'_>, &[usize]),
    x: &GpuArray<'py>,
    indices: Option<&Bound<'py, PyAny>>,
    wants_indices: bool,
    plan: impl FnOnce(&Device, &ArrayView<'_>, Option<&ArrayView<'_>>) -> Result<Pooled, Error> + Send,
) -> PyResult<Two<'py>> {
    let py = x.of.py();
    let indices = indices.map(|indices| beside(x, indices)).transpose()?;
    let stream = cache::stream(x)?;
    cache::wait_for(x, indices.iter())?;
    let (view, of_indices) = (x.view()?, indices.as_ref().map(GpuArray::view).transpose()?);
    let &Pool { kernel_size, stride, padding, dilation, ceil_mode, count_include_pad, divisor_override, .. } = options;
    let key = PoolKey {
        op,
        device: x.device,
        numbers: [kernel_size, stride, padding, dilation, size].map(<[usize]>::to_vec),
        flags: [ceil_mode, count_include_pad, wants_indices],
        divisor: divisor_override,
        arrays: [Some(cache::layout(x)), indices.as_ref().map(cache::layout)],
    };
    let pooled = cache::windows(py, key, |device| plan(device, &view, of_indices.as_ref()))?;
    let values = x.place(&stream, pooled.shape(), pooled.dtype())?;
    let places = wants_indices.then(|| x.place(&stream, pooled.shape(), DType::I64)).transpose()?;
    let to = [values.address, places.as_ref().map_or(0, |places| places.address)];
    let read = [Some(x), indices.as_ref()].into_iter().flatten();
    let [values, places] = Place::filled([Some(values), places], x, &stream, read, || {
        // SAFETY: there is room for results of this shape and these dtypes in C order, which nobody else knows yet. The
        // library frees memory in the order of the stream.
        unsafe { pooled.run_at(&stream, view, of_indices, to[0], to[1]) }
    })?;
    Ok((values.expect("they were asked for"), places))
}

/// Indices on the GPU of an array.
fn beside<'py>(x: &GpuArray<'py>, indices: &Bound<'py, PyAny>) -> PyResult<GpuArray<'py>> {
    let found = GpuArray::of(indices)?.ok_or_else(|| {
        PyTypeError::new_err("the gradient is on a GPU, and the indices are not: move them there, too")
    })?;
    if found.device != x.device {
        let text = format!("the gradient is on cuda:{}, the indices on cuda:{}", x.device, found.device);
        return Err(PyValueError::new_err(text));
    }
    Ok(found)
}
