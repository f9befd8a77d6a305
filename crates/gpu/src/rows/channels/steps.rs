//! The launches of a norm of channels, in order.

use warpfold_array::CudaError;
use warpfold_array::problem::Problem;
use warpfold_array::request::Spec;
use warpfold_core::DType;
use warpfold_kernels::channel::ChannelsAt;
use warpfold_kernels::channel::record::RecordsAt;
use warpfold_kernels::reduce::call::CallAt;
use warpfold_kernels::reduce::workspace::COUNTERS;
use warpfold_kernels::rowwise::arrange::ArrangeAt;

use crate::device::Device;
use crate::launch::Ready;
use crate::plan::channels::{ChannelShape, OfElements};
use crate::plan::rowwise::{arrange, room};
use crate::plan::zip::wide;
use crate::plan::{GpuPlan, Limits};
use crate::stream::Stream;

/// Where something is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Place {
    /// Nowhere.
    Nowhere,
    /// Array number so many of those that are given.
    Given(usize),
    /// Result number so many; what goes there is not queued if it is not wanted.
    Result(usize),
    /// In room number so many, so many bytes behind its start.
    Room(usize, usize),
}

impl Place {
    /// So many bytes behind a place in a room.
    pub(super) fn behind(self, bytes: usize) -> Self {
        if let Place::Room(room, at) = self { Place::Room(room, at + bytes) } else { self }
    }
}

/// The addresses of one run; a result that is not wanted is at zero.
pub(super) struct Addresses {
    pub(super) given: [u64; 6],
    pub(super) results: [u64; 3],
}

/// One step, and the results for which it is, a bit for each.
struct Step {
    does: Does,
    results: u32,
}

/// What a step does.
enum Does {
    /// A copy, perhaps to another dtype.
    Copy(Ready<ArrangeAt>, [Place; 2]),
    /// A reduction of an array that begins with a line of 16 bytes, or of any other.
    Reduce([Vec<Ready<CallAt>>; 2], [Place; 2]),
    /// Records of rows and channels. Places are those of [`RecordsAt`].
    Prepare(Ready<RecordsAt>, [Place; 8]),
    /// What becomes of elements, of arrays that begin with lines of 16 bytes, or of any others. Places are those of
    /// [`ChannelsAt`].
    Each([Ready<ChannelsAt>; 2], [Place; 6]),
    /// So many bytes that are the same.
    Fill(u8, usize, Place),
}

impl Does {
    /// The kernels, in order, of arrays that begin with lines.
    fn kernels(&self) -> Vec<&str> {
        match self {
            Does::Copy(launch, _) => vec![launch.entry()],
            Does::Reduce([launches, _], _) => launches.iter().map(Ready::entry).collect(),
            Does::Prepare(launch, _) => vec![launch.entry()],
            Does::Each([launch, _], _) => vec![launch.entry()],
            Does::Fill(..) => Vec::new(),
        }
    }

    /// What is read, and what is written.
    fn places(&self) -> (&[Place], Place) {
        match self {
            Does::Copy(_, at) | Does::Reduce(_, at) => (&at[..1], at[1]),
            // All records are in one room.
            Does::Prepare(_, at) => (&at[..6], at[6]),
            // What goes behind the results is in their room.
            Does::Each(_, at) => (&at[..4], at[4]),
            Does::Fill(.., to) => (&[], *to),
        }
    }
}

/// All steps, with their kernels loaded.
pub(super) struct Steps {
    device: Device,
    limits: Limits,
    steps: Vec<Step>,
    /// Bytes of what reductions leave.
    parts: usize,
    /// Where rooms start, and where the last one ends.
    rooms: Vec<usize>,
}

impl Steps {
    pub(super) fn new(device: &Device) -> Self {
        let limits = device.limits();
        Self { device: device.clone(), limits, steps: Vec::new(), parts: COUNTERS, rooms: vec![0] }
    }

    /// The kernels, in order, of arrays that begin with lines.
    pub(super) fn kernels(&self) -> Vec<&str> {
        self.steps.iter().flat_map(|step| step.does.kernels()).collect()
    }

    /// Room for so many elements.
    pub(super) fn room(&mut self, elements: usize, dtype: DType) -> Place {
        let number = self.rooms.len() - 1;
        self.rooms.push(self.rooms[number] + room(elements, dtype));
        Place::Room(number, 0)
    }

    fn push(&mut self, does: Does) {
        self.steps.push(Step { does, results: 0 });
    }

    /// Finds the results for which each step is.
    pub(super) fn ready(mut self) -> Self {
        let mut of_rooms = vec![0; self.rooms.len()];
        for step in self.steps.iter_mut().rev() {
            let (reads, to) = step.does.places();
            step.results = match to {
                Place::Room(room, _) => of_rooms[room],
                Place::Result(result) => 1 << result,
                _ => 0,
            };
            for place in reads {
                if let Place::Room(room, _) = place {
                    of_rooms[*room] |= step.results;
                }
            }
        }
        self
    }

