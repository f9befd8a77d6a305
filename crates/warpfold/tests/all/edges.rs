//! Nothing, very little, and very much of it: results of no elements, few labels of many groups, and results that no
//! memory holds.

use crate::reference::{Random, Strided, element};
use warpfold::{
    Array, ArrayRef, Bins, DType, Error, Groups, KeyError, Op, Options, Order, Scalar, Segments, Values, bincount,
    describe, group_by, histogram, reduce, reduce_into,
};

/// Groups of which most have no elements: more than 16 for each label, and 2^20.
const MANY: usize = (1 << 20) + 5000;

fn bits(values: &Values, range: std::ops::Range<usize>) -> Vec<(u64, usize)> {
    range.map(|i| values.get(i).bits()).collect()
}

/// Rows of an array, one after the other.
fn rows(x: &Strided, of: &[usize]) -> Vec<Scalar> {
    let (row, x) = (x.shape[1..].iter().product::<usize>(), x.elements());
    of.iter().flat_map(|&at| x[at * row..(at + 1) * row].to_vec()).collect()
}

fn array(r: &mut Random, dtype: DType, shape: &[usize], elements: &[Scalar]) -> Strided {
    let next = std::cell::Cell::new(0);
    let steps = |axis: usize| (shape[axis + 1..].iter().product::<usize>() * dtype.size()) as isize;
    let strides = (0..shape.len()).map(steps).collect();
    Strided::place(r, dtype, shape, strides, 0, |_| elements[next.replace(next.get() + 1)])
}

#[test]
fn few_labels_of_many_groups_have_the_results_of_their_elements() {
    let r = &mut Random(41);
    for (at, op) in Op::ALL.into_iter().cycle().take(60).enumerate() {
        let dtype = DType::ALL[at % 13];
        let shape = [vec![9], vec![9, 2], vec![9, 0]][r.below(3)].clone();
        let x = Strided::new(r, dtype, &shape, |r| element(r, dtype, 25));
        let few = [0, 1, 77, MANY as i32 - 1, -1];
        let labels: Vec<i32> = (0..9).map(|_| few[r.below(5)]).collect();
        let options = Options { skip_nan: r.chance(50), ..Options::default() };
        let fill = Scalar::F64(7.0);
        let by = ArrayRef::from_slice(&labels, &[9]).unwrap();
        let groups = Groups::new(by, Some(MANY)).unwrap().fill(fill);
        assert_eq!(groups.len(), MANY);
        let found = groups.reduce(op, x.view(), &options).unwrap();
        let row = found.values.len() / MANY;
        for group in [0, 1, 2, 76, 77, 78, MANY - 2, MANY - 1] {
            let of: Vec<usize> = (0..9).filter(|&i| labels[i] == group as i32).collect();
            assert_eq!(groups.positions(group), of.iter().map(|&i| i as u32).collect::<Vec<_>>());
            assert_eq!(groups.counts()[group], of.len() as i64);
            // The same group by itself, the only one.
            let alone = array(r, dtype, &[&[of.len()], &shape[1..]].concat(), &rows(&x, &of));
            let zeros = vec![0i32; of.len()];
            let one = Groups::new(ArrayRef::from_slice(&zeros, &[of.len()]).unwrap(), Some(1)).unwrap().fill(fill);
            let mut want = one.reduce(op, alone.view(), &options).unwrap().values;
            if let (Op::ArgMin | Op::ArgMax, Values::I64(places)) = (op, &mut want) {
                let all_nan = |column: usize| {
                    let nan = |&i: &usize| rows(&x, &[i])[column].to_f64().is_nan();
                    options.skip_nan && dtype.is_float() && of.iter().all(nan)
                };
                let there = |column: usize| !of.is_empty() && !all_nan(column);
                let moved = places.iter_mut().enumerate().filter(|(column, _)| there(*column));
                moved.for_each(|(_, place)| *place = of[*place as usize] as i64);
            }
            let found = bits(&found.values, group * row..(group + 1) * row);
            assert_eq!(found, bits(&want, 0..row), "{op} of {dtype} {shape:?}, group {group}, labels {labels:?}");
        }
        if shape.len() == 1 {
            let unfilled = group_by(op, by, x.view(), Some(MANY), &options);
            match unfilled {
                Ok(unfilled) => assert_eq!(bits(&unfilled.values, 0..200), bits(&found.values, 0..200), "{op} {dtype}"),
                // Only extrema have no result of nothing; group 2 has no element, groups before it may have none.
                Err(Error::Key(KeyError::Empty { index, .. })) => assert!(index <= 2, "{op}: {index}"),
                Err(other) => panic!("{op}: {other}"),
            }
        }
    }
}

