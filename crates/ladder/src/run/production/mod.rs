//! The last rungs: the library's own kernels, planned and launched by the library, on a GPU and in the emulator.

mod centroids;
mod kernels;
mod launches;
mod sum;

use super::case::{Case, Load};
use super::check::Answer;
use super::emulated::Seen;
use super::error::Error;
use super::material::{Material, materials};
use super::row::{blank, verdict};
use super::timed::Timed;
use crate::program::Inputs;
use crate::record::{Counts, Run};
use centroids::MULTIPROCESSORS;
use kernels::Launched;
use launches::Shape;
use warpfold::cuda::{Device, Stream};
use warpfold_emulator::{Emulator, Fault, Report};
use warpfold_kernels::Only;

/// The number of additions that an element of a sum goes through. The sums of centroids are exact.
pub fn depth(load: Load) -> u64 {
    match load {
        Load::Points(_) => 0,
        _ => sum::depth(load),
    }
}

/// The entries of the kernels that the library launches for a workload; without a GPU, those for an H200.
///
/// # Errors
/// If the library has no plan.
pub fn entries(load: Load) -> Result<Vec<String>, Error> {
    match load {
        Load::Points(sizes) => Ok(centroids::entries(sizes)),
        _ => sum::entries(load),
    }
}

/// A row without results yet.
///
/// # Errors
/// If the library has no plan.
pub fn row(case: &Case, device: Option<&Device>) -> Result<Run, Error> {
    let Shape { block, bytes, launches } = match case.load {
        Load::Points(sizes) => centroids::shape(sizes, device),
        _ => sum::shape(case.load, device)?,
    };
    Ok(blank(case, block, bytes, launches))
}

/// The library's own kernels, loaded on a GPU.
pub enum Ready {
    /// A reduction.
    Sum(Box<sum::Loaded>),
    /// An update of centroids.
    Centroids(Box<centroids::Loaded>),
}

impl Ready {
    /// For inputs like these; of points, none may have greater coordinates.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn new(stream: &Stream, load: Load, inputs: &Inputs) -> Result<Ready, Error> {
        Ok(match load {
            Load::Points(sizes) => Ready::Centroids(Box::new(centroids::Loaded::new(stream, sizes, inputs)?)),
            _ => Ready::Sum(Box::new(sum::Loaded::new(&stream.device(), load, inputs)?)),
        })
    }
}

impl Timed for Ready {
    fn reset(&mut self, stream: &Stream, inputs: &Inputs) -> Result<(), Error> {
        match self {
            Ready::Sum(sum) => sum.reset(stream, inputs),
            Ready::Centroids(centroids) => centroids.reset(stream, inputs),
        }
    }

    fn run(&mut self, stream: &Stream, inputs: &Inputs) -> Result<(), Error> {
        match self {
            Ready::Sum(sum) => sum.run(stream, inputs),
            Ready::Centroids(centroids) => centroids.run(stream, inputs),
        }
    }

    fn read(&self, stream: &Stream) -> Result<(Vec<u32>, Vec<u32>), Error> {
        match self {
            Ready::Sum(sum) => sum.read(stream),
            Ready::Centroids(centroids) => centroids.read(stream),
        }
    }
}

/// The library's own kernels on an emulated device, launched by the same calls as on a GPU.
struct Emulated {
    emulator: Emulator,
    stream: Stream,
    load: Load,
    ready: Ready,
}

impl Emulated {
    /// For inputs like this; of points, none may have greater coordinates.
    fn new(load: Load, first: &Material) -> Result<Emulated, Error> {
        let emulator = Emulator::of::<Only<Launched>>(MULTIPROCESSORS);
        let stream = Stream::new(&emulator.device())?;
        let ready = Ready::new(&stream, load, &first.upload(&stream, load)?)?;
        Ok(Emulated { emulator, stream, load, ready })
    }

    /// Runs once.
    fn run(&mut self, material: &Material) -> Result<Seen, Error> {
        let inputs = material.upload(&self.stream, self.load)?;
        // The scale of points is found before the update, and is no part of it.
        self.emulator.take_launches();
        let ran = self.ready.run(&self.stream, &inputs);
        let (mut report, mut faults) = (Report::default(), Vec::new());
        self.emulator.take_launches().iter().for_each(|(_, seen)| report.add(seen));
        for wrong in self.emulator.take_faults() {
            report.add(&wrong.report);
            faults.extend(wrong.faults);
        }
        // A launch with faults is an error, too. The row says which faults.
        if faults.is_empty() {
            ran?;
        }
        let (output, counts) = self.ready.read(&self.stream)?;
        Ok(Seen { output, counts, report, faults })
    }
}

/// Checks a result: a sum, or means of cells.
///
/// # Errors
/// What is wrong.
pub fn check(answer: &Answer, load: Load, output: &[u32], counts: &[u32]) -> Result<String, String> {
    match load {
        Load::Points(_) => answer.check_means(output, counts),
        _ => answer.check(output, counts, depth(load)),
    }
}

/// The row of the emulator: the verdict and the counters.
///
/// # Errors
/// If the library has no such plan.
pub fn emulated_row(case: &Case) -> Result<Run, Error> {
    let mut run = row(case, None)?;
    let (mut faults, mut said) = (Vec::<String>::new(), Vec::new());
    let materials = materials(case.load);
    let Some(first) = materials.first() else { return Ok(run) };
    let mut emulated = Emulated::new(case.load, first)?;
    for material in &materials {
        let seen = emulated.run(material)?;
        said.push(check(&material.answer, case.load, &seen.output, &seen.counts));
        faults.extend(seen.faults.iter().map(Fault::to_string));
        run.counters = Some(Counts::of(&seen.report, case.load.n()));
    }
    run.verdict = verdict(said, faults);
    Ok(run)
}

/// Runs a workload on the input that is timed on a GPU; none if the workload has no input.
///
/// # Errors
/// If the library has no such plan.
pub fn emulated(load: Load) -> Result<Option<Seen>, Error> {
    let materials = materials(load);
    let (Some(first), Some(last)) = (materials.first(), materials.last()) else { return Ok(None) };
    Emulated::new(load, first)?.run(last).map(Some)
}

/// The counters of a workload whose result was checked elsewhere.
///
/// # Errors
/// If the library has no such plan.
pub fn counts(load: Load) -> Result<Option<Counts>, Error> {
    Ok(emulated(load)?.map(|seen| Counts::of(&seen.report, load.n())))
}
