//! Operations on rows of arrays on a GPU: queued on the current stream of the library that has them, without waiting,
//! with results in memory of that library, as reductions are.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBool;
use std::ops::Range;

use warpfold::cuda::rows::{RowAddresses, RowArrays, RowMap};
use warpfold::cuda::{ArrayView, Device};
use warpfold::{DType, Error};

use super::array::{GpuArray, Place, views};
use super::cache::{self, RowKey};

/// The arrays beside the elements, by name.
const OTHERS: [&str; 7] = ["mask", "weight", "bias", "gradient", "targets", "scales", "noted"];

/// An operation on rows that are on a GPU.
pub struct GpuRows<'py> {
    op: &'static str,
    x: GpuArray<'py>,
    /// As [`OTHERS`].
    others: [Option<GpuArray<'py>>; OTHERS.len()],
    /// Elements of an earlier result, and the number of [`RowAddresses::used`].
    there: Option<[GpuArray<'py>; 2]>,
}

/// The addresses from an array's first byte to its last one, in memory.
fn span(array: &GpuArray<'_>) -> PyResult<Range<u64>> {
    let (mut start, mut end) = (array.view()?.address(), array.view()?.address() + array.dtype.size() as u64);
    for (&len, &step) in array.shape.iter().zip(&array.strides) {
        let reach = (len.max(1) as i64 - 1) * step as i64;
        if reach < 0 { start = start.wrapping_add_signed(reach) } else { end = end.wrapping_add_signed(reach) }
    }
    Ok(if array.shape.contains(&0) { start..start } else { start..end })
}

/// A result of an operation on rows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Like the elements.
    Elements,
    /// The gradient of the weights.
    Weight,
    /// The gradient of the biases.
    Bias,
    /// The losses of rows.
    Losses,
    /// What follows from rows, for a later call.
    Noted,
}

/// An array that may be left out.
type Given<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

impl<'py> GpuRows<'py> {
    /// The arrays of a call: its elements, and as many of [`OTHERS`], as far as there are any. `None` if the elements
    /// are not on a GPU.
    ///
    /// # Errors
    /// TypeError if another array is not on a GPU, ValueError if it is on another one.
    pub fn of<const N: usize>(
        op: &'static str,
        x: &Bound<'py, PyAny>,
        others: [Given<'_, 'py>; N],
    ) -> PyResult<Option<Self>> {
        let Some(x) = GpuArray::of(x)? else { return Ok(None) };
        let mut found = [const { None }; OTHERS.len()];
        for ((found, what), given) in found.iter_mut().zip(OTHERS).zip(others) {
            let is_true = |given: &&Bound<'py, PyAny>| given.cast::<PyBool>().is_ok_and(|given| given.is_true());
            let Some(given) = given.filter(|given| what != "mask" || !is_true(given)) else { continue };
            *found = Some(x.beside(op, what, given)?);
        }
        Ok(Some(Self { op, x, others: found, there: None }))
    }

    /// The same into the elements of an earlier result, an array in C order, unless the number with which that was
    /// computed is that of the scales.
    ///
    /// # Errors
    /// TypeError if an array is not on a GPU, ValueError if it is not like that.
    pub fn again(self, out: &Bound<'py, PyAny>, used: &Bound<'py, PyAny>) -> PyResult<Self> {
        let not_there = || PyTypeError::new_err(format!("{}: an earlier result is not on a GPU", self.op));
        let there = [GpuArray::of(out)?.ok_or_else(not_there)?, GpuArray::of(used)?.ok_or_else(not_there)?];
        let wide = if self.x.dtype == DType::F64 { DType::F64 } else { DType::F32 };
        let is_number = |array: &GpuArray<'_>| array.shape.is_empty() && array.dtype == wide;
        let like = |array: &GpuArray<'_>| (array.device, array.stream, array.dtype, array.shape.clone());
        let is_result = like(&there[0]) == like(&self.x) && there[0].is_dense();
        let written = span(&there[0])?;
        let mut meets = false;
        for read in self.others.iter().flatten().chain([&self.x, &there[1]]) {
            let read = span(read)?;
            meets |= read.start < written.end && written.start < read.end;
        }
        let of_all = self.others[5].as_ref().is_some_and(is_number);
        if !is_result || meets || !of_all || !is_number(&there[1]) || there[1].device != self.x.device {
            let text = format!(
                "{}: an earlier result, apart from all that is read, and two numbers of {wide} are needed",
                self.op
            );
            return Err(PyValueError::new_err(text));
        }
        Ok(Self { there: Some(there), ..self })
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
        let [result] = self.results(axes, numbers, [Some(Wanted::Elements)], plan)?;
        Ok(result.expect("it was asked for"))
    }

    /// The same with several results, as far as they are wanted. The gradient of an array that there is not is none.
    ///
    /// # Errors
    /// As [`GpuRows::run`].
    pub fn results<const N: usize>(
        &self,
        axes: Vec<isize>,
        numbers: [f64; 2],
        wanted: [Option<Wanted>; N],
        plan: impl FnOnce(&Device, &ArrayView<'_>, &[isize], &RowArrays<'_>) -> Result<RowMap, Error> + Send,
    ) -> PyResult<[Option<Bound<'py, PyAny>>; N]> {
        let (x, py) = (&self.x, self.x.of.py());
        let stream = cache::stream(x)?;
        cache::wait_for(x, self.others.iter().flatten())?;
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
        let [mask, weight, bias, gradient, targets, scales, noted] = views(&self.others)?;
        let arrays = RowArrays { mask, weight, bias, gradient, targets, scales, noted };
        let map = cache::row_map(py, key, |device, axes| plan(device, &elements, axes, &arrays))?;
        let mut to = RowAddresses::default();
        if let Some([out, used]) = &self.there {
            to = RowAddresses { x: out.view()?.address(), used: used.view()?.address(), ..to };
        }
        let places = x.places(&stream, wanted.map(|wanted| self.like(&map, wanted?)))?;
        for (wanted, place) in wanted.into_iter().zip(&places) {
            let (Some(wanted), Some(&Place { address, .. })) = (wanted, place.as_ref()) else { continue };
            match wanted {
                Wanted::Elements => to.x = address,
                Wanted::Weight => to.weight = address,
                Wanted::Bias => to.bias = address,
                Wanted::Losses => to.losses = address,
                Wanted::Noted => to.noted = address,
            }
        }
        let read = self.others.iter().flatten().chain([x]).chain(self.there.iter().flatten());
        Place::filled(places, x, &stream, read, || {
            // SAFETY: the library has made room for arrays of these shapes and dtypes in C order, which nobody else
            // knows yet, or Warpfold has. The library frees memory in the order of the stream.
            Ok(unsafe { map.run_into(&stream, elements, &arrays, &to) }?)
        })
    }

    /// The shape and the dtype of a result.
    fn like(&self, map: &RowMap, wanted: Wanted) -> Option<(Vec<usize>, DType)> {
        let factor = |i: usize| self.others[i].as_ref().map(|array| (array.shape.clone(), array.dtype));
        match wanted {
            Wanted::Elements => Some((map.shape().to_vec(), map.dtype())),
            Wanted::Weight => factor(1),
            Wanted::Bias => factor(2),
            Wanted::Losses => Some((map.batch().to_vec(), map.dtype_of_losses())),
            Wanted::Noted => Some((map.shape_of_noted(), map.dtype_of_losses())),
        }
    }
}
