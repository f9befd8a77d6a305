//! Runs rungs, checks their results, and times them.
//!
//! A rung is timed only if its whole result is right, on an input where a single missing element is detected, and on
//! one whose sums round. The result is overwritten with ones before each run. Timed runs use the second input, and are
//! checked once more.

pub mod case;
pub mod check;
pub mod data;
mod describe;
pub mod emulated;
mod error;
pub mod golden;
pub mod gpu;
pub mod material;
mod options;
pub mod production;
mod refuse;
mod row;
mod target;
mod timed;

pub use error::Error;
pub use options::{Families, Options, SAMPLES};
pub use target::{Chosen, Target, choose};

use crate::plan::Tuning;
use crate::record::{Record, Run};
use case::{Case, Load, cases};
use describe::{described, today};
use gpu::Gpu;
use warpfold_kernels::ladder::{Form, rung};

/// The outcome of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The record.
    pub record: Record,
    /// Notes on what could not be run.
    pub notes: Vec<String>,
}

/// Runs all that the options ask for; `on_run` sees each row once, as soon as its result is known.
///
/// # Errors
/// If nothing can be run, or the device fails.
pub fn run(options: &Options, chosen: &Chosen, mut on_run: impl FnMut(&Run)) -> Result<Outcome, Error> {
    let is_emulated = matches!(chosen, Chosen::Emulator(_));
    refuse::unused(options, is_emulated)?;
    let (cases, notes) = cases(options, is_emulated);
    if cases.is_empty() {
        return Err(Error::Nothing(notes));
    }
    let mut runs = Vec::new();
    let mut device = described(chosen);
    match chosen {
        Chosen::Emulator(_) => {
            for case in &cases {
                let run = if case.is_production() { production::emulated_row(case)? } else { emulated::row(case)? };
                on_run(&run);
                runs.push(run);
            }
        }
        Chosen::Gpu(on) => {
            refuse::too_large(&cases, on.memory()?.0)?;
            let mut gpu = Gpu::new(on)?;
            let samples = options.samples.unwrap_or(SAMPLES);
            let mut timed = Vec::new();
            for case in cases.iter().filter(|c| c.entry().form != Form::AsPublished) {
                let run = gpu.row(case, samples)?;
                on_run(&run);
                timed.push(run);
            }
            for case in reads(&cases) {
                let run = gpu.row(&case, samples)?;
                on_run(&run);
                device.read_gbs = [device.read_gbs, gbs(&run)].into_iter().flatten().reduce(f64::max);
                timed.push(run);
            }
            // The emulator runs after all timings, so that the processor is free for the driver.
            let mut timed = timed.into_iter();
            for case in &cases {
                if case.entry().form == Form::AsPublished {
                    let run = emulated::row(case)?;
                    on_run(&run);
                    runs.push(run);
                    continue;
                }
                let Some(mut run) = timed.next() else { break };
                if options.counters {
                    let load = case.load.with_n(case.load.n().min(case::emulated(case.load)));
                    run.counters = match case.is_production() {
                        true => production::counts(load)?,
                        false => emulated::counts(&Case { load, ..case.clone() })?,
                    };
                }
                runs.push(run);
            }
            runs.extend(timed);
        }
    }
    let record = Record {
        version: 1,
        date: today(),
        command: options.command.clone(),
        revision: options.revision.clone(),
        device,
        rungs: runs,
    };
    Ok(Outcome { record, notes })
}

/// Whether a row is as expected: a sound rung passes, and a published form that is wrong is caught.
pub fn is_as_expected(run: &Run) -> bool {
    let is_published = rung(&run.rung).is_some_and(|r| r.form == Form::AsPublished);
    is_published != (run.verdict.passed && run.verdict.faults.is_empty())
}

/// A plain read for each size that is worth one.
fn reads(cases: &[Case]) -> Vec<Case> {
    const LEAST: u64 = 1 << 18;
    let mut sizes: Vec<u64> = Vec::new();
    for case in cases.iter().filter(|c| c.entry().form == Form::Sound && c.load.words() >= LEAST) {
        if !sizes.contains(&case.load.words()) {
            sizes.push(case.load.words());
        }
    }
    let read = rung("read").expect("the registry has it");
    sizes.into_iter().map(|n| Case::new(read, Load::Words(n), Tuning::default())).collect()
}

/// The bandwidth at the median time in GB/s.
fn gbs(run: &Run) -> Option<f64> {
    let mut samples = run.samples_ns.clone();
    samples.sort_unstable();
    samples.get(samples.len() / 2).map(|&median| run.bytes as f64 / median as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_emulator_runs_every_rung_as_expected() {
        [1, 2048, 3000].into_iter().for_each(runs_as_expected);
    }

    fn runs_as_expected(n: u64) {
        let options = Options { n: Some(n), ..Options::default() };
        let mut rows = 0;
        let outcome = run(&options, &Chosen::Emulator(None), |_| rows += 1).expect("runs");
        assert_eq!(rows, outcome.record.rungs.len());
        assert!(outcome.record.rungs.len() >= 30 && outcome.notes.is_empty());
        for run in &outcome.record.rungs {
            assert!(is_as_expected(run), "{}: {:?}", run.rung, run.verdict);
            assert!(
                run.counters.as_ref().is_some_and(|c| c.counted_n == run.n && c.active_lanes > 0.0),
                "{}",
                run.rung
            );
        }
    }

    #[test]
    fn a_row_that_is_wrong_is_not_as_expected() {
        let options = Options { n: Some(100), rungs: Some(vec!["a0".into()]), ..Options::default() };
        let outcome = run(&options, &Chosen::Emulator(None), |_| ()).expect("runs");
        let mut row = outcome.record.rungs[0].clone();
        assert!(is_as_expected(&row));
        row.verdict.passed = false;
        assert!(!is_as_expected(&row));
        row.rung = "a4_as_published".to_owned();
        assert!(is_as_expected(&row));
    }

    #[test]
    fn nothing_to_run_is_an_error_that_says_why() {
        let options = Options { rungs: Some(vec!["c3".into()]), block: Some(64), ..Options::default() };
        let text = run(&options, &Chosen::Emulator(None), |_| ()).unwrap_err().to_string();
        assert!(text.contains("c3") && text.contains("64"), "{text}");
    }
}
