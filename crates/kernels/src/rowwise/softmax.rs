//! Softmax and its logarithm.
//!
//! Idea: if all elements of a warp (of a block, if its rows are short) are ordinary, or minus infinity, their
//! exponentials are kept in registers, and each result is one of them times the same number. Steps that are not all
//! ordinary go one by one, and other elements are terms in scales of their own. Elements that a row does not have are
//! zeros, which are ordinary, until their exponentials are; where others are not ordinary, they are minus infinity.

use super::Rowwise;
use super::exponents::{Exponents, in_scale_0};
use super::level::{Level, Sums, pack, pick};
use super::number::{MOST, canonical, numbers, rounded};
use super::op::{Held, RowOp};
use super::slots::{any, steps};
use super::spread::{At, Packs, Place};
use crate::address::array;
use crate::node::Node;
use crate::reduce::shape::split::next;
use crate::source::{Bits, Source};
use warpfold_core::ops::{Exponential, LogSumExp, Powers};
use warpfold_core::rows::{LogSoftmax, Softmax};
use warpfold_core::{Accumulate, Element, Float, Real, Reducer};
use warpfold_simt::{ALL, Simt};

/// Softmax, or (`LOG`) its logarithm, of elements that are `SCALED` and masked, or as they are.
#[derive(Clone, Copy)]
pub struct Softmaxes<X: Source, const LOG: bool, const SCALED: bool> {
    scale: X::Value,
    masked: bool,
    /// Bytes from element to element of the mask.
    near: i64,
}

/// Minus infinity.
#[inline(always)]
fn nothing<F: Float>() -> F {
    F::ZERO.sub(F::ONE).div(F::ZERO)
}

impl<X, const LOG: bool, const SCALED: bool> Softmaxes<X, LOG, SCALED>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    /// Which elements of a pack are masked out.
    #[inline(always)]
    fn left_out<S: Simt>(&self, s: &S, at: At) -> [bool; MOST] {
        let mut out = [false; MOST];
        if SCALED && s.branch(self.masked) {
            let mut i = 0;
            while i < X::Bits::PER {
                if s.branch(i < at.count) {
                    let byte = (at.first + i as u64) as i64 * self.near;
                    out[i as usize] = s.load(array::<u8>(at.mask.wrapping_add(byte as u64)), 0) == 0;
                }
                i += 1;
            }
        }
        out
    }

    /// The elements of a pack, scaled; those that are masked out are minus infinity.
    #[inline(always)]
    fn elements<S: Simt>(&self, s: &S, w: [u32; 4], at: At) -> [X::Value; MOST] {
        let mut x = numbers::<S, X>(s, w);
        if SCALED {
            let (out, mut i) = (self.left_out(s, at), 0);
            while i < X::Bits::PER {
                let scaled = x[i as usize].mul(self.scale);
                x[i as usize] = if out[i as usize] { nothing() } else { scaled };
                i += 1;
            }
        }
        x
    }

    /// The exponential of an ordinary element.
    #[inline(always)]
    fn exp(x: X::Value) -> X::Value {
        if SCALED { x.ordinary_exp() } else { x.ordinary_exp_of(X::DTYPE) }
    }

    /// Those of a pack. (A loop: the compiler does not always inline functions that take functions.)
    #[inline(always)]
    fn exps(mut x: [X::Value; MOST]) -> [X::Value; MOST] {
        let mut i = 0;
        while i < X::Bits::PER as usize {
            x[i] = Self::exp(x[i]);
            i += 1;
        }
        x
    }

    /// The exponentials of a pack, all ordinary if it is `clean`; else of ordinary elements, and zero of minus
    /// infinity. `count` of them are there.
    #[inline(always)]
    fn terms<S: Simt>(s: &S, x: [X::Value; MOST], clean: bool, count: u32) -> [X::Value; MOST] {
        if s.branch(clean) {
            return Self::exps(x);
        }
        if s.branch(s.any(ALL, count > 0)) {
            return x.map(
                #[inline(always)]
                |x| if x == nothing() { X::Value::ZERO } else { Self::exp(x) },
            );
        }
        [X::Value::ZERO; MOST]
    }

    /// The numbers of a pack, which has `count` elements; `absent` stands for others.
    #[inline(always)]
    fn there<S: Simt>(s: &S, mut x: [X::Value; MOST], count: u32, absent: X::Value) -> [X::Value; MOST] {
        if s.branch(count < X::Bits::PER) {
            let mut i = 0;
            while i < X::Bits::PER {
                x[i as usize] = if i < count { x[i as usize] } else { absent };
                i += 1;
            }
        }
        x
    }

    /// Whether a lane has a pack whose elements are not all there.
    #[inline(always)]
    fn is_short<S: Simt, P: Fn(u32) -> Place, const N: usize>(s: &S, packs: &Packs<P, N>) -> bool {
        if s.branch(packs.whole) {
            return false;
        }
        let (mut short, mut k) = (false, 0);
        while k < N as u32 {
            short |= packs.at(k, s.lane(), X::Bits::PER).count < X::Bits::PER;
            k += 1;
        }
        short
    }

    /// The steps whose elements are all ordinary, a bit to each.
    #[inline(always)]
    fn clean<S: Simt, const N: usize>(s: &S, x: &[[X::Value; MOST]; N]) -> u32 {
        let (mut clean, mut k) = (0, 0);
        while k < N {
            clean |= (s.all(ALL, Self::all(&x[k], |x| x.is_ordinary())) as u32) << k;
            k += 1;
        }
        clean
    }

    /// The results of a pack of a plain row, not rounded.
    #[inline(always)]
    pub fn each(&self, kept: [X::Value; MOST], (first, second): (X::Value, X::Value)) -> [X::Value; MOST] {
        kept.map(
            #[inline(always)]
            |x| {
                if LOG {
                    LogSoftmax { log: first, rest: second }.log_probability(x)
                } else {
                    Softmax { scale: first, inverse: second }.of_ordinary(x)
                }
            },
        )
    }

    /// The same of any row.
    #[inline(always)]
    pub fn each_any<S: Simt>(
        &self,
        s: &S,
        kept: [X::Value; MOST],
        (first, second): (X::Value, X::Value),
        wild: bool,
        at: At,
    ) -> [X::Value; MOST] {
        let (out, mut each, mut i) = (self.left_out(s, at), kept, 0);
        while i < X::Bits::PER as usize {
            let x = kept[i];
            each[i] = if LOG {
                LogSoftmax { log: first, rest: second }.log_probability(x)
            } else if wild {
                Softmax { scale: first, inverse: second }.probability(x)
            } else {
                // An exponential in scale 0, or that of minus infinity.
                let own = if x == X::Value::ZERO { X::Value::NO_TERM } else { X::Value::ZERO };
                x.mul(second).shift(own.sub(first))
            };
            let masked = if LOG { nothing() } else { X::Value::ZERO };
            each[i] = if out[i] { masked } else { each[i] };
            i += 1;
        }
        each
    }

    /// Whether `each` is true of all elements of a pack.
    #[inline(always)]
    pub fn all(x: &[X::Value; MOST], each: impl Fn(X::Value) -> bool) -> bool {
        let (mut all, mut i) = (true, 0);
        while i < X::Bits::PER as usize {
            all &= each(x[i]);
            i += 1;
        }
        all
    }
}

