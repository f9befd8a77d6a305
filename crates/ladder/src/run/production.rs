//! The last rung of family A: the library's own sum, planned by the library, on a GPU and in the emulator.

use super::case::{Case, Load};
use super::emulated::{Seen, verdict};
use super::gpu::Timed;
use super::material::{Material, materials};
use super::{Error, blank};
use crate::record::{Counts, Run};
use warpfold::cuda::{self, Array, Device, Explanation, Inputs, Options, Reduction, Stream};
use warpfold::{ArrayRef, DType, Op, Order};
use warpfold_device::emulator::{Fault, Memory, Report};
use warpfold_device::kernels::recipe::COUNTERS;
use warpfold_device::kernels::{Production, emulate_sum};
use warpfold_device::ladder;
use warpfold_device::simt::Global;

/// Of elements and result: the ladder adds integers in 32 bits.
fn dtype(load: Load) -> DType {
    match load.dtype() {
        ladder::DType::F32 => DType::F32,
        ladder::DType::I32 => DType::I32,
    }
}

/// The library's plan for so many elements.
fn explain(load: Load, device: Option<&Device>) -> Result<Explanation, Error> {
    // A plan reads no element, so that these zeros take no memory.
    let zeros = vec![0u8; 4 * load.n() as usize];
    let array = ArrayRef::from_bytes(&zeros, dtype(load), &[load.n() as usize], Order::C, false);
    let options = warpfold::Options { dtype: Some(dtype(load)), ..Default::default() };
    Ok(cuda::explain(Op::Sum, array?, &options, device.map(Device::properties))?)
}

/// How many additions an element goes through: the tree's.
pub fn depth(load: Load) -> u64 {
    u64::from(load.n().max(1).ilog2()) + 2
}

/// A row in which nothing has been found yet.
pub fn row(case: &Case, device: Option<&Device>) -> Result<Run, Error> {
    let plan = explain(case.load, device)?;
    let block = plan.launches.first().map_or(0, |launch| launch.block);
    Ok(blank(case, block, plan.bytes, plan.launches.len() as u32))
}

/// The library's reduction on a GPU, loaded.
pub struct Ready {
    reduction: Reduction,
    out: Array,
    dtype: DType,
}

impl Ready {
    /// For inputs like these.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn new(device: &Device, load: Load, inputs: &Inputs) -> Result<Ready, Error> {
        let dtype = dtype(load);
        let options = Options { dtype: Some(dtype), ..Options::default() };
        let reduction = Reduction::new(device, Op::Sum, &inputs.view(dtype)?, &options)?;
        let out = reduction.output()?;
        Ok(Ready { reduction, out, dtype })
    }
}

impl Timed for Ready {
    fn reset(&mut self, stream: &Stream, _: &Inputs) -> Result<(), Error> {
        Ok(self.out.fill(stream, 0xff)?)
    }

    fn run(&mut self, stream: &Stream, inputs: &Inputs) -> Result<(), Error> {
        Ok(self.reduction.run(stream, inputs.view(self.dtype)?, None, &mut self.out)?)
    }

    fn read(&self, stream: &Stream) -> Result<(Vec<u32>, Vec<u32>), Error> {
        let result = self.out.download(stream)?;
        Ok((vec![result.values.get(0).bits().0 as u32], Vec::new()))
    }
}

/// Runs it once in the emulator.
///
/// # Errors
/// If the library has no such plan.
fn emulated(load: Load, material: &Material) -> Result<Seen, Error> {
    let plan = explain(load, None)?;
    let mut memory = Memory::new();
    let input: Global<u32> = memory.upload("input", &material.words);
    let output: Global<u32> = memory.alloc("output", 1);
    let workspace: Global<u8> = memory.alloc("workspace", plan.workspace);
    memory.write(workspace, &[0u8; COUNTERS]);
    let address = |at: *mut u32| at.addr() as u64;
    let (mut report, mut faults) = (Report::default(), Vec::new());
    for launch in &plan.launches {
        let mut params = launch.params.clone();
        params[0] = address(input.as_ptr());
        params[2] = address(output.as_ptr());
        params[3] = address(workspace.cast::<u32>().as_ptr());
        let production = Production { entry: &launch.entry, grid: launch.grid, block: launch.block, params: &params };
        match emulate_sum(&memory, production) {
            Some(Ok(seen)) => report.add(&seen),
            Some(Err(wrong)) => {
                report.add(&wrong.report);
                faults.extend(wrong.faults);
            }
            None => return Err(Error::NoKernel(launch.entry.clone())),
        }
    }
    Ok(Seen { output: memory.read(output, 1), counts: Vec::new(), report, faults })
}

/// The row of the emulator: whether it was right and without a fault, and its counters.
///
/// # Errors
/// If the library has no such plan.
pub fn emulated_row(case: &Case) -> Result<Run, Error> {
    let mut run = row(case, None)?;
    let (mut faults, mut said) = (Vec::<String>::new(), Vec::new());
    for material in materials(case.load) {
        let seen = emulated(case.load, &material)?;
        said.push(material.answer.check(&seen.output, &seen.counts, depth(case.load)));
        faults.extend(seen.faults.iter().map(Fault::to_string));
        run.counters = Some(Counts::of(&seen.report, case.load.n()));
    }
    run.verdict = verdict(said, faults);
    Ok(run)
}

/// The counters of a sum that was checked elsewhere.
///
/// # Errors
/// If the library has no such plan.
pub fn counts(load: Load) -> Result<Option<Counts>, Error> {
    let Some(material) = materials(load).pop() else { return Ok(None) };
    emulated(load, &material).map(|seen| Some(Counts::of(&seen.report, load.n())))
}
