//! What `describe` says of an array on a GPU.

use crate::array::{Array, values};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::launch::Ready;
use crate::options::Options;
use crate::plan::{DESCRIBED, GpuPlan, Limits, described_bytes};
use crate::reduce::layout::Layout;
use crate::reduce::reduction::Reduction;
use crate::stream::Stream;
use crate::view::ArrayView;
use warpfold_array::Values;
use warpfold_array::problem::{Problem, normalize_axes, result_shape};
use warpfold_array::{CudaError, Error, Op, Scalar};
use warpfold_core::DType;
use warpfold_cpu::{Description, STATS};
use warpfold_kernels::reduce::call::CallAt;

/// Describing arrays of one dtype, shape and layout on one GPU: planned, its kernels loaded. What [`Reduction`] is for
/// one statistic.
///
/// Floats that lie side by side, along or across what is described, are read once. Of others, and of integers, each
/// statistic is a reduction of its own.
pub struct Survey {
    device: Device,
    input: Layout,
    dtype: DType,
    /// Of each statistic.
    shape: Vec<usize>,
    count: u64,
    work: Work,
}

enum Work {
    /// There are no outputs.
    Nothing(Description),
    /// One kernel for all; `offset` bytes from the array's address to where it starts. Others, if they are not the
    /// same, for an array that does not begin with a line of 16 bytes.
    Once { launches: Vec<Ready<CallAt>>, unaligned: Option<Vec<Ready<CallAt>>>, workspace: usize, offset: isize },
    /// [`EACH`], and for floats two counts: of what is not zero, with NaNs and without.
    Each(Vec<Reduction>),
}

/// The alignment of each result of [`Work::Each`], in bytes.
const ALIGN: usize = 16;

/// The reductions of [`Work::Each`].
const EACH: [Op; 8] = [Op::Min, Op::ArgMin, Op::Max, Op::ArgMax, Op::Mean, Op::Std, Op::Sum, Op::Norm];

/// The second of the counts, of which the first is `nan_count` with all others that are not zero.
const NUMBERS: &str = "numbers";

/// Where a statistic lies in the results of [`Survey::run_at`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// The statistic; or `numbers`, which the `nan_count` before it is then too great by.
    pub name: &'static str,
    /// Of its elements, one for each output.
    pub dtype: DType,
    /// From the first result, in bytes.
    pub offset: usize,
}

/// What a [`Survey`] found, on the device.
pub struct Statistics(Found);

enum Found {
    Nothing,
    /// An array for each of [`DESCRIBED`].
    Once(Buffer<u8>),
    Each(Vec<Array>),
}

impl Statistics {
    /// Queues setting every byte to `byte`.
    ///
    /// # Errors
    /// If the stream is of another device, or the driver refuses.
    pub fn fill(&mut self, stream: &Stream, byte: u8) -> Result<(), CudaError> {
        match &mut self.0 {
            Found::Nothing => Ok(()),
            Found::Once(buffer) => buffer.fill(stream, byte),
            Found::Each(arrays) => arrays.iter_mut().try_for_each(|array| array.fill(stream, byte)),
        }
    }
}

impl Survey {
    /// Plans, and loads the kernels. Of the options it takes `axes` and `keepdims`.
    ///
    /// # Errors
    /// As [`warpfold_cpu::describe()`], or what the driver says.
    pub fn new(device: &Device, input: &ArrayView<'_>, options: &Options<'_>) -> Result<Survey, Error> {
        let layouts = options.with_layout(options.mask.map(|mask| *mask.layout()));
        let dtype = input.dtype();
        warpfold_cpu::check_describe(dtype, &layouts)?;
        let axes = normalize_axes(options.axes.as_deref(), input.shape().len())?;
        let problem = Problem::new(input.layout(), &axes, None)?;
        let shape = result_shape(input.shape(), &axes, options.keepdims);
        let work = if problem.count == 0 || problem.outputs == 0 {
            // No element is read, for there is none.
            Work::Nothing(warpfold_cpu::describe(*input.layout(), &layouts)?)
        } else if let [Some(plan), Some(other)] = [true, false]
            .map(|aligned| GpuPlan::describe(dtype, false, &problem, &Limits { aligned, ..device.limits() }))
        {
            let launches = device.all_ready(&plan.launches)?;
            let workspace = plan.workspace.max(other.workspace);
            let unaligned = (other != plan).then(|| device.all_ready(&other.launches)).transpose()?;
            Work::Once { launches, unaligned, workspace, offset: problem.x_offset }
        } else {
            let plain = Options { axes: options.axes.clone(), keepdims: options.keepdims, ..Options::default() };
            let numbers = Options { skip_nan: true, ..plain.clone() };
            let counts: &[_] =
                if dtype.is_float() { &[(Op::CountNonzero, &plain), (Op::CountNonzero, &numbers)] } else { &[] };
            let all = EACH.map(|op| (op, &plain));
            let each = all.iter().chain(counts).map(|(op, options)| Reduction::new(device, *op, input, options));
            Work::Each(each.collect::<Result<_, _>>()?)
        };
        let (device, input, count) = (device.clone(), Layout::of(input.layout()), problem.count as u64);
        Ok(Survey { device, input, dtype, shape, count, work })
    }

