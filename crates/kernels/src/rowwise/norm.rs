//! Root-mean-square norm and layer norm.
//!
//! Idea: elements are kept as they are, 16 bytes to four registers, and converted twice.

use super::Rowwise;
use super::factor::Factors;
use super::level::{Level, Sums, pack, pick};
use super::number::{MOST, numbers};
use super::op::{Held, RowOp};
use super::slots::steps;
use super::spread::{At, Packs, Place};
use crate::address::array;
use crate::node::{Node, publish, select};
use crate::reduce::shape::split::next;
use crate::source::{Bits, Source};
use core::marker::PhantomData;
use warpfold_core::ops::{Deviation, Moments};
use warpfold_core::rows::Norm;
use warpfold_core::{Accumulate, Element, Float, Real, Reducer};
use warpfold_simt::{ALL, Simt};

/// What a row is normalised by.
pub trait Kind<X: Source>: Copy {
    /// How nodes meet.
    type Level: Level;
    /// Whether a mean is subtracted. Else it is +0.0, which changes no bit.
    const CENTRED: bool;
    /// The node of each pack.
    fn nodes<S: Simt, P: Fn(u32) -> Place, const WARP: bool, const N: usize>(
        s: &S,
        packs: &Packs<P, N>,
    ) -> [<Self::Level as Level>::Node; N];
    /// The norm of a row of so many elements.
    fn norm(node: <Self::Level as Level>::Node, len: u64, epsilon: X::Value) -> Norm<X::Value>;
}

/// The node of each step's row, or of the row's chunk, of the first array.
#[inline(always)]
pub fn nodes<S, X, K, P, const WARP: bool, const N: usize>(s: &S, packs: &Packs<P, N>) -> [<K::Level as Level>::Node; N]
where
    S: Simt,
    X: Source,
    K: Kind<X>,
    P: Fn(u32) -> Place,
{
    let nodes = K::nodes::<S, P, WARP, N>(s, packs);
    steps::<S, _, WARP, N>(s, K::Level::NEW, packs.spread, nodes, X::Bits::PER, |k| packs.valid(k))
}

/// An element, normalised.
#[inline(always)]
pub fn normalised<X: Source<Value: Float>, K: Kind<X>>(norm: Norm<X::Value>, x: X::Value) -> X::Value {
    if K::CENTRED { norm.normalised(x) } else { x.mul(norm.inverse) }
}

/// A norm as a node: the mean and one over the deviation.
#[inline(always)]
pub fn words<F>(Norm { mean, inverse }: Norm<F>) -> (F, F) {
    (mean, inverse)
}

/// The norm of these words.
#[inline(always)]
pub fn norm<F>((mean, inverse): (F, F)) -> Norm<F> {
    Norm { mean, inverse }
}

/// Rows, normalised.
#[derive(Clone, Copy)]
pub struct Norms<X: Source, K> {
    epsilon: X::Value,
    pub(super) factors: Factors<X::Value>,
    /// Where the words of each row's norm are, or are wanted, if they are.
    pub(super) norms: u64,
    kind: PhantomData<K>,
}

