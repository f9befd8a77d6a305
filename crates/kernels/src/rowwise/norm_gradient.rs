//! The gradients of the elements before a norm.
//!
//! Idea: the norms of rows are given: the norm itself has noted them, or a launch that writes nothing else. So rows are
//! reduced once, for the sums over their gradients.

use super::Rowwise;
use super::level::{Level, SumsOf, pack, pick};
use super::norm::{Kind, Norms, norm, normalised};
use super::number::{MOST, canonical, numbers};
use super::op::{Held, RowOp};
use super::slots::steps;
use super::spread::{At, Packs, Place};
use crate::address::array;
use crate::node::{Node, fetch};
use crate::reduce::shape::split::next;
use crate::source::{Bits, Source};
use warpfold_core::rows::{Norm, NormGradient};
use warpfold_core::{Accumulate, Element, Float, Real};
use warpfold_simt::Simt;

/// Gradients of a norm whose rows need the sum of the gradients' products with normalised elements, and, if `SUMS` is
/// 2, that of the gradients.
#[derive(Clone, Copy)]
pub struct NormGradients<X: Source, K, const SUMS: usize> {
    pub(super) norm: Norms<X, K>,
}

/// A row's norm, and what the gradients of its elements need beside.
type Stat<F> = ((F, F), (F, F));

impl<X, K, const SUMS: usize> RowOp for NormGradients<X, K, SUMS>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
    K: Kind<X>,
{
    type Source = X;
    type Level = SumsOf<X::Value, SUMS>;
    type Kept = [[u32; 4]; 2];
    type Stat = Stat<X::Value>;
    type Ready = [[X::Value; MOST]; 2];
    const SECOND: bool = true;
    const GIVEN: bool = true;
    const STAYS: bool = false;
    const PLAIN: bool = true;
    const AS_READ: bool = true;

    #[inline(always)]
    fn new(call: &Rowwise) -> Self {
        Self { norm: Norms::new(call) }
    }

    #[inline(always)]
    fn blank(&self) -> [X::Bits; 2] {
        [X::Bits::ZERO; 2]
    }

    #[inline(always)]
    fn stat<S: Simt>(&self, s: &S, sums: [X::Value; SUMS], row: u64) -> Self::Stat {
        (self.noted(s, row).0, self.of_sums(sums))
    }

    #[inline(always)]
    fn noted<S: Simt>(&self, s: &S, row: u64) -> Self::Stat {
        let zero = X::Value::ZERO;
        (fetch(s, array(self.norm.norms), row as usize, (zero, zero)), (zero, zero))
    }

    #[inline(always)]
    fn nodes<S: Simt, P: Fn(u32) -> Place, const WARP: bool, const N: usize>(
        &self,
        s: &S,
        packs: &Packs<P, N>,
        held: &Held<Self, N>,
        given: [Self::Stat; N],
    ) -> [[X::Value; SUMS]; N] {
        let (lane, per) = (s.lane(), X::Bits::PER);
        let sums = |kept, stat, at: At| Self::sums(self.ready(s, kept, stat, at));
        let mut nodes = [[X::Value::NOTHING; SUMS]; N];
        if WARP || N <= 2 {
            nodes = warpfold_simt::array::from_fn(
                #[inline(always)]
                |k| sums(held.kept[k], given[k], packs.at(k as u32, lane, per)),
            );
        } else {
            // One pack after the other, so that few are numbers at a time.
            let (mut k, all) = (0, s.opaque(N as u32));
            while s.again(k < all) {
                nodes = next(nodes, sums(pick(held.kept, k), pick(given, k), packs.at(k, lane, per)));
                k += 1;
            }
        }
        steps::<S, _, WARP, N>(s, Self::Level::NEW, packs.spread, nodes, per, |k| packs.valid(k))
    }

    #[inline(always)]
    fn hold<S: Simt, P: Fn(u32) -> Place, const N: usize>(&self, _s: &S, packs: &Packs<P, N>) -> Held<Self, N> {
        Held::new(packs.both())
    }

    #[inline(always)]
    fn ready<S: Simt>(&self, s: &S, kept: Self::Kept, stat: Self::Stat, at: At) -> Self::Ready {
        let [x, gradients] = kept;
        let weighed = self.norm.factors.weighed::<S, X>(s, numbers::<S, X>(s, gradients), at);
        Self::ready_with(s, x, stat.0, at, weighed)
    }

    #[inline(always)]
    fn nodes_ready<S: Simt, P: Fn(u32) -> Place, const WARP: bool, const N: usize>(
        &self,
        s: &S,
        packs: &Packs<P, N>,
        ready: [Self::Ready; N],
    ) -> [[X::Value; SUMS]; N] {
        let nodes = ready.map(
            #[inline(always)]
            |ready| Self::sums(ready),
        );
        steps::<S, _, WARP, N>(s, Self::Level::NEW, packs.spread, nodes, X::Bits::PER, |k| packs.valid(k))
    }

    #[inline(always)]
    fn is_plain(&self, _stat: Self::Stat) -> bool {
        true
    }

    #[inline(always)]
    fn map<S: Simt>(&self, s: &S, kept: Self::Kept, stat: Self::Stat, at: At) -> [u32; 4] {
        self.map_ready(s, self.ready(s, kept, stat, at), stat)
    }

    #[inline(always)]
    fn map_ready<S: Simt>(
        &self,
        s: &S,
        [normal, mut gradients]: Self::Ready,
        (row, (mean, slope)): Self::Stat,
    ) -> [u32; 4] {
        let (row, of, mut i): (Norm<X::Value>, _, _) = (norm(row), NormGradient { mean, slope }, 0);
        while i < X::Bits::PER as usize {
            gradients[i] = if K::CENTRED {
                of.gradient(row, normal[i], gradients[i])
            } else {
                // The same without a mean.
                gradients[i].sub(normal[i].mul(slope)).mul(row.inverse)
            };
            i += 1;
        }
        canonical::<S, X>(s, gradients)
    }

    #[inline(always)]
    fn map_any<S: Simt>(&self, s: &S, kept: Self::Kept, stat: Self::Stat, _wild: bool, at: At) -> [u32; 4] {
        self.map(s, kept, stat, at)
    }
}

