//! Heads: the first of equal keys among sorted ones, or of each run among elements as they are.
//!
//! Each key is compared with the one before it. Where they differ a new one begins, and a sum over all tiles before
//! says which: its value, where it begins, and what it carries are written there. The elements are looked at in the
//! order of a sort, or in their own.
//!
//! Bottleneck: memory.

use crate::address::array;
use crate::block::each;
use crate::block::scan;
use crate::block::{THREADS, WARPS};
use crate::params::params;
use crate::sort::key::{Elements, Key, read, write};
use crate::sort::sorted::{Sorted, element};
use crate::sort::state::{FOUND, State};
use warpfold_simt::{ALL, Simt};

/// Keys of a thread, of 4 bytes and of 8. With 16 instead of 24 the values of 2^26 take a sixth longer, since a block
/// waits for those before it.
pub const OWN: [usize; 2] = [24, 16];

params! {
    #[derive(Default)]
    /// Where sorted keys are, and where what is found goes: 0 for results that are not asked for.
    pub struct HeadsAt {
        /// The elements.
        pub input: u64,
        /// Sorted keys, wherever the sort has left them; unused if it was none.
        pub keys: [u64; 2],
        /// Their positions, likewise.
        pub carried: [u64; 2],
        /// What [`State`] says.
        pub state: u64,
        /// Elements: one for each distinct key.
        pub values: u64,
        /// `u32`: where each begins, in sorted order, and after the last one how many there are of all.
        pub starts: u64,
        /// `i64`: the position of the first element of each distinct key.
        pub first: u64,
        /// `i64` of each element: the index of its distinct key.
        pub inverse: u64,
    }

    /// What is looked for. The addresses come first; those of what nobody asks for are 0.
    pub struct Heads at HeadsAt {
        /// How many elements.
        pub n: u64,
        /// What they are.
        pub elements: Elements,
        /// Tiles of a pass, and places, of the sort before: what tiles of this launch tell each other lies after
        /// theirs.
        pub tiles: u32,
        /// See `tiles`.
        pub places: u32,
        /// Whether the sort has written keys down at first.
        pub converted: u32,
        /// Whether values are the elements as they are, NaNs and zeros too: those of runs.
        pub as_is: u32,
    }
}

/// Keys `K`: `OWN` to a thread, `WORDS` words to a block.
#[inline(always)]
pub fn kernel<S: Simt, K: Key, const OWN: usize, const WORDS: usize>(s: &S, call: &Heads) {
    const { assert!(OWN.is_multiple_of(8) && OWN <= 32 && OWN * THREADS as usize * size_of::<K>() == WORDS * 4) };
    let words = s.shared::<u32, WORDS, 0>("heads side by side");
    let warps = s.shared::<u32, { WARPS as usize }, 1>("sums of warps");
    let number = s.shared::<u32, 2, 2>("number of the tile, and heads before it");
    let (tid, lane, state) = (s.thread_x(), s.lane(), State::at(call.at.state));
    if s.branch(tid == 0) {
        s.put(number, 0, state.ticket(s, crate::sort::state::PLACES as u32));
    }
    s.barrier();
    let (tile, n) = (s.get(number, 0), call.n as u32);
    let sorted = Sorted::of(s, call.at.state, call.at.input, call.at.keys, call.at.carried, call.converted);
    let first = (tile * THREADS + s.warp() * 32) * OWN as u32 + lane;
    // Loops over arrays count up to a constant, so that these are registers. A few at a time: elements that are not
    // keys yet are wide.
    let (mut keys, mut i) = ([K::of(0); OWN], 0);
    while i < OWN {
        let few: [K; 8] = sorted.keys::<S, K, 8, 32>(s, &call.elements, first + 32 * i as u32, n);
        let mut j = 0;
        while j < 8 {
            keys[i + j] = few[j];
            j += 1;
        }
        i += 8;
    }

    // Rows of 32 keys, each bit of which is a head; lane `i` keeps row `i`. The key before a lane's is its neighbour's,
    // or the last of the row before.
    let mut last = K::of(0);
    if s.branch(lane == 0 && first > 0 && first < n) {
        [last] = sorted.keys::<S, K, 1, 32>(s, &call.elements, first - 1, n);
    }
    let mut rows = 0;
    i = 0;
    while i < OWN {
        let at = first + 32 * i as u32;
        let turned = s.shuffle_idx(ALL, keys[i], (lane + 31) & 31);
        let before = if lane == 0 { last } else { turned };
        let row = s.ballot(ALL, at < n && (at == 0 || before != keys[i]));
        rows = if lane == i as u32 { row } else { rows };
        last = turned;
        i += 1;
    }
    let (before, all) = scan(s, warps, rows.count_ones());
    let found = Found::<OWN> { rows, before, first, n };
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
    if s.branch(call.at.values != 0 && call.as_is == 0) {
        let room = words.cast::<K>();
        found.heads(s, |i, _, to| s.put(room, to, keys[i]));
        s.barrier();
        let of_tiles = s.get(number, 1);
        each(s, tid, all, |i| {
            let bits = element(s, call.at.state, &call.elements, s.get(room, i));
            write(s, call.at.values, call.elements.size, (of_tiles + i) as usize, bits);
        });
    }
    s.barrier();
    let of_tiles = s.get(number, 1);
    if s.branch(call.at.starts != 0 || call.at.first != 0 || call.as_is != 0) {
        found.heads(s, |_, at, to| s.put(words, to, at));
        s.barrier();
        each(s, tid, all, |i| {
            let (at, to) = (s.get(words, i), (of_tiles + i) as usize);
            if s.branch(call.at.starts != 0) {
                s.store(array::<u32>(call.at.starts), to, at);
            }
            if s.branch(call.at.first != 0) {
                s.store(array::<u64>(call.at.first), to, sorted.position(s, at) as u64);
            }
            if s.branch(call.as_is != 0 && call.at.values != 0) {
                let [bits] = read::<S, 1>(s, call.at.input, call.elements.size, at as u64, 1, call.n);
                write(s, call.at.values, call.elements.size, to, bits);
            }
        });
    }
    if s.branch(call.at.inverse != 0) {
        found.each(s, |_, at, up_to, _| {
            let like = of_tiles + up_to - 1;
            s.store(array::<u64>(call.at.inverse), sorted.position(s, at) as usize, like as u64);
        });
    }
    if s.branch(tid == 0 && tile + 1 == s.grid_dim_x()) {
        s.store(state.words(), FOUND, of_tiles + all);
        if s.branch(call.at.starts != 0) {
            s.store(array::<u32>(call.at.starts), (of_tiles + all) as usize, n);
        }
    }
}

