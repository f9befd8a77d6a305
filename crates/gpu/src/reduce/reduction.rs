//! A reduction that is prepared once and run many times.

use crate::array::{Array, values};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::launch::Ready;
use crate::options::Options;
use crate::origin::Origin;
use crate::plan::{GpuPlan, Limits};
use crate::reduce::layout::Layout;
use crate::reduce::work::Work;
use crate::scratch::{MAILBOX, StatusTo, queue_status};
use crate::stream::Stream;
use crate::view::ArrayView;
use std::sync::Arc;
use warpfold_array::Values;
use warpfold_array::request::Request;
use warpfold_array::request::Spec;
use warpfold_array::{CudaError, Error, Op};
use warpfold_core::DType;
use warpfold_kernels::reduce::call::CallAt;

/// A reduction of arrays of one dtype, shape and layout on one GPU: planned, its kernels loaded.
///
/// A run costs the host the driver's calls and no more: nothing is planned, allocated or compiled. Any number of
/// threads can run it, on any streams.
pub struct Reduction {
    device: Device,
    op: Op,
    input: Layout,
    mask: Option<Layout>,
    dtype: DType,
    shape: Vec<usize>,
    work: Work<Constant>,
    /// From the addresses of input, mask and output to where kernels start, in bytes.
    offsets: [isize; 3],
    /// If an output may have no value.
    origin: Option<Arc<Origin>>,
}

/// A result for which no element is read.
enum Constant {
    /// Of no elements.
    Values { values: Values, on_device: Buffer<u8> },
    /// So many bytes of zeros: the places of the only elements.
    Zeros(usize),
}

impl Reduction {
    /// Plans a reduction of arrays like `input` with masks like that of the options, and loads its kernels. The
    /// driver compiles a kernel when it is first used, which takes tenths of a second (the suite `first` of
    /// docs/benchmarking.md measures it), and keeps the compiled kernel on disk.
    ///
    /// # Errors
    /// What [`warpfold_cpu::reduce`] refuses, [`CudaError::NoKernel`], or what the driver says.
    pub fn new(device: &Device, op: Op, input: &ArrayView<'_>, options: &Options<'_>) -> Result<Reduction, Error> {
        let mask = options.mask.map(|mask| *mask.layout());
        let layouts = options.with_layout(mask);
        let request = Request::new(op, input.layout(), &layouts)?;
        let Request { ref spec, ref problem, .. } = request;
        let shape = request.shape();
        let dtype = spec.result();
        let pair = if op == Op::MinMax { 2 } else { 1 };
        let offsets = [problem.x_offset, problem.mask_offset, problem.out_offset * pair * dtype.size() as isize];
        let work = match (problem.outputs, problem.count) {
            (0, _) => Work::Nothing,
            (_, 0) => {
                // No element is read, for there is none.
                let values = warpfold_cpu::reduce(op, *input.layout(), &layouts)?.values;
                let stream = Stream::new(device)?;
                let on_device = Buffer::upload(&stream, values.as_bytes())?;
                Work::Constant(Constant::Values { values, on_device })
            }
            // Where nothing is left out, the only element is the least and the greatest.
            (outputs, 1) if matches!(op, Op::ArgMin | Op::ArgMax) && !spec.skip_nan && !spec.masked => {
                Work::Constant(Constant::Zeros(outputs * dtype.size()))
            }
            _ => {
                let [plan, other] =
                    [true, false].map(|aligned| GpuPlan::new(spec, problem, &Limits { aligned, ..device.limits() }));
                let launches = load(device, spec, &plan)?;
                let workspace = plan.workspace.max(other.workspace);
                let unaligned = (other != plan).then(|| load(device, spec, &other)).transpose()?;
                Work::Launches { launches, unaligned, workspace }
            }
        };
        let origin = may_have_holes(spec).then(|| {
            let (shape, axes) = (input.shape().to_vec(), request.axes.clone());
            Arc::new(Origin { op, name: op.name(), dtype: spec.input, shape, axes, parts: None, groups: None })
        });
        let (input, mask) = (Layout::of(input.layout()), mask.as_ref().map(Layout::of));
        Ok(Reduction { device: device.clone(), op, input, mask, dtype, shape, work, offsets, origin })
    }