impl<X, K, const SUMS: usize> NormGradients<X, K, SUMS>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
    K: Kind<X>,
{
    /// What the gradients of a row's elements need beside its norm.
    #[inline(always)]
    pub(super) fn of_sums(&self, sums: [X::Value; SUMS]) -> (X::Value, X::Value) {
        let total = if SUMS == 2 { sums[SUMS - 1] } else { X::Value::ZERO };
        let NormGradient { mean, slope } = NormGradient::of(total, sums[0], self.norm.factors.len);
        (mean, slope)
    }

    /// The sums over a pack.
    #[inline(always)]
    pub(super) fn sums([normal, gradients]: [[X::Value; MOST]; 2]) -> [X::Value; SUMS] {
        let (per, mut products, mut i) = (X::Bits::PER, normal, 0);
        while i < per as usize {
            products[i] = gradients[i].mul(normal[i]);
            i += 1;
        }
        let of = |terms| pack(terms, per, |left: X::Value, right, _, _| left.add(right));
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |sum| of(if sum == 0 { products } else { gradients }),
        )
    }

    /// A pack's elements, normalised, and the gradients of these.
    #[inline(always)]
    pub(super) fn ready_with<S: Simt>(
        s: &S,
        x: [u32; 4],
        row: (X::Value, X::Value),
        at: At,
        mut gradients: [X::Value; MOST],
    ) -> [[X::Value; MOST]; 2] {
        let mut normal = numbers::<S, X>(s, x).map(
            #[inline(always)]
            |x| normalised::<X, K>(norm(row), x),
        );
        if s.branch(at.count < X::Bits::PER) {
            // Elements that are not there change no sum: these are -0.0, and so are their products.
            let mut i = 0;
            while i < X::Bits::PER {
                if i >= at.count {
                    (normal[i as usize], gradients[i as usize]) = (X::Value::ZERO, X::Value::NOTHING);
                }
                i += 1;
            }
        }
        [normal, gradients]
    }
}
