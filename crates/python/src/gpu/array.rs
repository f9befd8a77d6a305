//! An array on a GPU that another library has: by DLPack, or by `__cuda_array_interface__`.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use warpfold::cuda::{Array, ArrayView, Stream};
use warpfold::{DType, DeviceName, Error};

use super::torch;
use crate::dlpack::{Exchange, Exported, Owner, Tensor, dense};
use crate::error;
use crate::input::{AtOnce, detached, exported};
use crate::pool;

/// See the module.
pub struct GpuArray<'py> {
    /// The argument.
    pub of: Bound<'py, PyAny>,
    /// The index of the GPU.
    pub device: usize,
    /// The stream that the library queues its work on at present: the driver's handle.
    pub stream: usize,
    pub dtype: DType,
    pub shape: Vec<usize>,
    /// In bytes.
    pub strides: Vec<isize>,
    /// Whether it is a tensor of PyTorch that has been borrowed in C.
    pub torch: bool,
    address: u64,
    /// What keeps the memory, beside the argument.
    _keeper: Option<Bound<'py, PyAny>>,
}

/// The kinds of devices of DLPack whose memory kernels read.
const GPUS: [i32; 2] = [2, 13];

impl<'py> GpuArray<'py> {
    /// An argument that is an array on a GPU; `None` if it is not.
    ///
    /// # Errors
    /// TypeError for a dtype that Warpfold does not have, and for a tensor that requires grad.
    pub fn of(x: &Bound<'py, PyAny>) -> PyResult<Option<Self>> {
        match AtOnce::of(x)? {
            AtOnce::Host(_) => Ok(None),
            AtOnce::Gpu { tensor, of, exchange } => Self::exchanged(of, tensor, exchange).map(Some),
            AtOnce::Unknown => Self::asked(x),
        }
    }

    /// An argument that has been borrowed from a library that exchanges in C.
    pub fn exchanged(of: Bound<'py, PyAny>, tensor: Tensor<'py>, exchange: Exchange) -> PyResult<Self> {
        let device = tensor.gpu()?.unwrap_or(0);
        let stream = exchange.stream(of.py(), device)?;
        let torch = torch::is_tensor(&of)?;
        Ok(Self { torch, ..Self::new(of, device, stream, tensor) })
    }

    fn new(of: Bound<'py, PyAny>, device: usize, stream: usize, tensor: Tensor<'py>) -> Self {
        let (dtype, address) = (tensor.dtype(), tensor.address() as u64);
        let (keeper, shape, strides) = tensor.into_parts();
        Self { of, device, stream, dtype, shape, strides, torch: false, address, _keeper: Some(keeper) }
    }

    /// An argument whose class does not exchange in C, as [`GpuArray::of`].
    pub fn asked(x: &Bound<'py, PyAny>) -> PyResult<Option<Self>> {
        let (py, kind) = (x.py(), x.get_type());
        if kind.hasattr(intern!(py, "__dlpack_device__"))? {
            let (kind, index): (i32, i32) = x.call_method0(intern!(py, "__dlpack_device__"))?.extract()?;
            return if GPUS.contains(&kind) {
                Self::lent(&detached(x)?, index.max(0) as usize).map(Some)
            } else {
                Ok(None)
            };
        }
        // PyTorch has the attribute on the host, too, where it raises.
        match kind.hasattr(intern!(py, "__cuda_array_interface__"))? {
            true => Self::interface(x).map(Some),
            false => Ok(None),
        }
    }

    fn lent(x: &Bound<'py, PyAny>, device: usize) -> PyResult<Self> {
        let py = x.py();
        let found = py.import(intern!(py, "warpfold._gpu"))?.call_method1(intern!(py, "streams"), (x, device))?;
        let (stream, lender): (usize, i64) = found.extract()?;
        Ok(Self::new(x.clone(), device, stream, Tensor::of(x, Some(lender))?))
    }

