//! Rungs in the emulator: results, faults, counters.

use super::case::{Case, Load};
use super::material::{Material, materials};
use super::row::{blank_rung, depth_of, verdict};
use crate::emulate::{Ran, emulate_centroids, emulate_reduce};
use crate::plan::PlanError;
use crate::record::{Counts, Run};
use warpfold_emulator::{Fault, Report};
use warpfold_kernels::ladder::DType;

/// The outcome of one run.
pub struct Seen {
    /// The bits of the sum; for centroids of the sums.
    pub output: Vec<u32>,
    /// The number of points per cluster, for centroids.
    pub counts: Vec<u32>,
    /// The counters.
    pub report: Report,
    /// The faults.
    pub faults: Vec<Fault>,
}

/// Runs a rung once.
///
/// # Errors
/// If there is no such plan.
pub fn emulate(case: &Case, material: &Material) -> Result<Seen, PlanError> {
    fn seen<T>(ran: Ran<T>, output: impl Fn(T) -> (Vec<u32>, Vec<u32>)) -> Seen {
        let (output, counts) = output(ran.result);
        Seen { output, counts, report: ran.report, faults: ran.faults }
    }
    Ok(match case.load {
        Load::Elements { dtype: DType::F32, .. } => {
            let ran = emulate_reduce(case.rung, &material.floats(), case.tuning)?;
            seen(ran, |x: f32| (vec![x.to_bits()], Vec::new()))
        }
        Load::Elements { dtype: DType::I32, .. } => {
            let ran = emulate_reduce(case.rung, &material.integers(), case.tuning)?;
            seen(ran, |x: i32| (vec![x as u32], Vec::new()))
        }
        Load::Points(sizes) => {
            let ran = emulate_centroids(case.rung, &material.floats(), &material.labels, sizes, case.tuning)?;
            seen(ran, |c| (c.sums.into_iter().map(f32::to_bits).collect(), c.counts))
        }
        // The emulator has no plain read.
        Load::Words(_) => return Err(PlanError::NoSuchRung(case.rung.to_owned())),
    })
}

/// A rung's row: whether it was right and without a fault, and its counters.
///
/// # Errors
/// If there is no such plan.
pub fn row(case: &Case) -> Result<Run, PlanError> {
    let plan = case.plan()?;
    let depth = depth_of(case, &plan);
    let mut run = blank_rung(case, &plan);
    let (mut faults, mut said) = (Vec::<String>::new(), Vec::new());
    for material in materials(case.load) {
        let seen = emulate(case, &material)?;
        said.push(material.answer.check(&seen.output, &seen.counts, depth));
        for fault in seen.faults.iter().map(Fault::to_string) {
            if !faults.contains(&fault) {
                faults.push(fault);
            }
        }
        run.counters = Some(Counts::of(&seen.report, case.load.n()));
    }
    run.verdict = verdict(said, faults);
    Ok(run)
}

/// The counters of a rung whose result was checked elsewhere.
///
/// # Errors
/// If there is no such plan.
pub fn counts(case: &Case) -> Result<Option<Counts>, PlanError> {
    let Some(material) = materials(case.load).pop() else { return Ok(None) };
    emulate(case, &material).map(|seen| Some(Counts::of(&seen.report, case.load.n())))
}
