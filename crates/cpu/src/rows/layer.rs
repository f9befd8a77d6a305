//! The loops of norms: a row's mean and deviation, its normalised elements, and their gradients. Loops over elements of
//! one row are inlined, and have the instructions of their caller: rows may be short.

use warpfold_core::ops::{Deviation, Moments, Square, Sum};
use warpfold_core::rows::{Norm as Row, NormGradient};
use warpfold_core::{DType, Reducer};

use crate::kernel::Tree;
use crate::moments::Spread;
use crate::simd::vectorize;

use super::engine::{Block, Node, RowOp};
use super::lines::{RowFloat, round_to};
use super::nodes::{nodes, sums};

/// How a row is reduced to its mean and one over its deviation.
#[derive(Clone, Copy)]
pub struct Statistics<F> {
    /// Whether the mean is subtracted.
    pub layer: bool,
    /// Elements of a row.
    pub len: u64,
    /// Added to the mean square, or to the variance.
    pub epsilon: F,
}

impl<F: RowFloat> Statistics<F> {
    /// The nodes of rows of `n` elements.
    pub fn nodes(&self, x: &[F], n: usize, to: &mut [Node<F>]) {
        if self.layer {
            nodes(&Spread(Deviation::<F>::new(0.0, false)), x, n, |row, node| to[row] = [node.mean, node.m2]);
        } else {
            nodes(&Tree(Sum::<F, Square>::norm2()), x, n, |row, squares| to[row] = [squares, F::ZERO]);
        }
    }

    /// The node above two neighbours.
    pub fn joined(&self, left: (Node<F>, u64), right: (Node<F>, u64)) -> Node<F> {
        if !self.layer {
            return [left.0[0].add(right.0[0]), left.0[1].add(right.0[1])];
        }
        let [a, b] = [left.0, right.0].map(|[mean, m2]| Moments { mean, m2 });
        let Moments { mean, m2 } = Deviation::<F>::new(0.0, false).combine_counted(a, left.1, b, right.1);
        [mean, m2]
    }

    /// What follows from the node of a row.
    pub fn row(&self, node: Node<F>) -> Row<F> {
        if self.layer {
            Row::layer(Moments { mean: node[0], m2: node[1] }, self.len, self.epsilon)
        } else {
            Row::rms(node[0], self.len, self.epsilon)
        }
    }
}

/// Elements of a row, normalised, times a weight, plus a bias.
#[inline(always)]
pub fn scaled<F: RowFloat>(row: Row<F>, x: &[F], (weight, bias): (F, F), out: &mut [F]) {
    for (x, out) in x.iter().zip(out) {
        *out = row.normalised(*x).mul(weight).add(bias);
    }
}

/// Elements of a row, normalised, times their weights, plus their biases.
#[inline(always)]
pub fn affine<F: RowFloat>(row: Row<F>, x: &[F], (weight, bias): (&[F], &[F]), out: &mut [F]) {
    for (((x, out), weight), bias) in x.iter().zip(out).zip(weight).zip(bias) {
        *out = row.normalised(*x).mul(*weight).add(*bias);
    }
}

/// The gradients of elements of a row, from those of its weighted elements.
#[inline(always)]
pub fn gradients<F: RowFloat>(
    (row, of_row): (Row<F>, NormGradient<F>),
    (x, gradient): (&[F], &[F]),
    weight: &[F],
    out: &mut [F],
) {
    for (((x, gradient), weight), out) in x.iter().zip(gradient).zip(weight).zip(out) {
        *out = of_row.gradient(row, row.normalised(*x), gradient.mul(*weight));
    }
}

/// The gradients of elements of a row that have one weight, times `factor` in place of one over the deviation.
#[inline(always)]
pub fn of_constant<F: RowFloat>(
    (row, of_row): (Row<F>, NormGradient<F>),
    (x, gradient): (&[F], &[F]),
    (weight, factor): (F, F),
    out: &mut [F],
) {
    let last = Row { inverse: factor, ..row };
    for ((x, gradient), out) in x.iter().zip(gradient).zip(out) {
        *out = of_row.gradient(last, row.normalised(*x), gradient.mul(weight));
    }
}

