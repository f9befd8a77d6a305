//! One pass of the sort: by one digit, stable.
//!
//! A warp has rows of 32 neighbours. Lanes with equal digits find each other by a vote for each bit, and the first of them adds all to the warp's
//! counter of that digit, which says where they are among the warp's. Counters of all warps make places in the tile; keys go there in shared
//! memory, so that neighbours of one digit are written side by side. What is carried goes the same way afterwards. Lanes without a key (the end of
//! the last tile) have the greatest digit: they come last, and are not written.
//!
//! Bottleneck: memory (each key and what it carries are read once and written once), beside about 60 instructions for 32 keys.

use super::key::{self, Key};
use super::state::State;
use super::{RADIX, Sort, THREADS, WARPS, scan};
use crate::kernels::recipe::array;
use crate::simt::{ALL, Order, Pod, Simt};

/// What is carried, or what both it and keys are in shared memory: `u32` or `u64`.
pub trait Wide: Pod + Into<u64> {
    /// The low bits.
    fn low(bits: u64) -> Self;
}
impl Wide for u32 {
    #[inline(always)]
    fn low(bits: u64) -> Self {
        bits as u32
    }
}
impl Wide for u64 {
    #[inline(always)]
    fn low(bits: u64) -> Self {
        bits
    }
}

/// Keys `K` that carry a `V`, if `CARRY`, through shared words `W`: `OWN` to a thread, `TILE` to a block.
#[inline(always)]
pub fn kernel<S: Simt, K: Key + Into<u64>, V: Wide, W: Wide, const CARRY: bool, const OWN: usize, const TILE: usize>(
    s: &S,
    call: &Sort,
) {
    const { assert!(OWN * THREADS as usize == TILE) };
    let room = s.shared::<W, TILE, 0>("keys in order");
    let places = s.shared::<u32, { (WARPS * RADIX) as usize }, 1>("places of warps");
    let to = s.shared::<u32, { RADIX as usize }, 2>("where digits go");
    let warps = s.shared::<u32, { WARPS as usize }, 3>("sums of warps");
    let number = s.shared::<u32, 1, 4>("number of the tile");
    let (tid, lane, state) = (s.thread_x(), s.lane(), State::at(call.state));
    let live = state.live(s);
    if s.branch(live >> call.place & 1 == 0) {
        return;
    }
    let turn = (live & ((1 << call.place) - 1)).count_ones();
    if s.branch(tid == 0) {
        s.put(number, 0, state.ticket(s, call.place));
    }
    let row = s.warp() * RADIX;
    for i in 0..RADIX / 32 {
        s.put(places, row + i * 32 + lane, 0);
    }
    s.barrier();
    let tile = s.get(number, 0);
    let start = tile as u64 * TILE as u64;
    let present = (call.n - start).min(TILE as u64) as u32;
    let first = start + (s.warp() * 32 * OWN as u32 + lane) as u64;

    let keys = keys::<S, K, OWN>(s, call, turn, first);
    let (at, bits) = (call.place * call.bits, call.bits);
    let digit = |i: usize| {
        let here = first + 32 * i as u64 - start < present as u64;
        if here { keys[i].digit(at, bits) } else { (1 << bits) - 1 }
    };
    let mut ranks = [0; OWN];
    for (i, rank) in ranks.iter_mut().enumerate() {
        let digit = digit(i);
        let peers = alike(s, digit);
        let before = (peers & ((1 << lane) - 1)).count_ones();
        let mut old = 0;
        if s.branch(before == 0) {
            old = s.atomic_add_shared(places, row + digit, peers.count_ones(), Order::Relaxed);
        }
        *rank = s.shuffle_idx(ALL, old, peers.trailing_zeros()) + before;
    }
    s.barrier();

    let (mut of_warps, mut many) = ([0; WARPS as usize], 0);
    for (warp, before) in of_warps.iter_mut().enumerate() {
        *before = many;
        many += s.get(places, warp as u32 * RADIX + tid);
    }
    let own = many - if tid == (1 << bits) - 1 { TILE as u32 - present } else { 0 };
    let back = state.digits(call.tiles, call.place, tid);
    let is_digit = tid < 1 << bits;
    if s.branch(is_digit) {
        back.publish(s, tile, own);
    }
    let (begin, _) = scan(s, warps, many);
    for (warp, before) in of_warps.into_iter().enumerate() {
        s.put(places, warp as u32 * RADIX + tid, begin + before);
    }
    s.barrier();
    for (i, rank) in ranks.iter_mut().enumerate() {
        *rank += s.get(places, row + digit(i));
        s.put(room, *rank, W::low(keys[i].bits()));
    }
    if s.branch(is_digit) {
        let global = s.load(state.words(), state.count(call.place, tid)) + back.before(s, tile, own);
        s.put(to, tid, global.wrapping_sub(begin));
    }
    s.barrier();

    let mut targets = [0; OWN];
    for (i, target) in targets.iter_mut().enumerate() {
        let slot = i as u32 * THREADS + tid;
        let key = K::of(s.get(room, slot).into());
        if s.branch(slot < present) {
            *target = s.get(to, key.digit(at, bits)).wrapping_add(slot);
            s.store(array::<K>(call.keys[turn as usize & 1]), *target as usize, key);
        }
    }
    if CARRY {
        let carried = carried::<S, V, OWN>(s, call, turn, first);
        s.barrier();
        for (rank, x) in ranks.into_iter().zip(carried) {
            s.put(room, rank, W::low(x.into()));
        }
        s.barrier();
        let is_last = call.place + 1 == call.places;
        let size = if is_last { call.to } else { size_of::<V>() as u32 };
        let target = |i: usize| {
            let slot = i as u32 * THREADS + tid;
            (slot, targets[i] as usize)
        };
        let address = call.carried[turn as usize & 1];
        if s.branch(size == size_of::<V>() as u32) {
            for i in 0..OWN {
                let (slot, target) = target(i);
                let x = V::low(s.get(room, slot).into());
                if s.branch(slot < present) {
                    s.store(array::<V>(address), target, x);
                }
            }
        } else {
            for i in 0..OWN {
                let (slot, target) = target(i);
                let x = s.get(room, slot).into();
                if s.branch(slot < present) {
                    key::write(s, address, size, target, x);
                }
            }
        }
    }
}

