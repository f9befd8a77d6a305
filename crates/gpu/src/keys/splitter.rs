//! Values parted by their labels: kernels loaded and memory allocated.

use crate::buffer::Buffer;
use crate::device::Device;
use crate::launch::Ready;
use crate::plan::split::Problem;
use crate::stream::Stream;
use warpfold_array::request::Spec;
use warpfold_array::{CudaError, Values};
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
}

/// Where values are in the order of their labels.
pub struct Parted {
    /// The address of the values.
    pub values: u64,
    /// And of the offsets of the groups.
    pub offsets: u64,
    /// Of a word that is zero if the groups are reduced already; 0: they are not.
    pub only: u64,
}

impl Splitter {
    pub fn new(device: &Device, problem: &Problem, spec: &Spec, empty: Option<&Values>) -> Result<Self, CudaError> {
        let (n, groups, buckets) = (problem.n, problem.groups, problem.buckets());
        let sums = problem.sums(spec, empty).map(|launch| device.ready(&launch)).transpose()?;
        let twice = if problem.is_twice() { n } else { 0 };
        let second = match twice {
            0 => Vec::new(),
            _ => device.all_ready(&problem.second())?,
        };
        let [rows, totals] = problem.count_words();
        Ok(Self {
            first: device.all_ready(&problem.first())?,
            sums,
            second,
            rests: Buffer::new(device, twice)?,
            moved: [Buffer::new(device, n)?, Buffer::new(device, twice)?],
            starts: [Buffer::new(device, buckets + 1)?, Buffer::new(device, if twice > 0 { groups + 1 } else { 0 })?],
            counts: [Buffer::new(device, rows)?, Buffer::new(device, totals)?],
            firsts: Buffer::new(device, problem.chunks())?,
            again: Buffer::new(device, 1)?,
        })
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
            values: self.moved[last].address(),
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