/// Numbers times a factor.
#[inline(always)]
pub fn multiplied<F: RowFloat>(x: &[F], factor: F, out: &mut [F]) {
    for (x, out) in x.iter().zip(out) {
        *out = x.mul(factor);
    }
}

/// The products of gradients and normalised elements of a row.
#[inline(always)]
pub fn products<F: RowFloat>(row: Row<F>, (x, gradient): (&[F], &[F]), out: &mut [F]) {
    for ((x, gradient), out) in x.iter().zip(gradient).zip(out) {
        *out = gradient.mul(row.normalised(*x));
    }
}

/// What becomes of the elements of a row after they were normalised.
pub trait Affine<F>: Sync {
    /// The results of elements of a row, of which the first is number `from` of row number `at`: inlined, since it has
    /// the instructions of its caller.
    fn apply(&self, at: usize, from: usize, row: Row<F>, x: &[F], out: &mut [F]);
}

/// A weight and a bias of each element of a row.
pub struct OfElements<F> {
    /// With the offset; 1 without weights, which changes no bit.
    pub weight: Vec<F>,
    /// If there are any.
    pub bias: Option<Vec<F>>,
}

impl<F: RowFloat> Affine<F> for OfElements<F> {
    #[inline(always)]
    fn apply(&self, _at: usize, from: usize, row: Row<F>, x: &[F], out: &mut [F]) {
        let of = from..from + x.len();
        let weight = &self.weight[of.clone()];
        match &self.bias {
            Some(bias) => affine(row, x, (weight, &bias[of]), out),
            None => {
                for ((x, out), weight) in x.iter().zip(out).zip(weight) {
                    *out = row.normalised(*x).mul(*weight);
                }
            }
        }
    }
}

impl<F: RowFloat> Affine<F> for () {
    #[inline(always)]
    fn apply(&self, _at: usize, _from: usize, row: Row<F>, x: &[F], out: &mut [F]) {
        scaled(row, x, (F::ONE, F::NOTHING), out);
    }
}

/// A norm with weights and biases.
pub struct Forward<F, A> {
    /// Of each row.
    pub statistics: Statistics<F>,
    /// If there are residuals, the second input: the dtype of the sums.
    pub sums: Option<DType>,
    /// The weights and biases.
    pub affine: A,
}

impl<F: RowFloat, A: Affine<F>> RowOp<F> for Forward<F, A> {
    type Stat = Row<F>;

    fn prepares(&self) -> bool {
        self.sums.is_some()
    }

    fn prepare(&self, x: &mut [F], other: &[F], _mask: Option<&[u8]>) {
        vectorize(
            #[inline(always)]
            || {
                for (x, other) in x.iter_mut().zip(other) {
                    *x = x.add(*other);
                }
            },
        );
        round_to(self.sums.unwrap_or(F::DTYPE), x);
    }

    fn keeps_prepared(&self) -> bool {
        self.sums.is_some()
    }

    fn reduce(&self, _round: usize, block: &mut Block<'_, F>, _stats: &[Row<F>], nodes: &mut [Node<F>]) {
        self.statistics.nodes(block.x[0], block.part.n, nodes);
    }

    fn join(&self, _round: usize, left: (Node<F>, u64), right: (Node<F>, u64)) -> Node<F> {
        self.statistics.joined(left, right)
    }

    fn finish(&self, _round: usize, _row: usize, node: Node<F>, stat: &mut Row<F>) {
        *stat = self.statistics.row(node);
    }

    fn map(&self, block: &mut Block<'_, F>, stats: &[Row<F>], out: &mut [F]) {
        let n = block.part.n;
        let rows = block.x[0].chunks_exact(n).zip(stats).zip(out.chunks_exact_mut(n));
        let rows = block.part.rows.clone().zip(rows);
        vectorize(
            #[inline(always)]
            || {
                for (at, ((x, row), out)) in rows {
                    self.affine.apply(at, block.part.from, *row, x, out);
                }
            },
        );
    }
}

