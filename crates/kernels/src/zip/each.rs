//! Every pair of elements by itself: its term, or its derivative times the gradient of the result.
//!
//! Idea: a thread has the elements of 16 bytes, if those of all arrays lie side by side, and else one element, wherever
//! it is and whatever its dtype. Bottleneck: memory; of exponentials and logarithms, instructions.

use crate::address::array;
use crate::block::each_of_grid;
use crate::node::Node;
use crate::params::params;
use crate::reduce::any::AXES;
use crate::reduce::shape::piece::{At, Outputs};
use crate::reduce::shape::split::next;
use crate::rowwise::number::{MOST, all, number, numbers, write_one, write_pack};
use crate::source::{Bits, Source, words};
use crate::zip::fold::all_plain;
use crate::zip::term::{COSTLY, with_cheap, with_costly};
use warpfold_core::rows::Loss;
use warpfold_core::{Accumulate, Element, Float, Real, Zip};
use warpfold_simt::Simt;

/// No gradient is read: it is the number.
pub const NUMBER: u32 = 0;
/// One element of the gradient is for all that a thread has.
pub const ONE: u32 = 1;
/// Each has its own.
pub const OWN: u32 = 2;

params! {
    #[derive(Default)]
    /// Where the arrays are.
    pub struct EachAt {
        /// The first element.
        pub x: u64,
        /// The first target.
        pub y: u64,
        /// The first element of the gradient of the result; unused if there is none.
        pub gradient: u64,
        /// The first result.
        pub output: u64,
    }

    /// Terms, or gradients. Results lie in C order.
    pub struct Each at EachAt {
        /// The axes, of packs of 16 bytes or of elements; a gradient's steps, in bytes, are the outputs'.
        pub axes: Outputs<AXES>,
        /// The number of the kind of term.
        pub number: f64,
        /// What the gradient is divided by; the gradient itself, if none is read.
        pub divisor: f64,
        /// The kind of term.
        pub kind: u32,
        /// Whether results are derivatives.
        pub derives: u32,
        /// [`NUMBER`], [`ONE`] or [`OWN`].
        pub gradient: u32,
        /// Whether a thread has packs.
        pub packs: u32,
        /// Whether results are what arithmetic is done in, and not rounded.
        pub wide: u32,
        /// The dtype of targets, as its place in `DType::ALL`.
        pub of_y: u32,
        /// That of the gradient.
        pub of_gradient: u32,
        /// Nothing.
        pub rest: u32,
    }
}

impl Each {
    /// The gradient of the result, for elements at a place.
    #[inline(always)]
    fn scale<S: Simt, F: Real>(&self, s: &S, at: At) -> F {
        if s.branch(self.gradient == NUMBER) {
            return F::from_f64(self.divisor);
        }
        self.divided(s, number(s, self.of_gradient, self.at.gradient.wrapping_add(at.out as u64)))
    }

    /// A gradient over the divisor.
    #[inline(always)]
    fn divided<S: Simt, F: Real>(&self, s: &S, gradient: F) -> F {
        if s.branch(self.divisor == 1.0) { gradient } else { gradient.div(F::from_f64(self.divisor)) }
    }

    /// A term, or a derivative.
    #[inline(always)]
    fn of<S: Simt, F: Float>(&self, s: &S, term: impl Loss<F>, x: F, y: F) -> F {
        if s.branch(self.derives != 0) { term.derivative(x, y) } else { term.zip(x, y) }
    }

    /// What becomes of as many elements as a pack of 16 bytes has, in the first places.
    #[inline(always)]
    fn elements<S, X>(&self, s: &S, x: [X::Value; MOST], y: [X::Value; MOST]) -> [X::Value; MOST]
    where
        S: Simt,
        X: Source<Value: Float + Node>,
    {
        if s.branch(self.kind >= COSTLY) {
            let is_plain = with_costly!(s, self.kind, term => all_plain::<X>(&term, &x, &y));
            if s.branch(self.derives == 0 && is_plain) {
                return with_costly!(s, self.kind, term => all::<X>(x, y, |x, y| term.plain(x, y)));
            }
            return turns::<S, X>(
                s,
                x,
                y,
                #[inline(always)]
                |x, y| with_costly!(s, self.kind, term => self.of(s, term, x, y)),
            );
        }
        let number = X::Value::from_f64(self.number);
        if s.branch(self.derives != 0) {
            with_cheap!(s, self.kind, number, term => all::<X>(x, y, |x, y| term.derivative(x, y)))
        } else {
            with_cheap!(s, self.kind, number, term => all::<X>(x, y, |x, y| term.zip(x, y)))
        }
    }
}

/// A function of the elements of two packs, of one after the other: one copy of the code.
#[inline(always)]
fn turns<S: Simt, X: Source<Value: Node>>(
    s: &S,
    mut x: [X::Value; MOST],
    mut y: [X::Value; MOST],
    of: impl Fn(X::Value, X::Value) -> X::Value,
) -> [X::Value; MOST] {
    let (mut found, mut k, per) = ([X::Value::zero(); MOST], 0, X::Bits::PER as usize);
    let turns = s.opaque(per as u32);
    while s.again(k < turns) {
        found = next(found, of(x[0], y[0]));
        (x, y) = (next(x, x[0]), next(y, y[0]));
        k += 1;
    }
    // What has come last is in the last places.
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| found[(k + MOST - per) % MOST],
    )
}

/// The elements of a pack.
#[inline(always)]
fn pack<S, X>(s: &S, call: &Each, i: u64)
where
    S: Simt,
    X: Source<Value: Float + Node>,
{
    let at = call.axes.at(i);
    let read = |from: u64, by: i64| numbers::<S, X>(s, words(s, array(from.wrapping_add(by as u64)), 16));
    let (x, y) = (read(call.at.x, at.x), read(call.at.y, at.mask));
    let mut of = call.elements::<S, X>(s, x, y);
    if s.branch(call.derives != 0) {
        if s.branch(call.gradient == OWN) {
            let scale = read(call.at.gradient, at.out);
            of = all::<X>(of, scale, |of, scale| of.mul(call.divided(s, scale)));
        } else {
            let scale = call.scale(s, at);
            of = all::<X>(of, of, |of, _| of.mul(scale));
        }
    }
    write_pack::<S, X>(s, call.at.output, i, call.wide != 0, of);
}

/// The element number `i`.
#[inline(always)]
fn element<S, X>(s: &S, call: &Each, i: u64)
where
    S: Simt,
    X: Source<Value: Element + Float + Node>,
{
    let at = call.axes.at(i);
    let x = X::value(s, s.load(array(call.at.x.wrapping_add(at.x as u64)), 0));
    let y = number(s, call.of_y, call.at.y.wrapping_add(at.mask as u64));
    let mut of = if s.branch(call.kind >= COSTLY) {
        with_costly!(s, call.kind, term => call.of(s, term, x, y))
    } else {
        with_cheap!(s, call.kind, X::Value::from_f64(call.number), term => call.of(s, term, x, y))
    };
    if s.branch(call.derives != 0) {
        of = of.mul(call.scale(s, at));
    }
    write_one::<S, X>(s, call.at.output, i, call.wide != 0, of);
}

/// See the module.
#[inline(always)]
pub fn kernel<S, X>(s: &S, call: &Each)
where
    S: Simt,
    X: Source<Value: Element + Float + Node>,
{
    let packs = s.branch(call.packs != 0);
    each_of_grid(
        s,
        call.axes.total,
        #[inline(always)]
        |i| if packs { pack::<S, X>(s, call, i) } else { element::<S, X>(s, call, i) },
    );
}
