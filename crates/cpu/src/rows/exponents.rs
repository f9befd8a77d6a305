//! Sums of exponentials over rows, and the softmax of their elements.

use warpfold_core::ops::{LogSumExp, Powers, Sum};
use warpfold_core::rows::Softmax;
use warpfold_core::{DType, Reducer};

use crate::exponentials::exponentials_of;
use crate::fallback;
use crate::kernel::Tree;
use crate::simd::vectorize;
use crate::tree::tree_levels;

use super::engine::{Block, Node};
use super::lines::RowFloat;
use super::nodes::sums;

/// The nodes of [`LogSumExp`] of a block's rows, whose elements were of a dtype. Where all elements are ordinary, their
/// exponentials are left in the block's terms. Nodes are zero before.
pub fn reduce<F: RowFloat>(dtype: DType, block: &mut Block<'_, F>, nodes: &mut [Node<F>]) {
    let n = block.part.n;
    if exponentials_of(dtype, block.x[0], block.terms) {
        return sums(block.terms, n, nodes, 1);
    }
    let rows = block.x[0].chunks_exact(n).zip(block.terms.chunks_exact_mut(n));
    for ((x, terms), node) in rows.zip(nodes) {
        let reducer = LogSumExp::<F>::new();
        *node = match ordinary_or_nothing(x, terms) {
            // A sum of nothing else has the scale of nothing. Beside other terms, a term of nothing adds zero.
            true if terms.iter().any(|term| *term != F::ZERO) => {
                [F::ZERO, fallback::block(&Tree(Sum::<F>::total()), terms, 0)]
            }
            _ => {
                let Powers { scale, sum } = vectorize(
                    #[inline(always)]
                    || tree_levels(&reducer, x, 0),
                );
                [scale, sum]
            }
        };
    }
}

/// The node above two neighbours.
pub fn join<F: RowFloat>(left: Node<F>, right: Node<F>) -> Node<F> {
    let [left, right] = [left, right].map(|[scale, sum]| Powers { scale, sum });
    let Powers { scale, sum } = LogSumExp::<F>::new().combine(left, right);
    [scale, sum]
}

/// The softmax of each element of a block's rows.
pub fn softmax<F: RowFloat>(dtype: DType, block: &mut Block<'_, F>, row: impl Fn(usize) -> Softmax<F>, out: &mut [F]) {
    let n = block.part.n;
    let ordinary = if block.fresh { all_ordinary(block.x[0]) } else { exponentials_of(dtype, block.x[0], block.terms) };
    let plain = |at| row(at).scale == F::ZERO;
    if ordinary && (0..block.part.rows.len()).all(plain) {
        let rows = block.terms.chunks_exact(n).zip(out.chunks_exact_mut(n)).enumerate();
        return vectorize(
            #[inline(always)]
            || {
                for (at, (terms, out)) in rows {
                    let row = row(at);
                    for (term, out) in terms.iter().zip(out) {
                        *out = row.of_ordinary(*term);
                    }
                }
            },
        );
    }
    let rows = block.x[0].chunks_exact(n).zip(block.terms.chunks_exact_mut(n));
    for (at, ((x, terms), out)) in rows.zip(out.chunks_exact_mut(n)).enumerate() {
        let row = row(at);
        if row.scale == F::ZERO && (ordinary || ordinary_or_nothing(x, terms)) {
            vectorize(
                #[inline(always)]
                || {
                    for (term, out) in terms.iter().zip(out) {
                        *out = row.of_ordinary(*term);
                    }
                },
            );
        } else {
            vectorize(
                #[inline(always)]
                || {
                    for (x, out) in x.iter().zip(out) {
                        *out = row.probability(*x);
                    }
                },
            );
        }
    }
}

/// Whether each element is ordinary.
pub fn all_ordinary<F: RowFloat>(x: &[F]) -> bool {
    vectorize(
        #[inline(always)]
        || {
            x.iter().fold(
                true,
                #[inline(always)]
                |all, x| all & x.is_ordinary(),
            )
        },
    )
}

/// Writes the exponential of each element, or zero for minus infinity. Returns whether there was nothing else.
fn ordinary_or_nothing<F: RowFloat>(x: &[F], terms: &mut [F]) -> bool {
    let nothing = F::ZERO.sub(F::ONE).div(F::ZERO);
    vectorize(
        #[inline(always)]
        || {
            let mut all = true;
            for (x, term) in x.iter().zip(terms) {
                let absent = *x == nothing;
                all &= absent | x.is_ordinary();
                let exponential = x.ordinary_exp();
                *term = if absent { F::ZERO } else { exponential };
            }
            all
        },
    )
}
