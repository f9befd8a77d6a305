//! Cross-entropy of logits, and classes or distributions over them: the loss and its gradient.

use warpfold_array::{Array, ArrayMut, ArrayRef, Error, Op, Options, RowError};
use warpfold_core::rows::ClassWeights;

use crate::reduction::reduce;

use super::call::{Call, Want, floats, rounded, with_float};
use super::classes::{Classes, Row, classes};
use super::distribution::Distributions;
use super::engine::{Input, RowOp};
use super::lines::{Lines, RowFloat};

/// What becomes of the losses of all rows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum LossReduction {
    /// They are the result.
    None,
    /// Their sum over the sum of their targets' weights; rows that are ignored have no weight. Of distributions their
    /// sum over the number of rows.
    #[default]
    Mean,
    /// Their sum.
    Sum,
}

/// The options of [`cross_entropy`].
///
/// ```
/// use warpfold::{ArrayRef, rows};
///
/// let (logits, targets) = ([0.0f64, 0.0, 5.0, 7.0], [1i64, -100]);
/// let logits = ArrayRef::from_slice(&logits, &[2, 2])?;
/// let options = rows::CrossEntropy { reduction: rows::LossReduction::None, ..rows::CrossEntropy::default() };
/// let losses = rows::cross_entropy(logits, ArrayRef::flat(&targets), -1, &options)?;
/// assert_eq!(losses.into_vec::<f64>().unwrap(), [2f64.ln(), 0.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct CrossEntropy<'a> {
    /// Rows with this target have the loss 0 and the gradient 0. Default -100. Distributions have no such rows.
    pub ignore: i64,
    /// The share of the loss that is spread evenly over all classes. Default 0.
    pub smoothing: f64,
    /// The weight of each class, of any float dtype. `None`: 1.
    pub weights: Option<ArrayRef<'a>>,
    /// What becomes of the losses of all rows.
    pub reduction: LossReduction,
    /// The gradient of the result, an array of the result's shape and any float dtype. `None`: 1.
    pub gradient: Option<ArrayRef<'a>>,
    /// How many threads; `None`: as many as rayon's current pool has.
    pub threads: Option<usize>,
}

impl Default for CrossEntropy<'_> {
    fn default() -> Self {
        let reduction = LossReduction::Mean;
        Self { ignore: -100, smoothing: 0.0, weights: None, reduction, gradient: None, threads: None }
    }
}

/// A loss, and what is computed beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct CrossEntropyLoss {
    /// The loss, or that of each row, in the dtype of the logits.
    pub loss: Array,
    /// The gradient of the logits: an array of their shape and dtype.
    pub gradient: Array,
    /// The logsumexp of each row.
    pub logsumexp: Array,
}

/// The cross-entropy of rows of logits along an axis and the class of each row: its logsumexp less the logit of the
/// class. `targets` is an array of integers of the shape of the other axes. An array of floats of the shape of the
/// logits has a probability of each class: the loss is the sum of the classes' losses, each times its probability.
///
/// ```
/// use warpfold::{ArrayRef, rows};
///
/// let logits = ArrayRef::flat(&[0.0f32, 0.0, 0.0, 0.0]);
/// let target = [2u8];
/// let target = ArrayRef::from_slice(&target, &[])?;
/// let loss = rows::cross_entropy(logits, target, 0, &rows::CrossEntropy::default())?;
/// assert_eq!(loss.into_vec::<f32>().unwrap(), [4f32.ln()]);
/// let distribution = ArrayRef::flat(&[0.5f32, 0.5, 0.0, 0.0]);
/// let loss = rows::cross_entropy(logits, distribution, 0, &rows::CrossEntropy::default())?;
/// assert_eq!(loss.into_vec::<f32>().unwrap(), [4f32.ln()]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// [`RowError`]: no floats, targets that are no classes, arrays of another shape, smoothing beyond 0 to 1; a bad axis;
/// [`Error::Memory`].
pub fn cross_entropy(
    logits: ArrayRef<'_>,
    targets: ArrayRef<'_>,
    axis: isize,
    options: &CrossEntropy<'_>,
) -> Result<Array, Error> {
    let call = Call::new("cross_entropy", logits, &[axis], options.threads)?;
    let want = Want { stats: true, array: false };
    with_float!(logits.dtype(), F => Ok(run::<F>(&call, &logits, targets, options, want)?.0))
}

