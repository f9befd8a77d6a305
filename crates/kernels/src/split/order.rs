//! The order of a tile's digits: where each element goes, stable, and where each digit begins.
//!
//! A warp has some rows of 32 neighbours, and a counter for each digit, two to a word. It first adds up how often it
//! has each digit ([`tally`]); then counters become where the warp's digits begin in the tile ([`begin`]); and an
//! addition gives each lane its place ([`place`]). Equal digits of a row may get theirs in any order, so where there
//! are some (the counter then has more than the lane has made of it), lanes find their equals by votes. Where one digit
//! has much of a row, it is added at once, as lanes that add to one word wait for each other.
//! Bottleneck: integer instructions and latency.

use crate::block::scan_of;
use crate::split::piece::NONE;
use crate::split::{DIGITS, WIDE};
use warpfold_simt::{ALL, Order, Pack, Shared, Simt};

/// Warps of a block, which has a thread for each digit.
pub const WARPS: u32 = WIDE / 32;
/// Words of a warp's counters.
pub const WORDS: u32 = DIGITS / 2;
/// A digit that more lanes of a row have is added at once.
const FEW: u32 = 4;

/// Sets a warp's counters to zero.
#[inline(always)]
pub fn clear<S: Simt>(s: &S, own: Shared<u32>) {
    for i in 0..WORDS / 128 {
        s.put(own.cast::<Pack<u32, 4>>(), i * 32 + s.lane(), Pack([0; 4]));
    }
    s.warp_barrier(ALL);
}

/// One for a digit's half of a word.
#[inline(always)]
fn unit<S: Simt>(s: &S, d: u32) -> u32 {
    s.funnel(1, 1, d << 4)
}

/// A digit's half of a word.
#[inline(always)]
fn half<S: Simt>(s: &S, word: u32, d: u32) -> u32 {
    s.funnel(word, word, d << 4) & 0xffff
}

/// Whether much of a row has one digit, that of the first lane.
#[inline(always)]
fn is_heavy<S: Simt>(s: &S, d: u32) -> bool {
    s.ballot(ALL, d == s.shuffle_idx(ALL, d, 0)).count_ones() > FEW
}

/// A row's digits, of which one may have many: which lanes add to a counter, and how much.
#[derive(Clone, Copy)]
struct Row {
    /// Who has the first lane's digit, if these are many; then only the first lane adds.
    same: u32,
    adds: bool,
    count: u32,
}

impl Row {
    #[inline(always)]
    fn of<S: Simt>(s: &S, key: u32, d: u32) -> Self {
        let is_first = d == s.shuffle_idx(ALL, d, 0);
        let same = s.ballot(ALL, is_first);
        let many = same.count_ones();
        if s.branch(many > FEW) {
            let leads = s.lane() == 0;
            return Self { same, adds: key != NONE && (leads || !is_first), count: if leads { many } else { 1 } };
        }
        Self { same: 0, adds: key != NONE, count: 1 }
    }
}

/// Adds the digits of rows to the warp's counters.
#[inline(always)]
pub fn tally<S: Simt, const N: usize>(s: &S, own: Shared<u32>, mut keys: [u32; N]) {
    if s.branch(is_heavy(s, keys[0])) {
        let mut left = s.opaque(N as u32);
        while s.again(left > 0) {
            let d = keys[0];
            let row = Row::of(s, keys[0], d);
            if s.branch(row.adds) {
                s.atomic_add_shared(own, d / 2, row.count * unit(s, d), Order::Relaxed);
            }
            keys = turn(keys);
            left -= 1;
        }
        return;
    }
    let mut i = 0;
    while i < N {
        let d = keys[i];
        if s.branch(keys[i] != NONE) {
            s.atomic_add_shared(own, d / 2, unit(s, d), Order::Relaxed);
        }
        i += 1;
    }
}

/// The next of some first.
#[inline(always)]
fn turn<const N: usize>(x: [u32; N]) -> [u32; N] {
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |i| x[if i + 1 < N { i + 1 } else { 0 }],
    )
}

