//! The first k elements along an axis in an order, on a GPU: [`warpfold_cpu::select`] has the same results.
//!
//! In one call: [`top_k`]. Prepared once and run many times, also in a [`Graph`](crate::Graph): [`Selection`]. Of an
//! array in the host's memory: [`top_k_host`].

use warpfold_array::problem::normalize_axes;
use warpfold_array::{ArrayRef, CudaError, Error, PoolError};
use warpfold_core::DType;
use warpfold_cpu::select;
use warpfold_kernels::block::THREADS;
use warpfold_kernels::reduce::workspace::COUNTERS;
use warpfold_kernels::rowwise::arrange::ArrangeAt;
use warpfold_kernels::select::SelectAt;

use crate::array::Array;
use crate::device::Device;
use crate::launch::Ready;
use crate::plan::rowwise::{arrange, in_c_order, padded};
use crate::plan::select::{Selecting, in_place};
use crate::reduce::layout::Layout;
use crate::stream::Stream;
use crate::view::ArrayView;

/// What [`top_k`] finds.
pub struct TopK {
    /// The elements, in order: an array in C order, of length k along the axis.
    pub values: Array,
    /// Their indices along the axis: i64.
    pub indices: Array,
}

/// A selection from arrays of one dtype, shape and layout on one GPU: planned, its kernels loaded.
///
/// A run costs the host the driver's calls and no more. Any number of threads can run it, on any streams.
pub struct Selection {
    device: Device,
    dtype: DType,
    /// Of the results.
    shape: Vec<usize>,
    x: Layout,
    /// None, if there are no results.
    work: Option<Work>,
}

struct Work {
    /// A copy with rows side by side, and where in the workspace it goes.
    copy: Option<(Ready<ArrangeAt>, usize)>,
    launches: Vec<Ready<SelectAt>>,
    /// Where in the workspace are what is chosen from parts, and the last of each row.
    parts: usize,
    last: usize,
    workspace: usize,
}

impl Selection {
    /// Plans [`top_k`] of arrays like `x`, and loads its kernels.
    ///
    /// # Errors
    /// As [`top_k`].
    pub fn top_k(device: &Device, x: &ArrayView<'_>, k: usize, axis: isize, largest: bool) -> Result<Self, Error> {
        let axis = normalize_axes(Some(&[axis]), x.shape().len())?[0];
        let (dtype, len) = (x.dtype(), x.shape()[axis]);
        if k > len {
            return Err(PoolError::K { k, len }.into());
        }
        let mut shape = x.shape().to_vec();
        shape[axis] = k;
        let results: usize = shape.iter().product();
        let work = if results == 0 { None } else { Some(Work::new(device, x, [k, axis, results / k], largest)?) };
        Ok(Self { device: device.clone(), dtype, shape, x: Layout::of(x.layout()), work })
    }

    /// The dtype of the values, which is that of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The shape of the values, and of the indices.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The kernels that a run launches, in order.
    pub fn kernels(&self) -> Vec<&str> {
        let Some(Work { copy, launches, .. }) = &self.work else { return Vec::new() };
        copy.iter().map(|(copy, _)| copy.entry()).chain(launches.iter().map(Ready::entry)).collect()
    }

    /// Room for the results.
    ///
    /// # Errors
    /// If the memory does not suffice.
    pub fn output(&self) -> Result<TopK, Error> {
        let values = Array::new(&self.device, self.dtype, &self.shape)?;
        Ok(TopK { values, indices: Array::new(&self.device, DType::I64, &self.shape)? })
    }

    /// Queues one run. The results are in `out` when the stream gets there, which must not be in use by another stream.
    ///
    /// # Errors
    /// If an array or the stream is not like that which this was prepared for, or if the driver refuses.
    pub fn run(&self, stream: &Stream, x: ArrayView<'_>, out: &mut TopK) -> Result<(), Error> {
        out.values.is_on(stream, "values")?;
        out.values.expect("values", self.dtype, &self.shape)?;
        out.indices.is_on(stream, "indices")?;
        out.indices.expect("indices", DType::I64, &self.shape)?;
        // SAFETY: the arrays have the dtypes and the shape of the results, and stay until the device is done with them.
        unsafe { self.run_at(stream, x, out.values.address(), out.indices.address()) }?;
        [&mut out.values, &mut out.indices].into_iter().for_each(|array| array.set_origin(None));
        Ok(())
    }

