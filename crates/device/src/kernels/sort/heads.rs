//! The first of each like among sorted keys, or of each run among elements as they are.
//!
//! Each key is compared with the one before it. Where they differ a new one begins, and a sum over all tiles before says which: its value, where
//! it begins, and what it carries are written there. The elements are looked at in the order of a sort, or in their own.
//!
//! Bottleneck: memory.

use super::key::{Elements, Key, read, write};
use super::state::{FIRST, FOUND, State, of_special};
use super::{THREADS, WARPS, buffer, scan};
use crate::kernels::recipe::array;
use crate::simt::{ALL, Simt};

/// Keys that a thread has.
const OWN: usize = 16;
/// Keys of a tile.
pub const TILE: u64 = THREADS as u64 * OWN as u64;

/// What is looked for. The addresses come first; those of what nobody asks for are 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Heads {
    /// The elements.
    pub input: u64,
    /// Sorted keys, wherever the sort has left them; unused if it was none.
    pub keys: [u64; 2],
    /// Their positions, likewise.
    pub carried: [u64; 2],
    /// What [`State`] says.
    pub state: u64,
    /// Elements: one of each like.
    pub values: u64,
    /// `u32`: where each begins, in sorted order, and after the last one how many there are of all.
    pub starts: u64,
    /// `i64`: the position of the first of each like.
    pub first: u64,
    /// `i64` of each element: which like it is of.
    pub inverse: u64,
    /// How many elements.
    pub n: u64,
    /// What they are.
    pub elements: Elements,
    /// Tiles of a pass, and places, of the sort before: what tiles of this launch tell each other lies after theirs.
    pub tiles: u32,
    /// See `tiles`.
    pub places: u32,
    /// Whether the sort has written keys down at first.
    pub converted: u32,
    /// Whether values are the elements as they are, NaNs and zeros too: those of runs.
    pub as_is: u32,
}

/// Where keys and positions are after a sort.
struct Sorted {
    keys: u64,
    positions: u64,
    raw: bool,
}

impl Sorted {
    #[inline(always)]
    fn of<S: Simt>(s: &S, call: &Heads) -> Self {
        let turns = State::at(call.state).live(s).count_ones();
        let last = turns.wrapping_sub(1);
        let raw = turns == 0 && call.converted == 0;
        let keys = if raw { call.input } else { buffer(call.keys, last) };
        Self { keys, positions: if turns == 0 { 0 } else { buffer(call.carried, last) }, raw }
    }

    /// Key number `at`.
    #[inline(always)]
    fn key<S: Simt, K: Key>(&self, s: &S, call: &Heads, at: u64) -> K {
        if s.branch(self.raw) {
            let [raw] = read::<S, 1>(s, self.keys, call.elements.size, at, 0, call.n);
            K::of(raw).ranked(&call.elements)
        } else {
            s.load_stream(array::<K>(self.keys), at as usize)
        }
    }

    /// Keys from number `first`, 32 apart.
    #[inline(always)]
    fn keys<S: Simt, K: Key>(&self, s: &S, call: &Heads, first: u64) -> [K; OWN] {
        let mut keys = [K::of(0); OWN];
        let mut i = 0;
        while i < OWN {
            let at = first + 32 * i as u64;
            if s.branch(at < call.n) {
                keys[i] = self.key(s, call, at);
            }
            i += 1;
        }
        keys
    }

    /// The position of key number `at`. Where there was no pass, all keys are equal.
    #[inline(always)]
    fn position<S: Simt>(&self, s: &S, at: u64) -> u64 {
        if s.branch(self.positions == 0) { at } else { s.load(array::<u32>(self.positions), at as usize) as u64 }
    }
}

