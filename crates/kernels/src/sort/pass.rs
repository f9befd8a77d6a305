//! One pass of the sort: by one digit, stable.
//!
//! A warp has rows of 32 neighbours. Lanes with equal digits find each other by a word of that digit, to which each
//! adds its own bit, and the first of them adds all to the warp's counter of that digit, which says where they are
//! among the warp's. Counters of all warps make places in the tile; keys go there in shared memory, so that neighbours
//! of one digit are written side by side. What is carried goes the same way afterwards. Lanes without a key (the end of
//! the last tile) have one of nothing but ones: they come last, and are not written.
//!
//! Bottleneck: shared memory and instructions (each key passes through it three times), beside memory.

use crate::address::array;
use crate::block::scan;
use crate::block::{THREADS, WARPS};
use crate::sort::key::{Key, kind};
use crate::sort::state::State;
use crate::sort::{RADIX, Sort, buffer};
use warpfold_simt::{ALL, Order, Pod, Simt};

/// What is carried: `u32` or `u64`.
pub trait Carried: Pod + Into<u64> {
    /// The low bits.
    fn low(bits: u64) -> Self;
}
impl Carried for u32 {
    #[inline(always)]
    fn low(bits: u64) -> Self {
        bits as u32
    }
}
impl Carried for u64 {
    #[inline(always)]
    fn low(bits: u64) -> Self {
        bits
    }
}

/// Keys `K`: `OWN` to a thread, `WORDS` words to a block. Each carries a `V`, if there is `ROOM` for more than one.
#[inline(always)]
pub fn kernel<S: Simt, K: Key, V: Carried, const OWN: usize, const WORDS: usize, const ROOM: usize>(
    s: &S,
    call: &Sort,
) {
    let tile_len = const { OWN * THREADS as usize };
    const { assert!(OWN * THREADS as usize * size_of::<K>() == WORDS * 4) };
    const { assert!(ROOM == 1 || ROOM == OWN * THREADS as usize) };
    const { assert!(WORDS >= (WARPS * RADIX) as usize && OWN * (THREADS as usize) < 1 << 16) };
    // Lanes of each digit, before keys are there.
    let masks = s.shared::<u32, WORDS, 0>("keys in order");
    let room = masks.cast::<K>();
    let beside = s.shared::<V, ROOM, 5>("carried in order");
    let places = s.shared::<u32, { (WARPS * RADIX) as usize }, 1>("places of warps");
    let to = s.shared::<u32, { RADIX as usize }, 2>("where digits go");
    let warps = s.shared::<u32, { WARPS as usize }, 3>("sums of warps");
    let number = s.shared::<u32, 1, 4>("number of the tile");
    let (tid, lane, state) = (s.thread_x(), s.lane(), State::at(call.at.state));
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
        s.put(masks, row + i * 32 + lane, 0);
    }
    s.barrier();
    let tile = s.get(number, 0);
    let start = tile as u64 * tile_len as u64;
    let present = (call.n - start).min(tile_len as u64) as u32;
    let within = s.warp() * 32 * OWN as u32 + lane;

    // Loops over arrays count up to a constant, so that these are registers.
    let keys: [K; OWN] = keys(s, call, turn, start, Share { within, present });
    let (at, bits) = (call.low + call.place * call.bits, call.bits);
    let mut ranks = Ranks([0; OWN]);
    let mut i = 0;
    while i < OWN {
        let slot = row + keys[i].digit(at, bits);
        s.atomic_add_shared(masks, slot, 1u32 << lane, Order::Relaxed);
        s.warp_barrier(ALL);
        let (peers, old) = (s.get(masks, slot), s.get(places, slot));
        let before = (peers & ((1 << lane) - 1)).count_ones();
        s.warp_barrier(ALL);
        if s.branch(before == 0) {
            s.put(masks, slot, 0);
            s.put(places, slot, old + peers.count_ones());
        }
        s.warp_barrier(ALL);
        ranks.add(i, old + before);
        i += 1;
    }
    s.barrier();

    let mut many = 0;
    let mut of_warps = [0; WARPS as usize];
    let mut warp = 0;
    while warp < WARPS as usize {
        of_warps[warp] = many;
        many += s.get(places, warp as u32 * RADIX + tid);
        warp += 1;
    }
    let own = many - if tid == (1 << bits) - 1 { tile_len as u32 - present } else { 0 };
    let back = state.digits(call.tiles, call.place, tid);
    let is_digit = tid < 1 << bits;
    if s.branch(is_digit) {
        back.publish(s, tile, own);
    }
    let (begin, _) = scan(s, warps, many);
    warp = 0;
    while warp < WARPS as usize {
        s.put(places, warp as u32 * RADIX + tid, begin + of_warps[warp]);
        warp += 1;
    }
    s.barrier();
    // Anew: digits that were kept since the loop above would take as many registers as keys.
    let from = s.anew(at);
    i = 0;
    while i < OWN {
        ranks.add(i, s.get(places, row + keys[i].digit(from, bits)));
        s.put(room, ranks.of(i), keys[i]);
        i += 1;
    }
    if ROOM > 1 {
        carry::<S, V, OWN>(
            s,
            call,
            turn,
            start,
            Share { within, present },
            #[inline(always)]
            |i, x| s.put(beside, ranks.of(i), x),
        );
    }
    if s.branch(is_digit) {
        let global = s.load(state.words(), state.count(call.place, tid)) + back.before(s, tile, own);
        s.put(to, tid, global.wrapping_sub(begin));
    }
    s.barrier();

    let (keys_to, carried_to) = (buffer(call.at.keys, turn), buffer(call.at.carried, turn));
    let size = if call.place + 1 == call.places { call.to } else { size_of::<V>() as u32 };
    i = 0;
    while i < OWN {
        let slot = i as u32 * THREADS + tid;
        if s.branch(slot < present) {
            let key = s.get(room, slot);
            let target = s.get(to, key.digit(at, bits)).wrapping_add(slot) as usize;
            s.store(array::<K>(keys_to), target, key);
            if ROOM > 1 {
                let x = s.get(beside, slot);
                if s.branch(size == size_of::<V>() as u32) {
                    s.store(array::<V>(carried_to), target, x);
                } else if s.branch(size == 2) {
                    s.store(array::<u16>(carried_to), target, x.into() as u16);
                } else {
                    s.store(array::<u8>(carried_to), target, x.into() as u8);
                }
            }
        }
        i += 1;
    }
}

