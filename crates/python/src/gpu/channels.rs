//! Norms of channels of arrays on a GPU: queued on the current stream of the library that has them, without waiting,
//! with results in memory of that library, as reductions are.

use pyo3::prelude::*;
use warpfold::cuda::rows::{ChannelAddresses, ChannelArrays, ChannelMap};
use warpfold::cuda::{ArrayView, Device};
use warpfold::{DType, Error};

use super::array::{GpuArray, Place, views};
use super::cache::{self, ChannelKey};

/// An array that may be left out.
type Given<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// What the arrays beside the elements are.
const OTHERS: [&str; 5] = ["gradient", "weight", "bias", "mean", "variance"];

/// A norm of channels that are on a GPU.
pub struct GpuChannels<'py> {
    op: &'static str,
    x: GpuArray<'py>,
    /// As [`OTHERS`].
    others: [Option<GpuArray<'py>>; OTHERS.len()],
}

/// A result of a norm of channels.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum OfChannels {
    /// Like the elements.
    Elements,
    /// The mean of each channel.
    Mean,
    /// The variance.
    Variance,
    /// Both of each group of each sample.
    Noted,
    /// The gradient of the weights.
    Weight,
    /// The gradient of the biases.
    Bias,
}

impl<'py> GpuChannels<'py> {
    /// The arrays of a call: its elements and [`OTHERS`], as far as there are any. `None` if the elements are not on a
    /// GPU.
    ///
    /// # Errors
    /// TypeError if another array is not on a GPU, ValueError if it is on another one.
    pub fn of(
        op: &'static str,
        x: &Bound<'py, PyAny>,
        others: [Given<'_, 'py>; OTHERS.len()],
    ) -> PyResult<Option<Self>> {
        let Some(x) = GpuArray::of(x)? else { return Ok(None) };
        let mut found = [const { None }; OTHERS.len()];
        for ((found, what), given) in found.iter_mut().zip(OTHERS).zip(others) {
            *found = given.map(|given| x.beside(op, what, given)).transpose()?;
        }
        Ok(Some(Self { op, x, others: found }))
    }

    /// The shape and the dtype of a result.
    fn like(&self, map: &ChannelMap, wanted: OfChannels) -> Option<(Vec<usize>, DType)> {
        let factor = |i: usize| self.others[i].as_ref().map(|array| (array.shape.clone(), array.dtype));
        match wanted {
            OfChannels::Elements => Some((map.shape().to_vec(), map.dtype())),
            OfChannels::Mean | OfChannels::Variance => Some((vec![map.channels()], map.dtype_of_statistics())),
            OfChannels::Noted => Some((map.shape_of_noted()?.to_vec(), map.dtype_of_statistics())),
            OfChannels::Weight => factor(1),
            OfChannels::Bias => factor(2),
        }
    }

    /// What group norm has noted, which is in the place of means.
    ///
    /// # Errors
    /// If it is no array of floats.
    pub fn noted(&self) -> PyResult<Option<ArrayView<'_>>> {
        self.others[3].as_ref().map(GpuArray::view).transpose()
    }

    /// Queues the norm, which `plan` prepares if it is the first of its kind: of so many groups, or along this axis,
    /// and with these numbers. The gradient of an array that there is not is none.
    ///
    /// # Errors
    /// As those of `plan`, and what the driver says.
    pub fn results<const N: usize>(
        &self,
        of: isize,
        numbers: [f64; 2],
        wanted: [Option<OfChannels>; N],
        plan: impl FnOnce(&Device, &ArrayView<'_>, &ChannelArrays<'_>) -> Result<ChannelMap, Error> + Send,
    ) -> PyResult<[Option<Bound<'py, PyAny>>; N]> {
        let (x, py) = (&self.x, self.x.of.py());
        let stream = cache::stream(x)?;
        cache::wait_for(x, self.others.iter().flatten())?;
        let key = ChannelKey {
            op: self.op,
            device: x.device,
            of,
            numbers: numbers.map(f64::to_bits),
            x: cache::layout(x),
            others: self.others.each_ref().map(|array| array.as_ref().map(cache::layout)),
        };
        let elements = x.view()?;
        let [gradient, weight, bias, mean, variance] = views(&self.others)?;
        let statistics = match (mean, variance) {
            // Of an array that has no halves, `plan` says so.
            (Some(noted), None) => noted.slice(0, 0..1).ok().zip(noted.slice(0, 1..2).ok()),
            (mean, variance) => mean.zip(variance),
        };
        let arrays = ChannelArrays { gradient, weight, bias, statistics };
        let map = cache::channel_map(py, key, |device| plan(device, &elements, &arrays))?;
        let places = x.places(&stream, wanted.map(|wanted| self.like(&map, wanted?)))?;
        let at = |result: OfChannels| {
            let found = wanted.iter().position(|wanted| *wanted == Some(result));
            found.and_then(|i| places[i].as_ref()).map_or(0, |place| place.address)
        };
        // Of what is noted, the second half has the variances.
        let noted = at(OfChannels::Noted);
        let half = map.shape_of_noted().map_or(0, |[_, samples, groups]| samples * groups);
        let second = if noted == 0 { 0 } else { noted + (half * map.dtype_of_statistics().size()) as u64 };
        let to = ChannelAddresses {
            x: at(OfChannels::Elements),
            mean: at(OfChannels::Mean).max(noted),
            variance: at(OfChannels::Variance).max(second),
            weight: at(OfChannels::Weight),
            bias: at(OfChannels::Bias),
        };
        let read = self.others.iter().flatten().chain([x]);
        Place::filled(places, x, &stream, read, || {
            // SAFETY: the library has made room for arrays of these shapes and dtypes in C order, which nobody else
            // knows yet, or Warpfold has. The library frees memory in the order of the stream.
            Ok(unsafe { map.run_into(&stream, elements, &arrays, &to) }?)
        })
    }
}
