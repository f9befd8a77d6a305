//! Distinct values, groups, runs and counts on a GPU, against the CPU.

use warpfold::cuda::{
    Array, Error, Finder, Grouped, Groups, Options, Stream, Wanted, bincount, group_by, group_by_host, reduce_by_key,
    reduce_by_key_host, unique, unique_host,
};
use warpfold::{ArrayRef, DType, Distinct, KeyError, Op, Order, Scalar, Values};

use crate::gpu;
use crate::reference::{Random, element};
use crate::soak::differs;

/// How many random cases.
fn cases(usual: usize) -> usize {
    std::env::var("WARPFOLD_GPU_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

/// Elements of a dtype as bytes: of all kinds, few, equal, or sorted ones.
fn bytes(r: &mut Random, dtype: DType, n: usize, kind: usize) -> Vec<u8> {
    let bytes_of = |x: Scalar| x.bits().0.to_le_bytes()[..dtype.size()].to_vec();
    let few: Vec<Vec<u8>> = (0..[2, 7, 300][r.below(3)]).map(|_| bytes_of(element(r, dtype, 40))).collect();
    let mut all: Vec<Vec<u8>> = (0..n)
        .map(|_| match kind {
            0 => bytes_of(element(r, dtype, 10)),
            1 => few[0].clone(),
            2 => few[r.below(few.len())].clone(),
            // Any bits, which of bools are 0 and 1.
            _ if dtype == DType::Bool => vec![(r.next() & 1) as u8],
            _ => r.next().to_le_bytes()[..dtype.size()].to_vec(),
        })
        .collect();
    if kind == 4 {
        all.sort_unstable();
    }
    all.concat()
}

fn array(bytes: &[u8], dtype: DType, n: usize) -> ArrayRef<'_> {
    ArrayRef::from_bytes(bytes, dtype, &[n], Order::C, false).expect("an array")
}

/// A length: mostly short ones, about the ends of tiles too.
fn length(r: &mut Random, i: usize) -> usize {
    match i % 12 {
        11 => 1 << (20 + r.below(3)),
        10 => 4096 * (1 + r.below(30)) + r.below(3),
        9 => 5120 * (1 + r.below(30)) - r.below(2),
        _ => {
            let most = [2, 100, 6000, 200_000][r.below(4)];
            r.below(most)
        }
    }
}

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

/// Labels below `groups` of a dtype, some of them -1 if it has that.
fn labels(r: &mut Random, n: usize, groups: usize, dtype: DType) -> Vec<u8> {
    let signed = matches!(dtype, DType::I8 | DType::I16 | DType::I32 | DType::I64) && r.chance(70);
    let skewed = r.chance(30);
    let label = |r: &mut Random| {
        let most = if skewed && r.chance(90) { groups.min(2) } else { groups };
        if signed && r.chance(5) { -1 } else { r.below(most) as i64 }
    };
    (0..n).flat_map(|_| label(r).to_le_bytes()[..dtype.size()].to_vec()).collect()
}

/// Groups that a dtype has labels for.
fn groups(r: &mut Random, dtype: DType) -> usize {
    let most: usize = match dtype {
        DType::Bool => 2,
        DType::I8 | DType::U8 => 100,
        DType::I16 | DType::U16 => 30_000,
        _ => 1_000_000,
    };
    [1, 2, 16, 255, 256, 1024, 65_536, 1_000_000][r.below(8)].min(most)
}

const INTEGERS: [DType; 9] =
    [DType::I32, DType::I64, DType::I8, DType::I16, DType::Bool, DType::U8, DType::U16, DType::U32, DType::U64];

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

#[test]
fn sums_of_many_in_groups_have_the_bits_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let stream = Stream::new(&gpu).expect("a stream");
    let n = 1 << 26;
    let r = &mut Random(78);
    let x: Vec<f32> = (0..n).map(|_| (r.next() >> 40) as f32 / 1e6 - 7.0).collect();
    let x = ArrayRef::from_slice(&x, &[n]).expect("an array");
    let values = Array::upload(&stream, x).expect("upload");
    for k in [16, 1024, 1_000_000] {
        let by: Vec<i32> = (0..n).map(|_| r.below(k) as i32).collect();
        let by = ArrayRef::from_slice(&by, &[n]).expect("an array");
        let want = warpfold::group_by(Op::Sum, by, x, Some(k), &warpfold::Options::default()).expect("sums");
        let by = Array::upload(&stream, by).expect("upload");
        let (by, values) = (by.view(), values.view());
        let mut sum = Grouped::new(&gpu, Op::Sum, &by, &values, k, &Options::default(), None).expect("a plan");
        let mut out = sum.output().expect("room");
        for _ in 0..5 {
            sum.run(&stream, by, values, &mut out).expect("a run");
        }
        assert_eq!(differs(&out.download(&stream).expect("sums"), &want), None, "{k} groups");
    }
}

#[test]
fn labels_of_no_group_are_said_with_their_place() {
    let Some(gpu) = gpu() else { return };
    let stream = Stream::new(&gpu).expect("a stream");
    let n = 100_000;
    let x = Values::F32((0..n).map(|i| i as f32).collect());
    let x = ArrayRef::from_bytes(x.as_bytes(), DType::F32, &[n], Order::C, false).expect("an array");
    let values = Array::upload(&stream, x).expect("upload");
    for (bad, dtype) in [(7i64, DType::I32), (-2, DType::I64), (1 << 40, DType::I64), (100, DType::U8)] {
        let mut list = vec![0i64; n];
        (list[90_000], list[70_001], list[99_999]) = (bad, bad, 8);
        let list: Vec<u8> = list.iter().flat_map(|label| label.to_le_bytes()[..dtype.size()].to_vec()).collect();
        let by = Array::upload(&stream, array(&list, dtype, n)).expect("upload");
        let expected = KeyError::LabelOutOfRange { at: 70_001, label: bad as i128, groups: 7 };
        let kept = Groups::new(by.view(), Some(7), &stream).expect("queued");
        let sum = group_by(Op::Sum, by.view(), values.view(), Some(7), &Options::default(), &stream).expect("queued");
        for said in [
            sum.download(&stream).map(|_| ()),
            kept.check(&stream),
            kept.counts(&stream).and_then(|counts| counts.download(&stream)).map(|_| ()),
        ] {
            assert!(matches!(&said, Err(warpfold::Error::Key(key)) if *key == expected), "{said:?}");
        }
        if bad < 0 {
            let said = group_by(Op::Sum, by.view(), values.view(), None, &Options::default(), &stream).map(|_| ());
            assert!(
                matches!(said, Err(warpfold::Error::Key(KeyError::LabelOutOfRange { at: 70_001, .. }))),
                "{said:?}"
            );
        }
    }
    let floats = group_by(Op::Sum, values.view(), values.view(), Some(7), &Options::default(), &stream).map(|_| ());
    assert!(matches!(floats, Err(warpfold::Error::Key(KeyError::NotIntegers { .. }))), "{floats:?}");
    let step = values.view().step(0, 2).expect("a view");
    let strided = unique(step, Wanted::default(), &stream).map(|_| ());
    assert!(matches!(strided, Err(warpfold::Error::Cuda(Error::Keys { .. }))), "{strided:?}");
}

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