    fn interface(x: &Bound<'py, PyAny>) -> PyResult<Self> {
        let wrong = |what: &str| PyTypeError::new_err(format!("__cuda_array_interface__ {what}"));
        let found = x.getattr("__cuda_array_interface__")?;
        let found = found.cast::<PyDict>().map_err(|_| wrong("is no dict"))?;
        let get = |name: &str| Ok::<_, PyErr>(found.get_item(name)?.filter(|value| !value.is_none()));
        let need = |name: &str| get(name)?.ok_or_else(|| wrong(&format!("has no {name}")));
        if get("mask")?.is_some() {
            return Err(wrong("has a mask, which is not supported: give where="));
        }
        let (address, _): (u64, bool) = need("data")?.extract()?;
        let (code, shape): (String, Vec<usize>) = (need("typestr")?.extract()?, need("shape")?.extract()?);
        let foreign = if cfg!(target_endian = "little") { '>' } else { '<' };
        let dtype = code.get(1..).and_then(DType::from_code).filter(|_| !code.starts_with(foreign));
        let dtype = dtype.ok_or_else(|| wrong(&format!("has the dtype {code}, which warpfold does not have")))?;
        let strides = match get("strides")? {
            Some(strides) => strides.extract()?,
            None => dense(&shape, dtype.size() as isize),
        };
        // 1 and 2 are the driver's handles of the default streams; 0 is none.
        let stream = get("stream")?.map_or(Ok(0), |stream| stream.extract())?;
        Ok(Self { of: x.clone(), device: 0, stream, dtype, shape, strides, torch: false, address, _keeper: None })
    }

    /// Another array of a call, which must be on the same GPU.
    ///
    /// # Errors
    /// TypeError if it is not on a GPU, ValueError if it is on another one.
    pub fn beside(&self, op: &str, what: &str, other: &Bound<'py, PyAny>) -> PyResult<Self> {
        let found = Self::of(other)?.ok_or_else(|| {
            PyTypeError::new_err(format!("{op}: the array is on a GPU, and its {what} is not: move it there, too"))
        })?;
        if found.device == self.device {
            return Ok(found);
        }
        let text = format!("{op}: the array is on cuda:{}, its {what} on cuda:{}", self.device, found.device);
        Err(PyValueError::new_err(text))
    }

    /// The array as kernels read it.
    pub fn view(&self) -> PyResult<ArrayView<'_>> {
        let Self { device, address, dtype, shape, strides, .. } = self;
        // SAFETY: the library has these elements on that device, and the argument keeps them: for the time of the call
        // as an argument, and until kernels have read them by `keep`.
        let view = unsafe { ArrayView::from_raw(*device, *address, *dtype, shape, strides) };
        view.map_err(|e| error::of(self.of.py(), &e))
    }

    /// Whether the elements lie side by side in C order.
    pub fn is_dense(&self) -> bool {
        let steps = dense(&self.shape, self.dtype.size() as isize);
        let same = |((&len, step), stride): ((&usize, &isize), &isize)| len < 2 || step == stride;
        self.shape.contains(&0) || self.shape.iter().zip(&steps).zip(&self.strides).all(same)
    }

    /// Checks that the call names no device, or the array's own.
    pub fn stays(&self, named: Option<DeviceName>) -> PyResult<()> {
        match named {
            None | Some(DeviceName::Auto) => Ok(()),
            Some(DeviceName::Cuda(index)) if index == self.device => Ok(()),
            Some(other) => {
                let here = self.device;
                let text = format!("the array is on cuda:{here}, and is computed there: move it to {other} first");
                Err(PyValueError::new_err(text))
            }
        }
    }

    /// New memory of the array's library for a result in C order, and its address; none, if that library gives none.
    pub fn room(&self, shape: &[usize], dtype: DType) -> PyResult<Option<(Bound<'py, PyAny>, u64)>> {
        if self.torch {
            return torch::empty(&self.of, self.device, shape, dtype).map(Some);
        }
        let py = self.of.py();
        let gpu = py.import(intern!(py, "warpfold._gpu"))?;
        let room = gpu.call_method1(intern!(py, "empty"), (&self.of, PyTuple::new(py, shape)?, dtype.name()))?;
        if room.is_none() { Ok(None) } else { room.extract().map(Some) }
    }

    /// Memory for a result in C order: new memory of the array's library, or, if that gives none, of Warpfold's own.
    pub fn place(&self, stream: &Stream, shape: &[usize], dtype: DType) -> PyResult<Place<'py>> {
        if let Some((array, address)) = self.room(shape, dtype)? {
            return Ok(Place { array: Ok(array), address });
        }
        let array = pool::detached(self.of.py(), || Array::new(&stream.device(), dtype, shape))?;
        Ok(Place { address: array.address(), array: Err(array) })
    }

    /// The same of several results, as far as they are wanted.
    pub fn places<const N: usize>(
        &self,
        stream: &Stream,
        wanted: [Option<(Vec<usize>, DType)>; N],
    ) -> PyResult<[Option<Place<'py>>; N]> {
        let mut places = [const { None }; N];
        for (place, wanted) in places.iter_mut().zip(wanted) {
            *place = wanted.map(|(shape, dtype)| self.place(stream, &shape, dtype)).transpose()?;
        }
        Ok(places)
    }

    /// A result in memory of Warpfold's own, as an array of this array's library. Nothing may be queued that writes it.
    pub fn lend(&self, result: Array) -> PyResult<Bound<'py, PyAny>> {
        let (dtype, shape, address) = (result.dtype(), result.shape().to_vec(), result.address());
        let owner = Owner::Gpu { keeper: Arc::new(result), index: self.device, address };
        exported(&self.of, Exported::new(owner, dtype, shape))
    }

    /// Keeps the memory until what has been queued on the stream is done.
    pub fn keep(&self, stream: &Arc<Stream>) -> PyResult<()> {
        if self.torch {
            return torch::record(&self.of, self.device, self.stream);
        }
        let py = self.of.py();
        let gpu = py.import(intern!(py, "warpfold._gpu"))?;
        if gpu.call_method1(intern!(py, "record"), (&self.of, self.device))?.is_truthy()? {
            // The library does so by itself.
            return Ok(());
        }
        let done = {
            let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
            kept.push((stream.clone(), self.of.clone().unbind()));
            if kept.len() > MOST {
                let (oldest, _) = &kept[0];
                oldest.synchronize().map_err(|e| error::of(py, &e.into()))?;
            }
            // A stream that cannot say is not waited for.
            let (busy, done) = std::mem::take(&mut *kept).into_iter().partition(|(stream, _)| is_busy(stream));
            *kept = busy;
            done
        };
        // Without the lock: what is dropped may run any code.
        drop::<Kept>(done);
        Ok(())
    }
}

