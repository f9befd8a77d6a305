//! Losses of elements and their targets, dot products and cosines, and their gradients.

use warpfold_array::{Array, ArrayRef, Error, RowError};
use warpfold_core::ops::Sum;
use warpfold_core::rows::{BinaryEntropy, Cosine, Distance, Divergence, Huber, Loss as Term, Product, Squared};
use warpfold_core::{Pair, Reducer};

use crate::kernel::{Kernel, Tree};
use crate::reduction::on_threads;
use crate::zip::{self, Any, Zips};

use super::call::{Call, floats, rounded, with_float};
use super::each::{Angle, Each, Losses};
use super::lines::RowFloat;
use super::loss::LossReduction;

/// A loss of an element x and its target y.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// (x - y)².
    Mse,
    /// |x - y|.
    L1,
    /// (x - y)² / 2 where |x - y| is at most `delta`, a positive number, and else delta · (|x - y| - delta / 2).
    Huber {
        /// The greatest small difference.
        delta: f64,
    },
    /// y · (ln y - x): x is the logarithm of a probability. Where the target is 0, so is the loss.
    KlDiv {
        /// Whether the target is a logarithm, too.
        log_target: bool,
    },
    /// The cross-entropy of the target, between 0 and 1, and the logistic function of x.
    BceWithLogits,
}

/// The options of [`loss`], [`dot`] and [`cosine_similarity`].
#[derive(Clone, Copy, Default)]
pub struct Pairs<'a> {
    /// Axes to reduce, from the end if negative; `None`: all.
    pub axes: Option<&'a [isize]>,
    /// The gradient of the result, an array of the result's shape and any float dtype. `None`: 1.
    pub gradient: Option<ArrayRef<'a>>,
    /// How many threads; `None`: as many as rayon's current pool has.
    pub threads: Option<usize>,
}

/// Names the term of a loss.
macro_rules! with_term {
    ($loss:expr, $f:ty, $term:ident => $of:expr) => {
        match $loss {
            Loss::Mse => {
                let $term = Squared;
                $of
            }
            Loss::L1 => {
                let $term = Distance;
                $of
            }
            Loss::Huber { delta } => {
                let $term = Huber { delta: <$f as warpfold_core::Real>::from_f64(delta) };
                $of
            }
            Loss::KlDiv { log_target } => {
                let $term = Divergence { of_logs: log_target };
                $of
            }
            Loss::BceWithLogits => {
                let $term = BinaryEntropy;
                $of
            }
        }
    };
}

/// The loss of elements `x` and targets `y` of the same shape, in the dtype of `x`: the mean along some axes, the sum,
/// or, whatever the axes, that of each element.
///
/// ```
/// use warpfold::{ArrayRef, rows};
///
/// let (x, y) = ([1.0f32, 4.0, 3.0, 0.0], [1.0f32, 2.0, 0.0, 0.0]);
/// let (x, y) = (ArrayRef::from_slice(&x, &[2, 2])?, ArrayRef::from_slice(&y, &[2, 2])?);
/// let options = rows::Pairs { axes: Some(&[1]), ..rows::Pairs::default() };
/// let loss = rows::loss(rows::Loss::Mse, x, y, rows::LossReduction::Mean, &options)?;
/// assert_eq!(loss.into_vec::<f32>().unwrap(), [2.0, 4.5]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// [`RowError`]: no floats, another shape, a delta that is not positive; bad axes; [`Error::Memory`].
pub fn loss(
    loss: Loss,
    x: ArrayRef<'_>,
    y: ArrayRef<'_>,
    by: LossReduction,
    options: &Pairs<'_>,
) -> Result<Array, Error> {
    let call = checked("loss", loss, by, [&x, &y], options)?;
    with_float!(x.dtype(), F => with_term!(loss, F, term => match by {
        LossReduction::None => {
            let op = Each::<F, _>::new(vec![1.0], Losses::<_, false>(term));
            call.map(&op, &[call.input(x), call.input(y)], None)
        }
        _ => {
            let mut sums = reduced::<F, _, _>(&call, [x, y], Losses(term), &Tree(Sum::<F>::total()), options)?;
            let divisor = divisor::<F>(&call, by);
            sums.iter_mut().for_each(|sum| *sum /= divisor);
            rounded(&sums, x.dtype(), call.lengths(false))
        }
    }))
}

