//! The loops of functions of two arrays' elements, and of the gradient of a cosine.

use warpfold_core::rows::{Cosine, Dots, Loss};

use crate::simd::vectorize;
use crate::zip::Zips;

use super::engine::{Block, Node, RowOp};
use super::lines::RowFloat;
use super::nodes::sums;

/// A function of an element of each of two arrays.
pub trait Pairwise<F>: Send + Sync {
    /// Its value.
    fn any(&self, x: F, y: F) -> F;
    /// Whether [`Pairwise::plain`] has the value of these.
    fn is_plain(&self, x: F, y: F) -> bool;
    /// The same bits, in few operations without a branch, so that many are computed at once.
    fn plain(&self, x: F, y: F) -> F;
}

/// A loss of an element and its target, or its derivative by the element.
pub struct Losses<Z, const DERIVATIVE: bool>(pub Z);

impl<F, Z: Loss<F>, const DERIVATIVE: bool> Pairwise<F> for Losses<Z, DERIVATIVE> {
    #[inline(always)]
    fn any(&self, x: F, y: F) -> F {
        if DERIVATIVE { self.0.derivative(x, y) } else { self.0.zip(x, y) }
    }

    #[inline(always)]
    fn is_plain(&self, x: F, y: F) -> bool {
        self.0.is_plain(x, y)
    }

    #[inline(always)]
    fn plain(&self, x: F, y: F) -> F {
        if DERIVATIVE { self.0.plain_derivative(x, y) } else { self.0.plain(x, y) }
    }
}

impl<F: RowFloat, Z: Loss<F>> Zips<F, F> for Losses<Z, false> {
    type Item = F;

    #[inline(always)]
    fn each(&self, x: &[F], y: &[F], write: impl FnMut(usize, F)) {
        pairwise(self, x, y, write);
    }
}

/// Calls `write` with the number of each pair, and the function's value.
#[inline(always)]
pub fn pairwise<F: Copy>(of: &impl Pairwise<F>, x: &[F], y: &[F], mut write: impl FnMut(usize, F)) {
    let mut all = true;
    for (x, y) in x.iter().zip(y) {
        all &= of.is_plain(*x, *y);
    }
    if all {
        for (i, (x, y)) in x.iter().zip(y).enumerate() {
            write(i, of.plain(*x, *y));
        }
    } else {
        for (i, (x, y)) in x.iter().zip(y).enumerate() {
            write(i, of.any(*x, *y));
        }
    }
}

/// A function of each pair of elements, times a number of each row, or of all, and perhaps the third input's element.
pub struct Each<F, P> {
    of: P,
    scales: Vec<F>,
}

impl<F: RowFloat, P: Pairwise<F>> Each<F, P> {
    /// `scales` has one number, or one of each row.
    pub fn new(scales: Vec<F>, of: P) -> Self {
        Self { of, scales }
    }
}

impl<F: RowFloat, P: Pairwise<F>> RowOp<F> for Each<F, P> {
    type Stat = ();

    fn rounds(&self) -> usize {
        0
    }

    fn reduce(&self, _round: usize, _block: &mut Block<'_, F>, _stats: &[()], _nodes: &mut [Node<F>]) {}

    fn finish(&self, _round: usize, _row: usize, _node: Node<F>, (): &mut ()) {}

    fn map(&self, block: &mut Block<'_, F>, _stats: &[()], out: &mut [F]) {
        let (n, of, all) = (block.part.n, &self.of, &self.scales);
        let [x, y, scales] = block.x;
        let first = block.part.rows.start;
        let rows = x.chunks_exact(n).zip(y.chunks_exact(n)).zip(out.chunks_exact_mut(n)).enumerate();
        vectorize(
            #[inline(always)]
            || {
                for (row, ((x, y), out)) in rows {
                    let scale = all[if all.len() == 1 { 0 } else { first + row }];
                    pairwise(
                        of,
                        x,
                        y,
                        #[inline(always)]
                        |i, value| out[i] = value.mul(scale),
                    );
                }
            },
        );
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
