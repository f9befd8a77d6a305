//! Distinct values, groups, runs and counts on a GPU, against the CPU.

use warpfold::cuda::{
    Array, End, Error, Finder, Grouped, Groups, Options, Stream, Wanted, bincount, describe_groups_host,
    describe_segments_host, ends_host, group_by, group_by_host, histogram_host, reduce_by_key, reduce_by_key_host,
    segmented, segmented_host, unique, unique_host,
};
use warpfold::{ArrayRef, Bins, DType, Distinct, KeyError, Op, Order, Scalar, Values};

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

/// The same result, or the same error; `None` if they are, or if a GPU has no kernel for it.
fn differ(
    got: Result<warpfold::Array, warpfold::Error>,
    want: &Result<warpfold::Array, warpfold::Error>,
) -> Option<String> {
    match (got, want) {
        (Ok(got), Ok(want)) => differs(&got, want),
        (Err(warpfold::Error::Cuda(Error::NoKernel { .. }) | warpfold::Error::Unsupported { .. }), _) => None,
        (Err(got), Err(want)) if got.to_string() == want.to_string() => None,
        (got, want) => Some(format!("{:?}, not {:?}", got.map(|_| "a result"), want.as_ref().map(|_| "one"))),
    }
}

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

#[test]
fn statistics_of_groups_and_segments_are_those_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    for (i, dtype) in DType::ALL.into_iter().enumerate() {
        let r = &mut Random(i as u64 * 1_000_099 + 31);
        let (n, columns, k) = (20_000, [1, 3][i % 2], 9);
        let shape = if columns == 1 { vec![n] } else { vec![n, columns] };
        let x = bytes(r, dtype, n * columns, 0);
        let x = ArrayRef::from_bytes(&x, dtype, &shape, Order::C, false).expect("an array");
        let by: Vec<i64> = (0..n).map(|_| r.below(k) as i64).collect();
        let by = ArrayRef::from_slice(&by, &[n]).expect("labels");
        let plain = warpfold::Options::default();
        // One more than there are: the last has nothing.
        for groups in [k, k + 1] {
            let want = warpfold::Groups::new(by, Some(groups)).expect("groups").describe(x, &plain);
            let got = describe_groups_host(by, x, Some(groups), &gpu);
            same_statistics(got, want, dtype);
        }
        for offsets in [[0i64, 7, 900, n as i64], [0, 900, 900, 1000]] {
            let cuts = ArrayRef::from_slice(&offsets, &[4]).expect("offsets");
            let segments = warpfold::Segments::new(cuts).expect("segments");
            same_statistics(describe_segments_host(x, &segments, &gpu), segments.describe(x, &plain), dtype);
        }
    }
}

fn same_statistics(
    got: Result<warpfold::keys::Descriptions, warpfold::Error>,
    want: Result<warpfold::keys::Descriptions, warpfold::Error>,
    dtype: DType,
) {
    match (got, want) {
        (Ok(got), Ok(want)) => {
            assert_eq!((&got.shape, &got.counts), (&want.shape, &want.counts), "{dtype}");
            for ((name, got), (_, want)) in got.stats.into_iter().zip(want.stats) {
                let shape = vec![want.len()];
                let [got, want] = [got, want].map(|values| warpfold::Array { shape: shape.clone(), values });
                assert_eq!(differs(&got, &want), None, "{dtype} {name}");
            }
        }
        (Err(got), Err(want)) => assert_eq!(got.to_string(), want.to_string(), "{dtype}"),
        (got, want) => panic!("{dtype}: {got:?}, not {want:?}"),
    }
}

#[test]
fn histograms_are_those_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let (mut wrong, mut ran) = (Vec::new(), 0);
    for i in 0..cases(156) {
        let r = &mut Random(i as u64 * 1_000_117 + 37);
        let dtype = DType::ALL[i % 13];
        let n = length(r, i / 13);
        let kind = [0, 2, 3][r.below(3)];
        let x = bytes(r, dtype, n, kind);
        let x = array(&x, dtype, n);
        let mut edges: Vec<f64> = (0..2 + r.below(20)).map(|_| r.below(400) as f64 / 4.0 - 50.0).collect();
        edges.sort_by(f64::total_cmp);
        let count = [1, 10, 256, 8192, 8193, 100_000][r.below(6)];
        let bins = match r.below(3) {
            0 => Bins::Uniform { bins: count, range: None },
            1 => Bins::Uniform { bins: count, range: Some((-20.5, 30.0)) },
            _ => Bins::Edges(edges),
        };
        let weights = bytes(r, DType::F32, n, 2);
        let weights = r.chance(30).then(|| array(&weights, DType::F32, n));
        ran += 1;
        let (got, want) = (histogram_host(x, &bins, weights, &gpu), warpfold::histogram(x, &bins, weights));
        let why = match (got, want) {
            (Ok(got), Ok(want)) => differs(&got.counts, &want.counts).or_else(|| differs(&got.edges, &want.edges)),
            (Err(got), Err(want)) if got.to_string() == want.to_string() => None,
            (got, want) => Some(format!("{:?}, not {:?}", got.map(|_| "counts"), want.map(|_| "counts"))),
        };
        wrong.extend(why.map(|why| format!("{i}: {dtype} {n} {bins:?} {}: {why}", weights.is_some())));
    }
    println!("{ran} cases ran");
    assert!(wrong.is_empty(), "{} of {ran} wrong: {}", wrong.len(), wrong[..wrong.len().min(10)].join("\n"));
}