    /// The reduction.
    pub fn op(&self) -> Op {
        self.op
    }

    /// The dtype of the result.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The shape of the result.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The kernels that a run launches, in order.
    pub fn kernels(&self) -> Vec<&str> {
        self.work.kernels()
    }

    /// Room for a result.
    ///
    /// # Errors
    /// If the memory does not suffice.
    pub fn output(&self) -> Result<Array, Error> {
        Array::new(&self.device, self.dtype, &self.shape)
    }

    /// Queues one run. The result is in `out` when the stream gets there; `out` must not be in use by another stream.
    ///
    /// # Errors
    /// If an array or the stream is not like that which the reduction was prepared for, or the driver refuses. An
    /// output without a value is an error of [`Array::download`].
    pub fn run(
        &self,
        stream: &Stream,
        input: ArrayView<'_>,
        mask: Option<ArrayView<'_>>,
        out: &mut Array,
    ) -> Result<(), Error> {
        self.check(stream, &input, mask.as_ref())?;
        out.is_on(stream, "output")?;
        out.expect("output", self.dtype, &self.shape)?;
        let status = match self.origin {
            None => StatusTo::Nowhere,
            Some(_) => StatusTo::Device(out.status_address()),
        };
        // SAFETY: `check` and the above have seen that the arrays are like those that were planned for; they are
        // borrowed or stay until the device is done with them, as `ArrayView::from_raw` and `Buffer`'s drop promise.
        unsafe { self.queue(stream, &input, mask.as_ref(), Destination { address: out.address(), status }) }?;
        out.set_origin(self.origin.clone());
        Ok(())
    }

    /// Queues one run whose result goes to memory that somebody else has allocated, in C order. Only a reduction some
    /// of whose outputs may have no value waits for the result: then that is an error.
    ///
    /// # Safety
    /// At `address` there is room for the result, aligned to its elements, which nothing else touches until the stream
    /// has written it.
    ///
    /// # Errors
    /// As [`Reduction::run`] and [`Array::download`].
    pub unsafe fn run_at(
        &self,
        stream: &Stream,
        input: ArrayView<'_>,
        mask: Option<ArrayView<'_>>,
        address: u64,
    ) -> Result<(), Error> {
        self.check(stream, &input, mask.as_ref())?;
        let Some(origin) = &self.origin else {
            let to = Destination { address, status: StatusTo::Nowhere };
            // SAFETY: `check` has seen that the arrays are like those that were planned for; they stay, as
            // `ArrayView::from_raw` promises. The caller vouches for the room.
            return Ok(unsafe { self.queue(stream, &input, mask.as_ref(), to) }?);
        };
        let mut status = Array::new(&self.device, DType::U32, &[1])?;
        status.fill(stream, 0)?;
        let to = Destination { address, status: StatusTo::Device(status.address()) };
        // SAFETY: as above; the status is 4 bytes, which stay until they have been downloaded.
        unsafe { self.queue(stream, &input, mask.as_ref(), to) }?;
        match status.download(stream)?.values {
            Values::U32(words) => origin.check(words[0]),
            _ => unreachable!("the status is a u32"),
        }
    }

