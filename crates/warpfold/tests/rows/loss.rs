//! Cross-entropy.

use warpfold::core::ops::{LogSumExp, Sum, brief_exp};
use warpfold::core::rows::{LogSoftmax, Softmax};
use warpfold::core::{Reducer, tree};
use warpfold::rows::{CrossEntropy, LossReduction, cross_entropy, cross_entropy_gradient};
use warpfold::{ArrayRef, DType, Error, RowError, Scalar};

use crate::distribution;
use crate::given::Given;
use crate::reference::{Random, Strided};
use crate::{bits, floats, many, problem, rounded, rows, same, wide, with_float};

const INTEGERS: [DType; 4] = [DType::I64, DType::I16, DType::I32, DType::I8];

#[test]
fn loss_and_gradient() {
    many(300, |r, dtype, what| {
        let (shape, _) = problem(r);
        let axis = r.below(shape.len());
        if shape[axis] > 0 {
            check(r, dtype, &shape, axis, what);
            distribution::check(r, dtype, &shape, axis, what);
        }
    });
}

/// Calls `each` with shapes of many classes, or of many rows, and the axis of the classes.
pub fn of_many_classes(seed: u64, mut each: impl FnMut(&mut Random, DType, &[usize], usize)) {
    let r = &mut Random(seed);
    for (shape, axis) in [([2, 300_000], 1), ([9_001, 40], 0), ([40_000, 4], 1)] {
        for dtype in [DType::F32, DType::BF16] {
            each(r, dtype, &shape, axis);
        }
    }
}

#[test]
fn many_classes() {
    of_many_classes(9, |r, dtype, shape, axis| {
        (0..2).for_each(|_| check(r, dtype, shape, axis, "many"));
        (0..2).for_each(|_| distribution::check(r, dtype, shape, axis, "many"));
    });
}

fn check(r: &mut Random, dtype: DType, shape: &[usize], axis: usize, what: &str) {
    let classes = shape[axis];
    let batch: Vec<usize> = (0..shape.len()).filter(|&a| a != axis).map(|a| shape[a]).collect();
    let x = floats(r, dtype, shape);
    let ignored = r.below(30);
    let integer = INTEGERS[if classes < 100 { r.below(4) } else { 0 }];
    let targets = Strided::new(r, integer, &batch, |r| {
        let target = if r.chance(ignored) { -100 } else { r.below(classes) as i64 };
        warpfold::Values::I64(vec![target]).cast(integer).get(0)
    });
    let given = Given::new(r, dtype, classes, &batch);
    let Given { weights, smoothing, reduction, of_loss, upstream, .. } = &given;
    let (smoothing, reduction, options) = (*smoothing, *reduction, given.options());
    let axis_given = if r.chance(50) { axis as isize } else { axis as isize - shape.len() as isize };
    let got = cross_entropy_gradient(x.view(), targets.view(), axis_given, &options).unwrap();
    let loss = cross_entropy(x.view(), targets.view(), axis_given, &options).unwrap();
    let what =
        format!("{what} {shape:?} {axis} {smoothing} {reduction:?} weights {} {:?}", weights.is_some(), x.strides);
    assert_eq!((bits(&loss), &loss.shape), (bits(&got.loss), &got.loss.shape), "{what}");
    with_float!(dtype, F => {
        let x = wide::<F>(&x);
        let weight = weights.as_ref().map_or(vec![1.0; classes], wide::<F>);
        let targets: Vec<i64> = wide::<i64>(&targets);
        let total = tree::tree(&Sum::<F>::total(), weight.iter().copied()).unwrap();
        let (share, each) = ((1.0 - smoothing) as F, (smoothing / classes as f64) as F);
        let of_target = |t: &i64| if *t == -100 { 0.0 } else { weight[*t as usize] };
        let of_targets = tree::tree(&Sum::<F>::total(), targets.iter().map(of_target)).unwrap_or(0.0);
        let counted = targets.iter().filter(|&&t| t != -100).count() as F;
        let divisor = match reduction {
            LossReduction::Mean if weights.is_some() => of_targets,
            LossReduction::Mean => counted,
            _ => 1.0,
        };
        let upstream = upstream.as_ref().map(wide::<F>);
        let (mut losses, mut logs, mut want) = (Vec::new(), Vec::new(), vec![0; x.len()]);
        for (row, (indices, &target)) in rows(shape, &[axis as isize]).iter().zip(&targets).enumerate() {
            let reducer = LogSumExp::<F>::new();
            let node = tree::tree(&reducer, indices.iter().map(|&i| reducer.lift(x[i], 0))).unwrap();
            let logsumexp = reducer.finish(node, indices.len() as u64);
            let (log, softmax) = (LogSoftmax { log: logsumexp, ..LogSoftmax::of(node) }, Softmax::of(node));
            logs.push(rounded(logsumexp, dtype));
            if target == -100 {
                losses.push(0.0);
                indices.iter().for_each(|&i| want[i] = rounded(0.0 as F, dtype));
                continue;
            }
            let target = target as usize;
            let own = share * weight[target];
            let mut loss = own * log.log_probability(x[indices[target]]);
            if smoothing != 0.0 {
                let all = indices.iter().zip(&weight).map(|(&i, w)| log.log_probability(x[i]) * w);
                loss += each * tree::tree(&Sum::<F>::total(), all).unwrap();
            }
            losses.push(0.0 - loss);
            let scale = match &upstream {
                Some(upstream) => upstream[if of_loss.is_empty() { 0 } else { row }] / divisor,
                None => 1.0 / divisor,
            };
            let brief = softmax.inverse * own * scale;
            let is_brief = dtype == DType::BF16
                && (smoothing, softmax.scale) == (0.0, 0.0)
                && ((2.0 as F).powi(-64)..(2.0 as F).powi(64)).contains(&brief.abs());
            for (class, &i) in indices.iter().enumerate() {
                if is_brief && class != target && x[i].abs() < 29.0 {
                    want[i] = rounded(brief_exp(x[i]) * brief, dtype);
                    continue;
                }
                let factor = if smoothing != 0.0 { own + each * total } else { own };
                let mut gradient = softmax.probability(x[i]) * factor;
                if smoothing != 0.0 {
                    gradient -= each * weight[class];
                }
                if class == target {
                    gradient -= own;
                }
                want[i] = rounded(gradient * scale, dtype);
            }
        }
        same(&got.gradient, &want, &what);
        assert_eq!(bits(&got.logsumexp), logs, "{what}");
        let total = tree::tree(&Sum::<F>::total(), losses.iter().copied()).unwrap_or(0.0) / divisor;
        let want = if reduction == LossReduction::None { losses } else { vec![total] };
        let want: Vec<u64> = want.into_iter().map(|loss| rounded(loss, dtype)).collect();
        assert_eq!((bits(&got.loss), &got.loss.shape), (want, of_loss), "{what}");
    });
}

