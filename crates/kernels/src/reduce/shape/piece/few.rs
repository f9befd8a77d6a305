//! The part of an output of at most eight elements, all of which a lane has in registers.
//!
//! Idea: outputs are of equal length, so a choice by the length is the same in all lanes, and how many elements are
//! under a node is known when a kernel is compiled. Nothing is filled up, nor counted.

use crate::reduce::fold::Tree;
use warpfold_simt::Simt;

/// Elements of an output that a lane takes into registers at once, at most.
pub const FEW: u32 = 8;

/// What is over the first `len` elements, from 2 to [`FEW`]. `top` makes it of a node over so many elements, and `meet`
/// of two neighbouring ranges, the left of which has so many.
#[inline(always)]
pub(super) fn over<S: Simt, F: Tree, P: Copy>(
    s: &S,
    f: &F,
    e: &[F::Bits; FEW as usize],
    len: u32,
    top: impl Fn(F::Node, u32) -> P,
    meet: impl Fn(P, P, u32) -> P,
) -> P {
    let pair = |k: usize| f.pair(s, e[k], e[k + 1]);
    let one = |k: usize| top(f.lift(s, e[k]), 1);
    let low = pair(0);
    if s.branch(len == 2) {
        return top(low, 2);
    }
    if s.branch(len == 3) {
        return meet(top(low, 2), one(2), 2);
    }
    let low = f.join(low, pair(2), 2);
    if s.branch(len == 4) {
        return top(low, 4);
    }
    if s.branch(len == 5) {
        return meet(top(low, 4), one(4), 4);
    }
    let high = pair(4);
    if s.branch(len == 6) {
        return meet(top(low, 4), top(high, 2), 4);
    }
    if s.branch(len == 7) {
        return meet(top(low, 4), meet(top(high, 2), one(6), 2), 4);
    }
    top(f.join(low, f.join(high, pair(6), 2), 4), 8)
}
