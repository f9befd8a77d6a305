//! Random segments and groups against the reference: any op, dtype, mask and option.

use super::{To, bits, list};
use crate::reference::{Random, Strided, element, reference};
use warpfold::{DType, Error, Groups, KeyError, Op, Options, Scalar, Segments, Values, group_by, segmented};

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
        let shape = match r.below(9) {
            0..4 => vec![n],
            4 | 5 => vec![n, 1 + r.below(if n > 1000 { 4 } else { 40 })],
            6 | 7 => vec![n.min(300), 1 + r.below(3), r.below(5)],
            // As many lines as are reduced side by side.
            _ => vec![n.min(60), 1 + r.below(2), 64 + r.below(200)],
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
