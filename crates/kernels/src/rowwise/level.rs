//! How the nodes of a row meet: over a group's lanes, its steps, the warps of a block, and parts in memory.
//!
//! Every lane gets the node. Nodes are whole subtrees but for the last, which has fewer elements under it; how many
//! follows from its place, so counts are not exchanged. Nodes of no elements mean nothing.

use super::WARPS;
use super::number::MOST;
use crate::node::{Node, exchange, fetch, get, put, select};
use core::marker::PhantomData;
use warpfold_core::Float;
use warpfold_simt::{Global, Shared, Simt};

/// How two neighbours become one.
pub trait Level: Copy {
    /// What becomes one.
    type Node: Node;
    /// The only value of this type.
    const NEW: Self;
    /// Whether the bits depend on how many elements are under a node: else a node of none changes nothing.
    const COUNTS: bool;
    /// The node of no elements.
    fn nothing(self) -> Self::Node;
    /// The node above two whole subtrees of `each` elements.
    fn join(self, left: Self::Node, right: Self::Node, each: u32) -> Self::Node;
    /// The node above two of so many elements, of which the left has some.
    fn meet(self, left: (Self::Node, u64), right: (Self::Node, u64)) -> Self::Node;
    /// The node above a lane's own node and the one that it got, which is the left one if `high`: both are whole
    /// subtrees of `each` elements.
    #[inline(always)]
    fn cross(self, high: bool, got: Self::Node, own: Self::Node, each: u32) -> Self::Node {
        let (left, right) = ordered::<Self>(high, got, own);
        self.join(left, right, each)
    }

    /// What [`few`] finds, where nodes of all lanes are such that less will do.
    #[inline(always)]
    fn fewer<S: Simt>(self, _s: &S, _node: Self::Node, _lanes: u32) -> Option<Self::Node> {
        None
    }

    /// The node above a whole subtree of `each` elements and its neighbour, which has `count`. If `count` is zero, the
    /// left one may have fewer.
    #[inline(always)]
    fn above<S: Simt>(self, s: &S, left: Self::Node, right: Self::Node, each: u32, count: u32) -> Self::Node {
        let mut node = self.join(left, right, each);
        if Self::COUNTS && s.branch(count < each) {
            node = left;
            if s.branch(count > 0) {
                node = self.meet((left, each as u64), (right, count as u64));
            }
        }
        node
    }
}

/// The left and the right one of a lane's own node and the one that it got.
#[inline(always)]
pub(super) fn ordered<L: Level>(high: bool, got: L::Node, own: L::Node) -> (L::Node, L::Node) {
    if L::COUNTS { (select(high, got, own), select(high, own, got)) } else { (own, got) }
}

/// Of `N` steps of 32 lanes, `each` elements a lane, the node of step `lane % N`: a transposed butterfly. At each of
/// the first levels a lane keeps half of its nodes, and sends the other half.
#[inline(always)]
pub(super) fn tile<S: Simt, L: Level, const N: usize>(s: &S, level: L, mut nodes: [L::Node; N], each: u32) -> L::Node {
    let (lane, mut have, mut bit) = (s.lane(), N, 1);
    while bit < 32 {
        let high = lane & bit != 0;
        let mut j = 0;
        while j < have.div_ceil(2) {
            let (mut own, mut other) = (nodes[j], nodes[j]);
            if have > 1 {
                (own, other) =
                    (select(high, nodes[2 * j + 1], nodes[2 * j]), select(high, nodes[2 * j], nodes[2 * j + 1]));
            }
            nodes[j] = level.cross(high, exchange(s, other, bit), own, bit * each);
            j += 1;
        }
        have = have.div_ceil(2);
        bit *= 2;
    }
    nodes[0]
}

/// What is kept of step `k`, without a branch around it.
#[inline(always)]
pub fn pick<T: Node, const N: usize>(all: [T; N], k: u32) -> T {
    let (mut one, mut i) = (all[0], 1);
    while i < N {
        one = select(k == i as u32, all[i], one);
        i += 1;
    }
    one
}

