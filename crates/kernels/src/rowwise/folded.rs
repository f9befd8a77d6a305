//! The gradients of a norm's elements together with those of its weights and biases.
//!
//! Idea: a team of lanes, or of warps, goes through some rows that follow one another, a few at a time: it reduces them
//! as `short` does, writes the gradients of their elements, and has the terms of each column in registers already.
//! These are added as the tree over rows has them: those of the rows at hand first, then those of neighbouring steps;
//! what waits for its neighbour is in shared memory. A team leaves a part of its rows for each column, which `columns`
//! joins. Both arrays are read once. Bottleneck: memory.

use super::columns::{Sums, added};
use super::kernel::Of;
use super::level::{Level, lanes, pick};
use super::norm::{Kind, norm, normalised};
use super::norm_gradient::NormGradients;
use super::number::{MOST, numbers};
use super::op::{Held, RowOp};
use super::spread::{Packs, Place, Spread};
use super::write::write;
use super::{Rowwise, THREADS, WARPS};
use crate::address::array;
use crate::node::{Node, get, publish, put};
use crate::reduce::shape::piece::share;
use crate::source::{Bits, Source};
use warpfold_core::rows::Norm;
use warpfold_core::{Accumulate, Element, Float};
use warpfold_simt::{ALL, Shared, Simt};

/// Steps of a lane: packs of one row, or of two rows.
pub const STEPS: usize = 2;

/// Words of a thread in shared memory, for `sums` sums of each column that wait for their neighbours: three blocks have
/// room for one sum, and two for two.
pub const fn waiting(sums: usize) -> usize {
    if sums == 1 { 72 } else { 96 }
}

/// Words of shared memory for the nodes of each warp's rows.
const SLOTS: usize = STEPS * WARPS as usize * 4;

/// What a thread needs to add up its columns.
struct Waiting<'a> {
    call: &'a Rowwise,
    shared: Shared<u32>,
    /// Steps that were taken.
    step: u32,
    /// The number of the team's part, and whether there is one.
    part: u64,
    is_part: bool,
}

/// For each step the node of all of its row, from those of the row's chunks, which warps side by side have.
#[inline(always)]
fn whole<S: Simt, L: Level>(
    s: &S,
    call: &Rowwise,
    level: L,
    slots: Shared<u32>,
    nodes: [L::Node; STEPS],
    chunk: u64,
) -> L::Node {
    let lane = s.lane();
    if s.branch(call.warps == 1) {
        return pick(nodes, lane % STEPS as u32);
    }
    // A lane has a row and a warp of it.
    let slot = |step: u32, warp: u32| step * WARPS + warp;
    if s.branch(lane < STEPS as u32) {
        put(s, slots, STEPS as u32 * WARPS, slot(lane, s.warp()), pick(nodes, lane));
    }
    s.barrier();
    let own = lane & (call.warps - 1);
    let step = share(lane, call.warps) << call.deep & (STEPS as u32 - 1);
    let node = get(s, slots, STEPS as u32 * WARPS, slot(step, (s.warp() & !(call.warps - 1)) + own), level.nothing());
    lanes(s, level, node, call.warps, own as u64, chunk, call.len)
}

/// The same packs, of which the compiler knows nothing.
#[inline(always)]
fn again<S: Simt, O: RowOp, P: Fn(u32) -> Place + Copy>(
    s: &S,
    op: &O,
    packs: &Packs<P, STEPS>,
    place: P,
) -> (Packs<P, STEPS>, Held<O, STEPS>) {
    let w = Node::map(
        packs.w,
        #[inline(always)]
        |_, word| s.opaque(word),
    );
    let packs = Packs { w, place, spread: packs.spread };
    (packs, op.hold(s, &packs))
}

