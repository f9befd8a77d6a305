//! Blocks of the variance: means and sums of squares in arrays of their own, so that both are vectors.

use std::mem::MaybeUninit;

use warpfold_core::ops::{Deviation, Moments, Plain};
use warpfold_core::{Element, Float};

use super::kernel::{GROUP, Kernel, Level, PIECE, Ragged, climb, tree_levels};
use super::policy::BLOCK;
use super::simd::vectorize;

/// The variance of plain floats.
#[derive(Clone)]
pub struct Spread<F>(pub Deviation<F, Plain>);

impl<F: Element<Float = F> + Float> Kernel for Spread<F> {
    type R = Deviation<F, Plain>;

    fn reducer(&self) -> &Self::R {
        &self.0
    }

    fn block(&self, x: &[F], start: u64) -> Moments<F> {
        vectorize(
            #[inline(always)]
            || match x.as_chunks::<PIECE>() {
                (pieces, []) => spread(&self.0, pieces),
                _ => tree_levels(&self.0, x, start),
            },
        )
    }
}

/// The tree over whole pieces: the arithmetic is [`Deviation`]'s for equal halves.
#[inline(always)]
fn spread<F: Element<Float = F> + Float>(reducer: &Deviation<F>, pieces: &[[F; PIECE]]) -> Moments<F> {
    const NODES: usize = BLOCK / GROUP;
    let mut a: Level<Moments<F>, NODES> = [const { MaybeUninit::uninit() }; NODES];
    let mut b: Level<Moments<F>, { NODES / 2 }> = [const { MaybeUninit::uninit() }; NODES / 2];
    for (piece, nodes) in pieces.iter().zip(a.as_chunks_mut::<{ PIECE / GROUP }>().0) {
        let m2: [F; PIECE] = std::array::from_fn(
            #[inline(always)]
            |i| piece[i].sub(piece[i]),
        );
        let (mean, m2) = halve::<F, PIECE, { PIECE / 2 }>(piece, &m2, 1);
        let (mean, m2) = halve::<F, { PIECE / 2 }, { PIECE / 4 }>(&mean, &m2, 2);
        let (mean, m2) = halve::<F, { PIECE / 4 }, { PIECE / 8 }>(&mean, &m2, 4);
        let (mean, m2) = halve::<F, { PIECE / 8 }, { PIECE / GROUP }>(&mean, &m2, 8);
        for (i, node) in nodes.iter_mut().enumerate() {
            node.write(Moments { mean: mean[i], m2: m2[i] });
        }
    }
    let mut ragged = Ragged { tail: None };
    let whole = pieces.len() * (PIECE / GROUP);
    // SAFETY: there is a node per group.
    unsafe { climb(reducer, &mut a, &mut b, whole, GROUP as u64, &mut ragged) };
    ragged.tail.expect("a block is not empty").0
}

/// One level up, from nodes of `weight` elements.
#[inline(always)]
fn halve<F: Float, const M: usize, const N: usize>(mean: &[F; M], m2: &[F; M], weight: u64) -> ([F; N], [F; N]) {
    let half = F::from_count(weight).half();
    let (mut means, mut m2s) = ([F::ZERO; N], [F::ZERO; N]);
    for i in 0..N {
        let d = mean[2 * i + 1].sub(mean[2 * i]);
        means[i] = mean[2 * i].add(d.half());
        m2s[i] = m2[2 * i].add(m2[2 * i + 1]).add(d.square().mul(half));
    }
    (means, m2s)
}
