//! Weights and biases of a row's elements.
//!
//! Idea: they are read by lines as results are computed; all rows read the same, so they come from the caches.

use super::number::{MOST, canonical, numbers};
use super::spread::At;
use super::{NARROW, NONE, Rowwise};
use crate::address::array;
use crate::node::Node;
use crate::source::{Bits, Source, kept};
use warpfold_core::{Accumulate, Element, Float};
use warpfold_simt::Simt;

/// Weights and biases of a row.
#[derive(Clone, Copy)]
pub struct Factors<F> {
    /// Addresses and kinds of both.
    of: [(u64, u32); 2],
    /// Added to weights, if they are `moved`.
    offset: F,
    moved: bool,
    /// Elements of a row.
    pub len: u64,
}

impl<F: Element<Float = F, Mean = F> + Float + Node> Factors<F> {
    /// From what the kernel is told.
    #[inline(always)]
    pub fn new(call: &Rowwise) -> Self {
        let of = [(call.at.weight, call.weights), (call.at.bias, call.biases)];
        Self { of, offset: F::from_f64(call.offset), moved: call.offset != 0.0, len: call.len }
    }

    /// Whether there are weights, to which nothing is added, and biases if `BIASED`, and both are as the elements are.
    #[inline(always)]
    pub fn are_plain<const BIASED: bool>(&self) -> bool {
        self.of[0].1 == NARROW && !self.moved && self.of[1].1 == if BIASED { NARROW } else { NONE }
    }

    /// The weights or biases of a pack.
    #[inline(always)]
    fn pack<S: Simt, X: Source<Value = F>>(&self, s: &S, which: usize, at: At) -> [F; MOST] {
        let ((address, kind), per) = (self.of[which], X::Bits::PER);
        if s.branch(kind == NARROW) {
            return self.narrow::<S, X>(s, which, at);
        }
        // What stands beyond a row is of no matter.
        let first = if at.count > 0 { at.first } else { 0 };
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

    /// Those that are as the elements are.
    #[inline(always)]
    fn narrow<S: Simt, X: Source<Value = F>>(&self, s: &S, which: usize, at: At) -> [F; MOST] {
        let address = self.of[which].0;
        let own = address.wrapping_add(at.first.wrapping_mul(X::Bits::SIZE as u64));
        numbers::<S, X>(s, kept(s, array(if at.count > 0 { own } else { address }), 16))
    }

    /// The weights of a pack, if there are any.
    #[inline(always)]
    pub fn weights<S: Simt, X: Source<Value = F>>(&self, s: &S, at: At) -> Option<[F; MOST]> {
        if !s.branch(self.of[0].1 != NONE) {
            return None;
        }
        let mut weights = self.pack::<S, X>(s, 0, at);
        if s.branch(self.moved) {
            weights = weights.map(
                #[inline(always)]
                |weight| weight.add(self.offset),
            );
        }
        Some(weights)
    }

    /// A pack's elements, weighed.
    #[inline(always)]
    pub fn weighed<S: Simt, X: Source<Value = F>>(&self, s: &S, x: [F; MOST], at: At) -> [F; MOST] {
        times::<X>(x, self.weights::<S, X>(s, at))
    }

    /// A pack's elements after normalisation, weighed, moved by the biases, and rounded.
    #[inline(always)]
    pub fn apply<S: Simt, X: Source<Value = F>>(&self, s: &S, x: [F; MOST], at: At) -> [u32; 4] {
        let mut x = self.weighed::<S, X>(s, x, at);
        if s.branch(self.of[1].1 != NONE) {
            x = plus::<X>(x, self.pack::<S, X>(s, 1, at));
        }
        canonical::<S, X>(s, x)
    }

    /// The same, where both are plain: nothing is asked for each pack.
    #[inline(always)]
    pub fn apply_plain<S: Simt, X: Source<Value = F>, const BIASED: bool>(
        &self,
        s: &S,
        x: [F; MOST],
        at: At,
    ) -> [u32; 4] {
        let mut x = times::<X>(x, Some(self.narrow::<S, X>(s, 0, at)));
        if BIASED {
            x = plus::<X>(x, self.narrow::<S, X>(s, 1, at));
        }
        canonical::<S, X>(s, x)
    }
}

/// A pack's elements, moved by biases.
#[inline(always)]
fn plus<X: Source<Value: Float + Accumulate>>(mut x: [X::Value; MOST], biases: [X::Value; MOST]) -> [X::Value; MOST] {
    let mut i = 0;
    while i < X::Bits::PER as usize {
        x[i] = x[i].add(biases[i]);
        i += 1;
    }
    x
}

/// A pack's elements, weighed, if there are weights.
#[inline(always)]
pub fn times<X: Source<Value: Float>>(mut x: [X::Value; MOST], weights: Option<[X::Value; MOST]>) -> [X::Value; MOST] {
    if let Some(weights) = weights {
        let mut i = 0;
        while i < X::Bits::PER as usize {
            x[i] = x[i].mul(weights[i]);
            i += 1;
        }
    }
    x
}

/// The `j`-th of the numbers in these words.
#[inline(always)]
pub(super) fn number<F: Node>(w: [u32; 4], j: usize) -> F {
    F::zero().map(
        #[inline(always)]
        |i, _| w[j * F::WORDS as usize + i as usize],
    )
}
