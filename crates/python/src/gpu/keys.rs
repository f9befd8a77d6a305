//! By key, of arrays on a GPU (k-means is in `kmeans.rs`, `describe` in `describe.rs`): computed there, on the current
//! stream of the library that has them. Results stay there, as arrays of that library.
//!
//! Unlike a reduction, each of these calls waits until the GPU is done: labels that are out of range and groups without
//! a result are errors of the call, the number of distinct values is found on the GPU, and memory for sorting is freed.
//! So nothing that is queued reads an array after the call. Arrays that do not lie side by side in C order are copied
//! by their library first, on the GPU.

use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use warpfold::cuda::{self, Array, ArrayView, Grouped, Groups, Segmented, Stream, Wanted};
use warpfold::{ArrayRef, Bins, DType, DeviceName, Error, Op, Options, Scalar};
use warpfold_array::Order;

use super::array::GpuArray;
use super::cache;
use crate::options::Of;
use crate::pool;

/// The arrays of a call, on one GPU, in C order. The first one says on which stream, and of which kind results are.
pub struct Together<'py, const N: usize> {
    pub(super) arrays: [GpuArray<'py>; N],
}

/// Some arrays of a call, all on one GPU, or all elsewhere.
fn all_there<'py>(given: &[&Bound<'py, PyAny>]) -> PyResult<Option<Vec<GpuArray<'py>>>> {
    let mut found = Vec::new();
    for x in given {
        found.extend(GpuArray::of(x)?);
    }
    let Some(first) = found.first() else { return Ok(None) };
    if found.len() < given.len() {
        let text = "some arrays of the call are on a GPU and some are not: move all to one of them first";
        return Err(PyTypeError::new_err(text));
    }
    if let Some(other) = found.iter().find(|array| array.device != first.device) {
        let text = format!("arrays are on cuda:{} and cuda:{}: move all to one first", first.device, other.device);
        return Err(PyValueError::new_err(text));
    }
    Ok(Some(found))
}

/// An array whose elements lie side by side: this one, or a copy by its library.
fn side_by_side(array: GpuArray<'_>) -> PyResult<GpuArray<'_>> {
    if array.is_dense() {
        return Ok(array);
    }
    let py = array.of.py();
    let copy = py.import(intern!(py, "warpfold._gpu"))?.call_method1(intern!(py, "dense"), (&array.of,))?;
    GpuArray::of(&copy)?.ok_or_else(|| PyTypeError::new_err("the array's library copies it to another device"))
}

impl<'py, const N: usize> Together<'py, N> {
    /// The arrays of a call; `None` if none is on a GPU.
    ///
    /// # Errors
    /// TypeError or ValueError if only some are, if they are on several, or if the call names another device.
    pub fn of(given: [&Bound<'py, PyAny>; N], device: Option<DeviceName>) -> PyResult<Option<Self>> {
        let Some(found) = all_there(&given)? else { return Ok(None) };
        found[0].stays(device)?;
        let found = found.into_iter().map(side_by_side).collect::<PyResult<Vec<_>>>()?;
        let arrays = found.try_into().ok().expect("as many as were given");
        Ok(Some(Self { arrays }))
    }

    /// The stream to work on, which comes after all that computes the arrays.
    pub(super) fn stream(&self) -> PyResult<Arc<Stream>> {
        let current = cache::stream(&self.arrays[0])?;
        for other in self.arrays.iter().filter(|other| other.stream != self.arrays[0].stream) {
            // An array of another library.
            let stream = cache::stream(other)?;
            pool::detached(self.py(), || Ok(stream.synchronize()?))?;
        }
        Ok(current)
    }

    /// The dtype of the first array.
    pub fn dtype(&self) -> DType {
        self.arrays[0].dtype
    }

    pub(super) fn py(&self) -> Python<'py> {
        self.arrays[0].of.py()
    }

    pub(super) fn views(&self) -> PyResult<[ArrayView<'_>; N]> {
        let views = self.arrays.iter().map(GpuArray::view).collect::<PyResult<Vec<_>>>()?;
        Ok(views.try_into().expect("as many as there are arrays"))
    }

    /// What `work` does without the interpreter's lock. When it fails, nothing that it has queued reads the arrays.
    pub(super) fn done<T: Send>(&self, work: impl FnOnce(&Stream) -> Result<T, Error> + Send) -> PyResult<T> {
        let stream = self.stream()?;
        pool::detached(self.py(), || {
            let found = work(&stream);
            if found.is_err() {
                // The error that is known is the one to report.
                let _ = stream.synchronize();
            }
            found
        })
    }

    /// A result of `work`, when the GPU is done and nothing was wrong.
    pub(super) fn result(
        &self,
        work: impl FnOnce(&Stream) -> Result<Array, Error> + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        let found = self.done(|stream| {
            let found = work(stream)?;
            found.check(stream)?;
            Ok(found)
        })?;
        self.arrays[0].lend(found)
    }

    /// Small results of the host, brought to the GPU.
    pub fn uploaded(&self, array: &warpfold::Array) -> PyResult<Bound<'py, PyAny>> {
        self.result(|stream| {
            let bytes = array.values.as_bytes();
            Array::upload(stream, ArrayRef::from_bytes(bytes, array.dtype(), &array.shape, Order::C, false)?)
        })
    }
}

