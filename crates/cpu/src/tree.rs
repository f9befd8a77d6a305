//! The tree over the neighbouring elements of a block, level by level.

use std::mem::MaybeUninit;

use warpfold_core::Reducer;

use super::policy::BLOCK;
use super::simd::array;

/// Room for the nodes of a level.
pub(super) type Level<A, const N: usize> = [MaybeUninit<A>; N];

/// The right end of a level: a node that covers fewer elements than the level's whole nodes.
#[derive(Clone, Copy)]
pub(super) struct Ragged<A> {
    /// The node, and how many elements it covers; `None` if all nodes are whole.
    pub tail: Option<(A, u64)>,
}

impl<A: Copy> Ragged<A> {
    /// Combines an odd whole node of `n` elements with the ragged node to its right.
    #[inline(always)]
    pub(super) fn prepend<R: Reducer<Acc = A>>(&mut self, reducer: &R, acc: A, n: u64) {
        self.tail = Some(match self.tail {
            Some((tail, m)) => (reducer.combine_counted(acc, n, tail, m), n + m),
            None => (acc, n),
        });
    }
}

/// Elements whose first [`LOW`] levels are reduced in registers.
pub(super) const PIECE: usize = 256;
/// Elements under each node that a piece leaves.
pub(super) const GROUP: usize = 1 << LOW;
/// Levels of a piece.
const LOW: u32 = 4;

/// The levels of a piece above its pairs.
#[inline(always)]
pub(super) fn upper_levels<
    R: Reducer,
    const PAIRS: usize,
    const FOURS: usize,
    const EIGHTS: usize,
    const NODES: usize,
>(
    reducer: &R,
    pairs: &[R::Acc; PAIRS],
    nodes: &mut [MaybeUninit<R::Acc>; NODES],
) {
    let fours: [R::Acc; FOURS] = halve(reducer, pairs, 2);
    let eights: [R::Acc; EIGHTS] = halve(reducer, &fours, 4);
    // SAFETY: `MaybeUninit` of a node has the layout of a node, so the array has room for as many nodes.
    unsafe { (&raw mut *nodes).cast::<[R::Acc; NODES]>().write(halve(reducer, &eights, 8)) };
}

/// The tree over a block, level by level: for nodes of several numbers, whose first levels do not fit the registers.
#[inline(always)]
pub(super) fn tree_levels<R: Reducer>(reducer: &R, x: &[R::Item], start: u64) -> R::Acc {
    let mut a: Level<R::Acc, { BLOCK / 2 }> = [const { MaybeUninit::uninit() }; BLOCK / 2];
    let mut b: Level<R::Acc, { BLOCK / 4 }> = [const { MaybeUninit::uninit() }; BLOCK / 4];
    let mut ragged = Ragged { tail: None };
    let pairs = x.len() / 2;
    for (i, node) in a[..pairs].iter_mut().enumerate() {
        let at = start + 2 * i as u64;
        // SAFETY: i is below `pairs`, which is half of the number of elements.
        let (left, right) = unsafe { (*x.get_unchecked(2 * i), *x.get_unchecked(2 * i + 1)) };
        node.write(reducer.combine_counted(reducer.lift(left, at), 1, reducer.lift(right, at + 1), 1));
    }
    if x.len() % 2 == 1 {
        let last = x.len() - 1;
        ragged.prepend(reducer, reducer.lift(x[last], start + last as u64), 1);
    }
    // SAFETY: the loop above has written the first `pairs` nodes.
    unsafe { climb(reducer, &mut a, &mut b, pairs, 2, &mut ragged) };
    ragged.tail.expect("x is not empty").0
}

/// From `whole` nodes of `weight` elements each up to the root, which becomes the ragged node.
///
/// # Safety
/// The first `whole` of `from` are written.
#[inline(always)]
pub(super) unsafe fn climb<R: Reducer>(
    reducer: &R,
    from: &mut [MaybeUninit<R::Acc>],
    to: &mut [MaybeUninit<R::Acc>],
    mut whole: usize,
    mut weight: u64,
    ragged: &mut Ragged<R::Acc>,
) {
    let (mut from, mut to) = (from, to);
    while whole > 0 {
        if whole % 2 == 1 {
            // SAFETY: the level's first `whole` nodes are written.
            ragged.prepend(reducer, unsafe { from[whole - 1].assume_init() }, weight);
        }
        whole /= 2;
        // SAFETY: an odd last node is left out, so `2 * whole` nodes of this level are written, twice as many as made.
        unsafe { pair_up(reducer, &from[..2 * whole], &mut to[..whole], weight) };
        weight *= 2;
        std::mem::swap(&mut from, &mut to);
    }
}

