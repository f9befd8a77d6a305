//! Kernels with one fault each, and the published rungs that are wrong: the emulator must say so.

use crate::compare::{floats, integer_sum, integers, is_sum};
use warpfold_emulator::{self as emulator, Fault, Kind, Lane, Memory, Op, Space};
use warpfold_ladder::{Tuning, emulate_reduce};
use warpfold_simt::{ALL, Dim, Global, Order, Pack, Simt};

fn faults(memory: &Memory, grid: u32, block: u32, kernel: impl Fn(&Lane<'_>) + Sync) -> Vec<Fault> {
    match emulator::launch(memory, "test", grid, block, kernel) {
        Ok(_) => Vec::new(),
        Err(wrong) => wrong.faults,
    }
}

fn only(faults: Vec<Fault>) -> Fault {
    assert_eq!(faults.len(), 1, "{}", faults.iter().map(|f| format!("\n{f}")).collect::<String>());
    faults.into_iter().next().unwrap()
}

#[test]
fn an_index_past_the_end_of_a_global_array() {
    let mut memory = Memory::new();
    let x = memory.upload("x", &[1u32; 40]);
    let fault = only(faults(&memory, 1, 64, |s| {
        s.load(x, s.thread_x() as usize);
    }));
    assert_eq!(fault.kind, Kind::OutOfBounds);
    assert_eq!((fault.act.thread, fault.act.op, fault.occurrences), (Dim { x: 40, y: 0 }, Op::Read, 24));
    let place = fault.place.as_ref().unwrap();
    assert_eq!((place.space, &*place.array, place.offset, place.length), (Space::Global, "x", 160, 160));
    let line = line!() - 6;
    let text = fault.to_string();
    let expected =
        "out of bounds on global `x`[40] (bytes 160..164 of 160): thread (40, 0) of block (0, 0) reads at faults.rs";
    assert_eq!(text, format!("{expected}:{line}:11 (and 23 more like it)"));
}

#[test]
fn an_index_before_the_start_and_an_address_of_nothing() {
    let mut memory = Memory::new();
    let x = memory.upload("x", &[1u32; 8]);
    let fault = only(faults(&memory, 1, 1, |s| s.store(x, usize::MAX, 7)));
    assert_eq!((fault.kind, fault.place.unwrap().offset), (Kind::OutOfBounds, -4));
    // SAFETY: the emulator does not dereference it.
    let nowhere = unsafe { Global::from_raw(std::ptr::without_provenance_mut::<u32>(64)) };
    assert_eq!(only(faults(&memory, 1, 1, |s| s.store(nowhere, 0, 7))).kind, Kind::OutOfBounds);
}

#[test]
fn an_index_past_the_end_of_a_shared_array() {
    let fault = only(faults(&Memory::new(), 1, 32, |s| {
        let data = s.shared::<u32, 32, 0>("data");
        s.put(data, s.thread_x() + 1, 0);
    }));
    assert_eq!((fault.kind, fault.act.thread.x), (Kind::OutOfBounds, 31));
}

#[test]
fn a_vector_at_an_odd_place() {
    let mut memory = Memory::new();
    let x = memory.upload("x", &[1u32; 64]);
    let fault = only(faults(&memory, 1, 1, |s| {
        s.load(x.offset(1).cast::<Pack<u32, 4>>(), 0);
    }));
    assert_eq!(fault.kind, Kind::Misaligned);
    let fault = only(faults(&memory, 1, 1, |s| {
        let data = s.shared::<u32, 32, 0>("data");
        s.put(data.offset(2).cast::<Pack<u32, 4>>(), 0, Pack([0; 4]));
    }));
    assert_eq!(fault.kind, Kind::Misaligned);
}

#[test]
fn memory_that_nobody_wrote() {
    let mut memory = Memory::new();
    let x = memory.alloc::<f32>("x", 4);
    let fault = only(faults(&memory, 1, 32, |s| {
        let data = s.shared::<u32, 64, 0>("data");
        s.put(data, s.thread_x(), 1);
        s.barrier();
        s.get(data, s.thread_x() + 1);
    }));
    assert_eq!((fault.kind, fault.act.thread.x), (Kind::Uninitialised, 31));
    assert_eq!(
        only(faults(&memory, 1, 1, |s| {
            s.load(x, 3);
        }))
        .kind,
        Kind::Uninitialised
    );
}

#[test]
fn a_missing_block_barrier_is_a_race_in_shared_memory() {
    let kernel = |with_barrier: bool| {
        move |s: &Lane<'_>| {
            let data = s.shared::<u32, 64, 0>("data");
            s.put(data, s.thread_x(), 1);
            if with_barrier {
                s.barrier();
            }
            s.get(data, 63 - s.thread_x());
        }
    };
    let fault = faults(&Memory::new(), 1, 64, kernel(false)).into_iter().find(|f| f.kind == Kind::Race).unwrap();
    let other = fault.other.unwrap();
    assert_eq!(fault.act.thread.x + other.thread.x, 63);
    assert_ne!(fault.act.site, other.site);
    assert!(faults(&Memory::new(), 1, 64, kernel(true)).is_empty());
}