/// The gradients of a norm.
pub struct Backward<F> {
    /// The norm.
    pub forward: Forward<F, OfElements<F>>,
    /// What each row was reduced to, if that is given.
    pub rows: Option<Vec<Row<F>>>,
    /// Whether weights have a gradient.
    pub weight: bool,
    /// Whether biases have one.
    pub bias: bool,
}

impl<F: RowFloat> Backward<F> {
    /// Whether a round is that of the statistics.
    fn is_first(&self, round: usize) -> bool {
        round == 0 && self.rows.is_none()
    }
}

impl<F: RowFloat> RowOp<F> for Backward<F> {
    type Stat = (Row<F>, NormGradient<F>);

    fn rounds(&self) -> usize {
        if self.rows.is_some() { 1 } else { 2 }
    }

    fn reduce(&self, round: usize, block: &mut Block<'_, F>, stats: &[Self::Stat], nodes: &mut [Node<F>]) {
        let Block { part, x: [x, gradient, _], terms, .. } = block;
        let n = part.n;
        if self.is_first(round) {
            return self.forward.statistics.nodes(x, n, nodes);
        }
        let weight = &self.forward.affine.weight[part.from..part.from + n];
        let rows = gradient.chunks_exact(n).zip(terms.chunks_exact_mut(n));
        vectorize(
            #[inline(always)]
            || {
                for (gradient, terms) in rows {
                    for ((gradient, weight), term) in gradient.iter().zip(weight).zip(terms) {
                        *term = gradient.mul(*weight);
                    }
                }
            },
        );
        if self.forward.statistics.layer {
            sums(terms, n, nodes, 0);
        }
        let of_rows = x.chunks_exact(n).zip(terms.chunks_exact_mut(n)).enumerate();
        vectorize(
            #[inline(always)]
            || {
                for (at, (x, terms)) in of_rows {
                    let row = self.rows.as_ref().map_or(stats[at].0, |rows| rows[part.rows.start + at]);
                    for (x, term) in x.iter().zip(terms) {
                        *term = term.mul(row.normalised(*x));
                    }
                }
            },
        );
        sums(terms, n, nodes, 1);
    }

    fn join(&self, round: usize, left: (Node<F>, u64), right: (Node<F>, u64)) -> Node<F> {
        match self.is_first(round) {
            true => self.forward.statistics.joined(left, right),
            false => [left.0[0].add(right.0[0]), left.0[1].add(right.0[1])],
        }
    }

    fn finish(&self, round: usize, at: usize, node: Node<F>, (row, gradient): &mut Self::Stat) {
        if self.is_first(round) {
            return *row = self.forward.statistics.row(node);
        }
        if let Some(rows) = &self.rows {
            *row = rows[at];
        }
        *gradient = NormGradient::of(node[0], node[1], self.forward.statistics.len);
    }

    fn map(&self, block: &mut Block<'_, F>, stats: &[Self::Stat], out: &mut [F]) {
        let n = block.part.n;
        let weight = &self.forward.affine.weight[block.part.from..block.part.from + n];
        let rows = block.x[0].chunks_exact(n).zip(block.x[1].chunks_exact(n)).zip(stats);
        let rows = rows.zip(out.chunks_exact_mut(n));
        vectorize(
            #[inline(always)]
            || {
                for (((x, gradient), (row, of_row)), out) in rows {
                    gradients((*row, *of_row), (x, gradient), weight, out);
                }
            },
        );
    }

    fn columns(&self) -> usize {
        self.weight as usize + self.bias as usize
    }

    fn column(&self, which: usize, block: &Block<'_, F>, stats: &[Self::Stat], out: &mut [F]) {
        if which == 1 || !self.weight {
            return out.copy_from_slice(block.x[1]);
        }
        let n = block.part.n;
        let rows = block.x[0].chunks_exact(n).zip(block.x[1].chunks_exact(n)).zip(stats);
        let rows = rows.zip(out.chunks_exact_mut(n));
        vectorize(
            #[inline(always)]
            || {
                for (((x, gradient), (row, _)), out) in rows {
                    products(*row, (x, gradient), out);
                }
            },
        );
    }
}
