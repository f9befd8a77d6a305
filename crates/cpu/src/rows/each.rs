//! The loops of functions of two arrays' elements, and of the gradient of a cosine.

use warpfold_core::rows::{Cosine, Dots};

use crate::simd::vectorize;

use super::engine::{Block, Node, RowOp};
use super::lines::RowFloat;
use super::nodes::sums;

/// A function of each pair of elements, times a number of each row, or of all, and perhaps the third input's element.
pub struct Each<F, M> {
    of: M,
    scales: Vec<F>,
}

impl<F: RowFloat, M: Fn(F, F) -> F + Sync> Each<F, M> {
    /// `scales` has one number, or one of each row.
    pub fn new(scales: Vec<F>, of: M) -> Self {
        Self { of, scales }
    }
}

impl<F: RowFloat, M: Fn(F, F) -> F + Sync> RowOp<F> for Each<F, M> {
    type Stat = ();

    fn rounds(&self) -> usize {
        0
    }

    fn reduce(&self, _round: usize, _block: &mut Block<'_, F>, _stats: &[()], _nodes: &mut [Node<F>]) {}

    fn finish(&self, _round: usize, _row: usize, _node: Node<F>, (): &mut ()) {}

    fn map(&self, block: &mut Block<'_, F>, _stats: &[()], out: &mut [F]) {
        let (n, of) = (block.part.n, &self.of);
        let [x, y, scales] = block.x;
        let rows = x.chunks_exact(n).zip(y.chunks_exact(n)).zip(out.chunks_exact_mut(n));
        for (row, ((x, y), out)) in block.part.rows.clone().zip(rows) {
            let scale = self.scales[if self.scales.len() == 1 { 0 } else { row }];
            vectorize(
                #[inline(always)]
                || {
                    for ((x, y), out) in x.iter().zip(y).zip(out) {
                        *out = of(*x, *y).mul(scale);
                    }
                },
            );
        }
        for (out, scale) in out.iter_mut().zip(scales) {
            *out = out.mul(*scale);
        }
    }
}

/// The gradient of a cosine.
pub struct Angle<F> {
    /// The cosine.
    pub cosine: Cosine<F>,
    /// The gradient of each row's cosine, or of all.
    pub scales: Vec<F>,
}

impl<F: RowFloat> RowOp<F> for Angle<F> {
    /// The row's dots, and its scale.
    type Stat = (Dots<F>, F);

    fn rounds(&self) -> usize {
        2
    }

    fn reduce(&self, round: usize, block: &mut Block<'_, F>, _stats: &[Self::Stat], nodes: &mut [Node<F>]) {
        let Block { part, x: [x, y, _], terms, .. } = block;
        let of: &[(&[F], &[F])] = if round == 0 { &[(x, y), (x, x)] } else { &[(y, y)] };
        for (which, (a, b)) in of.iter().enumerate() {
            vectorize(
                #[inline(always)]
                || {
                    for ((a, b), term) in a.iter().zip(*b).zip(terms.iter_mut()) {
                        *term = a.mul(*b);
                    }
                },
            );
            sums(terms, part.n, nodes, which);
        }
    }

    fn finish(&self, round: usize, row: usize, node: Node<F>, (dots, scale): &mut Self::Stat) {
        match round {
            0 => (dots.dot, dots.x) = (node[0], node[1]),
            _ => dots.y = node[0],
        }
        *scale = self.scales[if self.scales.len() == 1 { 0 } else { row }];
    }

    fn map(&self, block: &mut Block<'_, F>, stats: &[Self::Stat], out: &mut [F]) {
        let n = block.part.n;
        let rows = block.x[0].chunks_exact(n).zip(block.x[1].chunks_exact(n)).zip(stats);
        for (((x, y), (dots, scale)), out) in rows.zip(out.chunks_exact_mut(n)) {
            let (other, own) = self.cosine.gradient(*dots, *scale);
            vectorize(
                #[inline(always)]
                || {
                    for ((x, y), out) in x.iter().zip(y).zip(out) {
                        *out = y.mul(other).sub(x.mul(own));
                    }
                },
            );
        }
    }
}
