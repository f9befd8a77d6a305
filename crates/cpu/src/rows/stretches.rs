//! The loops of group norm: rows are groups, of which each channel is a stretch that has a weight and a bias.

use std::ops::Range;

use warpfold_core::rows::{Norm as Row, NormGradient};

use crate::simd::vectorize;

use super::engine::{Block, Node, RowOp};
use super::layer::{Affine, affine, gradients, of_constant, products, scaled};
use super::lines::RowFloat;
use super::nodes::sums;

/// Stretches that are shorter than this have a number for each element: a loop of its own would take longer.
pub const SHORT: usize = 32;

/// Where the numbers of channels apply in rows that are groups.
pub struct Stretches {
    /// Elements of a channel.
    pub run: usize,
    /// Elements of a group.
    pub len: usize,
    /// The first group of the rows.
    pub first: usize,
    /// How many groups of each sample are rows.
    pub groups: usize,
}

impl Stretches {
    /// Where the numbers are one for each element: those of `n` elements of a row.
    #[inline(always)]
    fn each(&self, row: usize, from: usize, n: usize) -> Option<Range<usize>> {
        let first = (self.first + row % self.groups) * self.len + from;
        (self.run < SHORT).then_some(first..first + n)
    }

    /// Calls `f` with the stretches of `n` elements of a row, and the channel of each.
    #[inline(always)]
    fn for_each(&self, row: usize, from: usize, n: usize, mut f: impl FnMut(Range<usize>, usize)) {
        let first = (self.first + row % self.groups) * self.len + from;
        let mut at = 0;
        while at < n {
            let channel = (first + at) / self.run;
            let end = n.min((channel + 1) * self.run - first);
            f(at..end, channel);
            at = end;
        }
    }
}

/// A weight and a bias of each channel.
pub struct OfChannels<F> {
    /// 1 without weights, which changes no bit.
    pub weight: Vec<F>,
    /// -0.0 without biases, which changes no bit.
    pub bias: Vec<F>,
    /// Where both apply.
    pub stretches: Stretches,
}

impl<F: RowFloat> Affine<F> for OfChannels<F> {
    #[inline(always)]
    fn apply(&self, at: usize, from: usize, row: Row<F>, x: &[F], out: &mut [F]) {
        match self.stretches.each(at, from, x.len()) {
            Some(of_row) => affine(row, x, (&self.weight[of_row.clone()], &self.bias[of_row]), out),
            None => self.stretches.for_each(
                at,
                from,
                x.len(),
                #[inline(always)]
                |range, channel| {
                    let numbers = (self.weight[channel], self.bias[channel]);
                    scaled(row, &x[range.clone()], numbers, &mut out[range]);
                },
            ),
        }
    }
}

/// Sums over channels of samples.
pub struct Sums<'a, F> {
    /// Of each group.
    pub norms: &'a [Row<F>],
    /// Of a group.
    pub channels: usize,
}

impl<F: RowFloat> RowOp<F> for Sums<'_, F> {
    type Stat = Node<F>;

    fn reduce(&self, _round: usize, block: &mut Block<'_, F>, _stats: &[Node<F>], nodes: &mut [Node<F>]) {
        let Block { part, x: [x, gradient, _], terms, .. } = block;
        let (mut row, mut at) = (part.rows.start, 0);
        while row < part.rows.end {
            let group = row / self.channels;
            let end = part.rows.end.min((group + 1) * self.channels);
            let of_group = at..at + (end - row) * part.n;
            let both = (&x[of_group.clone()], &gradient[of_group.clone()]);
            let terms = &mut terms[of_group.clone()];
            vectorize(
                #[inline(always)]
                || products(self.norms[group], both, terms),
            );
            (row, at) = (end, of_group.end);
        }
        sums(terms, part.n, nodes, 0);
        sums(gradient, part.n, nodes, 1);
    }

    fn finish(&self, _round: usize, _row: usize, node: Node<F>, stat: &mut Node<F>) {
        *stat = node;
    }

    fn map(&self, block: &mut Block<'_, F>, _stats: &[Node<F>], out: &mut [F]) {
        out.copy_from_slice(block.terms);
    }
}

/// The gradients of elements, from what groups were reduced to.
pub struct Backward<'a, F> {
    /// What each group was reduced to.
    pub rows: Vec<(Row<F>, NormGradient<F>)>,
    /// 1 without weights, which changes no bit.
    pub weight: &'a [F],
    /// Where the weights apply.
    pub stretches: Stretches,
}

impl<F: RowFloat> RowOp<F> for Backward<'_, F> {
    type Stat = ();

    fn rounds(&self) -> usize {
        0
    }

    fn map(&self, block: &mut Block<'_, F>, _stats: &[()], out: &mut [F]) {
        let (n, from) = (block.part.n, block.part.from);
        let rows = block.x[0].chunks_exact(n).zip(block.x[1].chunks_exact(n)).zip(out.chunks_exact_mut(n));
        let rows = block.part.rows.clone().zip(rows);
        vectorize(
            #[inline(always)]
            || {
                for (at, ((x, gradient), out)) in rows {
                    let row = self.rows[at];
                    match self.stretches.each(at, from, n) {
                        Some(of_row) => gradients(row, (x, gradient), &self.weight[of_row], out),
                        None => self.stretches.for_each(
                            at,
                            from,
                            n,
                            #[inline(always)]
                            |range, channel| {
                                let both = (&x[range.clone()], &gradient[range.clone()]);
                                of_constant(row, both, (self.weight[channel], row.0.inverse), &mut out[range]);
                            },
                        ),
                    }
                }
            },
        );
    }
}
