//! Pooling that is prepared once and run many times.

use warpfold_array::{CudaError, Error, Op};
use warpfold_core::DType;
use warpfold_cpu::pool::{Call, Pool, divisor, floats};
use warpfold_kernels::block::THREADS;
use warpfold_kernels::pool::PoolAt;
use warpfold_kernels::reduce::workspace::COUNTERS;
use warpfold_kernels::rowwise::arrange::ArrangeAt;

use crate::array::Array;
use crate::device::Device;
use crate::launch::Ready;
use crate::options::Options;
use crate::plan::pool::{Of, Pooling, Source};
use crate::plan::rowwise::{arrange, in_c_order, padded};
use crate::reduce::layout::Layout;
use crate::reduce::reduction::Reduction;
use crate::stream::Stream;
use crate::view::ArrayView;

/// The values of [`max_pool`](super::max_pool), and where they are.
pub struct MaxPool {
    /// The greatest element of each window.
    pub values: Array,
    /// Its index, as [`warpfold_cpu::pool::MaxPool`] has it, if indices were asked for.
    pub indices: Option<Array>,
}

/// Pooling of arrays of one dtype, shape and layout on one GPU: planned, its kernels loaded.
///
/// A run costs the host the driver's calls and no more. Any number of threads can run it, on any streams.
pub struct Pooled {
    device: Device,
    dtype: DType,
    /// Of the results.
    shape: Vec<usize>,
    x: Layout,
    indices: Option<Layout>,
    /// Whether there are indices of the results.
    has_indices: bool,
    work: Work,
}

enum Work {
    /// There are no results.
    Nothing,
    /// A plane has one window, which has all elements: reductions to the values, and to the indices.
    Whole(Box<Reduction>, Option<Box<Reduction>>),
    Windows(Box<Windows>),
}

struct Windows {
    /// Copies of what lies otherwise than the kernel reads it, and where in the workspace they go: of the source, and
    /// of the indices.
    copies: [Option<(Ready<ArrangeAt>, usize)>; 2],
    launch: Ready<PoolAt>,
    workspace: usize,
}

impl Pooled {
    /// Plans [`avg_pool`](super::avg_pool) of arrays like `x`, and loads its kernels.
    ///
    /// # Errors
    /// As [`avg_pool`](super::avg_pool).
    pub fn avg_pool(device: &Device, x: &ArrayView<'_>, options: &Pool<'_>) -> Result<Pooled, Error> {
        let call = Call::new("avg_pool", x.shape(), options)?;
        floats(call.op, "the elements", x.dtype())?;
        let of = Of::Average(divisor(call.op, options)?);
        Self::new(device, x, None, &Pooling { call: &call, of, backward: false, dtype: x.dtype() }, false)
    }

    /// The same of [`avg_pool_backward`](super::avg_pool_backward), of gradients like the one given.
    ///
    /// # Errors
    /// As [`avg_pool_backward`](super::avg_pool_backward).
    pub fn avg_pool_backward(
        device: &Device,
        gradient: &ArrayView<'_>,
        size: &[usize],
        options: &Pool<'_>,
    ) -> Result<Pooled, Error> {
        let call = Call::backward("avg_pool_backward", gradient.shape(), size, options)?;
        floats(call.op, "the gradient", gradient.dtype())?;
        let of = Of::Average(divisor(call.op, options)?);
        Self::new(device, gradient, None, &Pooling { call: &call, of, backward: true, dtype: gradient.dtype() }, false)
    }

    /// The same of [`max_pool`](super::max_pool).
    ///
    /// # Errors
    /// As [`max_pool`](super::max_pool).
    pub fn max_pool(device: &Device, x: &ArrayView<'_>, options: &Pool<'_>, indices: bool) -> Result<Pooled, Error> {
        let call = Call::new("max_pool", x.shape(), options)?;
        floats(call.op, "the elements", x.dtype())?;
        let pooling = Pooling { call: &call, of: Of::Max, backward: false, dtype: x.dtype() };
        Self::new(device, x, None, &pooling, indices)
    }

