//! Values parted by their labels: kernels loaded and memory allocated.

use super::view;
use crate::buffer::Buffer;
use crate::device::Device;
use crate::launch::Ready;
use crate::options::Options;
use crate::plan::split::Problem;
use crate::segments::segmented::Segmented;
use crate::stream::Stream;
use warpfold_array::request::Spec;
use warpfold_array::{CudaError, Error, Op, Scalar, Values};
use warpfold_core::DType;
use warpfold_kernels::split::{SplitAt, SumsAt};

/// See the module.
pub struct Splitter {
    first: Vec<Ready<SplitAt>>,
    /// The sums of groups, if one part is enough for them, unless they say otherwise.
    sums: Option<Ready<SumsAt>>,
    second: Vec<Ready<SplitAt>>,
    rests: Buffer<u16>,
    moved: [Buffer<u32>; 2],
    /// Where buckets begin, and groups.
    starts: [Buffer<u32>; 2],
    counts: [Buffer<u32>; 2],
    firsts: Buffer<u32>,
    again: Buffer<u32>,
    /// Nodes of groups, and eights.
    nodes: [Buffer<u32>; 2],
}

/// Where values are in the order of their labels, or nodes of them.
pub struct Parted {
    /// The address of the values or nodes.
    pub values: u64,
    /// And of the offsets of the groups.
    pub offsets: u64,
    /// Of a word that is zero if the groups are reduced already; 0: they are not.
    pub only: u64,
}

/// The sum of segments of nodes. NaNs are left out already, so the sum starts from zero as if some were.
pub fn segments(device: &Device, parts: &Problem, dtype: DType, options: &Options<'_>) -> Result<Segmented, Error> {
    let index = device.properties().index;
    let zero = options.skip_nan.then_some(Scalar::F64(0.0));
    let options = Options { skip_nan: false, initial: options.initial.or(zero), ..options.clone() };
    // SAFETY: planning reads nothing, and does not look at addresses.
    let (x, cuts) =
        unsafe { (view(index, 0, dtype, parts.nodes()[0])?, view(index, 0, DType::U32, parts.groups + 1)?) };
    Segmented::new(device, Op::Sum, &x, &cuts, &options, None)
}

impl Splitter {
    pub fn new(device: &Device, problem: &Problem, spec: &Spec, empty: Option<&Values>) -> Result<Self, CudaError> {
        let (n, groups, buckets) = (problem.n, problem.groups, problem.buckets());
        let sums = problem.sums(spec, empty).map(|launch| device.ready(&launch)).transpose()?;
        let twice = if problem.is_twice() { n } else { 0 };
        let first = match problem.has_nodes(spec) {
            true => device.all_ready(&problem.make_nodes(spec))?,
            false => device.all_ready(&problem.first())?,
        };
        let second = match twice {
            0 => Vec::new(),
            _ => device.all_ready(&problem.second())?,
        };
        let [nodes, eights] = if problem.has_nodes(spec) { problem.nodes() } else { [0; 2] };
        let [rows, totals] = problem.count_words();
        Ok(Self {
            first,
            sums,
            second,
            nodes: [Buffer::new(device, nodes)?, Buffer::new(device, eights)?],
            rests: Buffer::new(device, twice)?,
            moved: [Buffer::new(device, n)?, Buffer::new(device, twice)?],
            starts: [Buffer::new(device, buckets + 1)?, Buffer::new(device, if twice > 0 { groups + 1 } else { 0 })?],
            counts: [Buffer::new(device, rows)?, Buffer::new(device, totals)?],
            firsts: Buffer::new(device, problem.chunks())?,
            again: Buffer::new(device, 1)?,
        })
    }

    /// How many nodes there is room for.
    pub fn nodes(&self) -> usize {
        self.nodes[0].len()
    }

    /// The kernels, in the order of their launches.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        let sums = self.sums.iter().map(Ready::entry);
        self.first.iter().map(Ready::entry).chain(sums).chain(self.second.iter().map(Ready::entry))
    }

    /// Where values are when all is done, unless they are reduced already.
    pub fn parted(&self) -> Parted {
        let last = usize::from(!self.second.is_empty());
        Parted {
            values: if self.nodes() > 0 { self.nodes[0].address() } else { self.moved[last].address() },
            offsets: self.starts[last].address(),
            only: if self.sums.is_some() { self.again.address() } else { 0 },
        }
    }

    /// Queues parting values by labels, at these addresses. What is wrong with a label goes to `said`, three words, and
    /// sums go to `output`.
    ///
    /// # Safety
    /// There are as many labels, values and results as were planned for, and the words, until the device is done with
    /// them.
    pub unsafe fn queue(
        &mut self,
        stream: &Stream,
        [labels, values]: [u64; 2],
        said: u64,
        output: u64,
    ) -> Result<(), CudaError> {
        let [starts, offsets] = [self.starts[0].address(), self.starts[1].address()];
        let [rests, again] = [self.rests.address(), self.again.address()];
        let moved = [self.moved[0].address(), self.moved[1].address()];
        let [rows, totals] = [self.counts[0].address(), self.counts[1].address()];
        let at = SplitAt {
            labels,
            values,
            buckets: 0,
            rests,
            moved: moved[0],
            starts,
            rows,
            totals,
            firsts: self.firsts.address(),
            said,
            again,
            eights: self.nodes[1].address(),
            nodes: self.nodes[0].address(),
        };
        let next = SplitAt {
            labels: rests,
            values: moved[0],
            buckets: starts,
            rests: 0,
            moved: moved[1],
            starts: offsets,
            ..at
        };
        // SAFETY: the caller's; the rest is this value's, as large as the plan says.
        unsafe {
            for launch in &self.first {
                launch.queue(stream, at)?;
            }
            if let Some(sums) = &self.sums {
                let at = SumsAt { rests, values: moved[0], buckets: starts, output, workspace: 0, again };
                sums.queue(stream, at)?;
            }
            for launch in &self.second {
                launch.queue(stream, next)?;
            }
        }
        Ok(())
    }
}
