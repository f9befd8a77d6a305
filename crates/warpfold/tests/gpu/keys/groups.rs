//! Reductions of groups, planned once or for one call.

use warpfold::cuda::{Array, Error, Event, Grouped, Groups, Options, Stream, group_by_host};
use warpfold::{ArrayRef, DType, KeyError, Op, Scalar};

use super::{INTEGERS, array, bytes, cases, groups, labels, length};
use crate::gpu;
use crate::reference::Random;
use crate::soak::differs;

#[test]
fn groups_have_the_bits_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let stream = Stream::new(&gpu).expect("a stream");
    let (mut wrong, mut ran) = (Vec::new(), 0);
    for i in 0..cases(400) {
        let r = &mut Random(i as u64 * 1_000_003 + 23);
        let (op, dtype) = (Op::ALL[r.below(Op::ALL.len())], DType::ALL[r.below(13)]);
        let by_dtype = INTEGERS[r.below(9)];
        let (n, k) = (length(r, i), groups(r, by_dtype));
        let (x, by) = (bytes(r, dtype, n, 0), labels(r, n, k, by_dtype));
        let (x, by) = (array(&x, dtype, n), array(&by, by_dtype, n));
        let fill = r.chance(60).then_some(Scalar::I8(7));
        let options = warpfold::Options { skip_nan: r.chance(20), ..Default::default() };
        let there = Options { skip_nan: options.skip_nan, ..Options::default() };
        let ordered = warpfold::Groups::new(by, Some(k)).expect("groups");
        let want = fill.into_iter().fold(ordered, warpfold::Groups::fill).reduce(op, x, &options);
        let once = group_by_host(op, by, x, Some(k), &options, fill, &gpu);
        // The same of an order that is kept, twice.
        let again = Array::upload(&stream, by).and_then(|by| {
            let kept = Groups::new(by.view(), Some(k), &stream)?;
            kept.check(&stream)?;
            let x = Array::upload(&stream, x)?;
            kept.reduce(op, x.view(), &there, fill, &stream)?;
            kept.reduce(op, x.view(), &there, fill, &stream)?.download(&stream)
        });
        for (way, said) in [("once", once), ("kept", again)] {
            let why = match (said, &want) {
                (Ok(got), Ok(want)) => differs(&got, want),
                (Err(warpfold::Error::Cuda(Error::NoKernel { .. }) | warpfold::Error::Unsupported { .. }), _) => {
                    continue;
                }
                (Err(warpfold::Error::Key(KeyError::SomeEmpty { what: "group", .. })), Err(_)) => None,
                (Err(got), Err(want)) if got.to_string() == want.to_string() => None,
                (got, want) => Some(format!("{:?}, not {:?}", got.map(|_| "a result"), want.as_ref().map(|_| "one"))),
            };
            ran += 1;
            wrong.extend(why.map(|why| format!("{i} {way}: {op} {dtype} by {by_dtype}, {n} in {k}: {why}")));
        }
    }
    println!("{ran} cases ran");
    assert!(wrong.is_empty(), "{} of {ran} wrong: {}", wrong.len(), wrong[..wrong.len().min(10)].join("\n"));
}

/// Labels of a distribution that sorting by digits may find hard.
fn distributed(kind: &str, n: usize, k: usize, r: &mut Random) -> Vec<i32> {
    let of = |i: usize, r: &mut Random| match kind {
        "random" => r.below(k),
        "one" => k - 1,
        "two" => r.below(2) * (k - 1),
        "half" if r.chance(50) => k / 2,
        "most" if r.chance(95) => k / 2,
        "half" | "most" => r.below(k),
        "sorted" => i * k / n,
        "runs" => i / 37 * 7 % k,
        "pairs" => i / 2 * 5 % k,
        "turns" => i % k,
        // The number of octaves is uniform, so the first groups have most.
        _ => ((k as f64).powf(r.below(1 << 20) as f64 / (1 << 20) as f64) as usize - 1).min(k - 1),
    };
    (0..n).map(|i| of(i, r) as i32).collect()
}

/// `WARPFOLD_GROUP_ELEMENTS=4194304` takes as many, `WARPFOLD_GROUP_LABELS=random` labels of that kind only.
#[test]
fn sums_of_many_in_groups_have_the_bits_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let stream = Stream::new(&gpu).expect("a stream");
    let n = std::env::var("WARPFOLD_GROUP_ELEMENTS").map_or(1 << 26, |n| n.parse().expect("a number"));
    let r = &mut Random(78);
    let x: Vec<f32> = (0..n).map(|_| (r.next() >> 40) as f32 / 1e6 - 7.0).collect();
    let x = ArrayRef::from_slice(&x, &[n]).expect("an array");
    let values = Array::upload(&stream, x).expect("upload");
    let only = std::env::var("WARPFOLD_GROUP_LABELS");
    let kinds = ["random", "one", "two", "half", "most", "sorted", "runs", "pairs", "turns", "octaves"];
    for k in [16, 1024, 1_000_000] {
        for kind in kinds.into_iter().filter(|kind| only.as_ref().is_ok_and(|only| only == kind) || only.is_err()) {
            let by = distributed(kind, n, k, r);
            let by = ArrayRef::from_slice(&by, &[n]).expect("an array");
            let want = warpfold::group_by(Op::Sum, by, x, Some(k), &warpfold::Options::default()).expect("sums");
            let by = Array::upload(&stream, by).expect("upload");
            let (by, values) = (by.view(), values.view());
            let mut sum = Grouped::new(&gpu, Op::Sum, &by, &values, k, &Options::default(), None).expect("a plan");
            let mut out = sum.output().expect("room");
            let events = [(); 5].map(|()| Event::new(&gpu).expect("an event"));
            for event in &events {
                sum.run(&stream, by, values, &mut out).expect("a run");
                stream.record(event).expect("an event");
            }
            assert_eq!(differs(&out.download(&stream).expect("sums"), &want), None, "{kind} labels of {k} groups");
            let took = events[4].nanoseconds_since(&events[0]).expect("a time") / 4000;
            println!("{n} in {k} groups, {kind}: {took} us");
        }
    }
}