/// The lanes whose digit is the same.
#[inline(always)]
fn alike<S: Simt>(s: &S, digit: u32) -> u32 {
    let mut peers = ALL;
    for bit in 0..RADIX.ilog2() {
        let set = digit >> bit & 1;
        // All ones where this lane's bit is not set.
        let not = set.wrapping_sub(1);
        peers &= s.ballot(ALL, set != 0) ^ not;
    }
    peers
}

/// The keys of rows, from where the pass before has left them.
#[inline(always)]
fn keys<S: Simt, K: Key + Into<u64>, const OWN: usize>(s: &S, call: &Sort, turn: u32, first: u64) -> [K; OWN] {
    let raw = turn == 0 && call.converted == 0;
    let from = if raw { call.input } else { call.keys[turn.wrapping_sub(1) as usize & 1] };
    let keys = key::of::<S, K, OWN>(s, from, first, 32, call.n);
    if s.branch(raw) { keys.map(|key| K::of(key).ranked(&call.elements)) } else { keys.map(K::of) }
}

/// What they carry.
#[inline(always)]
fn carried<S: Simt, V: Wide, const OWN: usize>(s: &S, call: &Sort, turn: u32, first: u64) -> [V; OWN] {
    if s.branch(turn > 0) {
        key::of::<S, V, OWN>(s, call.carried[(turn - 1) as usize & 1], first, 32, call.n).map(V::low)
    } else if s.branch(call.from == 0) {
        core::array::from_fn(|i| V::low(first + 32 * i as u64))
    } else if s.branch(call.from == size_of::<V>() as u32) {
        key::of::<S, V, OWN>(s, call.values, first, 32, call.n).map(V::low)
    } else {
        key::read::<S, OWN>(s, call.values, call.from, first, 32, call.n).map(V::low)
    }
}
