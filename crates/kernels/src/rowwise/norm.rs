//! Root-mean-square norm and layer norm.
//!
//! Idea: elements are kept as they are, 16 bytes to four registers, and converted twice. Weights and biases are read
//! by lines as results are computed; all rows read the same, so they come from the caches.

use super::level::{Level, Sums, pack, pick, steps};
use super::number::{MOST, canonical, numbers};
use super::op::{Reduced, RowOp};
use super::spread::{At, Packs, Place};
use super::{NARROW, NONE, Rowwise};
use crate::address::array;
use crate::node::{Node, select};
use crate::source::{Bits, Source, kept};
use core::marker::PhantomData;
use warpfold_core::ops::{Deviation, Moments};
use warpfold_core::rows::Norm;
use warpfold_core::{Accumulate, Element, Float, Real, Reducer};
use warpfold_simt::{ALL, Simt};

/// Weights and biases of a row.
#[derive(Clone, Copy)]
struct Factors<F> {
    /// Addresses and kinds of both.
    of: [(u64, u32); 2],
    /// Added to weights, if they are `moved`.
    offset: F,
    moved: bool,
    len: u64,
}

impl<F: Element<Float = F, Mean = F> + Float + Node> Factors<F> {
    #[inline(always)]
    fn new(call: &Rowwise) -> Self {
        let of = [(call.at.weight, call.weights), (call.at.bias, call.biases)];
        Self { of, offset: F::from_f64(call.offset), moved: call.offset != 0.0, len: call.len }
    }

    /// The weights or biases of a pack.
    #[inline(always)]
    fn pack<S: Simt, X: Source<Value = F>>(&self, s: &S, which: usize, at: At) -> [F; MOST] {
        let ((address, kind), per) = (self.of[which], X::Bits::PER);
        // What stands beyond a row is of no matter.
        let first = at.first.min((self.len - 1) / per as u64 * per as u64);
        if s.branch(kind == NARROW) {
            return numbers::<S, X>(s, kept(s, array(address + first * X::Bits::SIZE as u64), 16));
        }
        let (mut of, mut i, each) = ([F::ZERO; MOST], 0, 16 / size_of::<F>());
        while i < per as usize {
            let w = kept(s, array(address + (first + i as u64) * size_of::<F>() as u64), 16);
            let mut j = 0;
            while j < each && i + j < per as usize {
                of[i + j] = number(w, j);
                j += 1;
            }
            i += each;
        }
        of
    }

    /// A pack's elements after normalisation, weighed and rounded.
    #[inline(always)]
    fn apply<S: Simt, X: Source<Value = F>>(&self, s: &S, mut x: [F; MOST], at: At) -> [u32; 4] {
        if s.branch(self.of[0].1 != NONE) {
            let (weights, mut i) = (self.pack::<S, X>(s, 0, at), 0);
            while i < X::Bits::PER as usize {
                let weight = if self.moved { weights[i].add(self.offset) } else { weights[i] };
                x[i] = x[i].mul(weight);
                i += 1;
            }
        }
        if s.branch(self.of[1].1 != NONE) {
            let (biases, mut i) = (self.pack::<S, X>(s, 1, at), 0);
            while i < X::Bits::PER as usize {
                x[i] = x[i].add(biases[i]);
                i += 1;
            }
        }
        canonical::<S, X>(s, x)
    }
}

/// The `j`-th of the numbers in these words.
#[inline(always)]
fn number<F: Node>(w: [u32; 4], j: usize) -> F {
    F::zero().map(
        #[inline(always)]
        |i, _| w[j * F::WORDS as usize + i as usize],
    )
}

/// The row of a stat.
#[inline(always)]
fn row<F>((mean, inverse): (F, F)) -> Norm<F> {
    Norm { mean, inverse }
}

