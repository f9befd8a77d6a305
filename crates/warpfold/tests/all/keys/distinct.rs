//! Distinct values: sorted, counted, with the first of each and the inverse.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::{To, bits};
use crate::reference::{Random, Strided, element};
use warpfold::core::Cast;
use warpfold::cpu::parallel::{alone, watched};
use warpfold::{ArrayRef, DType, Distinct, Scalar, unique};

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

/// An interrupt is seen when the caller looks, so no pass over the elements may be without.
#[test]
fn the_caller_looks_during_every_pass() {
    // Elements between looks, and the fewest buckets of a sort, each of which has a look.
    const TASK: usize = 1 << 16;
    const TASKS: usize = 8;
    const BUCKETS: usize = 64;
    let distinct: Vec<f64> = (0..TASKS * TASK).map(|i| (i as f64).sqrt()).collect();
    let few: Vec<i64> = (0..TASKS * TASK).map(|i| (i % 2) as i64 * i64::MAX).collect();
    let (distinct, few) = (ArrayRef::flat(&distinct), ArrayRef::flat(&few));
    let places = Distinct { first: true, inverse: true };
    // Bounds, keys, counts, places; then runs and values of distinct elements, or the places of long runs.
    for (x, what, passes) in
        [(distinct, Distinct::default(), 6), (distinct, places, 6), (few, Distinct::default(), 4), (few, places, 5)]
    {
        let looks = AtomicUsize::new(0);
        let look = |_| {
            looks.fetch_add(1, Ordering::Relaxed);
        };
        watched(&look, || alone(|| unique(x, what))).unwrap();
        let looks = looks.into_inner();
        assert!(looks >= BUCKETS + passes * TASKS, "{looks} looks in {passes} passes, {what:?}");
    }
}
