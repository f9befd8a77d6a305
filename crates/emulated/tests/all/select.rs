//! `top_k`: what the CPU finds.

use warpfold::cuda::{Array, select};
use warpfold::{ArrayRef, DType, bf16, f16};

use crate::Emulated;
use crate::sort::{Bits, Random};

/// The shape, the dtype and the bits of an array.
fn bits(x: warpfold::Array) -> (Vec<usize>, DType, Vec<u64>) {
    let bits = (0..x.values.len()).map(|i| x.values.get(i).bits().0).collect();
    (x.shape, x.values.dtype(), bits)
}

/// Elements of a kind: random bits, few values, all equal, ascending, zeros and NaNs, one in many great.
fn elements<T: Bits>(kind: usize, n: usize, r: &mut Random) -> Vec<T> {
    let one = r.next();
    let zeros = [0, 1u64 << (8 * size_of::<T>() - 1), u64::MAX, u64::MAX >> 1, 1, 0];
    (0..n)
        .map(|i| match kind {
            1 => T::from_raw(r.below(5)),
            2 => T::from_raw(one),
            3 => T::from_raw(i as u64),
            4 => T::from_raw(zeros[r.below(6) as usize]),
            5 => T::from_raw(if i / 16 % 256 == 7 { 1 + i as u64 % 97 } else { 0 }),
            _ => T::from_raw(r.next()),
        })
        .collect()
}

/// Asserts that a selection from an array on the device is that of the CPU.
fn check<T: Bits>(on: &Emulated, x: ArrayRef<'_>, [k, axis]: [usize; 2], largest: bool, what: &str) -> Vec<String> {
    let there = Array::upload(&on.stream, x).expect("room");
    let selection = select::Selection::top_k(&on.device, &there.view(), k, axis as isize, largest).expect("a plan");
    let mut found = selection.output().expect("room");
    selection.run(&on.stream, there.view(), &mut found).expect("a run");
    let expected = warpfold::select::top_k(x, k, axis as isize, largest, Some(1)).expect("what the CPU finds");
    let what = format!("{what} {} {:?} k {k} axis {axis} {largest} {:?}", T::DTYPE, x.shape(), selection.kernels());
    let of = |array: &Array| bits(array.download(&on.stream).expect("a result"));
    assert_eq!(of(&found.indices), bits(expected.indices), "{what}");
    assert_eq!(of(&found.values), bits(expected.values), "{what}");
    selection.kernels().into_iter().map(str::to_owned).collect()
}

/// Random problems of a type.
fn random<T: Bits>(on: &Emulated, r: &mut Random, seen: &mut Vec<String>) {
    for round in 0..20 {
        let lens = [1, 2, 5, 17, 33, 100, 129, 300, 1000, 2500, 5000];
        let len = lens[r.below(lens.len() as u64) as usize];
        let rows = 1 + r.below(if len > 400 { 3 } else { 20 }) as usize;
        let k = match round % 4 {
            0 => 1 + r.below(len.min(8) as u64) as usize,
            1 => len.min(64),
            2 => 1 + r.below(len as u64) as usize,
            _ => len.min(1 + r.below(200) as usize),
        };
        // Each emulated comparison of a sort costs: long ones are rare.
        let k = if k > 300 && round % 5 != 0 { 50 } else { k };
        let kind = r.below(6) as usize;
        let (inner, largest) = ([1, 1, 3][r.below(3) as usize], r.below(3) > 0);
        let x = elements::<T>(kind, rows * len * inner, r);
        let x = ArrayRef::from_slice(&x, &[rows, len, inner]).expect("an array");
        seen.extend(check::<T>(on, x, [k, 1], largest, &format!("kind {kind}")));
    }
}

#[test]
fn the_first_of_rows_are_those_of_the_cpu() {
    let (on, r, mut seen) = (Emulated::new(), &mut Random(11), Vec::new());
    random::<f32>(&on, r, &mut seen);
    random::<bf16>(&on, r, &mut seen);
    random::<f16>(&on, r, &mut seen);
    random::<f64>(&on, r, &mut seen);
    random::<i8>(&on, r, &mut seen);
    random::<u8>(&on, r, &mut seen);
    random::<i16>(&on, r, &mut seen);
    random::<i32>(&on, r, &mut seen);
    random::<u64>(&on, r, &mut seen);
    random::<i64>(&on, r, &mut seen);
    for kind in ["select_b", "select_warp_b"] {
        assert!((0..4).all(|log| seen.contains(&format!("{kind}{}", 1 << log))), "{kind}");
    }
}