/// Makes of the counters of all warps where their digits begin: where that of this thread does in the tile, and how
/// often the tile has it. All warps have counted before a barrier, and there must be one after it. `sums` has a word
/// for each warp.
#[inline(always)]
pub fn begin<S: Simt>(s: &S, counters: Shared<u32>, sums: Shared<u32>) -> (u32, u32) {
    // A thread and its neighbour have a word.
    let (word, odd) = (s.thread_x() / 2, s.lane() & 1);
    let of = |warp: u32| s.get(counters, warp * WORDS + word);
    let mut all = 0;
    for warp in 0..WARPS {
        all += of(warp);
    }
    let count = half(s, all, odd);
    let begin = scan_of(s, sums, count, WARPS).0;
    let mut before = begin | s.shuffle_xor(ALL, begin, 1) << 16;
    if s.branch(odd == 0) {
        for warp in 0..WARPS {
            let count = of(warp);
            s.put(counters, warp * WORDS + word, before);
            before += count;
        }
    }
    (begin, count)
}

/// Puts the elements of rows where they go in the tile: `to` gets the place of each that has a digit.
#[inline(always)]
pub fn place<S: Simt, const N: usize>(
    s: &S,
    own: Shared<u32>,
    bits: u32,
    mut keys: [u32; N],
    mut values: [u32; N],
    to: impl Fn(u32, u32, u32),
) {
    if s.branch(is_heavy(s, keys[0])) {
        let mut left = s.opaque(N as u32);
        while s.again(left > 0) {
            let d = keys[0];
            let row = Row::of(s, keys[0], d);
            let mut rank = rank(s, own, d, bits, row);
            if s.branch(row.same != 0) {
                let from = s.shuffle_idx(ALL, rank, 0);
                if row.same >> s.lane() & 1 != 0 {
                    rank = from + (row.same & ((1 << s.lane()) - 1)).count_ones();
                }
            }
            if s.branch(keys[0] != NONE) {
                to(rank, keys[0], values[0]);
            }
            (keys, values) = (turn(keys), turn(values));
            left -= 1;
        }
        return;
    }
    let mut i = 0;
    while i < N {
        let adds = keys[i] != NONE;
        let rank = rank(s, own, keys[i], bits, Row { same: 0, adds, count: 1 });
        if s.branch(adds) {
            to(rank, keys[i], values[i]);
        }
        i += 1;
    }
}

/// The places of a row's elements that add. The others get any.
#[inline(always)]
fn rank<S: Simt>(s: &S, own: Shared<u32>, d: u32, bits: u32, row: Row) -> u32 {
    let (mut old, mut after) = (0, 0);
    if s.branch(row.adds) {
        old = s.atomic_add_shared(own, d / 2, row.count * unit(s, d), Order::Relaxed);
    }
    s.warp_barrier(ALL);
    if s.branch(row.adds) {
        after = s.get(own, d / 2);
    }
    let (mut rank, after) = (half(s, old, d), half(s, after, d));
    // All of some equals but the one that came last.
    let mut open = s.ballot(ALL, row.adds && after != rank + row.count);
    if s.branch(open != 0) {
        let before = (1u32 << s.lane()) - 1;
        if s.branch(open.count_ones() > FEW) {
            let (mut equals, mut bit) = (s.ballot(ALL, row.adds), 0);
            while s.again(bit < bits) {
                let has = d >> bit & 1 != 0;
                let those = s.ballot(ALL, has);
                equals &= if has { those } else { !those };
                bit += 1;
            }
            if row.adds && equals.count_ones() > 1 {
                rank = after - equals.count_ones() + (equals & before).count_ones();
            }
            open = 0;
        }
        while s.again(open != 0) {
            let first = s.shuffle_idx(ALL, d, open.trailing_zeros());
            let equals = s.ballot(ALL, d == first && row.adds);
            if d == first && row.adds {
                rank = after - equals.count_ones() + (equals & before).count_ones();
            }
            open &= !equals;
        }
    }
    s.warp_barrier(ALL);
    rank
}