/// [`cross_entropy`] and the gradient of the logits in one call.
///
/// ```
/// use warpfold::{ArrayRef, rows};
///
/// let (logits, targets) = ([0.0f32, 0.0, 3.0, 3.0], [1i64, 0]);
/// let logits = ArrayRef::from_slice(&logits, &[2, 2])?;
/// let options = rows::CrossEntropy { reduction: rows::LossReduction::Sum, ..rows::CrossEntropy::default() };
/// let of = rows::cross_entropy_gradient(logits, ArrayRef::flat(&targets), 1, &options)?;
/// assert_eq!(of.gradient.into_vec::<f32>().unwrap(), [0.5, -0.5, -0.5, 0.5]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// As [`cross_entropy`].
pub fn cross_entropy_gradient(
    logits: ArrayRef<'_>,
    targets: ArrayRef<'_>,
    axis: isize,
    options: &CrossEntropy<'_>,
) -> Result<CrossEntropyLoss, Error> {
    let call = Call::new("cross_entropy_gradient", logits, &[axis], options.threads)?;
    let want = Want { stats: true, array: true };
    with_float!(logits.dtype(), F => {
        let (loss, gradient, logs) = run::<F>(&call, &logits, targets, options, want)?;
        let logsumexp = rounded(&logs, logits.dtype(), call.lengths(false))?;
        Ok(CrossEntropyLoss { loss, gradient: gradient.expect("the gradient was asked for"), logsumexp })
    })
}

/// A loss and the logsumexp of each row, of which the gradient is in memory that was given.
#[derive(Clone, Debug, PartialEq)]
pub struct CrossEntropyRows {
    /// The loss, or that of each row, in the dtype of the logits.
    pub loss: Array,
    /// The logsumexp of each row.
    pub logsumexp: Array,
}

/// [`cross_entropy_gradient`] with the gradient in place of the logits. After an error of the arguments the logits are
/// as they were.
///
/// ```
/// use warpfold::{ArrayMut, ArrayRef, rows};
///
/// let (mut logits, targets) = ([0.0f32, 0.0, 3.0, 3.0], [1i64, 0]);
/// let options = rows::CrossEntropy { reduction: rows::LossReduction::Sum, ..rows::CrossEntropy::default() };
/// let place = ArrayMut::from_slice(&mut logits, &[2, 2])?;
/// rows::cross_entropy_in_place(place, ArrayRef::flat(&targets), 1, &options)?;
/// assert_eq!(logits, [0.5, -0.5, -0.5, 0.5]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// As [`cross_entropy`].
pub fn cross_entropy_in_place(
    mut logits: ArrayMut<'_>,
    targets: ArrayRef<'_>,
    axis: isize,
    options: &CrossEntropy<'_>,
) -> Result<CrossEntropyRows, Error> {
    let (to, logits) = (logits.base(), logits.array());
    let call = Call::new("cross_entropy_in_place", logits, &[axis], options.threads)?;
    let to = Lines::at(to, logits.dtype(), false, logits.shape(), logits.strides(), &call.axes);
    // SAFETY: the logits are this function's, and no other argument has their memory.
    unsafe { written(call, &logits, to, targets, options) }
}

/// [`cross_entropy_gradient`] with the gradient in memory that is there, of the shape and dtype of the logits.
///
/// # Errors
/// As [`cross_entropy`]; [`RowError::Shape`], [`RowError::ResultDType`] of the memory.
pub fn cross_entropy_gradient_into(
    logits: ArrayRef<'_>,
    targets: ArrayRef<'_>,
    axis: isize,
    options: &CrossEntropy<'_>,
    mut to: ArrayMut<'_>,
) -> Result<CrossEntropyRows, Error> {
    const OP: &str = "cross_entropy_gradient_into";
    let (expected, found) = (logits.dtype(), to.array().dtype());
    if expected != found {
        return Err(RowError::ResultDType { op: OP, expected, found }.into());
    }
    let call = Call::new(OP, logits, &[axis], options.threads)?;
    call.shape("the results", &to.array(), logits.shape())?;
    let to = Lines::at(to.base(), found, false, logits.shape(), to.array().strides(), &call.axes);
    // SAFETY: the memory is this function's, and no other argument has it.
    unsafe { written(call, &logits, to, targets, options) }
}

/// The loss and the logsumexp of each row, with the gradient in memory that is there.
///
/// # Safety
/// As of [`Call::to`]; the targets have other memory.
unsafe fn written(
    call: Call<'_>,
    logits: &ArrayRef<'_>,
    to: Lines,
    targets: ArrayRef<'_>,
    options: &CrossEntropy<'_>,
) -> Result<CrossEntropyRows, Error> {
    // SAFETY: the caller's.
    let call = unsafe { call.to(to) };
    let want = Want { stats: true, array: true };
    with_float!(logits.dtype(), F => {
        let (loss, _, logs) = run::<F>(&call, logits, targets, options, want)?;
        Ok(CrossEntropyRows { loss, logsumexp: rounded(&logs, logits.dtype(), call.lengths(false))? })
    })
}