/// The nodes of pairs of elements.
#[inline(always)]
pub(super) fn lift_pairs<R: Reducer, const M: usize, const N: usize>(
    reducer: &R,
    x: &[R::Item; M],
    start: u64,
) -> [R::Acc; N] {
    const { assert!(M == 2 * N) };
    array!(N, i => {
        let at = start + 2 * i as u64;
        reducer.combine_counted(reducer.lift(x[2 * i], at), 1, reducer.lift(x[2 * i + 1], at + 1), 1)
    })
}

/// One level up, of a length known to the compiler.
#[inline(always)]
pub(super) fn halve<R: Reducer, const M: usize, const N: usize>(
    reducer: &R,
    x: &[R::Acc; M],
    weight: u64,
) -> [R::Acc; N] {
    const { assert!(M == 2 * N) };
    array!(N, i => reducer.combine_counted(x[2 * i], weight, x[2 * i + 1], weight))
}

/// One level up.
///
/// # Safety
/// `from` is written, and twice as long as `to`.
#[inline(always)]
pub(super) unsafe fn pair_up<R: Reducer>(
    reducer: &R,
    from: &[MaybeUninit<R::Acc>],
    to: &mut [MaybeUninit<R::Acc>],
    weight: u64,
) {
    for (i, o) in to.iter_mut().enumerate() {
        // SAFETY: i is below the length of `to`, and the caller vouches that `from` is twice as long, and written.
        let (left, right) =
            unsafe { (from.get_unchecked(2 * i).assume_init(), from.get_unchecked(2 * i + 1).assume_init()) };
        o.write(reducer.combine_counted(left, weight, right, weight));
    }
}

/// Nodes of a level that [`combine_many`] makes at a time.
pub const NODES: usize = 32;

/// [`combine_nodes`] of many nodes, some at a time, so that they are vectors.
#[inline(always)]
pub fn combine_many<R: Reducer>(reducer: &R, nodes: &mut [R::Acc], weight: u64, last: u64) {
    let (mut n, mut weight, mut last) = (nodes.len(), weight, last);
    while n >= 4 * NODES {
        // The last pair is left for the loop after this one.
        let whole = (n - 1) / (2 * NODES);
        for i in 0..whole {
            let below: [R::Acc; 2 * NODES] = *nodes[2 * i * NODES..].first_chunk().expect("as many nodes");
            let above: &mut [R::Acc; NODES] = nodes[i * NODES..].first_chunk_mut().expect("as many nodes");
            for j in 0..NODES {
                above[j] = reducer.combine_counted(below[2 * j], weight, below[2 * j + 1], weight);
            }
        }
        last = join_pairs(reducer, &mut nodes[..n], whole * NODES, weight, last);
        n = n.div_ceil(2);
        weight *= 2;
    }
    combine_nodes(reducer, &mut nodes[..n], weight, last);
}

/// Joins the pairs of nodes from pair `from` on, of `weight` elements each, except for the last node, which has `last`.
/// How many the last one has then.
#[inline(always)]
fn join_pairs<R: Reducer>(reducer: &R, nodes: &mut [R::Acc], from: usize, weight: u64, last: u64) -> u64 {
    let n = nodes.len();
    for i in from..n / 2 {
        let right = if 2 * i + 2 == n { last } else { weight };
        nodes[i] = reducer.combine_counted(nodes[2 * i], weight, nodes[2 * i + 1], right);
    }
    if n % 2 == 1 {
        nodes[n / 2] = nodes[n - 1];
        return last;
    }
    last + weight
}

/// The tree over nodes of `weight` elements each, except for the last, which has `last`. The root replaces the first
/// node.
pub fn combine_nodes<R: Reducer>(reducer: &R, nodes: &mut [R::Acc], weight: u64, last: u64) {
    let (mut n, mut weight, mut last) = (nodes.len(), weight, last);
    while n > 1 {
        last = join_pairs(reducer, &mut nodes[..n], 0, weight, last);
        n = n.div_ceil(2);
        weight *= 2;
    }
}

/// The tree over at most eight elements, the first of which has the index `at`.
#[inline]
pub(super) fn few<R: Reducer>(reducer: &R, x: &[R::Item], at: u64) -> R::Acc {
    match x.split_first_chunk::<4>() {
        Some((four, rest)) if !rest.is_empty() => {
            let (left, right) = (up_to_four(reducer, four, at), up_to_four(reducer, rest, at + 4));
            reducer.combine_counted(left, 4, right, rest.len() as u64)
        }
        _ => up_to_four(reducer, x, at),
    }
}

/// The tree over at most four elements, the first of which has the index `at`.
#[inline(never)]
fn up_to_four<R: Reducer>(reducer: &R, x: &[R::Item], at: u64) -> R::Acc {
    let pair = |i: usize| reducer.lift_pair(x[i], x[i + 1], at + i as u64);
    match x.len() {
        1 => reducer.lift(x[0], at),
        2 => pair(0),
        3 => reducer.combine_counted(pair(0), 2, reducer.lift(x[2], at + 2), 1),
        _ => reducer.combine_counted(pair(0), 2, pair(2), 2),
    }
}