    /// Runs and brings the result to the host, in the least time: kernels write a small one into the host's memory
    /// themselves, and the host does not go to sleep while it waits.
    ///
    /// # Errors
    /// As [`Reduction::run`] and [`Array::download`].
    pub fn run_to_host(
        &self,
        stream: &Stream,
        input: ArrayView<'_>,
        mask: Option<ArrayView<'_>>,
    ) -> Result<warpfold_array::Array, Error> {
        self.check(stream, &input, mask.as_ref())?;
        let shape = self.shape.clone();
        match &self.work {
            Work::Constant(Constant::Zeros(bytes)) => {
                return Ok(warpfold_array::Array { shape, values: values(self.dtype, &vec![0; *bytes]) });
            }
            Work::Constant(Constant::Values { values, .. }) => {
                return Ok(warpfold_array::Array { shape, values: values.clone() });
            }
            // No kernel says what the status is.
            Work::Nothing => return Ok(warpfold_array::Array { shape, values: values(self.dtype, &[]) }),
            Work::Launches { .. } => {}
        }
        let bytes = shape.iter().product::<usize>() * self.dtype.size();
        if bytes > MAILBOX {
            return self.run_and_download(stream, input, mask);
        }
        let mut scratch = stream.scratch();
        let workspace = scratch.workspace(stream, self.workspace())?;
        let Some(mailbox) = scratch.mailbox(stream)? else {
            drop(scratch);
            return self.run_and_download(stream, input, mask);
        };
        let (start, address) = (mailbox.host.start(), mailbox.address);
        let status = match self.origin {
            None => StatusTo::Nowhere,
            Some(_) => StatusTo::Host(start.wrapping_add(MAILBOX)),
        };
        // SAFETY: as in `run`; the mailbox has room for the result and the status, and belongs to whoever holds the
        // lock until the stream has been waited for. The workspace is the stream's.
        unsafe { self.queue_on(stream, &input, mask.as_ref(), Destination { address, status }, workspace) }?;
        stream.spin()?;
        let written = mailbox.host.slice();
        if let Some(origin) = &self.origin {
            let status = &written[MAILBOX..];
            origin.check(u32::from_ne_bytes([status[0], status[1], status[2], status[3]]))?;
        }
        Ok(warpfold_array::Array { shape, values: values(self.dtype, &written[..bytes]) })
    }

    fn run_and_download(
        &self,
        stream: &Stream,
        input: ArrayView<'_>,
        mask: Option<ArrayView<'_>>,
    ) -> Result<warpfold_array::Array, Error> {
        let mut out = self.output()?;
        self.run(stream, input, mask, &mut out)?;
        out.download(stream)
    }

    /// Whether it is for arrays like these.
    pub(crate) fn suits(&self, input: &ArrayView<'_>, mask: Option<&ArrayView<'_>>) -> bool {
        Layout::check_both(self.mask.as_ref(), "mask", mask).is_ok() && self.input.check("array", input).is_ok()
    }

    /// Queues a run whose workspace is lent by who holds the stream's lock; results go to `address`.
    ///
    /// # Safety
    /// As [`Reduction::run_at`], of a reduction all of whose outputs have values; the workspace has as many bytes as
    /// [`Reduction::workspace`] says, is the stream's, and its lock is held.
    pub(crate) unsafe fn run_in(
        &self,
        stream: &Stream,
        input: ArrayView<'_>,
        address: u64,
        workspace: u64,
    ) -> Result<(), Error> {
        self.check(stream, &input, None)?;
        let to = Destination { address, status: StatusTo::Nowhere };
        // SAFETY: the caller's.
        Ok(unsafe { self.queue_on(stream, &input, None, to, workspace) }?)
    }

    /// Bytes of workspace of a run.
    pub(crate) fn workspace(&self) -> usize {
        match self.work {
            Work::Launches { workspace, .. } => workspace,
            _ => 0,
        }
    }

    fn check(&self, stream: &Stream, input: &ArrayView<'_>, mask: Option<&ArrayView<'_>>) -> Result<(), CudaError> {
        stream.is_one_of(&self.device)?;
        input.is_on(stream, "array")?;
        self.input.check("array", input)?;
        Layout::check_both(self.mask.as_ref(), "mask", mask)?;
        mask.into_iter().try_for_each(|mask| mask.is_on(stream, "mask"))
    }

