//! Classes drawn by noise that is given.

use warpfold::select::sample;
use warpfold::{ArrayRef, DType, Error, RowError};

use crate::reference::{Random, Strided};
use crate::{FLOATS, float, floats, many_axes, rows, wide, with_float};

/// Asserts that the classes are those of the definition.
fn check(r: &mut Random, dtype: DType, shape: &[usize], axis: usize, what: &str) {
    let (of_noise, wild) = (FLOATS[r.below(4)], [0, 0, 10][r.below(3)]);
    let x = floats(r, dtype, shape);
    let noise = Strided::new(r, of_noise, shape, |r| float(r, of_noise, 5.0, wild));
    let temperature = [0.0, 1e-3, 0.7, 1.0, 30.0][r.below(5)];
    let axis_given = axis as isize - if r.chance(50) { 0 } else { shape.len() as isize };
    let threads = Some(1 + r.below(3));
    let got = sample(x.view(), noise.view(), temperature, axis_given, threads).unwrap();
    let batch: Vec<usize> = (0..shape.len()).filter(|&a| a != axis).map(|a| shape[a]).collect();
    let what = format!("{what} {shape:?} {axis} {of_noise} {temperature} {:?} {:?}", x.strides, noise.strides);
    assert_eq!(got.shape, batch, "{what}");
    let got = got.into_vec::<i64>().unwrap();
    with_float!(dtype, F => {
        let (x, noise) = (wide::<F>(&x), wide::<F>(&noise));
        for (row, indices) in rows(shape, &[axis as isize]).iter().enumerate() {
            let score = |i: usize| match x[i] {
                logit if temperature == 0.0 || logit == F::NEG_INFINITY => logit,
                logit => logit + noise[i] * temperature as F,
            };
            let scores: Vec<F> = indices.iter().map(|&i| score(i)).collect();
            let mut want = 0;
            for (i, score) in scores.iter().enumerate() {
                if !scores[want].is_nan() && (score.is_nan() || *score > scores[want]) {
                    want = i;
                }
            }
            assert_eq!(got[row], want as i64, "{what} row {row}");
        }
    });
}

#[test]
fn drawn() {
    many_axes(300, check);
}

#[test]
fn long_rows() {
    let r = &mut Random(5);
    for (shape, axis) in [(vec![300_001], 0), (vec![2, 150_000], 1), (vec![70_000, 3], 0), (vec![90_000, 4], 1)] {
        for dtype in FLOATS {
            check(r, dtype, &shape, axis, "long");
        }
    }
}

/// Greatest of equal ones: the first. Nothing but minus infinity: the first, too.
#[test]
fn ties() {
    let drawn = |logits: &[f32], noise: &[f32], temperature| {
        let found = sample(ArrayRef::flat(logits), ArrayRef::flat(noise), temperature, 0, None).unwrap();
        found.into_vec::<i64>().unwrap()[0]
    };
    assert_eq!(drawn(&[1.0, 2.0, 2.0, 1.0], &[1.0, 0.0, 0.0, 1.0], 1.0), 0);
    assert_eq!(drawn(&[-0.0, 0.0], &[0.0, 0.0], 1.0), 0);
    let least = f32::NEG_INFINITY;
    assert_eq!(drawn(&[least; 3], &[f32::INFINITY, 0.0, f32::NAN], 1.0), 0);
    assert_eq!(drawn(&[least, 1.0, least], &[f32::INFINITY, -50.0, f32::NAN], 1.0), 1);
    assert_eq!(drawn(&[1.0, 3.0], &[f32::INFINITY, f32::NAN], 0.0), 1);
}

#[test]
fn errors() {
    let logits = [0.0f32; 6];
    let logits = ArrayRef::from_slice(&logits, &[2, 3]).unwrap();
    let fails = |noise: ArrayRef<'_>, temperature, axis| sample(logits, noise, temperature, axis, None).unwrap_err();
    for temperature in [-1.0, f64::NAN, f64::INFINITY] {
        let error = fails(logits, temperature, 1);
        assert!(matches!(error, Error::Row(RowError::Number { op: "sample", what: "temperature", .. })), "{error}");
    }
    assert!(matches!(fails(ArrayRef::flat(&[0.0f32; 3]), 1.0, 1), Error::Row(RowError::Shape { .. })));
    let integers = [0i32; 6];
    let integers = ArrayRef::from_slice(&integers, &[2, 3]).unwrap();
    assert!(matches!(fails(integers, 1.0, 1), Error::Row(RowError::NotFloats { .. })));
    assert!(matches!(fails(logits, 1.0, 2), Error::AxisOutOfRange { .. }));
    let nothing = ArrayRef::from_slice::<f32>(&[], &[2, 0]).unwrap();
    assert!(matches!(sample(nothing, nothing, 1.0, 1, None), Err(Error::Empty { .. })));
    assert_eq!(sample(nothing, nothing, 1.0, 0, None).unwrap().shape, [0]);
}
