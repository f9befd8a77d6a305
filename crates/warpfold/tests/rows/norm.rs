//! Norms and their gradients.

use warpfold::core::ops::{Deviation, Square, Sum};
use warpfold::core::{Element, Reducer, tree};
use warpfold::rows::{
    Norm, NormGradients, layer_norm, layer_norm_backward, layer_norm_backward_given, layer_norm_residual, rms_norm,
    rms_norm_backward, rms_norm_residual,
};
use warpfold::{ArrayRef, DType, RowError};

use crate::reference::{Random, Strided};
use crate::{FLOATS, bits, float, floats, many, problem, rounded, rows, same, wide, with_float};

/// An array of the shape of a row, of any float dtype, near one.
fn of_row(r: &mut Random, shape: &[usize], axes: &[isize]) -> Strided {
    let rank = shape.len() as isize;
    let shape: Vec<usize> =
        (0..rank).filter(|a| axes.contains(a) || axes.contains(&(a - rank))).map(|a| shape[a as usize]).collect();
    let dtype = FLOATS[r.below(4)];
    Strided::new(r, dtype, &shape, |r| float(r, dtype, 1.5, 0))
}

/// The mean of a row, and one over its deviation.
macro_rules! row {
    ($f:ident, $layer:expr, $x:expr, $epsilon:expr) => {{
        let (x, n) = ($x, $x.len() as $f);
        if $layer {
            let reducer = Deviation::<$f>::new(0.0, false);
            match tree::tree(&reducer, x.iter().map(|&x| reducer.lift(x, 0))) {
                Some(node) => (node.mean, 1.0 / (node.m2 / n + $epsilon as $f).sqrt()),
                None => (0.0, 0.0),
            }
        } else {
            let squares = tree::tree(&Sum::<$f, Square>::norm2(), x.iter().map(|x| x * x)).unwrap_or(0.0);
            (0.0, 1.0 / (squares / n + $epsilon as $f).sqrt())
        }
    }};
}

#[test]
fn forward() {
    many(400, |r, dtype, what| {
        let (shape, axes) = problem(r);
        let x = floats(r, dtype, &shape);
        let residual = r.chance(30).then(|| {
            let of_residual = FLOATS[r.below(4)];
            floats(r, of_residual, &shape)
        });
        let (weight, bias) =
            (r.chance(60).then(|| of_row(r, &shape, &axes)), r.chance(40).then(|| of_row(r, &shape, &axes)));
        let (layer, weight_offset) = (r.chance(50), [0.0, 0.0, 1.0][r.below(3)]);
        let epsilon = [0.0, 1e-5, 1e-3][r.below(3)];
        let threads = Some(1 + r.below(3));
        let (given, added) = (weight.as_ref().map(Strided::view), bias.as_ref().map(Strided::view));
        let options = Norm { weight: given, bias: added, weight_offset, epsilon, threads, ..Norm::default() };
        let (got, sum) = match &residual {
            Some(residual) => {
                let op = if layer { layer_norm_residual } else { rms_norm_residual };
                let found = op(x.view(), residual.view(), &axes, &options).unwrap();
                (found.y, Some(found.sum))
            }
            None => (if layer { layer_norm } else { rms_norm }(x.view(), &axes, &options).unwrap(), None),
        };
        assert_eq!((&got.shape, got.dtype()), (&shape, dtype));
        let want = with_float!(dtype, F => {
            let (weight, bias) = (weight.as_ref().map(wide::<F>), bias.as_ref().map(wide::<F>));
            let x = match &residual {
                Some(residual) => {
                    // The sums as they are in the dtype of the elements.
                    let added = wide::<F>(&x).into_iter().zip(wide::<F>(residual)).map(|(x, residual)| x + residual);
                    let want: Vec<u64> = added.map(|sum| rounded(sum, dtype)).collect();
                    let sum = sum.as_ref().unwrap();
                    same(sum, &want, &format!("{what} sums {shape:?} {axes:?}"));
                    (0..want.len()).map(|i| F::from_cast(sum.values.get(i).to_cast())).collect()
                }
                None => wide::<F>(&x),
            };
            let mut want = vec![0; x.len()];
            for indices in rows(&shape, &axes) {
                let items: Vec<F> = indices.iter().map(|&i| x[i]).collect();
                let (mean, inverse) = row!(F, layer, &items, epsilon);
                for (at, &i) in indices.iter().enumerate() {
                    let mut y = if layer { (x[i] - mean) * inverse } else { x[i] * inverse };
                    if let Some(weight) = &weight {
                        y *= if weight_offset != 0.0 { weight[at] + weight_offset as F } else { weight[at] };
                    }
                    if let Some(bias) = &bias {
                        y += bias[at];
                    }
                    want[i] = rounded(y, dtype);
                }
            }
            want
        });
        same(&got, &want, &format!("{what} {shape:?} {axes:?} layer {layer} {:?}", x.strides));
    });
}

