//! The CPU and the emulator against what a GPU gave of rows, windows and pairs of arrays:
//! `crates/warpfold/golden/rows.json`, which the GPU tests write (`WARPFOLD_GOLDEN_ROWS_OUT=FILE`, in
//! `crates/warpfold/tests/gpu/golden_rows.rs`).

use crate::Emulated;
use std::collections::BTreeSet;
use warpfold_testing::golden::Golden;
use warpfold_testing::golden_rows::{Case, FILE, Given, cases, on_cpu, on_device, said};

/// The emulator takes one case of so many, which comes to every length: the lengths come round in the list by multiples
/// of two and three. All of them (`WARPFOLD_GOLDEN_ALL=1`) take it a minute of CPU.
const ONE_OF: usize = 5;

fn golden() -> Golden {
    let text = std::fs::read_to_string(FILE)
        .unwrap_or_else(|why| panic!("{FILE}: {why}; a GPU writes it: WARPFOLD_GOLDEN_ROWS_OUT of its tests"));
    Golden::read(&text).expect("a golden file")
}

/// Compares results of cases with those of the file.
fn compare<'a>(golden: &Golden, cases: impl Iterator<Item = &'a Case>, mut run: impl FnMut(&Case, &Given) -> String) {
    let mut wrong = Vec::new();
    for case in cases {
        let (got, want) = (run(case, &Given::new(case)), golden.results.get(&case.to_string()));
        if want != Some(&got) {
            wrong.push(format!("{case}: {got}, not {want:?}"));
        }
    }
    let shown = wrong[..wrong.len().min(20)].join("\n");
    assert!(wrong.is_empty(), "{} differ from {} ({}):\n{shown}", wrong.len(), golden.device, golden.driver);
}

#[test]
fn the_cpu_gives_the_rows_that_a_gpu_gave() {
    let (golden, cases) = (golden(), cases());
    assert!(golden.results.len() == cases.len(), "the list is another: write {FILE} again, on a GPU");
    compare(&golden, cases.iter(), |case, given| said(&on_cpu(case, given)));
}

#[test]
fn the_emulator_gives_the_rows_that_a_gpu_gave() {
    let (golden, cases, on) = (golden(), cases(), Emulated::new());
    let one_of = if std::env::var_os("WARPFOLD_GOLDEN_ALL").is_some() { 1 } else { ONE_OF };
    let (mut kernels, mut checked) = (BTreeSet::new(), 0);
    compare(&golden, cases.iter().step_by(one_of), |case, given| {
        let (got, by) = on_device(case, given, &on.stream);
        kernels.extend(by);
        checked += 1;
        said(&got)
    });
    println!("{checked} cases, {} kernels", kernels.len());
    assert!(kernels.len() > 100, "only {} kernels", kernels.len());
}
