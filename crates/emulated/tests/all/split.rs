//! Groups whose values are parted by digits of their labels: the bits of the CPU.

use warpfold::cuda::{Grouped, Options};
use warpfold::{ArrayRef, KeyError, Op, group_by};

use super::sort::{Bits, Random};
use crate::Emulated;

/// Reduces f32 values by labels, and compares with the CPU. Returns the launches.
fn reduced<T: Bits>(on: &Emulated, op: Op, labels: &[i128], groups: usize, r: &mut Random) -> String {
    reduced_times::<T>(1, on, op, labels, groups, r)
}

/// The same twice, by one plan and one result: nothing is left of the first run.
fn reduced_twice<T: Bits>(on: &Emulated, op: Op, labels: &[i128], groups: usize, r: &mut Random) -> String {
    reduced_times::<T>(2, on, op, labels, groups, r)
}

fn reduced_times<T: Bits>(
    times: usize,
    on: &Emulated,
    op: Op,
    labels: &[i128],
    groups: usize,
    r: &mut Random,
) -> String {
    let about = format!("{op:?} of {} by {} labels of {groups}", labels.len(), T::DTYPE);
    let by: Vec<T> = labels.iter().map(|&label| T::from_raw(label as u64)).collect();
    let x: Vec<f32> = (0..by.len()).map(|_| r.below(1 << 24) as f32 / 1000.0 - 5000.0).collect();
    let list = |shape: &[usize]| ArrayRef::from_slice(&x, shape).expect("a list");
    let signed: Vec<i64> = labels.iter().map(|&label| label as i64).collect();
    let host = ArrayRef::from_slice(&signed, &[signed.len()]).expect("labels");
    let want = group_by(op, host, list(&[x.len()]), Some(groups), &warpfold::Options::default()).expect("results");
    let (by, x) = (on.list(&by), on.list(&x));
    let mut plan =
        Grouped::new(&on.device, op, &by.view(), &x.view(), groups, &Options::default(), None).expect("a plan");
    let mut out = plan.output().expect("room");
    on.entries();
    for _ in 0..times {
        plan.run(&on.stream, by.view(), x.view(), &mut out).expect("a run");
        let found = out.download(&on.stream).expect("results");
        assert!(found.values.as_bytes() == want.values.as_bytes(), "{about}");
    }
    on.entries()
}

#[test]
fn one_part_is_enough_for_few_groups() {
    let (on, r) = (&Emulated::new(), &mut Random(1));
    for (n, k) in [(4096, 300), (8192, 1000), (20_001, 1024)] {
        let labels: Vec<i128> = (0..n).map(|_| r.below(k + 1) as i128 - 1).collect();
        let launches = reduced_twice::<i32>(on, Op::Sum, &labels, k as usize, r);
        assert!(launches.starts_with(" split_count split_starts split_pass segments_sum_f32"), "{launches}");
        reduced::<i16>(
            on,
            Op::Max,
            &labels.iter().map(|&l| l.max(0)).chain(0..k as i128).collect::<Vec<_>>(),
            k as usize,
            r,
        );
        // One group has everything, or a few have.
        reduced::<i64>(on, Op::Mean, &vec![77; n], k as usize, r);
        let few: Vec<i128> = (0..n).map(|i| (i % 7) as i128 * 40).collect();
        reduced::<u32>(on, Op::Sum, &few, k as usize, r);
    }
}

