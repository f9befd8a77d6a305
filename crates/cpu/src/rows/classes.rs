//! Cross-entropy of logits and the class of each row.

use warpfold_array::{ArrayRef, Error, RowError};
use warpfold_core::ops::{Powers, brief_exp_by};
use warpfold_core::rows::{ClassLoss, ClassWeights, LogSoftmax, Softmax};
use warpfold_core::{DType, Kind};

use crate::load::Loaded;
use crate::simd::vectorize;

use super::call::{Call, elements};
use super::engine::{Block, Input, Node, RowOp};
use super::exponents;
use super::lines::{Part, RowFloat};
use super::nodes::sums;

/// The reductions of a row, and its loss.
#[derive(Clone, Copy, Default)]
pub struct Row<F> {
    /// Its softmax.
    pub softmax: Softmax<F>,
    /// The logarithm of that.
    pub log: LogSoftmax<F>,
    /// Its loss.
    pub loss: F,
    /// The sum of the shares of its classes, if it has a distribution.
    pub total: F,
}

impl<F: RowFloat> Row<F> {
    /// The row with this node of its exponentials.
    pub fn of([scale, sum]: Node<F>) -> Self {
        let node = Powers { scale, sum };
        Self { softmax: Softmax::of(node), log: LogSoftmax::of(node), ..Self::default() }
    }
}

/// The class of each row; `None` if it is ignored.
///
/// # Errors
/// No integers; a target that is no class.
pub fn classes(call: &Call<'_>, targets: &ArrayRef<'_>, ignore: i64) -> Result<Vec<Option<usize>>, Error> {
    let dtype = targets.dtype();
    if !matches!(dtype.kind(), Kind::Signed | Kind::Unsigned) {
        return Err(RowError::NotIntegers { dtype }.into());
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

/// The logit of a row's class.
fn logit<F: RowFloat>(logits: &Input<F>, row: usize, class: usize) -> F {
    let mut logit = F::ZERO;
    // SAFETY: the row and the class are within the logits, which are readable; there is room for one number. Gradients
    // that take the place of a row's logits are written after the row was finished.
    unsafe { logits.lines.load(logits.gather, &Part { rows: row..row + 1, from: class, n: 1 }, &mut logit) };
    logit
}

/// The loss of each row's class.
pub struct Classes<'a, F> {
    dtype: DType,
    shares: ClassWeights<F>,
    /// The class of each row.
    targets: Vec<Option<usize>>,
    /// The logits, of which that of each row's class is read once more.
    logits: &'a Input<F>,
    /// The weight of each class.
    weights: Vec<F>,
    /// Their sum, if smoothing needs it.
    total: F,
    /// The gradient of each row's loss, or of all.
    scales: Vec<F>,
}

impl<'a, F: RowFloat> Classes<'a, F> {
    /// With the weights of classes and their sum, which smoothing needs, and the gradient of each row's loss, or of
    /// all.
    pub fn new(
        dtype: DType,
        shares: ClassWeights<F>,
        targets: Vec<Option<usize>>,
        logits: &'a Input<F>,
        (weights, total): (Vec<F>, F),
        scales: Vec<F>,
    ) -> Self {
        Self { dtype, shares, targets, logits, weights, total, scales }
    }

    fn is_smooth(&self) -> bool {
        self.shares.each != F::ZERO
    }

    /// The gradients of a block of ordinary logits whose digits are few: exponentials in few operations, and a row's
    /// factor. Returns whether it is such a block.
    fn brief(&self, block: &Block<'_, F>, stats: &[Row<F>], out: &mut [F]) -> bool {
        let (n, from) = (block.part.n, block.part.from);
        let scale = |row: usize| self.scales[if self.scales.len() == 1 { 0 } else { row }];
        let factor = |(row, stat): (usize, &Row<F>)| {
            let of = |class| self.of(class).brief_factor(self.dtype, stat.softmax, scale(row));
            self.targets[row].map_or(F::ONE, of)
        };
        let rows = || block.part.rows.clone().zip(stats);
        let is_brief = self.dtype == DType::BF16 && rows().all(|row| factor(row) != F::ZERO);
        if !is_brief || !exponents::all_ordinary(block.x[0]) {
            return false;
        }
        let each = rows().zip(block.x[0].chunks_exact(n)).zip(out.chunks_exact_mut(n));
        vectorize(
            #[inline(always)]
            || {
                for (((row, stat), x), out) in each {
                    let Some(class) = self.targets[row] else {
                        out.fill(F::ZERO);
                        continue;
                    };
                    let factor = factor((row, stat));
                    for (out, x) in out.iter_mut().zip(x) {
                        let brief = brief_exp_by(
                            *x,
                            #[inline(always)]
                            |a: f32, b, c| a.mul_add(b, c),
                        );
                        *out = brief.mul(factor);
                    }
                    if let Some(at) = class.checked_sub(from).filter(|&at| at < n) {
                        let probability = stat.softmax.probability(x[at]);
                        out[at] = self.of(class).gradient(probability, self.weights[class], true, scale(row));
                    }
                }
            },
        );
        true
    }

    /// The loss of a row of a class.
    fn of(&self, class: usize) -> ClassLoss<F> {
        ClassLoss::new(self.shares, self.weights[class], self.total)
    }
}

impl<F: RowFloat> RowOp<F> for Classes<'_, F> {
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
            *stat = Row::of(node);
        }
        if let Some(class) = self.targets[row].filter(|_| round + 1 == self.rounds()) {
            let target = stat.log.log_probability(logit(self.logits, row, class));
            stat.loss = self.of(class).loss(target, node[0]);
        }
    }

    fn map(&self, block: &mut Block<'_, F>, stats: &[Row<F>], out: &mut [F]) {
        if self.brief(block, stats, out) {
            return;
        }
        let (n, from) = (block.part.n, block.part.from);
        exponents::softmax(self.dtype, block, |row| stats[row].softmax, out);
        let weights = &self.weights[from..from + n];
        let rows = block.part.rows.clone().zip(stats).zip(block.x[0].chunks_exact(n));
        for (((row, stat), x), out) in rows.zip(out.chunks_exact_mut(n)) {
            let Some(class) = self.targets[row] else {
                out.fill(F::ZERO);
                continue;
            };
            let scale = self.scales[if self.scales.len() == 1 { 0 } else { row }];
            let loss = self.of(class);
            let target = class.checked_sub(from).filter(|&at| at < n).map(|at| (at, out[at]));
            let factor = loss.brief_factor(self.dtype, stat.softmax, scale);
            vectorize(
                #[inline(always)]
                || {
                    if factor == F::ZERO {
                        for (out, weight) in out.iter_mut().zip(weights) {
                            *out = loss.gradient(*out, *weight, false, scale);
                        }
                        return;
                    }
                    for (out, x) in out.iter_mut().zip(x) {
                        let brief = brief_exp_by(
                            *x,
                            #[inline(always)]
                            |a: f32, b, c| a.mul_add(b, c),
                        );
                        let other = loss.gradient(*out, F::ZERO, false, scale);
                        *out = if x.is_ordinary() { brief.mul(factor) } else { other };
                    }
                },
            );
            if let Some((at, probability)) = target {
                out[at] = loss.gradient(probability, weights[at], true, scale);
            }
        }
    }
}
