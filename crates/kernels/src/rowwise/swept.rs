//! The gradients of longer rows' elements before a norm, together with those of its weights and biases.
//!
//! Idea: a block has as many warps as a row has packs for, and sweeps over some rows that follow one another, two at a
//! time. A lane has the same columns of all of them: it loads their weights once for two rows, and adds its terms of
//! each column as the tree over rows has them (`waiting.rs`). Rows are reduced as elsewhere, but two share each
//! barrier. The next four are on their way to shared memory meanwhile, to places that each lane reads itself: in
//! registers there is room for two, and rms norm bf16 (32768,4096) left half of its issue slots idle so. Both arrays
//! are read once.
//! Bottleneck: memory, and nearly the instructions.

use super::Rowwise;
use super::columns::{Sums, added};
use super::factor::times;
use super::level::{Level, SumsOf, few};
use super::norm::Kind;
use super::norm_gradient::NormGradients;
use super::number::{MOST, numbers};
use super::op::{Held, RowOp};
use super::read::Lines;
use super::results::Of;
use super::spread::{Place, Spread};
use super::waiting::Waiting;
use super::write::write;
use crate::address::array;
use crate::node::{Node, get, put};
use crate::source::{Bits, Source};
use warpfold_core::{Accumulate, Element, Float};
use warpfold_simt::{ALL, Pack, Shared, Simt};

/// Rows of a block at a time.
pub const STEPS: usize = 2;
/// Warps of a block, at most: a warp has a lane for the node of each, of both rows.
pub const MOST_WARPS: u32 = 32 / STEPS as u32;
/// Words of shared memory for these nodes.
const SLOTS: usize = 32 * 4;

/// Steps whose rows are on their way.
const AHEAD: u32 = 2;
/// Lines of 16 bytes of a thread, of both arrays.
const LINES: u32 = AHEAD * 2 * STEPS as u32;

/// Bytes of shared memory for rows that are on their way, and in which sums of two rows, of four, eight and so on, wait
/// for their neighbours, of `turns` times two rows: `sums` for each of the columns of `threads` threads, which have a
/// pack of elements of `size`.
#[must_use]
pub const fn room_bytes(turns: u64, sums: usize, threads: u32, size: usize) -> u32 {
    let number = if size == 8 { 8 } else { 4 };
    (turns.trailing_zeros() * (sums * (16 / size) * number) as u32 + LINES * 16) * threads
}

/// What two rows were reduced to, from a node of each warp, of which lane `l` has that of row `l % 2`: the first half
/// of the lanes gets the first row's. Each warp has `each` elements of a row of `len`.
#[inline(always)]
fn over_warps<S: Simt, L: Level>(s: &S, level: L, slots: Shared<u32>, node: L::Node, [each, len]: [u32; 2]) -> L::Node {
    let (lane, warps, mut all) = (s.lane(), s.block_dim_x() / 32, level.nothing());
    if s.branch(lane < STEPS as u32) {
        put(s, slots, 32, lane * MOST_WARPS + s.warp(), node);
    }
    s.barrier();
    let own = lane % MOST_WARPS;
    if s.branch(own < warps) {
        all = get(s, slots, 32, lane, all);
    }
    few(s, level, all, warps.next_power_of_two(), own, [each, len])
}

