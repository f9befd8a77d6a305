//! Plans and the registry, as a CUDA runner would use them.

use std::collections::HashSet;
use warpfold_kernels::ladder::{DType, Family, Form, PRESETS, rung, rungs};
use warpfold_kernels::{entries, ptx};
use warpfold_ladder::{
    Arg, Buffer, Plan, PlanError, Sizes, Tuning, plan_centroids, plan_probe, plan_read, plan_reduce,
};

fn blocks(block: u32) -> Tuning {
    Tuning { block: Some(block), coarsen: None }
}

/// All plans that the ladder offers.
fn plans() -> Vec<Plan> {
    let mut plans = vec![plan_probe(), plan_read(1 << 20, Tuning::default()).expect("read")];
    for rung in rungs().iter().filter(|r| r.form == Form::Sound) {
        for &block in rung.blocks {
            for coarsen in rung.coarsenings.iter().map(|&c| Some(c)).chain([None]) {
                let tuning = Tuning { block: Some(block), coarsen };
                match rung.family {
                    Family::A | Family::B => {
                        plans.extend(
                            [DType::F32, DType::I32].map(|t| plan_reduce(rung.name, t, 1 << 25, tuning).unwrap()),
                        );
                    }
                    Family::C => plans.extend([1, 3].map(|coords| {
                        plan_centroids(rung.name, Sizes { points: 1 << 20, clusters: 16, coords }, tuning).unwrap()
                    })),
                    Family::Reference => {}
                }
            }
        }
    }
    plans
}

#[test]
fn every_planned_entry_has_ptx_and_every_entry_is_planned() {
    let planned: HashSet<String> = plans().iter().flat_map(|p| p.launches()).map(|l| l.entry.clone()).collect();
    // The production kernels are planned by the library, whose tests run their plans.
    let classes = [
        "rows_",
        "beside_",
        "staged_",
        "tiled_",
        "abreast_",
        "columns_",
        "narrow_",
        "shallow_",
        "runs_",
        "apart_",
        "any_",
        "transpose_",
        "single_",
        "segments_",
        "stretches_",
        "kmeans_",
        "sort_",
        "group_",
        "split_",
        "bins_",
        "distinct_",
        "rowwise_",
        "rowlonger_",
        "rowfolded_",
        "rowshort_",
        "rowswept_",
        "pool_",
        "channel_",
        "select_",
        "zip_",
    ];
    let production = |name: &&str| classes.iter().any(|class| name.starts_with(class));
    let compiled: HashSet<String> = entries().filter(|name| !production(name)).map(str::to_owned).collect();
    assert_eq!(planned, compiled);
}

#[test]
fn arguments_match_the_parameters_of_the_entry() {
    for plan in plans() {
        for launch in plan.launches() {
            let text = ptx(&launch.entry).expect("compiled");
            let head = &text[text.find(".entry").unwrap()..text.find('{').unwrap()];
            let kinds: Vec<bool> = head.lines().filter(|l| l.contains(".param")).map(|l| l.contains(".u64")).collect();
            let given: Vec<bool> = launch.args.iter().map(|a| !matches!(a, Arg::U32(_))).collect();
            assert_eq!(given, kinds, "{}", launch.entry);
        }
    }
}

#[test]
fn partials_go_back_and_forth_until_one_is_left() {
    let plan = plan_reduce("a0", DType::F32, 1 << 25, blocks(256)).unwrap();
    let grids: Vec<u32> = plan.launches().map(|l| l.grid).collect();
    assert_eq!(grids, [131_072, 512, 2, 1]);
    let ends: Vec<Arg> = plan.launches().map(|l| l.args[1]).collect();
    let [p0, p1] = [Buffer::Partials(0), Buffer::Partials(1)];
    assert_eq!(ends, [p0, p1, p0, Buffer::Output].map(Arg::Buffer));
    let size = |b| plan.buffers.iter().find(|x| x.0 == b).unwrap().1;
    assert_eq!((size(p0), size(p1)), (131_072 * 4, 512 * 4));
}

#[test]
fn a6_takes_1024_blocks_of_128_elements_per_thread_and_one_more_launch() {
    let plan = plan_reduce("a6", DType::F32, 1 << 25, blocks(256)).unwrap();
    assert_eq!(plan.launches().map(|l| l.grid).collect::<Vec<_>>(), [1024, 1]);
}

#[test]
fn what_is_not_offered_is_refused_in_words() {
    let refused = |r: Result<Plan, PlanError>| r.unwrap_err().to_string();
    assert_eq!(
        refused(plan_reduce("a5", DType::F32, 10, blocks(96))),
        "a5 is not offered with a block of 96; choose from [64, 128, 256, 512, 1024]"
    );
    assert!(refused(plan_reduce("a9", DType::F32, 10, Tuning::default())).contains("production"));
    assert!(refused(plan_reduce("c1", DType::F32, 10, Tuning::default())).contains("no rung"));
    let sizes = Sizes { points: 10, clusters: 33, coords: 1 };
    assert!(refused(plan_centroids("c1", sizes, Tuning::default())).contains("at most 32"));
}

#[test]
fn every_rung_says_its_idea_delta_and_bottleneck() {
    for rung in rungs() {
        for text in [rung.title().to_owned(), rung.idea(), rung.delta(), rung.bottleneck()] {
            assert!(text.len() > 5, "{}: `{text}`", rung.name);
        }
        assert!(!rung.idea().contains("Delta:"));
        let opening = rung.source.lines().take_while(|l| l.starts_with("//!")).count();
        assert!(opening < 10, "{}", rung.name);
    }
}

#[test]
fn every_published_workload_has_a_plan() {
    for preset in PRESETS {
        let tuning = blocks(preset.block);
        for name in preset.rungs.iter().filter(|r| rung(r).expect("a rung").form == Form::Sound) {
            let plan = match preset.clusters_coords {
                None => plan_reduce(name, preset.dtype, preset.n, tuning),
                Some((clusters, coords)) => plan_centroids(name, Sizes { points: preset.n, clusters, coords }, tuning),
            };
            assert!(plan.expect(name).launches().count() > 0);
        }
    }
}
