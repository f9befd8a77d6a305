//! The tree over a block of neighbours whose nodes are single numbers: first piece by piece, in registers, and then
//! level by level. If a sequence may be continued by nodes of no elements ([`warpfold_core::Reducer::PADDED`]), a block
//! of any length is, so that every level has a length that the compiler knows.

use std::mem::MaybeUninit;

use warpfold_core::Reducer;

use super::lanes::{UNDER, lanes, of_vectors};
use super::padded::{padded, padded_root};
use super::policy::{AHEAD, AHEAD_LIGHT, BLOCK};
use super::simd::{Simd, array, prefetch};
use super::tree::{GROUP, Level, PIECE, Ragged, climb, halve, lift_pairs, pair_up, upper_levels};

/// The first levels piece by piece, in registers, so that the CPU loads the next piece meanwhile; then the rest, level
/// by level. (All levels of a block one after the other leave the memory idle every second time: 17 GB/s against 23 of
/// one core, where a plain read reaches 25.)
#[inline(always)]
pub(super) fn tree_block<R: Reducer>(level: Simd, reducer: &R, x: &[R::Item], start: u64) -> R::Acc {
    if let Some(node) = tree_of_groups(reducer, x, start) {
        return node;
    }
    tree_of_pieces(
        reducer,
        x,
        start,
        #[inline(always)]
        |piece, at, nodes| low::<true, _>(level, reducer, piece, at, nodes),
    )
}

/// The tree over a power of two of groups, at most eight.
#[inline(always)]
fn of_groups<R: Reducer, const N: usize>(reducer: &R, groups: &[[R::Item; GROUP]], start: u64) -> R::Acc {
    let mut nodes = array!(N, i => of_group(reducer, &groups[i], start + (i * GROUP) as u64));
    let mut half = N / 2;
    while half > 0 {
        let each = (N / 2 / half * GROUP) as u64;
        for i in 0..half {
            nodes[i] = reducer.combine_counted(nodes[2 * i], each, nodes[2 * i + 1], each);
        }
        half /= 2;
    }
    nodes[0]
}

/// The tree over one, two, four or eight groups. Stretches that are cut along subtrees begin and end with such blocks.
#[inline(always)]
fn tree_of_groups<R: Reducer>(reducer: &R, x: &[R::Item], start: u64) -> Option<R::Acc> {
    let (groups, []) = x.as_chunks() else { return None };
    match groups.len() {
        1 => Some(of_group(reducer, &groups[0], start)),
        2 => Some(of_groups::<R, 2>(reducer, groups, start)),
        4 => Some(of_groups::<R, 4>(reducer, groups, start)),
        8 => Some(of_groups::<R, 8>(reducer, groups, start)),
        _ => None,
    }
}

/// The first levels of a piece. `NEXT` says that the pieces after it lie behind it, to be prefetched.
#[inline(always)]
pub(super) fn low<const NEXT: bool, R: Reducer>(
    level: Simd,
    reducer: &R,
    piece: &[R::Item; PIECE],
    start: u64,
    nodes: &mut [MaybeUninit<R::Acc>; PIECE / GROUP],
) {
    match lanes(level, reducer) {
        // SAFETY: these are its lanes.
        16 => return unsafe { by_lanes::<NEXT, R, 16>(reducer, piece, start, nodes) },
        // SAFETY: these are its lanes.
        8 => return unsafe { by_lanes::<NEXT, R, 8>(reducer, piece, start, nodes) },
        // SAFETY: these are its lanes.
        4 => return unsafe { by_lanes::<NEXT, R, 4>(reducer, piece, start, nodes) },
        _ => {}
    }
    match size_of::<R::Item>() {
        // 512 bytes at a time fit the registers. Whole pieces of f32 took 54 ms where these take 48 (1 GiB, one
        // thread). Of f64 only 256 bytes do: 512 took 155 ms where these take 140 (2 GiB, one thread of a Xeon with
        // AVX-512), as LLVM brought pairs from one level to the next in memory.
        8 => low_levels::<R, 32, 16, 8, 4, 2>(reducer, piece, start, nodes),
        4 => low_levels::<R, 128, 64, 32, 16, 8>(reducer, piece, start, nodes),
        _ => low_levels::<R, 256, 128, 64, 32, 16>(reducer, piece, start, nodes),
    }
}

