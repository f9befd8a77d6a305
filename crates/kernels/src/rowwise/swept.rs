//! The gradients of longer rows' elements before a norm, together with those of its weights and biases.
//!
//! Idea: a block sweeps over some rows, two at a time (`sweep.rs`). A lane keeps the weights of its columns, and adds
//! its terms of each column as the tree over rows has them (`waiting.rs`). Two rows share each barrier. Both arrays are
//! read once.
//! Bottleneck: memory, and nearly the instructions.

use super::Rowwise;
use super::level::{Level, SumsOf};
use super::norm::Kind;
use super::norm_gradient::NormGradients;
use super::op::RowOp;
use super::slots::steps;
use super::spread::Spread;
use super::sweep::{SLOTS, STEPS, Sweep, Taken, lines_ahead, of_row, over_warps};
use super::waiting::Waiting;
use crate::node::{Node, get, put};
use crate::source::{Bits, Source};
use warpfold_core::{Accumulate, Element, Float};
use warpfold_simt::Simt;

/// Steps whose rows are on their way: one block has all shared memory.
const AHEAD: u32 = 2;

/// Rows of a block of so many turns; as if each had two, if it has halves of one.
const fn rows_of(turns: u64) -> u32 {
    turns as u32 * STEPS as u32
}

/// Bytes of shared memory for the norms of rows, for rows that are on their way, and in which sums of a step, of two,
/// four and so on, of `turns` steps wait for their neighbours: `sums` for each of the columns of `threads` threads,
/// which have a pack of elements of `size`, or two, if steps have `halves` of a row.
#[must_use]
pub const fn room_bytes(turns: u64, sums: usize, threads: u32, size: usize, halves: bool) -> u32 {
    let number = if size == 8 { 8 } else { 4 };
    let waiting = turns.trailing_zeros() * (sums * (16 / size) * number) as u32 * if halves { 2 } else { 1 };
    rows_of(turns) * 2 * number as u32 + (waiting + lines_ahead(AHEAD) * 16) * threads
}

/// See the module.
#[inline(always)]
pub fn swept<S, X, K, const SUMS: usize>(s: &S, call: &Rowwise)
where
    S: Simt,
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
    K: Kind<X>,
{
    // Two rooms that take turns, so that one barrier is enough.
    let slots = [s.shared::<u32, SLOTS, 0>("sums"), s.shared::<u32, SLOTS, 1>("next sums")];
    let (per, threads, zero) = (X::Bits::PER, s.block_dim_x(), X::Value::ZERO);
    let halves = SUMS == 1 && call.deep != 0;
    let (bytes, rows) = (room_bytes(call.turns, SUMS, threads, X::Bits::SIZE as usize, halves), rows_of(call.turns));
    let norms = s.room_of::<u32>("norms, rows ahead, and sums that wait", bytes / 4);
    let room = norms.offset(rows * 2 * X::Value::WORDS).cast();
    let part = s.block_x() as u64;
    let sweep = Sweep::<{ AHEAD - 1 }>::new::<S, X::Bits>(s, call, (part, s.thread_x()), halves, room);
    let mut waiting = Waiting { call, shared: room.offset(lines_ahead(AHEAD) * threads), threads, part, step: 0 };
    let (op, level) = (NormGradients::<X, K, SUMS>::new(call), SumsOf::<X::Value, SUMS>::NEW);
    let weights = sweep.weights::<S, X>(s, &op.norm.factors);
    let (arrays, output) = sweep.arrays::<X::Bits>(call);
    sweep.begin(s, arrays);
    // Where norms come from memory in each step, the block waits for them.
    let mut row = s.thread_x();
    while s.again(row < rows) {
        put(s, norms, rows, row, op.noted(s, (sweep.first + row as u64).min(call.rows - 1)).0);
        row += threads;
    }
    s.barrier();
    while s.again(waiting.step < sweep.turns) {
        let norm = |row| get(s, norms, rows, row, (zero, zero));
        let taken = sweep.take::<S, X, K, SUMS>(s, &mut waiting, arrays, norm, weights);
        let Taken { step, norms, ready, nodes } = taken;
        let nodes = steps::<S, _, true, STEPS>(s, level, Spread::WARP, nodes, per, |_| 0);
        let slots = if waiting.step & 1 == 0 { slots[0] } else { slots[1] };
        let node = over_warps::<S, X::Bits, _>(s, level, slots, nodes[0], [32 * per, call.len as u32], halves);
        let (mean, slope) = op.of_sums(node);
        if s.branch(call.at.output != 0) {
            let results = warpfold_simt::array::from_fn(
                #[inline(always)]
                |k| {
                    let mean = if K::CENTRED { of_row(s, mean, k) } else { mean };
                    op.map_ready(s, ready[k], (norms[k], (mean, of_row(s, slope, k))))
                },
            );
            sweep.write(s, output, step, results);
        }
    }
}
