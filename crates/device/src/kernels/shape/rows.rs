//! Rows: each output's elements lie side by side.
//!
//! Idea: a warp reduces tiles of 8 steps x 32 lanes x 16 bytes, warps meet in shared memory, blocks leave parts in the
//! workspace, and the last block of a row to finish reduces these in the same launch. The planner chooses how many warps,
//! or blocks, share a row.
//! Bottleneck: memory.

use super::parts::{self, SLOTS, Turn, meet_warps};
use super::piece::{Outputs, Piece, Row, divide, share};
use super::warp::meet_lanes;
use crate::kernels::fold::Parts;
use crate::kernels::node::{get, publish, put};
use crate::kernels::recipe::{Call, array, flag};
use crate::simt::Simt;

/// Outputs, and how the work on each is shared out.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rows<const K: usize, R> {
    /// The kept axes.
    pub outputs: Outputs<K>,
    /// Elements of a row in this launch.
    pub len: u64,
    /// Tiles that a warp takes, at most 32.
    pub tiles: u32,
    /// Warps to a row, a power of two, if several rows share a block; all of the block's otherwise.
    pub warps: u32,
    /// Blocks to a row in this launch.
    pub blocks: u32,
    /// The number of the first of them, if earlier launches did some.
    pub first: u32,
    /// Blocks to a row in all launches.
    pub all: u32,
    /// Zero.
    pub reserved: u32,
    /// How elements go on in a row.
    pub reduced: R,
}

/// See the module.
#[inline(always)]
pub fn kernel<S: Simt, P: Piece, const K: usize>(s: &S, call: &Call<Rows<K, P::Reduced>>) {
    let slots = s.shared::<u32, SLOTS, 0>("slots");
    let last = s.shared::<u32, 1, 1>("last");
    let piece = P::new(&call.recipe);
    let (f, shape) = (piece.fold(), &call.shape);
    let reduced = P::from(shape.reduced, call.input);
    let (lane, warp, warps) = (s.lane(), s.warp(), s.block_dim_x() / 32);

    if s.branch(shape.all == 1) {
        let mine = warp & (shape.warps - 1);
        let number = s.block_x() as u64 * share(warps, shape.warps) as u64 + share(warp, shape.warps) as u64;
        let live = number < shape.outputs.total;
        let at = shape.outputs.at(if live { number } else { 0 });
        let row = Row::new(call, at, shape.len, reduced);
        let mut part = f.nothing();
        if s.branch(live) {
            part = piece.run(s, &row, mine as u64 * shape.tiles as u64, shape.tiles);
        }
        if s.branch(shape.warps > 1) {
            if s.branch(lane == 0) {
                put(s, slots, 32, warp, part);
            }
            s.barrier();
            if s.branch(mine == 0) {
                part = f.nothing();
                if s.branch(lane < shape.warps) {
                    part = get(s, slots, 32, warp + lane, part);
                }
                part = meet_lanes(s, f, part, 32);
            }
        }
        if s.branch(live && mine == 0 && lane == 0) {
            finish(s, call, f, piece.settle(s, &row, part, false), number, at.out);
        }
        return;
    }

    let (number, block) = divide(s.block_x() as u64, shape.blocks as u64);
    let block = block as u32;
    let at = shape.outputs.at(number);
    let row = Row::new(call, at, shape.len, reduced);
    let part = piece.run(s, &row, (block * warps + warp) as u64 * shape.tiles as u64, shape.tiles);
    let mut part = meet_warps(s, f, slots, part);
    // A place is looked up while its chunk is there, and counted from the row's start.
    let whole = shape.blocks == shape.all;
    if s.branch(!whole && s.thread_x() == 0) {
        let before = shape.first as u64 * (warps * shape.tiles) as u64 * P::TILE;
        part = f.moved(piece.settle(s, &row, part, false), before);
    }
    let (workspace, counters) = (parts::of(call), array::<u32>(call.workspace));
    let mut turn = Turn::first(number, shape.first as u64 + block as u64, shape.all as u64, GROUP);
    while s.again(true) {
        if s.branch(s.thread_x() == 0) {
            publish(s, workspace, turn.own() as usize, part);
            s.put(last, 0, turn.arrive(s, counters) as u32);
        }
        s.barrier();
        if s.branch(s.get(last, 0) == 0) {
            return;
        }
        part = parts::reduce(s, f, slots, workspace, turn.from() as usize, turn.count());
        if s.branch(s.thread_x() == 0) {
            turn.reset(s, counters);
        }
        let Some(next) = turn.next() else { break };
        turn = next;
    }
    if s.branch(s.thread_x() == 0) {
        let part = if s.branch(whole) { piece.settle(s, &row, part, false) } else { part };
        finish(s, call, f, part, number, at.out);
    }
}

/// Blocks whose parts one of them reduces.
const GROUP: u64 = 256;

/// Writes a row's result, or leaves its part for another kernel.
#[inline(always)]
fn finish<S: Simt, F: Parts, R, const K: usize>(
    s: &S,
    call: &Call<Rows<K, R>>,
    f: &F,
    part: F::Part,
    number: u64,
    out: i64,
) {
    if s.branch(call.recipe.has(flag::PARTS)) {
        parts::leave(s, call, f, number, part);
    } else {
        f.finish(s, &call.recipe, part, parts::out(call, out));
    }
}
