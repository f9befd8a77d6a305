//! How the packs of a warp's rows meet.
//!
//! Idea: where the lanes of a row are the lower bits of a pack's number, they exchange nodes. Where short rows follow
//! one another, a row's packs lie in any lanes. Each leaves its node in the warp's room in shared memory, in which
//! results wait later, and a group of lanes takes them up: each lane as many neighbours as it can join by itself, at
//! most 8, and then lanes meet.

use super::dense;
use super::level::{Level, ended, few, ordered, step, tile};
use super::spread::{Slots, Spread};
use crate::node::{exchange, get, put};
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

/// Where in shared memory the node of a place is, so that neither 32 neighbours nor every fourth or eighth of 128
/// places compete for a bank.
#[inline(always)]
const fn bank(place: u32) -> u32 {
    place ^ (place >> 5)
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
    let (room, lane, places): (Shared<u32>, _, _) = (dense::room::<S, N>(s).cast(), s.lane(), 32 * N as u32);
    let mut k = 0;
    while k < N {
        put(s, room, places, bank(32 * k as u32 + lane), nodes[k]);
        k += 1;
    }
    s.warp_barrier(ALL);
    let (row, own) = (spread.found(lane), spread.own(lane));
    let each = slots.packs.next_power_of_two().max(spread.lanes()) >> spread.lanes().ilog2();
    let from = own * each;
    let (mut all, mut i) = ([level.nothing(); OWN], 0);
    while i < OWN as u32 {
        if s.branch(i < each && from + i < slots.packs && row < slots.rows) {
            all[i as usize] = get(s, room, places, bank(row * slots.packs + from + i), level.nothing());
        }
        i += 1;
    }
    s.warp_barrier(ALL);
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
