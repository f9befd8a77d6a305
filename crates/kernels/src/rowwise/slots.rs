//! How the packs of a row meet.
//!
//! Idea: where the lanes of a row are the lower bits of a pack's number, they exchange nodes. Where short rows follow
//! one another, a row's packs lie in any lanes and warps. Each leaves its node in the block's room in shared memory, in
//! which results wait later, and a group of lanes takes them up: each lane as many neighbours as it can join by itself,
//! at most 8, and then lanes meet. What follows from the row goes back to the others in the same way.

use super::WARPS;
use super::dense;
use super::level::{Level, ended, few, ordered, step, tile};
use super::spread::{KNOWN, Slots, Spread};
use crate::node::{Node, exchange, get, put};
use warpfold_simt::{ALL, Shared, Simt};

/// Nodes that a lane joins by itself.
const OWN: usize = 8;

/// For each step the node of its row, or of the row's chunk, from those of the lane's packs of `per` elements. `valid`
/// says how many elements the row of a step has. If `WARP`, `spread` is [`Spread::WARP`], the rows of a warp are cut
/// into steps, and lane `l` gets the node of step `l % N`, in place of all; `valid` counts from the warp's first
/// element. If rows follow one another, a lane gets the node of the row that it finds.
#[inline(always)]
pub fn steps<S: Simt, L: Level, const WARP: bool, const N: usize>(
    s: &S,
    level: L,
    spread: Spread<N>,
    mut nodes: [L::Node; N],
    per: u32,
    valid: impl Fn(u32) -> u32,
) -> [L::Node; N] {
    if WARP {
        let mut node = tile(s, level, nodes, per);
        if L::COUNTS {
            node = ended(s, level, node, nodes, per, |k| step(valid(k), k, per));
        }
        return [node; N];
    }
    if let Some(own) = spread.in_slots() {
        return [rows(s, level, spread, own, nodes, per); N];
    }
    let (lane, lanes, mut bit) = (s.lane(), spread.lanes(), 1);
    while s.again(bit < lanes) {
        nodes = warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| {
                let (left, right) = ordered::<L>(lane & bit != 0, exchange(s, nodes[k], bit), nodes[k]);
                let from = (spread.pack(k as u32, lane) & !(bit - 1) | bit) * per;
                level.above(s, left, right, bit * per, valid(k as u32).saturating_sub(from).min(bit * per))
            },
        );
        bit <<= 1;
    }
    let mut apart = 1;
    while apart < N {
        if s.branch((apart as u32) < spread.steps()) {
            let each = apart as u32 * lanes * per;
            let mut k = 0;
            while k < N {
                let from = (spread.step(k as u32) + apart as u32) * lanes * per;
                let count = valid(k as u32).saturating_sub(from).min(each);
                let node = level.above(s, nodes[k], nodes[k + apart], each, count);
                let mut i = 0;
                while i < 2 * apart {
                    nodes[k + i] = node;
                    i += 1;
                }
                k += 2 * apart;
            }
        }
        apart *= 2;
    }
    nodes
}

/// The node of the row that the lane finds, from the nodes of all packs of `per` elements.
#[inline(always)]
fn rows<S: Simt, L: Level, const N: usize>(
    s: &S,
    level: L,
    spread: Spread<N>,
    slots: Slots,
    nodes: [L::Node; N],
    per: u32,
) -> L::Node {
    // Planes of a word for each place fit what is there for the places' packs.
    const { assert!(L::Node::WORDS <= 4) };
    let room: Shared<u32> = dense::block_room::<S, N>(s, slots.beside()).cast();
    let (lane, places) = (s.lane(), 32 * N as u32 * slots.warps);
    let mut k = 0;
    while k < N {
        put(s, room, places, spread.slot(slots, k as u32, lane), nodes[k]);
        k += 1;
    }
    s.barrier();
    let (row, own) = (spread.found(lane), spread.own(lane));
    let each = slots.packs.next_power_of_two().max(spread.lanes()) >> spread.lanes().ilog2();
    let from = own * each;
    let (mut all, mut i) = ([level.nothing(); OWN], 0);
    while i < OWN as u32 {
        if s.branch(i < each && from + i < slots.packs && row < slots.rows) {
            all[i as usize] = get(s, room, places, row * slots.packs + from + i, level.nothing());
        }
        i += 1;
    }
    // Neighbours, of which the row, or what the lane has of it, may have fewer elements.
    let valid = slots.len.min((from + each) * per);
    let (mut apart, mut have) = (1, OWN);
    while have > 1 {
        let mut i = 0;
        while i < have / 2 {
            let (size, at) = (apart * per, (from + (2 * i as u32 + 1) * apart) * per);
            let count = valid.saturating_sub(at).min(size);
            all[i] = level.above(s, all[2 * i], all[2 * i + 1], size, count);
            i += 1;
        }
        (apart, have) = (2 * apart, have / 2);
    }
    few(s, level, all[0], spread.lanes(), own, [each * per, slots.len])
}

/// What follows from the row of each step, from what each lane's own row has come to.
#[inline(always)]
pub fn known<S: Simt, T: Node, const N: usize>(s: &S, spread: Spread<N>, slots: Slots, own: T) -> [T; N] {
    const { assert!(T::WORDS <= KNOWN) };
    let room = dense::block_room::<S, N>(s, slots.beside()).cast::<u32>();
    let (rows, lane) = (room.offset(dense::room_bytes(slots.warps, N) / 4), s.lane());
    let number = spread.found(lane);
    if s.branch(spread.is_first(lane) && number < slots.rows) {
        put(s, rows, 1, number * T::WORDS, own);
    }
    s.barrier();
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| get(s, rows, 1, spread.known(k as u32, lane) * T::WORDS, own),
    )
}

/// Whether it is so in any warp of the block.
#[inline(always)]
pub fn any<S: Simt>(s: &S, own: bool) -> bool {
    let warps = s.shared::<u32, { WARPS as usize }, 0>("wild");
    if s.branch(s.lane() == 0) {
        s.put(warps, s.warp(), own as u32);
    }
    s.barrier();
    let number = s.lane() & (s.block_dim_x() / 32 - 1);
    s.any(ALL, s.get(warps, number) != 0)
}