/// Of `valid` elements from a warp's first on those of step `k`, of packs of `per`.
#[inline(always)]
pub fn step(valid: u32, k: u32, per: u32) -> u32 {
    valid.saturating_sub(k * 32 * per).min(32 * per)
}

/// A lane's node `whole` of its step, of all steps' nodes, but those of steps that are not full: these are found one by
/// one. `count` says how many elements a step has.
#[inline(always)]
pub(super) fn ended<S: Simt, L: Level, const N: usize>(
    s: &S,
    level: L,
    mut whole: L::Node,
    nodes: [L::Node; N],
    per: u32,
    count: impl Fn(u32) -> u32,
) -> L::Node {
    let (mut ends, mut k) = (false, 0);
    while k < N as u32 {
        ends |= count(k).wrapping_sub(1) < 32 * per - 1;
        k += 1;
    }
    if s.branch(ends) {
        let (lane, mut k, all) = (s.lane(), 0, s.opaque(N as u32));
        while s.again(k < all) {
            let count = count(k);
            if s.branch(count.wrapping_sub(1) < 32 * per - 1) {
                let node = few(s, level, pick(nodes, k), 32, lane, [per, count]);
                whole = select(lane % N as u32 == k, node, whole);
            }
            k += 1;
        }
    }
    whole
}

/// The node of `valid` elements, of which each lane of every `lanes` (a power of two) has a node of `each`,
/// its own number `own` among them. Nodes that have no elements may be anything where the level counts.
#[inline(always)]
pub fn few<S: Simt, L: Level>(
    s: &S,
    level: L,
    mut node: L::Node,
    lanes: u32,
    own: u32,
    [each, valid]: [u32; 2],
) -> L::Node {
    if let Some(node) = level.fewer(s, node, lanes) {
        return node;
    }
    let mut bit = 1;
    while bit < 32 {
        if s.branch(bit < lanes) {
            let (high, got, size) = (own & bit != 0, exchange(s, node, bit), bit * each);
            let mut above = level.cross(high, got, node, size);
            if L::COUNTS {
                let count = valid.saturating_sub((own & !(2 * bit - 1) | bit) * each);
                if s.branch(count < size) {
                    let (left, right) = ordered::<L>(high, got, node);
                    above = left;
                    if s.branch(count > 0) {
                        above = level.meet((left, size as u64), (right, count as u64));
                    }
                }
            }
            node = above;
        }
        bit <<= 1;
    }
    node
}

/// The node of a warp's chunk of one row, of `valid` elements, from those of its 4 or 8 steps of `each`: lane `l` has
/// the node of step `l % steps`.
#[inline(always)]
pub fn of_chunk<S: Simt, L: Level>(s: &S, level: L, node: L::Node, steps: u32, [each, valid]: [u32; 2]) -> L::Node {
    few(s, level, node, steps, s.lane() & (steps - 1), [each, valid])
}

/// The node of all elements, of which each lane of every `lanes` (a power of two) has a node of `each`, its own number
/// `own` among them. There are `valid` elements.
#[inline(always)]
fn lanes<S: Simt, L: Level>(
    s: &S,
    level: L,
    mut node: L::Node,
    lanes: u32,
    own: u64,
    each: u64,
    valid: u64,
) -> L::Node {
    let (mut bit, lanes) = (1, s.opaque(lanes));
    while s.again(bit < lanes) {
        let (left, right) = ordered::<L>(own as u32 & bit != 0, exchange(s, node, bit), node);
        let first = own & !(2 * bit as u64 - 1);
        let [m, n] = [first, first + bit as u64].map(
            #[inline(always)]
            |from| valid.saturating_sub(from * each).min(bit as u64 * each),
        );
        node = if L::COUNTS && s.branch(n == 0) { left } else { level.meet((left, m), (right, n)) };
        bit <<= 1;
    }
    node
}

