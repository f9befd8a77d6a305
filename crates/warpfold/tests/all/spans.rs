//! States of reductions: parts cut anywhere, added in any order, sent as bytes, have the bits of the whole.

use warpfold::problem::normalize_axes;
use warpfold::{ArrayRef, Error, Op, Options, Spans, reduce};

use crate::cases::{Case, Class};
use crate::reference::Random;

/// A part of an array along its axes: where it begins, and its length.
type Part = Vec<(usize, usize)>;

/// Random cuts of an axis.
fn cuts(r: &mut Random, len: usize, most: usize) -> Vec<(usize, usize)> {
    let mut ends: Vec<usize> = (0..r.next() as usize % most).map(|_| r.next() as usize % (len + 1)).collect();
    ends.extend([0, len]);
    ends.sort_unstable();
    ends.windows(2).map(|pair| (pair[0], pair[1] - pair[0])).collect()
}

/// All parts of an array whose reduced axes are cut.
fn parts(r: &mut Random, shape: &[usize], axes: &[usize]) -> Vec<Part> {
    let most = if axes.len() > 2 { 2 } else { 4 };
    let mut all = vec![vec![]];
    for (axis, &len) in shape.iter().enumerate() {
        let cuts = if axes.contains(&axis) { cuts(r, len, most) } else { vec![(0, len)] };
        all = all.iter().flat_map(|part| cuts.iter().map(move |&cut| [&part[..], &[cut]].concat())).collect();
    }
    for i in (1..all.len()).rev() {
        all.swap(i, r.next() as usize % (i + 1));
    }
    all
}

fn part_of<'a>(array: ArrayRef<'a>, part: &Part) -> ArrayRef<'a> {
    part.iter().enumerate().fold(array, |array, (axis, &(from, len))| array.narrow(axis, from, len))
}

/// The part of a mask, which may have fewer axes, or axes of length 1.
fn mask_of<'a>(mask: ArrayRef<'a>, part: &Part) -> ArrayRef<'a> {
    let missing = part.len() - mask.shape().len();
    (0..mask.shape().len()).filter(|&axis| mask.shape()[axis] != 1).fold(mask, |mask, axis| {
        let (from, len) = part[missing + axis];
        mask.narrow(axis, from, len)
    })
}

fn through_bytes(spans: &Spans) -> Spans {
    let bytes = spans.to_bytes();
    let back = Spans::from_bytes(&bytes).unwrap();
    assert_eq!(back.to_bytes(), bytes);
    back
}

#[test]
fn parts_in_any_order_have_the_bits_of_the_whole() {
    for class in Class::ALL.into_iter().filter(|class| !class.is_large()) {
        for seed in 0..195 {
            let case = Case::new(class, seed);
            let (x, options) = (case.x.view(), case.options());
            let r = &mut Random((seed << 8) ^ 0xD1B5_4A32_D192_ED03 ^ class as u64);
            let axes = normalize_axes(options.axes.as_deref(), x.shape().len()).unwrap();
            let total: Vec<u64> = axes.iter().map(|&axis| x.shape()[axis] as u64).collect();
            let kept: Vec<usize> =
                (0..x.shape().len()).filter(|axis| !axes.contains(axis)).map(|axis| x.shape()[axis]).collect();
            let signed: Vec<isize> = axes.iter().map(|&axis| axis as isize).collect();
            let masked = options.mask.is_some();
            let mut states: Vec<Spans> = Vec::new();
            for part in parts(r, x.shape(), &axes) {
                let mask = options.mask.map(|mask| mask_of(mask, &part));
                let start: Vec<u64> = axes.iter().map(|&axis| part[axis].0 as u64).collect();
                let mut spans = Spans::new(case.op, case.dtype, &kept, masked, &options).unwrap();
                let here = Options { mask, ..Options::default() };
                spans.add(part_of(x, &part), &signed, &start, &total, &here).unwrap();
                states.push(through_bytes(&spans));
                if r.next().is_multiple_of(2) && states.len() > 1 {
                    let last = states.pop().unwrap();
                    let at = r.next() as usize % states.len();
                    states[at].merge(last).unwrap();
                }
            }
            let mut whole = states.pop().unwrap();
            for state in states {
                whole.merge(state).unwrap();
            }
            let found = through_bytes(&whole).finish(total.iter().product());
            match (found, reduce(case.op, x, &options)) {
                (Ok(found), Ok(want)) => {
                    let bits = |values: &warpfold::Values| -> Vec<_> {
                        (0..values.len()).map(|i| values.get(i).bits()).collect()
                    };
                    assert_eq!(bits(&found.values), bits(&want.values), "{case}");
                    let pair = (case.op == Op::MinMax).then_some(2);
                    assert_eq!(found.shape, kept.into_iter().chain(pair).collect::<Vec<_>>(), "{case}");
                }
                (found, want) => assert!(found.is_err() && want.is_err(), "{case}: {found:?}, not {want:?}"),
            }
        }
    }
}

