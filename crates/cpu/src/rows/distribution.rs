//! Cross-entropy of logits and distributions over classes.

use warpfold_core::DType;
use warpfold_core::rows::{ClassWeights, distribution_gradient};

use crate::simd::vectorize;

use super::classes::Row;
use super::engine::{Block, Node, RowOp};
use super::exponents;
use super::lines::RowFloat;
use super::nodes::sums;

/// The losses of rows of logits, the first input, and of a probability of each class, the second.
pub struct Distributions<F> {
    /// That of the logits.
    pub dtype: DType,
    /// The shares of label smoothing.
    pub shares: ClassWeights<F>,
    /// The weight of each class, if classes have weights.
    pub weights: Option<Vec<F>>,
    /// The gradient of each row's loss, or of all.
    pub scales: Vec<F>,
}

impl<F: RowFloat> Distributions<F> {
    /// Whether a share is something else than a probability.
    fn changes(&self) -> bool {
        self.weights.is_some() || self.shares.each != F::ZERO
    }

    /// The shares of the elements from `from` on of a row.
    fn shares_of(&self, probabilities: &[F], from: usize, to: &mut [F]) {
        let shares = self.shares;
        let weights = self.weights.as_ref().map(|weights| &weights[from..from + to.len()]);
        let each = probabilities.iter().zip(to);
        vectorize(
            #[inline(always)]
            || match weights {
                Some(weights) => {
                    for ((probability, to), weight) in each.zip(weights) {
                        *to = shares.share(*probability).mul(*weight);
                    }
                }
                None => {
                    for (probability, to) in each {
                        *to = shares.share(*probability);
                    }
                }
            },
        );
    }
}

impl<F: RowFloat> RowOp<F> for Distributions<F> {
    type Stat = Row<F>;

    fn rounds(&self) -> usize {
        2
    }

    fn reduce(&self, round: usize, block: &mut Block<'_, F>, stats: &[Row<F>], nodes: &mut [Node<F>]) {
        if round == 0 {
            return exponents::reduce(self.dtype, block, nodes);
        }
        let n = block.part.n;
        // The exponentials are needed again. So the terms are in a place of their own.
        let mut terms = vec![F::ZERO; block.x[0].len()];
        if self.changes() {
            for (probabilities, terms) in block.x[1].chunks_exact(n).zip(terms.chunks_exact_mut(n)) {
                self.shares_of(probabilities, block.part.from, terms);
            }
        } else {
            terms.copy_from_slice(block.x[1]);
        }
        sums(&terms, n, nodes, 1);
        for ((x, row), terms) in block.x[0].chunks_exact(n).zip(stats).zip(terms.chunks_exact_mut(n)) {
            vectorize(
                #[inline(always)]
                || {
                    for (x, term) in x.iter().zip(terms) {
                        *term = row.log.log_probability(*x).mul(*term);
                    }
                },
            );
        }
        sums(&terms, n, nodes, 0);
    }

    fn join(&self, round: usize, left: (Node<F>, u64), right: (Node<F>, u64)) -> Node<F> {
        match round {
            0 => exponents::join(left.0, right.0),
            _ => [left.0[0].add(right.0[0]), left.0[1].add(right.0[1])],
        }
    }

    fn finish(&self, round: usize, _row: usize, node: Node<F>, stat: &mut Row<F>) {
        match round {
            0 => *stat = Row::of(node),
            _ => (stat.loss, stat.total) = (F::ZERO.sub(node[0]), node[1]),
        }
    }

    fn map(&self, block: &mut Block<'_, F>, stats: &[Row<F>], out: &mut [F]) {
        let (n, from) = (block.part.n, block.part.from);
        exponents::softmax(self.dtype, block, |row| stats[row].softmax, out);
        let rows = block.x[1].chunks_exact(n).zip(block.terms.chunks_exact_mut(n)).zip(stats);
        for ((at, ((probabilities, shares), stat)), out) in
            block.part.rows.clone().zip(rows).zip(out.chunks_exact_mut(n))
        {
            let scale = self.scales[if self.scales.len() == 1 { 0 } else { at }];
            let shares: &[F] = match self.changes() {
                true => {
                    self.shares_of(probabilities, from, shares);
                    shares
                }
                false => probabilities,
            };
            vectorize(
                #[inline(always)]
                || {
                    for (out, share) in out.iter_mut().zip(shares) {
                        *out = distribution_gradient(*out, *share, stat.total, scale);
                    }
                },
            );
        }
    }
}