/// What norms have in common.
macro_rules! norm {
    ($name:ident, $level:ty) => {
        impl<X> RowOp for $name<X>
        where
            X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
        {
            type Source = X;
            type Level = $level;
            type Kept = [u32; 4];
            type Stat = (X::Value, X::Value);
            #[inline(always)]
            fn new(call: &Rowwise) -> Self {
                Self { epsilon: X::Value::from_f64(call.epsilon), factors: Factors::new(call) }
            }
            #[inline(always)]
            fn level(&self) -> Self::Level {
                <$level>::NEW
            }
            #[inline(always)]
            fn blank(&self) -> [X::Bits; 2] {
                [X::Bits::ZERO; 2]
            }
            #[inline(always)]
            fn reduce<S, P, const WARP: bool, const N: usize>(&self, s: &S, packs: Packs<P, N>) -> Reduced<Self, N>
            where
                S: Simt,
                P: Fn(u32) -> Place,
            {
                let (nodes, valid) = (self.nodes(s, &packs), |k: u32| packs.valid(k));
                let nodes = steps::<S, _, WARP, N>(s, self.level(), packs.spread, nodes, X::Bits::PER, valid);
                Reduced { nodes, kept: packs.w[0], wild: false }
            }
            #[inline(always)]
            fn stat(&self, node: <Self::Level as Level>::Node) -> Self::Stat {
                let Norm { mean, inverse } = self.of(node);
                (mean, inverse)
            }
            #[inline(always)]
            fn is_plain(&self, _stat: Self::Stat) -> bool {
                true
            }
            #[inline(always)]
            fn map<S: Simt>(&self, s: &S, kept: [u32; 4], stat: Self::Stat, at: At) -> [u32; 4] {
                let normal = numbers::<S, X>(s, kept).map(
                    #[inline(always)]
                    |x| row(stat).normalised(x),
                );
                self.factors.apply::<S, X>(s, normal, at)
            }
            #[inline(always)]
            fn map_any<S: Simt>(&self, s: &S, kept: [u32; 4], stat: Self::Stat, _wild: bool, at: At) -> [u32; 4] {
                self.map(s, kept, stat, at)
            }
        }
    };
}

/// Root-mean-square norm.
#[derive(Clone, Copy)]
pub struct RmsNorms<X: Source> {
    epsilon: X::Value,
    factors: Factors<X::Value>,
}

impl<X> RmsNorms<X>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    /// The sum of squares of each pack.
    #[inline(always)]
    fn nodes<S: Simt, P, const N: usize>(&self, s: &S, packs: &Packs<P, N>) -> [X::Value; N] {
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
    fn of(&self, squares: X::Value) -> Norm<X::Value> {
        Norm::rms(squares, self.factors.len, self.epsilon)
    }
}
norm!(RmsNorms, Sums<X::Value>);

/// Nodes of a variance.
#[derive(Clone, Copy)]
pub struct Variances<F>(PhantomData<F>);

impl<F> Variances<F> {
    /// Of this type.
    pub const NEW: Self = Self(PhantomData);
}

impl<F> Level for Variances<F>
where
    F: Element<Float = F, Mean = F> + Float + Node,
{
    type Node = Moments<F>;
    const COUNTS: bool = true;
    #[inline(always)]
    fn nothing(self) -> Self::Node {
        Moments { mean: F::ZERO, m2: F::ZERO }
    }
    #[inline(always)]
    fn join(self, left: Self::Node, right: Self::Node, each: u32) -> Self::Node {
        Moments::of_halves(left, right, each)
    }
    #[inline(always)]
    fn meet(self, left: (Self::Node, u64), right: (Self::Node, u64)) -> Self::Node {
        Deviation::<F>::new(0.0, false).combine_counted(left.0, left.1, right.0, right.1)
    }
}

/// Layer norm.
#[derive(Clone, Copy)]
pub struct LayerNorms<X: Source> {
    epsilon: X::Value,
    factors: Factors<X::Value>,
}

impl<X> LayerNorms<X>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    /// The node of each pack.
    #[inline(always)]
    fn nodes<S: Simt, P, const N: usize>(&self, s: &S, packs: &Packs<P, N>) -> [Moments<X::Value>; N]
    where
        P: Fn(u32) -> Place,
    {
        let (per, lane, level) = (X::Bits::PER, s.lane(), self.level());
        let mut nodes = packs.w[0].map(
            #[inline(always)]
            |w| {
                let x = numbers::<S, X>(s, w);
                let mut two = [level.nothing(); MOST];
                let mut i = 0;
                while i < per as usize / 2 {
                    two[i] = Moments::of_two(x[2 * i], x[2 * i + 1]);
                    i += 1;
                }
                pack(two, per / 2, |left, right, each, _| level.join(left, right, 2 * each))
            },
        );
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
    fn of(&self, node: Moments<X::Value>) -> Norm<X::Value> {
        Norm::layer(node, self.factors.len, self.epsilon)
    }
}
norm!(LayerNorms, Variances<X::Value>);