    /// Queues one run whose results go to memory that somebody else has allocated, in C order.
    ///
    /// # Safety
    /// At the addresses there is room for the values and for the indices, aligned to their elements, which nothing else
    /// touches until the stream has written it.
    ///
    /// # Errors
    /// As [`Selection::run`].
    pub unsafe fn run_at(&self, stream: &Stream, x: ArrayView<'_>, values: u64, places: u64) -> Result<(), Error> {
        stream.is_one_of(&self.device)?;
        x.is_on(stream, "array")?;
        self.x.check("array", &x)?;
        let Some(Work { copy, launches, parts, last, workspace }) = &self.work else { return Ok(()) };
        let mut scratch = stream.scratch();
        let workspace = scratch.workspace(stream, *workspace)?;
        let mut input = x.address();
        if let Some((copy, to)) = copy {
            let output = workspace + *to as u64;
            // SAFETY: the array is like that which was planned for, and the workspace has room for its elements; it is
            // the stream's, whose lock is held.
            unsafe { copy.queue(stream, ArrangeAt { input, output }) }?;
            input = output;
        }
        let [parts, last] = [parts, last].map(|at| workspace + *at as u64);
        for launch in launches {
            // SAFETY: as above; the caller vouches for the room of the results.
            unsafe { launch.queue(stream, SelectAt { input, values, places, parts, last }) }?;
        }
        Ok(())
    }
}

impl Work {
    /// Of k elements along an axis of so many rows.
    fn new(device: &Device, x: &ArrayView<'_>, [k, axis, rows]: [usize; 3], largest: bool) -> Result<Self, Error> {
        let (dtype, size, len) = (x.dtype(), x.dtype().size(), x.shape()[axis]);
        let limits = device.limits();
        let mut workspace = COUNTERS;
        let mut room = |bytes: usize| {
            workspace += bytes;
            workspace - bytes
        };
        let (step, copy) = match in_place(x.shape(), x.strides(), axis, size) {
            Some(step) => (step, None),
            None => {
                // The row's axis comes last.
                let last = |axes: &[usize]| [&axes[..axis], &axes[axis + 1..], &axes[axis..=axis]].concat();
                let order = last(&(0..x.shape().len()).collect::<Vec<_>>());
                let shape = last(x.shape());
                let axes: Vec<_> = order.iter().map(|&from| x.strides()[from]).zip(in_c_order(&shape, 1)).collect();
                let axes: Vec<_> = shape.iter().zip(axes).map(|(&len, (from, to))| (len, from, to)).collect();
                // Of an array that is broadcast there may be more elements than memory has bytes.
                let bytes = rows.checked_mul(len * size).filter(|&bytes| bytes < isize::MAX as usize >> 8);
                let bytes = bytes.ok_or_else(|| uncounted(rows, len))?;
                let launch = arrange(&axes, [dtype; 2], &limits);
                (len * size, Some((device.ready(&launch)?, room(padded(bytes)))))
            }
        };
        let inner = x.shape()[axis + 1..].iter().product();
        let plan = Selecting { dtype, rows, len, step, inner, k, largest }.plan(&limits);
        let plan = plan.ok_or_else(|| uncounted(rows, len))?;
        let (parts, last) = (room(plan.parts), room(plan.last));
        Ok(Work { copy, launches: device.all_ready(&plan.launches)?, parts, last, workspace })
    }
}

/// Rows that are too many, or too long.
fn uncounted(rows: usize, len: usize) -> CudaError {
    let why = format!("rows of {len} elements, and {rows} of them, are more than a kernel counts");
    CudaError::Launch { entry: "top_k".into(), grid: u32::MAX, block: THREADS, why }
}

/// The `k` greatest elements along an axis, or the least, and their indices: as [`warpfold_cpu::select::top_k`]. The
/// work is queued. Rows are read once for every 1024 of k: where that is most of a long row, a sort is faster.
///
/// # Errors
/// As [`warpfold_cpu::select::top_k`]; an array of another device; an axis of 2^31 elements and more, and as many rows;
/// what the driver says.
pub fn top_k(x: ArrayView<'_>, k: usize, axis: isize, largest: bool, stream: &Stream) -> Result<TopK, Error> {
    let selection = Selection::top_k(&stream.device(), &x, k, axis, largest)?;
    let mut out = selection.output()?;
    selection.run(stream, x, &mut out)?;
    Ok(out)
}

/// [`top_k`] of an array in the host's memory.
///
/// # Errors
/// As [`top_k`].
pub fn top_k_host(
    x: ArrayRef<'_>,
    k: usize,
    axis: isize,
    largest: bool,
    device: &Device,
) -> Result<select::TopK, Error> {
    let stream = Stream::new(device)?;
    // It stays until the results are there.
    let x = Array::upload(&stream, x)?;
    let TopK { values, indices } = top_k(x.view(), k, axis, largest, &stream)?;
    Ok(select::TopK { values: values.download(&stream)?, indices: indices.download(&stream)? })
}