/// [`low`] by vectors of L nodes.
///
/// # Safety
/// L is what [`lanes`] says for the level that this code is compiled for.
#[inline(always)]
unsafe fn by_lanes<const NEXT: bool, R: Reducer, const L: usize>(
    reducer: &R,
    piece: &[R::Item; PIECE],
    start: u64,
    nodes: &mut [MaybeUninit<R::Acc>; PIECE / GROUP],
) {
    const { assert!(UNDER == GROUP) };
    let ahead = if size_of::<R::Item>() < size_of::<R::Acc>() { AHEAD } else { AHEAD_LIGHT };
    let vectors = piece.as_chunks::<L>().0.as_chunks::<UNDER>().0;
    for (i, (x, nodes)) in vectors.iter().zip(nodes.as_chunks_mut::<L>().0).enumerate() {
        if NEXT {
            prefetch(x.as_ptr().wrapping_byte_add(ahead).cast::<R::Item>(), UNDER * L);
        }
        // SAFETY: `MaybeUninit` of a node has the layout of a node; the caller vouches for L.
        unsafe {
            let nodes = &mut *std::ptr::from_mut(nodes).cast::<[R::Acc; L]>();
            of_vectors::<R, L>(reducer, x, start + (i * UNDER * L) as u64, nodes);
        }
    }
}

/// The node of [`GROUP`] elements.
#[inline(always)]
fn of_group<R: Reducer>(reducer: &R, group: &[R::Item; GROUP], start: u64) -> R::Acc {
    let pairs: [R::Acc; GROUP / 2] = lift_pairs(reducer, group, start);
    let fours: [R::Acc; GROUP / 4] = halve(reducer, &pairs, 2);
    let eights: [R::Acc; GROUP / 8] = halve(reducer, &fours, 4);
    reducer.combine_counted(eights[0], 8, eights[1], 8)
}

/// The first levels of a piece, `N` elements at a time.
#[inline(always)]
fn low_levels<
    R: Reducer,
    const N: usize,
    const PAIRS: usize,
    const FOURS: usize,
    const EIGHTS: usize,
    const NODES: usize,
>(
    reducer: &R,
    piece: &[R::Item; PIECE],
    start: u64,
    nodes: &mut [MaybeUninit<R::Acc>; PIECE / GROUP],
) {
    let ahead = if size_of::<R::Item>() < size_of::<R::Acc>() { AHEAD } else { AHEAD_LIGHT };
    let mut at = start;
    for (x, nodes) in piece.as_chunks::<N>().0.iter().zip(nodes.as_chunks_mut::<NODES>().0) {
        prefetch(x.as_ptr().wrapping_byte_add(ahead), N);
        let pairs: [R::Acc; PAIRS] = lift_pairs(reducer, x, at);
        upper_levels::<R, PAIRS, FOURS, EIGHTS, NODES>(reducer, &pairs, nodes);
        at += N as u64;
    }
}

