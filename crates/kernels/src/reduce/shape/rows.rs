//! Rows: each output's elements lie side by side.
//!
//! Idea: a warp reduces tiles of 8 steps x 32 lanes x 16 bytes, warps meet in shared memory, blocks leave parts in the
//! workspace, and the last block of a row to finish reduces these in the same launch. The planner chooses how many
//! warps, or blocks, share a row. Bottleneck: memory.

use crate::address::array;
use crate::node::{Node, get, publish, put};
use crate::params::params;
use crate::reduce::call::Call;
use crate::reduce::fold::Parts;
use crate::reduce::shape::parts::{self, Left, SLOTS, Turn, group};
use crate::reduce::shape::piece::{Outputs, Piece, Row, divide, share};
use crate::reduce::shape::warp::meet_lanes;
use warpfold_simt::Simt;

params! {
    /// Outputs, and how the work on each is shared out.
    pub struct Rows[R; const K] {
        /// The kept axes.
        pub outputs: Outputs<K>,
        /// Elements of a row in this launch.
        pub len: u64,
        /// Tiles that a warp takes; none, if an earlier launch left all parts.
        pub tiles: u32,
        /// Warps of a block to a row, a power of two: all, if several blocks share a row.
        pub warps: u32,
        /// Blocks to a row in this launch; groups of parts, if all are there.
        pub blocks: u32,
        /// The number of the first of them, if earlier launches did some.
        pub first: u32,
        /// Blocks to a row in all launches, each of which leaves a part.
        pub all: u32,
        /// Whether neighbouring blocks take different rows, not stretches of one, where blocks share rows: rows whose
        /// runs lie among one another's then find them in the cache. If an earlier launch left all parts, and so few
        /// that warps have several rows: lanes of one.
        pub abreast: u32,
        /// How elements go on in a row.
        pub reduced: R,
    }
}

/// See the module.
#[inline(always)]
pub fn kernel<S: Simt, P: Piece, const K: usize>(s: &S, call: &Call<Rows<K, P::Reduced>>) {
    let slots = s.shared::<u32, SLOTS, 0>("slots");
    let last = s.shared::<u32, 1, 1>("last");
    let piece = P::new(&call.recipe);
    let (f, shape) = (piece.fold(), &call.shape);
    let alone = shape.all == 1;
    // An earlier launch left few parts of each row: then warps have several rows.
    let few = const { parts::abreast(<P::Fold as Parts>::Part::WORDS) > 1 } && shape.tiles == 0 && shape.abreast != 0;
    let Place { number, block, mine } = Place::new(s, shape, s.thread_x());
    let live = number < shape.outputs.total;
    let at = shape.outputs.at(if live { number } else { 0 });
    let row = Row::new(call, at, shape.len, shape.reduced);
    let mut part = f.nothing();
    if s.branch(live) {
        part = piece.run(s, &row, (block as u32 * shape.warps + mine) * shape.tiles, shape.tiles);
    }
    // Found again: nothing of it is kept while elements pass.
    let thread = s.opaque(s.thread_x());
    let (warp, mut lane) = (thread / 32, thread & 31);
    let Place { mut number, block, mut mine } = Place::new(s, shape, thread);
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
            part = meet_lanes(s, f, part, shape.warps);
        }
    }

    if s.branch(few) {
        let (own, each) = (s.block_x() as u64 * (s.block_dim_x() / 32) as u64 + warp as u64, share(32, shape.abreast));
        (number, mine) = (own * each as u64 + share(lane, shape.abreast) as u64, 0);
        let first = Turn::first(number, 0, shape.all as u64, 1).own() as usize;
        let count = if number < shape.outputs.total { shape.all as u64 } else { 0 };
        let left = Left { parts: call.partials(), first, count, there: true };
        part = parts::beside(s, f, left, shape.abreast);
        lane &= shape.abreast - 1;
    } else if s.branch(!alone) {
        // A place is looked up while its chunk is there, and counted from the row's start.
        let settles = s.thread_x() < if P::TOGETHER { 32 } else { 1 };
        if s.branch(in_chunks(shape) && shape.tiles > 0 && settles) {
            let row = Row::new(call, shape.outputs.at(number), shape.len, shape.reduced);
            let before = shape.first as u64 * (shape.warps * shape.tiles) as u64 * (256 * P::PER) as u64;
            part = f.moved(piece.settle(s, &row, part), before);
        }
        let (workspace, counters) = (call.partials(), array::<u32>(call.at.workspace));
        let (size, mut there) = (group::<<P::Fold as Parts>::Part>(), shape.tiles == 0);
        let index = if there { block * size } else { shape.first as u64 + block };
        let mut turn = Turn::first(number, index, shape.all as u64, size);
        while s.again(true) {
            if s.branch(s.thread_x() == 0 && !there) {
                publish(s, workspace, turn.own() as usize, part);
                s.put(last, 0, turn.arrive(s, counters) as u32);
            }
            s.barrier();
            if s.branch(!there && s.get(last, 0) == 0) {
                return;
            }
            let left = Left { parts: workspace, first: turn.from() as usize, count: turn.count(), there };
            part = parts::reduce(s, f, slots, left);
            if s.branch(s.thread_x() == 0 && !there) {
                turn.reset(s, counters);
            }
            there = false;
            let Some(next) = turn.next() else { break };
            turn = next;
        }
    }
    if s.branch(number < shape.outputs.total && mine == 0 && (P::TOGETHER || lane == 0)) {
        let at = shape.outputs.at(number);
        let row = Row::new(call, at, shape.len, shape.reduced);
        if s.branch(!in_chunks(shape)) {
            part = piece.settle(s, &row, part);
        }
        if s.branch(lane == 0) {
            piece.finish(s, &call.recipe, &row, part, call.out(at.out));
        }
    }
}

/// Whether this launch has only some of a row's blocks, or only parts that know their places.
#[inline(always)]
fn in_chunks<const K: usize, R>(shape: &Rows<K, R>) -> bool {
    shape.blocks < shape.all
}

/// Where a warp works: several rows share a block, or several blocks a row.
struct Place {
    /// The row.
    number: u64,
    /// The block's number among the row's.
    block: u64,
    /// The warp's number among the row's in this block.
    mine: u32,
}

impl Place {
    #[inline(always)]
    fn new<S: Simt, const K: usize, R>(s: &S, shape: &Rows<K, R>, thread: u32) -> Self {
        let (warp, block) = (thread / 32, s.block_x() as u64);
        let mine = warp & (shape.warps - 1);
        if s.branch(shape.all == 1) {
            let rows = share(s.block_dim_x() / 32, shape.warps) as u64;
            return Self { number: block * rows + share(warp, shape.warps) as u64, block: 0, mine };
        }
        let (number, block) = if s.branch(shape.abreast != 0) {
            let (block, number) = divide(block, shape.outputs.total);
            (number, block)
        } else {
            divide(block, shape.blocks as u64)
        };
        Self { number, block, mine }
    }
}
