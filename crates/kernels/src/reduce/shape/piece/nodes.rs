//! The nodes and parts of a lane's packs, in the order of the tree.

use crate::node::select;
use crate::reduce::fold::Tree;
use crate::reduce::shape::split::{STEPS, next};
use crate::source::Bits;
use warpfold_simt::{ALL, Simt};

/// The node over the first `len` of `width` elements (1, 2, 4 or 8), of which `least` are always there; of a tree with
/// a neutral node, unless they are all.
#[inline(always)]
pub(super) fn padded<S: Simt, F: Tree>(s: &S, f: &F, w: &[u32; 4], width: u32, len: u32, least: u32) -> F::Node {
    match width {
        1 => padded_one(s, f, w, 0, len, least),
        2 => padded_two(s, f, w, 0, len, least),
        4 => padded_four(s, f, w, 0, len, least),
        _ => f.join(padded_four(s, f, w, 0, len, least), padded_four(s, f, w, 1, len, least), 4),
    }
}

/// Whether element `k` is always there, or need not be.
#[inline(always)]
const fn is_there<F: Tree>(k: usize, least: u32) -> bool {
    !F::NEUTRAL || (k as u32) < least
}

/// Of element `k`.
#[inline(always)]
fn padded_one<S: Simt, F: Tree>(s: &S, f: &F, w: &[u32; 4], k: usize, len: u32, least: u32) -> F::Node {
    let node = f.lift(s, F::Bits::nth(w, k));
    if is_there::<F>(k, least) { node } else { select((k as u32) < len, node, f.neutral()) }
}

/// Of pair `k`.
#[inline(always)]
fn padded_two<S: Simt, F: Tree>(s: &S, f: &F, w: &[u32; 4], k: usize, len: u32, least: u32) -> F::Node {
    if is_there::<F>(2 * k + 1, least) {
        return f.pair(s, F::Bits::nth(w, 2 * k), F::Bits::nth(w, 2 * k + 1));
    }
    f.join(padded_one(s, f, w, 2 * k, len, least), padded_one(s, f, w, 2 * k + 1, len, least), 1)
}

/// Of two pairs.
#[inline(always)]
fn padded_four<S: Simt, F: Tree>(s: &S, f: &F, w: &[u32; 4], k: usize, len: u32, least: u32) -> F::Node {
    f.join(padded_two(s, f, w, 2 * k, len, least), padded_two(s, f, w, 2 * k + 1, len, least), 2)
}

/// The nodes over 16 bytes of each step.
#[inline(always)]
pub(in crate::reduce::shape) fn packs<S: Simt, F: Tree>(s: &S, f: &F, w: &[[u32; 4]; STEPS]) -> [F::Node; STEPS] {
    if !F::HAS_PLAIN {
        return warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| f.pack(s, &w[k]),
        );
    }
    if s.branch(s.all(ALL, all_ordinary(s, f, w))) {
        return packs(s, &f.plain(), w).map(
            #[inline(always)]
            |node| f.raise(node),
        );
    }
    slow(s, f, w)
}

/// The same, rarely needed and so kept short: one copy, and the steps take turns. (A loop with a vote in it is not
/// unrolled.)
#[inline(always)]
pub(in crate::reduce::shape) fn slow<S: Simt, F: Tree>(s: &S, f: &F, w: &[[u32; 4]; STEPS]) -> [F::Node; STEPS] {
    let (mut nodes, mut w) = ([f.neutral(); STEPS], *w);
    let mut k = 0;
    while s.again(s.any(ALL, k < STEPS)) {
        nodes = next(nodes, f.pack(s, &w[0]));
        w = next(w, w[0]);
        k += 1;
    }
    nodes
}

/// Whether all elements are ordinary.
#[inline(always)]
pub(in crate::reduce::shape) fn all_ordinary<S: Simt, F: Tree>(s: &S, f: &F, w: &[[u32; 4]; STEPS]) -> bool {
    let per = F::Bits::PER as usize;
    let (mut all, mut k) = (true, 0);
    while k < STEPS * per {
        all &= f.is_ordinary(s, F::Bits::nth(&w[k / per], k % per));
        k += 1;
    }
    all
}

/// The part over the first `valid` elements of 16 bytes, fewer than all and at least one.
#[inline(always)]
pub(in crate::reduce::shape) fn last_elements<S: Simt, F: Tree>(s: &S, f: &F, w: &[u32; 4], valid: u32) -> F::Part {
    let per = F::Bits::PER;
    if F::NEUTRAL { f.part(padded(s, f, w, per, valid, 1), valid) } else { some(s, f, w, valid) }
}

/// The part over the first `valid` elements of 16 bytes, fewer than all.
#[inline(always)]
pub(super) fn some<S: Simt, F: Tree>(s: &S, f: &F, w: &[u32; 4], valid: u32) -> F::Part {
    let one = |k: usize| f.lift(s, F::Bits::nth(w, k));
    let two = |k: usize| f.pair(s, F::Bits::nth(w, 2 * k), F::Bits::nth(w, 2 * k + 1));
    let four = |k: usize| f.join(two(2 * k), two(2 * k + 1), 2);
    let per = F::Bits::PER;
    let mut part = f.nothing();
    if s.branch(valid & 1 != 0) {
        let mut node = one(0);
        let mut k = 2;
        while k < per {
            node = select(valid - 1 == k, one(k as usize), node);
            k += 2;
        }
        part = f.part(node, 1);
    }
    if per >= 4 && s.branch(valid & 2 != 0) {
        let mut node = two(0);
        let mut k = 2;
        while k < per as usize / 2 {
            node = select(valid / 4 == k as u32 / 2, two(k), node);
            k += 2;
        }
        part = f.meet_near(f.part(node, 2), part);
    }
    if per >= 8 && s.branch(valid & 4 != 0) {
        let mut node = four(0);
        if per == 16 {
            node = select(valid & 8 != 0, four(2), node);
        }
        part = f.meet_near(f.part(node, 4), part);
    }
    if per == 16 && s.branch(valid & 8 != 0) {
        part = f.meet_near(f.part(f.join(four(0), four(1), 4), 8), part);
    }
    part
}