impl<'py> Together<'py, 2> {
    /// Each part of the values, which the second array cuts.
    pub fn segmented(&self, op: Op, options: &Options<'_>, fill: Option<Scalar>) -> PyResult<Bound<'py, PyAny>> {
        let ([values, offsets], options) = (self.views()?, cache::options(options, None));
        self.result(|stream| {
            let reduction = Segmented::new(&stream.device(), op, &values, &offsets, &options, fill)?;
            let mut out = reduction.output()?;
            reduction.run(stream, values, offsets, &mut out)?;
            Ok(out)
        })
    }

    /// Each group of the values by the labels, which the second array has: a result for each name. Several share one
    /// sort.
    pub fn group_by(
        &self,
        names: &[String],
        groups: Option<usize>,
        fill: Option<Scalar>,
        options: impl Fn(Op, bool) -> PyResult<Options<'static>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let [values, labels] = self.views()?;
        let all = names.iter().map(|name| {
            let of = Of::named(name)?;
            let options = match of {
                Of::Op(op, skip) => options(op, skip)?,
                Of::First | Of::Last | Of::Size => Options::default(),
            };
            Ok((of, cache::options(&options, None)))
        });
        let all = all.collect::<PyResult<Vec<_>>>()?;
        if let ([(Of::Op(op, _), options)], Some(groups)) = (&all[..], groups) {
            let found = self.result(|stream| {
                let mut reduction = Grouped::new(&stream.device(), *op, &labels, &values, groups, options, fill)?;
                let mut out = reduction.output()?;
                reduction.run(stream, labels, values, &mut out)?;
                Ok(out)
            });
            return Ok(vec![found?]);
        }
        let sorted = self.done(|stream| Groups::new(labels, groups, stream))?;
        let one = |(of, options): &(Of, cuda::Options<'_>)| {
            self.result(|stream| match of {
                Of::Op(op, _) => sorted.reduce(*op, values, options, fill, stream),
                Of::First => sorted.first(values, fill, stream),
                Of::Last => sorted.last(values, fill, stream),
                Of::Size => sorted.counts(stream),
            })
        };
        all.iter().map(one).collect()
    }

    /// The keys of runs, which the second array has, and a result for each.
    pub fn reduce_by_key(&self, op: Op, options: &Options<'_>) -> PyResult<Bound<'py, PyAny>> {
        let ([values, keys], options) = (self.views()?, cache::options(options, None));
        let mut found = None;
        let results = self.result(|stream| {
            let (keys, results) = cuda::reduce_by_key(op, keys, values, &options, stream)?;
            found = Some(keys);
            Ok(results)
        })?;
        let keys = self.arrays[1].lend(found.expect("there are results"))?;
        Ok(PyTuple::new(self.py(), [keys, results])?.into_any())
    }
}

impl<'py> Together<'py, 1> {
    /// The distinct values, and None for what is not wanted: as the function of Python that calls this.
    pub fn unique(&self, wanted: Wanted) -> PyResult<Bound<'py, PyAny>> {
        let ([array], py) = (self.views()?, self.py());
        let found = self.done(|stream| cuda::unique(array, wanted, stream))?;
        let lend = |array: Array| self.arrays[0].lend(array);
        let other = |array: Option<Array>| array.map_or_else(|| Ok(py.None().into_bound(py)), lend);
        let all = [lend(found.values)?, other(found.counts)?, other(found.first)?, other(found.inverse)?];
        Ok(PyTuple::new(py, all)?.into_any())
    }
}

/// An array, and weights of its elements if there are any.
pub enum Weighted<'py> {
    Plain(Together<'py, 1>),
    With(Together<'py, 2>),
}

impl<'py> Together<'py, 1> {
    /// As [`Together::of`].
    pub fn weighted(
        x: &Bound<'py, PyAny>,
        weights: Option<&Bound<'py, PyAny>>,
        device: Option<DeviceName>,
    ) -> PyResult<Option<Weighted<'py>>> {
        Ok(match weights {
            None => Self::of([x], device)?.map(Weighted::Plain),
            Some(weights) => Together::of([x, weights], device)?.map(Weighted::With),
        })
    }
}

impl<'py> Weighted<'py> {
    /// The array and the weights.
    fn views(&self) -> PyResult<(ArrayView<'_>, Option<ArrayView<'_>>)> {
        Ok(match self {
            Self::Plain(on) => (on.arrays[0].view()?, None),
            Self::With(on) => (on.arrays[0].view()?, Some(on.arrays[1].view()?)),
        })
    }

    fn result(&self, work: impl FnOnce(&Stream) -> Result<Array, Error> + Send) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Plain(on) => on.result(work),
            Self::With(on) => on.result(work),
        }
    }

    fn uploaded(&self, array: &warpfold::Array) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Plain(on) => on.uploaded(array),
            Self::With(on) => on.uploaded(array),
        }
    }

    /// How often each label occurs, or the sum of its weights.
    pub fn bincount(&self, least: usize) -> PyResult<Bound<'py, PyAny>> {
        let (labels, weights) = self.views()?;
        self.result(|stream| cuda::bincount(labels, weights, least, stream))
    }

    /// The number of elements between edges, or the sum of their weights; and the edges.
    pub fn histogram(&self, bins: &Bins) -> PyResult<Bound<'py, PyAny>> {
        let (array, weights) = self.views()?;
        let mut edges = None;
        let counts = self.result(|stream| {
            let found = cuda::histogram(array, bins, weights, stream)?;
            edges = Some(found.edges);
            Ok(found.counts)
        })?;
        let edges = self.uploaded(&edges.expect("there are counts"))?;
        Ok(PyTuple::new(edges.py(), [counts, edges])?.into_any())
    }
}
