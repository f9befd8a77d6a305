//! The order of a tile's digits: where each element goes, stable, and where each digit begins.
//!
//! A warp has rows of 32 neighbours, and a counter for each digit, two to a word. An addition gives a lane the number
//! of equal digits before; equal digits of a row may get theirs in any order, so where there are some (the counter then
//! has more than the lane has made of it), lanes find their equals by votes, bit by bit.

use crate::block::scan_of;
use crate::split::DIGITS;
use crate::split::piece::NONE;
use warpfold_simt::{ALL, Order, Pack, Shared, Simt};

/// Elements of a thread that parts.
pub const OWN: usize = 16;
/// Elements of a tile.
pub const TILE: u32 = OWN as u32 * super::THREADS;
/// Words of a warp's counters.
pub const WORDS: u32 = DIGITS / 2;

/// Shared memory of a block that has so many warps.
#[derive(Clone, Copy)]
pub struct Room {
    /// [`WORDS`] for each warp; free once there is an order.
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

/// Puts the digits of a tile in order; `digit` of each of a thread's rows below `rows`, which is also given `low`, is
/// below `1 << bits`, or [`NONE`]. All threads are done with the room; the counters are free again after the next barrier.
#[inline(always)]
pub fn order<S: Simt, const OWN: usize, const HALF: usize>(
    s: &S,
    room: Room,
    rows: u32,
    bits: u32,
    low: u32,
    digit: impl Fn(usize, u32) -> u32,
) -> Ranks<HALF> {
    let (tid, lane) = (s.thread_x(), s.lane());
    let own = room.counters.offset(s.warp() * WORDS);
    for i in 0..WORDS / 128 {
        s.put(own.cast::<Pack<u32, 4>>(), i * 32 + lane, Pack([0; 4]));
    }
    s.warp_barrier(ALL);
    let mut ranks = Ranks([0; HALF]);
    let mut i = 0;
    while i < OWN {
        if s.branch((i as u32) < rows) {
            let d = digit(i, low);
            let is_there = d != NONE;
            let (slot, half) = (if is_there { d / 2 } else { 0 }, 16 * (d & 1));
            let (mut rank, mut after) = (0, 0);
            if s.branch(is_there) {
                rank = s.atomic_add_shared(own, slot, 1u32 << half, Order::Relaxed) >> half & 0xffff;
            }
            s.warp_barrier(ALL);
            if s.branch(is_there) {
                after = s.get(own, slot) >> half & 0xffff;
            }
            if s.branch(s.any(ALL, after > rank + 1)) {
                let mut equals = s.ballot(ALL, is_there);
                let mut bit = 0;
                while s.again(bit < bits) {
                    let is_set = d >> bit & 1;
                    equals &= s.ballot(ALL, is_set != 0) ^ is_set.wrapping_sub(1);
                    bit += 1;
                }
                rank = after.wrapping_sub(equals.count_ones()).wrapping_add((equals & ((1 << lane) - 1)).count_ones());
            }
            s.warp_barrier(ALL);
            ranks.add(i, if is_there { rank } else { 0 });
        }
        i += 1;
    }
    s.barrier();

    // A thread has neighbouring digits, in one word or in two; or none.
    let each = (WORDS / (32 * room.warps)).max(1);
    let is_used = tid * each < WORDS;
    let mut all = [0; 2];
    let mut k = 0;
    while k < 2 {
        if s.branch(is_used && (k as u32) < each) {
            for warp in 0..room.warps {
                all[k] += s.get(room.counters, warp * WORDS + tid * each + k as u32);
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
                let slot = warp * WORDS + word;
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
    // Anew: digits that were kept since the loop above would take as many registers as there are rows.
    let low = s.anew(low);
    i = 0;
    while i < OWN {
        if s.branch((i as u32) < rows) {
            let d = digit(i, low);
            if s.branch(d != NONE) {
                ranks.add(i, s.get(own, d / 2) >> (16 * (d & 1)) & 0xffff);
            }
        }
        i += 1;
    }
    ranks
}
