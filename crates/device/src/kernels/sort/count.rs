//! How often each digit occurs, at all places at once.
//!
//! Blocks count in shared memory. Each digit has a counter of 16 bits in each of some columns, and a lane counts in its own column, so that neither
//! equal digits nor digits of one bank wait for each other. The elements are seen in their order here, so what depends on that is found, too: the
//! sign of the first zero, the first label of no group. Elements of another size than their keys are written down as keys.
//!
//! Bottleneck: shared memory (four or eight atomics for a key), beside memory.

use super::key::{Elements, Key, kind, label, read};
use super::state::{BLOCKS, State, special};
use super::{RADIX, Sort, THREADS, WARPS};
use crate::kernels::keys::tile::each;
use crate::kernels::recipe::array;
use crate::simt::{ALL, Order, Shared, Simt};

/// Elements that a thread reads at a time.
const OWN: usize = 8;
/// Elements that a block reads at a time.
pub const TILE: u64 = THREADS as u64 * OWN as u64;
/// Words of counters, two in each: 32 KiB.
const COUNTS: usize = 8192;

const _: () = assert!(BLOCKS <= u16::MAX as usize);

/// The counters of a block.
#[derive(Clone, Copy)]
struct Counts {
    words: Shared<u32>,
    /// Words of a pair of digits.
    columns: u32,
}

impl Counts {
    /// Tiles after which a counter might overflow.
    const fn most(columns: u32) -> u32 {
        u16::MAX as u32 / (TILE as u32 / columns)
    }

    /// The word of a digit at a place, in a column.
    #[inline(always)]
    fn at(self, place: u32, digit: u32, column: u32) -> u32 {
        (place * RADIX / 2 + digit / 2) * self.columns + (column & (self.columns - 1))
    }

    /// Adds all to the counts in global memory, and leaves zero. A thread has a digit.
    #[inline(always)]
    fn flush<S: Simt>(self, s: &S, call: &Sort, tid: u32) {
        let state = State::at(call.state);
        s.barrier();
        let mut place = 0;
        while s.again(place < call.places) {
            let mut many = 0;
            for column in 0..self.columns {
                // Neighbours begin in other columns, which are other banks.
                many += s.get(self.words, self.at(place, tid, column + tid / 2)) >> (16 * (tid & 1)) & 0xffff;
            }
            if s.branch(many != 0) {
                s.atomic_add(state.words(), state.count(place, tid), many, Order::Relaxed);
            }
            place += 1;
        }
        s.barrier();
        each(s, tid, call.places * RADIX / 2 * self.columns, |i| s.put(self.words, i, 0));
        s.barrier();
    }
}

/// Of keys `K`.
#[inline(always)]
pub fn kernel<S: Simt, K: Key>(s: &S, call: &Sort) {
    let columns = const { (COUNTS / (K::PLACES * RADIX as usize / 2)) as u32 };
    let counts = Counts { words: s.shared::<u32, COUNTS, 0>("counts"), columns };
    let specials = s.shared::<u32, { WARPS as usize }, 1>("specials of warps");
    let (tid, lane, of) = (s.thread_x(), s.lane(), &call.elements);
    let state = State::at(call.state);
    each(s, tid, call.places * RADIX / 2 * columns, |i| s.put(counts.words, i, 0));
    s.barrier();
    let mut left = const { Counts::most((COUNTS / (K::PLACES * RADIX as usize / 2)) as u32) };
    let mut first_special = 0;
    let mut first = s.block_x() as u64 * TILE;
    while s.again(first < call.n) {
        let raw = read::<S, OWN>(s, call.input, of.size, first + tid as u64, THREADS as u64, call.n);
        let mut found = 0;
        // One loop for each kind, which has no choices in it.
        let keys: [K; OWN] = if s.branch(of.kind == kind::UNSIGNED) {
            core::array::from_fn(
                #[inline(always)]
                |i| K::of(raw[i]),
            )
        } else if s.branch(of.kind == kind::SIGNED) {
            let signed = Elements { kind: kind::SIGNED, ..*of };
            core::array::from_fn(
                #[inline(always)]
                |i| K::of(raw[i]).ranked(&signed),
            )
        } else if s.branch(of.kind == kind::SIGNED_LABEL && of.size == 4) {
            let labels = Elements { kind: kind::SIGNED_LABEL, size: 4, ..*of };
            keys_of(call, &labels, raw, first + tid as u64, &mut found)
        } else {
            keys_of(call, of, raw, first + tid as u64, &mut found)
        };
        first_special = if found > first_special { found } else { first_special };
        // Loops over arrays count up to a constant, so that these are registers. Beyond the end, nothing is added.
        let mut here = [0u32; OWN];
        let mut i = 0;
        while i < OWN {
            let at = first + i as u64 * THREADS as u64 + tid as u64;
            here[i] = (at < call.n) as u32;
            if s.branch(call.converted != 0 && at < call.n) {
                s.store(array::<K>(call.keys[1]), at as usize, keys[i]);
            }
            i += 1;
        }
        for place in 0..K::PLACES as u32 {
            if s.branch(place < call.places) {
                i = 0;
                while i < OWN {
                    let digit = keys[i].digit(place * call.bits, call.bits);
                    let slot = counts.at(place, digit, lane);
                    s.atomic_add_shared(counts.words, slot, (1 + (digit & 1) * 0xffff) * here[i], Order::Relaxed);
                    i += 1;
                }
            }
        }
        left -= 1;
        if s.branch(left == 0) {
            counts.flush(s, call, tid);
            left = const { Counts::most((COUNTS / (K::PLACES * RADIX as usize / 2)) as u32) };
        }
        first += s.grid_dim_x() as u64 * TILE;
    }
    for by in [1, 2, 4, 8, 16] {
        first_special = first_special.max(s.shuffle_xor(ALL, first_special, by));
    }
    if s.branch(lane == 0) {
        s.put(specials, s.warp(), first_special);
    }
    counts.flush(s, call, tid);
    if s.branch(tid == 0) {
        let mut found = 0;
        for warp in 0..WARPS {
            found = found.max(s.get(specials, warp));
        }
        s.store(state.words(), state.special(s.block_x()), found);
    }
}

/// The keys of elements, and the first that is special.
#[inline(always)]
fn keys_of<K: Key>(call: &Sort, of: &Elements, raw: [u64; OWN], first: u64, found: &mut u32) -> [K; OWN] {
    core::array::from_fn(
        #[inline(always)]
        |i| {
            let at = first + i as u64 * THREADS as u64;
            let (key, one) = key_of(raw[i], of, at);
            *found = if at < call.n && one > *found { one } else { *found };
            key
        },
    )
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