    /// The kernels that a run launches, in order.
    pub fn kernels(&self) -> Vec<&str> {
        match &self.work {
            Work::Nothing(_) => Vec::new(),
            Work::Once { launches, .. } => launches.iter().map(Ready::entry).collect(),
            Work::Each(each) => each.iter().flat_map(Reduction::kernels).collect(),
        }
    }

    /// The shape of each statistic.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The number of elements under each output.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// What it finds, if that takes no kernel: there are no elements, or no outputs.
    pub fn constant(&self) -> Option<&Description> {
        match &self.work {
            Work::Nothing(description) => Some(description),
            _ => None,
        }
    }

    /// The results of [`Survey::run_at`], and the bytes of all.
    pub fn sections(&self) -> (Vec<Section>, usize) {
        let all: Vec<(&str, DType)> = match &self.work {
            Work::Nothing(_) => Vec::new(),
            Work::Once { .. } => DESCRIBED.iter().map(|&(name, own)| (name, own.unwrap_or(self.dtype))).collect(),
            Work::Each(each) => {
                let counts = ["nan_count", NUMBERS].into_iter();
                let names = EACH.into_iter().map(Op::name).chain(counts);
                let dtypes = each.iter().map(Reduction::dtype).chain((each.len() == EACH.len()).then_some(DType::I64));
                names.zip(dtypes).collect()
            }
        };
        let (outputs, mut bytes) = (self.shape.iter().product::<usize>(), 0);
        let place = |(name, dtype): (&'static str, DType)| {
            // One kernel's sections have no gaps, and need none: the widest elements are first.
            let align = if matches!(self.work, Work::Each(_)) { ALIGN } else { 1 };
            let offset = usize::next_multiple_of(bytes, align);
            bytes = offset + outputs * dtype.size();
            Section { name, dtype, offset }
        };
        (all.into_iter().map(place).collect(), bytes)
    }

    /// Queues one run whose results go to memory that somebody else has allocated, where [`Survey::sections`] says.
    /// Nothing waits.
    ///
    /// # Safety
    /// At `address`, which is a multiple of 16, there is room for the results, which nothing else touches until the
    /// stream has written them.
    ///
    /// # Errors
    /// As [`Survey::run`].
    pub unsafe fn run_at(&self, stream: &Stream, input: ArrayView<'_>, address: u64) -> Result<(), Error> {
        self.check(stream, &input)?;
        match &self.work {
            Work::Nothing(_) => Ok(()),
            // SAFETY: `check` has seen that the array is like that which was planned for; the caller vouches for room.
            Work::Once { .. } => unsafe { self.queue(stream, &input, address) },
            Work::Each(each) => {
                let (sections, bytes) = self.sections();
                let at = |section: &Section| address + section.offset as u64;
                for (reduction, section) in each.iter().zip(&sections) {
                    // SAFETY: as above.
                    unsafe { reduction.run_at(stream, input, None, at(section)) }?;
                }
                for section in sections.get(each.len()..).unwrap_or_default() {
                    // Of integers none is NaN.
                    // SAFETY: as above; it is the last section.
                    unsafe { stream.fill(at(section), 0, bytes - section.offset) }?;
                }
                Ok(())
            }
        }
    }

    fn check(&self, stream: &Stream, input: &ArrayView<'_>) -> Result<(), Error> {
        stream.is_one_of(&self.device)?;
        input.is_on(stream, "array")?;
        Ok(self.input.check("array", input)?)
    }

    /// Queues the launches of one kernel for all.
    ///
    /// # Safety
    /// The array is like that which was planned for, and stays until the device is done with it, as does the room for
    /// every statistic at `output`.
    unsafe fn queue(&self, stream: &Stream, input: &ArrayView<'_>, output: u64) -> Result<(), Error> {
        let Work::Once { launches, unaligned, workspace, offset } = &self.work else { return Ok(()) };
        let mut scratch = stream.scratch();
        let workspace = scratch.workspace(stream, *workspace)?;
        let input = input.address().wrapping_add_signed(*offset as i64);
        let at = CallAt { input, mask: 0, output, workspace };
        let other = unaligned.as_ref().filter(|_| !input.is_multiple_of(16));
        for launch in other.unwrap_or(launches) {
            // SAFETY: the caller's. The workspace is as large as the plan asks for, its counters are zero, and the lock
            // is held.
            unsafe { launch.queue(stream, launch.place(at)) }?;
        }
        Ok(())
    }

    /// Room for what it finds.
    ///
    /// # Errors
    /// If the memory does not suffice.
    pub fn output(&self) -> Result<Statistics, Error> {
        let found = match &self.work {
            Work::Nothing(_) => Found::Nothing,
            Work::Once { .. } => Found::Once(Buffer::new(&self.device, self.bytes())?),
            Work::Each(each) => Found::Each(each.iter().map(Reduction::output).collect::<Result<_, _>>()?),
        };
        Ok(Statistics(found))
    }

