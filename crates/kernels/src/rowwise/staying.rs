//! Rows in turns, of which what was computed stays.
//!
//! Idea: exponentials take more time than memory, so a block computes each once. What is kept of a row's last turn, as
//! numbers that its results follow from, stays in registers, that of up to three before in shared memory, where each
//! thread reads what it wrote. Results are written backwards, from what stays. Of rows of more turns the first ones are
//! read and computed again, or all, by lines, if they begin elsewhere. The next turn is read while one is computed.
//! Bottleneck: instructions, of softmax about 31 for an element that stays, nearly half of them its exponential.

use super::found::{Here, found};
use super::level::{Level, of_chunk};
use super::op::{Held, RowOp};
use super::read::from_memory;
use super::results::{Of, Way, mapped};
use super::spread::{Packs, Place, Spread};
use super::{REDUCE, Rowwise, TURNS, chunk};
use crate::node::Node;
use crate::source::{Bits, Source};
use core::marker::PhantomData;
use warpfold_simt::{Pack, Shared, Simt};

/// What was kept of a row's turns before the last, in shared memory.
#[derive(Clone, Copy)]
pub struct Stays<O, const N: usize> {
    slots: Shared<Pack<u32, 4>>,
    /// The first turn of which this is kept, and how many.
    first: u32,
    places: u32,
    of: PhantomData<O>,
}

/// Lines of 16 bytes of what a block keeps of a turn, by its threads and the steps of a warp.
pub const fn stay_lines(threads: u32, steps: u32) -> u32 {
    threads * steps * NUMBERS
}

/// Lines of 16 bytes of the numbers of a pack of 16-bit elements.
const NUMBERS: u32 = 2;

impl<O: RowOp, const N: usize> Stays<O, N> {
    /// Whether anything may be kept.
    pub const THERE: bool = O::KEEPS && <<O::Source as Source>::Bits as Bits>::SIZE == 2;

    /// That of a row of so many turns, or of one of which nothing is kept: zero.
    #[inline(always)]
    pub fn new<S: Simt>(s: &S, call: &Rowwise, turns: u32) -> Self {
        let most = call.kept as u32;
        let slots = match Self::THERE {
            true => s.room_of("what stays", most * stay_lines(s.block_dim_x(), N as u32)),
            false => Shared::from_address(0),
        };
        let places = most.min(turns.saturating_sub(1));
        Self { slots, first: turns.wrapping_sub(places + 1), places, of: PhantomData }
    }

    /// Whether what is kept of a turn stays here.
    #[inline(always)]
    pub fn has(&self, turn: u32) -> bool {
        Self::THERE && turn.wrapping_sub(self.first) < self.places
    }

    /// Where a thread's numbers `half` of a turn's step `k` are.
    #[inline(always)]
    fn at<S: Simt>(&self, s: &S, turn: u32, k: usize, half: usize) -> u32 {
        let line = (turn - self.first) * N as u32 * NUMBERS + k as u32 * NUMBERS + half as u32;
        line * s.block_dim_x() + s.thread_x()
    }

    /// Where a turn's marks are among those of all: a bit for each step that is clean, and whether it is wild.
    #[inline(always)]
    fn mark(&self, turn: u32) -> u32 {
        (turn - self.first) * (N as u32 + 1)
    }

    /// Writes what is kept of a turn, and gets its marks.
    #[inline(always)]
    pub fn put<S: Simt>(&self, s: &S, turn: u32, held: &Held<O, N>) -> u32 {
        let mut k = 0;
        while k < N {
            let mut words = [[0; 4]; NUMBERS as usize];
            let _ = held.kept[k].map(
                #[inline(always)]
                |i, word| {
                    words[i as usize / 4][i as usize % 4] = word;
                    word
                },
            );
            let mut half = 0;
            while half < NUMBERS as usize {
                s.put(self.slots, self.at(s, turn, k, half), Pack(words[half]));
                half += 1;
            }
            k += 1;
        }
        (held.clean | (held.wild as u32) << N) << self.mark(turn)
    }

    /// What was kept of a turn.
    #[inline(always)]
    pub fn get<S: Simt>(&self, s: &S, turn: u32, marks: u32) -> Held<O, N> {
        let kept = warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| {
                let lines = [0, 1].map(
                    #[inline(always)]
                    |half| s.get(self.slots, self.at(s, turn, k, half)).0,
                );
                O::Kept::zero().map(
                    #[inline(always)]
                    |i, _| lines[i as usize / 4][i as usize % 4],
                )
            },
        );
        let marks = marks >> self.mark(turn);
        Held { kept, clean: marks & ((1 << N) - 1), wild: marks >> N & 1 != 0 }
    }
}