    /// A copy to an array in C order.
    pub(super) fn copy(
        &mut self,
        axes: &[(usize, isize, isize)],
        dtypes: [DType; 2],
        at: [Place; 2],
    ) -> Result<(), CudaError> {
        // Of nothing there is no launch.
        if axes.iter().any(|(len, ..)| *len == 0) {
            return Ok(());
        }
        let launch = self.device.ready(&arrange(axes, dtypes, &self.limits))?;
        self.push(Does::Copy(launch, at));
        Ok(())
    }

    /// A reduction.
    pub(super) fn reduce(&mut self, spec: &Spec, problem: &Problem, at: [Place; 2]) -> Result<(), CudaError> {
        let plans = [true, false].map(|aligned| GpuPlan::new(spec, problem, &Limits { aligned, ..self.limits }));
        let load = |plan: &GpuPlan| {
            if plan.launches.is_empty() {
                return Err(CudaError::NoKernel { op: spec.op, dtype: spec.input });
            }
            self.device.all_ready(&plan.launches)
        };
        let launches = [load(&plans[0])?, load(&plans[1])?];
        self.parts = self.parts.max(plans[0].workspace).max(plans[1].workspace);
        self.push(Does::Reduce(launches, at));
        Ok(())
    }

    /// What becomes of elements: of which there are elements, gradients, weights, biases, means, variances, and the
    /// sums of rows, results and what goes behind these.
    pub(super) fn each(&mut self, of: &OfElements, shape: &ChannelShape, at: [Place; 10]) -> Result<(), CudaError> {
        let [x, gradient, weight, bias, mean, variance, dots, totals, output, behind] = at;
        let wide = wide(of.dtype);
        let [of_rows, of_channels] = OfElements::records(shape);
        let rows = self.room(of_rows + of_channels, wide);
        let channels = rows.behind(of_rows * wide.size());
        let launch = self.device.ready(&of.prepare(shape, &self.limits))?;
        self.push(Does::Prepare(launch, [weight, bias, mean, variance, dots, totals, rows, channels]));
        let load = |lined| self.device.ready(&of.plan(shape, lined, &self.limits));
        let launches = [load(true)?, load(false)?];
        self.push(Does::Each(launches, [x, gradient, rows, channels, output, behind]));
        Ok(())
    }

    /// So many bytes that are the same.
    pub(super) fn fill(&mut self, byte: u8, bytes: usize, to: Place) {
        if bytes > 0 {
            self.push(Does::Fill(byte, bytes, to));
        }
    }

    /// Queues all steps whose results are wanted.
    ///
    /// # Safety
    /// The arrays are like those that were planned for, and at the results there is room for them; all stay until the
    /// device is done with them.
    pub(super) unsafe fn queue(&self, stream: &Stream, at: &Addresses) -> Result<(), CudaError> {
        let mut scratch = stream.scratch();
        let parts = self.parts.next_multiple_of(256);
        let workspace = scratch.workspace(stream, parts + self.rooms.last().copied().unwrap_or_default())?;
        let of = |place: Place| match place {
            Place::Nowhere => 0,
            Place::Given(i) => at.given[i],
            Place::Result(i) => at.results[i],
            Place::Room(room, bytes) => workspace + (parts + self.rooms[room] + bytes) as u64,
        };
        let wanted = (0..at.results.len()).filter(|&i| at.results[i] != 0).fold(0, |all, i| all | 1 << i);
        for Step { does, .. } in self.steps.iter().filter(|step| step.results & wanted != 0) {
            match does {
                Does::Copy(launch, [from, to]) => {
                    // SAFETY: the caller's; the workspace has the rooms, is the stream's, and its lock is held.
                    unsafe { launch.queue(stream, ArrangeAt { input: of(*from), output: of(*to) }) }?;
                }
                Does::Reduce(launches, [from, to]) => {
                    let call = CallAt { input: of(*from), mask: 0, output: of(*to), workspace };
                    for launch in &launches[!call.input.is_multiple_of(16) as usize] {
                        // SAFETY: as above; the workspace begins with counters that are zero.
                        unsafe { launch.queue(stream, launch.place(call)) }?;
                    }
                }
                Does::Prepare(launch, places) => {
                    let [weight, bias, mean, variance, dots, totals, rows, channels] = places.map(of);
                    let call = RecordsAt { weight, bias, mean, variance, dots, totals, rows, channels };
                    // SAFETY: as above.
                    unsafe { launch.queue(stream, call) }?;
                }
                Does::Each(launches, places) => {
                    let [x, gradient, rows, channels, output, totals] = places.map(of);
                    let call = ChannelsAt { x, gradient, rows, channels, output, totals };
                    let is_lined = (x | gradient | output).is_multiple_of(16);
                    // SAFETY: as above.
                    unsafe { launches[!is_lined as usize].queue(stream, call) }?;
                }
                Does::Fill(byte, bytes, to) => {
                    // SAFETY: the caller's room has as many bytes, or the workspace has.
                    unsafe { stream.fill(of(*to), *byte, *bytes) }?;
                }
            }
        }
        Ok(())
    }
}
