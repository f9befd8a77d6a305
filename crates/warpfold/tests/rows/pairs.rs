//! Two arrays in front of a reduction: losses, dot products, cosines and reducers of pairs.

use warpfold::core::ops::{Exponential, Sum};
use warpfold::core::{Pair, Reducer, tree};
use warpfold::cpu::kernel::Tree;
use warpfold::cpu::{gather, zip};
use warpfold::rows::{Loss, LossReduction, Pairs};
use warpfold::rows::{cosine_similarity, cosine_similarity_backward, dot, dot_backward, loss, loss_backward};
use warpfold::{ArrayRef, DType, Error, RowError};
use warpfold_testing::pairs::{What, what};

use crate::reference::{Random, Strided};
use crate::{FLOATS, bits, float, floats, many, problem, rounded, rows, same, wide, with_float};

/// The loss of an element, and its derivative.
macro_rules! term {
    ($f:ident, $loss:expr, $x:expr, $y:expr) => {{
        let (x, y): ($f, $f) = ($x, $y);
        let (d, small) = (x - y, (-x.abs()).full_exp());
        let sign = if d > 0.0 {
            1.0
        } else if d < 0.0 {
            -1.0
        } else {
            d + 0.0
        };
        match $loss {
            Loss::Mse => (d * d, 2.0 * d),
            Loss::L1 => (d.abs(), sign),
            Loss::Huber { delta } => {
                let delta = delta as $f;
                match d.abs() <= delta {
                    true => (0.5 * (d * d), d),
                    false => (delta * (d.abs() - 0.5 * delta), if d.is_nan() { d } else { sign * delta }),
                }
            }
            Loss::KlDiv { log_target: true } => {
                let p = y.full_exp();
                (if p == 0.0 { 0.0 } else { p * (y - x) }, 0.0 - p)
            }
            Loss::KlDiv { .. } => {
                let log = <$f as Exponential>::log(0.0, y);
                (if y == 0.0 { 0.0 } else { y * (log - x) }, 0.0 - y)
            }
            Loss::BceWithLogits => {
                let sum = 1.0 + small;
                let log = <$f as Exponential>::log(0.0, sum) + (small - (sum - 1.0)) / sum;
                let most = if x < 0.0 { 0.0 } else { x };
                let (a, b) = if x < 0.0 { (small, 1.0) } else { (1.0, small) };
                ((most - x * y) + log, ((1.0 - y) * a - y * b) / sum)
            }
        }
    }};
}

#[test]
fn losses_and_gradients() {
    many(500, |r, dtype, seed| {
        let (shape, axes) = problem(r);
        let axes = if r.chance(20) { None } else { Some(axes) };
        check(r, dtype, &shape, axes, seed);
    });
}

/// Rows beyond a chunk, and many rows.
#[test]
fn large() {
    let r = &mut Random(5);
    for (shape, axis) in [(vec![2, 300_001], 1), (vec![9_001, 40], 0), (vec![40_000, 5], 1), (vec![600_001], 0)] {
        for dtype in [DType::F32, DType::BF16] {
            (0..3).for_each(|_| check(r, dtype, &shape, Some(vec![axis]), "large"));
        }
    }
}