#[test]
fn the_first_group_without_a_result_is_named_where_most_have_none() {
    let labels = ArrayRef::from_slice(&[1i64, 0, 2_000_000], &[3]).unwrap();
    let x = ArrayRef::from_slice(&[1.0f32, f32::NAN, 3.0], &[3]).unwrap();
    let groups = Groups::new(labels, None).unwrap();
    let index = |result: Result<_, Error>| match result {
        Err(Error::Key(KeyError::Empty { index, .. })) => index,
        other => panic!("{other:?}"),
    };
    assert_eq!(index(groups.reduce(Op::Max, x, &Options::default())), 2);
    let skip = Options { skip_nan: true, ..Options::default() };
    assert_eq!(index(groups.reduce(Op::ArgMax, x, &skip)), 0);
    assert_eq!(index(groups.first(x)), 2);
    assert!(matches!(groups.describe(x, &Options::default()), Err(Error::Key(KeyError::Empty { index: 2, .. }))));
    let filled = groups.clone().fill(Scalar::F32(9.0)).last(x).unwrap().into_vec::<f32>().unwrap();
    assert_eq!((filled.len(), filled[1], filled[2], filled[2_000_000]), (2_000_001, 1.0, 9.0, 3.0));
    let sizes = groups.sizes().unwrap().into_vec::<i64>().unwrap();
    assert_eq!((sizes.len(), sizes.iter().sum::<i64>(), sizes[2_000_000]), (2_000_001, 3, 1));
    let counts = bincount(labels, None, 0).unwrap().into_vec::<i64>().unwrap();
    assert_eq!(counts, sizes);
}

#[test]
fn a_result_that_no_memory_holds_is_an_error_with_its_bytes() {
    let huge = 1usize << 50;
    let none: [f32; 0] = [];
    let x = ArrayRef::from_slice(&none, &[huge, 0]).unwrap();
    let rows = Options { axes: Some(vec![1]), ..Options::default() };
    let refused = |result: Result<(), Error>, least: u128| match result {
        Err(why @ Error::Memory { bytes, .. }) => assert!(bytes >= least && why.to_string().contains("bytes"), "{why}"),
        other => panic!("{other:?}"),
    };
    refused(reduce(Op::Sum, x, &rows).map(drop), 1 << 52);
    refused(describe(x, &rows).map(drop), 1 << 52);
    let x = ArrayRef::from_slice(&none, &[0, huge]).unwrap();
    let offsets = ArrayRef::from_slice(&[0i64, 0], &[2]).unwrap();
    let segments = Segments::new(offsets).unwrap();
    refused(segments.reduce(Op::Sum, x, &Options::default()).map(drop), 1 << 52);
    let labels = ArrayRef::from_slice(&[2_000_000_000u32], &[1]).unwrap();
    let row = vec![0u8; 1 << 16];
    let x = ArrayRef::from_slice(&row, &[1, 1 << 16]).unwrap();
    refused(group_by(Op::Sum, labels, x, None, &Options::default()).map(drop), 1 << 49);
}

