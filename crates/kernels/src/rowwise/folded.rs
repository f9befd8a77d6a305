//! The gradients of short rows' elements before a norm, together with those of its weights and biases.
//!
//! Idea: a group of lanes goes through some rows that follow one another, two at a time, writes the gradients of their
//! elements, and has the terms of each column in registers already. These are added as the tree over rows has them;
//! what waits for its neighbour is in shared memory. A group leaves a part of its rows for each column, which `columns`
//! joins. Both arrays are read once. Rows that begin and end with lines of 16 bytes are swept (`sweep.rs`), others read
//! as `short` does. Bottleneck: memory; of others instructions, about 70 for an element of 2 bytes.

use super::columns::{Sums, added};
use super::level::{Level, SumsOf, pick};
use super::norm::{Kind, norm, normalised};
use super::norm_gradient::NormGradients;
use super::number::{MOST, numbers};
use super::op::{Held, RowOp};
use super::read::from_memory;
use super::results::Of;
use super::slots::steps;
use super::spread::{Packs, Place, Spread};
use super::sweep::{STEPS, Sweep, Taken, lines_ahead};
use super::waiting::Waiting;
use super::write::write;
use super::{Rowwise, THREADS, WARPS};
use crate::node::{Node, get, put};
use crate::source::{Bits, Source};
use warpfold_core::rows::Norm;
use warpfold_core::{Accumulate, Element, Float};
use warpfold_simt::{ALL, Shared, Simt};

/// Rows of a group, at most.
const ROWS: usize = 32;
/// Rows of a block, at most: as many of each group of 8 lanes.
const OF_BLOCK: usize = ROWS * THREADS as usize / 8;

/// Rows of a group of so many lanes, at most.
#[must_use]
pub fn rows(lanes: usize) -> usize {
    ROWS.min(OF_BLOCK * lanes / THREADS as usize)
}
/// Steps whose rows are on their way: a multiprocessor has some blocks, whose warps wait for no other.
const AHEAD: u32 = 1;

/// Words of shared memory for the norms of all rows of a block, for rows that are on their way, and in which `sums` of
/// each thread's columns, at most eight, wait for their neighbours. Elements have `size` bytes.
#[must_use]
pub const fn room(sums: usize, size: usize) -> usize {
    let threads = THREADS as usize;
    norms(size) + (lines_ahead(AHEAD) as usize * 4 + 8 * sums * (ROWS / STEPS).ilog2() as usize) * threads
}

/// Words of these for norms.
const fn norms(size: usize) -> usize {
    OF_BLOCK * if size == 8 { 4 } else { 2 }
}

/// The same packs, of which the compiler knows nothing: as numbers, which are computed again each time, they would take
/// twice the registers.
#[inline(always)]
fn again<S: Simt, O: RowOp, P: Fn(u32) -> Place + Copy>(
    s: &S,
    op: &O,
    packs: &Packs<P, STEPS>,
) -> (Packs<P, STEPS>, Held<O, STEPS>) {
    let w = Node::map(
        packs.w,
        #[inline(always)]
        |_, word| s.opaque(word),
    );
    let packs = Packs { w, ..*packs };
    (packs, op.hold(s, &packs))
}

/// What shared memory is for.
const ROOM: &str = "norms, rows ahead, and sums that wait";

/// See the module.
#[inline(always)]
pub fn folded<S, X, K, const SUMS: usize>(s: &S, call: &Rowwise)
where
    S: Simt,
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
    K: Kind<X>,
{
    let room = match (SUMS, X::Bits::SIZE) {
        (1, 8) => s.room::<u32, { room(1, 8) }>(ROOM),
        (1, _) => s.room::<u32, { room(1, 4) }>(ROOM),
        (_, 8) => s.room::<u32, { room(2, 8) }>(ROOM),
        _ => s.room::<u32, { room(2, 4) }>(ROOM),
    };
    let arrays = call.at.input | call.at.second | call.at.output | call.along as u64 | call.second_along as u64;
    if s.branch((arrays | (call.len * X::Bits::SIZE as u64)) & 15 == 0) {
        return lined::<S, X, K, SUMS>(s, call, room);
    }
    let shared = room.cast();
    let op = NormGradients::<X, K, SUMS>::new(call);
    let (spread, lane, per) = (Spread::<STEPS>::new(call.lanes, 0), s.lane(), X::Bits::PER);
    let groups = WARPS << (5 - call.lanes);
    let group = (s.warp() << (5 - call.lanes)) + (lane >> call.lanes);
    let part = s.block_x() as u64 * groups as u64 + group as u64;
    let aligned_out = call.aligned_out::<X::Bits>();
    let column = (spread.own(lane) * per) as u64;
    let mut waiting = Waiting { call, shared, threads: THREADS, part, step: 0 };
    // The first row of a step, and where it is.
    let mut row = part * call.turns * STEPS as u64;
    let mut base = call.place::<X::Bits>(row, 0, u32::MAX as u64);
    while s.again(waiting.step < call.turns as u32) {
        let left = call.rows.saturating_sub(row);
        let place = |k: u32| {
            let k = k as u64;
            Place {
                input: base.input.wrapping_add(k.wrapping_mul(call.along as u64)),
                second: base.second.wrapping_add(k.wrapping_mul(call.second_along as u64)),
                output: base.output + k * call.len * X::Bits::SIZE as u64,
                valid: if k < left { call.len as u32 } else { 0 },
                ..base
            }
        };
        let packs = call.packs::<S, _, NormGradients<X, K, SUMS>, _, false, STEPS>(
            s,
            op.blank(),
            spread,
            [false; 2],
            from_memory(s),
            place,
        );
        let held = op.hold(s, &packs);
        // A lane finds what follows from one row, and all lanes of its group get it.
        let step = lane % STEPS as u32;
        let known = if (step as u64) < left { row + step as u64 } else { 0 };
        let shuffled = |word: u32, k: u32| s.shuffle_idx(ALL, word, spread.lane(lane, k));
        let given = op.noted(s, known);
        let stats = warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| given.map(|_, word| shuffled(word, k as u32)),
        );
        let nodes = op.nodes::<S, _, false, STEPS>(s, &packs, &held, stats);
        let own = (given.0, op.of_sums(pick(nodes, step)));
        let (packs, held) = again(s, &op, &packs);
        if s.branch(call.at.output != 0) {
            let results = warpfold_simt::array::from_fn(
                #[inline(always)]
                |k| op.map(s, held.kept[k], own.map(|_, word| shuffled(word, k as u32)), packs.at(k as u32, lane, per)),
            );
            let whole = aligned_out && call.len.is_multiple_of(per as u64);
            write::<S, Of<NormGradients<X, K, SUMS>>, false, STEPS>(s, spread, [aligned_out, whole], results, place);
        }
        let (packs, _) = again(s, &op, &packs);
        let norm_of = |k: u32| norm(own.0.map(|_, word| shuffled(word, k)));
        waiting.meet::<S, X, SUMS>(s, terms::<S, X, K, _, SUMS>(s, &packs, norm_of), [0, 1], column);
        waiting.step += 1;
        row += STEPS as u64;
        base = place(STEPS as u32);
    }
}