fn check(r: &mut Random, dtype: DType, shape: &[usize], axes: Option<Vec<isize>>, seed: &str) {
    let what = what(r);
    let other = FLOATS[r.below(4)];
    let (x, y) = (floats(r, dtype, shape), floats(r, other, shape));
    let all: Vec<isize> = (0..shape.len() as isize).collect();
    let none = matches!(what, What::Loss(_, LossReduction::None));
    let reduced = axes.clone().unwrap_or(all.clone());
    let is_reduced = |a: isize| reduced.contains(&a) || reduced.contains(&(a - shape.len() as isize));
    let kept = (0..shape.len()).filter(|&a| !is_reduced(a as isize)).map(|a| shape[a]);
    let of_result: Vec<usize> = if none { shape.to_vec() } else { kept.collect() };
    let upstream = r.chance(50).then(|| {
        let dtype = FLOATS[r.below(4)];
        Strided::new(r, dtype, &of_result, |r| float(r, dtype, 3.0, 0))
    });
    let gradient = upstream.as_ref().map(Strided::view);
    let options = Pairs { axes: axes.as_deref(), gradient, threads: Some(1 + r.below(3)) };
    let (a, b) = (x.view(), y.view());
    let (got, gradient) = match what {
        What::Dot => (dot(a, b, &options), dot_backward(a, b, &options)),
        What::Cosine(epsilon) => {
            (cosine_similarity(a, b, epsilon, &options), cosine_similarity_backward(a, b, epsilon, &options))
        }
        What::Loss(of, reduction) => {
            (loss(of, a, b, reduction, &options), loss_backward(of, a, b, reduction, &options))
        }
    };
    let (got, gradient) = (got.unwrap(), gradient.unwrap());
    let seed = format!("{seed} {what:?} {shape:?} {axes:?} {:?} {other} {:?}", x.strides, y.strides);
    assert_eq!((&got.shape, got.dtype()), (&of_result, dtype), "{seed}");
    assert_eq!((&gradient.shape[..], gradient.dtype()), (shape, dtype), "{seed}");
    with_float!(dtype, F => {
        let (x, y, sum) = (wide::<F>(&x), wide::<F>(&y), Sum::<F>::total());
        let upstream = upstream.as_ref().map(wide::<F>);
        let (mut results, mut gradients) = (Vec::new(), vec![0; x.len()]);
        for (row, items) in rows(shape, &reduced).into_iter().enumerate() {
            let pairs = items.iter().map(|&i| (x[i], y[i]));
            let total = |term: &dyn Fn((F, F)) -> F| tree::reduce(&sum, pairs.clone().map(term)).unwrap();
            let divisor = match what {
                What::Loss(_, LossReduction::Mean) => items.len() as F,
                _ => 1.0,
            };
            let q = |i: usize| upstream.as_ref().map_or(1.0, |all| all[if none { i } else { row }]) / divisor;
            match what {
                What::Dot => results.push(total(&|(x, y)| x * y)),
                What::Loss(of, LossReduction::None) => {
                    results.resize(x.len(), 0.0);
                    items.iter().for_each(|&i| results[i] = term!(F, of, x[i], y[i]).0);
                }
                What::Loss(of, _) => results.push(total(&|(x, y)| term!(F, of, x, y).0) / divisor),
                What::Cosine(epsilon) => {
                    let dots = [total(&|(x, y)| x * y), total(&|(x, _)| x * x), total(&|(_, y)| y * y)];
                    let least = epsilon as F;
                    let norm = |squares: F| if squares.sqrt() < least { least } else { squares.sqrt() };
                    let norms = norm(dots[1]) * norm(dots[2]);
                    results.push(if items.is_empty() { 0.0 } else { dots[0] / norms });
                    let own = if dots[1].sqrt() < least { 0.0 } else { dots[0] / norms / dots[1] * q(0) };
                    items.iter().for_each(|&i| gradients[i] = rounded(y[i] * (q(0) / norms) - x[i] * own, dtype));
                }
            }
            for i in items {
                match what {
                    What::Dot => gradients[i] = rounded(y[i] * q(i), dtype),
                    What::Loss(of, _) => gradients[i] = rounded(term!(F, of, x[i], y[i]).1 * q(i), dtype),
                    What::Cosine(_) => {}
                }
            }
        }
        let results: Vec<u64> = results.into_iter().map(|x| rounded(x, dtype)).collect();
        same(&got, &results, &format!("result {seed}"));
        same(&gradient, &gradients, &format!("gradient {seed}"));
    });
}

/// The last pair whose numbers are unequal, and the sum of the products of the indices and both: a reducer that needs
/// order and indices.
#[derive(Clone)]
struct Chain;