    /// # Safety
    /// Input and mask are like those that were planned for, and the destination has room for the result; all stay until
    /// the device is done with them.
    unsafe fn queue(
        &self,
        stream: &Stream,
        input: &ArrayView<'_>,
        mask: Option<&ArrayView<'_>>,
        to: Destination,
    ) -> Result<(), CudaError> {
        let mut scratch = stream.scratch();
        let workspace = match self.work {
            Work::Launches { workspace, .. } => scratch.workspace(stream, workspace)?,
            _ => 0,
        };
        // SAFETY: the caller's; the workspace is the stream's, whose lock is held.
        unsafe { self.queue_on(stream, input, mask, to, workspace) }
    }

    /// # Safety
    /// As [`Reduction::queue`]; the stream's lock is held for the sake of `workspace`.
    unsafe fn queue_on(
        &self,
        stream: &Stream,
        input: &ArrayView<'_>,
        mask: Option<&ArrayView<'_>>,
        to: Destination,
        workspace: u64,
    ) -> Result<(), CudaError> {
        match &self.work {
            // SAFETY: 4 bytes; the caller's.
            Work::Nothing => unsafe { clear(stream, to.status) },
            Work::Constant(Constant::Zeros(bytes)) => {
                // SAFETY: the caller's room has the bytes of the result.
                unsafe { stream.fill(to.address, 0, *bytes) }?;
                // SAFETY: 4 bytes; the caller's.
                unsafe { clear(stream, to.status) }
            }
            Work::Constant(Constant::Values { on_device, .. }) => {
                let (from, bytes) = (on_device.address(), on_device.len());
                // SAFETY: the caller's room has the bytes of the result, which are those of the constant.
                unsafe { stream.copy(to.address, from, bytes) }?;
                // SAFETY: 4 bytes; the caller's.
                unsafe { clear(stream, to.status) }
            }
            Work::Launches { launches, unaligned, .. } => {
                let [x, m, out] = self.offsets;
                let at = CallAt {
                    input: input.address().wrapping_add_signed(x as i64),
                    mask: mask.map_or(0, |mask| mask.address().wrapping_add_signed(m as i64)),
                    output: to.address.wrapping_add_signed(out as i64),
                    workspace,
                };
                let other = unaligned.as_ref().filter(|_| !at.input.is_multiple_of(16));
                for launch in other.unwrap_or(launches) {
                    // SAFETY: the plan is for arrays like these, by the caller's promise; the workspace is as large as
                    // the plan asks for, its counters are zero, and no other stream uses it.
                    unsafe { launch.queue(stream, launch.place(at)) }?;
                }
                // SAFETY: the caller's.
                unsafe { queue_status(stream, workspace, to.status) }
            }
        }
    }
}

/// Where a result goes.
#[derive(Clone, Copy)]
struct Destination {
    address: u64,
    status: StatusTo,
}

/// Queues writing that every output has a value.
///
/// # Safety
/// As [`queue_status`].
unsafe fn clear(stream: &Stream, status: StatusTo) -> Result<(), CudaError> {
    let StatusTo::Device(status) = status else { return Ok(()) };
    // SAFETY: the caller's.
    unsafe { stream.fill(status, 0, 4) }
}

/// Loads the kernels of a plan.
fn load(device: &Device, spec: &Spec, plan: &GpuPlan) -> Result<Vec<Ready<CallAt>>, CudaError> {
    if plan.launches.is_empty() {
        return Err(CudaError::NoKernel { op: spec.op, dtype: spec.input });
    }
    device.all_ready(&plan.launches)
}

/// Whether an output of at least one element may have no value.
pub(crate) fn may_have_holes(spec: &Spec) -> bool {
    let arg = matches!(spec.op, Op::ArgMin | Op::ArgMax);
    spec.op.selects() && (spec.masked && spec.initial.is_none() || arg && spec.skip_nan)
}
