//! Segments and groups: each has the bits of the plain reduction of its elements.

use crate::reference::{Random, Strided, element, reference};
use warpfold::core::{Cast, Element};
use warpfold::keys::Runs;
use warpfold::{
    ArrayRef, Bins, DType, Distinct, Error, Groups, KeyError, Kind, Op, Options, Order, Scalar, Segments, Values,
    bincount, group_by, histogram, over, reduce, reduce_by_key, segmented, unique,
};

/// Bits of a list of results.
fn bits(values: &Values) -> Vec<(u64, usize)> {
    (0..values.len()).map(|i| values.get(i).bits()).collect()
}

fn list(x: &[i64]) -> ArrayRef<'_> {
    ArrayRef::from_slice(x, &[x.len()]).unwrap()
}

/// Values, a mask or none, and options, at random.
struct Case {
    op: Op,
    x: Strided,
    mask: Option<Strided>,
    skip_nan: bool,
    initial: Option<Scalar>,
    threads: usize,
}

impl Case {
    fn new(r: &mut Random) -> Self {
        let dtype = DType::ALL[r.below(DType::ALL.len())];
        let op = Op::ALL[r.below(Op::ALL.len())];
        let n = [0, 1, 2, 7, 60, 300, 5000][r.below(7)];
        let shape = match r.below(4) {
            0 | 1 => vec![n],
            2 => vec![n, 1 + r.below(if n > 1000 { 4 } else { 40 })],
            _ => vec![n.min(300), 1 + r.below(3), r.below(5)],
        };
        let x = Strided::new(r, dtype, &shape, |r| element(r, dtype, 10));
        let bools = |r: &mut Random| Scalar::Bool(r.chance(70));
        let mask = r.chance(25).then(|| {
            let mut shape = shape.clone();
            if r.chance(30) {
                shape[0] = 1;
            }
            let first = r.below(shape.len());
            Strided::new(r, DType::Bool, &shape[first..], bools)
        });
        let initial = (r.chance(20) && matches!(op, Op::Sum | Op::Min | Op::Max)).then_some(Scalar::I8(1));
        Self { op, x, mask, skip_nan: r.chance(30), initial, threads: 1 + r.below(2) }
    }

