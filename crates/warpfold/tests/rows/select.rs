//! The first elements along an axis in an order.

use warpfold::core::{Element, with_dtype};
use warpfold::select::top_k;
use warpfold::{ArrayRef, DType, Error, PoolError, Scalar, Value};

use crate::reference::{Random, Strided, element};
use crate::{bits, many, problem, rows};

/// The indices of a row's elements in order, by the definition.
fn sorted<T: Element + PartialOrd>(row: &[T], largest: bool) -> Vec<usize> {
    let mut order: Vec<usize> = (0..row.len()).collect();
    // A stable sort: the first of equal elements stays the first.
    order.sort_by(|&a, &b| {
        let (a, b) = (row[a], row[b]);
        let less = match (a.is_nan(), b.is_nan()) {
            (false, false) => a.partial_cmp(&b).unwrap(),
            (a, b) => a.cmp(&b),
        };
        if largest { less.reverse() } else { less }
    });
    order
}

fn canonical<T: Value>(x: T) -> Scalar {
    if x.is_nan() { T::from_key(warpfold::core::Key::MAX).scalar() } else { x.scalar() }
}

/// Asserts that what is found is what the definition says.
fn check(x: &Strided, (k, axis, largest): (usize, usize, bool), threads: usize, what: &str) {
    fn typed<T: Value>(x: &Strided) -> Vec<T> {
        x.elements().into_iter().map(|x| T::of(x).unwrap()).collect()
    }
    let found = top_k(x.view(), k, axis as isize, largest, Some(threads)).unwrap();
    let what = format!("{what} {:?} {:?} k {k} axis {axis} {largest} {threads}", x.shape, x.strides);
    let mut shape = x.shape.clone();
    shape[axis] = k;
    assert_eq!((&found.values.shape, &found.indices.shape), (&shape, &shape), "{what}");
    assert_eq!(found.values.dtype(), x.dtype, "{what}");
    let (of_result, of_x) = (rows(&shape, &[axis as isize]), rows(&x.shape, &[axis as isize]));
    let indices = found.indices.clone().into_vec::<i64>().unwrap();
    with_dtype!(x.dtype, T => {
        let x = typed::<T>(x);
        for (places, row) in of_result.iter().zip(of_x) {
            let row: Vec<T> = row.into_iter().map(|i| x[i]).collect();
            for (&place, want) in places.iter().zip(sorted(&row, largest)) {
                assert_eq!(indices[place], want as i64, "{what}");
                assert_eq!(found.values.values.get(place).bits(), canonical(row[want]).bits(), "{what}");
            }
        }
    });
}

#[test]
fn top() {
    many(500, |r, _, what| {
        let dtype = DType::ALL[r.below(DType::ALL.len())];
        let (shape, _) = problem(r);
        let axis = r.below(shape.len());
        let wild = [0, 5, 60][r.below(3)];
        let x = Strided::new(r, dtype, &shape, |r| element(r, dtype, wild));
        let k = match r.below(4) {
            0 => shape[axis],
            1 => r.below(9).min(shape[axis]),
            _ => r.below(shape[axis] + 1),
        };
        let (largest, threads) = (r.chance(60), 1 + r.below(3));
        check(&x, (k, axis, largest), threads, &format!("{what} {dtype}"));
    });
}

/// Long rows are cut into parts; those in the worst order have candidates everywhere.
#[test]
fn long_rows() {
    let r = &mut Random(9);
    for dtype in [DType::F32, DType::I16, DType::F64] {
        for shape in [vec![700_001], vec![2, 300_000], vec![300_000, 3]] {
            let axis = if shape[0] > 2 { 0 } else { 1 };
            let random = Strided::new(r, dtype, &shape, |r| element(r, dtype, 1));
            check(&random, (77, axis, true), 2, "random");
            check(&random, (1, axis, false), 2, "random");
            let next = std::cell::Cell::new(0);
            let ascending = |_: &mut Random| {
                let n = next.replace(next.get() + 1);
                warpfold::Values::I64(vec![n / 50]).cast(dtype).get(0)
            };
            let size = dtype.size() as isize;
            let strides = if shape.len() == 1 { vec![size] } else { vec![size * shape[1] as isize, size] };
            let ascending = Strided::place(r, dtype, &shape, strides, 0, ascending);
            check(&ascending, (100, axis, true), 2, "ascending");
            check(&ascending, (40_000, axis, false), 2, "ascending");
        }
    }
}

/// The bits of a row's results do not depend on its neighbours.
#[test]
fn a_row_alone() {
    let r = &mut Random(3);
    let x = Strided::place(r, DType::F32, &[50, 400], vec![1600, 4], 0, |r| element(r, DType::F32, 5));
    let all = top_k(x.view(), 7, 1, true, None).unwrap();
    for row in [0, 17, 49] {
        let alone = top_k(x.view().narrow(0, row, 1), 7, 1, true, None).unwrap();
        assert_eq!(bits(&all.values)[row * 7..][..7], bits(&alone.values)[..]);
    }
}

#[test]
fn errors() {
    let x = ArrayRef::flat(&[1i32, 2]);
    let error = top_k(x, 3, 0, true, None).unwrap_err();
    assert!(matches!(error, Error::Pool(PoolError::K { k: 3, len: 2 })), "{error}");
    assert_eq!(error.to_string(), "top_k with k 3 of an axis of 2 elements: give 0 to 2");
    assert!(matches!(top_k(x, 1, 1, true, None), Err(Error::AxisOutOfRange { .. })));
    assert!(matches!(top_k(x, usize::MAX, 0, true, None), Err(Error::Pool(PoolError::K { .. }))));
    let scalar = ArrayRef::from_slice(&[1i32], &[]).unwrap();
    assert!(matches!(top_k(scalar, 1, 0, true, None), Err(Error::AxisOutOfRange { .. })));
    assert_eq!(sorted(&[f32::NAN, 1.0, -0.0, 0.0, 2.0], true), [0, 4, 1, 2, 3]);
}
