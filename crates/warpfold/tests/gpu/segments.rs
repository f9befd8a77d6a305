//! Segments on a GPU, against the CPU.

use warpfold::cuda::{Array, ArrayView, Error, Options, Segmented, Stream, segmented, segmented_host};
use warpfold::{ArrayRef, DType, KeyError, Op, Scalar, Segments};

use crate::gpu;
use crate::reference::{Random, Strided, element};
use crate::soak::differs;

/// Offsets that cut about `n` elements.
fn cuts(r: &mut Random, n: usize, kind: usize) -> Vec<i64> {
    let (mut all, mut at) = (vec![r.below(5) as i64], 0);
    let even = [1, 7, 16, 64, 100, 1000, 1024, 5000, 1 << 16][r.below(9)];
    while at < n && all.len() < 300_000 {
        let len = match kind {
            0 => even,
            1 => r.below(5),
            2 => r.below(70),
            3 => r.below(5000),
            4 if r.chance(1) => r.below(300_000),
            4 => r.below(8),
            5 => 1 << r.below(18),
            // Nearly everything in one.
            _ if all.len() == 100_000.min(n / 4) => n - at,
            _ => r.below(2),
        };
        at += len;
        all.push(all[all.len() - 1] + len as i64);
    }
    all
}

/// A view of a list of offsets as another dtype.
fn list(stream: &Stream, offsets: &[i64], kind: usize) -> Array {
    let shape = [offsets.len()];
    let upload = |array: Result<ArrayRef<'_>, warpfold::Error>| {
        array.and_then(|array| Array::upload(stream, array)).expect("upload")
    };
    match kind % 4 {
        0 => upload(ArrayRef::from_slice(offsets, &shape)),
        1 => upload(ArrayRef::from_slice(&offsets.iter().map(|&o| o as u64).collect::<Vec<_>>(), &shape)),
        2 => upload(ArrayRef::from_slice(&offsets.iter().map(|&o| o as i32).collect::<Vec<_>>(), &shape)),
        _ => upload(ArrayRef::from_slice(&offsets.iter().map(|&o| o as u32).collect::<Vec<_>>(), &shape)),
    }
}

#[test]
fn segments_have_the_bits_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let stream = Stream::new(&gpu).expect("a stream");
    let cases = std::env::var("WARPFOLD_GPU_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    let (mut wrong, mut ran) = (Vec::new(), 0);
    for seed in 0..cases {
        let r = &mut Random(seed as u64 * 1_000_003 + 17);
        let (op, dtype) = (Op::ALL[r.below(Op::ALL.len())], DType::ALL[r.below(13)]);
        let elements = [100, 5000, 100_000, 2_000_000][r.below(4)];
        let offsets = cuts(r, elements, seed % 7);
        let n = offsets[offsets.len() - 1] as usize + r.below(3);
        let specials = if r.chance(50) { 10 } else { 0 };
        let x = Strided::new(r, dtype, &[n], |r| element(r, dtype, specials));
        let fill = r.chance(50).then_some(Scalar::I8(7));
        let host = warpfold::Options { skip_nan: r.chance(20), ..Default::default() };
        let options = Options { skip_nan: host.skip_nan, ..Options::default() };
        let on_device = Array::upload(&stream, x.view()).expect("upload");
        let values = on_device.view();
        let offsets_there = list(&stream, &offsets, seed);
        let said = Segmented::new(&gpu, op, &values, &offsets_there.view(), &options, fill).and_then(|reduction| {
            let mut out = reduction.output()?;
            reduction.run(&stream, values, offsets_there.view(), &mut out)?;
            out.download(&stream)
        });
        let segments =
            Segments::new(ArrayRef::from_slice(&offsets, &[offsets.len()]).expect("a list")).expect("offsets");
        let segments = fill.into_iter().fold(segments, Segments::fill);
        let want = segments.reduce(op, x.view(), &host);
        let why = match (said, want) {
            (Ok(got), Ok(want)) => differs(&got, &want),
            (Err(warpfold::Error::Cuda(Error::NoKernel { .. }) | warpfold::Error::Unsupported { .. }), _) => continue,
            (Err(warpfold::Error::Key(KeyError::SomeEmpty { .. })), Err(_)) => None,
            (got, want) => Some(format!("{:?}, not {:?}", got.map(|_| "a result"), want.map(|_| "a result"))),
        };
        ran += 1;
        wrong.extend(why.map(|why| format!("seed {seed} {op} {dtype} {} segments of {n}: {why}", offsets.len() - 1)));
    }
    println!("{ran} cases ran");
    assert!(wrong.is_empty(), "{} of {ran} wrong: {}", wrong.len(), wrong[..wrong.len().min(10)].join("\n"));
}

#[test]
fn wrong_offsets_are_errors_and_the_next_reduction_is_sound() {
    let Some(gpu) = gpu() else { return };
    let stream = Stream::new(&gpu).expect("a stream");
    let x: Vec<f32> = (0..100_000).map(|i| i as f32).collect();
    let values = Array::upload(&stream, ArrayRef::from_slice(&x, &[x.len()]).expect("an array")).expect("upload");
    let sum = |offsets: &[i64]| {
        let offsets = list(&stream, offsets, 0);
        let view: ArrayView<'_> = offsets.view();
        segmented(Op::Sum, values.view(), view, &Options::default(), &stream)?.download(&stream)
    };
    for bad in [vec![0, 5, 3], vec![0, 100_001], vec![-1, 5], vec![0, i64::MAX, 4], [0, 100_000].repeat(5000)] {
        let said = sum(&bad);
        assert!(matches!(said, Err(warpfold::Error::Key(KeyError::BadOffsets { len: 100_000 }))), "{said:?}");
    }
    let sound = sum(&[0, 2, 2, 100_000]).expect("sums");
    assert_eq!(sound.values.get(0), Scalar::F32(1.0));
    assert_eq!(sound.values.get(1), Scalar::F32(0.0));
    let array = ArrayRef::from_slice(&x, &[x.len()]).expect("an array");
    let segments = Segments::new(ArrayRef::from_slice(&[0i64, 2, 2], &[3]).expect("a list")).expect("offsets");
    let host = segmented_host(Op::Min, array, &segments, &Default::default(), &gpu);
    assert!(matches!(host, Err(warpfold::Error::Key(KeyError::Empty { index: 1, .. }))), "{host:?}");
}
