//! The greatest element of each window, where it is, and its gradient.

use super::number::Elements;
use super::walk::{Planes, Walk, each};
use super::{PLANES, Pool};
use crate::address::array;
use warpfold_core::pool::gathered;
use warpfold_core::{Accumulate, Element, Float, Real};
use warpfold_simt::Simt;

/// The number of no element.
pub const NONE: u32 = u32::MAX;

/// The greatest elements so far, of each plane.
#[derive(Clone, Copy)]
pub struct Best<F, const P: usize> {
    /// NaN before the first; anything, once one was NaN.
    number: [F; P],
    /// Whether one was NaN.
    nan: [bool; P],
    /// The number of the first of them.
    first: [u32; P],
}

impl<F: Float + Element, const P: usize> Best<F, P> {
    /// Of no elements.
    #[inline(always)]
    pub fn none() -> Self {
        Self { number: [F::from_f64(f64::NAN); P], nan: [false; P], first: [NONE; P] }
    }

    /// Takes the next elements. In the place of those that there are not is minus infinity, after one that there is.
    #[inline(always)]
    #[allow(clippy::neg_cmp_op_on_partial_ord)] // One comparison that NaN passes.
    pub fn take<S: Simt, E: Elements<Number = F>>(&mut self, s: &S, x: [F; P], number: u32, wants_first: bool) {
        let mut k = 0;
        while k < P {
            let is_nan = x[k].partial_cmp(&x[k]).is_none();
            if wants_first {
                // Greater, or one of both is NaN: the element, or what is there before the first.
                let is_better = !self.nan[k] && !(x[k] <= self.number[k]);
                self.first[k] = if is_better { number } else { self.first[k] };
            }
            self.number[k] = E::greater(s, self.number[k], x[k]);
            self.nan[k] |= is_nan;
            k += 1;
        }
    }

    /// The same of all elements of a window of few, whose numbers `number` knows by row and column.
    #[inline(always)]
    pub fn take_all<S: Simt, E: Elements<Number = F>, const N: usize>(
        &mut self,
        s: &S,
        window: &[[[F; P]; N]; N],
        number: impl Fn(usize, usize) -> u32,
        wants_first: bool,
    ) {
        let mut i = 0;
        while i < N * N {
            let (row, column) = (i / N, i % N);
            self.take::<S, E>(s, window[row][column], number(row, column), wants_first);
            i += 1;
        }
    }

    /// The values of windows of `count` elements.
    #[inline(always)]
    pub fn values(&self, count: u32) -> [F; P] {
        let (nan, lowest) = (F::from_f64(f64::NAN), F::from_f64(f64::NEG_INFINITY));
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| {
                let value = if self.nan[k] { nan } else { self.number[k] };
                // A window of padding has no element.
                if count == 0 { lowest } else { value }
            },
        )
    }

    /// The index of the first one in plane `k`.
    #[inline(always)]
    pub fn place(&self, k: usize) -> i64 {
        if self.first[k] == NONE { -1 } else { self.first[k] as i64 }
    }
}

/// The greatest elements, and the index of the first of them, if indices are wanted.
#[inline(always)]
pub fn max<S: Simt, E: Elements>(s: &S, call: &Pool) {
    let lowest = E::Number::from_f64(f64::NEG_INFINITY);
    each::<S, _, PLANES, false>(
        s,
        call,
        #[inline(always)]
        |planes: &Planes<PLANES>, walk: &Walk| {
            let mut best = Best::<E::Number, PLANES>::none();
            let wants_first = call.at.places != 0;
            walk.elements(
                s,
                ([lowest; PLANES], NONE),
                #[inline(always)]
                |by, number| (E::read(s, call.dtype, planes.at(by)), number),
                #[inline(always)]
                |_, some| {
                    let mut i = 0;
                    if s.branch(wants_first) {
                        while i < some.len() {
                            best.take::<S, E>(s, some[i].0, some[i].1, true);
                            i += 1;
                        }
                    } else {
                        while i < some.len() {
                            best.take::<S, E>(s, some[i].0, some[i].1, false);
                            i += 1;
                        }
                    }
                },
            );
            (best.values(walk.count), best)
        },
        #[inline(always)]
        |(values, best), k, to| {
            E::write(s, call.dtype, call.at.output, to, values[k]);
            if s.branch(call.at.places != 0) {
                s.store(array::<i64>(call.at.places), to as usize, best.place(k));
            }
        },
    );
}

/// The gradient of the elements, from that of the greatest ones, whose indices are there, in C order.
#[inline(always)]
pub fn backward<S: Simt, E: Elements, const P: usize, const L: usize>(s: &S, call: &Pool) {
    let windows = call.axis[0].sources as u64 * call.rows.by * call.columns.by;
    each::<S, _, P, true>(
        s,
        call,
        #[inline(always)]
        |planes: &Planes<P>, walk: &Walk| {
            let chosen: [u64; P] = warpfold_simt::array::from_fn(
                #[inline(always)]
                |k| call.at.places.wrapping_add(8 * planes.plane(k) * windows),
            );
            walk.tree::<S, E::Number, P, L>(
                s,
                #[inline(always)]
                |by, window| {
                    let gradients = E::read(s, call.dtype, planes.at(by));
                    warpfold_simt::array::from_fn(
                        #[inline(always)]
                        |k| {
                            let place = s.load(array::<i64>(chosen[k]), window as usize);
                            if place == walk.number as i64 { gradients[k] } else { E::Number::NOTHING }
                        },
                    )
                },
            )
        },
        #[inline(always)]
        |sums, k, to| E::write(s, call.dtype, call.at.output, to, gathered(sums[k])),
    );
}
