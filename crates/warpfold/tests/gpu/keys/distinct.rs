//! Distinct values.

use warpfold::cuda::{Array, Finder, Stream, Wanted, unique_host};
use warpfold::{ArrayRef, DType, Distinct};

use super::{array, bytes, cases, length};
use crate::gpu;
use crate::reference::Random;
use crate::soak::differs;

#[test]
fn distinct_values_are_those_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let mut wrong = Vec::new();
    for i in 0..cases(156) {
        let r = &mut Random(i as u64 * 999_983 + 5);
        let (dtype, n) = (DType::ALL[i % 13], length(r, i / 13));
        let kind = r.below(5);
        let x = bytes(r, dtype, n, kind);
        let what = Distinct { first: r.chance(50), inverse: r.chance(50) };
        let want = warpfold::unique(array(&x, dtype, n), what).expect("distinct values");
        match unique_host(array(&x, dtype, n), what, &gpu) {
            Ok(got) => {
                let mut why = differs(&got.values, &want.values);
                why = why.or((got.counts != want.counts).then(|| "other counts".into()));
                why = why.or((got.first != want.first).then(|| "other first".into()));
                why = why.or((got.inverse != want.inverse).then(|| "other inverse".into()));
                wrong.extend(why.map(|why| format!("{i}: {dtype} {n} kind {kind} {what:?}: {why}")));
            }
            Err(why) => wrong.push(format!("{i}: {dtype} {n} kind {kind}: {why}")),
        }
    }
    assert!(wrong.is_empty(), "{} wrong: {}", wrong.len(), wrong[..wrong.len().min(10)].join("\n"));
}

/// A size at which every multiprocessor has many tiles, so that tiles wait for each other.
#[test]
fn distinct_values_of_many_are_those_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let n = 1 << 26;
    let r = &mut Random(77);
    let words: Vec<i32> = (0..n).map(|_| r.next() as i32).collect();
    let stream = Stream::new(&gpu).expect("a stream");
    for few in [false, true] {
        let x: Vec<i32> = words.iter().map(|&x| if few { x & 0xff_ffff } else { x }).collect();
        let host = ArrayRef::from_slice(&x, &[n]).expect("an array");
        let on_device = Array::upload(&stream, host).expect("upload");
        let want = warpfold::unique(host, Distinct::default()).expect("distinct values");
        let wanted = Wanted { counts: true, ..Wanted::default() };
        let mut finder = Finder::new(&gpu, &on_device.view(), wanted).expect("a plan");
        let mut out = finder.output().expect("room");
        for _ in 0..5 {
            finder.run(&stream, on_device.view(), &mut out).expect("a run");
        }
        let got = out.trim(&stream).expect("distinct values");
        assert_eq!(differs(&got.values.download(&stream).expect("values"), &want.values), None);
        let counts = got.counts.expect("counts").download(&stream).expect("counts").into_vec::<i64>();
        assert!(counts == Some(want.counts), "other counts");
    }
}
