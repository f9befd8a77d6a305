//! How often each digit occurs, at all places at once.
//!
//! Blocks count in shared memory. Each digit has a counter in each of some columns, and a lane counts in its own
//! column, so that neither equal digits nor digits of one bank often wait for each other. The elements are seen in
//! their order here, so what depends on that is found, too: the sign of the first zero, the first label of no group.
//! Elements of another size than their keys are written down as keys.
//!
//! Bottleneck: shared memory (four or eight atomics for a key), beside memory.

use crate::address::array;
use crate::block::each;
use crate::block::{THREADS, WARPS};
use crate::sort::key::{Elements, Key, kind, label, read};
use crate::sort::state::{State, special};
use crate::sort::{RADIX, Sort};
use warpfold_simt::{ALL, Order, Shared, Simt};

/// Elements that a thread reads at a time.
const OWN: usize = 8;
/// Elements that a block reads at a time.
pub const TILE: u64 = THREADS as u64 * OWN as u64;
/// Counters: 32 KiB.
const COUNTS: usize = 8192;

/// The counters of a block.
#[derive(Clone, Copy)]
struct Counts {
    words: Shared<u32>,
    /// Of a digit.
    columns: u32,
}

impl Counts {
    /// The counter of a digit at a place, in a column.
    #[inline(always)]
    fn at(self, place: u32, digit: u32, column: u32) -> u32 {
        (place * RADIX + digit) * self.columns + (column & (self.columns - 1))
    }

    /// Counts the first `here` keys of a thread, at all places.
    #[inline(always)]
    fn add<S: Simt, K: Key>(self, s: &S, call: &Sort, keys: &[K; OWN], here: usize) {
        for place in 0..K::PLACES as u32 {
            if s.branch(place < call.places) {
                let mut i = 0;
                while i < OWN {
                    let digit = keys[i].digit(call.low + place * call.bits, call.bits);
                    if s.branch(i < here) {
                        let slot = self.at(place, digit, s.lane());
                        s.atomic_add_shared(self.words, slot, 1u32, Order::Relaxed);
                    }
                    i += 1;
                }
            }
        }
    }

    /// Adds all to the counts in global memory. A thread has a digit.
    #[inline(always)]
    fn finish<S: Simt>(self, s: &S, call: &Sort, tid: u32) {
        let state = State::at(call.at.state);
        let mut place = 0;
        while s.again(place < call.places) {
            let mut many = 0;
            for column in 0..self.columns {
                // Neighbours begin in other columns, which are other banks.
                many += s.get(self.words, self.at(place, tid, column + tid / (32 / self.columns)));
            }
            if s.branch(many != 0) {
                s.atomic_add(state.words(), state.count(place, tid), many, Order::Relaxed);
            }
            place += 1;
        }
    }
}

/// Of keys `K`.
#[inline(always)]
pub fn kernel<S: Simt, K: Key>(s: &S, call: &Sort) {
    let columns = const { (COUNTS / (K::PLACES * RADIX as usize)) as u32 };
    let counts = Counts { words: s.shared::<u32, COUNTS, 0>("counts"), columns };
    let specials = s.shared::<u32, { WARPS as usize }, 1>("specials of warps");
    let (tid, lane, of) = (s.thread_x(), s.lane(), &call.elements);
    let state = State::at(call.at.state);
    each(s, tid, call.places * RADIX * columns, |i| s.put(counts.words, i, 0));
    s.barrier();
    let mut first_special = 0;
    let mut first = s.block_x() as u64 * TILE;
    while s.again(first < call.n) {
        let raw = read::<S, OWN>(s, call.at.input, of.size, first + tid as u64, THREADS as u64, call.n);
        // One loop for each kind, which has no choices in it.
        let keys: [K; OWN] = if s.branch(of.kind == kind::UNSIGNED) {
            warpfold_simt::array::from_fn(
                #[inline(always)]
                |i| K::of(raw[i]),
            )
        } else if s.branch(of.kind == kind::SIGNED) {
            ranked(raw, &Elements { kind: kind::SIGNED, ..*of })
        } else if s.branch(of.kind == kind::FLOAT) {
            ranked(raw, &Elements { kind: kind::FLOAT, ..*of })
        } else if s.branch(of.kind == kind::SIGNED_LABEL && of.size == 4) {
            ranked(raw, &Elements { kind: kind::SIGNED_LABEL, ..*of })
        } else {
            warpfold_simt::array::from_fn(
                #[inline(always)]
                |i| key_of(raw[i], of, 0).0,
            )
        };
        // Those that follow come later.
        if s.branch(first_special == 0 && (of.kind == kind::FLOAT || of.kind >= kind::LABEL)) {
            first_special = first_of(s, call, &keys, raw, first + tid as u64);
        }
        // Loops over arrays count up to a constant, so that these are registers.
        let mut i = 0;
        if s.branch(call.converted != 0) {
            while i < OWN {
                let at = first + i as u64 * THREADS as u64 + tid as u64;
                if s.branch(at < call.n) {
                    s.store(array::<K>(call.at.keys[1]), at as usize, keys[i]);
                }
                i += 1;
            }
        }
        if s.branch(first + TILE <= call.n) {
            counts.add(s, call, &keys, OWN);
        } else {
            let present = (call.n - first) as u32;
            counts.add(s, call, &keys, (present + THREADS - 1).saturating_sub(tid) as usize / THREADS as usize);
        }
        first += s.grid_dim_x() as u64 * TILE;
    }
    for by in [1, 2, 4, 8, 16] {
        first_special = first_special.max(s.shuffle_xor(ALL, first_special, by));
    }
    if s.branch(lane == 0) {
        s.put(specials, s.warp(), first_special);
    }
    s.barrier();
    counts.finish(s, call, tid);
    if s.branch(tid == 0) {
        let mut found = 0;
        for warp in 0..WARPS {
            found = found.max(s.get(specials, warp));
        }
        s.store(state.words(), state.special(s.block_x()), found);
    }
}

/// The keys of elements that have their size.
#[inline(always)]
fn ranked<K: Key>(raw: [u64; OWN], of: &Elements) -> [K; OWN] {
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |i| K::of(raw[i]).ranked(of),
    )
}

/// The first of these elements that is special. Few are, and they have all one key, as has label -1.
#[inline(always)]
fn first_of<S: Simt, K: Key>(s: &S, call: &Sort, keys: &[K; OWN], raw: [u64; OWN], first: u64) -> u32 {
    let of = &call.elements;
    let key = K::of(if of.kind == kind::FLOAT { 1 << ((8 * of.size - 1) & 63) } else { of.bound });
    let none = u64::MAX >> ((64 - 8 * of.size) & 63);
    let (mut found, mut i) = (0, 0);
    while i < OWN {
        let at = first + i as u64 * THREADS as u64;
        if s.branch(keys[i] == key && (raw[i] != none || of.kind != kind::SIGNED_LABEL) && at < call.n) {
            found = key_of::<K>(raw[i], of, at).1.max(found);
        }
        i += 1;
    }
    found
}

/// The key of an element, and what is special about it.
#[inline(always)]
fn key_of<K: Key>(raw: u64, of: &Elements, at: u64) -> (K, u32) {
    if of.kind >= kind::LABEL {
        let (key, bad) = label(raw, of);
        return (K::of(key as u64), if bad { special(at, 0) } else { 0 });
    }
    let key = K::of(raw).ranked(of);
    (key, if key.is_zero(of) { special(at, (raw >> ((8 * of.size - 1) & 63)) as u32) } else { 0 })
}