impl<X, K> RowOp for Norms<X, K>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
    K: Kind<X>,
{
    type Source = X;
    type Level = K::Level;
    type Kept = [u32; 4];
    type Stat = (X::Value, X::Value);
    type Ready = [u32; 0];
    const AT_ONCE: bool = true;
    const TURNED: bool = true;
    const AS_READ: bool = true;

    #[inline(always)]
    fn new(call: &Rowwise) -> Self {
        let (epsilon, factors) = (X::Value::from_f64(call.epsilon), Factors::new(call));
        Self { epsilon, factors, norms: call.at.norms, kind: PhantomData }
    }

    #[inline(always)]
    fn blank(&self) -> [X::Bits; 2] {
        [X::Bits::ZERO; 2]
    }

    #[inline(always)]
    fn hold<S: Simt, P: Fn(u32) -> Place, const N: usize>(&self, _s: &S, packs: &Packs<P, N>) -> Held<Self, N> {
        Held::new(packs.w[0])
    }

    #[inline(always)]
    fn nodes<S: Simt, P: Fn(u32) -> Place, const WARP: bool, const N: usize>(
        &self,
        s: &S,
        packs: &Packs<P, N>,
        _held: &Held<Self, N>,
        _given: [Self::Stat; N],
    ) -> [<K::Level as Level>::Node; N] {
        nodes::<S, X, K, P, WARP, N>(s, packs)
    }

    #[inline(always)]
    fn stat<S: Simt>(&self, _s: &S, node: <K::Level as Level>::Node, _row: u64) -> Self::Stat {
        words(K::norm(node, self.factors.len, self.epsilon))
    }

    #[inline(always)]
    fn note<S: Simt>(&self, s: &S, stat: Self::Stat, row: u64) {
        if s.branch(self.norms != 0) {
            publish(s, array(self.norms), row as usize, stat);
        }
    }

    /// A layer norm has weights and biases, and another has weights, most of the time.
    #[inline(always)]
    fn is_plain(&self, _stat: Self::Stat) -> bool {
        if K::CENTRED { self.factors.are_plain::<true>() } else { self.factors.are_plain::<false>() }
    }

    #[inline(always)]
    fn map<S: Simt>(&self, s: &S, kept: [u32; 4], stat: Self::Stat, at: At) -> [u32; 4] {
        let normal = Self::normal(s, kept, stat);
        if K::CENTRED {
            self.factors.apply_plain::<S, X, true>(s, normal, at)
        } else {
            self.factors.apply_plain::<S, X, false>(s, normal, at)
        }
    }

    #[inline(always)]
    fn map_any<S: Simt>(&self, s: &S, kept: [u32; 4], stat: Self::Stat, _wild: bool, at: At) -> [u32; 4] {
        self.factors.apply::<S, X>(s, Self::normal(s, kept, stat), at)
    }
}

impl<X: Source<Value: Node + Float>, K: Kind<X>> Norms<X, K> {
    /// The elements of a pack, normalised.
    #[inline(always)]
    fn normal<S: Simt>(s: &S, kept: [u32; 4], stat: (X::Value, X::Value)) -> [X::Value; MOST] {
        numbers::<S, X>(s, kept).map(
            #[inline(always)]
            |x| normalised::<X, K>(norm(stat), x),
        )
    }
}

/// The root-mean-square norm.
#[derive(Clone, Copy)]
pub struct Rms;

impl<X> Kind<X> for Rms
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    type Level = Sums<X::Value>;
    const CENTRED: bool = false;

    #[inline(always)]
    fn nodes<S: Simt, P, const WARP: bool, const N: usize>(s: &S, packs: &Packs<P, N>) -> [X::Value; N] {
        packs.w[0].map(
            #[inline(always)]
            |w| {
                let squares = numbers::<S, X>(s, w).map(
                    #[inline(always)]
                    |x| x.square(),
                );
                pack(squares, X::Bits::PER, |left, right, _, _| left.add(right))
            },
        )
    }

    #[inline(always)]
    fn norm(squares: X::Value, len: u64, epsilon: X::Value) -> Norm<X::Value> {
        Norm::rms(squares, len, epsilon)
    }
}

/// Nodes of a variance over elements of a source.
#[derive(Clone, Copy)]
pub struct Variances<X>(PhantomData<X>);

impl<X> Variances<X>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    /// A mean moved by half of `d`, the difference of two means over at most 2^16 elements. Those of 16 bits are
    /// multiples of 2^-133, so that halves are exact at 16 levels, and one operation will do.
    #[inline(always)]
    fn moved(mean: X::Value, d: X::Value) -> X::Value {
        if X::Bits::SIZE == 2 { mean.add_exact(d, X::Value::ONE.half()) } else { mean.add(d.half()) }
    }

    /// The node above two elements. If one of them is not finite, its `m2` may be infinite where it ought to be NaN.
    #[inline(always)]
    fn of_two(left: X::Value, right: X::Value) -> Moments<X::Value> {
        let d = right.sub(left);
        Moments { mean: Self::moved(left, d), m2: d.square().half() }
    }
}

