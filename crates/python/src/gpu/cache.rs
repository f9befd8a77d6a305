//! What calls share: streams with their workspaces, and reductions that are planned and loaded.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use warpfold::cuda::pool::Pooled;
use warpfold::cuda::rows::{ChannelMap, RowMap, Zipped};
use warpfold::cuda::select::Selection;
use warpfold::cuda::{self, ArrayView, Device, Handle, Reduction, Stream, Survey};
use warpfold::{DType, Error, Op, Options, Ord, Precision};

use super::array::GpuArray;
use crate::pool;

/// The most reductions that are kept, and the most operations on rows. Then all are forgotten: the driver still has
/// their kernels.
const MOST: usize = 256;

/// By the indices of GPUs and the handles of streams.
static STREAMS: LazyLock<Shared<(usize, usize), Stream>> = LazyLock::new(Mutex::default);
static REDUCTIONS: LazyLock<Shared<Key, Reduction>> = LazyLock::new(Mutex::default);
static SURVEYS: LazyLock<Shared<SurveyKey, Survey>> = LazyLock::new(Mutex::default);
static ROWS: LazyLock<Shared<RowKey, RowMap>> = LazyLock::new(Mutex::default);
static CHANNELS: LazyLock<Shared<ChannelKey, ChannelMap>> = LazyLock::new(Mutex::default);
static ZIPPED: LazyLock<Shared<ZipKey, Zipped>> = LazyLock::new(Mutex::default);
static POOLED: LazyLock<Shared<PoolKey, Pooled>> = LazyLock::new(Mutex::default);
static SELECTIONS: LazyLock<Shared<SelectKey, Selection>> = LazyLock::new(Mutex::default);

/// What all threads share.
type Shared<K, V> = Mutex<HashMap<K, Arc<V>>>;

/// Nothing is done under a lock that could panic halfway, or that needs the interpreter.
fn locked<T>(map: &Mutex<T>) -> MutexGuard<'_, T> {
    map.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The array's current stream, with a workspace. Streams are few, and libraries keep theirs.
pub fn stream(array: &GpuArray<'_>) -> PyResult<Arc<Stream>> {
    let py = array.of.py();
    let key = (array.device, array.stream);
    if let Some(stream) = locked(&STREAMS).get(&key) {
        return Ok(stream.clone());
    }
    let device = pool::detached(py, move || Ok(cuda::shared(key.0)?))?;
    let raw = Handle(std::ptr::with_exposed_provenance_mut(array.stream));
    // SAFETY: the library's stream of the primary context. Libraries that are known here keep their streams as long as
    // their arrays, and the driver finishes the work of a stream that is destroyed.
    let stream = Arc::new(unsafe { Stream::borrowed(&device, raw) });
    Ok(locked(&STREAMS).entry(key).or_insert(stream).clone())
}

/// Waits for what other libraries have queued on streams of their own for other arrays of a call.
pub fn wait_for<'a, 'py: 'a>(x: &GpuArray<'py>, others: impl Iterator<Item = &'a GpuArray<'py>>) -> PyResult<()> {
    for other in others.filter(|other| other.stream != x.stream) {
        let stream = stream(other)?;
        pool::detached(x.of.py(), || Ok(stream.synchronize()?))?;
    }
    Ok(())
}

/// A reduction of arrays of one layout.
pub struct Prepared<'a, 'py> {
    pub op: Op,
    pub array: &'a GpuArray<'py>,
    pub mask: Option<&'a GpuArray<'py>>,
    pub options: &'a Options<'static>,
}

/// All that a [`Reduction`] depends on.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    device: usize,
    op: Op,
    array: Layout,
    mask: Option<Layout>,
    axes: Option<Vec<isize>>,
    keepdims: bool,
    dtype: Option<DType>,
    precision: Precision,
    skip_nan: bool,
    initial: Option<(DType, u64)>,
    ddof: Option<u64>,
    ord: Option<Ord>,
}

/// The dtype, the shape and the steps of an array.
pub type Layout = (DType, Vec<usize>, Vec<isize>);

/// What a plan needs to know of an array.
pub fn layout(array: &GpuArray<'_>) -> Layout {
    (array.dtype, array.shape.clone(), array.strides.clone())
}

impl Prepared<'_, '_> {
    fn key(&self) -> Key {
        let Options { axes, keepdims, dtype, precision, skip_nan, initial, ddof, ord, .. } = self.options;
        Key {
            device: self.array.device,
            op: self.op,
            array: layout(self.array),
            mask: self.mask.map(layout),
            axes: axes.clone(),
            keepdims: *keepdims,
            dtype: *dtype,
            precision: *precision,
            skip_nan: *skip_nan,
            initial: initial.map(|x| (x.dtype(), x.bits().0)),
            ddof: ddof.map(f64::to_bits),
            ord: *ord,
        }
    }

    /// The reduction, planned now or by an earlier call.
    pub fn reduction(&self) -> PyResult<Arc<Reduction>> {
        let py = self.array.of.py();
        let (view, mask) = (self.array.view()?, self.mask.map(GpuArray::view).transpose()?);
        let options = options(self.options, mask);
        let (device, op) = (self.array.device, self.op);
        kept(py, &REDUCTIONS, self.key(), || Reduction::new(&cuda::shared(device)?, op, &view, &options))
    }
}

/// All that a [`Survey`] depends on: the GPU, the array, axes, `keepdims` and `skip_nan`, which no survey takes.
type SurveyKey = (usize, Layout, Option<Vec<isize>>, [bool; 2]);

