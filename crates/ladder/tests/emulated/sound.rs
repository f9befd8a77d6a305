//! Every sound rung of families A and B: right, and without a fault.

use crate::compare::{floats, integer_sum, integers, is_sum};
use warpfold_kernels::ladder::{DType, Family, Form, Rung, rungs};
use warpfold_ladder::{Tuning, emulate_reduce, plan_reduce};

fn sound() -> impl Iterator<Item = &'static Rung> {
    rungs().iter().filter(|r| r.form == Form::Sound && matches!(r.family, Family::A | Family::B))
}

/// The longest chain of additions in a plan: per launch, what a thread adds alone, the tree, and the atomics.
fn depth(rung: &Rung, n: u64, tuning: Tuning) -> u64 {
    let plan = plan_reduce(rung.name, DType::F32, n, tuning).expect("a plan");
    let mut left = n;
    let per_launch =
        |grid: u64, block: u64, left: u64| left.div_ceil(grid * block) + 11 + u64::from(rung.atomic) * grid;
    plan.launches()
        .map(|l| {
            let chain = per_launch(u64::from(l.grid), u64::from(l.block), left);
            left = u64::from(l.grid);
            chain
        })
        .sum()
}

fn check(rung: &Rung, n: usize, tuning: Tuning) {
    let what = format!("{} of {n} with {tuning:?}", rung.name);
    let x = integers(n);
    let ran = emulate_reduce(rung.name, &x, tuning).expect(&what);
    assert!(ran.faults.is_empty(), "{what}: {}", ran.faults[0]);
    assert_eq!(ran.result, integer_sum(&x), "{what}");
    let x = floats(n);
    let ran = emulate_reduce(rung.name, &x, tuning).expect(&what);
    assert!(ran.faults.is_empty(), "{what}: {}", ran.faults[0]);
    is_sum(ran.result, &x, depth(rung, n as u64, tuning)).unwrap_or_else(|wrong| panic!("{what}: {wrong}"));
}

#[test]
fn every_rung_sums_any_length() {
    for rung in sound() {
        for n in [1, 31, 1000, 4097] {
            check(rung, n, Tuning::default());
        }
    }
}

#[test]
fn every_block_size_and_coarsening_is_right() {
    for rung in sound() {
        for &block in rung.blocks {
            check(rung, 2345, Tuning { block: Some(block), coarsen: None });
        }
        for &coarsen in rung.coarsenings {
            check(rung, 5432, Tuning { block: None, coarsen: Some(coarsen) });
        }
    }
}

#[test]
fn a_long_input_takes_several_launches() {
    for name in ["a0", "a4", "a6", "a8", "b1", "b3"] {
        check(sound().find(|r| r.name == name).expect(name), 1 << 16, Tuning::default());
    }
}

#[test]
fn nothing_sums_to_zero() {
    for rung in sound() {
        let ran = emulate_reduce::<f32>(rung.name, &[], Tuning::default()).expect("a plan");
        assert_eq!((ran.result, ran.faults.len()), (0.0, 0), "{}", rung.name);
    }
}

#[test]
fn a_rung_without_float_atomics_gives_the_same_bits_again() {
    let x = floats(10_000);
    for rung in sound().filter(|r| r.is_deterministic(DType::F32)) {
        let once = || emulate_reduce(rung.name, &x, Tuning::default()).expect("a plan").result.to_bits();
        assert_eq!(once(), once(), "{}", rung.name);
    }
}
