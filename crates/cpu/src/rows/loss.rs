//! Cross-entropy of logits and classes: the loss and its gradient.

use warpfold_array::{Array, ArrayRef, Error, Op, Options, RowError};
use warpfold_core::ops::Powers;
use warpfold_core::rows::{ClassLoss, ClassWeights, LogSoftmax, Softmax};
use warpfold_core::{DType, Kind};

use crate::load::Loaded;
use crate::reduction::reduce;
use crate::simd::vectorize;

use super::call::{Call, Want, elements, floats, rounded, with_float};
use super::engine::{Block, Input, Node, RowOp};
use super::exponents;
use super::lines::{Part, RowFloat};
use super::nodes::sums;

/// What becomes of the losses of all rows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum LossReduction {
    /// They are the result.
    None,
    /// Their sum over the sum of their targets' weights; rows that are ignored have no weight.
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
    /// Rows with this target have the loss 0 and the gradient 0. Default -100.
    pub ignore: i64,
    /// The share of the loss that is spread evenly over all classes. Default 0.
    pub smoothing: f64,
    /// The weight of each class, of any float dtype. `None`: 1.
    pub weights: Option<ArrayRef<'a>>,
    /// What becomes of the losses of all rows.
    pub reduction: LossReduction,
    /// The gradient of the result, an array of the result's shape and any float dtype. `None`: 1.
    pub gradient: Option<ArrayRef<'a>>,
    /// How many threads; `None`: all of rayon's current pool.
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
/// class. `targets` is an array of integers of the shape of the other axes.
///
/// ```
/// use warpfold::{ArrayRef, rows};
///
/// let logits = ArrayRef::flat(&[0.0f32, 0.0, 0.0, 0.0]);
/// let target = [2u8];
/// let target = ArrayRef::from_slice(&target, &[])?;
/// let loss = rows::cross_entropy(logits, target, 0, &rows::CrossEntropy::default())?;
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
    call.shape("the targets", &targets, &shape)?;
    let targets = classes(call, logits, &targets, options.ignore)?;
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
        (LossReduction::Mean, Some(_)) => {
            let of_rows: Vec<F> = targets.iter().map(|target| target.map_or(F::ZERO, |class| weights[class])).collect();
            sum(&of_rows, options)?
        }
        (LossReduction::Mean, None) => F::from_count(targets.iter().flatten().count() as u64),
        _ => F::ONE,
    };
    scales.iter_mut().for_each(|scale| *scale = scale.div(divisor));
    let input = call.input::<F>(*logits);
    let total = if smoothing == 0.0 { F::ZERO } else { sum(&weights, options)? };
    let op = Loss {
        logits: targets.iter().enumerate().map(|(row, class)| logit(&input, row, *class)).collect(),
        shares: ClassWeights::smoothed(smoothing, call.len),
        dtype,
        targets,
        weights,
        total,
        scales,
    };
    let results = call.run(&op, &[input], None, want)?;
    let losses: Vec<F> = results.stats.iter().map(|row| row.loss).collect();
    let loss = match reduction {
        LossReduction::None => rounded(&losses, dtype, shape)?,
        _ => rounded(&[sum(&losses, options)?.div(divisor)], dtype, Vec::new())?,
    };
    Ok((loss, results.array, results.stats.iter().map(|row| row.log.log).collect()))
}

/// The tree over a list.
fn sum<F: RowFloat>(x: &[F], options: &CrossEntropy<'_>) -> Result<F, Error> {
    let sum = reduce(Op::Sum, ArrayRef::flat(x), &Options { threads: options.threads, ..Options::default() })?;
    Ok(F::of(sum.values.get(0)).expect("a sum of floats has their dtype"))
}

/// The class of each row; `None` if it is ignored.
fn classes(
    call: &Call<'_>,
    logits: &ArrayRef<'_>,
    targets: &ArrayRef<'_>,
    ignore: i64,
) -> Result<Vec<Option<usize>>, Error> {
    let dtype = targets.dtype();
    if !matches!(dtype.kind(), Kind::Signed | Kind::Unsigned) {
        return Err(RowError::NotIntegers { dtype }.into());
    }
    if call.len == 0 {
        return Err(RowError::NoClasses { shape: logits.shape().to_vec(), axis: call.axes[0] }.into());
    }
    // Unsigned numbers beyond 2^63 become negative ones.
    let targets = elements(targets, i64::gather(dtype, targets.is_swapped(), DType::I64))?;
    let class = |(row, target): (usize, i64)| match usize::try_from(target) {
        _ if target == ignore => Ok(None),
        Ok(class) if class < call.len => Ok(Some(class)),
        _ => {
            let target = if dtype == DType::U64 { i128::from(target as u64) } else { i128::from(target) };
            Err(RowError::Target { row, target, classes: call.len }.into())
        }
    };
    targets.into_iter().enumerate().map(class).collect()
}

