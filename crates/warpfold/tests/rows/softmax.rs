//! Softmax, its logarithm, and their gradients.

use warpfold::core::ops::{Exponential, LogSumExp, Plain, Precision, Sum};
use warpfold::core::{Float, Real, Reducer, tree};
use warpfold::rows::{Softmax, log_softmax, log_softmax_backward, softmax, softmax_backward};
use warpfold::{ArrayRef, DType, Element, RowError, Value};

use crate::reference::{Random, Strided};
use crate::{floats, many, problem, rounded, rows, same, wide, with_float};

/// The definition for a row: `None` for elements that are masked out.
fn of_row<F: Value + Float + Element<Float = F, Mean = F>>(row: &[Option<F>], scale: F, log: bool) -> Vec<F>
where
    Plain: Precision<F, Real = F>,
{
    let reducer = LogSumExp::<F>::new();
    let scaled: Vec<Option<F>> = row.iter().map(|x| x.map(|x| x.mul(scale))).collect();
    let nothing = reducer.identity().unwrap();
    let nodes = scaled.iter().map(|x| x.map_or(nothing, |x| reducer.lift(x, 0)));
    let node = tree::tree(&reducer, nodes).unwrap_or(nothing);
    let infinity = F::ONE.div(F::ZERO);
    let finite = node.sum < infinity;
    let inverse = if finite { F::ONE.div(node.sum) } else { infinity.sub(infinity) };
    let (first, rest) = (reducer.finish(node, row.len() as u64), F::log_words(node.scale, node.sum).1);
    let one = |x: F| {
        if log {
            return x.sub(first).sub(rest);
        }
        let (scale, term) = x.scaled_exp();
        let step = F::from_f64(2f64.powi(-(F::STEP as i32)));
        let (y, steps) = (term.mul(inverse), node.scale.sub(scale));
        match steps {
            _ if steps == F::ZERO => y,
            _ if steps == F::ONE => y.mul(step),
            _ if steps == F::from_f64(2.0) => y.mul(step).mul(step),
            _ => y.mul(F::ZERO),
        }
    };
    let absent = if log { F::ZERO.sub(infinity) } else { F::ZERO };
    scaled.into_iter().map(|x| x.map_or(absent, one)).collect()
}

#[test]
fn forward() {
    many(400, |r, dtype, what| {
        let (shape, axes) = problem(r);
        let x = floats(r, dtype, &shape);
        let log = r.chance(50);
        let mask = r.chance(30).then(|| {
            let from = r.below(shape.len() + 1);
            let shape: Vec<usize> = shape[from..].iter().map(|&n| if r.chance(20) { 1 } else { n }).collect();
            let percent = [5, 50, 95][r.below(3)];
            Strided::new(r, DType::Bool, &shape, |r| warpfold::Scalar::Bool(r.chance(percent)))
        });
        let scale = if r.chance(40) { [0.125, -3.7, 0.0][r.below(3)] } else { 1.0 };
        let threads = Some(1 + r.below(3));
        let options = Softmax { scale, mask: mask.as_ref().map(Strided::view), threads };
        let got = if log { log_softmax } else { softmax }(x.view(), &axes, &options).unwrap();
        let what = format!("{what} {shape:?} {axes:?} {:?} log {log} scale {scale} {}", x.strides, mask.is_some());
        assert_eq!((&got.shape, got.dtype()), (&shape, dtype), "{what}");
        let keep = mask.as_ref().map(|mask| broadcast(mask, &shape));
        let want = with_float!(dtype, F => {
            let x = wide::<F>(&x);
            let mut want = vec![0; x.len()];
            for row in rows(&shape, &axes) {
                let there = |i: usize| keep.as_ref().is_none_or(|keep| keep[i]);
                let items: Vec<Option<F>> = row.iter().map(|&i| there(i).then_some(x[i])).collect();
                let results = of_row(&items, F::from_f64(scale), log);
                row.iter().zip(results).for_each(|(&i, y)| want[i] = rounded(y, dtype));
            }
            want
        });
        same(&got, &want, &what);
    });
}

