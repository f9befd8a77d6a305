//! Distinct values, groups, runs and bins: what the library finds on the CPU.

use warpfold::cuda::{
    Array, Finder, Wanted, bincount_host, describe_groups_host, describe_segments_host, ends_host, group_by_host,
    histogram_host, reduce_by_key_host, segmented_host, unique_host,
};
use warpfold::keys::Groups;
use warpfold::{
    ArrayRef, Bins, DType, Distinct, Error, KeyError, Op, Options, Order, Scalar, Segments, bincount, cuda, group_by,
    histogram, reduce_by_key, unique,
};

use crate::{Emulated, pick};
use warpfold_testing::golden::{Specials, elements, random};

fn array<'a>(bytes: &'a [u8], dtype: DType, shape: &[usize]) -> ArrayRef<'a> {
    ArrayRef::from_bytes(bytes, dtype, shape, Order::C, false).expect("an array")
}

/// Labels from -1 on.
fn labels(n: usize, groups: usize, seed: &mut u64) -> Vec<i32> {
    (0..n).map(|_| pick(groups + 1, seed) as i32 - 1).collect()
}

#[test]
fn distinct_values_of_every_dtype_are_those_of_the_cpu() {
    let (on, mut seed) = (Emulated::new(), 21);
    for (i, dtype) in DType::ALL.into_iter().enumerate() {
        for specials in [Specials::None, Specials::Zeros, Specials::All] {
            let n = [3000, 5121, 700][(i + specials as usize) % 3];
            let bytes = elements(dtype, n, random(&mut seed), specials);
            let x = array(&bytes, dtype, &[n]);
            let what = Distinct { first: true, inverse: true };
            let want = unique(x, what).expect("distinct values");
            let found = unique_host(x, what, &on.device).expect("distinct values");
            assert_eq!(found.values.values.as_bytes(), want.values.values.as_bytes(), "{dtype} {specials:?}");
            assert_eq!(found.counts, want.counts, "{dtype} {specials:?}");
            assert_eq!((found.first, found.inverse), (want.first, want.inverse), "{dtype} {specials:?}");
            // Values alone, which of small elements have a bit each. Those of 4 bytes take a second: one of three.
            if dtype.size() == 4 && specials != Specials::All {
                continue;
            }
            let there = Array::upload(&on.stream, x).expect("room");
            let mut finder = Finder::new(&on.device, &there.view(), Wanted::default()).expect("a plan");
            let mut out = finder.output().expect("room");
            // Twice, since what one run leaves behind is what the next one finds.
            for _ in 0..2 {
                finder.run(&on.stream, there.view(), &mut out).expect("a run");
            }
            let values = out.trim(&on.stream).expect("values").values.download(&on.stream).expect("values");
            assert_eq!(values.values.as_bytes(), want.values.values.as_bytes(), "{dtype} {specials:?}");
        }
    }
    let entries = on.entries();
    assert!(entries.contains("distinct_flood") && entries.contains("sort_heads_8"), "{entries}");
}

#[test]
fn groups_of_every_dtype_have_the_bits_of_the_cpu() {
    let (on, mut seed) = (Emulated::new(), 22);
    let ops = [Op::Sum, Op::Std, Op::LogSumExp, Op::CountNonzero, Op::Any, Op::Norm, Op::ArgMax];
    for (i, dtype) in DType::ALL.into_iter().enumerate() {
        for (op, columns) in [(ops[i % 7], 1), (ops[(i + 3) % 7], 3)] {
            let (n, groups) = (5400 / columns, [7, 300, 1][i % 3]);
            let bytes = elements(dtype, n * columns, random(&mut seed), Specials::Zeros);
            let shape = [n, columns];
            let x = array(&bytes, dtype, if columns == 1 { &shape[..1] } else { &shape });
            let labels = labels(n, groups, &mut seed);
            let by = ArrayRef::from_slice(&labels, &[n]).expect("labels");
            let Ok(want) = group_by(op, by, x, Some(groups), &Options::default()) else { continue };
            let found = group_by_host(op, by, x, Some(groups), &Options::default(), None, &on.device);
            match found {
                Ok(found) => assert_eq!(found.values.as_bytes(), want.values.as_bytes(), "{op} {dtype} {columns}"),
                Err(Error::Cuda(cuda::Error::NoKernel { .. })) => {}
                Err(why) => panic!("{op} {dtype} {columns}: {why}"),
            }
        }
    }
}

