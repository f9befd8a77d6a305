//! The CPU and the emulator against what a GPU gave: `crates/warpfold/golden/h200.json`, which the GPU tests write
//! (`WARPFOLD_GOLDEN_OUT=FILE`, in `crates/warpfold/tests/gpu/golden.rs`).

use super::reductions::run;
use crate::{Emulated, Outcome, brief};
use std::collections::BTreeSet;
use warpfold::reduce;
use warpfold_testing::golden::{self as cases, Case, FILE, Golden, said, text};

/// The emulator takes cases of at most so many elements, and one of four of these, which is every form; all of them
/// (`WARPFOLD_GOLDEN_ALL=1`) take it minutes.
const EMULATED: usize = 6000;
const ONE_OF: usize = 4;

fn golden() -> Golden {
    let text = std::fs::read_to_string(FILE).unwrap_or_else(|why| panic!("{FILE}: {why}"));
    Golden::read(&text).expect("a golden file")
}

fn on_cpu(case: &Case) -> String {
    let data = case.data();
    said(reduce(case.op, case.array(&data), &case.options(&data))).unwrap_or_else(|why| panic!("{case}: {why}"))
}

/// The result, and the kernels that gave it.
fn emulated(on: &Emulated, case: &Case) -> (String, String) {
    let data = case.data();
    match run(on, case.op, &case.array(&data), (&data.bytes, 0), &case.options(&data)) {
        Ok((Outcome::Bytes(bytes), entries)) => (text(&bytes), entries),
        Ok((Outcome::Empty | Outcome::AllNan, entries)) => ("none".into(), entries),
        Err(why) => (brief(&why), String::new()),
    }
}

#[test]
fn the_cpu_gives_the_bits_that_a_gpu_gave() {
    let golden = golden();
    let cases = cases::cases();
    assert!(golden.results.len() == cases.len(), "the list is another: write {FILE} again, on a GPU");
    golden.compare(cases.iter(), on_cpu);
}

#[test]
fn the_emulator_gives_the_bits_that_a_gpu_gave() {
    let golden = golden();
    let on = Emulated::new();
    let (mut kernels, mut checked) = (BTreeSet::new(), 0);
    let one_of = if std::env::var_os("WARPFOLD_GOLDEN_ALL").is_some() { 1 } else { ONE_OF };
    golden.compare(cases::cases().iter().step_by(one_of).filter(|case| case.len() <= EMULATED), |case| {
        let (got, entries) = emulated(&on, case);
        kernels.extend(entries.split_whitespace().map(str::to_owned));
        checked += 1;
        got
    });
    println!("{checked} cases, {} kernels", kernels.len());
    assert!(kernels.len() > 100, "only {} kernels", kernels.len());
}

#[test]
fn a_golden_file_is_read_as_it_was_written() {
    let cases = &cases::cases()[..40];
    let results = cases.iter().map(|case| (case.to_string(), on_cpu(case))).collect();
    let golden = Golden { device: "a \"GPU\"".into(), driver: "1".into(), revision: "abc".into(), results };
    let back = Golden::read(&golden.json(cases)).expect("a golden file");
    assert_eq!((&back.device, &back.driver, &back.revision), (&golden.device, &golden.driver, &golden.revision));
    assert_eq!(back.results, golden.results);
}