#[test]
fn a_warp_barrier_orders_its_own_lanes_and_no_others() {
    let kernel = |mask: u32, distance: u32| {
        move |s: &Lane<'_>| {
            let data = s.shared::<u32, 128, 0>("data");
            s.put(data, s.thread_x(), 1);
            if mask >> s.lane() & 1 == 1 {
                s.warp_barrier(mask);
            }
            // Lanes of the lower half look at a neighbour that is `distance` away.
            if s.lane() < 16 && s.thread_x() + distance < 64 {
                s.get(data, s.thread_x() + distance);
            }
        }
    };
    let races = |mask, distance| {
        faults(&Memory::new(), 1, 64, kernel(mask, distance)).iter().filter(|f| f.kind == Kind::Race).count()
    };
    assert_eq!(races(ALL, 1), 0, "within the warp");
    assert_eq!(races(ALL, 32), 1, "in the next warp");
    assert_eq!(races(0xffff, 16), 1, "lanes that were not in the mask");
}

#[test]
fn a_shuffle_orders_no_memory() {
    let found = faults(&Memory::new(), 1, 32, |s| {
        let data = s.shared::<u32, 32, 0>("data");
        s.put(data, s.thread_x(), 1);
        s.shuffle_xor(ALL, 0u32, 1);
        s.get(data, s.thread_x() ^ 1);
    });
    assert_eq!(only(found).kind, Kind::Race);
}

#[test]
fn blocks_race_in_global_memory_unless_both_are_atomic() {
    let mut memory = Memory::new();
    let x = memory.upload("x", &[0u32; 1]);
    let fault = only(faults(&memory, 4, 1, |s| s.store(x, 0, s.block_x())));
    assert_eq!((fault.kind, fault.place.unwrap().space), (Kind::Race, Space::Global));
    assert!(
        faults(&memory, 4, 32, |s| {
            s.atomic_add(x, 0, 1, Order::Relaxed);
        })
        .is_empty()
    );
    let mixed = faults(&memory, 4, 32, |s| {
        if s.block_x() == 0 {
            s.store(x, 0, 0);
        } else {
            s.atomic_add(x, 0, 1, Order::Relaxed);
        }
    });
    assert!(mixed.iter().all(|f| f.kind == Kind::Race) && !mixed.is_empty());
    // Two launches are ordered.
    assert!(faults(&memory, 1, 1, |s| s.store(x, 0, 1)).is_empty());
}