#[test]
fn long_unaligned_parts_have_the_bits_of_the_whole() {
    let x: Vec<f32> = (0..3 << 18).map(|i| (i % 1009) as f32 * 0.37).collect();
    let whole = ArrayRef::from_slice(&x, &[3 << 9, 512]).unwrap();
    for op in [Op::Sum, Op::Var, Op::ArgMax, Op::LogSumExp, Op::Max] {
        for (axes, kept) in [(vec![0], vec![512]), (vec![1], vec![3 << 9]), (vec![0, 1], vec![])] {
            let total: Vec<u64> = axes.iter().map(|&axis| whole.shape()[axis as usize] as u64).collect();
            let mut all = Spans::new(op, whole.dtype(), &kept, false, &Options::default()).unwrap();
            let len = total[0] as usize;
            for (from, to) in [(len / 3 + 1, len), (0, len / 3 + 1)] {
                let part = whole.narrow(axes[0] as usize, from, to - from);
                let mut start = vec![0; axes.len()];
                start[0] = from as u64;
                all.add(part, &axes, &start, &total, &Options::default()).unwrap();
            }
            let options = Options { axes: Some(axes.clone()), ..Options::default() };
            assert_eq!(
                all.finish(total.iter().product()).unwrap(),
                reduce(op, whole, &options).unwrap(),
                "{op} {axes:?}"
            );
        }
    }
}

#[test]
fn what_does_not_fit_is_an_error_and_changes_nothing() {
    let x = [1.0f32, 2.0, 3.0, 4.0];
    let x = ArrayRef::from_slice(&x, &[4]).unwrap();
    let none = Options::default();
    let new = |op, kept: &[usize]| Spans::new(op, x.dtype(), kept, false, &none).unwrap();
    let mut sum = new(Op::Sum, &[]);
    sum.add(x.narrow(0, 0, 2), &[0], &[0], &[4], &none).unwrap();
    let before = sum.to_bytes();
    let words = |said: Result<(), Error>| said.expect_err("refused").to_string();
    assert!(words(sum.add(x, &[0], &[0], &[4], &none)).contains("0..2"));
    assert!(words(sum.add(x, &[0], &[1], &[4], &none)).contains("exceeds"));
    assert!(words(sum.add(x, &[0], &[u64::MAX], &[4], &none)).contains("exceeds"));
    assert!(words(sum.add(x, &[0], &[0, 0], &[4], &none)).contains("2 starts"));
    assert!(words(sum.merge(new(Op::Mean, &[]))).contains("different"));
    assert!(words(sum.merge(new(Op::Sum, &[1]))).contains("different"));
    assert!(sum.add(x, &[1], &[0], &[4], &none).is_err());
    let mask = ArrayRef::from_slice(&[true; 4], &[4]).unwrap();
    let masked = Options { mask: Some(mask), ..Options::default() };
    assert!(words(sum.add(x, &[0], &[0], &[4], &masked)).contains("announced"));
    assert!(sum.finish(4).unwrap_err().to_string().contains("0..2"));
    assert_eq!(sum.to_bytes(), before);
    assert!(Spans::new(Op::Max, x.dtype(), &[], false, &Options { ddof: Some(1.0), ..none.clone() }).is_err());
}

#[test]
fn bytes_of_no_state_are_an_error() {
    let x = [1.0f64, 2.0, 3.0];
    let x = ArrayRef::from_slice(&x, &[3]).unwrap();
    let mut state =
        Spans::new(Op::Var, x.dtype(), &[], true, &Options { ddof: Some(1.0), ..Options::default() }).unwrap();
    state.add(x, &[0], &[0], &[3], &Options::default()).unwrap();
    let bytes = state.to_bytes();
    for len in 0..bytes.len() {
        assert!(Spans::from_bytes(&bytes[..len]).is_err(), "{len}");
    }
    assert!(Spans::from_bytes(&[&bytes[..], &[0]].concat()).is_err());
    // A changed byte is an error, or another state; never a panic.
    let r = &mut Random(7);
    for _ in 0..20_000 {
        let mut other = bytes.clone();
        for _ in 0..1 + r.next() % 3 {
            let at = r.next() as usize % other.len();
            other[at] = r.next() as u8;
        }
        if let Ok(state) = Spans::from_bytes(&other) {
            let _ = state.finish(3);
            assert!(Spans::from_bytes(&state.to_bytes()).is_ok());
        }
    }
}
