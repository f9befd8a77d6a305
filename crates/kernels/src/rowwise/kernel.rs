//! Two of the three kernels of each operation: for rows that are longer than a block holds, and for short rows, of
//! which a block has many. The third is [`super::together`].
//!
//! Idea: in `longer` a block reads a row in turns, and once more, backwards: what was read last is most likely to be in
//! shared memory ([`super::turns`]) or in the cache, and results that are written leave first. The second time needs
//! no tree, so rows that begin anywhere are read and written by lines of 16 bytes. Rows too few for the GPU are reduced
//! in a launch of their own, whose parts a later launch takes. In `short` rows take a block's places for packs one
//! after the other ([`super::spread`]); some lanes find what follows from each, and all that have packs of it get it.
//! Bottleneck: memory.

use super::dense;
use super::found::{Here, found, in_parts, meet};
use super::level::{Level, of_chunk, pick};
use super::op::RowOp;
use super::read::from_memory;
use super::results::{Of, Way, map, mapped, written};
use super::slots;
use super::spread::{Packs, Place, Slots, Spread};
use super::staying::{Stays, staying};
use super::turns::Ring;
use super::{LINES, MAP, MEET, NODES, REDUCE, Rowwise, SLOTS, TURNS, WARPS, chunk};
use crate::address::array;
use crate::node::Node;
use crate::reduce::shape::piece::divide;
use crate::source::Bits;
use warpfold_simt::{ALL, Pack, Simt};

/// Packs of a lane, up to which it has those of two turns at once, if turns are not in shared memory: layer norm bf16
/// (8192,32768), which was not then, took an H100 563 us so, and 625 without.
const AHEAD: usize = 4;

