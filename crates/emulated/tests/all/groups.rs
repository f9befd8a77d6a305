//! Labels in order, and what goes along with them: what sorting on the host finds.

use warpfold::cuda::{Array, Grouped, Groups, Options};
use warpfold::{ArrayRef, Error, KeyError, Op, Scalar};

use super::sort::{Bits, Random};
use crate::Emulated;

/// The elements in the order of their labels, those of no group last, and where each group begins.
fn sorted(labels: &[i128], groups: usize) -> (Vec<usize>, Vec<u32>) {
    let is_in = |label: i128| (0..groups as i128).contains(&label);
    let group = |at: usize| if is_in(labels[at]) { labels[at] as usize } else { groups };
    let mut sorted: Vec<usize> = (0..labels.len()).collect();
    sorted.sort_by_key(|&at| group(at));
    let offsets = (0..=groups).map(|k| sorted.partition_point(|&at| group(at) < k) as u32).collect();
    (sorted, offsets)
}

/// The error of the first label of no group. All bits set is -1 only of signed integers.
fn first_bad(labels: &[i128], groups: usize) -> Option<Error> {
    let at = labels.iter().position(|&label| label != -1 && !(0..groups as i128).contains(&label))?;
    Some(KeyError::LabelOutOfRange { at, label: labels[at], groups }.into())
}

/// Sorts labels, and looks at positions, offsets, counts and the first label of no group.
fn groups<T: Bits>(on: &Emulated, labels: &[i128], groups: usize) {
    let about = format!("{} labels of {groups}", T::DTYPE);
    let typed: Vec<T> = labels.iter().map(|&label| T::from_raw(label as u64)).collect();
    let there = on.list(&typed);
    let found = Groups::new(there.view(), Some(groups), &on.stream).expect("groups");
    let (sorted, offsets) = sorted(labels, groups);
    assert_eq!(on.seen::<u32>(found.offsets()), offsets, "{about}");
    let want: Vec<u32> = sorted.iter().map(|&at| at as u32).collect();
    assert_eq!(on.seen::<u32>(found.positions()), want, "{about}");
    let wrong = first_bad(labels, groups);
    assert_eq!(found.check(&on.stream).err(), wrong, "{about}");
    let counts = found.counts(&on.stream).expect("counts").download(&on.stream);
    let want: Vec<i64> = offsets.windows(2).map(|pair| (pair[1] - pair[0]) as i64).collect();
    match wrong {
        Some(wrong) => assert_eq!(counts.expect_err("a label of no group"), wrong, "{about}"),
        None => assert_eq!(counts.expect("counts").into_vec::<i64>(), Some(want), "{about}"),
    }
}

/// Sorts labels with values, and looks at the order of these and at the sum of each group.
fn grouped<T: Bits, V: Bits + Into<i128>>(on: &Emulated, labels: &[i128], groups: usize, values: &[V]) {
    let about = format!("{} by {} labels of {groups}", V::DTYPE, T::DTYPE);
    let typed: Vec<T> = labels.iter().map(|&label| T::from_raw(label as u64)).collect();
    let (by, x) = (on.list(&typed), on.list(values));
    let options = Options::default();
    let mut plan = Grouped::new(&on.device, Op::Sum, &by.view(), &x.view(), groups, &options, None).expect("a plan");
    let mut out = plan.output().expect("room");
    plan.run(&on.stream, by.view(), x.view(), &mut out).expect("a run");
    let (sorted, offsets) = sorted(labels, groups);
    // Values of no group may have been left out.
    let there = offsets[groups] as usize;
    let want: Vec<V> = sorted[..there].iter().map(|&at| values[at]).collect();
    assert!(on.seen::<V>(plan.moved(there)) == want, "{about}");
    let sums: Vec<i128> = offsets
        .windows(2)
        .map(|pair| sorted[pair[0] as usize..pair[1] as usize].iter().map(|&at| values[at].into()).sum())
        .collect();
    let found = out.download(&on.stream).expect("sums").values;
    let found: Vec<i128> = (0..found.len()).map(|i| found.get(i).to_f64() as i128).collect();
    assert!(found == sums, "{about}");
}

/// Labels below `groups`, some of them -1 and some of no group.
fn labels(n: usize, groups: usize, none: bool, bad: bool, r: &mut Random) -> Vec<i128> {
    let mut all: Vec<i128> =
        (0..n).map(|_| if none && r.below(5) == 0 { -1 } else { r.below(groups.max(1) as u64) as i128 }).collect();
    if bad {
        (0..3).for_each(|_| all[r.below(n as u64) as usize] = groups as i128);
    }
    all
}

