//! Runs of equal keys.

use super::To;
use crate::reference::{Random, Strided, element};
use warpfold::keys::Runs;
use warpfold::{ArrayRef, DType, Op, Options, Scalar, reduce_by_key};

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