    fn options(&self) -> Options<'_> {
        Options {
            mask: self.mask.as_ref().map(Strided::view),
            skip_nan: self.skip_nan,
            initial: self.initial,
            threads: Some(self.threads),
            ..Options::default()
        }
    }

    /// Each result of the rows `of` each key: of the contract, applied to them in order.
    fn expected(&self, keys: &[Vec<usize>], to_position: bool) -> Vec<Result<Vec<Scalar>, ()>> {
        let row: usize = self.x.shape[1..].iter().product();
        let (x, o) = (self.x.elements(), self.options());
        let mask =
            self.mask.as_ref().map(|mask| (mask.elements(), mask.shape.len() == self.x.shape.len(), mask.shape[0]));
        let masked = |row_at: usize, column: usize| {
            let Some((elements, whole, len)) = &mask else { return false };
            let row_at = if *whole && *len != 1 { row_at } else { 0 };
            // A mask of fewer axes is one of the last.
            elements[(row_at * row + column) % elements.len()] == Scalar::Bool(false)
        };
        let column = |rows: &[usize], column: usize| {
            let items: Vec<_> = rows.iter().map(|&at| (!masked(at, column)).then(|| x[at * row + column])).collect();
            // min and max of nothing but NaN are NaN, also if they are skipped.
            let all_nan = items.iter().flatten().all(|x| x.to_f64().is_nan()) && items.iter().any(Option::is_some);
            let extreme = matches!(self.op, Op::Min | Op::Max | Op::MinMax) && o.initial.is_none();
            if extreme && all_nan {
                return Ok(vec![Scalar::F64(f64::NAN).to(self.x.dtype); if self.op == Op::MinMax { 2 } else { 1 }]);
            }
            let mut found = reference(self.op, self.x.dtype, &items, &o)?;
            if let (true, Scalar::I64(place)) = (to_position && self.op.name().starts_with("arg"), found[0]) {
                found[0] = Scalar::I64(rows[place as usize] as i64);
            }
            Ok(found)
        };
        keys.iter().flat_map(|rows| (0..row).map(move |c| (rows, c))).map(|(rows, c)| column(rows, c)).collect()
    }

    /// Whether `got` and `filled` are what the contract says, where `filled` has 1 for what has no result.
    fn check(&self, seed: u64, want: &[Result<Vec<Scalar>, ()>], got: Result<Values, Error>, filled: Values) {
        let about = format!("seed {seed}: {} of {} {:?}", self.op, self.x.dtype, self.x.shape);
        match want.iter().position(Result::is_err) {
            None => {
                let want: Vec<_> = want.iter().flat_map(|x| x.as_ref().unwrap()).map(|x| x.bits()).collect();
                assert_eq!(bits(&got.unwrap()), want, "{about}");
            }
            Some(first) => {
                let row: usize = self.x.shape[1..].iter().product();
                match got {
                    Err(Error::Key(KeyError::Empty { index, .. })) => assert_eq!(index, first / row, "{about}"),
                    other => panic!("{about}: {other:?}"),
                }
                let width = if self.op == Op::MinMax { 2 } else { 1 };
                for (i, want) in want.iter().enumerate() {
                    for j in 0..width {
                        let found = filled.get(width * i + j);
                        match want {
                            Ok(want) => assert_eq!(found.bits(), want[j].bits(), "{about}"),
                            Err(()) => assert_eq!(found.to_f64(), 1.0, "{about}"),
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_segment_has_the_bits_of_its_elements_alone() {
    for seed in 1..400 {
        let r = &mut Random(seed);
        let case = Case::new(r);
        let n = case.x.shape[0];
        let mut offsets: Vec<i64> = (0..r.below(12)).map(|_| r.below(n + 1) as i64).collect();
        offsets.extend((r.chance(30)).then_some(n as i64));
        offsets.extend(std::iter::repeat_n(r.below(n + 1) as i64, 1 + r.below(3)));
        offsets.sort_unstable();
        let keys: Vec<Vec<usize>> =
            offsets.windows(2).map(|pair| (pair[0] as usize..pair[1] as usize).collect()).collect();
        let want = case.expected(&keys, false);
        let got = segmented(case.op, case.x.view(), list(&offsets), &case.options()).map(|got| got.values);
        let filling = Segments::new(list(&offsets)).unwrap().fill(Scalar::F64(1.0));
        let filled = filling.reduce(case.op, case.x.view(), &case.options()).unwrap().values;
        case.check(seed, &want, got, filled);
    }
}

#[test]
fn a_group_has_the_bits_of_its_elements_alone() {
    for seed in 1..400 {
        let r = &mut Random(1000 + seed);
        let case = Case::new(r);
        let n = case.x.shape[0];
        let groups = [1, 3, 20, 5000][r.below(4)];
        let labels: Vec<i64> = (0..n).map(|_| r.below(groups + 1) as i64 - 1).collect();
        let mut keys = vec![Vec::new(); groups];
        labels
            .iter()
            .enumerate()
            .filter(|(_, label)| **label >= 0)
            .for_each(|(i, &label)| keys[label as usize].push(i));
        if groups == 5000 {
            // Two passes of the sort, and few of the groups have elements.
            keys.truncate(keys.iter().rposition(|key| !key.is_empty()).map_or(0, |last| last + 1));
        }
        let want = case.expected(&keys, true);
        let given = (groups != 5000).then_some(groups);
        let sorted = Groups::new(list(&labels), given).unwrap();
        assert_eq!(sorted.counts(), keys.iter().map(|key| key.len() as i64).collect::<Vec<_>>());
        let got = sorted.reduce(case.op, case.x.view(), &case.options()).map(|got| got.values);
        let filled = sorted.fill(Scalar::U8(1)).reduce(case.op, case.x.view(), &case.options()).unwrap().values;
        case.check(seed, &want, got, filled.clone());
        // Without the sort.
        let got = group_by(case.op, list(&labels), case.x.view(), given, &case.options()).map(|got| got.values);
        case.check(seed, &want, got, filled);
    }
}

#[test]
fn groups_that_are_not_sorted_have_the_bits_of_those_that_are() {
    let r = &mut Random(11);
    // About the ends of pieces, of parts of threads, and of what queues hold; few groups, and many.
    for n in [1usize, 7, 1023, 1024, 1025, 4097, 40_000, 65_536, 131_073, 200_001] {
        for groups in [1usize, 3, 16, 1000, 4096, 4097, 70_000, 3_000_000] {
            let (hot, mostly) = (r.below(groups) as i32, r.chance(40));
            let any = |r: &mut Random| if r.chance(3) { -1 } else { r.below(groups) as i32 };
            let mut labels: Vec<i32> = (0..n).map(|_| if mostly && r.chance(95) { hot } else { any(r) }).collect();
            if r.chance(20) {
                labels.sort_unstable();
            }
            let by = ArrayRef::from_slice(&labels, &[n]).unwrap();
            let wide: Vec<i64> = labels.iter().map(|&label| label.into()).collect();
            let sorted = Groups::new(by, Some(groups)).unwrap();
            let dtypes = [DType::F32, DType::F64, DType::F16, DType::I8, DType::I32, DType::U64];
            let dtype = dtypes[r.below(dtypes.len())];
            let x = Strided::new(r, dtype, &[n], |r| element(r, dtype, 5));
            let mask = Strided::new(r, DType::Bool, &[n], |r| Scalar::Bool(r.chance(80)));
            for op in [Op::Sum, [Op::Prod, Op::Var, Op::Any, Op::Norm, Op::LogSumExp, Op::Mean][r.below(6)]] {
                let threads = Some(1 + r.below(4));
                let mask = r.chance(20).then(|| mask.view());
                let o = Options { threads, mask, skip_nan: r.chance(20), ..Options::default() };
                let about = format!("{op} of {n} {dtype} in {groups} groups, {threads:?}");
                let want = sorted.reduce(op, x.view(), &o).unwrap();
                for labels in [by, list(&wide)] {
                    let got = group_by(op, labels, x.view(), Some(groups), &o).unwrap();
                    assert!(got.shape == want.shape && bits(&got.values) == bits(&want.values), "{about}");
                }
            }
        }
    }
}

#[test]
fn long_and_short_segments_together_change_no_bit() {
    let r = &mut Random(5);
    let n = 700_000;
    let x: Vec<f32> = (0..n).map(|_| element(r, DType::F32, 0).to_f64() as f32).collect();
    let flat = ArrayRef::from_slice(&x, &[n]).unwrap();
    let mut offsets: Vec<i64> = (0..3000).map(|i| i * 7).chain((0..20_000).map(|i| 21_000 + i)).collect();
    // Longer than a task, and than several.
    offsets.extend([41_000, 41_000, 50_000, 340_000, 340_003, 700_000]);
    for op in [Op::Sum, Op::Var, Op::ArgMax, Op::LogSumExp] {
        for threads in [1, 2] {
            let o = Options { threads: Some(threads), ..Options::default() };
            let filling = Segments::new(list(&offsets)).unwrap().fill(Scalar::I8(-1));
            let got = filling.reduce(op, flat, &o).unwrap().values;
            for (i, pair) in offsets.windows(2).enumerate() {
                let part = &x[pair[0] as usize..pair[1] as usize];
                if part.is_empty() {
                    continue;
                }
                let part = ArrayRef::from_slice(part, &[part.len()]).unwrap();
                let alone = reduce(op, part, &Options { threads: Some(1), ..Options::default() }).unwrap();
                assert_eq!(got.get(i).bits(), alone.values.get(0).bits(), "{op}, segment {i}");
            }
        }
    }
    // As rows, in either order of memory.
    let bytes: Vec<u8> = x.iter().flat_map(|x| x.to_ne_bytes()).collect();
    let offsets = [0i64, 3, 3, 20, 60_000, 100_000];
    for order in [Order::C, Order::Fortran] {
        let rows = ArrayRef::from_bytes(&bytes, DType::F32, &[100_000, 7], order, false).unwrap();
        for op in [Op::Sum, Op::Std, Op::CountNonzero] {
            let got = segmented(op, rows, list(&offsets), &Options::default()).unwrap();
            assert_eq!(got.shape, [5, 7]);
            for (i, pair) in offsets.windows(2).enumerate() {
                for column in 0..7 {
                    let at = |row| if order == Order::C { row * 7 + column } else { column * 100_000 + row };
                    let alone: Vec<f32> = (pair[0] as usize..pair[1] as usize).map(|row| x[at(row)]).collect();
                    let alone = ArrayRef::from_slice(&alone, &[alone.len()]).unwrap();
                    let alone = reduce(op, alone, &Options::default()).unwrap();
                    assert_eq!(got.values.get(7 * i + column).bits(), alone.values.get(0).bits(), "{op} {order:?}");
                }
            }
        }
    }
}

#[test]
fn first_last_and_descriptions_of_groups() {
    let r = &mut Random(3);
    for dtype in DType::ALL {
        let x = Strided::new(r, dtype, &[500, 3], |r| element(r, dtype, 5));
        let labels: Vec<i64> = (0..500).map(|_| r.below(7) as i64 - 1).collect();
        let groups = Groups::new(list(&labels), None).unwrap();
        let (first, last) = (groups.first(x.view()).unwrap(), groups.last(x.view()).unwrap());
        let elements = x.elements();
        let description = groups.describe(x.view(), &Options::default()).unwrap();
        assert_eq!((&first.shape, &description.shape), (&vec![6, 3], &vec![6, 3]));
        for k in 0..6 {
            let at: Vec<usize> = (0..500).filter(|&i| labels[i] == k).collect();
            assert_eq!(groups.positions(k as usize), at.iter().map(|&i| i as u32).collect::<Vec<_>>());
            for column in 0..3 {
                let out = 3 * k as usize + column;
                assert_eq!(first.values.get(out).bits(), elements[3 * at[0] + column].bits());
                assert_eq!(last.values.get(out).bits(), elements[3 * at[at.len() - 1] + column].bits());
            }
        }
        for op in [Op::Min, Op::ArgMax, Op::Std, Op::Sum, Op::Mean, Op::ArgMin] {
            let alone = groups.reduce(op, x.view(), &Options::default()).unwrap().values;
            assert_eq!(bits(description.get(op.name()).unwrap()), bits(&alone), "{op} {dtype}");
        }
    }
    let labels = Groups::new(list(&[0, 2]), None).unwrap();
    let x = ArrayRef::from_slice(&[1.5f32, 2.5], &[2]).unwrap();
    let error = labels.first(x).unwrap_err().to_string();
    assert!(error.starts_with("first of group 1 finds no elements"), "{error}");
    assert!(labels.describe(x, &Options::default()).unwrap_err().to_string().starts_with("describe of group 1"));
    let filled = labels.fill(Scalar::F64(f64::NAN)).last(x).unwrap().into_vec::<f32>().unwrap();
    assert!(filled[0] == 1.5 && filled[1].is_nan() && filled[2] == 2.5);
}

#[test]
fn runs_of_equal_keys() {
    let keys = [f32::NAN, -f32::NAN, 0.0, -0.0, 0.0, 3.0, f32::NAN];
    let keys = ArrayRef::from_slice(&keys, &[7]).unwrap();
    let x = [1u8, 2, 3, 4, 5, 6, 7];
    let (found, sums) =
        reduce_by_key(Op::Sum, keys, ArrayRef::from_slice(&x, &[7]).unwrap(), &Options::default()).unwrap();
    assert_eq!(found.values.get(1).bits(), Scalar::F32(0.0).bits());
    assert!(found.values.get(0).to_f64().is_nan() && found.values.get(3).to_f64().is_nan());
    assert_eq!(sums.into_vec::<u64>().unwrap(), [3, 12, 6, 7]);
    let r = &mut Random(8);
    for dtype in DType::ALL {
        let keys = Strided::new(r, dtype, &[70_000], |r| {
            if r.chance(10) { element(r, dtype, 5) } else { Scalar::I8(0).to(dtype) }
        });
        let runs = Runs::new(keys.view()).unwrap();
        assert_eq!(runs.segments.counts().iter().sum::<i64>(), 70_000);
        let elements = keys.elements();
        let same = |a: Scalar, b: Scalar| a == b || (a.to_f64().is_nan() && b.to_f64().is_nan());
        for i in 0..runs.segments.len() {
            let range = runs.segments.range(i);
            assert_eq!(runs.keys.values.get(i).bits(), elements[range.start].bits());
            assert!(range.clone().all(|j| same(elements[j], elements[range.start])));
            assert!(range.end == 70_000 || !same(elements[range.end - 1], elements[range.end]));
        }
    }
}

/// A number in another dtype.
trait To {
    fn to(self, dtype: DType) -> Self;
}

impl To for Scalar {
    fn to(self, dtype: DType) -> Scalar {
        Values::F64(vec![f64::from_cast(self.to_cast())]).cast(dtype).get(0)
    }
}

#[test]
fn offsets_and_labels_of_every_integer_dtype() {
    let x = [1.0f64, 2.0, 4.0, 8.0];
    for dtype in DType::ALL.into_iter().filter(|d| matches!(d.kind(), Kind::Signed | Kind::Unsigned)) {
        let put = |x: &[i64]| Values::I64(x.to_vec()).cast(dtype);
        let (offsets, labels) = (put(&[0, 1, 4]), put(&[1, 0, 1, 0]));
        let swapped = |x: &Values| x.as_bytes().chunks(dtype.size()).flat_map(|b| b.iter().rev().copied()).collect();
        for swap in [false, true] {
            let bytes = |x: &Values| -> Vec<u8> { if swap { swapped(x) } else { x.as_bytes().to_vec() } };
            let (offsets, labels) = (bytes(&offsets), bytes(&labels));
            let offsets = ArrayRef::from_bytes(&offsets, dtype, &[3], Order::C, swap).unwrap();
            let labels = ArrayRef::from_bytes(&labels, dtype, &[4], Order::C, swap).unwrap();
            let view = ArrayRef::from_slice(&x, &[4]).unwrap();
            let o = &Options::default();
            assert_eq!(segmented(Op::Sum, view, offsets, o).unwrap().into_vec::<f64>().unwrap(), [1.0, 14.0]);
            let groups = Groups::new(labels, None).unwrap();
            assert_eq!(over(&x).groups(&groups).sum().unwrap().data, [10.0, 5.0]);
            let found = group_by(Op::Sum, labels, view, None, o).unwrap();
            assert_eq!(found.into_vec::<f64>().unwrap(), [10.0, 5.0]);
        }
    }
}

#[test]
fn bad_keys_say_what_is_wrong() {
    let x = [1.0f32, 2.0, 3.0];
    let v = ArrayRef::from_slice(&x, &[3]).unwrap();
    let o = Options::default();
    let says = |got: Result<warpfold::Array, Error>, words: &str| {
        let text = got.unwrap_err().to_string();
        assert!(text.contains(words), "{words:?} is not in {text:?}");
    };
    says(segmented(Op::Sum, v, list(&[0, 2, 1]), &o), "entry 2 is 1 after 2");
    says(segmented(Op::Sum, v, list(&[-1, 2]), &o), "offset -1 (entry 0)");
    says(segmented(Op::Sum, v, list(&[0, 2, 4]), &o), "offset 4 (entry 2) is out of range: there are 3 elements");
    says(segmented(Op::Sum, v, list(&[]), &o), "at least one entry");
    says(segmented(Op::Sum, v, v, &o), "offsets must be integers, these are f32");
    says(segmented(Op::Max, v, list(&[0, 2, 2, 3]), &o), "max of segment 1 finds no elements");
    says(segmented(Op::Sum, v, list(&[0, 3]), &Options { axes: Some(vec![0]), ..o.clone() }), "leave out axes");
    let scalar = ArrayRef::from_slice(&x[..1], &[]).unwrap();
    says(segmented(Op::Sum, scalar, list(&[0]), &o), "without an axis");
    let huge = [u64::MAX; 3];
    let huge = ArrayRef::from_slice(&huge, &[3]).unwrap();
    let group = |labels, groups| Groups::new(labels, groups).and_then(|groups| groups.reduce(Op::Sum, v, &o));
    says(group(huge, None), "label 18446744073709551615 (entry 0)");
    says(group(list(&[0, -1, -2]), None), "label -2 (entry 2) is out of range");
    says(group(list(&[0, 5, 7]), Some(5)), "label 5 (entry 1) is out of range: give 0 to 4");
    says(group(list(&[0, 1 << 32, 7]), Some(5)), "label 4294967296 (entry 1) is out of range");
    let all_ones = [u32::MAX; 3];
    says(group(ArrayRef::from_slice(&all_ones, &[3]).unwrap(), None), "label 4294967295 (entry 0) is out of range");
    let mut far = vec![3i32; 100_000];
    far[90_000] = 4;
    far[95_000] = -2;
    says(group(ArrayRef::from_slice(&far, &[far.len()]).unwrap(), Some(4)), "label 4 (entry 90000) is out of range");
    says(group(list(&[0, 1]), None), "2 labels for values of shape [3]");
    says(group(v, None), "labels must be integers");
    says(group(list(&[0, 1 << 31, 0]), None), "label 2147483648 (entry 1)");
    says(group(list(&[0, 0, 0]), Some(1 << 32)), "4294967296 groups are too many");
    let nan = [f32::NAN, 1.0];
    let skip = Options { skip_nan: true, ..o.clone() };
    let nan = ArrayRef::from_slice(&nan, &[2]).unwrap();
    says(segmented(Op::ArgMin, nan, list(&[0, 1, 2]), &skip), "argmin of segment 0 finds only NaN");
    assert!(over(&x).segments(&[1, 0]).sum().is_err());
}

#[test]
fn distinct_values_are_sorted_counted_and_found() {
    let r = &mut Random(21);
    let same = |a: Scalar, b: Scalar| a == b || (a.to_f64().is_nan() && b.to_f64().is_nan());
    for dtype in DType::ALL {
        for (shape, few) in [(vec![0], true), (vec![3000], true), (vec![70, 60], false)] {
            let x = Strided::new(r, dtype, &shape, |r| {
                if few { Scalar::I8(r.below(9) as i8 - 4).to(dtype) } else { element(r, dtype, 10) }
            });
            let elements = x.elements();
            let found = unique(x.view(), Distinct { first: true, inverse: true }).unwrap();
            let values: Vec<Scalar> = (0..found.counts.len()).map(|i| found.values.values.get(i)).collect();
            assert_eq!((found.values.dtype(), found.values.shape), (dtype, vec![values.len()]));
            let ascending = |pair: &[Scalar]| match (pair[0].to_cast(), pair[1].to_cast()) {
                (Cast::Float(a), Cast::Float(b)) => a < b || (b.is_nan() && !a.is_nan()),
                (Cast::Signed(a), Cast::Signed(b)) => a < b,
                (Cast::Unsigned(a), Cast::Unsigned(b)) => a < b,
                _ => false,
            };
            assert!(values.windows(2).all(ascending), "{dtype}: {values:?}");
            let inverse = found.inverse.unwrap();
            assert_eq!(inverse.shape, shape);
            let inverse = inverse.into_vec::<i64>().unwrap();
            let mut counts = vec![0; values.len()];
            let mut first = vec![-1; values.len()];
            for (i, &at) in inverse.iter().enumerate() {
                assert!(same(values[at as usize], elements[i]), "{dtype}");
                if counts[at as usize] == 0 {
                    first[at as usize] = i as i64;
                    let nan = elements[i].to_f64().is_nan();
                    assert!(nan || values[at as usize].bits() == elements[i].bits(), "the first of equals is kept");
                }
                counts[at as usize] += 1;
            }
            assert_eq!((&found.counts, found.first), (&counts, Some(first)), "{dtype}");
            let plain = unique(x.view(), Distinct::default()).unwrap();
            assert_eq!((bits(&plain.values.values), plain.counts), (bits(&found.values.values), counts));
        }
    }
    let zeros = [0.0f64, -0.0, f64::NAN, -0.0];
    let found = unique(ArrayRef::from_slice(&zeros[1..], &[3]).unwrap(), Distinct::default()).unwrap();
    assert_eq!(found.values.values.get(0).bits(), Scalar::F64(-0.0).bits());
    assert_eq!(found.values.values.get(1).bits(), Scalar::F64(f64::NAN).bits());
}

#[test]
fn bins_have_what_is_between_their_edges() {
    let r = &mut Random(31);
    let weights: Vec<f32> = (0..4000).map(|_| element(r, DType::F32, 0).to_f64() as f32).collect();
    for dtype in DType::ALL {
        let x = Strided::new(r, dtype, &[4000], |r| Scalar::F64(r.below(2000) as f64 / 16.0 - 60.0).to(dtype));
        let given = vec![-40.0, -3.5, -3.5, 0.0, 0.125, 61.0];
        for bins in [
            Bins::Uniform { bins: 10, range: None },
            Bins::Uniform { bins: 97, range: Some((-7.3, 22.9)) },
            Bins::Edges(given),
        ] {
            let found = histogram(x.view(), &bins, None).unwrap();
            let edges: Vec<f64> = (0..found.edges.values.len()).map(|i| found.edges.values.get(i).to_f64()).collect();
            let last = edges.len() - 2;
            let within =
                |bin: usize, x: f64| edges[bin] <= x && (x < edges[bin + 1] || (bin == last && x == edges[bin + 1]));
            let labels: Vec<i64> = x
                .elements()
                .iter()
                .map(|x| (0..=last).position(|bin| within(bin, x.to_f64())).map_or(-1, |bin| bin as i64))
                .collect();
            let counts: Vec<i64> =
                (0..=last).map(|bin| labels.iter().filter(|&&x| x == bin as i64).count() as i64).collect();
            assert_eq!(found.counts.into_vec::<i64>().unwrap(), counts, "{dtype} {bins:?}");
            let weights = ArrayRef::from_slice(&weights, &[4000]).unwrap();
            let weighted = histogram(x.view(), &bins, Some(weights)).unwrap().counts;
            let groups = Groups::new(list(&labels), Some(last + 1)).unwrap();
            assert_eq!(weighted, groups.reduce(Op::Sum, weights, &Options::default()).unwrap());
            assert_eq!(bincount(list(&labels), None, last + 1).unwrap().into_vec::<i64>().unwrap(), counts);
            assert_eq!(bincount(list(&labels), Some(weights), last + 1).unwrap(), weighted);
        }
    }
    let x = [1.0f32, f32::NAN];
    let x = ArrayRef::from_slice(&x, &[2]).unwrap();
    for (bins, words) in [
        (Bins::Uniform { bins: 0, range: None }, "not 0"),
        (Bins::Uniform { bins: 5, range: None }, "is not finite"),
        (Bins::Uniform { bins: 5, range: Some((2.0, 1.0)) }, "is empty"),
        (Bins::Uniform { bins: 1 << 20, range: Some((1.0, 1.01)) }, "too narrow"),
        (Bins::Edges(vec![1.0]), "two edges"),
        (Bins::Edges(vec![1.0, f64::NAN]), "must not decrease"),
        (Bins::Edges(vec![1.0, 2.0, 1.5]), "after 2 (entry 1) comes 1.5"),
    ] {
        let text = histogram(x, &bins, None).unwrap_err().to_string();
        assert!(text.contains(words), "{text}");
    }
}