/// Numbers of 16 bits, two to a word.
struct Ranks<const OWN: usize>([u32; OWN]);

impl<const OWN: usize> Ranks<OWN> {
    #[inline(always)]
    fn add(&mut self, i: usize, x: u32) {
        self.0[i / 2] += x << (16 * (i & 1));
    }

    #[inline(always)]
    fn of(&self, i: usize) -> u32 {
        self.0[i / 2] >> (16 * (i & 1)) & 0xffff
    }
}

/// Which elements of a tile a thread has: from `within`, 32 apart, those below `present`.
#[derive(Clone, Copy)]
struct Share {
    within: u32,
    present: u32,
}

/// The keys of rows, from where the pass before has left them.
#[inline(always)]
fn keys<S: Simt, K: Key, const OWN: usize>(s: &S, call: &Sort, turn: u32, start: u64, share: Share) -> [K; OWN] {
    let raw = turn == 0 && call.converted == 0;
    let from = if raw { call.at.input } else { buffer(call.at.keys, turn.wrapping_sub(1)) };
    let mut keys: [K; OWN] = rows(s, from, start, share, K::of(u64::MAX));
    if s.branch(raw && call.elements.kind != kind::UNSIGNED) {
        let mut i = 0;
        while i < OWN {
            if s.branch(share.within + 32 * (i as u32) < share.present) {
                keys[i] = keys[i].ranked(&call.elements);
            }
            i += 1;
        }
    }
    keys
}

/// What they carry, given to `put` one by one.
#[inline(always)]
fn carry<S: Simt, V: Carried, const OWN: usize>(
    s: &S,
    call: &Sort,
    turn: u32,
    start: u64,
    share: Share,
    put: impl Fn(usize, V),
) {
    let mut i = 0;
    if s.branch(turn > 0 || call.from == size_of::<V>() as u32) {
        let from = if turn > 0 { buffer(call.at.carried, turn.wrapping_sub(1)) } else { call.at.values };
        let values: [V; OWN] = rows(s, from, start, share, V::low(0));
        while i < OWN {
            put(i, values[i]);
            i += 1;
        }
    } else if s.branch(call.from == 0) {
        while i < OWN {
            put(i, V::low(start + (share.within + 32 * i as u32) as u64));
            i += 1;
        }
    } else if s.branch(call.from == 2) {
        let values: [u16; OWN] = rows(s, call.at.values, start, share, 0);
        while i < OWN {
            put(i, V::low(values[i] as u64));
            i += 1;
        }
    } else {
        let values: [u8; OWN] = rows(s, call.at.values, start, share, 0);
        while i < OWN {
            put(i, V::low(values[i] as u64));
            i += 1;
        }
    }
}

/// An element of each row, or `nothing`.
#[inline(always)]
fn rows<S: Simt, T: Pod, const OWN: usize>(s: &S, address: u64, start: u64, share: Share, nothing: T) -> [T; OWN] {
    let first = array::<T>(address).offset(start as usize + share.within as usize);
    let mut elements = [nothing; OWN];
    let mut i = 0;
    while i < OWN {
        if s.branch(share.within + 32 * (i as u32) < share.present) {
            elements[i] = s.load_stream(first, 32 * i);
        }
        i += 1;
    }
    elements
}