/// Of keys `K`.
#[inline(always)]
pub fn kernel<S: Simt, K: Key>(s: &S, call: &Heads) {
    let warps = s.shared::<u32, { WARPS as usize }, 0>("sums of warps");
    let number = s.shared::<u32, 2, 1>("number of the tile, and heads before it");
    let (tid, lane, state) = (s.thread_x(), s.lane(), State::at(call.state));
    if s.branch(tid == 0) {
        s.put(number, 0, state.ticket(s, super::state::PLACES as u32));
    }
    s.barrier();
    let tile = s.get(number, 0);
    let sorted = Sorted::of(s, call);
    let first = tile as u64 * TILE + (s.warp() * 32 * OWN as u32 + lane) as u64;
    let keys: [K; OWN] = sorted.keys(s, call, first);

    // Rows of 32 keys, each bit of which is a head.
    let mut heads = [0; OWN];
    let mut last = K::of(0);
    if s.branch(lane == 0 && first > 0 && first < call.n) {
        last = sorted.key(s, call, first - 1);
    }
    // Loops over arrays count up to a constant, so that these are registers.
    let (mut many, mut i) = (0, 0);
    while i < OWN {
        let at = first + 32 * i as u64;
        let before = s.shuffle_up(ALL, keys[i], 1);
        let before = if lane == 0 { last } else { before };
        heads[i] = s.ballot(ALL, at < call.n && (at == 0 || before != keys[i]));
        many += heads[i].count_ones();
        last = s.shuffle_idx(ALL, keys[i], 31);
        i += 1;
    }
    let (before, all) = scan(s, warps, if lane == 0 { many } else { 0 });
    let before = s.shuffle_idx(ALL, before, 0);
    if s.branch(s.warp() == 0) {
        let back = state.heads(call.tiles, call.places);
        if s.branch(lane == 0) {
            back.publish(s, tile, all);
        }
        let of_tiles = back.before_together(s, tile, all);
        if s.branch(lane == 0) {
            s.put(number, 1, of_tiles);
        }
    }
    s.barrier();
    let of_tiles = s.get(number, 1);
    if s.branch(tid == 0 && tile + 1 == s.grid_dim_x()) {
        s.store(state.words(), FOUND, of_tiles + all);
        if s.branch(call.starts != 0) {
            s.store(array::<u32>(call.starts), (of_tiles + all) as usize, call.n as u32);
        }
    }

    let mut which = of_tiles + before;
    i = 0;
    while i < OWN {
        let row = heads[i];
        let at = first + 32 * i as u64;
        let up_to = which + (row & (u32::MAX >> (31 - lane))).count_ones();
        if s.branch(row >> lane & 1 != 0) {
            let to = (up_to - 1) as usize;
            if s.branch(call.values != 0) {
                write(s, call.values, call.elements.size, to, value(s, call, keys[i], at));
            }
            if s.branch(call.starts != 0) {
                s.store(array::<u32>(call.starts), to, at as u32);
            }
            if s.branch(call.first != 0) {
                s.store(array::<u64>(call.first), to, sorted.position(s, at));
            }
        }
        if s.branch(call.inverse != 0 && at < call.n) {
            let position = sorted.position(s, at);
            s.store(array::<u64>(call.inverse), position as usize, (up_to - 1) as u64);
        }
        which += row.count_ones();
        i += 1;
    }
}

/// The element of a key, in the low bytes. Of zeros, it is the first.
#[inline(always)]
fn value<S: Simt, K: Key>(s: &S, call: &Heads, key: K, at: u64) -> u64 {
    let of = &call.elements;
    if s.branch(call.as_is != 0) {
        let [raw] = read::<S, 1>(s, call.input, of.size, at, 1, call.n);
        return raw;
    }
    let mut bits = key.element(of).bits();
    if s.branch(key.is_zero(of)) {
        let words = State::at(call.state).words();
        if let Some((_, negative)) = of_special(s.load(words, FIRST)) {
            bits |= (negative as u64) << ((8 * of.size - 1) & 63);
        }
    }
    bits
}

/// How many each like has.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counts {
    /// `u32`, as [`Heads::starts`], or offsets of groups.
    pub starts: u64,
    /// `i64` of each.
    pub counts: u64,
    /// [`State`], which says how many there are; 0: `most`.
    pub state: u64,
    /// How many at most.
    pub most: u64,
}

/// Differences of neighbours.
#[inline(always)]
pub fn counts<S: Simt>(s: &S, call: &Counts) {
    let starts = array::<u32>(call.starts);
    let found = if s.branch(call.state != 0) { s.load(State::at(call.state).words(), FOUND) as u64 } else { call.most };
    let mut at = s.block_x() as u64 * THREADS as u64 + s.thread_x() as u64;
    while s.again(at < found) {
        let many = s.load(starts, at as usize + 1) - s.load(starts, at as usize);
        s.store(array::<u64>(call.counts), at as usize, many as u64);
        at += s.grid_dim_x() as u64 * THREADS as u64;
    }
}
