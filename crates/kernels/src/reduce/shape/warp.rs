//! A warp's values become one: the transposed butterfly.
//!
//! Each lane holds the nodes of 8 steps; lanes are the lower bits of the index. At each of three levels a lane keeps
//! half of its nodes and sends the other half, which merges the lane bits lowest first with 7 exchanges instead of 24;
//! the other lane bits, then the bits of the steps, cost one each.

use crate::node::{Node, exchange, select};
use crate::reduce::fold::{Heap, Parts, Tree};
use crate::reduce::shape::split::STEPS;
use warpfold_simt::Simt;

/// How two neighbours become one.
pub trait Combine: Copy {
    /// What becomes one.
    type Node: Node;
    /// Whether swapped neighbours give the same bits.
    const COMMUTES: bool;
    /// The neighbours have `each` times as much under them as at the start.
    fn combine(self, left: Self::Node, right: Self::Node, each: u32) -> Self::Node;
    /// Combines what a lane has with what it got: a high lane's is the right one.
    #[inline(always)]
    fn lanes(self, high: bool, got: Self::Node, own: Self::Node, each: u32) -> Self::Node {
        if Self::COMMUTES {
            self.combine(own, got, each)
        } else {
            self.combine(select(high, got, own), select(high, own, got), each)
        }
    }
}

/// Whole subtrees of equal size join.
#[derive(Clone, Copy)]
pub struct Join<'a, F>(pub &'a F);

impl<F: Tree> Combine for Join<'_, F> {
    type Node = F::Node;
    const COMMUTES: bool = F::COMMUTES;
    #[inline(always)]
    fn combine(self, left: F::Node, right: F::Node, each: u32) -> F::Node {
        self.0.join(left, right, each)
    }
    #[inline(always)]
    fn lanes(self, high: bool, got: F::Node, own: F::Node, each: u32) -> F::Node {
        self.0.join_lanes(high, got, own, each)
    }
}

/// Parts meet.
#[derive(Clone, Copy)]
pub struct Meet<'a, F>(pub &'a F);

impl<F: Parts> Combine for Meet<'_, F> {
    type Node = F::Part;
    const COMMUTES: bool = F::SWAPS;
    #[inline(always)]
    fn combine(self, left: F::Part, right: F::Part, _each: u32) -> F::Part {
        self.0.meet(left, right)
    }
}

/// Parts of few elements meet.
#[derive(Clone, Copy)]
pub struct MeetNear<'a, F>(pub &'a F);

impl<F: Parts> Combine for MeetNear<'_, F> {
    type Node = F::Part;
    const COMMUTES: bool = F::SWAPS;
    #[inline(always)]
    fn combine(self, left: F::Part, right: F::Part, _each: u32) -> F::Part {
        self.0.meet_near(left, right)
    }
}

/// Brief parts meet.
#[derive(Clone, Copy)]
pub struct MeetBrief<'a, F>(pub &'a F);

impl<F: Heap> Combine for MeetBrief<'_, F> {
    type Node = F::Brief;
    const COMMUTES: bool = true;
    #[inline(always)]
    fn combine(self, left: F::Brief, right: F::Brief, _each: u32) -> F::Brief {
        self.0.meet_brief(left, right)
    }
}

/// Combines along one lane bit, and keeps half.
#[inline(always)]
pub fn fold<S: Simt, C: Combine, const W: usize, const H: usize>(
    s: &S,
    c: C,
    nodes: [C::Node; W],
    bit: u32,
    each: u32,
) -> [C::Node; H] {
    let high = s.lane() & bit != 0;
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |j| {
            let (even, odd) = (nodes[2 * j], nodes[2 * j + 1]);
            let keep = select(high, odd, even);
            let got = exchange(s, select(high, even, odd), bit);
            c.lanes(high, got, keep, each)
        },
    )
}