/// Rows that are longer than a block holds: a block has one, or a part of one.
#[inline(always)]
pub fn longer<S: Simt, O: RowOp, const N: usize>(s: &S, call: &Rowwise) {
    let slots = [s.shared::<u32, SLOTS, 0>("slots"), s.shared::<u32, NODES, 1>("turned")];
    let (op, chunk) = (O::new(call), const { chunk(size_of::<Of<O>>()) });
    if s.branch(op.is_there(s)) {
        return;
    }
    let under = (s.block_dim_x() / 32) as u64 * chunk;
    // The row, and the block's number among those of the row.
    let (number, block) = divide(s.block_x() as u64, call.blocks);
    let (first, to) = (block * under, (call.to + number * call.blocks + block) as usize);
    let mut here = Here { number, row: number, first, turn: 0, to };
    if s.branch(call.phase == MEET) {
        return meet(s, call, O::Level::NEW, slots[0], &here, block);
    }
    let given = if O::GIVEN { op.noted(s, here.row) } else { O::Stat::zero() };
    let (mut stat, mut is_found) = (given, call.phase == MAP);
    if O::NOTED && s.branch(call.noted != 0) {
        (stat, is_found) = (op.noted(s, here.row), true);
    } else if s.branch(is_found) {
        stat = op.stat(s, in_parts(s, call, O::Level::NEW, slots[0], &here), here.row);
    }
    let is_noting = block == 0 && s.thread_x() == 0;
    if s.branch(is_found && is_noting) {
        op.note(s, stat, number);
    }
    if const { Stays::<O, N>::THERE } {
        return staying::<S, O, N>(s, call, &op, slots, here, (stat, is_found));
    }
    let is_mapped = call.at.output != 0 && call.phase != REDUCE;
    // A row that its block reads in turns is read once more, backwards and by lines, unless it is known already.
    let turns = call.turns as u32;
    let (mut step, mut all, mut by_lines) = (0, turns, None);
    if is_mapped && call.phase == TURNS {
        if O::LINED {
            let lined = call.lined::<Of<O>>(call.place::<Of<O>>(number, 0, 1), O::SECOND);
            // Where lines take a turn more, they have no place.
            by_lines = lined.filter(|&shift| call.len + shift as u64 <= turns as u64 * under);
        }
        step = if is_found { turns } else { 0 };
        all = 2 * turns;
    }
    let turn = |step: u32| if step < turns { step } else { all - 1 - step };
    let lined = |step: u32| O::LINED && step >= turns && by_lines.is_some();
    let row = call.row::<Of<O>>(number);
    let own = first + s.warp() as u64 * chunk;
    let place = |step: u32| {
        let at = own + turn(step) as u64 * under;
        if !O::LINED {
            return call.part::<Of<O>>(row, at, chunk);
        }
        let shift = if step < turns { 0 } else { by_lines.unwrap_or(0) };
        // The row's first line begins before the row.
        let before = if at == 0 { shift } else { 0 };
        let from = at - (shift - before) as u64;
        call.part::<Of<O>>(row, from, chunk - before as u64).moved::<Of<O>>(before)
    };
    let stays = const { O::STAYS && Of::<O>::SIZE == 2 };
    let ring = Ring::<O, N>::new(s, call);
    let fill = |turn: u32, slot: u32| {
        ring.fill(s, call, slot, row, own + turn as u64 * under);
        s.end_copies();
    };
    let (mut slot, mut begun) = (0, 0);
    while s.again(begun < ring.kept()) {
        fill(begun, begun);
        begun += 1;
    }
    let read = |step: u32, slot: u32| {
        let (place, staged) = (place(step), Ring::<O, N>::THERE);
        let line = |array, k, at| if staged { ring.line(s, slot, array, k) } else { from_memory(s)(array, k, at) };
        call.packs::<S, _, O, _, true, N>(s, op.blank(), Spread::WARP, [lined(step), staged], line, |_| place).w
    };
    // Where registers have room, the packs of the next turn are on their way while those of one are computed.
    let has_room = N <= AHEAD && !Ring::<O, N>::THERE;
    let mut ahead = [[[0; 4]; N]; 2];
    if has_room {
        ahead = read(step, 0);
    }
    while s.again(step < all) {
        here.turn = turn(step);
        let place = place(step);
        if Ring::<O, N>::THERE {
            ring.wait(s);
        }
        let w = if has_room { ahead } else { read(step, slot) };
        let packs = Packs { spread: Spread::WARP, w, place: |_| place, whole: call.whole(lined(step)) };
        // The turn with which a row becomes known need not be read once more: what is kept of it is still there.
        let is_last = stays && step + 1 == turns && all > turns && by_lines.is_none();
        let next_step = step + 1 + is_last as u32;
        if has_room && s.branch(next_step < all) {
            ahead = read(next_step, 0);
        }
        let held = op.hold(s, &packs);
        let write = |stat, lined| {
            mapped(s, &op, call, &held, (op.is_plain(stat), |_| stat), Way::Exchanged { lined }, |_| place);
        };
        if s.branch(!is_found) {
            let (of, step_of) = ([chunk, (call.len - first).min(under)], chunk as u32 / N as u32);
            let node = op.nodes::<S, _, true, N>(s, &packs, &held, [given; N])[0];
            let node = of_chunk(s, O::Level::NEW, node, N as u32, [step_of, place.valid]);
            if let Some(node) = found(s, call, O::Level::NEW, slots, &here, node, of) {
                (stat, is_found) = (op.stat(s, node, here.row), true);
            }
            if s.branch(is_found && is_noting) {
                op.note(s, stat, number);
            }
        } else if !stays && s.branch(is_mapped) {
            write(stat, lined(step));
        }
        let again = step >= turns || is_last || call.phase != TURNS;
        if stays && s.branch(is_found && is_mapped && again) {
            write(stat, lined(step));
        }
        if Ring::<O, N>::THERE {
            // The place is free, but for the second time of a turn that is among the last.
            let next = if again { here.turn.wrapping_sub(ring.kept()) } else { here.turn + ring.kept() };
            if s.branch(next < turns) {
                fill(next, slot);
            } else {
                s.end_copies();
            }
            if again || here.turn + 1 < turns {
                slot = ring.next(slot, again);
            }
        }
        step = next_step;
    }
}

/// Rows of which a block has many.
#[inline(always)]
pub fn short<S: Simt, O: RowOp, const N: usize>(s: &S, call: &Rowwise) {
    let op = O::new(call);
    if s.branch(op.is_there(s)) {
        return;
    }
    let lined = call.whole == LINES && (call.at.input | call.at.second | call.at.output) & 15 == 0;
    if Of::<O>::SIZE == 2 && s.branch(lined) {
        several::<S, O, true, N>(s, call, &op);
    } else {
        several::<S, O, false, N>(s, call, &op);
    }
}