/// Each block leaves a partial; the last to finish adds them up.
fn last_block_done(order: Order) -> (u32, Vec<Fault>) {
    const BLOCKS: u32 = 50;
    let mut memory = Memory::new();
    let partials = memory.alloc::<u32>("partials", BLOCKS as usize);
    let (counter, out) = (memory.upload("counter", &[0u32]), memory.alloc::<u32>("out", 1));
    let found = faults(&memory, BLOCKS, 64, |s| {
        let last = s.shared::<u32, 1, 0>("last");
        if s.thread_x() == 0 {
            s.store(partials, s.block_x() as usize, s.block_x());
            s.put(last, 0, s.atomic_add(counter, 0, 1, order));
        }
        s.barrier();
        if s.get(last, 0) != BLOCKS - 1 {
            return;
        }
        let sum = s.shared::<u32, 1, 1>("sum");
        if s.thread_x() == 0 {
            s.put(sum, 0, 0);
            s.store(counter, 0, 0);
        }
        s.barrier();
        if s.thread_x() < BLOCKS {
            let part = s.load(partials, s.thread_x() as usize);
            s.atomic_add_shared(sum, 0, part, Order::Relaxed);
        }
        s.barrier();
        if s.thread_x() == 0 {
            s.store(out, 0, s.get(sum, 0));
        }
    });
    (memory.read(out, 1)[0], found)
}

#[test]
fn the_last_block_may_read_what_an_acquire_release_counter_published() {
    let (sum, found) = last_block_done(Order::AcqRel);
    assert_eq!((sum, found.len()), (49 * 50 / 2, 0), "{found:?}");
}

#[test]
fn a_relaxed_counter_publishes_nothing() {
    let (_, found) = last_block_done(Order::Relaxed);
    let race = found.iter().find(|f| f.kind == Kind::Race && f.place.as_ref().unwrap().array == "partials");
    assert_eq!(race.map(|f| f.other.unwrap().op), Some(Op::Write));
}

/// Copies zeros and multiplies by them, but for what `leaves` names.
fn product(leaves: &str) -> Vec<Fault> {
    let mut memory = Memory::new();
    let x = memory.upload("x", &[0u32; 4096]).cast::<Pack<u32, 4>>();
    faults(&memory, 1, 128, |s| {
        let columns = s.shared::<u32, 4096, 0>("columns");
        for i in 0..8 {
            let place = i * 128 + s.thread_x();
            s.copy(columns.cast(), place, x, place as usize);
        }
        if leaves != "copied" {
            s.copied();
        }
        if leaves != "publish" {
            s.publish();
        }
        s.barrier();
        s.multiply_shared::<true>(&[[0; 4]; 4], columns, [0.0; 64]);
    })
}

#[test]
fn a_product_of_what_is_not_copied_or_not_published() {
    assert_eq!(product(""), []);
    assert_eq!(only(product("publish")).kind, Kind::Unpublished);
    assert!(product("copied").iter().any(|fault| fault.kind == Kind::Coming));
}

#[test]
fn what_is_read_of_a_group_of_copies_that_is_not_waited_for() {
    let mut memory = Memory::new();
    let x = memory.upload("x", &[7u32; 256]).cast::<Pack<u32, 4>>();
    let kernel = |group: u32| {
        faults(&memory, 1, 32, move |s| {
            let places = s.room_of::<Pack<u32, 4>>("places", 64);
            for turn in 0..2 {
                s.copy(places, 32 * turn + s.thread_x(), x, (32 * turn + s.thread_x()) as usize);
                s.end_copies();
            }
            s.copied_but::<1>();
            assert!(group == 1 || s.get(places, s.thread_x()) == Pack([7; 4]));
            s.get(places, 32 * group + s.thread_x());
        })
    };
    assert_eq!(kernel(0), []);
    assert!(kernel(1).iter().any(|fault| fault.kind == Kind::Coming));
}

#[test]
fn a_barrier_that_half_the_block_skips() {
    let fault = only(faults(&Memory::new(), 1, 64, |s| {
        if s.thread_x() < 32 {
            s.barrier();
        }
    }));
    assert_eq!((fault.kind, fault.other.unwrap().op), (Kind::BarrierDivergence, Op::Return));
}

#[test]
fn two_barriers_are_not_one() {
    let fault = only(faults(&Memory::new(), 1, 64, |s| {
        if s.thread_x() < 32 {
            s.barrier();
        }
        if s.thread_x() >= 32 {
            s.barrier();
        }
    }));
    assert_eq!((fault.kind, fault.other.unwrap().op), (Kind::BarrierDivergence, Op::Barrier));
}