impl<X, const LOG: bool, const SCALED: bool> RowOp for Softmaxes<X, LOG, SCALED>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    const LINED: bool = true;
    const KEEPS: bool = true;
    type Source = X;
    type Level = Exponents<X::Value>;
    type Kept = [X::Value; MOST];
    /// Scale and factor of [`Softmax`], or the two words of [`LogSoftmax`].
    type Stat = (X::Value, X::Value);
    type Ready = [u32; 0];

    #[inline(always)]
    fn new(call: &Rowwise) -> Self {
        Self { scale: X::Value::from_f64(call.scale), masked: call.masked != 0, near: call.mask_near }
    }

    #[inline(always)]
    fn blank(&self) -> [X::Bits; 2] {
        [X::Bits::ZERO; 2]
    }

    #[inline(always)]
    fn hold<S: Simt, P, const N: usize>(&self, s: &S, packs: &Packs<P, N>) -> Held<Self, N>
    where
        P: Fn(u32) -> Place,
    {
        let (lane, per) = (s.lane(), X::Bits::PER);
        let mut x: [[X::Value; MOST]; N] = warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| self.elements(s, packs.w[0][k], packs.at(k as u32, lane, per)),
        );
        let count = |k: usize| packs.at(k as u32, lane, per).count;
        let (mut clean, mut wild) = (Self::clean(s, &x), false);
        if s.branch(clean != (1 << N) - 1) {
            x = warpfold_simt::array::from_fn(
                #[inline(always)]
                |k| Self::there(s, x[k], count(k), nothing()),
            );
            clean = Self::clean(s, &x);
            let (mut fine, mut k) = (true, 0);
            while k < N {
                fine &= Self::all(&x[k], |x| x.is_ordinary() || x == nothing());
                k += 1;
            }
            wild = !s.all(ALL, fine);
        }
        // Warps that have packs of the same rows have the same kind of nodes.
        if packs.spread.in_slots().is_some() {
            let own = wild;
            wild = any(s, own);
            if s.branch(wild && !own) {
                x = warpfold_simt::array::from_fn(
                    #[inline(always)]
                    |k| Self::there(s, x[k], count(k), nothing()),
                );
            }
        }
        if !LOG && s.branch(!wild && clean == (1 << N) - 1) {
            let mut k = 0;
            while k < N {
                x[k] = Self::exps(x[k]);
                k += 1;
            }
            if s.branch(Self::is_short(s, packs)) {
                x = warpfold_simt::array::from_fn(
                    #[inline(always)]
                    |k| Self::there(s, x[k], count(k), X::Value::ZERO),
                );
            }
        } else if !LOG && !s.branch(wild) {
            let (mut k, all) = (0, s.opaque(N as u32));
            while s.again(k < all) {
                let terms = Self::terms(s, x[0], clean >> k & 1 != 0, packs.at(k, lane, per).count);
                x = next(x, terms);
                k += 1;
            }
        }
        Held { kept: x, clean, wild }
    }

    #[expect(clippy::redundant_closure, reason = "a closure can be inlined always")]
    #[inline(always)]
    fn nodes<S: Simt, P, const WARP: bool, const N: usize>(
        &self,
        s: &S,
        packs: &Packs<P, N>,
        held: &Held<Self, N>,
        _given: [Self::Stat; N],
    ) -> [Powers<X::Value, X::Value>; N]
    where
        P: Fn(u32) -> Place,
    {
        let (lane, per, spread, x) = (s.lane(), X::Bits::PER, packs.spread, held.kept);
        let (level, valid) = (Self::Level::NEW, |k: u32| packs.valid(k));
        if s.branch(held.wild) {
            let (mut nodes, mut k, all) = ([level.nothing(); N], 0, s.opaque(N as u32));
            while s.again(k < all) {
                let leaves = pick(x, k).map(
                    #[inline(always)]
                    |x| LogSumExp::<X::Value>::new().lift(x, 0),
                );
                nodes = next(nodes, pack(leaves, per, |left, right, each, _| level.join(left, right, each)));
                k += 1;
            }
            return steps::<S, _, WARP, N>(s, level, spread, nodes, per, valid);
        }
        let mut sums = [X::Value::ZERO; N];
        let sum = |terms| pack(terms, per, |left: X::Value, right, _, _| left.add(right));
        if !LOG || s.branch(held.clean == (1 << N) - 1) {
            // What is there needs no look, if all is.
            let short = LOG && s.branch(s.any(ALL, Self::is_short(s, packs)));
            let mut k = 0;
            while k < N {
                let mut terms = if LOG { Self::exps(x[k]) } else { x[k] };
                if short {
                    terms = Self::there(s, terms, packs.at(k as u32, lane, per).count, X::Value::ZERO);
                }
                sums[k] = sum(terms);
                k += 1;
            }
        } else {
            let (mut k, all) = (0, s.opaque(N as u32));
            while s.again(k < all) {
                let terms = Self::terms(s, pick(x, k), held.clean >> k & 1 != 0, packs.at(k, lane, per).count);
                sums = next(sums, sum(terms));
                k += 1;
            }
        }
        steps::<S, _, WARP, N>(s, Sums::NEW, spread, sums, per, valid).map(
            #[inline(always)]
            |sum| in_scale_0(sum),
        )
    }

    #[inline(always)]
    fn stat<S: Simt>(&self, _s: &S, node: Powers<X::Value, X::Value>, _row: u64) -> Self::Stat {
        if LOG {
            let LogSoftmax { log, rest } = LogSoftmax::of(node);
            (log, rest)
        } else {
            let Softmax { scale, inverse } = Softmax::of(node);
            (scale, inverse)
        }
    }

    #[inline(always)]
    fn is_plain(&self, (first, second): Self::Stat) -> bool {
        let finite = if LOG { first.sub(first) == X::Value::ZERO } else { first == X::Value::ZERO };
        finite && !X::is_nan(second)
    }

    #[inline(always)]
    fn map<S: Simt>(&self, s: &S, kept: Self::Kept, stat: Self::Stat, _at: At) -> [u32; 4] {
        rounded::<S, X>(s, self.each(kept, stat))
    }

    #[inline(always)]
    fn map_any<S: Simt>(&self, s: &S, kept: Self::Kept, stat: Self::Stat, wild: bool, at: At) -> [u32; 4] {
        canonical::<S, X>(s, self.each_any(s, kept, stat, wild, at))
    }
}
