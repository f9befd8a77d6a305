//! Groups and segments of rows, and of arrays in other orders.

use warpfold::cuda::{Array, End, Options, Stream, ends_host, group_by_host, segmented, segmented_host};
use warpfold::{ArrayRef, DType, KeyError, Op, Order, Scalar};

use super::{INTEGERS, array, bytes, cases, differ, groups, labels, length};
use crate::gpu;
use crate::reference::Random;
use crate::soak::differs;

#[test]
fn rows_have_the_bits_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let (mut wrong, mut ran) = (Vec::new(), 0);
    for i in 0..cases(300) {
        let r = &mut Random(i as u64 * 1_000_081 + 29);
        let (op, dtype) = (Op::ALL[r.below(Op::ALL.len())], DType::ALL[r.below(13)]);
        let columns = [1, 2, 3, 7, 16, 33, 64, 200][r.below(8)];
        let n = length(r, i) / columns;
        let tail = if r.chance(20) { vec![n, columns, 2] } else { vec![n, columns] };
        let x = bytes(r, dtype, tail.iter().product(), 0);
        let x = ArrayRef::from_bytes(&x, dtype, &tail, Order::C, false).expect("an array");
        let fill = r.chance(60).then_some(Scalar::I8(7));
        let options = warpfold::Options { skip_nan: r.chance(20), ..Default::default() };
        let by_dtype = INTEGERS[r.below(9)];
        let k = groups(r, by_dtype);
        let by = labels(r, n, k, by_dtype);
        let by = array(&by, by_dtype, n);
        let ordered = warpfold::Groups::new(by, Some(k)).expect("groups");
        let ordered = fill.into_iter().fold(ordered, warpfold::Groups::fill);
        let want = ordered.reduce(op, x, &options);
        let why = differ(group_by_host(op, by, x, Some(k), &options, fill, &gpu), &want);
        wrong.extend(why.map(|why| format!("{i}: groups, {op} {dtype} {tail:?} by {by_dtype} in {k}: {why}")));
        for (end, want) in [(End::First, ordered.first(x)), (End::Last, ordered.last(x))] {
            let why = differ(ends_host(end, by, x, Some(k), fill, &gpu), &want);
            wrong.extend(why.map(|why| format!("{i}: {end:?} {dtype} {tail:?} by {by_dtype} in {k}: {why}")));
        }
        let cuts = r.below(n.min(5000) + 1) + 1;
        let mut offsets: Vec<i64> = (0..cuts).map(|_| r.below(n + 1) as i64).collect();
        offsets.sort_unstable();
        let offsets = ArrayRef::from_slice(&offsets, &[cuts]).expect("offsets");
        let segments = warpfold::Segments::new(offsets).expect("segments");
        let segments = fill.into_iter().fold(segments, warpfold::Segments::fill);
        let want = segments.reduce(op, x, &options);
        let why = differ(segmented_host(op, x, &segments, &options, &gpu), &want);
        wrong.extend(why.map(|why| format!("{i}: segments, {op} {dtype} {tail:?} in {cuts}: {why}")));
        ran += 4;
    }
    println!("{ran} cases ran");
    assert!(wrong.is_empty(), "{} of {ran} wrong: {}", wrong.len(), wrong[..wrong.len().min(10)].join("\n"));
}

#[test]
fn rows_in_other_orders_and_bad_offsets() {
    let Some(gpu) = gpu() else { return };
    let stream = Stream::new(&gpu).expect("a stream");
    let (n, columns) = (1000, 48);
    let x: Vec<f32> = (0..n * columns).map(|i| (i * 7919 % 1000) as f32 / 7.0).collect();
    let host = ArrayRef::from_slice(&x, &[n, columns]).expect("an array");
    let there = Array::upload(&stream, host).expect("upload");
    let offsets = [0i32, 10, 10, 700, 1000];
    let cuts = ArrayRef::from_slice(&offsets, &[5]).expect("offsets");
    let on_device = Array::upload(&stream, cuts).expect("upload");
    // Every other row and the columns backwards; a transposed matrix; a list with steps.
    let view = there.view();
    let views = [
        view.step(0, 2).and_then(|view| view.step(1, -3)).expect("a view"),
        view.permute(&[1, 0]).expect("a view"),
        view.slice(1, 5..6).expect("a view"),
    ];
    let plain = Options::default();
    for (i, view) in views.into_iter().enumerate() {
        let len = view.shape()[0];
        let fits: Vec<i32> = offsets.iter().map(|&x| x.min(len as i32)).collect();
        let cuts = ArrayRef::from_slice(&fits, &[5]).expect("offsets");
        let cuts_there = Array::upload(&stream, cuts).expect("upload");
        let copy = warpfold::cuda::reduce(Op::Sum, view, &Options { axes: Some(vec![]), ..plain.clone() }, &stream);
        let copy = copy.expect("a copy").download(&stream).expect("a copy");
        let copy = ArrayRef::from_bytes(copy.values.as_bytes(), DType::F32, &copy.shape, Order::C, false).expect("one");
        let want = warpfold::segmented(Op::Sum, copy, cuts, &warpfold::Options::default()).expect("sums");
        let got = segmented(Op::Sum, view, cuts_there.view(), &plain, &stream).expect("queued");
        assert_eq!(differs(&got.download(&stream).expect("sums"), &want), None, "view {i}");
    }
    for bad in [vec![0i32, 5, 4], vec![0, 1001], vec![-1, 4]] {
        let cuts = Array::upload(&stream, ArrayRef::from_slice(&bad, &[bad.len()]).expect("offsets")).expect("upload");
        let said = segmented(Op::Sum, there.view(), cuts.view(), &plain, &stream).expect("queued").download(&stream);
        assert!(matches!(said, Err(warpfold::Error::Key(KeyError::BadOffsets { len: 1000 }))), "{bad:?} {said:?}");
    }
    let said = segmented(Op::Max, there.view(), on_device.view(), &plain, &stream).expect("queued").download(&stream);
    assert!(matches!(said, Err(warpfold::Error::Key(KeyError::SomeEmpty { .. }))), "{said:?}");
}
