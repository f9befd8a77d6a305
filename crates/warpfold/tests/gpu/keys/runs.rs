//! Runs of equal keys, and counts of labels.

use warpfold::cuda::{Array, Error, Options, Stream, bincount, reduce_by_key, reduce_by_key_host};
use warpfold::{ArrayRef, DType, Op};

use super::{INTEGERS, array, bytes, cases, groups, labels, length};
use crate::gpu;
use crate::reference::Random;
use crate::soak::differs;

#[test]
fn runs_and_counts_are_those_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let stream = Stream::new(&gpu).expect("a stream");
    let mut wrong = Vec::new();
    for i in 0..cases(104) {
        let r = &mut Random(i as u64 * 1_000_033 + 3);
        let (op, dtype, value) = (Op::ALL[r.below(Op::ALL.len())], DType::ALL[i % 13], DType::ALL[r.below(13)]);
        let n = length(r, i / 13);
        let kind = [2, 4][r.below(2)];
        let (keys, x) = (bytes(r, dtype, n, kind), bytes(r, value, n, 0));
        let (keys, x) = (array(&keys, dtype, n), array(&x, value, n));
        let want = warpfold::reduce_by_key(op, keys, x, &warpfold::Options::default());
        let got = reduce_by_key_host(op, keys, x, &warpfold::Options::default(), &gpu);
        let why = match (got, want) {
            (Ok(got), Ok(want)) => differs(&got.0, &want.0).or_else(|| differs(&got.1, &want.1)),
            (Err(warpfold::Error::Cuda(Error::NoKernel { .. }) | warpfold::Error::Unsupported { .. }), _) => None,
            (Err(got), Err(want)) if got.to_string() == want.to_string() => None,
            (got, want) => Some(format!("{:?}, not {:?}", got.map(|_| "a result"), want.map(|_| "one"))),
        };
        wrong.extend(why.map(|why| format!("{i}: {op} of {value} by {dtype}, {n}: {why}")));

        let by_dtype = INTEGERS[r.below(9)];
        let k = groups(r, by_dtype);
        let list = labels(r, n, k, by_dtype);
        let list = array(&list, by_dtype, n);
        let least = [0, 5, 300][r.below(3)];
        let weights = r.chance(50).then_some(x).filter(|_| value == DType::F32 || value == DType::I32);
        let want = warpfold::bincount(list, weights, least).expect("counts");
        let got = Array::upload(&stream, list).and_then(|list| {
            let weights = weights.map(|x| Array::upload(&stream, x)).transpose()?;
            bincount(list.view(), weights.as_ref().map(Array::view), least, &stream)?.download(&stream)
        });
        let why = got.map_or_else(|why| Some(why.to_string()), |got| differs(&got, &want));
        wrong.extend(why.map(|why| format!("{i}: bincount of {n} {by_dtype} below {k}: {why}")));
    }
    let keys = [1u8, 2, 2];
    let keys = Array::upload(&stream, ArrayRef::from_slice(&keys, &[3]).expect("an array")).expect("upload");
    let (found, sums) = reduce_by_key(Op::Sum, keys.view(), keys.view(), &Options::default(), &stream).expect("sums");
    assert_eq!((found.len(), sums.shape()), (2, &[2][..]));
    assert!(wrong.is_empty(), "{} wrong: {}", wrong.len(), wrong[..wrong.len().min(10)].join("\n"));
}