/// The elements of a block: of a row that it reads in turns, or of its part of a row, which is one turn. What is known
/// of the row, if it is.
#[inline(always)]
pub(super) fn staying<S: Simt, O: RowOp, const N: usize>(
    s: &S,
    call: &Rowwise,
    op: &O,
    slots: [Shared<u32>; 2],
    mut here: Here,
    (mut stat, mut is_found): (O::Stat, bool),
) {
    let chunk = const { chunk(size_of::<Of<O>>()) };
    let (under, turns) = (s.block_dim_x() / 32 * chunk as u32, call.turns as u32);
    let is_mapped = call.at.output != 0 && call.phase != REDUCE;
    // Turns that are reduced, and turns of results: where not all turns stay these go by lines, of which a row may have
    // one turn more.
    let (reads, mut maps, mut by_lines) = (if is_found { 0 } else { turns }, if is_mapped { turns } else { 0 }, None);
    if is_mapped && call.phase == TURNS && (is_found || turns > call.kept as u32 + 1) {
        by_lines = call.lined::<Of<O>>(call.place::<Of<O>>(here.number, 0, 1), false);
        maps += (call.len + by_lines.unwrap_or(0) as u64 > turns as u64 * under as u64) as u32;
    }
    // What this warp has of the row: as the tree has it, and as lines have it.
    let (row, own) = (call.row::<Of<O>>(here.number), here.first + s.warp() as u64 * chunk);
    let [by_tree, by_line] = [0, by_lines.unwrap_or(0)].map(
        #[inline(always)]
        |shift| call.shifted::<Of<O>>(row, own, shift),
    );
    let at_turn = |place: Place, turn: u32| place.onward::<Of<O>>(turn * under, chunk as u32);
    let read = |place: Place, lined: bool| {
        call.packs::<S, _, O, _, true, N>(s, op.blank(), Spread::WARP, [lined, false], from_memory(s), |_| place).w
    };
    let stays = Stays::<O, N>::new(s, call, if by_lines.is_none() { reads } else { 0 });
    let (mut held, mut marks) = (Held::new([O::Kept::zero(); N]), 0);
    // A loop reads a turn, and computes the one that it read before.
    let (mut ahead, mut step) = ([[[0; 4]; N]; 2], 0);
    while s.again(step <= reads && reads > 0) {
        let w = ahead;
        if s.branch(step < reads) {
            ahead = read(at_turn(by_tree, step), false);
        }
        step += 1;
        if s.branch(step == 1) {
            continue;
        }
        here.turn = step - 2;
        let place = at_turn(by_tree, here.turn);
        let packs = Packs { spread: Spread::WARP, w, place: |_| place, whole: call.whole(false) };
        held = op.hold(s, &packs);
        let node = op.nodes::<S, _, true, N>(s, &packs, &held, [O::Stat::zero(); N])[0];
        let node = of_chunk(s, O::Level::NEW, node, N as u32, [chunk as u32 / N as u32, place.valid]);
        let valid = (call.len - here.first).min(under as u64);
        if let Some(node) = found(s, call, O::Level::NEW, slots, &here, node, [chunk, valid]) {
            (stat, is_found) = (op.stat(s, node, here.row), true);
            if s.branch(s.thread_x() == 0) {
                op.note(s, stat, here.number);
            }
        }
        if s.branch(stays.has(here.turn)) {
            marks |= stays.put(s, here.turn, &held);
        }
    }
    let is_kept = reads > 0 && by_lines.is_none();
    let plain = op.is_plain(stat);
    step = 0;
    while s.again(step <= maps && maps > 0 && is_found) {
        let next = maps.wrapping_sub(step + 1);
        let w = ahead;
        if s.branch(step < maps && !(is_kept && step == 0) && !stays.has(next)) {
            ahead = read(at_turn(by_line, next), by_lines.is_some());
        }
        step += 1;
        if s.branch(step == 1) {
            continue;
        }
        let turn = maps + 1 - step;
        let place = at_turn(by_line, turn);
        if s.branch(stays.has(turn)) {
            held = stays.get(s, turn, marks);
        } else if s.branch(!(is_kept && step == 2)) {
            held =
                op.hold(s, &Packs { spread: Spread::WARP, w, place: |_| place, whole: call.whole(by_lines.is_some()) });
        }
        mapped(s, op, call, &held, (plain, |_| stat), Way::Exchanged { lined: by_lines.is_some() }, |_| place);
    }
}
