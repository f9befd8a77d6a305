//! What the articles say about their kernels, counted.

use crate::compare::{floats, integers};
use std::time::Instant;
use warpfold_emulator::{self as emulator, Counters, Lane, Line, Memory, Report};
use warpfold_ladder::{Tuning, emulate_reduce};
use warpfold_simt::{Pack, Simt};

/// One block of `block` threads of a rung of family A or B.
fn one_block(name: &str, n: usize, block: u32) -> Report {
    let ran = emulate_reduce(name, &integers(n), Tuning { block: Some(block), coarsen: None }).expect("a plan");
    assert!(ran.faults.is_empty() && ran.launches.len() == 1);
    ran.report
}

/// The branch that is taken by fewer and fewer threads: the `if` in the loop.
fn inner_branch(report: &Report) -> &Line {
    report.lines.iter().filter(|l| l.counters.branches > 0).max_by_key(|l| l.counters.divergent).expect("a branch")
}

fn divergent_rounds(report: &Report) -> Vec<bool> {
    inner_branch(report).steps.iter().map(|round| round.divergent > 0).collect()
}

/// The worst bank conflict in each round, over the shared accesses of the loop.
fn degrees(report: &Report, rounds: usize) -> Vec<usize> {
    let in_loop = |l: &&Line| l.counters.shared_requests > 0 && l.steps.len() == rounds;
    (0..rounds)
        .map(|i| report.lines.iter().filter(in_loop).map(|l| l.steps[i].conflicts.worst()).max().expect("a line"))
        .collect()
}

#[test]
fn a0_diverges_in_every_round_and_a1_only_in_the_last_five() {
    assert_eq!(divergent_rounds(&one_block("a0", 256, 256)), [true; 8]);
    let a1 = divergent_rounds(&one_block("a1", 256, 256));
    assert_eq!(a1, [false, false, false, true, true, true, true, true]);
    let a2 = divergent_rounds(&one_block("a2", 256, 256));
    assert_eq!(a2, a1);
}

#[test]
fn a1_has_two_four_eight_way_bank_conflicts_and_a2_none() {
    // With 256 threads, round 4 has only 16 working threads, so it stays at 8 ways; with 1024 all 32 collide.
    assert_eq!(degrees(&one_block("a1", 256, 256), 8), [2, 4, 8, 8, 8, 4, 2, 1]);
    assert_eq!(degrees(&one_block("a1", 1024, 1024), 10), [2, 4, 8, 16, 32, 16, 8, 4, 2, 1]);
    for rung in ["a2", "a3", "a4", "a5", "a6", "a7", "a8"] {
        assert_eq!(one_block(rung, 256, 256).total.conflicts.total(), 0, "{rung}");
    }
}

#[test]
fn barriers_fall_at_a4() {
    let barriers = |rung| one_block(rung, 256, 256).barriers_per_block();
    assert_eq!(barriers("a2"), 9.0);
    assert_eq!(barriers("a3"), 9.0);
    assert_eq!(barriers("a4"), 3.0);
    assert_eq!(barriers("a5"), 3.0);
    let a7 = one_block("a7", 256, 256).total;
    assert_eq!((a7.barriers, a7.warp_barriers, a7.shuffles), (3, 0, 5));
}

#[test]
fn b0_and_b1_have_the_published_branch_efficiency_at_2048_elements() {
    // The lecture's size: 2048 elements, one block of 1024 threads. Loops are counted as compiled: tested at the end.
    let percent = |rung| (100.0 * one_block(rung, 2048, 1024).total.branch_efficiency()).round();
    assert_eq!(percent("b0"), 74.0);
    assert_eq!(percent("b1"), 99.0);
}

#[test]
fn coalesced_loads_take_four_sectors_and_vector_loads_sixteen() {
    let loads = |rung, n: usize| {
        let report = one_block(rung, n, 256);
        let line = report.lines.iter().find(|l| l.counters.global_requests >= 8).expect("a load").counters;
        (line.sectors_per_request(), line.sector_efficiency())
    };
    assert_eq!(loads("a2", 256), (4.0, 1.0));
    assert_eq!(loads("a8", 4096), (16.0, 1.0));
}

#[test]
fn lanes_that_want_one_cell_take_turns() {
    use warpfold_ladder::{Sizes, emulate_centroids};
    let sizes = Sizes { points: 128, clusters: 16, coords: 1 };
    let run = |labels: &[i32]| {
        let ran = emulate_centroids("c1", &floats(128), labels, sizes, Tuning::default()).expect("a plan");
        let line = ran.report.lines.into_iter().find(|l| l.counters.atomics == 128).expect("an atomic");
        (line.counters.atomic_requests, line.counters.atomic_passes, line.counters.contention)
    };
    assert_eq!(run(&[3; 128]), (4, 128, 32));
    let spread: Vec<i32> = (0..128).map(|i| i % 16).collect();
    assert_eq!(run(&spread), (4, 8, 2));
}

/// What one warp doing `kernel` is counted as.
fn count(kernel: impl Fn(&Lane<'_>) + Sync) -> Counters {
    emulator::launch(&Memory::new(), "test", 1, 32, kernel).expect("no fault").total
}

#[test]
fn bank_conflicts_go_by_word_and_wide_accesses_by_part_of_the_warp() {
    let words = |index: fn(u32) -> u32| {
        count(move |s| s.put(s.shared::<u32, 1024, 0>("words"), index(s.lane()), 0)).conflicts.worst()
    };
    assert_eq!(words(|lane| lane), 1);
    assert_eq!(words(|lane| 31 - lane), 1);
    assert_eq!(words(|lane| 3 * lane), 1);
    assert_eq!(words(|lane| 2 * lane), 2);
    assert_eq!(words(|lane| 32 * lane), 32);
    assert_eq!(words(|lane| 33 * lane % 1024), 1);
    let bytes = count(|s| s.put(s.shared::<u8, 32, 0>("bytes"), s.lane(), 0));
    assert_eq!((bytes.shared_wavefronts, bytes.conflicts.worst()), (1, 1));
    let packs = count(|s| s.put(s.shared::<Pack<u32, 4>, 32, 0>("packs"), s.lane(), Pack([0; 4])));
    assert_eq!((packs.shared_wavefronts, packs.shared_ideal), (4, 4));
    let longs = count(|s| s.put(s.shared::<u64, 512, 0>("longs"), 16 * s.lane(), 0));
    assert_eq!((longs.shared_wavefronts, longs.shared_ideal), (32, 2));
}

#[test]
fn lanes_meet_again_after_a_branch_in_a_marked_loop() {
    // Lane l stores in iteration l only, so each store is a request of one lane; the store after it is one of 32.
    let total = count(|s| {
        let data = s.shared::<u32, 64, 0>("data");
        let mut i = 0;
        while s.again(i < 32) {
            if s.branch(i == s.lane()) {
                s.put(data, s.lane(), i);
            }
            s.put(data, 32 + s.lane(), i);
            i += 1;
        }
    });
    assert_eq!((total.shared_requests, total.branches, total.divergent), (32 + 32, 33 + 32, 32));
    assert_eq!(total.active_lanes, 32 + 32 * 32 + 65 * 32);
}

#[test]
fn a4_on_65536_elements_takes_seconds() {
    let start = Instant::now();
    let ran = emulate_reduce("a4", &floats(1 << 16), Tuning::default()).expect("a plan");
    assert!(ran.faults.is_empty());
    let seconds = start.elapsed().as_secs_f64();
    println!("a4 on 2^16 elements: {seconds:.2} s");
    assert!(seconds < 10.0);
}