#[test]
fn groups_keep_the_order_of_their_elements() {
    let (on, r) = (&Emulated::new(), &mut Random(77));
    for (n, k) in [(1, 1), (5121, 1), (6000, 16), (11_000, 255), (10_300, 256), (9000, 1000), (5000, 100_000)] {
        let all = labels(n, k, k != 16, false, r);
        groups::<i32>(on, &all, k);
        let values: Vec<u32> = (0..n).map(|_| r.next() as u32).collect();
        grouped::<i32, u32>(on, &all, k, &values);
        // Sums below 2^53, so that f64 has them.
        grouped::<i64, u64>(on, &all, k, &values.iter().map(|&x| (x as u64) << 7).collect::<Vec<_>>());
    }
}

#[test]
fn values_of_1_and_2_bytes_stay_as_they_are() {
    let (on, r) = (&Emulated::new(), &mut Random(78));
    for (n, k) in [(6000, 16), (9000, 1000), (3, 70_000)] {
        let all = labels(n, k, true, false, r);
        grouped::<i32, u8>(on, &all, k, &(0..n).map(|_| r.next() as u8).collect::<Vec<_>>());
        grouped::<i64, i16>(on, &all, k, &(0..n).map(|_| r.next() as i16).collect::<Vec<_>>());
    }
}

#[test]
fn the_first_label_of_no_group_is_found() {
    let (on, r) = (&Emulated::new(), &mut Random(79));
    for (n, k) in [(1, 3), (9000, 100), (5200, 120)] {
        let all = labels(n, k, true, true, r);
        groups::<i32>(on, &all, k);
        groups::<i64>(on, &all, k);
        groups::<i8>(on, &all, k);
        let unsigned: Vec<i128> = all.iter().map(|&label| label.max(0)).collect();
        groups::<u8>(on, &unsigned, k);
        groups::<u64>(on, &unsigned, k);
    }
    // All bits set is -1 only of signed integers.
    groups::<u64>(on, &[3, u64::MAX as i128, 1], 4);
    groups::<u32>(on, &[u32::MAX as i128, 0], 4);
    groups::<i64>(on, &[1 << 40, -5, 2], 4);
    groups::<i32>(on, &[-1, -1], 0);
}

/// Arg ops find places in groups, which become positions among the values.
#[test]
fn places_become_positions() {
    let (on, n) = (Emulated::new(), 3000usize);
    // The second of four groups is empty.
    let label = |at: usize| [0i32, 2, 3][at * 7 % n / 1000];
    let by: Vec<i32> = (0..n).map(label).collect();
    let by_there = on.list(&by);
    let found = Groups::new(by_there.view(), Some(4), &on.stream).expect("groups");
    let mut r = Random(80);
    for columns in [1usize, 2] {
        let x: Vec<f32> = (0..n * columns).map(|_| r.below(1 << 20) as f32).collect();
        let shape = if columns == 1 { vec![n] } else { vec![n, columns] };
        let x_there = Array::upload(&on.stream, ArrayRef::from_slice(&x, &shape).expect("values")).expect("room");
        let options = Options::default();
        let best = |group: i32, column: usize| {
            let mine = (0..n).filter(|&at| by[at] == group);
            // The first of equals.
            mine.reduce(|a, b| if x[b * columns + column] > x[a * columns + column] { b } else { a })
        };
        let want: Vec<i64> = (0..4)
            .flat_map(|group| (0..columns).map(move |column| (group, column)))
            .map(|(group, column)| best(group, column).map_or(99, |at| at as i64))
            .collect();
        let fill = Some(Scalar::I64(99));
        let places = found.reduce(Op::ArgMax, x_there.view(), &options, fill, &on.stream).expect("places");
        assert_eq!(on.numbers::<i64>(&places), want, "{columns} columns");
        // The same in one go.
        let device = &on.device;
        let (by, x) = (by_there.view(), x_there.view());
        let mut plan = Grouped::new(device, Op::ArgMax, &by, &x, 4, &options, fill).expect("a plan");
        let mut out = plan.output().expect("room");
        plan.run(&on.stream, by, x, &mut out).expect("a run");
        assert_eq!(on.numbers::<i64>(&out), want, "{columns} columns");
        // Without a fill, a group without a place is an error.
        let bare = found.reduce(Op::ArgMax, x, &options, None, &on.stream).expect("places");
        assert!(matches!(bare.download(&on.stream), Err(Error::Key(KeyError::SomeEmpty { .. }))));
    }
    assert!(on.entries().contains("group_places"));
    // Of nothing but NaN there is no place.
    let by: Vec<i32> = (0..n as i32).map(|at| at % 3).collect();
    let x: Vec<f32> = by.iter().map(|&group| if group == 1 { f32::NAN } else { 1.0 }).collect();
    let (by, x) = (on.list(&by), on.list(&x));
    let found = Groups::new(by.view(), Some(3), &on.stream).expect("groups");
    let options = Options { skip_nan: true, ..Options::default() };
    let bare = found.reduce(Op::ArgMax, x.view(), &options, None, &on.stream).expect("places");
    assert!(matches!(bare.download(&on.stream), Err(Error::Key(KeyError::SomeEmpty { .. }))));
}