/// The mask of each element.
fn broadcast(mask: &Strided, shape: &[usize]) -> Vec<bool> {
    let (elements, missing) = (mask.elements(), shape.len() - mask.shape.len());
    let place = |mut i: usize| {
        let (mut at, mut step) = (0, 1);
        for axis in (0..shape.len()).rev() {
            if axis >= missing {
                at += i % shape[axis] % mask.shape[axis - missing] * step;
                step *= mask.shape[axis - missing];
            }
            i /= shape[axis];
        }
        at
    };
    (0..shape.iter().product()).map(|i| elements[place(i)] == warpfold::Scalar::Bool(true)).collect()
}

#[test]
fn backward() {
    many(300, |r, dtype, what| {
        let (shape, axes) = problem(r);
        let y = floats(r, dtype, &shape);
        let other = [dtype, DType::F32][r.below(2)];
        let gradient = floats(r, other, &shape);
        let log = r.chance(50);
        let scale = if r.chance(40) { 0.3 } else { 1.0 };
        let options = Softmax { scale, threads: Some(1 + r.below(3)), ..Softmax::default() };
        let op = if log { log_softmax_backward } else { softmax_backward };
        let got = op(y.view(), gradient.view(), &axes, &options).unwrap();
        let want = with_float!(dtype, F => {
            let (y, g) = (wide::<F>(&y), wide::<F>(&gradient));
            let mut want = vec![0; y.len()];
            for row in rows(&shape, &axes) {
                let term = |&i: &usize| if log { g[i] } else { g[i] * y[i] };
                let sum = tree::tree(&Sum::<F>::total(), row.iter().map(term)).unwrap_or(0.0);
                for i in row {
                    let x = if log { g[i] - y[i].full_exp() * sum } else { y[i] * (g[i] - sum) };
                    want[i] = rounded(x * scale as F, dtype);
                }
            }
            want
        });
        same(&got, &want, &format!("{what} {shape:?} {axes:?} log {log} {:?} {:?}", y.strides, gradient.strides));
    });
}

/// Rows beyond a chunk are cut over tasks, by rows and by columns.
#[test]
fn long_rows() {
    let r = &mut Random(77);
    for (shape, axis) in [(vec![2, 600_001], 1), (vec![70_003, 3], 0), (vec![9_001, 40], 0), (vec![300_000], 0)] {
        for dtype in [DType::F32, DType::BF16] {
            let x = floats(r, dtype, &shape);
            let options = Softmax { threads: Some(2), ..Softmax::default() };
            let got = softmax(x.view(), &[axis], &options).unwrap();
            let x = wide::<f32>(&x);
            let mut want = vec![0; x.len()];
            for row in rows(&shape, &[axis]) {
                let items: Vec<Option<f32>> = row.iter().map(|&i| Some(x[i])).collect();
                row.iter().zip(of_row(&items, 1.0, false)).for_each(|(&i, y)| want[i] = rounded(y, dtype));
            }
            same(&got, &want, &format!("{shape:?} {dtype}"));
        }
    }
}

#[test]
fn errors() {
    let integers = ArrayRef::flat(&[1i32, 2]);
    let error = softmax(integers, &[0], &Softmax::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "softmax takes floats, but the elements have dtype i32: cast them first",
        "the error says what to do"
    );
    let (x, y) = ([1.0f32, 2.0], [1.0f32; 3]);
    let (x, y) = (ArrayRef::flat(&x), ArrayRef::flat(&y));
    let error = softmax_backward(x, y, &[0], &Softmax::default()).unwrap_err();
    let warpfold::Error::Row(RowError::Shape { expected, found, .. }) = error else { panic!("{error}") };
    assert_eq!((expected, found), (vec![2], vec![3]));
    assert!(softmax(x, &[1], &Softmax::default()).is_err());
    let mask = Softmax { mask: Some(y), ..Softmax::default() };
    assert!(matches!(softmax(x, &[0], &mask), Err(warpfold::Error::MaskDType { .. })));
}