/// The tree over a block, where `low` computes the first levels of a piece, given the index of its first element.
#[inline(always)]
pub(super) fn tree_of_pieces<R: Reducer>(
    reducer: &R,
    x: &[R::Item],
    start: u64,
    low: impl Fn(&[R::Item; PIECE], u64, &mut [MaybeUninit<R::Acc>; PIECE / GROUP]),
) -> R::Acc {
    debug_assert!(!x.is_empty() && x.len() <= BLOCK);
    let mut a: Level<R::Acc, { BLOCK / GROUP }> = [const { MaybeUninit::uninit() }; BLOCK / GROUP];
    let mut b: Level<R::Acc, { BLOCK / GROUP / 2 }> = [const { MaybeUninit::uninit() }; BLOCK / GROUP / 2];
    let (pieces, rest) = x.as_chunks::<PIECE>();
    let (groups, last) = rest.as_chunks::<GROUP>();
    let mut at = start;
    prefetch(rest.as_ptr().wrapping_byte_add(AHEAD), rest.len());
    let (of_pieces, of_groups) = a.split_at_mut(pieces.len() * (PIECE / GROUP));
    for (piece, nodes) in pieces.iter().zip(of_pieces.as_chunks_mut::<{ PIECE / GROUP }>().0) {
        low(piece, at, nodes);
        at += PIECE as u64;
    }
    if x.len() == BLOCK {
        // SAFETY: a whole block has BLOCK / PIECE pieces, and `low` has written the nodes of each, so all nodes.
        return root(reducer, unsafe { &*(&raw const a).cast::<[R::Acc; BLOCK / GROUP]>() });
    }
    if R::PADDED
        && let Some(identity) = reducer.identity()
    {
        let mut n = pieces.len() * (PIECE / GROUP);
        n += match rest.len() {
            0 => 0,
            1..=64 => padded::<R, 4, 8, 16, 32, 64>(reducer, identity, rest, at, &mut a[n..]),
            65..=128 => padded::<R, 8, 16, 32, 64, 128>(reducer, identity, rest, at, &mut a[n..]),
            _ => padded::<R, 16, 32, 64, 128, 256>(reducer, identity, rest, at, &mut a[n..]),
        };
        // SAFETY: the first `n` nodes are written, by `low` and `padded`.
        return unsafe { padded_root(reducer, identity, &mut a, n) };
    }
    for (group, node) in groups.iter().zip(of_groups) {
        node.write(of_group(reducer, group, at));
        at += GROUP as u64;
    }
    let mut ragged = Ragged { tail: short_tail(reducer, last, at) };
    // SAFETY: the first `x.len() / GROUP` nodes are written: those of pieces by `low`, the others by the loop above.
    unsafe { climb(reducer, &mut a, &mut b, x.len() / GROUP, GROUP as u64, &mut ragged) };
    ragged.tail.expect("x is not empty").0
}

/// The levels above the pieces of a whole block, of lengths known to the compiler.
#[inline(always)]
fn root<R: Reducer>(reducer: &R, nodes: &[R::Acc; BLOCK / GROUP]) -> R::Acc {
    const { assert!(BLOCK == 256 * GROUP) };
    const N: u64 = GROUP as u64;
    let nodes: [R::Acc; 128] = halve(reducer, nodes, N);
    let nodes: [R::Acc; 64] = halve(reducer, &nodes, 2 * N);
    let nodes: [R::Acc; 32] = halve(reducer, &nodes, 4 * N);
    let nodes: [R::Acc; 16] = halve(reducer, &nodes, 8 * N);
    let nodes: [R::Acc; 8] = halve(reducer, &nodes, 16 * N);
    let nodes: [R::Acc; 4] = halve(reducer, &nodes, 32 * N);
    let nodes: [R::Acc; 2] = halve(reducer, &nodes, 64 * N);
    reducer.combine_counted(nodes[0], 128 * N, nodes[1], 128 * N)
}

/// The tree over fewer than [`GROUP`] elements; `None` of no elements. There is a subtree for each set bit of their
/// number, the smallest last. (The compiler knows the length of each. Otherwise it would gather and scatter nodes,
/// which takes a thousand cycles a call.)
#[inline(always)]
fn short_tail<R: Reducer>(reducer: &R, x: &[R::Item], start: u64) -> Option<(R::Acc, u64)> {
    const { assert!(GROUP == 16) };
    let mut ragged = Ragged { tail: None };
    let mut rest = x;
    let at = |rest: &[R::Item]| start + rest.len() as u64;
    if x.len() & 1 != 0
        && let Some((&last, before)) = rest.split_last()
    {
        rest = before;
        ragged.prepend(reducer, reducer.lift(last, at(rest)), 1);
    }
    if x.len() & 2 != 0
        && let Some((before, two)) = rest.split_last_chunk::<2>()
    {
        rest = before;
        let [node] = lift_pairs(reducer, two, at(rest));
        ragged.prepend(reducer, node, 2);
    }
    if x.len() & 4 != 0
        && let Some((before, four)) = rest.split_last_chunk::<4>()
    {
        rest = before;
        let pairs: [R::Acc; 2] = lift_pairs(reducer, four, at(rest));
        let [node] = halve(reducer, &pairs, 2);
        ragged.prepend(reducer, node, 4);
    }
    if x.len() & 8 != 0
        && let Some((before, eight)) = rest.split_last_chunk::<8>()
    {
        let pairs: [R::Acc; 4] = lift_pairs(reducer, eight, at(before));
        let fours: [R::Acc; 2] = halve(reducer, &pairs, 2);
        let [node] = halve(reducer, &fours, 4);
        ragged.prepend(reducer, node, 8);
    }
    ragged.tail
}

