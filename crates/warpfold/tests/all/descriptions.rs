//! Descriptions of random arrays: each statistic has the bits of the reduction of its name.

use crate::reference::{Random, Strided, element};
use warpfold::cpu::simd::Simd;
use warpfold::{ArrayRef, DType, Error, Options, Scalar, Segments, Values, describe, describe_into, reduce};

fn bits(values: &Values) -> Vec<(u64, usize)> {
    (0..values.len()).map(|i| values.get(i).bits()).collect()
}

/// Lengths around those of tiles, panels and blocks, of at most `most` elements in all.
fn shape(r: &mut Random, most: usize) -> Vec<usize> {
    const LENGTHS: [usize; 30] = [
        1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 77, 100, 127, 129, 200, 255, 256, 300, 567, 1000, 2048,
        4096, 4097, 20_000,
    ];
    let mut left = most;
    let mut shape = Vec::new();
    for _ in 0..1 + r.below(4) {
        let fit = LENGTHS.iter().filter(|&&n| n <= left).count();
        let n = LENGTHS[r.below(fit)];
        left /= n;
        shape.push(n);
    }
    shape
}

#[test]
fn random_descriptions_have_the_bits_of_the_single_ops() {
    let cases = std::env::var("WARPFOLD_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    for seed in 0..cases {
        let r = &mut Random(2 * seed + 1);
        let dtype = DType::ALL[r.below(DType::ALL.len())];
        let most = [3000, 40_000, 200_000][r.below(3)];
        let shape = shape(r, most);
        let wild = [0, 0, 0, 1, 10, 60][r.below(6)];
        // Now and then zeros of both signs, with numbers on one side of them, or on none.
        let zeros = [-1.5, -0.0, 0.0, 2.5];
        let part = if dtype.is_float() { r.below(12) } else { 12 };
        let fill = |r: &mut Random| match part {
            0 => zeros[r.below(4)],
            1 => zeros[r.below(3)],
            2 => zeros[1 + r.below(3)],
            3 => zeros[1 + r.below(2)],
            4 => zeros[2 + r.below(2)],
            5 => 0.0,
            _ => f64::NAN,
        };
        let x = Strided::new(r, dtype, &shape, |r| {
            if part > 5 { element(r, dtype, wild) } else { Values::F64(vec![fill(r)]).cast(dtype).get(0) }
        });
        let axes: Vec<isize> = (0..shape.len() as isize).filter(|_| r.chance(50)).collect();
        let o = Options { axes: Some(axes), threads: Some(1 + r.below(3)), ..Options::default() };
        [Simd::Baseline, Simd::Avx2, Simd::Avx512][r.below(3)].limit();
        let about = format!("seed {seed}: {dtype} {shape:?}, strides {:?}, axes {:?}", x.strides, o.axes);
        let d = describe(x.view(), &o).unwrap();
        for (name, values) in &d.stats {
            if *name != "nan_count" {
                let single = reduce(name.parse().unwrap(), x.view(), &o).unwrap();
                assert!(values.dtype() == single.dtype() && bits(values) == bits(&single.values), "{name}, {about}");
            }
        }
        let nans: f64 = x.elements().iter().filter(|x| x.to_f64().is_nan()).count() as f64;
        let counts = d.get("nan_count").unwrap();
        assert_eq!((0..counts.len()).map(|i| counts.get(i).to_f64()).sum::<f64>(), nans, "nan_count, {about}");
        Simd::Avx512.limit();
    }
}

#[test]
fn random_segments_are_described_by_what_their_parts_are() {
    for seed in 0..80 {
        let r = &mut Random(2 * seed + 1);
        let dtype = DType::ALL[r.below(DType::ALL.len())];
        let (n, width) = [(20_000, 1), (3000, 3), (700, 70), (90, 300)][r.below(4)];
        let wild = [0, 0, 5][r.below(3)];
        let x = Strided::new(r, dtype, &[n, width], |r| element(r, dtype, wild));
        let most = [5, 90, 9000][r.below(3)];
        let mut offsets = vec![0];
        while let Some(&last) = offsets.last()
            && last < n
        {
            offsets.push(n.min(last + 1 + if r.chance(50) { 3 } else { r.below(most) }));
        }
        let offsets: Vec<i64> = offsets.iter().map(|&at| at as i64).collect();
        let segments = Segments::new(ArrayRef::from_slice(&offsets, &[offsets.len()]).unwrap()).unwrap();
        let d = segments.describe(x.view(), &Options::default()).unwrap();
        for (name, values) in d.stats.iter().filter(|(name, _)| *name != "nan_count") {
            let single = segments.reduce(name.parse().unwrap(), x.view(), &Options::default()).unwrap();
            assert!(bits(values) == bits(&single.values), "{name}: seed {seed}, {dtype}, {n} of {width}");
        }
    }
}

#[test]
fn elements_after_a_nan_are_counted() {
    let mut x = vec![1.0f32; 300_000];
    for at in [70_000, 70_001, 90_000, 299_999] {
        x[at] = f32::NAN;
    }
    let x = ArrayRef::from_slice(&x, &[x.len()]).unwrap();
    let d = describe(x, &Options::default()).unwrap();
    assert_eq!(d.get("nan_count").unwrap().get(0), Scalar::I64(4));
    assert_eq!(d.get("argmin").unwrap().get(0), Scalar::I64(70_000));
    assert_eq!(d.get("argmax").unwrap().get(0), Scalar::I64(70_000));
}

#[test]
fn a_description_is_written_to_the_memory_of_an_earlier_one() {
    let x: Vec<f32> = (0..60_000).map(|i| (i % 97) as f32 - 40.0).collect();
    let n: Vec<i16> = (0..60_000).map(|i| (i % 97) as i16 - 40).collect();
    let x = ArrayRef::from_slice(&x, &[30, 2000]).unwrap();
    let n = ArrayRef::from_slice(&n, &[30, 2000]).unwrap();
    let along = |axis: isize| Options { axes: Some(vec![axis]), ..Options::default() };
    let mut found = describe(x, &along(0)).unwrap();
    let address = |found: &warpfold::Description| match found.get("std") {
        Some(Values::F32(values)) => values.as_ptr(),
        other => panic!("{other:?}"),
    };
    let first = address(&found);
    // Of fewer outputs, and of as many.
    for axis in [1, 0] {
        describe_into(x, &along(axis), &mut found).unwrap();
        assert_eq!(address(&found), first, "axis {axis}");
        assert_eq!(found, describe(x, &along(axis)).unwrap(), "axis {axis}");
    }
    // A refused request leaves the description as it was.
    let before = found.clone();
    assert!(matches!(describe_into(x, &along(2), &mut found), Err(Error::AxisOutOfRange { .. })));
    assert_eq!(found, before);
    // Of another dtype, and with a mask: each statistic is new.
    describe_into(n, &along(0), &mut found).unwrap();
    assert_eq!(found, describe(n, &along(0)).unwrap());
    let skipping = Options { skip_nan: true, ..along(1) };
    describe_into(x, &skipping, &mut found).unwrap();
    assert_eq!(found, describe(x, &skipping).unwrap());
}
