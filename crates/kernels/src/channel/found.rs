//! What is looked up for the elements of a channel, and what becomes of them. The formulas are core's, as on the CPU.

use super::record::{OF_ONE, OF_ROW};
use super::{Channels, NORM, OF_CHANNEL, OF_GIVEN, PRODUCT, SUMS, TORN};
use crate::address::array;
use crate::node::Node;
use crate::reduce::shape::map::Divisor;
use crate::rowwise::number::{MOST, all};
use crate::source::{Source, words};
use warpfold_core::Float;
use warpfold_core::rows::{Norm, NormGradient};
use warpfold_simt::Simt;

/// The numbers of a channel of a sample.
#[derive(Clone, Copy)]
pub struct Found<F> {
    norm: Norm<F>,
    sums: NormGradient<F>,
    weight: F,
    /// The bias, or the last factor of gradients.
    last: F,
}

impl Channels {
    /// Quotient and remainder of the number of an element, or of something of which there are fewer.
    #[inline(always)]
    pub fn divide<S: Simt>(&self, s: &S, by: &Divisor, n: u64) -> (u64, u64) {
        if s.branch(self.small != 0) {
            let (quotient, rest) = by.divide_small(n as u32);
            (quotient as u64, rest as u64)
        } else {
            by.divide(n)
        }
    }
}

/// The four numbers of record `i` of rows.
#[inline(always)]
fn of_row<S: Simt, F: Node>(s: &S, first: u64, i: u64) -> [F; OF_ROW] {
    let pack = |k: u64| words(s, array(first + 16 * (i * F::WORDS as u64 + k)), 16);
    let low = pack(0);
    // Two numbers of two words fill a pack.
    let high = if F::WORDS == 2 { pack(1) } else { low };
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| {
            F::zero().map(|word, _| match F::WORDS {
                1 => low[k],
                _ => (if k < 2 { low } else { high })[k % 2 * 2 + word as usize],
            })
        },
    )
}

/// The two numbers of record `i` of channels.
#[inline(always)]
fn of_one<S: Simt, F: Node>(s: &S, first: u64, i: u64) -> [F; OF_ONE] {
    let bytes = 8 * F::WORDS;
    let words = words(s, array(first + bytes as u64 * i), bytes);
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| F::zero().map(|word, _| words[k * F::WORDS as usize + word as usize]),
    )
}

impl<F: Float + Node> Found<F> {
    /// Those of channel number `q` of all samples.
    #[inline(always)]
    pub fn of<S: Simt>(s: &S, call: &Channels, q: u64) -> Self {
        let (kind, mut row) = (call.kind, 0);
        let mut channel = 0;
        if !s.branch(call.grouped != 0 && (kind == PRODUCT || kind == SUMS || kind == TORN)) {
            channel = call.divide(s, &call.channels, q).1;
            row = channel;
        }
        if s.branch(call.grouped != 0) {
            row = call.divide(s, &call.each, q).0;
        }
        Self::at(s, call, row, channel)
    }

    /// Those of a channel that is a row.
    #[inline(always)]
    pub fn of_channel<S: Simt>(s: &S, call: &Channels, channel: u64) -> Self {
        Self::at(s, call, channel, channel)
    }

    #[inline(always)]
    fn at<S: Simt>(s: &S, call: &Channels, row: u64, channel: u64) -> Self {
        let [mean, inverse, of_gradient, slope] = of_row(s, call.at.rows, row);
        let [weight, last] = of_one(s, call.at.channels, channel);
        let sums = NormGradient { mean: of_gradient, slope };
        Self { norm: Norm { mean, inverse }, sums, weight, last }
    }

    /// What becomes of an element and its gradient.
    #[inline(always)]
    pub fn result<S: Simt>(&self, s: &S, kind: u32, x: F, gradient: F) -> F {
        if s.branch(kind == NORM) {
            self.normed(x)
        } else if s.branch(kind == PRODUCT) {
            self.product(x, gradient)
        } else if s.branch(kind == OF_GIVEN) {
            self.given(gradient)
        } else {
            self.slope(kind, x, gradient)
        }
    }

    /// The same of all elements of two packs.
    #[inline(always)]
    pub fn results<S, X>(&self, s: &S, kind: u32, x: [F; MOST], gradient: [F; MOST]) -> [F; MOST]
    where
        S: Simt,
        X: Source<Value = F>,
    {
        if s.branch(kind == NORM) {
            all::<X>(x, gradient, |x, _| self.normed(x))
        } else if s.branch(kind == PRODUCT) {
            self.products::<X>(x, gradient)
        } else if s.branch(kind == OF_GIVEN) {
            all::<X>(x, gradient, |_, gradient| self.given(gradient))
        } else {
            all::<X>(x, gradient, |x, gradient| self.slope(kind, x, gradient))
        }
    }

    /// The products of gradients and normalised elements.
    #[inline(always)]
    pub fn products<X: Source<Value = F>>(&self, x: [F; MOST], gradient: [F; MOST]) -> [F; MOST] {
        all::<X>(x, gradient, |x, gradient| self.product(x, gradient))
    }

    /// A gradient, if the statistics do not depend on the elements.
    #[inline(always)]
    pub fn given(&self, gradient: F) -> F {
        gradient.mul(self.last)
    }

    /// An element, normalised, times the weight, plus the bias.
    #[inline(always)]
    pub fn normed(&self, x: F) -> F {
        self.norm.normalised(x).mul(self.weight).add(self.last)
    }

    /// The product of a gradient and a normalised element.
    #[inline(always)]
    pub fn product(&self, x: F, gradient: F) -> F {
        gradient.mul(self.norm.normalised(x))
    }

    /// The gradient of an element.
    #[inline(always)]
    pub fn slope(&self, kind: u32, x: F, gradient: F) -> F {
        // Rows that are channels have their weights in the last factor.
        let inverse = if kind == OF_CHANNEL { self.last } else { self.norm.inverse };
        let last = Norm { inverse, ..self.norm };
        self.sums.gradient(last, self.norm.normalised(x), gradient.mul(self.weight))
    }
}