#[test]
fn many_groups_take_two_parts_or_are_summed_in_their_buckets() {
    let (on, r) = (&Emulated::new(), &mut Random(2));
    let (n, k) = (20_000, 70_000);
    let labels: Vec<i128> = (0..n).map(|_| r.below(k + 1) as i128 - 1).collect();
    // One run of 274 buckets takes seconds, so only two cases, of sums and of two parts, run twice.
    let launches = reduced_twice::<i32>(on, Op::Sum, &labels, k as usize, r);
    assert!(launches.contains(" split_sums_f32"), "{launches}");
    reduced_twice::<i64>(on, Op::Var, &labels, k as usize, r);
    reduced::<u32>(on, Op::Mean, &labels.iter().map(|&l| l.max(0)).collect::<Vec<_>>(), k as usize, r);
    // Too long for a block: a bucket, a group.
    let one: Vec<i128> = (0..n).map(|i| 300 + (i / 40) as i128 % 200).collect();
    reduced::<i32>(on, Op::Sum, &one, k as usize, r);
    reduced::<i32>(on, Op::Sum, &vec![k as i128 - 1; n], k as usize, r);
    let long: Vec<i128> = labels.iter().map(|&l| if l % 200 == 0 { 69_999 } else { l }).collect();
    reduced::<i32>(on, Op::Sum, &long, k as usize, r);
    // In order, and in the reverse order.
    let sorted: Vec<i128> = (0..n).map(|i| (i as i128 * 7) / 2).collect();
    reduced::<i32>(on, Op::Sum, &sorted, k as usize, r);
    reduced::<i32>(on, Op::Sum, &sorted.into_iter().rev().collect::<Vec<_>>(), k as usize, r);
}

#[test]
fn sums_of_many_elements_are_made_of_nodes() {
    let (on, r) = (&Emulated::new(), &mut Random(3));
    let n = 131_073;
    for k in [300, 1000] {
        let names = " split_count split_starts split_nodes_f32 split_joints_f32 split_joints_f32 segments_sum_f32";
        let labels: Vec<i128> = (0..n).map(|_| r.below(k + 1) as i128 - 1).collect();
        let launches = reduced_twice::<i32>(on, Op::Sum, &labels, k as usize, r);
        assert!(launches.starts_with(names), "{launches}");
        let k = k as i128;
        if k == 300 {
            // One group has everything, or a few have; in order; nearly all of no group.
            reduced::<i64>(on, Op::Sum, &vec![k - 1; n], k as usize, r);
            let few: Vec<i128> = (0..n).map(|i| (i % 7) as i128 * (k / 8)).collect();
            reduced::<u32>(on, Op::Sum, &few, k as usize, r);
            let sorted: Vec<i128> = (0..n).map(|i| i as i128 * k / n as i128).collect();
            reduced::<i16>(on, Op::Sum, &sorted, k as usize, r);
            let rare: Vec<i128> = labels.iter().map(|&l| if r.below(50) == 0 { l } else { -1 }).collect();
            reduced::<i32>(on, Op::Sum, &rare, k as usize, r);
        } else {
            // One group has half of it; in the reverse order, in pairs.
            let half: Vec<i128> = labels.iter().map(|&l| if r.below(2) == 0 { 3 } else { l }).collect();
            reduced::<i32>(on, Op::Sum, &half, k as usize, r);
            let reverse: Vec<i128> = (0..n).rev().map(|i| i as i128 * k / n as i128).collect();
            reduced::<i32>(on, Op::Sum, &reverse, k as usize, r);
            let pairs: Vec<i128> = (0..n).map(|i| (i / 2 * 5) as i128 % k).collect();
            reduced::<i32>(on, Op::Sum, &pairs, k as usize, r);
        }
    }
}

#[test]
fn the_first_label_of_no_group_is_said() {
    let (on, r) = (&Emulated::new(), &mut Random(4));
    for k in [1000, 70_000] {
        let mut by: Vec<i32> = (0..9000).map(|_| r.below(k) as i32 - 1).collect();
        (by[8500], by[4711], by[8999]) = (k as i32, -2, k as i32 + 1);
        let x = vec![1.0f32; by.len()];
        let (by, x) = (on.list(&by), on.list(&x));
        let options = Options::default();
        let mut plan =
            Grouped::new(&on.device, Op::Sum, &by.view(), &x.view(), k as usize, &options, None).expect("a plan");
        let mut out = plan.output().expect("room");
        plan.run(&on.stream, by.view(), x.view(), &mut out).expect("a run");
        let wrong = KeyError::LabelOutOfRange { at: 4711, label: -2, groups: k as usize };
        assert_eq!(out.download(&on.stream).expect_err("a label of no group"), wrong.into());
    }
}
