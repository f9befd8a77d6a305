//! Cross-entropy of distributions.

use warpfold::core::ops::{LogSumExp, Sum};
use warpfold::core::rows::{LogSoftmax, Softmax};
use warpfold::core::{Reducer, tree};
use warpfold::rows::{CrossEntropy, LossReduction, cross_entropy, cross_entropy_gradient};
use warpfold::{ArrayRef, DType, Error, RowError};

use crate::given::Given;
use crate::reference::{Random, Strided};
use crate::{FLOATS, bits, float, floats, rounded, rows, same, wide, with_float};

pub fn check(r: &mut Random, dtype: DType, shape: &[usize], axis: usize, what: &str) {
    let classes = shape[axis];
    let batch: Vec<usize> = (0..shape.len()).filter(|&a| a != axis).map(|a| shape[a]).collect();
    let of_targets = FLOATS[r.below(4)];
    let x = floats(r, dtype, shape);
    let wild = [0, 0, 10][r.below(3)];
    let y = Strided::new(r, of_targets, shape, |r| float(r, of_targets, 1.0, wild));
    let given = Given::new(r, dtype, classes, &batch);
    let Given { weights, smoothing, reduction, of_loss, upstream, .. } = &given;
    let (smoothing, reduction, options) = (*smoothing, *reduction, given.options());
    let what =
        format!("{what} {shape:?} {axis} {smoothing} {reduction:?} {of_targets} {:?} {:?}", x.strides, y.strides);
    let axis_given = axis as isize - if r.chance(50) { 0 } else { shape.len() as isize };
    let got = cross_entropy_gradient(x.view(), y.view(), axis_given, &options).unwrap();
    let loss = cross_entropy(x.view(), y.view(), axis_given, &options).unwrap();
    assert_eq!((bits(&loss), &loss.shape), (bits(&got.loss), &got.loss.shape), "{what}");
    with_float!(dtype, F => {
        let (x, y) = (wide::<F>(&x), wide::<F>(&y));
        let weight = weights.as_ref().map(wide::<F>);
        let (keep, each) = ((1.0 - smoothing) as F, (smoothing / classes as f64) as F);
        let rows = rows(shape, &[axis as isize]);
        let divisor = if reduction == LossReduction::Mean { rows.len() as F } else { 1.0 };
        let upstream = upstream.as_ref().map(wide::<F>);
        let (mut losses, mut logs, mut want) = (Vec::new(), Vec::new(), vec![0; x.len()]);
        let sum = |terms: Vec<F>| tree::tree(&Sum::<F>::total(), terms).unwrap();
        for (row, indices) in rows.iter().enumerate() {
            let reducer = LogSumExp::<F>::new();
            let node = tree::tree(&reducer, indices.iter().map(|&i| reducer.lift(x[i], 0))).unwrap();
            let logsumexp = reducer.finish(node, indices.len() as u64);
            let (log, softmax) = (LogSoftmax { log: logsumexp, ..LogSoftmax::of(node) }, Softmax::of(node));
            logs.push(rounded(logsumexp, dtype));
            let share = |(class, &i): (usize, &usize)| {
                let smoothed = if smoothing != 0.0 { y[i] * keep + each } else { y[i] };
                weight.as_ref().map_or(smoothed, |weight| smoothed * weight[class])
            };
            let shares: Vec<F> = indices.iter().enumerate().map(share).collect();
            losses.push(0.0 - sum(indices.iter().zip(&shares).map(|(&i, v)| log.log_probability(x[i]) * v).collect()));
            let total = sum(shares.clone());
            let scale = match &upstream {
                Some(upstream) => upstream[if of_loss.is_empty() { 0 } else { row }] / divisor,
                None => 1.0 / divisor,
            };
            for (&i, share) in indices.iter().zip(&shares) {
                want[i] = rounded((softmax.probability(x[i]) * total - share) * scale, dtype);
            }
        }
        same(&got.gradient, &want, &what);
        assert_eq!(bits(&got.logsumexp), logs, "{what}");
        let losses = match reduction {
            LossReduction::None => losses,
            _ => vec![tree::tree(&Sum::<F>::total(), losses).unwrap_or(0.0) / divisor],
        };
        let of_losses: Vec<u64> = losses.iter().map(|&loss| rounded(loss, dtype)).collect();
        assert_eq!((of_losses, of_loss), (bits(&got.loss), &got.loss.shape), "{what}");
    });
}

#[test]
fn errors() {
    let x = [0.0f32; 6];
    let x = ArrayRef::from_slice(&x, &[2, 3]).unwrap();
    let check = |targets: ArrayRef<'_>, options: &CrossEntropy<'_>| match cross_entropy(x, targets, 1, options) {
        Err(Error::Row(error)) => error,
        other => panic!("{other:?}"),
    };
    let other = [0.0f32; 4];
    let other = ArrayRef::from_slice(&other, &[2, 2]).unwrap();
    let error = check(other, &CrossEntropy::default());
    assert_eq!(error.to_string(), "cross_entropy: the targets have shape [2, 2], and must have shape [2, 3]");
    assert!(matches!(check(x, &CrossEntropy { smoothing: -0.1, ..Default::default() }), RowError::Number { .. }));
    let short = [1.0f32; 2];
    let options = CrossEntropy { weights: Some(ArrayRef::flat(&short)), ..CrossEntropy::default() };
    assert!(matches!(check(x, &options), RowError::Shape { what: "the weights", .. }));
    let nothing = ArrayRef::from_slice::<f32>(&[], &[2, 0]).unwrap();
    let error = cross_entropy(nothing, nothing, 1, &CrossEntropy::default()).unwrap_err();
    assert!(matches!(error, Error::Row(RowError::NoClasses { axis: 1, .. })));
}