/// The loss, the gradient if it is asked for, and the logsumexp of each row.
fn run<F: RowFloat>(
    call: &Call<'_>,
    logits: &ArrayRef<'_>,
    targets: ArrayRef<'_>,
    options: &CrossEntropy<'_>,
    want: Want,
) -> Result<(Array, Option<Array>, Vec<F>), Error> {
    let &CrossEntropy { smoothing, reduction, .. } = options;
    if !(0.0..=1.0).contains(&smoothing) {
        let (what, range) = ("smoothing", "0 to 1");
        return Err(RowError::Number { op: call.op, what, value: smoothing, range }.into());
    }
    let (shape, dtype) = (call.lengths(false), logits.dtype());
    let of_distributions = targets.dtype().is_float() && targets.shape().len() == logits.shape().len();
    match of_distributions {
        true => call.alike("the targets", &targets)?,
        false => call.shape("the targets", &targets, &shape)?,
    }
    if call.len == 0 {
        return Err(RowError::NoClasses { shape: logits.shape().to_vec(), axis: call.axes[0] }.into());
    }
    let classes = if of_distributions { Vec::new() } else { classes(call, &targets, options.ignore)? };
    let weights = match &options.weights {
        Some(weights) => {
            call.floats("the weights", weights.dtype())?;
            call.shape("the weights", weights, &[call.len])?;
            floats(weights)?
        }
        None => vec![F::ONE; call.len],
    };
    let of_result = if reduction == LossReduction::None { &shape[..] } else { &[] };
    let mut scales = match &options.gradient {
        Some(gradient) => {
            call.floats("the gradient of the loss", gradient.dtype())?;
            call.shape("the gradient of the loss", gradient, of_result)?;
            floats::<F>(gradient)?
        }
        None => vec![F::ONE; of_result.iter().product()],
    };
    let divisor = match (reduction, &options.weights) {
        (LossReduction::Mean, _) if of_distributions => F::from_count(call.rows as u64),
        (LossReduction::Mean, Some(_)) => {
            let weight = |target: &Option<usize>| target.map_or(F::ZERO, |class| weights[class]);
            sum(&classes.iter().map(weight).collect::<Vec<F>>(), options)?
        }
        (LossReduction::Mean, None) => F::from_count(classes.iter().flatten().count() as u64),
        _ => F::ONE,
    };
    scales.iter_mut().for_each(|scale| *scale = scale.div(divisor));
    let (input, shares) = (call.input::<F>(*logits), ClassWeights::smoothed(smoothing, call.len));
    let (rows, gradient) = match of_distributions {
        true => {
            let op = Distributions { dtype, shares, weights: options.weights.is_some().then_some(weights), scales };
            rows_of(call, &op, &[input, call.input(targets)], want)?
        }
        false => {
            let total = if smoothing == 0.0 { F::ZERO } else { sum(&weights, options)? };
            let inputs = [input];
            let op = Classes::new(dtype, shares, classes, &inputs[0], (weights, total), scales);
            rows_of(call, &op, &inputs, want)?
        }
    };
    let losses: Vec<F> = rows.iter().map(|row| row.loss).collect();
    let loss = match reduction {
        LossReduction::None => rounded(&losses, dtype, shape)?,
        _ => rounded(&[sum(&losses, options)?.div(divisor)], dtype, Vec::new())?,
    };
    Ok((loss, gradient, rows.iter().map(|row| row.log.log).collect()))
}

/// The reductions of all rows, and the gradient if it is asked for.
fn rows_of<F: RowFloat, O: RowOp<F, Stat = Row<F>>>(
    call: &Call<'_>,
    op: &O,
    inputs: &[Input<F>],
    want: Want,
) -> Result<(Vec<Row<F>>, Option<Array>), Error> {
    let results = call.run(op, inputs, None, want)?;
    Ok((results.stats, results.array))
}

/// The tree over a list.
fn sum<F: RowFloat>(x: &[F], options: &CrossEntropy<'_>) -> Result<F, Error> {
    let sum = reduce(Op::Sum, ArrayRef::flat(x), &Options { threads: options.threads, ..Options::default() })?;
    Ok(F::of(sum.values.get(0)).expect("a sum of floats has their dtype"))
}
