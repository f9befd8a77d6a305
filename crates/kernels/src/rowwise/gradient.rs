//! The gradients of softmax and of its logarithm.
//!
//! Idea: the packs of both arrays are kept as they are: what softmax has computed, and the gradient of that.

use super::Rowwise;
use super::level::{Level, Sums, pack};
use super::number::{canonical, numbers};
use super::op::{Held, RowOp};
use super::slots::steps;
use super::softmax::Softmaxes;
use super::spread::{At, Packs, Place};
use crate::node::Node;
use crate::source::{Bits, Source};
use warpfold_core::ops::Exponential;
use warpfold_core::rows::{log_softmax_gradient, softmax_gradient};
use warpfold_core::{Accumulate, Element, Float, Real};
use warpfold_simt::{Pod, Simt};

/// The gradient before softmax, or (`LOG`) before its logarithm.
#[derive(Clone, Copy)]
pub struct SoftmaxGradients<X: Source, const LOG: bool> {
    scale: X::Value,
}

impl<X, const LOG: bool> RowOp for SoftmaxGradients<X, LOG>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    type Source = X;
    type Level = Sums<X::Value>;
    type Kept = [[u32; 4]; 2];
    type Stat = X::Value;
    type Ready = [u32; 0];
    const SECOND: bool = true;
    const LINED: bool = true;
    const PLAIN: bool = true;
    const TURNED: bool = true;

    #[inline(always)]
    fn new(call: &Rowwise) -> Self {
        Self { scale: X::Value::from_f64(call.scale) }
    }

    #[inline(always)]
    fn blank(&self) -> [X::Bits; 2] {
        // +0.0 and -0.0, whose product is -0.0, too: that changes no sum.
        [X::Bits::ZERO, X::Bits::from_bits(1 << (8 * X::Bits::SIZE - 1))]
    }

    #[inline(always)]
    fn hold<S: Simt, P: Fn(u32) -> Place, const N: usize>(&self, _s: &S, packs: &Packs<P, N>) -> Held<Self, N> {
        Held::new(packs.both())
    }

    #[inline(always)]
    fn nodes<S: Simt, P: Fn(u32) -> Place, const WARP: bool, const N: usize>(
        &self,
        s: &S,
        packs: &Packs<P, N>,
        &Held { kept, .. }: &Held<Self, N>,
        _given: [Self::Stat; N],
    ) -> [X::Value; N] {
        let nodes = kept.map(
            #[inline(always)]
            |[y, gradients]| {
                let (y, mut terms) = (numbers::<S, X>(s, y), numbers::<S, X>(s, gradients));
                let mut i = 0;
                while !LOG && i < X::Bits::PER as usize {
                    terms[i] = y[i].mul(terms[i]);
                    i += 1;
                }
                pack(terms, X::Bits::PER, |left, right, _, _| left.add(right))
            },
        );
        steps::<S, _, WARP, N>(s, Self::Level::NEW, packs.spread, nodes, X::Bits::PER, |k| packs.valid(k))
    }

    #[inline(always)]
    fn stat<S: Simt>(&self, _s: &S, node: X::Value, _row: u64) -> Self::Stat {
        node
    }

    #[inline(always)]
    fn is_plain(&self, _stat: Self::Stat) -> bool {
        true
    }

    #[inline(always)]
    fn map<S: Simt>(&self, s: &S, [y, gradients]: Self::Kept, sum: Self::Stat, _at: At) -> [u32; 4] {
        let (mut y, mut each) = (numbers::<S, X>(s, y), numbers::<S, X>(s, gradients));
        if LOG {
            // Ordinary exponentials have the same bits for less.
            y = if s.branch(Softmaxes::<X, true, false>::all(&y, |y| y.is_ordinary())) {
                y.map(
                    #[inline(always)]
                    |y| y.ordinary_exp_of(X::DTYPE),
                )
            } else {
                y.map(
                    #[inline(always)]
                    |y| y.full_exp(),
                )
            };
        }
        let mut i = 0;
        while i < X::Bits::PER as usize {
            let of = if LOG { log_softmax_gradient(y[i], each[i], sum) } else { softmax_gradient(y[i], each[i], sum) };
            each[i] = of.mul(self.scale);
            i += 1;
        }
        canonical::<S, X>(s, each)
    }

    #[inline(always)]
    fn map_any<S: Simt>(&self, s: &S, kept: Self::Kept, stat: Self::Stat, _wild: bool, at: At) -> [u32; 4] {
        self.map(s, kept, stat, at)
    }
}