/// The heads of a warp's rows.
struct Found<const OWN: usize> {
    /// The row of this lane's number.
    rows: u32,
    /// The tile's heads before it.
    before: u32,
    /// The number of this thread's first key.
    first: u32,
    n: u32,
}

impl<const OWN: usize> Found<OWN> {
    /// Each key of this thread: which it is, its number, how many heads of the tile there are up to it, and whether it
    /// is one.
    #[inline(always)]
    fn each<S: Simt>(&self, s: &S, mut f: impl FnMut(usize, u32, u32, bool)) {
        let (lane, mut i) = (s.lane(), 0);
        while i < OWN {
            let at = self.first + 32 * i as u32;
            let row = s.shuffle_idx(ALL, self.rows, i as u32);
            let before = s.shuffle_idx(ALL, self.before, i as u32);
            if s.branch(at < self.n) {
                let up_to = before + (row & (u32::MAX >> (31 - lane))).count_ones();
                f(i, at, up_to, row >> lane & 1 != 0);
            }
            i += 1;
        }
    }

    /// Those that are heads, and which of the tile's.
    #[inline(always)]
    fn heads<S: Simt>(&self, s: &S, mut f: impl FnMut(usize, u32, u32)) {
        self.each(s, |i, at, up_to, is_head| {
            if s.branch(is_head) {
                f(i, at, up_to - 1);
            }
        });
    }
}

params! {
    #[derive(Default)]
    /// Where starts are, and where counts go.
    pub struct CountsAt {
        /// `u32`, as [`HeadsAt::starts`], or offsets of groups.
        pub starts: u64,
        /// `i64` of each.
        pub counts: u64,
        /// [`State`], which says how many there are; 0: `most`.
        pub state: u64,
    }

    /// How often each distinct key occurs.
    pub struct Counts at CountsAt {
        /// How many at most.
        pub most: u64,
    }
}

/// Differences of neighbours.
#[inline(always)]
pub fn counts<S: Simt>(s: &S, call: &Counts) {
    let starts = array::<u32>(call.at.starts);
    let found =
        if s.branch(call.at.state != 0) { s.load(State::at(call.at.state).words(), FOUND) as u64 } else { call.most };
    let mut at = s.block_x() as u64 * THREADS as u64 + s.thread_x() as u64;
    while s.again(at < found) {
        let many = s.load(starts, at as usize + 1) - s.load(starts, at as usize);
        s.store(array::<u64>(call.at.counts), at as usize, many as u64);
        at += s.grid_dim_x() as u64 * THREADS as u64;
    }
}