/// The trees over rows whose length is a power of two: each level of all rows at once.
#[inline(always)]
pub(super) fn fold_rows<R: Reducer>(
    level: Simd,
    reducer: &R,
    x: &[R::Item],
    len: usize,
    out: &mut [MaybeUninit<R::Acc>],
) {
    fold_rows_by::<false, _>(
        reducer,
        x,
        len,
        out,
        #[inline(always)]
        |piece, nodes| low::<true, _>(level, reducer, piece, 0, nodes),
    );
}

/// [`fold_rows`], where `low` computes the first levels of a piece of rows that are long enough. `LONG` says that they
/// are, and leaves out the code of shorter ones.
#[inline(always)]
pub(super) fn fold_rows_by<const LONG: bool, R: Reducer>(
    reducer: &R,
    x: &[R::Item],
    len: usize,
    out: &mut [MaybeUninit<R::Acc>],
    low: impl Fn(&[R::Item; PIECE], &mut [MaybeUninit<R::Acc>; PIECE / GROUP]),
) {
    debug_assert!(x.len() <= BLOCK && x.len() == len * out.len());
    let rows = out.len();
    if !LONG && len == 1 {
        for i in 0..rows {
            out[i].write(reducer.lift(x[i], 0));
        }
        return;
    }
    let mut a: Level<R::Acc, { BLOCK / 2 }> = [const { MaybeUninit::uninit() }; BLOCK / 2];
    let mut b: Level<R::Acc, { BLOCK / 4 }> = [const { MaybeUninit::uninit() }; BLOCK / 4];
    let (mut nodes, mut weight) = (rows * len / 2, 2u64);
    if LONG || len >= GROUP && !R::INDEXED && size_of::<R::Acc>() <= size_of::<u64>() {
        // Nodes that fit the registers: the first levels piece by piece, as those of a block.
        (nodes, weight) = (rows * len / GROUP, GROUP as u64);
        let (pieces, rest) = x.as_chunks::<PIECE>();
        let (of_pieces, of_rest) = a[..nodes].split_at_mut(pieces.len() * (PIECE / GROUP));
        for (piece, nodes) in pieces.iter().zip(of_pieces.as_chunks_mut::<{ PIECE / GROUP }>().0) {
            low(piece, nodes);
        }
        for (group, node) in rest.as_chunks::<GROUP>().0.iter().zip(of_rest) {
            node.write(of_group(reducer, group, 0));
        }
    } else {
        lift_pairs_of_rows(reducer, &x[..2 * nodes], len, &mut a[..nodes]);
    }
    let (mut from, mut to): (&mut [_], &mut [_]) = (&mut a, &mut b);
    while nodes > rows {
        nodes /= 2;
        // SAFETY: the level below has written all of its `2 * nodes` nodes.
        unsafe { pair_up(reducer, &from[..2 * nodes], &mut to[..nodes], weight) };
        weight *= 2;
        std::mem::swap(&mut from, &mut to);
    }
    out.copy_from_slice(&from[..rows]);
}

/// The nodes of pairs of elements, whose indices start at 0 in each row. `len`, a power of two, is the length of a row.
#[inline(always)]
fn lift_pairs_of_rows<R: Reducer>(reducer: &R, x: &[R::Item], len: usize, out: &mut [MaybeUninit<R::Acc>]) {
    const PIECE: usize = 128;
    let mut first = 0;
    for (x, out) in x.chunks(2 * PIECE).zip(out.chunks_mut(PIECE)) {
        prefetch(x.as_ptr().wrapping_byte_add(AHEAD), x.len());
        for (i, o) in out.iter_mut().enumerate() {
            let at = ((first + 2 * i) & (len - 1)) as u64;
            // SAFETY: i is below the length of `out`, and `x` is twice as long.
            let (left, right) = unsafe { (*x.get_unchecked(2 * i), *x.get_unchecked(2 * i + 1)) };
            o.write(reducer.combine_counted(reducer.lift(left, at), 1, reducer.lift(right, at + 1), 1));
        }
        first += 2 * PIECE;
    }
}