/// Such edges would take 8 GB, and half a minute.
#[test]
fn bins_too_narrow_for_their_numbers_are_refused_before_there_are_edges() {
    let x: Vec<f32> = (0..12).map(|i| i as f32).collect();
    let x = ArrayRef::from_slice(&x, &[12]).unwrap();
    let found = histogram(x, &Bins::Uniform { bins: 1_000_000_000, range: None }, None);
    assert!(matches!(&found, Err(Error::Key(KeyError::Bins { why })) if why.contains("too narrow")), "{found:?}");
    // Many more bins than elements.
    let found = histogram(x, &Bins::Uniform { bins: 1 << 20, range: Some((0.0, 16.0)) }, None).unwrap();
    let counts = found.counts.into_vec::<i64>().unwrap();
    assert_eq!((counts.len(), counts.iter().sum::<i64>(), counts[11 << 16]), (1 << 20, 12, 1));
}

/// As NumPy has them: 0 and 1 are f64, and each edge is rounded once.
#[test]
fn edges_of_no_elements_are_rounded_once() {
    let x: [f32; 0] = [];
    let found = histogram(ArrayRef::from_slice(&x, &[0]).unwrap(), &Bins::Uniform { bins: 7, range: None }, None);
    let want = [0x0, 0x3e124925, 0x3e924925, 0x3edb6db7, 0x3f124925, 0x3f36db6e, 0x3f5b6db7, 0x3f800000];
    let edges = found.unwrap().edges.into_vec::<f32>().unwrap();
    assert_eq!(edges.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), want);
}

#[test]
fn nothing_is_described_by_what_there_is_of_nothing() {
    for dtype in DType::ALL {
        let r = &mut Random(3);
        let x = Strided::new(r, dtype, &[2, 0, 3], |r| element(r, dtype, 0));
        let d = describe(x.view(), &Options { axes: Some(vec![1]), ..Options::default() }).unwrap();
        assert_eq!((d.count, &d.shape[..]), (0, &[2, 3][..]));
        let names: Vec<&str> = d.stats.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["nan_count", "mean", "std", "sum", "norm"]);
        assert_eq!(d.get("nan_count"), Some(&Values::I64(vec![0; 6])));
        assert!(d.stats.iter().all(|(_, values)| values.len() == 6));
        assert!(d.get("mean").unwrap().get(5).to_f64().is_nan() && d.get("sum").unwrap().get(5).to_f64() == 0.0);
        assert_eq!(d.get("sum").unwrap().dtype(), Op::Sum.result_dtype(dtype));
    }
}

/// A plan is made of shape and strides alone, so that shapes may be larger than any memory.
#[test]
fn plans_of_any_shape_are_made() {
    let r = &mut Random(17);
    for _ in 0..3000 {
        let (op, dtype) = (Op::ALL[r.below(Op::ALL.len())], DType::ALL[r.below(13)]);
        let mut shape: Vec<usize> =
            (0..r.below(5)).map(|_| [0, 1, 3, 1 << r.below(40), 1 << r.below(60)][r.below(5)]).collect();
        let bytes = |shape: &[usize]| shape.iter().filter(|&&n| n > 0).try_fold(dtype.size(), |n, &d| n.checked_mul(d));
        while bytes(&shape).is_none_or(|bytes| bytes > isize::MAX as usize) {
            shape.pop();
        }
        let mut strides = vec![dtype.size() as isize; shape.len()];
        for axis in (1..shape.len()).rev() {
            strides[axis - 1] = strides[axis] * shape[axis].max(1) as isize;
        }
        // SAFETY: nothing is read.
        let x = unsafe { ArrayRef::from_raw(std::ptr::null(), dtype, &shape, &strides) }.unwrap();
        let axes = (0..shape.len() as isize).filter(|_| r.chance(50)).collect();
        let options = Options { axes: Some(axes), skip_nan: r.chance(20), ..Options::default() };
        let about = format!("{op} of {dtype} {shape:?} axes {:?}", options.axes);
        assert!(warpfold::explain(op, x, &options).unwrap().to_string().contains("route"), "{about}");
        assert!(warpfold::cuda::explain(op, x, &options, None).unwrap().to_string().contains("kernel"), "{about}");
    }
}