#[test]
fn backward() {
    many(300, |r, dtype, what| {
        let (shape, axes) = problem(r);
        check_backward(r, dtype, &shape, &axes, what);
    });
}

/// Rows beyond a chunk are cut over tasks, and many rows are.
#[test]
fn large() {
    let r = &mut Random(5);
    for (shape, axes) in
        [(vec![3, 270_001], [1]), (vec![20_011, 30], [1]), (vec![5_000, 70], [0]), (vec![700, 301], [1])]
    {
        for dtype in [DType::F32, DType::BF16] {
            check_backward(r, dtype, &shape, &axes, "large");
        }
    }
}

fn check_backward(r: &mut Random, dtype: DType, shape: &[usize], axes: &[isize], what: &str) {
    let (x, g) = (floats(r, dtype, shape), floats(r, dtype, shape));
    let (weight, bias) = (r.chance(60).then(|| of_row(r, shape, axes)), r.chance(40).then(|| of_row(r, shape, axes)));
    let layer = r.chance(50);
    let options = Norm {
        weight: weight.as_ref().map(Strided::view),
        bias: bias.as_ref().map(Strided::view),
        threads: Some(1 + r.below(3)),
        ..Norm::default()
    };
    let op = if layer { layer_norm_backward } else { rms_norm_backward };
    let got = op(x.view(), g.view(), axes, &options).unwrap();
    let frozen = op(x.view(), g.view(), axes, &Norm { frozen: true, ..options }).unwrap();
    let of_rest = |of: &NormGradients| (bits(&of.x), of.bias.as_ref().map(bits));
    assert!(
        frozen.weight.is_none() && of_rest(&frozen) == of_rest(&got),
        "{what} {shape:?} {axes:?} layer {layer}, frozen"
    );
    let what = format!("{what} {shape:?} {axes:?} layer {layer} {:?} {:?}", x.strides, g.strides);
    let (of_x, of_g) = (x.view(), g.view());
    with_float!(dtype, F => {
        let (x, g) = (wide::<F>(&x), wide::<F>(&g));
        let (mut means, mut inverses) = (Vec::new(), Vec::new());
        let factors = weight.as_ref().map(wide::<F>);
        let rows = rows(shape, axes);
        let len = axes.iter().map(|&a| shape[a.rem_euclid(shape.len() as isize) as usize]).product();
        let mut want = vec![0; x.len()];
        let (mut of_weights, mut of_biases) = (vec![Vec::new(); len], vec![Vec::new(); len]);
        for indices in &rows {
            let items: Vec<F> = indices.iter().map(|&i| x[i]).collect();
            let (mean, inverse) = row!(F, layer, &items, 1e-5);
            means.push(mean);
            inverses.push(inverse);
            let normal: Vec<F> = items.iter().map(|x| (x - mean) * inverse).collect();
            let weighed = |at: usize| factors.as_ref().map_or(g[indices[at]], |w| g[indices[at]] * w[at]);
            let n = items.len() as F;
            let sum = Sum::<F>::total();
            let total = tree::tree(&sum, (0..items.len()).map(weighed)).unwrap_or(0.0) / n;
            let slope = tree::tree(&sum, (0..items.len()).map(|at| weighed(at) * normal[at])).unwrap_or(0.0) / n;
            for (at, &i) in indices.iter().enumerate() {
                let centred = if layer { weighed(at) - total } else { weighed(at) };
                want[i] = rounded((centred - normal[at] * slope) * inverse, dtype);
                of_weights[at].push(g[i] * normal[at]);
                of_biases[at].push(g[i]);
            }
        }
        same(&got.x, &want, &what);
        if layer {
            let rank = shape.len() as isize;
            let kept = |axis: &isize| !axes.contains(axis) && !axes.contains(&(axis - rank));
            let batch: Vec<usize> = (0..rank).filter(kept).map(|axis| shape[axis as usize]).collect();
            let statistics = [&means, &inverses].map(|of| ArrayRef::from_slice(of, &batch).unwrap());
            let options = Norm { epsilon: f64::NAN, ..options };
            let given = layer_norm_backward_given(of_x, of_g, statistics, axes, &options).unwrap();
            same(&given.x, &want, &what);
            assert_eq!((given.weight.as_ref().map(bits), given.bias.as_ref().map(bits)),
                (got.weight.as_ref().map(bits), got.bias.as_ref().map(bits)), "{what}");
        }
        let down = |columns: Vec<Vec<F>>, dtype| -> Vec<u64> {
            let sum = |column: Vec<F>| tree::tree(&Sum::<F>::total(), column).unwrap_or(0.0);
            columns.into_iter().map(|column| narrow(sum(column), dtype)).collect()
        };
        assert_eq!(got.weight.as_ref().map(bits), weight.map(|w| down(of_weights, w.dtype)), "{what}");
        assert_eq!(got.bias.as_ref().map(bits), bias.map(|b| down(of_biases, b.dtype)), "{what}");
    });
}