impl Reducer for Chain {
    type Item = (u8, i64);
    type Acc = (Option<(u8, i64)>, i64);
    type Output = (Option<(u8, i64)>, i64);
    fn identity(&self) -> Option<Self::Acc> {
        Some((None, 0))
    }
    fn lift(&self, (a, b): (u8, i64), index: u64) -> Self::Acc {
        let product = i64::from(a).wrapping_mul(b).wrapping_mul(index as i64 + 1);
        ((i64::from(a) != b).then_some((a, b)), product)
    }
    fn combine(&self, left: Self::Acc, right: Self::Acc) -> Self::Acc {
        (right.0.or(left.0), left.1.wrapping_add(right.1))
    }
    fn finish(&self, acc: Self::Acc, _count: u64) -> Self::Output {
        acc
    }
}

#[test]
fn reducers_of_pairs() {
    many(200, |r, _, seed| {
        let (shape, axes) = problem(r);
        let number = |dtype| move |r: &mut Random| warpfold::Values::I64(vec![r.below(5) as i64]).cast(dtype).get(0);
        let x = Strided::new(r, DType::U8, &shape, number(DType::U8));
        let y = Strided::new(r, DType::I64, &shape, number(DType::I64));
        let sorted = warpfold::problem::normalize_axes(Some(&axes), shape.len()).unwrap();
        let arrays = (
            (x.view(), gather::gather_same::<u8>(x.view().is_swapped())),
            (y.view(), gather::gather_same::<i64>(y.view().is_swapped())),
        );
        // SAFETY: each gather is that of its array.
        let got = unsafe { zip::reduce("zip", arrays, &sorted, zip::Any(Pair), &Tree(Chain), 1 + r.below(3)) }.unwrap();
        let (x, y) = (wide::<u8>(&x), wide::<i64>(&y));
        let want: Vec<_> = rows(&shape, &axes)
            .into_iter()
            .map(|row| tree::reduce(&Chain, row.iter().map(|&i| (x[i], y[i]))).unwrap())
            .collect();
        assert_eq!(got, want, "{seed} {shape:?} {axes:?}");
    });
}

#[test]
fn errors() {
    let (x, y, z) = ([1.0f32; 3], [1.0f32; 4], [1i32; 3]);
    let (x, y, z) = (ArrayRef::flat(&x), ArrayRef::flat(&y), ArrayRef::flat(&z));
    let options = Pairs::default();
    let error = dot(x, y, &options).unwrap_err();
    assert_eq!(error.to_string(), "dot: the elements of the second array have shape [4], and must have shape [3]");
    assert!(matches!(dot(x, z, &options), Err(Error::Row(RowError::NotFloats { .. }))));
    assert!(matches!(dot(z, x, &options), Err(Error::Row(RowError::NotFloats { .. }))));
    assert!(dot(x, x, &Pairs { axes: Some(&[1]), ..options }).is_err());
    for delta in [0.0, -1.0, f64::NAN] {
        let error = loss(Loss::Huber { delta }, x, x, LossReduction::Mean, &options).unwrap_err();
        assert!(matches!(error, Error::Row(RowError::Number { .. })), "{error}");
    }
    let wrong = Pairs { gradient: Some(x), ..options };
    let error = loss_backward(Loss::Mse, x, x, LossReduction::Mean, &wrong).unwrap_err();
    assert!(matches!(error, Error::Row(RowError::Shape { .. })), "{error}");
    // Nothing: a mean has no value, a sum is zero.
    let nothing = ArrayRef::flat::<f32>(&[]);
    let mean = loss(Loss::L1, nothing, nothing, LossReduction::Mean, &options).unwrap();
    assert_eq!(bits(&mean), [rounded(f32::NAN, DType::F32)]);
    let sum = loss(Loss::L1, nothing, nothing, LossReduction::Sum, &options).unwrap();
    assert_eq!(sum.into_vec::<f32>().unwrap(), [0.0]);
    let error = warpfold::zip(&[1u8], &[1i64, 2]).with(Chain).unwrap_err();
    assert!(matches!(error, Error::Row(RowError::Shape { .. })), "{error}");
}