/// Broadcast, an array may have more elements than an address space has bytes for.
#[test]
fn plans_of_a_broadcast_array_of_any_size_are_made() {
    for (op, axes) in Op::ALL.into_iter().flat_map(|op| [vec![], vec![0], vec![1], vec![0, 1]].map(|axes| (op, axes))) {
        let dense = [1 << 40, 8, 0];
        for (shape, strides) in
            [([2, 1 << 60, 1], [0; 3]), ([3, 5, 1 << 58], [0; 3]), ([1 << 30, 1 << 20, 3000], dense)]
        {
            // SAFETY: nothing is read.
            let x = unsafe { ArrayRef::from_raw(std::ptr::null(), DType::F64, &shape, &strides) }.unwrap();
            let options = Options { axes: Some(axes.clone()), ..Options::default() };
            assert!(
                warpfold::explain(op, x, &options).unwrap().to_string().contains("route"),
                "{op} {shape:?} {axes:?}"
            );
            let _ = warpfold::cuda::explain(op, x, &options, None);
        }
    }
}

/// Every route through memory, with and without a kernel that takes elements in any order.
#[test]
fn progress_counts_every_byte_once() {
    let shapes: [(&[usize], &[isize]); 8] = [
        (&[600_000], &[0]),
        (&[3000, 100], &[1]),
        (&[3000, 100], &[0]),
        (&[60_000, 5], &[0]),
        (&[400, 100, 7], &[0, 2]),
        (&[5000, 6, 10], &[0, 2]),
        (&[700, 9, 40], &[1]),
        (&[128, 4, 512], &[0, 2]),
    ];
    for (shape, axes) in shapes {
        for op in [Op::Sum, Op::Max, Op::Var, Op::ArgMax] {
            for (dtype, backwards, threads) in [(DType::F32, false, 2), (DType::I32, true, 1), (DType::BF16, true, 2)] {
                let mut steps = vec![0; shape.len()];
                let mut bytes = dtype.size();
                let order: Vec<usize> = (0..shape.len()).collect();
                for &axis in order.iter().rev().filter(|_| !backwards).chain(order.iter().filter(|_| backwards)) {
                    steps[axis] = bytes as isize;
                    bytes *= shape[axis];
                }
                let memory = vec![0u64; bytes.div_ceil(8)];
                // SAFETY: the steps reach the elements of `memory`, any bits of which are a number.
                let x = unsafe { ArrayRef::from_raw(memory.as_ptr().cast(), dtype, shape, &steps) }.unwrap();
                let told = std::sync::atomic::AtomicU64::new(0);
                let progress = |n: u64| {
                    told.fetch_add(n, std::sync::atomic::Ordering::Relaxed);
                };
                let axes = Some(axes.to_vec());
                let options = Options { axes, threads: Some(threads), progress: Some(&progress), ..Options::default() };
                reduce(op, x, &options).unwrap();
                let told = told.load(std::sync::atomic::Ordering::Relaxed) as usize;
                // Tasks may be of unequal sizes, and report their mean.
                assert!(
                    told <= bytes && told >= bytes - bytes / 8,
                    "{op} of {dtype:?} {shape:?} steps {steps:?} axes {:?}: {told} of {bytes} bytes",
                    options.axes
                );
            }
        }
    }
}

