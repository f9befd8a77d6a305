//! The order of a tile's digits: where each element goes, stable, and where each digit begins.
//!
//! A warp has rows of 32 neighbours, and a counter for each digit, two to a word. An addition gives a lane the number
//! of equal digits before; equal digits of a row may get theirs in any order, so where there are some (the counter then
//! has more than the lane has made of it), lanes find their equals by a vote for each such digit.

use crate::block::scan_of;
use crate::split::DIGITS;
use warpfold_simt::{ALL, Order, Pack, Shared, Simt};

/// Elements of a thread that parts.
pub const OWN: usize = 8;
/// Elements of a tile.
pub const TILE: u32 = OWN as u32 * super::THREADS;
/// Words of a warp's counters; there are some more, for elements without a digit.
pub const WORDS: u32 = DIGITS / 2;
/// From the counters of a warp to those of the next.
pub const STEP: u32 = WORDS + 4;

/// Shared memory of a block that has so many warps.
#[derive(Clone, Copy)]
pub struct Room {
    /// [`STEP`] for each warp; free once there is an order.
    pub counters: Shared<u32>,
    /// One for each warp.
    pub sums: Shared<u32>,
    /// Where each digit begins, and the number of elements: one more than [`DIGITS`].
    pub begins: Shared<u32>,
    pub warps: u32,
}

/// Numbers of 16 bits, two to a word; `HALF` words.
pub struct Ranks<const HALF: usize>(pub [u32; HALF]);

impl<const HALF: usize> Ranks<HALF> {
    /// Adds to number `i`.
    #[inline(always)]
    pub fn add(&mut self, i: usize, x: u32) {
        self.0[i / 2] += x << (16 * (i & 1));
    }

    /// Number `i`.
    #[inline(always)]
    pub fn of(&self, i: usize) -> u32 {
        self.0[i / 2] >> (16 * (i & 1)) & 0xffff
    }
}

/// How many equal digits of its warp are before each element. `digit` of each of a thread's rows below `rows` is at
/// most [`DIGITS`], which is none. All threads are done with the room.
#[inline(always)]
pub fn ranks<S: Simt, const OWN: usize, const HALF: usize>(
    s: &S,
    room: Room,
    rows: u32,
    digit: impl Fn(usize) -> u32,
) -> Ranks<HALF> {
    let lane = s.lane();
    let own = room.counters.offset(s.warp() * STEP);
    for i in 0..WORDS / 128 {
        s.put(own.cast::<Pack<u32, 4>>(), i * 32 + lane, Pack([0; 4]));
    }
    if s.branch(lane == 0) {
        s.put(own, WORDS, 0);
    }
    s.warp_barrier(ALL);
    let mut ranks = Ranks([0; HALF]);
    let mut i = 0;
    while i < OWN {
        if s.branch((i as u32) < rows) {
            let d = digit(i);
            let half = 16 * (d & 1);
            let mut rank = s.atomic_add_shared(own, d / 2, 1u32 << half, Order::Relaxed) >> half & 0xffff;
            s.warp_barrier(ALL);
            let after = s.get(own, d / 2) >> half & 0xffff;
            // All of some equals but the one that came last.
            let mut open = s.ballot(ALL, after > rank + 1);
            while s.again(open != 0) {
                let first = s.shuffle_idx(ALL, d, open.trailing_zeros());
                let equals = s.ballot(ALL, d == first);
                if d == first {
                    rank = after - equals.count_ones() + (equals & ((1 << lane) - 1)).count_ones();
                }
                open &= !equals;
            }
            s.warp_barrier(ALL);
            ranks.add(i, rank);
        }
        i += 1;
    }
    ranks
}

/// From ranks in warps to places in the tile. The counters are free again after the next barrier.
#[inline(always)]
pub fn place<S: Simt, const OWN: usize, const HALF: usize>(
    s: &S,
    room: Room,
    ranks: &mut Ranks<HALF>,
    digit: impl Fn(usize) -> u32,
) {
    let tid = s.thread_x();
    let own = room.counters.offset(s.warp() * STEP);
    s.barrier();
    // A thread has neighbouring digits, in one word or in two; or none.
    let each = (WORDS / (32 * room.warps)).max(1);
    let is_used = tid * each < WORDS;
    let mut all = [0; 2];
    let mut k = 0;
    while k < 2 {
        if s.branch(is_used && (k as u32) < each) {
            for warp in 0..room.warps {
                all[k] += s.get(room.counters, warp * STEP + tid * each + k as u32);
            }
        }
        k += 1;
    }
    let many = all.map(|x| (x & 0xffff) + (x >> 16));
    let (mut begin, total) = scan_of(s, room.sums, many[0] + many[1], room.warps);
    k = 0;
    while k < 2 {
        if s.branch(is_used && (k as u32) < each) {
            let word = tid * each + k as u32;
            let next = begin + (all[k] & 0xffff);
            s.put(room.begins, 2 * word, begin);
            s.put(room.begins, 2 * word + 1, next);
            let mut before = begin | next << 16;
            for warp in 0..room.warps {
                let slot = warp * STEP + word;
                let count = s.get(room.counters, slot);
                s.put(room.counters, slot, before);
                before += count;
            }
        }
        begin += many[k];
        k += 1;
    }
    if s.branch(tid == 0) {
        s.put(room.begins, DIGITS, total);
    }
    s.barrier();
    let mut i = 0;
    while i < OWN {
        let d = digit(i);
        ranks.add(i, s.get(own, d / 2) >> (16 * (d & 1)) & 0xffff);
        i += 1;
    }
}
