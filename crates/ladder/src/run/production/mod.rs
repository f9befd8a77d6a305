//! The last rungs: the library's own kernels, planned by the library, on a GPU and in the emulator.

mod centroids;
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
use launches::Shape;
use warpfold::cuda::{Device, Stream};
use warpfold_emulator::Fault;

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

/// Runs it once in the emulator.
///
/// # Errors
/// If the library has no such plan.
pub fn emulated(load: Load, material: &Material) -> Result<Seen, Error> {
    match load {
        Load::Points(sizes) => centroids::emulated(sizes, material),
        _ => sum::emulated(load, material),
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
    for material in materials(case.load) {
        let seen = emulated(case.load, &material)?;
        said.push(check(&material.answer, case.load, &seen.output, &seen.counts));
        faults.extend(seen.faults.iter().map(Fault::to_string));
        run.counters = Some(Counts::of(&seen.report, case.load.n()));
    }
    run.verdict = verdict(said, faults);
    Ok(run)
}

/// The counters of a workload whose result was checked elsewhere.
///
/// # Errors
/// If the library has no such plan.
pub fn counts(load: Load) -> Result<Option<Counts>, Error> {
    let Some(material) = materials(load).pop() else { return Ok(None) };
    emulated(load, &material).map(|seen| Some(Counts::of(&seen.report, load.n())))
}