/// The logit of a row's class; 0 if the row is ignored.
fn logit<F: RowFloat>(logits: &Input<F>, row: usize, class: Option<usize>) -> F {
    let mut logit = F::ZERO;
    if let Some(from) = class {
        // SAFETY: the row and the class are within the logits, which are readable; there is room for one number.
        unsafe { logits.lines.load(logits.gather, &Part { rows: row..row + 1, from, n: 1 }, &mut logit) };
    }
    logit
}

struct Loss<F> {
    dtype: DType,
    shares: ClassWeights<F>,
    /// The class of each row.
    targets: Vec<Option<usize>>,
    /// The logit of that class.
    logits: Vec<F>,
    /// The weight of each class.
    weights: Vec<F>,
    /// Their sum, if smoothing needs it.
    total: F,
    /// The gradient of each row's loss, or of all.
    scales: Vec<F>,
}

/// The reductions of a row, and its loss.
#[derive(Clone, Copy, Default)]
struct Row<F> {
    softmax: Softmax<F>,
    log: LogSoftmax<F>,
    loss: F,
}

impl<F: RowFloat> Loss<F> {
    fn is_smooth(&self) -> bool {
        self.shares.each != F::ZERO
    }

    /// The loss of a row of a class.
    fn of(&self, class: usize) -> ClassLoss<F> {
        ClassLoss::new(self.shares, self.weights[class], self.total)
    }
}

impl<F: RowFloat> RowOp<F> for Loss<F> {
    type Stat = Row<F>;

    fn rounds(&self) -> usize {
        1 + self.is_smooth() as usize
    }

    fn reduce(&self, round: usize, block: &mut Block<'_, F>, stats: &[Row<F>], nodes: &mut [Node<F>]) {
        if round == 0 {
            return exponents::reduce(self.dtype, block, nodes);
        }
        let n = block.part.n;
        let weights = &self.weights[block.part.from..block.part.from + n];
        // The exponentials are needed again. So log-probabilities are in a place of their own.
        let mut logs = vec![F::ZERO; block.x[0].len()];
        for ((x, row), logs) in block.x[0].chunks_exact(n).zip(stats).zip(logs.chunks_exact_mut(n)) {
            vectorize(
                #[inline(always)]
                || {
                    for ((x, weight), log) in x.iter().zip(weights).zip(logs) {
                        *log = row.log.log_probability(*x).mul(*weight);
                    }
                },
            );
        }
        sums(&logs, n, nodes, 0);
    }

    fn join(&self, round: usize, left: (Node<F>, u64), right: (Node<F>, u64)) -> Node<F> {
        match round {
            0 => exponents::join(left.0, right.0),
            _ => [left.0[0].add(right.0[0]), F::ZERO],
        }
    }

    fn finish(&self, round: usize, row: usize, node: Node<F>, stat: &mut Row<F>) {
        if round == 0 {
            let node = Powers { scale: node[0], sum: node[1] };
            *stat = Row { softmax: Softmax::of(node), log: LogSoftmax::of(node), loss: F::ZERO };
        }
        if let Some(class) = self.targets[row].filter(|_| round + 1 == self.rounds()) {
            let target = stat.log.log_probability(self.logits[row]);
            stat.loss = self.of(class).loss(target, node[0]);
        }
    }

    fn map(&self, block: &mut Block<'_, F>, stats: &[Row<F>], out: &mut [F]) {
        let (n, from) = (block.part.n, block.part.from);
        exponents::softmax(self.dtype, block, |row| stats[row].softmax, out);
        let weights = &self.weights[from..from + n];
        for (row, out) in block.part.rows.clone().zip(out.chunks_exact_mut(n)) {
            let Some(class) = self.targets[row] else {
                out.fill(F::ZERO);
                continue;
            };
            let scale = self.scales[if self.scales.len() == 1 { 0 } else { row }];
            let loss = self.of(class);
            let target = class.checked_sub(from).filter(|&at| at < n).map(|at| (at, out[at]));
            vectorize(
                #[inline(always)]
                || {
                    for (out, weight) in out.iter_mut().zip(weights) {
                        *out = loss.gradient(*out, *weight, false, scale);
                    }
                },
            );
            if let Some((at, probability)) = target {
                out[at] = loss.gradient(probability, weights[at], true, scale);
            }
        }
    }
}