    /// The same of [`max_pool_backward`](super::max_pool_backward), of gradients and indices like those given.
    ///
    /// # Errors
    /// As [`max_pool_backward`](super::max_pool_backward).
    pub fn max_pool_backward(
        device: &Device,
        gradient: &ArrayView<'_>,
        indices: &ArrayView<'_>,
        size: &[usize],
        options: &Pool<'_>,
    ) -> Result<Pooled, Error> {
        let like = |array: &ArrayView<'_>| (array.dtype(), array.shape().to_vec());
        let call = Call::max_backward(&like(gradient), &like(indices), size, options)?;
        let pooling = Pooling { call: &call, of: Of::Max, backward: true, dtype: gradient.dtype() };
        Self::new(device, gradient, Some(indices), &pooling, false)
    }

    fn new(
        device: &Device,
        x: &ArrayView<'_>,
        indices: Option<&ArrayView<'_>>,
        pooling: &Pooling<'_>,
        wants_indices: bool,
    ) -> Result<Pooled, Error> {
        let &Pooling { call, backward, dtype, .. } = pooling;
        let shape = if backward { &call.input_shape } else { &call.output_shape };
        let axes = call.axes.len();
        let work = if call.planes == 0 {
            Work::Nothing
        } else if pooling.is_whole() {
            let of = |op: Op| {
                let axes = (1..=axes as isize).map(|axis| -axis).collect();
                Reduction::new(device, op, x, &Options { axes: Some(axes), ..Options::default() }).map(Box::new)
            };
            match pooling.of {
                Of::Average(_) => Work::Whole(of(Op::Mean)?, None),
                Of::Max => Work::Whole(of(Op::Max)?, wants_indices.then(|| of(Op::ArgMax)).transpose()?),
            }
        } else {
            let mut workspace = COUNTERS;
            let mut copied = |array: &ArrayView<'_>| {
                let (dtype, dense) = (array.dtype(), in_c_order(array.shape(), 1));
                let axes: Vec<_> = array
                    .shape()
                    .iter()
                    .zip(array.strides())
                    .zip(&dense)
                    .map(|((&len, &from), &to)| (len, from, to))
                    .collect();
                let launch = arrange(&axes, [dtype; 2], &device.limits());
                let at = workspace;
                workspace += padded(array.shape().iter().product::<usize>() * dtype.size());
                Ok::<_, CudaError>((device.ready(&launch)?, at))
            };
            let dense = |array: &ArrayView<'_>| in_c_order(array.shape(), array.dtype().size() as isize);
            let (source, copy) = match Source::of(x.shape(), x.strides(), axes) {
                Some(source) => (Some(source), None),
                None => (Source::of(x.shape(), &dense(x), axes), Some(copied(x)?)),
            };
            let is_dense = |array: &ArrayView<'_>| {
                let dense = dense(array);
                let each = array.shape().iter().zip(array.strides()).zip(&dense);
                each.into_iter().all(|((&len, own), dense)| len == 1 || own == dense)
            };
            let copy_of_indices = indices.filter(|indices| !is_dense(indices)).map(&mut copied).transpose()?;
            let launch = source.and_then(|source| pooling.plan(&source, &device.limits())).ok_or_else(|| {
                let why =
                    format!("windows over an array of shape {:?} are more than a kernel counts", call.input_shape);
                CudaError::Launch { entry: call.op.into(), grid: u32::MAX, block: THREADS, why }
            })?;
            let copies = [copy, copy_of_indices];
            Work::Windows(Box::new(Windows { copies, launch: device.ready(&launch)?, workspace }))
        };
        let [x, indices] = [Some(x), indices].map(|array| array.map(|array| Layout::of(array.layout())));
        let x = x.expect("there is an array");
        Ok(Pooled { device: device.clone(), dtype, shape: shape.clone(), x, indices, has_indices: wants_indices, work })
    }

    /// The dtype of the results, which is that of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The shape of the results, and of indices.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The kernels that a run launches, in order.
    pub fn kernels(&self) -> Vec<&str> {
        match &self.work {
            Work::Nothing => Vec::new(),
            Work::Whole(values, indices) => {
                [Some(values), indices.as_ref()].into_iter().flatten().flat_map(|of| of.kernels()).collect()
            }
            Work::Windows(of) => {
                let Windows { copies, launch, .. } = &**of;
                copies.iter().flatten().map(|(copy, _)| copy.entry()).chain([launch.entry()]).collect()
            }
        }
    }

    /// Room for the results.
    ///
    /// # Errors
    /// If the memory does not suffice.
    pub fn output(&self) -> Result<Array, Error> {
        Array::new(&self.device, self.dtype, &self.shape)
    }

    /// Room for indices.
    ///
    /// # Errors
    /// If the memory does not suffice.
    pub fn output_of_indices(&self) -> Result<Array, Error> {
        Array::new(&self.device, DType::I64, &self.shape)
    }

    /// Queues one run. The results are in `out` when the stream gets there, which must not be in use by another stream.
    /// `indices` are those that [`max_pool_backward`](super::max_pool_backward) reads.
    ///
    /// # Errors
    /// If an array or the stream is not like that which this was prepared for, if `out` has indices and none were asked
    /// for, or the other way round, or if the driver refuses.
    pub fn run(
        &self,
        stream: &Stream,
        x: ArrayView<'_>,
        indices: Option<ArrayView<'_>>,
        out: &mut MaxPool,
    ) -> Result<(), Error> {
        out.values.is_on(stream, "output")?;
        out.values.expect("output", self.dtype, &self.shape)?;
        if out.indices.is_some() != self.has_indices {
            let [found, expected] =
                [!self.has_indices, self.has_indices].map(|there| if there { "there" } else { "absent" });
            let (found, expected) = (found.to_owned(), expected.to_owned());
            return Err(CudaError::Layout { what: "indices of the results", found, expected }.into());
        }
        if let Some(places) = &out.indices {
            places.is_on(stream, "indices")?;
            places.expect("indices", DType::I64, &self.shape)?;
        }
        let places = out.indices.as_ref().map_or(0, Array::address);
        // SAFETY: the arrays have the dtypes and the shape of the results, and stay until the device is done with them.
        unsafe { self.run_at(stream, x, indices, out.values.address(), places) }?;
        [Some(&mut out.values), out.indices.as_mut()].into_iter().flatten().for_each(|array| array.set_origin(None));
        Ok(())
    }

    /// Queues one run whose results go to memory that somebody else has allocated, in C order; and the indices of
    /// [`max_pool`](super::max_pool), if they were asked for and `places` is not 0.
    ///
    /// # Safety
    /// At the addresses there is room for the results, aligned to their elements, which nothing else touches until the
    /// stream has written it.
    ///
    /// # Errors
    /// As [`Pooled::run`].
    pub unsafe fn run_at(
        &self,
        stream: &Stream,
        x: ArrayView<'_>,
        indices: Option<ArrayView<'_>>,
        address: u64,
        places: u64,
    ) -> Result<(), Error> {
        stream.is_one_of(&self.device)?;
        x.is_on(stream, "array")?;
        self.x.check("array", &x)?;
        match (&self.indices, &indices) {
            (None, None) => {}
            (Some(layout), Some(indices)) => {
                indices.is_on(stream, "indices")?;
                layout.check("indices", indices)?;
            }
            (layout, indices) => {
                let absent = || "absent".to_owned();
                let found = indices.as_ref().map_or_else(absent, |array| Layout::of(array.layout()).to_string());
                let expected = layout.as_ref().map_or_else(absent, Layout::to_string);
                return Err(CudaError::Layout { what: "indices", found, expected }.into());
            }
        }
        match &self.work {
            Work::Nothing => Ok(()),
            Work::Whole(values, of_indices) => {
                // SAFETY: the caller's.
                unsafe { values.run_at(stream, x, None, address) }?;
                match of_indices.as_ref().filter(|_| places != 0) {
                    // SAFETY: the caller's.
                    Some(of_indices) => unsafe { of_indices.run_at(stream, x, None, places) },
                    None => Ok(()),
                }
            }
            Work::Windows(of) => {
                let Windows { copies, launch, workspace } = &**of;
                let mut scratch = stream.scratch();
                let workspace = scratch.workspace(stream, *workspace)?;
                let read = indices.map_or(places, |indices| indices.address());
                let mut at = [x.address(), read];
                for (address, copy) in at.iter_mut().zip(copies) {
                    let Some((copy, to)) = copy else { continue };
                    let output = workspace + *to as u64;
                    // SAFETY: the array is like that which was planned for, and the workspace has room for its
                    // elements; it is the stream's, whose lock is held.
                    unsafe { copy.queue(stream, ArrangeAt { input: *address, output }) }?;
                    *address = output;
                }
                let [input, places] = at;
                // SAFETY: as above; the caller vouches for the room of the results.
                Ok(unsafe { launch.queue(stream, PoolAt { input, output: address, places }) }?)
            }
        }
    }
}
