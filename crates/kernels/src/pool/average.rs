//! The mean of each window, and its gradient.

use super::number::Elements;
use super::walk::{Planes, Walk, each};
use super::{FIXED, PADDED, POWER, Pool};
use warpfold_core::pool::gathered;
use warpfold_core::{Element, Float};
use warpfold_simt::Simt;

/// Numbers over what the sum of a window of so many elements is divided by.
#[inline(always)]
pub fn over<S: Simt, F: Float + Element, const P: usize>(s: &S, call: &Pool, x: [F; P], elements: u64) -> [F; P] {
    divided_by(
        s,
        call,
        x,
        #[inline(always)]
        || elements,
    )
}

/// The same, of the window at a place.
#[inline(always)]
pub fn divided<S: Simt, F: Float + Element, const P: usize>(
    s: &S,
    call: &Pool,
    x: [F; P],
    window: impl Fn() -> [u32; 3],
) -> [F; P] {
    divided_by(
        s,
        call,
        x,
        #[inline(always)]
        || elements(s, call, window()),
    )
}

#[inline(always)]
fn divided_by<S: Simt, F: Float + Element, const P: usize>(
    s: &S,
    call: &Pool,
    x: [F; P],
    elements: impl Fn() -> u64,
) -> [F; P] {
    let number = F::from_f64(call.divisor);
    if s.branch(call.divides == POWER) {
        return x.map(
            #[inline(always)]
            |x| x.mul(number),
        );
    }
    let number = if s.branch(call.divides == FIXED) { number } else { F::from_count(elements()) };
    x.map(
        #[inline(always)]
        |x| x.div(number),
    )
}

/// Elements of a window, or those with padding.
#[inline(always)]
fn elements<S: Simt>(s: &S, call: &Pool, [z, y, x]: [u32; 3]) -> u64 {
    let [a, b, c] = &call.axis;
    if s.branch(call.divides == PADDED) {
        return a.padded(z) as u64 * b.padded(y) as u64 * c.padded(x) as u64;
    }
    let counts = [a.elements(s, z), b.elements(s, y), c.elements(s, x)];
    counts[0].count as u64 * counts[1].count as u64 * counts[2].count as u64
}

/// Means, of `P` planes at a time, with `L` levels above those of 32 elements.
#[inline(always)]
pub fn average<S: Simt, E: Elements, const P: usize, const L: usize>(s: &S, call: &Pool) {
    each::<S, _, P, false>(
        s,
        call,
        #[inline(always)]
        |planes: &Planes<P>, walk: &Walk| {
            let sums = walk.tree::<S, E::Number, P, L>(
                s,
                #[inline(always)]
                |by, _| E::read(s, call.dtype, planes.at(by)),
            );
            divided(
                s,
                call,
                sums,
                #[inline(always)]
                || walk.at,
            )
        },
        #[inline(always)]
        |means, k, to| E::write(s, call.dtype, call.at.output, to, means[k]),
    );
}

/// The gradient of the elements, from that of the means.
#[inline(always)]
pub fn backward<S: Simt, E: Elements, const P: usize, const L: usize>(s: &S, call: &Pool) {
    each::<S, _, P, true>(
        s,
        call,
        #[inline(always)]
        |planes: &Planes<P>, walk: &Walk| {
            walk.tree::<S, E::Number, P, L>(
                s,
                #[inline(always)]
                |by, window| {
                    let gradients = E::read(s, call.dtype, planes.at(by));
                    divided(
                        s,
                        call,
                        gradients,
                        #[inline(always)]
                        || {
                            let (rest, x) = call.columns.divide_small(window);
                            let (z, y) = call.rows.divide_small(rest);
                            [z, y, x]
                        },
                    )
                },
            )
        },
        #[inline(always)]
        |sums, k, to| E::write(s, call.dtype, call.at.output, to, gathered(sums[k])),
    );
}
