//! The greatest element of each window, where it is, and its gradient.

use super::number::Elements;
use super::walk::{Planes, Walk, each};
use super::{PLANES, Pool};
use crate::address::array;
use warpfold_core::pool::gathered;
use warpfold_core::{Accumulate, Float, Real};
use warpfold_simt::Simt;

/// The number of no element.
const NONE: u32 = u32::MAX;

/// The greatest elements so far, of each plane.
#[derive(Clone, Copy)]
struct Best<F> {
    /// NaN before the first; anything, once one was NaN.
    number: [F; PLANES],
    /// Whether one was NaN.
    nan: [bool; PLANES],
    /// The number of the first of them.
    first: [u32; PLANES],
}

impl<F: Float> Best<F> {
    /// Takes the next elements. In the place of those that there are not is minus infinity, after one that there is.
    #[inline(always)]
    #[allow(clippy::neg_cmp_op_on_partial_ord)] // One comparison that NaN passes.
    fn take<S: Simt, E: Elements<Number = F>>(&mut self, s: &S, x: [F; PLANES], number: u32, wants_first: bool) {
        let mut k = 0;
        while k < PLANES {
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
}

/// The greatest elements, and the index of the first of them, if indices are wanted.
#[inline(always)]
pub fn max<S: Simt, E: Elements>(s: &S, call: &Pool) {
    let (nan, lowest) = (E::Number::from_f64(f64::NAN), E::Number::from_f64(f64::NEG_INFINITY));
    each::<S, _, PLANES, false>(
        s,
        call,
        #[inline(always)]
        |planes: &Planes<PLANES>, walk: &Walk| {
            let mut best = Best { number: [nan; PLANES], nan: [false; PLANES], first: [NONE; PLANES] };
            let wants_first = call.at.places != 0;
            walk.elements(
                s,
                ([lowest; PLANES], NONE),
                #[inline(always)]
                |by, number| {
                    let x = planes.sources.map(
                        #[inline(always)]
                        |at| E::read(s, call.dtype, at.wrapping_add(by as u64)),
                    );
                    (x, number)
                },
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
            (best, walk.count)
        },
        #[inline(always)]
        |(best, count), k, to| {
            // A window of padding has no element.
            let value = if best.nan[k] { nan } else { best.number[k] };
            E::write(s, call.dtype, call.at.output, to, if count == 0 { lowest } else { value });
            if s.branch(call.at.places != 0) {
                let place = if best.first[k] == NONE { -1 } else { best.first[k] as i64 };
                s.store(array::<i64>(call.at.places), to as usize, place);
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
                    warpfold_simt::array::from_fn(
                        #[inline(always)]
                        |k| {
                            let place = s.load(array::<i64>(chosen[k]), window as usize);
                            let gradient = E::read(s, call.dtype, planes.sources[k].wrapping_add(by as u64));
                            if place == walk.number as i64 { gradient } else { E::Number::NOTHING }
                        },
                    )
                },
            )
        },
        #[inline(always)]
        |sums, k, to| E::write(s, call.dtype, call.at.output, to, gathered(sums[k])),
    );
}