/// Pairs the elements of 8 steps along one lane bit, and keeps half of the pairs.
#[inline(always)]
pub fn pairs<S: Simt, F: Tree>(s: &S, f: &F, bits: [F::Bits; STEPS], bit: u32) -> [F::Node; STEPS / 2] {
    let high = s.lane() & bit != 0;
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |j| {
            let (even, odd) = (bits[2 * j], bits[2 * j + 1]);
            let own = select(high, odd, even);
            let got = exchange(s, select(high, even, odd), bit);
            if F::COMMUTES { f.pair(s, own, got) } else { f.pair(s, select(high, got, own), select(high, own, got)) }
        },
    )
}

/// Combines along one lane bit; both lanes get the result.
#[inline(always)]
pub fn across<S: Simt, C: Combine>(s: &S, c: C, node: C::Node, bit: u32, each: u32) -> C::Node {
    c.lanes(s.lane() & bit != 0, exchange(s, node, bit), node, each)
}

/// Every lane's part meets, in the order of the lanes, in groups of `lanes` (a power of two).
#[inline(always)]
pub fn meet_lanes<S: Simt, F: Parts>(s: &S, f: &F, part: F::Part, lanes: u32) -> F::Part {
    across_lanes(s, Meet(f), part, lanes)
}

/// The same of what each lane has.
#[inline(always)]
pub fn across_lanes<S: Simt, C: Combine>(s: &S, c: C, mut node: C::Node, lanes: u32) -> C::Node {
    let (mut bit, lanes) = (1, s.opaque(lanes));
    while s.again(bit < lanes) {
        node = across(s, c, node, bit, 1);
        bit <<= 1;
    }
    node
}

/// The parts of two steps meet, those of the first step before, in groups of `lanes` (a power of two, at least 2).
#[inline(always)]
pub fn meet_two<S: Simt, F: Parts>(s: &S, f: &F, parts: [F::Part; 2], lanes: u32) -> F::Part {
    let [mut part]: [F::Part; 1] = fold(s, Meet(f), parts, 1, 1);
    let (mut bit, lanes) = (2, s.opaque(lanes));
    while s.again(bit < lanes) {
        part = across(s, Meet(f), part, bit, 1);
        bit <<= 1;
    }
    across(s, Meet(f), part, 1, 1)
}

/// The node over 8 steps of 32 lanes, `each` elements a lane; every lane gets it.
#[inline(always)]
pub fn tile<S: Simt, C: Combine>(s: &S, nodes: [C::Node; STEPS], c: C, each: u32) -> C::Node {
    let four: [C::Node; 4] = fold(s, c, nodes, 1, each);
    let two: [C::Node; 2] = fold(s, c, four, 2, 2 * each);
    let [mut node]: [C::Node; 1] = fold(s, c, two, 4, 4 * each);
    node = across(s, c, node, 8, 8 * each);
    node = across(s, c, node, 16, 16 * each);
    // The steps, of which each lane has one of eight.
    node = across(s, c, node, 1, 32 * each);
    node = across(s, c, node, 2, 64 * each);
    across(s, c, node, 4, 128 * each)
}

/// The node over those of 32 lanes, each of `each` elements; every lane gets it.
#[inline(always)]
pub fn lanes<S: Simt, C: Combine>(s: &S, mut node: C::Node, c: C, each: u32) -> C::Node {
    let mut k = 0;
    while k < 5 {
        node = across(s, c, node, 1 << k, each << k);
        k += 1;
    }
    node
}

/// Four nodes of one lane, neighbours first.
#[inline(always)]
pub fn four<F: Tree>(f: &F, n: [F::Node; STEPS / 2], each: u32) -> F::Node {
    f.join(f.join(n[0], n[1], each), f.join(n[2], n[3], each), 2 * each)
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

/// The pack of step `k`, without a branch around it.
#[inline(always)]
pub fn picked(packs: [[u32; 4]; STEPS], k: u32) -> [u32; 4] {
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |i| {
            pick(
                warpfold_simt::array::from_fn(
                    #[inline(always)]
                    |k| packs[k][i],
                ),
                k,
            )
        },
    )
}
