//! Groups: with and without a sort, their first and last elements, their statistics.

use super::{bits, list};
use crate::reference::{Random, Strided, element};
use warpfold::{ArrayRef, DType, Groups, Op, Options, Scalar, group_by};

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