/// The node of the elements of `warps` warps (a power of two) side by side, each of which has one of `each` elements.
/// They have `valid` elements; a block that has fewer warps has all of them. `slots` has room for a node of each warp
/// of the block, and is read until the next barrier.
#[inline(always)]
pub fn warps<S: Simt, L: Level>(
    s: &S,
    level: L,
    slots: Shared<u32>,
    node: L::Node,
    warps: u32,
    each: u64,
    valid: u64,
) -> L::Node {
    if s.branch(warps == 1) {
        return node;
    }
    if s.branch(s.lane() == 0) {
        put(s, slots, 32, s.warp(), node);
    }
    s.barrier();
    let own = s.lane() & (warps - 1);
    let (number, mut node) = ((s.warp() & !(warps - 1)) + own, level.nothing());
    if s.branch(number < s.block_dim_x() / 32) {
        node = get(s, slots, 32, number, node);
    }
    lanes(s, level, node, warps, own as u64, each, valid)
}

/// The node of parts, of which each thread has its own number's, or nothing. Each but the last has `each` elements
/// under it, and all of them have `valid`. `slots` is as for [`warps`].
#[inline(always)]
pub fn parts<S: Simt, L: Level>(
    s: &S,
    level: L,
    slots: Shared<u32>,
    part: L::Node,
    [each, valid]: [u64; 2],
) -> L::Node {
    let node = lanes(s, level, part, 32, s.thread_x() as u64, each, valid);
    warps(s, level, slots, node, WARPS, 32 * each, valid)
}

/// The thread's own one of `count` parts in memory from number `first`, at most as many as the block has threads.
#[inline(always)]
pub fn part<S: Simt, L: Level>(s: &S, level: L, memory: Global<u32>, [first, count]: [u64; 2]) -> L::Node {
    let (own, mut part) = (s.thread_x() as u64, level.nothing());
    if s.branch(own < count) {
        part = fetch(s, memory, (first + own) as usize, part);
    }
    part
}

/// Several sums.
#[derive(Clone, Copy)]
pub struct SumsOf<F, const N: usize>(PhantomData<F>);

impl<F: Float + Node, const N: usize> Level for SumsOf<F, N> {
    type Node = [F; N];
    const NEW: Self = Self(PhantomData);
    const COUNTS: bool = false;
    #[inline(always)]
    fn nothing(self) -> [F; N] {
        [F::NOTHING; N]
    }
    #[inline(always)]
    fn join(self, left: [F; N], right: [F; N], _each: u32) -> [F; N] {
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |i| left[i].add(right[i]),
        )
    }
    #[inline(always)]
    fn meet(self, left: ([F; N], u64), right: ([F; N], u64)) -> [F; N] {
        self.join(left.0, right.0, 0)
    }
}

/// Sums.
#[derive(Clone, Copy)]
pub struct Sums<F>(PhantomData<F>);

impl<F: Float + Node> Level for Sums<F> {
    type Node = F;
    const NEW: Self = Self(PhantomData);
    const COUNTS: bool = false;
    #[inline(always)]
    fn nothing(self) -> F {
        F::NOTHING
    }
    #[inline(always)]
    fn join(self, left: F, right: F, _each: u32) -> F {
        left.add(right)
    }
    #[inline(always)]
    fn meet(self, left: (F, u64), right: (F, u64)) -> F {
        left.0.add(right.0)
    }
}

/// The node over the first `per` of some leaves, a power of two.
#[inline(always)]
pub fn pack<N: Copy>(leaves: [N; MOST], per: u32, join: impl Fn(N, N, u32, u32) -> N) -> N {
    // Without a loop, which the compiler does not always unroll.
    let per = per as usize;
    let twos: [N; MOST / 2] = warpfold_simt::array::from_fn(
        #[inline(always)]
        |i| if 2 * i + 1 < per { join(leaves[2 * i], leaves[2 * i + 1], 1, 2 * i as u32) } else { leaves[0] },
    );
    let fours: [N; MOST / 4] = warpfold_simt::array::from_fn(
        #[inline(always)]
        |i| if 4 * i + 2 < per { join(twos[2 * i], twos[2 * i + 1], 2, 4 * i as u32) } else { twos[0] },
    );
    if per <= 4 { fours[0] } else { join(fours[0], fours[1], 4, 0) }
}