impl<X> Level for Variances<X>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    type Node = Moments<X::Value>;
    const NEW: Self = Self(PhantomData);
    const COUNTS: bool = true;
    #[inline(always)]
    fn nothing(self) -> Self::Node {
        Moments { mean: X::Value::ZERO, m2: X::Value::ZERO }
    }
    #[inline(always)]
    fn join(self, left: Self::Node, right: Self::Node, each: u32) -> Self::Node {
        let Moments { m2, .. } = Moments::of_halves(left, right, each);
        Moments { mean: Self::moved(left.mean, right.mean.sub(left.mean)), m2 }
    }
    #[inline(always)]
    fn cross(self, high: bool, got: Self::Node, own: Self::Node, each: u32) -> Self::Node {
        // The sum of both `m2` does not depend on their order.
        let left = Moments { mean: select(high, got.mean, own.mean), ..got };
        self.join(left, Moments { mean: select(high, own.mean, got.mean), ..own }, each)
    }
    #[inline(always)]
    fn meet(self, left: (Self::Node, u64), right: (Self::Node, u64)) -> Self::Node {
        Deviation::<X::Value>::new(0.0, false).combine_counted(left.0, left.1, right.0, right.1)
    }
}

/// The layer norm.
#[derive(Clone, Copy)]
pub struct Layer;

impl<X> Kind<X> for Layer
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    type Level = Variances<X>;
    const CENTRED: bool = true;

    #[expect(clippy::redundant_closure, reason = "a closure can be inlined always")]
    #[inline(always)]
    fn nodes<S: Simt, P: Fn(u32) -> Place, const WARP: bool, const N: usize>(
        s: &S,
        packs: &Packs<P, N>,
    ) -> [Moments<X::Value>; N] {
        let (per, lane, level) = (X::Bits::PER, s.lane(), Variances::<X>::NEW);
        let node = |w: [u32; 4]| {
            let x = numbers::<S, X>(s, w);
            let mut two = [level.nothing(); MOST];
            let mut i = 0;
            while i < per as usize / 2 {
                two[i] = Variances::<X>::of_two(x[2 * i], x[2 * i + 1]);
                i += 1;
            }
            pack(two, per / 2, |left, right, each, _| level.join(left, right, 2 * each))
        };
        let mut nodes = [level.nothing(); N];
        if WARP || N <= 2 {
            nodes = packs.w[0].map(
                #[inline(always)]
                |w| node(w),
            );
        } else {
            // One pack after the other, so that few are numbers at a time.
            let (mut k, all) = (0, s.opaque(N as u32));
            while s.again(k < all) {
                nodes = next(nodes, node(pick(packs.w[0], k)));
                k += 1;
            }
        }
        // An element that is not finite leaves no `m2` that is.
        let (mut sum, mut k) = (nodes[0].m2, 1);
        while k < N {
            sum = sum.add(nodes[k].m2);
            k += 1;
        }
        if s.branch(X::is_nan(sum.sub(sum))) {
            let (mut k, all) = (0, s.opaque(N as u32));
            while s.again(k < all) {
                let (Moments { mean, mut m2 }, x, mut i) = (nodes[0], numbers::<S, X>(s, pick(packs.w[0], k)), 0);
                while i < per as usize {
                    m2 = m2.spoiled_by(x[i]);
                    i += 1;
                }
                nodes = next(nodes, Moments { mean, m2 });
                k += 1;
            }
        }
        let (mut ragged, mut k) = (false, 0);
        while k < N as u32 {
            ragged |= !packs.valid(k).is_multiple_of(per);
            k += 1;
        }
        if !s.branch(s.any(ALL, ragged)) {
            return nodes;
        }
        // Packs in which a row ends.
        let (mut k, all) = (0, s.opaque(N as u32));
        while s.again(k < all) {
            let count = packs.at(k, lane, per).count;
            if s.branch(s.any(ALL, count > 0 && count < per)) {
                let reducer = Deviation::<X::Value>::new(0.0, false);
                let leaves = numbers::<S, X>(s, pick(packs.w[0], k)).map(
                    #[inline(always)]
                    |x| reducer.lift(x, 0),
                );
                let node = pack(leaves, per, |left, right, each, i| {
                    let n = count.saturating_sub(i + each).min(each);
                    if n == 0 { left } else { level.meet((left, each as u64), (right, n as u64)) }
                });
                let own = count < per;
                nodes = warpfold_simt::array::from_fn(
                    #[inline(always)]
                    |j| select(own && j as u32 == k, node, nodes[j]),
                );
            }
            k += 1;
        }
        nodes
    }

    #[inline(always)]
    fn norm(node: Moments<X::Value>, len: u64, epsilon: X::Value) -> Norm<X::Value> {
        Norm::layer(node, len, epsilon)
    }
}