    /// Queues one run; `out` must not be in use by another stream.
    ///
    /// # Errors
    /// If an array or the stream is not like that which this was prepared for, or the driver refuses.
    pub fn run(&self, stream: &Stream, input: ArrayView<'_>, out: &mut Statistics) -> Result<(), Error> {
        self.check(stream, &input)?;
        match (&self.work, &mut out.0) {
            (Work::Nothing(_), Found::Nothing) => Ok(()),
            (Work::Once { .. }, Found::Once(buffer))
                if buffer.len() == self.bytes() && buffer.device_index() == self.device.index() =>
            {
                // SAFETY: `check` has seen that the array is like that which was planned for; it is borrowed or stays
                // until the device is done with it, as `ArrayView::from_raw` promises. The output has room for every
                // statistic, and its drop waits.
                unsafe { self.queue(stream, &input, buffer.address()) }
            }
            (Work::Each(each), Found::Each(arrays)) if each.len() == arrays.len() => {
                each.iter().zip(arrays).try_for_each(|(reduction, out)| reduction.run(stream, input, None, out))
            }
            _ => {
                let expected = format!("room for {} of {:?}", self.dtype, self.shape);
                Err(CudaError::Layout { what: "output", found: "made by another survey".into(), expected }.into())
            }
        }
    }

    /// Copies the results of a run to the host. Waits for all that is queued on the stream.
    ///
    /// # Errors
    /// If something went wrong on the device.
    pub fn download(&self, found: &Statistics, stream: &Stream) -> Result<Description, Error> {
        let stats = match (&self.work, &found.0) {
            (Work::Nothing(description), _) => return Ok(description.clone()),
            (_, Found::Once(buffer)) => self.apart(&buffer.read(stream)?),
            (_, Found::Each(arrays)) => self.joined(arrays, stream)?,
            (_, Found::Nothing) => Vec::new(),
        };
        Ok(Description { shape: self.shape.clone(), count: self.count, stats })
    }

    /// Bytes of all arrays of statistics.
    fn bytes(&self) -> usize {
        self.shape.iter().product::<usize>() * described_bytes(self.dtype)
    }

    /// The arrays of one kernel's output.
    fn apart(&self, bytes: &[u8]) -> Vec<(&'static str, Values)> {
        let outputs: usize = self.shape.iter().product();
        let mut rest = bytes;
        let found = DESCRIBED.map(|(name, own)| {
            let dtype = own.unwrap_or(self.dtype);
            let (array, after) = rest.split_at(outputs * dtype.size());
            rest = after;
            (name, values(dtype, array))
        });
        let of = |name: &str| found.iter().find(|(other, _)| *other == name).map(|(_, values)| values.clone());
        STATS.iter().filter_map(|&name| Some((name, of(name)?))).collect()
    }

    /// The results of many reductions.
    fn joined(&self, arrays: &[Array], stream: &Stream) -> Result<Vec<(&'static str, Values)>, Error> {
        each_alone(self.dtype, self.shape.iter().product(), |op, skips_nan| {
            let at = EACH.iter().position(|&other| other == op).unwrap_or(EACH.len() + skips_nan as usize);
            Ok(arrays[at].download(stream)?.values)
        })
    }
}

/// One reduction for each statistic, which may skip NaN.
pub(crate) fn each_alone(
    dtype: DType,
    outputs: usize,
    mut reduce: impl FnMut(Op, bool) -> Result<Values, Error>,
) -> Result<Vec<(&'static str, Values)>, Error> {
    let mut nans = vec![0; outputs];
    if dtype.is_float() {
        // A NaN counts as not zero, unless it is skipped.
        let (with, without) = (reduce(Op::CountNonzero, false)?, reduce(Op::CountNonzero, true)?);
        nans = (0..outputs).map(|i| integer(with.get(i)) - integer(without.get(i))).collect();
    }
    let mut stats = vec![("nan_count", Values::I64(nans))];
    for op in EACH {
        stats.push((op.name(), reduce(op, false)?));
    }
    Ok(stats)
}

fn integer(count: Scalar) -> i64 {
    match count {
        Scalar::I64(n) => n,
        other => other.to_f64() as i64,
    }
}

/// Count, NaN count, min, argmin, max, argmax, mean, std (population), sum and 2-norm of an array on a GPU, with the
/// bits of [`warpfold_cpu::describe()`]; read once where [`Survey`] can.
///
/// Of the options it takes `axes` and `keepdims`.
///
/// # Errors
/// As [`warpfold_cpu::describe()`], or what the driver says.
pub fn describe(input: ArrayView<'_>, options: &Options<'_>, stream: &Stream) -> Result<Description, Error> {
    let survey = Survey::new(&stream.device(), &input, options)?;
    let mut found = survey.output()?;
    survey.run(stream, input, &mut found)?;
    survey.download(&found, stream)
}
