//! Operations on rows of arrays on a GPU: queued on the current stream of the library that has them, without waiting,
//! with results in memory of that library, as reductions are.

use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBool;
use warpfold::Error;
use warpfold::cuda::rows::{RowArrays, RowMap};
use warpfold::cuda::{ArrayView, Device};

use super::array::GpuArray;
use super::cache::{self, RowKey};
use crate::pool;

/// An operation on rows that are on a GPU.
pub struct GpuRows<'py> {
    op: &'static str,
    x: GpuArray<'py>,
    /// The mask, the weights, the biases, the gradient.
    others: [Option<GpuArray<'py>>; 4],
}

/// An array that may be left out.
type Given<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

impl<'py> GpuRows<'py> {
    /// The arrays of a call: its elements, and the mask, the weights, the biases and the gradient, as far as there are
    /// any. `None` if the elements are not on a GPU.
    ///
    /// # Errors
    /// TypeError if another array is not on a GPU, ValueError if it is on another one.
    pub fn of(op: &'static str, x: &Bound<'py, PyAny>, others: [Given<'_, 'py>; 4]) -> PyResult<Option<Self>> {
        let Some(x) = GpuArray::of(x)? else { return Ok(None) };
        let mut found = [const { None }; 4];
        for ((found, what), given) in found.iter_mut().zip(["mask", "weight", "bias", "gradient"]).zip(others) {
            let is_true = |given: &&Bound<'py, PyAny>| given.cast::<PyBool>().is_ok_and(|given| given.is_true());
            let Some(given) = given.filter(|given| what != "mask" || !is_true(given)) else { continue };
            let array = GpuArray::of(given)?.ok_or_else(|| {
                PyTypeError::new_err(format!("{op}: the array is on a GPU, and its {what} is not: move it there, too"))
            })?;
            if array.device != x.device {
                let text = format!("{op}: the array is on cuda:{}, its {what} on cuda:{}", x.device, array.device);
                return Err(PyValueError::new_err(text));
            }
            *found = Some(array);
        }
        Ok(Some(Self { op, x, others: found }))
    }

    /// The number of axes of the elements.
    pub fn rank(&self) -> usize {
        self.x.shape.len()
    }

    /// Queues the operation, which `plan` prepares if it is the first of its kind, of these axes and numbers.
    ///
    /// # Errors
    /// As those of `plan`, and what the driver says.
    pub fn run(
        &self,
        axes: Vec<isize>,
        numbers: [f64; 2],
        plan: impl FnOnce(&Device, &ArrayView<'_>, &[isize], &RowArrays<'_>) -> Result<RowMap, Error> + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (x, py) = (&self.x, self.x.of.py());
        let stream = cache::stream(x)?;
        for other in self.others.iter().flatten().filter(|other| other.stream != x.stream) {
            // An array of another library.
            let stream = cache::stream(other)?;
            pool::detached(py, || Ok(stream.synchronize()?))?;
        }
        let view = |array: &Option<GpuArray<'py>>| array.as_ref().map(|array| cache::layout(array));
        let key = RowKey {
            op: self.op,
            device: x.device,
            axes,
            numbers: numbers.map(f64::to_bits),
            x: cache::layout(x),
            others: self.others.each_ref().map(view),
        };
        let elements = x.view()?;
        let mut views = [None; 4];
        for (view, array) in views.iter_mut().zip(&self.others) {
            *view = array.as_ref().map(GpuArray::view).transpose()?;
        }
        let [mask, weight, bias, gradient] = views;
        let arrays = RowArrays { mask, weight, bias, gradient };
        let map = cache::row_map(py, key, |device, axes| plan(device, &elements, axes, &arrays))?;
        let result = match x.room(map.shape(), map.dtype())? {
            Some((result, address)) => {
                // SAFETY: the library has made room for an array of this shape and dtype in C order, which nobody else
                // knows yet. The library frees memory in the order of the stream.
                pool::detached(py, || Ok(unsafe { map.run_at(&stream, elements, &arrays, address) }?))?;
                result
            }
            None => {
                let out = pool::detached(py, || {
                    let mut out = map.output()?;
                    map.run(&stream, elements, &arrays, &mut out)?;
                    // The library reads the result on streams that are not known here.
                    stream.synchronize()?;
                    Ok(out)
                })?;
                x.lend(out)?
            }
        };
        for read in self.others.iter().flatten().chain([x]) {
            read.keep(&Arc::clone(&stream))?;
        }
        Ok(result)
    }
}