#[test]
fn a_result_takes_the_memory_of_an_earlier_one() {
    let x: Vec<f32> = (0..60_000).map(|i| (i % 97) as f32 - 40.0).collect();
    let y: Vec<f32> = x.iter().map(|x| f32::NAN * x).collect();
    let view = |x| ArrayRef::from_slice(x, &[30, 2000]).unwrap();
    let along = |axis| Options { axes: Some(vec![axis]), skip_nan: true, ..Options::default() };
    let address = |result: &Array| match &result.values {
        Values::F32(values) => values.as_ptr(),
        other => panic!("{:?}", other.dtype()),
    };
    let mut result = reduce(Op::Sum, view(&x), &along(0)).unwrap();
    let first = address(&result);
    // Of another op, and of fewer outputs: in place, with the bits of a new result.
    for (op, axis) in [(Op::Max, 0), (Op::Var, 1), (Op::LogSumExp, 0), (Op::Sum, 1)] {
        reduce_into(op, view(&x), &along(axis), &mut result).unwrap();
        assert_eq!(address(&result), first, "{op} along {axis}");
        assert_eq!(result, reduce(op, view(&x), &along(axis)).unwrap(), "{op} along {axis}");
    }
    // A refused request leaves the result as it was.
    let before = result.clone();
    assert!(matches!(reduce_into(Op::Sum, view(&x), &along(2), &mut result), Err(Error::AxisOutOfRange { .. })));
    assert_eq!(result, before);
    // Elements that leave an output without a value leave none.
    assert!(matches!(reduce_into(Op::ArgMax, view(&y), &along(0), &mut result), Err(Error::AllNan { .. })));
    assert_eq!((result.shape.as_slice(), result.values.len()), (&[0][..], 0));
    // Of another dtype, and with more outputs: new memory.
    reduce_into(Op::ArgMax, view(&x), &along(0), &mut result).unwrap();
    assert_eq!(result, reduce(Op::ArgMax, view(&x), &along(0)).unwrap());
}

#[test]
fn any_byte_but_zero_is_true() {
    let r = &mut Random(47);
    for case in 0..60 {
        let shape = [[300, 3], [3, 300], [64, 64], [1, 7]][case % 4];
        let n = shape[0] * shape[1];
        let odd: Vec<u8> = (0..n).map(|_| [0, 0, 1, 2, 127, 128, 255][r.below(7)]).collect();
        let plain: Vec<bool> = odd.iter().map(|&byte| byte != 0).collect();
        let odd = ArrayRef::from_bytes(&odd, DType::Bool, &shape, Order::C, false).unwrap();
        let plain = ArrayRef::from_slice(&plain, &shape).unwrap();
        for op in Op::ALL {
            for axes in [None, Some(vec![0]), Some(vec![1])] {
                let options = Options { axes, ..Options::default() };
                let found = [odd, plain].map(|x| reduce(op, x, &options).unwrap().values);
                assert_eq!(bits(&found[0], 0..found[0].len()), bits(&found[1], 0..found[1].len()), "{op} {shape:?}");
            }
        }
    }
}

#[test]
fn results_that_no_cache_holds_are_those_of_their_parts() {
    // More than 32 MiB of results, an odd number of them.
    let (n, r) = ((1 << 22) + 1037, &mut Random(18));
    let x: Vec<u8> = (0..2 * n).map(|_| r.below(256) as u8).collect();
    for (shape, axis) in [([2, n], 0), ([n, 2], 1)] {
        let at = |row: usize, i: usize| if axis == 0 { x[row * n + i] } else { x[2 * i + row] };
        let options = Options { axes: Some(vec![axis]), threads: Some(2), ..Options::default() };
        let of = |op| reduce(op, ArrayRef::from_slice(&x, &shape).unwrap(), &options).unwrap().values;
        let want: Vec<u64> = (0..n).map(|i| u64::from(at(0, i)) + u64::from(at(1, i))).collect();
        assert!(of(Op::Sum) == Values::U64(want), "sums along axis {axis}");
        let want: Vec<i64> = (0..n).map(|i| (at(1, i) > at(0, i)).into()).collect();
        assert!(of(Op::ArgMax) == Values::I64(want), "places along axis {axis}");
    }
}
