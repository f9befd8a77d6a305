//! The CPU and the emulator against what a GPU gave of rows, windows and pairs of arrays:
//! `crates/warpfold/golden/rows.json`, which the GPU tests write (`WARPFOLD_GOLDEN_ROWS_OUT=FILE`, in
//! `crates/warpfold/tests/gpu/golden_rows.rs`).

use crate::Emulated;
use std::collections::BTreeSet;
use warpfold_testing::golden::Golden;
use warpfold_testing::golden_rows::{FILE, Given, cases, on_cpu, on_device, said};

/// The emulator takes one case of so many, which comes to every length: the lengths come round in the list by multiples
/// of two and three; and all of cross-entropy, whose rows have an element that is not like the others, so that lanes
/// part. All cases (`WARPFOLD_GOLDEN_ALL=1`) take it a minute of CPU.
const ONE_OF: usize = 7;

fn golden() -> Golden {
    let text = std::fs::read_to_string(FILE)
        .unwrap_or_else(|why| panic!("{FILE}: {why}; a GPU writes it: WARPFOLD_GOLDEN_ROWS_OUT of its tests"));
    Golden::read(&text).expect("a golden file")
}

#[test]
fn the_cpu_gives_the_rows_that_a_gpu_gave() {
    let (golden, cases) = (golden(), cases());
    assert!(golden.results.len() == cases.len(), "the list is another: write {FILE} again, on a GPU");
    golden.compare(cases.iter(), |case| said(&on_cpu(case, &Given::new(case))));
}

#[test]
fn the_emulator_gives_the_rows_that_a_gpu_gave() {
    let (golden, cases, on) = (golden(), cases(), Emulated::new());
    let one_of = if std::env::var_os("WARPFOLD_GOLDEN_ALL").is_some() { 1 } else { ONE_OF };
    let (mut kernels, mut checked) = (BTreeSet::new(), 0);
    let numbered = cases.iter().enumerate();
    let taken = numbered.filter(|(i, case)| i % one_of == 0 || case.to_string().contains("cross_entropy"));
    golden.compare(taken.map(|(_, case)| case), |case| {
        let (got, by) = on_device(case, &Given::new(case), &on.stream);
        kernels.extend(by);
        checked += 1;
        said(&got)
    });
    println!("{checked} cases, {} kernels", kernels.len());
    assert!(kernels.len() > 100, "only {} kernels", kernels.len());
}
