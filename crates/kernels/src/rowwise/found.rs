//! What a longer row was reduced to: from the turns of its block, or from the parts of many blocks.

use super::level::{Level, part, parts, warps};
use super::{PARTS, Rowwise, TURNS, WARPS};
use crate::address::array;
use crate::node::{get, publish, put};
use warpfold_simt::{Shared, Simt};

/// Where a block is.
pub(super) struct Here {
    /// The row, which may not be there.
    pub number: u64,
    /// The row's number if it is there, or that of another one.
    pub row: u64,
    /// The block's first element in the row.
    pub first: u64,
    /// The turn.
    pub turn: u32,
    /// The place of the block's part.
    pub to: usize,
}

/// The node of a row that is longer than a block holds, once all of it has been seen; else it is kept for later. `node`
/// is the warp's, of `chunk` elements, and `valid` elements are the block's.
#[inline(always)]
pub(super) fn found<S: Simt, L: Level>(
    s: &S,
    call: &Rowwise,
    level: L,
    [slots, turned]: [Shared<u32>; 2],
    here: &Here,
    node: L::Node,
    [chunk, valid]: [u64; 2],
) -> Option<L::Node> {
    if s.branch(call.phase == TURNS) {
        let turn_warps = s.block_dim_x() / 32;
        if s.branch(s.lane() == 0) {
            put(s, turned, PARTS as u32, here.turn * turn_warps + s.warp(), node);
        }
        if s.branch(here.turn + 1 < call.turns as u32) {
            return None;
        }
        s.barrier();
        let (own, mut part) = (s.thread_x(), level.nothing());
        if s.branch(own < call.turns as u32 * turn_warps) {
            part = get(s, turned, PARTS as u32, own, part);
        }
        return Some(parts(s, level, slots, part, [chunk, call.len]));
    }
    let node = warps(s, level, slots, node, WARPS, chunk, valid);
    if s.branch(s.thread_x() == 0) {
        publish(s, array(call.at.parts), here.to, node);
    }
    None
}

/// The node of a row from its parts in memory.
#[inline(always)]
pub(super) fn in_parts<S: Simt, L: Level>(s: &S, call: &Rowwise, level: L, slots: Shared<u32>, here: &Here) -> L::Node {
    let part = part(s, level, array(call.at.parts), [call.from + here.number * call.parts, call.parts]);
    parts(s, level, slots, part, [call.under, call.len])
}

/// Joins parts of rows.
#[inline(always)]
pub(super) fn meet<S: Simt, L: Level>(s: &S, call: &Rowwise, level: L, slots: Shared<u32>, here: &Here, block: u64) {
    let from = block * PARTS;
    let count = (call.parts - from).min(PARTS);
    let valid = (call.len - from * call.under).min(count * call.under);
    let memory = array(call.at.parts);
    let part = part(s, level, memory, [call.from + here.number * call.parts + from, count]);
    let node = parts(s, level, slots, part, [call.under, valid]);
    if s.branch(s.thread_x() == 0) {
        publish(s, memory, here.to, node);
    }
}