#[test]
fn a_label_of_no_group_is_the_error_of_the_cpu() {
    let on = Emulated::new();
    let x = [1.0f32, 2.0, 3.0, 4.0];
    let x = ArrayRef::from_slice(&x, &[4]).expect("values");
    for labels in [[0i32, 1, 5, 2], [0, -2, 1, 1]] {
        let by = ArrayRef::from_slice(&labels, &[4]).expect("labels");
        let want = group_by(Op::Sum, by, x, Some(3), &Options::default()).expect_err("no such group");
        let found =
            group_by_host(Op::Sum, by, x, Some(3), &Options::default(), None, &on.device).expect_err("no such group");
        assert_eq!(found, want);
    }
}

#[test]
fn first_and_last_rows_are_those_of_the_cpu() {
    let (on, mut seed) = (Emulated::new(), 24);
    for (i, dtype) in DType::ALL.into_iter().enumerate() {
        let (n, groups, columns) = (300, [5, 40, 1][i % 3], [1, 3][i % 2]);
        let bytes = elements(dtype, n * columns, random(&mut seed), Specials::Zeros);
        let x = array(&bytes, dtype, &[n, columns]);
        // Group 2 has nothing.
        let label = |x: usize| if x == 2 { -1 } else { x as i32 };
        let labels: Vec<i32> = (0..n).map(|_| label(pick(groups, &mut seed))).collect();
        let by = ArrayRef::from_slice(&labels, &[n]).expect("labels");
        for end in [cuda::End::First, cuda::End::Last] {
            let pick = |groups: &Groups| if end == cuda::End::First { groups.first(x) } else { groups.last(x) };
            let ordered = Groups::new(by, Some(groups)).expect("groups").fill(Scalar::I8(1));
            let want = pick(&ordered).expect("filled");
            let found = ends_host(end, by, x, Some(groups), Some(Scalar::I8(1)), &on.device).expect("filled");
            assert_eq!(found.values.as_bytes(), want.values.as_bytes(), "{dtype} {end:?}");
            let bare = ends_host(end, by, x, Some(groups), None, &on.device);
            let is_empty = matches!(bare, Err(Error::Key(KeyError::Empty { .. })));
            assert_eq!(is_empty, groups > 2, "{dtype} {end:?}: {bare:?}");
        }
    }
}

#[test]
fn rows_in_segments_have_the_bits_of_the_cpu() {
    let (on, mut seed) = (Emulated::new(), 23);
    let ops = [Op::Sum, Op::MinMax, Op::Mean, Op::ArgMin, Op::Max];
    for (i, dtype) in [DType::U8, DType::I16, DType::F32, DType::F64, DType::I32, DType::Bool].into_iter().enumerate() {
        let (rows, columns) = [(5, 3), (1, 70), (1030, 2), (40, 40), (2100, 5), (7, 1)][i];
        let bytes = elements(dtype, rows * columns, random(&mut seed), Specials::Zeros);
        let x = array(&bytes, dtype, &[rows, columns]);
        let mut offsets: Vec<i64> = (0..4).map(|_| pick(rows + 1, &mut seed) as i64).collect();
        offsets.extend([0, rows as i64]);
        offsets.sort_unstable();
        let list = ArrayRef::from_slice(&offsets, &[offsets.len()]).expect("offsets");
        let segments = Segments::new(list).expect("segments").fill(Scalar::I8(0));
        let op = ops[i % ops.len()];
        let Ok(want) = segments.reduce(op, x, &Options::default()) else { continue };
        let found = segmented_host(op, x, &segments, &Options::default(), &on.device).expect("a result");
        assert_eq!(found.shape, want.shape, "{op} {dtype}");
        assert_eq!(found.values.as_bytes(), want.values.as_bytes(), "{op} {dtype}");
    }
    assert!(on.entries().contains("rows_turn"));
}

