//! How often each digit occurs, at all places at once.
//!
//! Blocks count in shared memory. Equal digits of a warp (high digits of small numbers, sorted keys) are one addition. The elements are seen in
//! their order here, so what depends on that is found, too: the sign of the first zero, the first label of no group. Elements of another size
//! than their keys are written down as keys.
//!
//! Bottleneck: memory, and the shared atomics of random digits.

use super::key::{Key, kind, label, read};
use super::state::{BLOCKS, State, special};
use super::{RADIX, Sort, THREADS, WARPS};
use crate::kernels::keys::tile::each;
use crate::kernels::recipe::array;
use crate::simt::{ALL, Order, Simt};

/// Elements that a thread reads at a time.
const OWN: usize = 8;
/// Elements that a block reads at a time.
pub const TILE: u64 = THREADS as u64 * OWN as u64;

const _: () = assert!(BLOCKS <= u16::MAX as usize);

/// Of keys `K`, with room for `COUNTS` counters.
#[inline(always)]
pub fn kernel<S: Simt, K: Key, const COUNTS: usize>(s: &S, call: &Sort) {
    let counts = s.shared::<u32, COUNTS, 0>("counts");
    let specials = s.shared::<u32, { WARPS as usize }, 1>("specials of warps");
    let (tid, lane, of) = (s.thread_x(), s.lane(), &call.elements);
    let state = State::at(call.state);
    let is_label = of.kind >= kind::LABEL;
    let mut first_special = 0;
    each(s, tid, COUNTS as u32, |i| s.put(counts, i, 0));
    s.barrier();
    let mut first = s.block_x() as u64 * TILE;
    while s.again(first < call.n) {
        let raw = read::<S, OWN>(s, call.input, of.size, first + tid as u64, THREADS as u64, call.n);
        for (i, raw) in raw.into_iter().enumerate() {
            let at = first + i as u64 * THREADS as u64 + tid as u64;
            let here = at < call.n;
            let mut found = 0;
            let key = if s.branch(is_label) {
                let (key, bad) = label(raw, of);
                found = if bad { special(at, 0) } else { 0 };
                K::of(key as u64)
            } else {
                let key = K::of(raw).ranked(of);
                if key.is_zero(of) {
                    found = special(at, (raw >> ((8 * of.size - 1) & 63)) as u32);
                }
                key
            };
            if here && found > first_special {
                first_special = found;
            }
            if s.branch(here && call.converted != 0) {
                s.store(array::<K>(call.keys[1]), at as usize, key);
            }
            for place in 0..K::PLACES as u32 {
                if s.branch(place < call.places) {
                    let digit = key.digit(place * call.bits, call.bits);
                    let slot = place * RADIX + digit;
                    let alike = s.shuffle_idx(ALL, digit, 0) == digit;
                    if s.branch(s.all(ALL, here && alike)) {
                        if s.branch(lane == 0) {
                            s.atomic_add_shared(counts, slot, 32u32, Order::Relaxed);
                        }
                    } else if s.branch(here) {
                        s.atomic_add_shared(counts, slot, 1u32, Order::Relaxed);
                    }
                }
            }
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
    each(s, tid, call.places * RADIX, |i| {
        let many = s.get(counts, i);
        if s.branch(many != 0) {
            s.atomic_add(state.words(), state.count(0, i), many, Order::Relaxed);
        }
    });
    if s.branch(tid == 0) {
        let mut found = 0;
        for warp in 0..WARPS {
            found = found.max(s.get(specials, warp));
        }
        s.store(state.words(), state.special(s.block_x()), found);
    }
}