/// The gradient of the elements `x` of a [`loss`], an array of their shape and dtype.
///
/// ```
/// use warpfold::{ArrayRef, rows};
///
/// let (x, y) = ([1.0f32, 4.0], [1.0f32, 2.0]);
/// let (x, y) = (ArrayRef::flat(&x), ArrayRef::flat(&y));
/// let of = rows::loss_backward(rows::Loss::Mse, x, y, rows::LossReduction::Mean, &rows::Pairs::default())?;
/// assert_eq!(of.into_vec::<f32>().unwrap(), [0.0, 2.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// As [`loss`]; a gradient of another shape than the result's.
pub fn loss_backward(
    loss: Loss,
    x: ArrayRef<'_>,
    y: ArrayRef<'_>,
    reduction: LossReduction,
    options: &Pairs<'_>,
) -> Result<Array, Error> {
    let call = checked("loss_backward", loss, reduction, [&x, &y], options)?;
    // The element itself is not read where its derivative is the target's.
    let read = if matches!(loss, Loss::KlDiv { .. }) { y } else { x };
    with_float!(x.dtype(), F => with_term!(loss, F, term => {
        derivatives::<F, _>(&call, [read, y], term, reduction, options)
    }))
}

/// The sums of the products of two arrays of the same shape along some axes, in the dtype of the first.
///
/// ```
/// use warpfold::{ArrayRef, rows};
///
/// let (x, y) = ([1.0f32, 2.0, 3.0], [4.0f32, 5.0, 6.0]);
/// let dot = rows::dot(ArrayRef::flat(&x), ArrayRef::flat(&y), &rows::Pairs::default())?;
/// assert_eq!(dot.into_vec::<f32>().unwrap(), [32.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// As [`loss`].
pub fn dot(x: ArrayRef<'_>, y: ArrayRef<'_>, options: &Pairs<'_>) -> Result<Array, Error> {
    let call = call("dot", [&x, &y], options.axes, options)?;
    with_float!(x.dtype(), F => {
        let sums = reduced::<F, _, _>(&call, [x, y], Losses(Product), &Tree(Sum::<F>::total()), options)?;
        rounded(&sums, x.dtype(), call.lengths(false))
    })
}

/// The gradient of the first array of a [`dot`] product; for that of the second, exchange the arrays.
///
/// # Errors
/// As [`loss_backward`].
pub fn dot_backward(x: ArrayRef<'_>, y: ArrayRef<'_>, options: &Pairs<'_>) -> Result<Array, Error> {
    let call = call("dot_backward", [&x, &y], options.axes, options)?;
    with_float!(x.dtype(), F => derivatives::<F, _>(&call, [y, y], Product, LossReduction::Sum, options))
}

/// The cosines of the angles between the rows of two arrays of the same shape: the dot product over the product of the
/// norms, of which each counts as `epsilon` if it is smaller.
///
/// ```
/// use warpfold::{ArrayRef, rows};
///
/// let (x, y) = ([3.0f32, 4.0, 0.0, 2.0], [6.0f32, 8.0, 1.0, 0.0]);
/// let (x, y) = (ArrayRef::from_slice(&x, &[2, 2])?, ArrayRef::from_slice(&y, &[2, 2])?);
/// let options = rows::Pairs { axes: Some(&[1]), ..rows::Pairs::default() };
/// assert_eq!(rows::cosine_similarity(x, y, 1e-8, &options)?.into_vec::<f32>().unwrap(), [1.0, 0.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// As [`loss`].
pub fn cosine_similarity(x: ArrayRef<'_>, y: ArrayRef<'_>, epsilon: f64, options: &Pairs<'_>) -> Result<Array, Error> {
    let call = call("cosine_similarity", [&x, &y], options.axes, options)?;
    with_float!(x.dtype(), F => {
        let cosine = Cosine { epsilon: epsilon as F };
        rounded(&reduced::<F, _, _>(&call, [x, y], Any(Pair), &Tree(cosine), options)?, x.dtype(), call.lengths(false))
    })
}