/// A float rounded once to a dtype that may be another float.
fn narrow<F: warpfold::Value>(x: F, dtype: DType) -> u64 {
    let x = warpfold::Values::F64(vec![F::wrap(vec![x]).cast(DType::F64).get(0).to_f64()]);
    let x = x.cast(dtype).get(0);
    if x.to_f64().is_nan() { warpfold::Values::F64(vec![f64::NAN]).cast(dtype).get(0).bits().0 } else { x.bits().0 }
}

#[test]
fn errors() {
    let (x, weight) = ([1.0f32; 6], [1.0f32; 4]);
    let x = ArrayRef::from_slice(&x, &[2, 3]).unwrap();
    let options = Norm { weight: Some(ArrayRef::flat(&weight)), ..Norm::default() };
    let error = rms_norm(x, &[1], &options).unwrap_err();
    assert_eq!(error.to_string(), "rms_norm: the weights have shape [4], and must have shape [3]");
    let error = layer_norm_residual(x, ArrayRef::flat(&weight), &[1], &Norm::default()).unwrap_err();
    assert_eq!(error.to_string(), "layer_norm_residual: the residuals have shape [4], and must have shape [2, 3]");
    let one = ArrayRef::flat(&[1.0f32]);
    let error = layer_norm_backward_given(x, x, [one; 2], &[1], &Norm::default()).unwrap_err();
    assert_eq!(error.to_string(), "layer_norm_backward_given: the means have shape [1], and must have shape [2]");
    let integers = [1i8; 3];
    let options = Norm { bias: Some(ArrayRef::flat(&integers)), ..Norm::default() };
    let error = layer_norm(x, &[1], &options).unwrap_err();
    assert!(matches!(error, warpfold::Error::Row(RowError::NotFloats { .. })), "{error}");
}
