//! The library against its contract.

mod bits;
mod blocks;
mod descriptions;
mod edges;
mod ends;
mod keys;
mod kmeans;
mod laws;
mod orders;
mod patches;
mod pitched;
mod spans;
mod tiles;
mod views;

use warpfold_testing::{cases, reference};

/// Every plan can be made and printed, for a CPU and for a GPU.
fn explained(case: &cases::Case) {
    let plan = warpfold::explain(case.op, case.x.view(), &case.options()).unwrap();
    assert!(plan.to_string().contains("route"), "{case}");
    let on_gpu = warpfold::cuda::explain(case.op, case.x.view(), &case.options(), None).unwrap();
    assert!(on_gpu.to_string().contains("kernel"), "{case}");
}

/// The problems that GPUs and the emulator are tested with are problems, and the CPU is right about them.
#[test]
fn random_cases_match_the_reference() {
    use cases::{Case, Class};
    for class in Class::ALL.into_iter().filter(|class| !class.is_large()) {
        for seed in 0..if class == Class::Degenerate { 10 * 195 } else { 195 } {
            let case = Case::new(class, seed);
            explained(&case);
            let want = reference::expected(case.op, &case.x, case.mask.as_ref(), &case.options());
            let got = warpfold::reduce(case.op, case.x.view(), &case.options());
            match (got, want) {
                (Ok(got), Ok(want)) => {
                    let bits: Vec<_> = (0..got.values.len()).map(|i| got.values.get(i).bits()).collect();
                    assert_eq!(bits, want.iter().map(|x| x.bits()).collect::<Vec<_>>(), "{case}");
                }
                (got, want) => assert!(got.is_err() && want.is_err(), "{case}: {got:?}, not {want:?}"),
            }
        }
    }
}