/// Words that all lanes get from those that have row number `row` of two.
#[inline(always)]
fn of_row<S: Simt, N: Node>(s: &S, node: N, row: usize) -> N {
    node.map(
        #[inline(always)]
        |_, word| s.shuffle_idx(ALL, word, row as u32 * MOST_WARPS),
    )
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
    let (lane, per, threads) = (s.lane(), X::Bits::PER, s.block_dim_x());
    let words = room_bytes(call.turns, SUMS, threads, X::Bits::SIZE as usize) / 4;
    let room = s.room_of::<u32>("rows ahead, and sums that wait", words);
    let (staged, shared) = (room.cast::<Pack<u32, 4>>(), room.offset(LINES * 4 * threads));
    let (slots_waiting, column) = ((words - LINES * 4 * threads) / X::Value::WORDS, (s.thread_x() * per) as u64);
    let part = s.block_x() as u64;
    let mut waiting = Waiting { call, shared, slots: slots_waiting, threads, part, column, step: 0 };
    let op = NormGradients::<X, K, SUMS>::new(call);
    let aligned_out = call.aligned_out::<X::Bits>();
    let whole = aligned_out && call.len.is_multiple_of(per as u64);
    let of_warp = [32 * per, call.len as u32];
    let mut row = s.block_x() as u64 * call.turns * STEPS as u64;
    // Where the first of two rows is. The second one's packs are numbered on from the first one's.
    let mut base = call.place::<X::Bits>(row, (s.warp() * 32 * per) as u64, (32 * per) as u64);
    let further = |base: Place, rows: u64| Place {
        input: base.input.wrapping_add(rows.wrapping_mul(call.along as u64)),
        second: base.second.wrapping_add(rows.wrapping_mul(call.second_along as u64)),
        output: base.output + rows * call.len * X::Bits::SIZE as u64,
        ..base
    };
    let places = |base: Place, row: u64| {
        let left = call.rows.saturating_sub(row);
        move |k: u32| {
            let place = further(base, k as u64);
            let place = Place { valid: if (k as u64) < left { base.valid } else { 0 }, ..place };
            if k == 0 { place } else { place.moved::<X::Bits>(32 * per) }
        }
    };
    // Where this thread's line of a row is.
    let at = |step: u32, which: u32, k: u32| ((step % AHEAD * 2 + which) * STEPS as u32 + k) * threads + s.thread_x();
    let ends = [call.at.input.wrapping_add(call.end), call.at.second.wrapping_add(call.second_end)];
    // Begins to copy the rows of a step, if there are any.
    let fill = |base: Place, row: u64, step: u32| {
        let place = places(base, row);
        if s.branch(step < call.turns as u32) {
            let mut which = 0;
            while which < 2 {
                let mut k = 0;
                while k < STEPS as u32 {
                    let place = if which == 0 { place(k) } else { place(k).of_second() };
                    let lines = Lines::of::<X::Bits>(&place, if which == 0 { ends[0] } else { ends[1] });
                    if s.branch(lines.readable > 0) {
                        let own = Spread::<STEPS>::WARP.pack(k, lane).min(lines.readable - 1);
                        s.copy(staged, at(step, which, k), array(lines.first + 16 * own as u64), 0);
                    }
                    k += 1;
                }
                which += 1;
            }
        }
        s.end_copies();
    };
    // The norms of both rows.
    let given = |row: u64| -> [_; STEPS] {
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| op.noted(s, if row + (k as u64) < call.rows { row + k as u64 } else { 0 }),
        )
    };
    let mut step = 0;
    while step < AHEAD {
        let rows = step as u64 * STEPS as u64;
        fill(further(base, rows), row + rows, step);
        step += 1;
    }
    let mut next = given(row);
    while s.again(waiting.step < call.turns as u32) {
        let (place, spread, step) = (places(base, row), Spread::WARP, waiting.step);
        s.copied_but::<{ AHEAD - 1 }>();
        let line = |which, k, _| s.get(staged, at(step, which, k)).0;
        let packs = call.packs::<S, _, NormGradients<X, K, SUMS>, _, true, STEPS>(
            s,
            op.blank(),
            spread,
            [false, true],
            line,
            place,
        );
        let (held, norms): (Held<_, STEPS>, _) = (op.hold(s, &packs), next);
        // Their places are free for the rows after the next.
        let rows = (AHEAD as usize * STEPS) as u64;
        fill(further(base, rows), row + rows, step + AHEAD);
        next = given(row + STEPS as u64);
        let weights = op.norm.factors.weights::<S, X>(s, packs.at(0, lane, per));
        let ready = warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| {
                let at = packs.at(k as u32, lane, per);
                let [x, gradients] = held.kept[k];
                let gradients = times::<X>(numbers::<S, X>(s, gradients), weights);
                NormGradients::<X, K, SUMS>::ready_with(s, x, norms[k], at, gradients)
            },
        );
        let terms: [Sums<X::Value, SUMS>; STEPS] = warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| {
                let mut sums = [[X::Value::NOTHING; MOST]; SUMS];
                if s.branch(packs.valid(k as u32) > 0) {
                    let (gradients, mut i) = (numbers::<S, X>(s, held.kept[k][1]), 0);
                    while i < per as usize {
                        sums[0][i] = gradients[i].mul(ready[k][0][i]);
                        i += 1;
                    }
                    if SUMS == 2 {
                        sums[SUMS - 1] = gradients;
                    }
                }
                sums
            },
        );
        waiting.meet::<S, X, SUMS>(s, added(terms[0], terms[1]));
        base = further(base, STEPS as u64);
        row += STEPS as u64;
        waiting.step += 1;
        let nodes = op.nodes_ready::<S, _, true, STEPS>(s, &packs, ready);
        let slots = if waiting.step & 1 == 0 { slots[0] } else { slots[1] };
        let own = op.of_sums(over_warps(s, SumsOf::<X::Value, SUMS>::NEW, slots, nodes[0], of_warp));
        if s.branch(call.at.output != 0) {
            let results = warpfold_simt::array::from_fn(
                #[inline(always)]
                |k| op.map_ready(s, ready[k], (norms[k].0, of_row(s, own, k))),
            );
            write::<S, Of<NormGradients<X, K, SUMS>>, true, STEPS>(
                s,
                Spread::WARP,
                [aligned_out, whole],
                results,
                place,
            );
        }
    }
}