/// The same of rows that begin and end with lines of 16 bytes in all arrays.
#[inline(always)]
fn lined<S, X, K, const SUMS: usize>(s: &S, call: &Rowwise, room: Shared<u32>)
where
    S: Simt,
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
    K: Kind<X>,
{
    let (spread, lane, per, zero) = (Spread::<STEPS>::new(call.lanes, 0), s.lane(), X::Bits::PER, X::Value::ZERO);
    let (groups, own) = (WARPS << (5 - call.lanes), spread.own(lane));
    let group = (s.warp() << (5 - call.lanes)) + (lane >> call.lanes);
    let part = s.block_x() as u64 * groups as u64 + group as u64;
    let staged = room.offset(const { norms(X::Bits::SIZE as usize) as u32 }).cast();
    let sweep = Sweep::<{ AHEAD - 1 }>::new::<S, X::Bits>(s, call, (part, own), false, staged);
    let shared = staged.offset(lines_ahead(AHEAD) * THREADS);
    let mut waiting = Waiting { call, shared, threads: THREADS, part, step: 0 };
    let (op, level) = (NormGradients::<X, K, SUMS>::new(call), SumsOf::<X::Value, SUMS>::NEW);
    let weights = sweep.weights::<S, X>(s, &op.norm.factors);
    let (arrays, output) = sweep.arrays::<X::Bits>(call);
    sweep.begin(s, arrays);
    // A group's lanes find the norms of its rows.
    let (rows, mut row) = (sweep.turns * STEPS as u32, own);
    while s.again(row < rows) {
        let noted = op.noted(s, (sweep.first + row as u64).min(call.rows - 1)).0;
        put(s, room, groups * rows, row * groups + group, noted);
        row += spread.lanes();
    }
    s.barrier();
    while s.again(waiting.step < sweep.turns) {
        let norm = |row| get(s, room, groups * rows, row * groups + group, (zero, zero));
        let taken = sweep.take::<S, X, K, SUMS>(s, &mut waiting, arrays, norm, weights);
        let Taken { step, norms, ready, nodes } = taken;
        let nodes = steps::<S, _, false, STEPS>(s, level, spread, nodes, per, |_| 0);
        // A lane finds what follows from one row, and all lanes of its group get it.
        let (mean, slope) = op.of_sums(pick(nodes, lane % STEPS as u32));
        if s.branch(call.at.output != 0) {
            let results = warpfold_simt::array::from_fn(
                #[inline(always)]
                |k| {
                    let of = |number: X::Value| {
                        number.map(
                            #[inline(always)]
                            |_, word| s.shuffle_idx(ALL, word, spread.lane(lane, k as u32)),
                        )
                    };
                    let mean = if K::CENTRED { of(mean) } else { mean };
                    op.map_ready(s, ready[k], (norms[k], (mean, of(slope))))
                },
            );
            sweep.write(s, output, step, results);
        }
    }
}

/// The terms of two rows, added.
#[inline(always)]
fn terms<S, X, K, P, const SUMS: usize>(
    s: &S,
    packs: &Packs<P, STEPS>,
    norm_of: impl Fn(u32) -> Norm<X::Value>,
) -> Sums<X::Value, SUMS>
where
    S: Simt,
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
    K: Kind<X>,
    P: Fn(u32) -> Place,
{
    let terms: [Sums<X::Value, SUMS>; STEPS] = warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| {
            let (row, mut sums) = (norm_of(k as u32), [[X::Value::NOTHING; MOST]; SUMS]);
            if s.branch(packs.valid(k as u32) > 0) {
                let [x, gradients] = [0, 1].map(
                    #[inline(always)]
                    |array| numbers::<S, X>(s, packs.w[array][k]),
                );
                let mut i = 0;
                while i < X::Bits::PER as usize {
                    sums[0][i] = gradients[i].mul(normalised::<X, K>(row, x[i]));
                    i += 1;
                }
                if SUMS == 2 {
                    sums[SUMS - 1] = gradients;
                }
            }
            sums
        },
    );
    added(terms[0], terms[1])
}