#[test]
fn a_warp_barrier_that_a_named_lane_skips() {
    let fault = only(faults(&Memory::new(), 1, 32, |s| {
        if s.lane() != 5 {
            s.warp_barrier(ALL);
        }
    }));
    assert_eq!((fault.kind, fault.other.unwrap().thread.x), (Kind::BarrierDivergence, 5));
}

#[test]
fn a_shuffle_that_a_named_lane_skips_or_that_reads_outside_its_mask() {
    let found = faults(&Memory::new(), 1, 32, |s| {
        if s.lane() < 16 {
            s.shuffle_down(ALL, s.lane(), 1);
        }
    });
    assert!(found.iter().all(|f| f.kind == Kind::InactiveLane) && !found.is_empty());
    let found = faults(&Memory::new(), 1, 32, |s| {
        if s.lane() < 16 {
            s.shuffle_xor(0xffff, s.lane(), 16);
        }
    });
    assert_eq!(only(found).kind, Kind::InactiveLane);
    let found = faults(&Memory::new(), 1, 32, |s| {
        if s.lane() < 16 {
            assert_eq!(s.shuffle_xor(0xffff, s.lane(), 8), s.lane() ^ 8);
            assert_eq!(s.ballot(0xffff, s.lane() % 2 == 0), 0x5555);
        }
    });
    assert!(found.is_empty());
}

#[test]
fn a_kernel_that_panics_is_reported_and_the_rest_goes_on() {
    let fault = only(faults(&Memory::new(), 1, 4, |s| assert!(s.thread_x() != 2, "two")));
    assert_eq!((fault.kind, fault.act.thread.x), (Kind::Panic("two".into()), 2));
}

#[test]
fn a1_as_published_is_wrong_and_races() {
    let x = integers(4096);
    let ran = emulate_reduce("a1_as_published", &x, Tuning::default()).unwrap();
    assert_ne!(ran.result, integer_sum(&x));
    assert!(ran.faults.iter().any(|f| f.kind == Kind::Race));
}

#[test]
fn a4_and_a5_as_published_race_in_the_last_warp() {
    for name in ["a4_as_published", "a5_as_published"] {
        let ran = emulate_reduce(name, &integers(4096), Tuning::default()).unwrap();
        let race = ran.faults.iter().find(|f| f.kind == Kind::Race).expect(name);
        let (a, b) = (race.act, race.other.unwrap());
        assert!(a.thread.x < 32 && b.thread.x < 32 && a.thread != b.thread, "{race}");
        assert_eq!(race.place.as_ref().unwrap().space, Space::Shared);
    }
}

#[test]
fn a7_as_published_loses_the_fractions() {
    let x = floats(4096);
    let ran = emulate_reduce("a7_as_published", &x, Tuning::default()).unwrap();
    assert!(ran.faults.is_empty());
    assert!(is_sum(ran.result, &x, 100).is_err());
    assert_eq!(ran.result, ran.result.trunc());
}

#[test]
fn blocks_and_grids_of_two_dimensions() {
    let mut memory = Memory::new();
    let x = memory.alloc::<u32>("x", 2 * 3 * 8 * 4);
    let kernel = |s: &Lane<'_>| {
        let (t, b, d) = (s.thread(), s.block(), s.block_dim());
        let block = b.y * s.grid_dim().x + b.x;
        let i = (block * d.count() as u32 + t.y * d.x + t.x) as usize;
        s.store(x, i, s.lane() | s.warp() << 8);
    };
    let report = emulator::launch(&memory, "test", Dim { x: 2, y: 3 }, Dim { x: 8, y: 4 }, kernel).expect("no fault");
    assert_eq!((report.blocks, report.threads), (6, 192));
    assert_eq!(memory.read(x, 192), (0..192).map(|i| i % 32).collect::<Vec<u32>>());
}