/// The rows of a block. If `LINED` each warp has some of its own, whose packs are lines that follow one another in all
/// arrays, and fill all places.
#[inline(always)]
fn several<S: Simt, O: RowOp, const LINED: bool, const N: usize>(s: &S, call: &Rowwise, op: &O) {
    let lane = s.lane();
    let spread = if LINED {
        Spread::<N>::new(call.lanes, call.deep)
    } else {
        let (packs, inverse, rows, warps) = (call.quarters, call.quarter, call.together, s.block_dim_x() / 32);
        Spread::slots(Slots { packs, inverse, rows, len: call.len as u32, warps, before: 32 * s.warp() })
    };
    let number = s.block_x() as u64;
    let number = if LINED { number * WARPS as u64 + s.warp() as u64 } else { number };
    let first = number * spread.rows() as u64;
    // A row, and how far it is from there to others.
    let row = first + spread.first(lane) as u64;
    let base = if LINED { Place::of(call.len as u32) } else { call.place::<Of<O>>(row, 0, u32::MAX as u64) };
    let moves: [[i64; 3]; N] = warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| if LINED { [0; 3] } else { call.moves(row, spread.further(k as u32, lane)) },
    );
    let left = call.rows.saturating_sub(row).min(spread.rows() as u64);
    let place = |k: u32| {
        if LINED { base } else { call.next_place::<Of<O>>(base, pick(moves, k), spread.further(k, lane), left) }
    };
    // The bytes before the lane's line of the first step, in each array.
    let before = first * (call.len * Of::<O>::SIZE as u64) + 16 * lane as u64;
    let packs = if LINED {
        let lines = |from: u64| {
            warpfold_simt::array::from_fn(
                #[inline(always)]
                |k| from_memory(s)(0, 0, (from + before).wrapping_add(512 * k as u64)),
            )
        };
        let second = if O::SECOND { lines(call.at.second) } else { [[0; 4]; N] };
        Packs { spread, w: [lines(call.at.input), second], place, whole: true }
    } else {
        call.packs::<S, _, O, _, false, N>(s, op.blank(), spread, [false; 2], from_memory(s), place)
    };
    let held = op.hold(s, &packs);
    // A lane finds what follows from one row, and all that have packs of it get it.
    let row = first + spread.found(lane) as u64;
    let is_row = spread.found(lane) < spread.rows() && row < call.rows;
    let known = if is_row { row } else { 0 };
    let all = |own: O::Stat| match spread.in_slots() {
        Some(slots) => slots::known(s, spread, slots, own),
        None => warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| own.map(|_, word| s.shuffle_idx(ALL, word, spread.lane(lane, k as u32))),
        ),
    };
    let own = if O::NOTED && s.branch(call.noted != 0) {
        op.noted(s, known)
    } else {
        let given = if O::GIVEN { all(op.noted(s, known)) } else { [O::Stat::zero(); N] };
        let nodes = op.nodes::<S, _, false, N>(s, &packs, &held, given);
        op.stat(s, pick(nodes, lane % N as u32), known)
    };
    let stats: [O::Stat; N] = all(own);
    if s.branch(is_row && spread.is_first(lane)) {
        op.note(s, own, row);
    }
    if s.branch(call.at.output == 0) {
        return;
    }
    let (mut plain, mut k) = (!held.wild, 0);
    while k < N {
        plain &= op.is_plain(stats[k]);
        k += 1;
    }
    let results = map::<S, O, N>(s, op, spread, &held, (s.all(ALL, plain), |k| pick(stats, k)), place);
    if LINED {
        let mut k = 0;
        while k < N {
            s.store_stream(array((call.at.output + before).wrapping_add(512 * k as u64)), 0, Pack(results[k]));
            k += 1;
        }
        return;
    }
    let beside = spread.in_slots().map_or(0, Slots::beside);
    written::<S, O, false, N>(s, call, spread, results, Way::Shared(dense::room::<S, N>(s, beside)), place);
}
