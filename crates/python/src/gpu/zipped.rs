//! Losses, dot products and cosines of arrays on a GPU: queued on the current stream of the library that has them,
//! without waiting, with results in memory of that library, as reductions are.

use pyo3::prelude::*;
use warpfold::Error;
use warpfold::cuda::rows::{Pairs, Zipped};
use warpfold::cuda::{ArrayView, Device};

use super::array::{GpuArray, Place};
use super::cache::{self, ZipKey};

/// Two arrays on a GPU, and perhaps the gradient of the result.
pub struct GpuPairs<'py> {
    op: &'static str,
    x: GpuArray<'py>,
    y: GpuArray<'py>,
    gradient: Option<GpuArray<'py>>,
}

impl<'py> GpuPairs<'py> {
    /// The arrays of a call. `None` if the first is not on a GPU.
    ///
    /// # Errors
    /// TypeError if another array is not on a GPU, ValueError if it is on another one.
    pub fn of(
        op: &'static str,
        x: &Bound<'py, PyAny>,
        y: &Bound<'py, PyAny>,
        gradient: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<Self>> {
        let Some(x) = GpuArray::of(x)? else { return Ok(None) };
        let y = x.beside(op, "second array", y)?;
        let gradient = gradient.map(|gradient| x.beside(op, "gradient", gradient)).transpose()?;
        Ok(Some(Self { op, x, y, gradient }))
    }

    /// Queues the operation, which `plan` prepares if it is the first of its kind, of these axes, and of options that
    /// these numbers tell apart.
    ///
    /// # Errors
    /// As those of `plan`, and what the driver says.
    pub fn run(
        &self,
        axes: Option<Vec<isize>>,
        numbers: [u64; 2],
        plan: impl FnOnce(&Device, &ArrayView<'_>, &ArrayView<'_>, &Pairs<'_>) -> Result<Zipped, Error> + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (x, py) = (&self.x, self.x.of.py());
        let stream = cache::stream(x)?;
        let others = || [Some(&self.y), self.gradient.as_ref()].into_iter().flatten();
        cache::wait_for(x, others())?;
        let key = ZipKey {
            op: self.op,
            device: x.device,
            axes,
            numbers,
            arrays: [Some(x), Some(&self.y), self.gradient.as_ref()].map(|array| array.map(cache::layout)),
        };
        let (a, b) = (x.view()?, self.y.view()?);
        let gradient = self.gradient.as_ref().map(GpuArray::view).transpose()?;
        let zipped = cache::zipped(py, key, |device, axes| plan(device, &a, &b, &Pairs { axes, gradient }))?;
        let to = x.place(&stream, zipped.shape(), zipped.dtype())?;
        let address = to.address;
        let [result] = Place::filled([Some(to)], x, &stream, others().chain([x]), || {
            // SAFETY: the library has made room for an array of this shape and dtype in C order, which nobody else
            // knows yet, or Warpfold has. The library frees memory in the order of the stream.
            unsafe { zipped.run_at(&stream, a, b, gradient, address) }
        })?;
        Ok(result.expect("it was asked for"))
    }
}