/// What describes arrays of one layout, planned now or by an earlier call.
pub fn survey(array: &GpuArray<'_>, options: &cuda::Options<'_>) -> PyResult<Arc<Survey>> {
    let (view, device) = (array.view()?, array.device);
    let key = (device, layout(array), options.axes.clone(), [options.keepdims, options.skip_nan]);
    kept(array.of.py(), &SURVEYS, key, || Survey::new(&cuda::shared(device)?, &view, options))
}

/// All that a [`RowMap`] depends on.
#[derive(PartialEq, Eq, Hash)]
pub struct RowKey {
    pub op: &'static str,
    pub device: usize,
    pub axes: Vec<isize>,
    /// The bits of the options that are numbers.
    pub numbers: [u64; 2],
    pub x: Layout,
    pub others: [Option<Layout>; 7],
}

/// An operation on rows, planned now for these axes or by an earlier call.
pub fn row_map(
    py: Python<'_>,
    key: RowKey,
    plan: impl FnOnce(&Device, &[isize]) -> Result<RowMap, Error> + Send,
) -> PyResult<Arc<RowMap>> {
    let (device, axes) = (key.device, key.axes.clone());
    kept(py, &ROWS, key, || plan(&cuda::shared(device)?, &axes))
}

/// All that a [`Zipped`] depends on.
#[derive(PartialEq, Eq, Hash)]
pub struct ZipKey {
    pub op: &'static str,
    pub device: usize,
    pub axes: Option<Vec<isize>>,
    /// What tells options apart.
    pub numbers: [u64; 2],
    /// The elements, the targets, the gradient.
    pub arrays: [Option<Layout>; 3],
}

/// An operation on two arrays, planned now for these axes or by an earlier call.
pub fn zipped(
    py: Python<'_>,
    key: ZipKey,
    plan: impl FnOnce(&Device, Option<&[isize]>) -> Result<Zipped, Error> + Send,
) -> PyResult<Arc<Zipped>> {
    let (device, axes) = (key.device, key.axes.clone());
    kept(py, &ZIPPED, key, || plan(&cuda::shared(device)?, axes.as_deref()))
}

/// All that a [`Pooled`] depends on.
#[derive(PartialEq, Eq, Hash)]
pub struct PoolKey {
    pub op: &'static str,
    pub device: usize,
    /// Sizes of windows, strides, paddings, dilations, and of a gradient those of the source.
    pub numbers: [Vec<usize>; 5],
    pub flags: [bool; 3],
    pub divisor: Option<i64>,
    /// The elements, and the indices of a gradient.
    pub arrays: [Option<Layout>; 2],
}

/// Pooling, planned now or by an earlier call.
pub fn windows(
    py: Python<'_>,
    key: PoolKey,
    plan: impl FnOnce(&Device) -> Result<Pooled, Error> + Send,
) -> PyResult<Arc<Pooled>> {
    let device = key.device;
    kept(py, &POOLED, key, || plan(&cuda::shared(device)?))
}

/// All that a [`ChannelMap`] depends on.
#[derive(PartialEq, Eq, Hash)]
pub struct ChannelKey {
    pub op: &'static str,
    pub device: usize,
    /// The number of groups, or the axis of the channels.
    pub of: isize,
    pub numbers: [u64; 2],
    pub x: Layout,
    pub others: [Option<Layout>; 5],
}

/// A norm of channels, planned now or by an earlier call.
pub fn channel_map(
    py: Python<'_>,
    key: ChannelKey,
    plan: impl FnOnce(&Device) -> Result<ChannelMap, Error> + Send,
) -> PyResult<Arc<ChannelMap>> {
    let device = key.device;
    kept(py, &CHANNELS, key, || plan(&cuda::shared(device)?))
}

/// All that a [`Selection`] depends on: the GPU, the array, k, the axis, and whether the greatest are chosen.
pub type SelectKey = (usize, Layout, usize, isize, bool);

/// A selection, planned now or by an earlier call.
pub fn selection(
    py: Python<'_>,
    key: SelectKey,
    plan: impl FnOnce(&Device) -> Result<Selection, Error> + Send,
) -> PyResult<Arc<Selection>> {
    let device = key.0;
    kept(py, &SELECTIONS, key, || plan(&cuda::shared(device)?))
}

/// What is kept under a key, or what `make` makes now.
fn kept<K: Eq + Hash + Send, V: Send + Sync>(
    py: Python<'_>,
    all: &Mutex<HashMap<K, Arc<V>>>,
    key: K,
    make: impl FnOnce() -> Result<V, Error> + Send,
) -> PyResult<Arc<V>> {
    if let Some(found) = locked(all).get(&key) {
        return Ok(found.clone());
    }
    // The driver may compile a kernel now.
    let new = Arc::new(pool::detached(py, make)?);
    let forgotten = {
        let mut all = locked(all);
        let full = all.len() >= MOST;
        let forgotten = if full { std::mem::take(&mut *all) } else { HashMap::new() };
        all.insert(key, new.clone());
        forgotten
    };
    // Without the lock: memory that is freed waits for the GPU.
    py.detach(|| drop(forgotten));
    Ok(new)
}

/// The options of a reduction of the host for one of a GPU, with a mask there.
pub fn options<'a>(from: &Options<'_>, mask: Option<ArrayView<'a>>) -> cuda::Options<'a> {
    cuda::Options {
        axes: from.axes.clone(),
        keepdims: from.keepdims,
        dtype: from.dtype,
        precision: from.precision,
        skip_nan: from.skip_nan,
        mask,
        initial: from.initial,
        ddof: from.ddof,
        ord: from.ord,
    }
}