/// See the module.
#[inline(always)]
pub fn folded<S, X, K, const SUMS: usize>(s: &S, call: &Rowwise)
where
    S: Simt,
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
    K: Kind<X>,
{
    let slots = [s.shared::<u32, SLOTS, 0>("slots"), s.shared::<u32, SLOTS, 1>("again")];
    let shared = if SUMS == 1 {
        s.room::<u32, { waiting(1) * THREADS as usize }>("sums that wait")
    } else {
        s.room::<u32, { waiting(2) * THREADS as usize }>("sums that wait")
    };
    let op = NormGradients::<X, K, SUMS>::new(call);
    let (spread, lane, per) = (Spread::<STEPS>::new(call.lanes, call.deep), s.lane(), X::Bits::PER);
    let teams = share(WARPS, call.warps) << (5 - call.lanes);
    let team = (share(s.warp(), call.warps) << (5 - call.lanes)) + (lane >> call.lanes);
    let part = s.block_x() as u64 * teams as u64 + team as u64;
    let at_once = STEPS as u32 >> call.deep;
    let chunk = (spread.packs() * per) as u64;
    let from = (s.warp() & (call.warps - 1)) as u64 * chunk;
    let valid = call.len.saturating_sub(from).min(chunk) as u32;
    let aligned_out = call.aligned_out::<X::Bits>();
    let mut waiting = Waiting { call, shared, step: 0, part, is_part: part < call.parts };
    // The first row of a step, and how many there are from it on.
    let mut row = part * call.turns * at_once as u64;
    let mut base = call.place::<X::Bits>(row, from, chunk);
    while s.again(waiting.step < call.turns as u32) {
        let places = |row: u64| {
            let (base, left) = (base, call.rows.saturating_sub(row));
            move |k: u32| {
                let i = (k >> call.deep) as u64;
                Place {
                    input: base.input.wrapping_add(i.wrapping_mul(call.along as u64)),
                    second: base.second.wrapping_add(i.wrapping_mul(call.second_along as u64)),
                    output: base.output + i * call.len * X::Bits::SIZE as u64,
                    valid: if i < left { valid } else { 0 },
                    ..base
                }
            }
        };
        let packs = call.packs::<S, _, NormGradients<X, K, SUMS>, _, STEPS>(s, op.blank(), spread, places(row));
        let held = op.hold(s, &packs);
        // A lane finds what follows from one row, and all lanes of its team get it.
        let alone = call.warps == 1;
        let known = if alone { lane % STEPS as u32 >> call.deep } else { share(lane, call.warps) & (at_once - 1) };
        let source = |k: u32| if alone { spread.lane(lane, k) } else { (k >> call.deep) * call.warps };
        let known = row + known as u64;
        let known = if known < call.rows { known } else { 0 };
        let shuffled = |word: u32, k: u32| s.shuffle_idx(ALL, word, source(k));
        let all = |own: <NormGradients<X, K, SUMS> as RowOp>::Stat| {
            warpfold_simt::array::from_fn(
                #[inline(always)]
                |k| own.map(|_, word| shuffled(word, k as u32)),
            )
        };
        let nodes = op.nodes::<S, _, false, STEPS>(s, &packs, &held);
        let own = op.stat(s, whole(s, call, K::Level::NEW, slots[0], nodes, chunk), known);
        // Elements are converted again each time, and looked for: as numbers they would take twice the registers.
        let (packs, held) = again(s, &op, &packs, places(row));
        let nodes = op.nodes_then::<S, _, false, STEPS>(s, &packs, &held, all(own));
        let (packs, held) = again(s, &op, &packs, places(row));
        let then = <NormGradients<X, K, SUMS> as RowOp>::Then::NEW;
        let own = op.stat_then(own, whole(s, call, then, slots[1], nodes, chunk));
        if s.branch(call.at.output != 0) {
            let results = warpfold_simt::array::from_fn(
                #[inline(always)]
                |k| op.map(s, held.kept[k], own.map(|_, word| shuffled(word, k as u32)), packs.at(k as u32, lane, per)),
            );
            let whole = aligned_out && call.len.is_multiple_of(per as u64);
            write::<S, Of<NormGradients<X, K, SUMS>>, STEPS>(s, spread, [aligned_out, whole], results, packs.place);
        }
        let (packs, _) = again(s, &op, &packs, places(row));
        let norm_of = |k: u32| norm(own.0.map(|_, word| shuffled(word, k)));
        waiting.add::<S, X, K, _, SUMS>(s, &packs, norm_of, from);
        waiting.step += 1;
        row += at_once as u64;
        base.input = base.input.wrapping_add((call.along as u64).wrapping_mul(at_once as u64));
        base.second = base.second.wrapping_add((call.second_along as u64).wrapping_mul(at_once as u64));
        base.output += at_once as u64 * call.len * X::Bits::SIZE as u64;
    }
}

impl Waiting<'_> {
    /// Adds the terms of a step's rows to those of earlier ones, or keeps them until those of their neighbours are there.
    #[inline(always)]
    fn add<S, X, K, P, const SUMS: usize>(
        &self,
        s: &S,
        packs: &Packs<P, STEPS>,
        norm_of: impl Fn(u32) -> Norm<X::Value>,
        from: u64,
    ) where
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
        if s.branch(self.call.deep == 0) {
            self.meet::<S, X, SUMS>(s, 0, added(terms[0], terms[1]), from);
        } else {
            self.meet::<S, X, SUMS>(s, 0, terms[0], from);
            self.meet::<S, X, SUMS>(s, 1, terms[1], from);
        }
    }

    /// The sums of a step, of pack `pack`: joined with what waits for them, and kept, or left as a part.
    #[inline(always)]
    fn meet<S, X, const SUMS: usize>(&self, s: &S, pack: u32, mut sums: Sums<X::Value, SUMS>, from: u64)
    where
        S: Simt,
        X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
    {
        let (per, width, thread) = (X::Bits::PER, SUMS as u32 * X::Bits::PER, s.thread_x());
        let slots = waiting(SUMS) as u32 / X::Value::WORDS * THREADS;
        let slot = |level: u32, j: u32| (((level << self.call.deep) + pack) * width + j) * THREADS + thread;
        let (mut level, mut rest) = (0, self.step);
        while s.again(rest & 1 != 0) {
            let mut j = 0;
            while j < width {
                let place = &mut sums[(j / per) as usize][(j % per) as usize];
                *place = get(s, self.shared, slots, slot(level, j), *place).add(*place);
                j += 1;
            }
            (level, rest) = (level + 1, rest >> 1);
        }
        if s.branch(self.step as u64 + 1 < self.call.turns) {
            let mut j = 0;
            while j < width {
                put(s, self.shared, slots, slot(level, j), sums[(j / per) as usize][(j % per) as usize]);
                j += 1;
            }
            return;
        }
        let own = s.lane() & ((1 << self.call.lanes) - 1);
        let first = from + (((pack << self.call.lanes) + own) * per) as u64;
        let mut j = 0;
        while j < width {
            let column = first + (j % per) as u64;
            if s.branch(self.is_part && column < self.call.len) {
                let at = (self.part * SUMS as u64 + (j / per) as u64) * self.call.len + column;
                // NaN is the canonical one.
                let sum = X::Value::from_float(sums[(j / per) as usize][(j % per) as usize]);
                publish(s, array(self.call.at.parts), (self.call.to + at) as usize, sum);
            }
            j += 1;
        }
    }
}