#[test]
fn runs_of_keys_are_those_of_the_cpu() {
    let (on, mut seed) = (Emulated::new(), 27);
    for (i, dtype) in DType::ALL.into_iter().enumerate() {
        let n = [3000, 1, 4097][i % 3];
        let keys: Vec<u8> = elements(dtype, n, random(&mut seed), Specials::Zeros);
        // Runs of a few.
        let size = dtype.size();
        let keys: Vec<u8> = (0..n).flat_map(|k| keys[k / 3 * size..][..size].to_vec()).collect();
        let values: Vec<f32> = (0..n).map(|_| pick(1000, &mut seed) as f32 / 8.0).collect();
        let (keys, x) = (array(&keys, dtype, &[n]), ArrayRef::from_slice(&values, &[n]).expect("values"));
        let want = reduce_by_key(Op::Sum, keys, x, &Options::default()).expect("runs");
        let found = reduce_by_key_host(Op::Sum, keys, x, &Options::default(), &on.device).expect("runs");
        assert_eq!(format!("{found:?}"), format!("{want:?}"), "{dtype}");
    }
}

#[test]
fn bins_of_every_dtype_are_those_of_the_cpu() {
    let (on, mut seed) = (Emulated::new(), 25);
    let uneven = vec![-40.0, -1.5, -1.5, -0.0, 0.25, 1.0, 1.0, 7.0, 200.0];
    for (i, dtype) in DType::ALL.into_iter().enumerate() {
        let n = [5000, 2048, 100][i % 3];
        let bytes = elements(dtype, n, random(&mut seed), Specials::All);
        let x = array(&bytes, dtype, &[n]);
        let weights: Vec<f32> = (0..n).map(|_| pick(64, &mut seed) as f32).collect();
        let weights = ArrayRef::from_slice(&weights, &[n]).expect("weights");
        let uniform = Bins::Uniform { bins: [10, 9000, 1][i % 3], range: Some((-3.0, 3.5)) };
        for bins in [uniform, Bins::Edges(uneven.clone()), Bins::Edges(vec![1.0, 1.0])] {
            for weights in [None, Some(weights)] {
                // Not every float can have so many edges.
                let Ok(want) = histogram(x, &bins, weights) else { continue };
                let found = histogram_host(x, &bins, weights, &on.device).expect("a histogram");
                assert_eq!(found.counts.values.as_bytes(), want.counts.values.as_bytes(), "{dtype} {bins:?}");
                assert_eq!(found.edges, want.edges, "{dtype} {bins:?}");
            }
        }
    }
}

#[test]
fn labels_are_counted_as_on_the_cpu() {
    let (on, mut seed) = (Emulated::new(), 26);
    for groups in [1usize, 7, 8192, 8193] {
        let labels = labels(6000, groups, &mut seed);
        let weights: Vec<f64> = (0..6000).map(|_| pick(64, &mut seed) as f64).collect();
        let weights = ArrayRef::from_slice(&weights, &[6000]).expect("weights");
        let by = ArrayRef::from_slice(&labels, &[labels.len()]).expect("labels");
        for weights in [None, Some(weights)] {
            let want = bincount(by, weights, groups).expect("counts");
            let found = bincount_host(by, weights, groups, &on.device).expect("counts");
            assert_eq!(found.values.as_bytes(), want.values.as_bytes(), "{groups}");
        }
    }
}

#[test]
fn groups_and_segments_are_described_as_on_the_cpu() {
    let (on, mut seed) = (Emulated::new(), 28);
    for dtype in [DType::F32, DType::I32, DType::F16] {
        let (n, groups) = (900, 6);
        let bytes = elements(dtype, n, random(&mut seed), Specials::Zeros);
        let x = array(&bytes, dtype, &[n]);
        let labels: Vec<i32> = (0..n).map(|i| (i % groups) as i32).collect();
        let by = ArrayRef::from_slice(&labels, &[n]).expect("labels");
        let ordered = Groups::new(by, Some(groups)).expect("groups");
        let want = ordered.describe(x, &Options::default()).expect("statistics");
        let found = describe_groups_host(by, x, Some(groups), &on.device).expect("statistics");
        assert_eq!(format!("{found:?}"), format!("{want:?}"), "{dtype}");
        let offsets = [0i64, 5, 300, 900];
        let segments = Segments::new(ArrayRef::from_slice(&offsets, &[4]).expect("offsets")).expect("segments");
        let want = segments.describe(x, &Options::default()).expect("statistics");
        let found = describe_segments_host(x, &segments, &on.device).expect("statistics");
        assert_eq!(format!("{found:?}"), format!("{want:?}"), "{dtype}");
    }
}
