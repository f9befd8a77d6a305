//! A warp's values become one: the transposed butterfly.
//!
//! Each lane holds the nodes of 8 steps; lanes are the lower bits of the index. At each of three levels a lane keeps half of
//! its nodes and sends the other half, which merges the lane bits lowest first with 7 exchanges instead of 24; the other lane
//! bits, then the bits of the steps, cost one each.

use crate::kernels::fold::{Parts, Tree};
use crate::kernels::node::{Node, exchange, select};
use crate::simt::Simt;

/// Steps of a tile: as many 16-byte reads a lane has in flight.
pub const STEPS: usize = 8;

/// Joins neighbours along one lane bit, and keeps half.
#[inline(always)]
pub fn fold<S: Simt, F: Tree, const W: usize, const H: usize>(
    s: &S,
    f: &F,
    nodes: [F::Node; W],
    bit: u32,
    each: u32,
) -> [F::Node; H] {
    let high = s.lane() & bit != 0;
    core::array::from_fn(
        #[inline(always)]
        |j| {
            let (even, odd) = (nodes[2 * j], nodes[2 * j + 1]);
            let keep = select(high, odd, even);
            let got = exchange(s, select(high, even, odd), bit);
            join(f, high, got, keep, each)
        },
    )
}

/// Joins what a lane has with what it got: a high lane's is the right one.
#[inline(always)]
fn join<F: Tree>(f: &F, high: bool, got: F::Node, own: F::Node, each: u32) -> F::Node {
    if F::COMMUTES { f.join(own, got, each) } else { f.join(select(high, got, own), select(high, own, got), each) }
}

/// Joins along one lane bit; both lanes get the result.
#[inline(always)]
pub fn across<S: Simt, F: Tree>(s: &S, f: &F, node: F::Node, bit: u32, each: u32) -> F::Node {
    join(f, s.lane() & bit != 0, exchange(s, node, bit), node, each)
}

/// The same for parts.
#[inline(always)]
pub fn meet_across<S: Simt, F: Parts>(s: &S, f: &F, part: F::Part, bit: u32) -> F::Part {
    let got = exchange(s, part, bit);
    let high = s.lane() & bit != 0;
    f.meet(select(high, got, part), select(high, part, got))
}

/// Every lane's part meets, in the order of the lanes, in groups of `lanes` (a power of two).
#[inline(always)]
pub fn meet_lanes<S: Simt, F: Parts>(s: &S, f: &F, mut part: F::Part, lanes: u32) -> F::Part {
    let (mut bit, lanes) = (1, s.opaque(lanes));
    while s.again(bit < lanes) {
        part = meet_across(s, f, part, bit);
        bit <<= 1;
    }
    part
}

/// The node over 8 steps of 32 lanes, `each` elements a lane.
#[inline(always)]
pub fn tile<S: Simt, F: Tree>(s: &S, f: &F, nodes: [F::Node; STEPS], each: u32) -> F::Node {
    let four: [F::Node; 4] = fold(s, f, nodes, 1, each);
    let two: [F::Node; 2] = fold(s, f, four, 2, 2 * each);
    let [node]: [F::Node; 1] = fold(s, f, two, 4, 4 * each);
    let node = across(s, f, node, 8, 8 * each);
    let node = across(s, f, node, 16, 16 * each);
    let node = across(s, f, node, 1, 32 * each);
    let node = across(s, f, node, 2, 64 * each);
    across(s, f, node, 4, 128 * each)
}

/// Eight nodes of one lane, neighbours first.
#[inline(always)]
pub fn eight<F: Tree>(f: &F, n: [F::Node; STEPS], each: u32) -> F::Node {
    let a = f.join(f.join(n[0], n[1], each), f.join(n[2], n[3], each), 2 * each);
    let b = f.join(f.join(n[4], n[5], each), f.join(n[6], n[7], each), 2 * each);
    f.join(a, b, 4 * each)
}

/// Eight parts of one lane, neighbours first.
#[inline(always)]
pub fn eight_parts<F: Parts>(f: &F, n: [F::Part; STEPS]) -> F::Part {
    let a = f.meet(f.meet(n[0], n[1]), f.meet(n[2], n[3]));
    let b = f.meet(f.meet(n[4], n[5]), f.meet(n[6], n[7]));
    f.meet(a, b)
}

/// A node's words from any place, without a branch around it.
#[inline(always)]
pub fn pick<N: Node>(nodes: [N; STEPS], k: u32) -> N {
    let mut node = nodes[0];
    let mut i = 1;
    while i < STEPS {
        node = select(k == i as u32, nodes[i], node);
        i += 1;
    }
    node
}