/// The gradient of the first array of a [`cosine_similarity`]; for that of the second, exchange the arrays.
///
/// # Errors
/// As [`loss_backward`].
pub fn cosine_similarity_backward(
    x: ArrayRef<'_>,
    y: ArrayRef<'_>,
    epsilon: f64,
    options: &Pairs<'_>,
) -> Result<Array, Error> {
    let call = call("cosine_similarity_backward", [&x, &y], options.axes, options)?;
    with_float!(x.dtype(), F => {
        let scales = scales::<F>(&call, LossReduction::Sum, options)?;
        let op = Angle { cosine: Cosine { epsilon: epsilon as F }, scales };
        call.map(&op, &[call.input(x), call.input(y)], None)
    })
}

/// Checks the arrays.
fn call<'a>(
    op: &'static str,
    [x, y]: [&ArrayRef<'a>; 2],
    axes: Option<&[isize]>,
    options: &Pairs<'_>,
) -> Result<Call<'a>, Error> {
    let all: Vec<isize> = (0..x.shape().len() as isize).collect();
    let call = Call::new(op, *x, axes.unwrap_or(&all), options.threads)?;
    call.alike("the elements of the second array", y)?;
    Ok(call)
}

/// Checks the call of a loss. Without a reduction, all elements are one row.
fn checked<'a>(
    op: &'static str,
    loss: Loss,
    reduction: LossReduction,
    arrays: [&ArrayRef<'a>; 2],
    options: &Pairs<'_>,
) -> Result<Call<'a>, Error> {
    if let Loss::Huber { delta } = loss
        && (delta.is_nan() || delta <= 0.0)
    {
        return Err(RowError::Number { op, what: "delta", value: delta, range: "a positive number" }.into());
    }
    let given = call(op, arrays, options.axes, options)?;
    if reduction == LossReduction::None { call(op, arrays, None, options) } else { Ok(given) }
}

/// What two arrays are reduced to along the call's axes.
fn reduced<F: RowFloat, Z: Zips<F, F>, K: Kernel<R: Reducer<Item = Z::Item, Output = F>>>(
    call: &Call<'_>,
    arrays: [ArrayRef<'_>; 2],
    zip: Z,
    kernel: &K,
    options: &Pairs<'_>,
) -> Result<Vec<F>, Error> {
    let [x, y] = arrays.map(|array| (array, F::gather(array.dtype(), array.is_swapped(), F::DTYPE)));
    // SAFETY: each gather is that of its array.
    on_threads(options.threads, |threads| unsafe { zip::reduce(call.op, (x, y), &call.axes, zip, kernel, threads) })?
}

/// What sums are divided by.
fn divisor<F: RowFloat>(call: &Call<'_>, reduction: LossReduction) -> F {
    if reduction == LossReduction::Mean { F::from_count(call.len as u64) } else { F::ONE }
}

/// The gradient of each row's sum, or of all.
fn scales<F: RowFloat>(call: &Call<'_>, reduction: LossReduction, options: &Pairs<'_>) -> Result<Vec<F>, Error> {
    let divisor = divisor::<F>(call, reduction);
    let scales = match &options.gradient {
        Some(gradient) => {
            call.floats("the gradient", gradient.dtype())?;
            call.shape("the gradient", gradient, &call.lengths(false))?;
            floats::<F>(gradient)?
        }
        None => vec![F::ONE],
    };
    Ok(scales.into_iter().map(|scale| scale.div(divisor)).collect())
}

/// The gradient of the first array.
fn derivatives<F: RowFloat, Z: Term<F>>(
    call: &Call<'_>,
    [x, y]: [ArrayRef<'_>; 2],
    term: Z,
    reduction: LossReduction,
    options: &Pairs<'_>,
) -> Result<Array, Error> {
    let mut inputs = vec![call.input(x), call.input(y)];
    let scales = match options.gradient.filter(|_| reduction == LossReduction::None) {
        Some(gradient) => {
            call.alike("the gradient", &gradient)?;
            inputs.push(call.input(gradient));
            vec![F::ONE]
        }
        None => scales(call, reduction, options)?,
    };
    call.map(&Each::new(scales, Losses::<_, true>(term)), &inputs, None)
}