/// Memory for a result.
pub struct Place<'py> {
    /// An array of the library, or one of Warpfold's own.
    array: Result<Bound<'py, PyAny>, Array>,
    /// Where the result goes.
    pub address: u64,
}

impl<'py> Place<'py> {
    /// Whether the memory is Warpfold's own. A library reads it on streams that are not known here, so that the stream
    /// must have been waited for before it is lent.
    fn is_own(&self) -> bool {
        self.array.is_err()
    }

    /// The result, as an array of the library of `like`.
    fn lent(self, like: &GpuArray<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.array.or_else(|array| like.lend(array))
    }

    /// Queues what writes results to their places, and gives these as arrays of the library of `like`. The arrays that
    /// are read, `like` among them, are kept until that is done.
    ///
    /// # Errors
    /// What is said when it is queued.
    pub fn filled<'a, const N: usize>(
        places: [Option<Self>; N],
        like: &GpuArray<'py>,
        stream: &Arc<Stream>,
        read: impl Iterator<Item = &'a GpuArray<'py>>,
        queue: impl FnOnce() -> Result<(), Error> + Send,
    ) -> PyResult<[Option<Bound<'py, PyAny>>; N]>
    where
        'py: 'a,
    {
        let is_own = places.iter().flatten().any(Self::is_own);
        pool::detached(like.of.py(), || {
            queue()?;
            // The library reads what is Warpfold's own on streams that are not known here.
            if is_own { Ok(stream.synchronize()?) } else { Ok(()) }
        })?;
        let mut results = [const { None }; N];
        for (result, place) in results.iter_mut().zip(places) {
            *result = place.map(|place| place.lent(like)).transpose()?;
        }
        for array in read {
            array.keep(stream)?;
        }
        Ok(results)
    }
}

/// Arrays as kernels read them, as far as there are any.
pub fn views<'a, const N: usize>(arrays: &'a [Option<GpuArray<'_>>; N]) -> PyResult<[Option<ArrayView<'a>>; N]> {
    let mut views = [None; N];
    for (view, array) in views.iter_mut().zip(arrays) {
        *view = array.as_ref().map(GpuArray::view).transpose()?;
    }
    Ok(views)
}

type Kept = Vec<(Arc<Stream>, Py<PyAny>)>;

/// Arrays that queued kernels may still read. They are let go by the next call that finds their stream idle.
static KEPT: Mutex<Kept> = Mutex::new(Vec::new());
/// The most arrays that are kept before a stream is waited for.
const MOST: usize = 64;

fn is_busy(stream: &Stream) -> bool {
    matches!(stream.is_idle(), Ok(false))
}