#[test]
fn truths_are_zeros_and_ones() {
    let on = Emulated::new();
    let x: Vec<bool> = (0..700).map(|i| i % 7 == 3).collect();
    let x = ArrayRef::from_slice(&x, &[2, 350]).expect("an array");
    for largest in [true, false] {
        check_bools(&on, x, largest);
    }
}

fn check_bools(on: &Emulated, x: ArrayRef<'_>, largest: bool) {
    let there = Array::upload(&on.stream, x).expect("room");
    let found = select::top_k(there.view(), 60, 1, largest, &on.stream).expect("a result");
    let expected = warpfold::select::top_k(x, 60, 1, largest, Some(1)).expect("what the CPU finds");
    for (found, expected) in [(&found.values, expected.values), (&found.indices, expected.indices)] {
        assert_eq!(bits(found.download(&on.stream).expect("a result")), bits(expected));
    }
}

/// Rows that are cut into parts, and rounds of more than a block chooses at once, of both.
#[test]
fn parts_and_rounds() {
    let (on, r) = (Emulated::of(4), &mut Random(5));
    for kind in [0, 2, 3, 5] {
        let x = elements::<i16>(kind, 40_001, r);
        let kernels = check::<i16>(&on, ArrayRef::flat(&x), [30, 0], true, "parts");
        assert_eq!(kernels, ["select_b2", "select_parts_b4"]);
        let x = elements::<f64>(kind, 10_000, r);
        let kernels = check::<f64>(&on, ArrayRef::flat(&x), [30, 0], false, "parts");
        assert_eq!(kernels, ["select_b8", "select_parts_b8"]);
        let x = elements::<f32>(kind, 2500, r);
        let kernels = check::<f32>(&on, ArrayRef::flat(&x), [2500, 0], true, "rounds");
        assert_eq!(kernels, ["select_b4"; 3]);
    }
    // All of them, of which the last have the least place that there is.
    for (kind, largest) in [(4, false), (5, true), (6, true)] {
        let x = elements::<u8>(kind, 3111, r);
        check::<u8>(&on, ArrayRef::flat(&x), [3111, 0], largest, "all in rounds");
        let x = elements::<f64>(kind, 2776, r);
        check::<f64>(&on, ArrayRef::flat(&x), [2776, 0], largest, "all in rounds");
    }
    let x = elements::<u64>(1, 280_000, r);
    let kernels = check::<u64>(&on, ArrayRef::flat(&x), [1030, 0], true, "parts in rounds");
    assert_eq!(kernels, ["select_b8", "select_parts_b8", "select_b8", "select_parts_b8"]);
}

/// A row's results do not depend on its neighbours, nor on where it begins.
#[test]
fn rows_that_begin_anywhere() {
    let (on, r) = (Emulated::new(), &mut Random(8));
    let x = elements::<bf16>(0, 9 * 333, r);
    let all = ArrayRef::from_slice(&x, &[9, 333]).expect("an array");
    let there = Array::upload(&on.stream, all).expect("room");
    let seen = there.view();
    for from in 0..9 {
        let row = seen.slice(0, from..from + 1).expect("a row").slice(1, from..from + 300).expect("elements");
        let found = select::top_k(row, 20, 1, true, &on.stream).expect("a result");
        let host = all.narrow(0, from, 1).narrow(1, from, 300);
        let expected = warpfold::select::top_k(host, 20, 1, true, Some(1)).expect("what the CPU finds");
        assert_eq!(bits(found.values.download(&on.stream).expect("a result")), bits(expected.values));
        assert_eq!(bits(found.indices.download(&on.stream).expect("a result")), bits(expected.indices));
    }
}

#[test]
fn mistakes_are_named() {
    let on = Emulated::new();
    let x = on.list(&[1.0f32, 2.0, 3.0]);
    let error = |k, axis| select::top_k(x.view(), k, axis, true, &on.stream).err().expect("an error").to_string();
    assert_eq!(error(4, 0), "top_k with k 4 of an axis of 3 elements: give 0 to 3");
    assert!(error(1, 1).contains("axis"), "{}", error(1, 1));
    let none = select::top_k(x.view(), 0, 0, true, &on.stream).expect("nothing");
    assert_eq!(bits(none.values.download(&on.stream).expect("a result")).0, [0]);
}