#[test]
fn errors() {
    let logits = [0.0f32; 6];
    let logits = ArrayRef::from_slice(&logits, &[2, 3]).unwrap();
    let check = |targets: ArrayRef<'_>, options: &CrossEntropy<'_>| match cross_entropy(logits, targets, 1, options) {
        Err(Error::Row(error)) => error,
        other => panic!("{other:?}"),
    };
    let options = CrossEntropy::default();
    let error = check(ArrayRef::flat(&[0i64, 3]), &options);
    assert_eq!(error, RowError::Target { row: 1, target: 3, classes: 3 });
    assert_eq!(error.to_string(), "target 3 of row 1 is no class: give 0 to 2, or the target that is ignored");
    assert!(
        matches!(check(ArrayRef::flat(&[u64::MAX, 0]), &options), RowError::Target { row: 0, target, .. } if target > 0)
    );
    assert!(matches!(check(ArrayRef::flat(&[0.0f32, 1.0]), &options), RowError::NotIntegers { dtype: DType::F32 }));
    assert!(matches!(check(ArrayRef::flat(&[0i64; 3]), &options), RowError::Shape { .. }));
    let smooth = CrossEntropy { smoothing: 1.5, ..options };
    assert!(matches!(check(ArrayRef::flat(&[0i64; 2]), &smooth), RowError::Number { .. }));
    let nothing = ArrayRef::from_slice::<f32>(&[], &[2, 0]).unwrap();
    let error = cross_entropy(nothing, ArrayRef::flat(&[-100i64; 2]), 1, &options).unwrap_err();
    assert!(matches!(error, Error::Row(RowError::NoClasses { axis: 1, .. })));
    // The logarithm of the number of classes.
    let loss = cross_entropy(logits, ArrayRef::flat(&[0i64, 2]), 1, &options).unwrap();
    assert_eq!(loss.scalar(), Some(Scalar::F32(3f32.ln())));
    // All rows ignored: nothing over nothing.
    let loss = cross_entropy(logits, ArrayRef::flat(&[-100i64; 2]), 1, &options).unwrap();
    assert!(matches!(loss.scalar(), Some(Scalar::F32(x)) if x.is_nan()));
}
