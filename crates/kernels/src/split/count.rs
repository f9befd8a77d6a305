//! How often each digit occurs in each piece, and the first label of no group. A block has a chunk.
//!
//! A digit has a counter in each of some columns, and a lane counts in its own column, so that equal digits do not all
//! wait for each other. Bottleneck: shared memory, beside memory.

use crate::address::array;
use crate::sort::key::{label, read};
use crate::sort::state::special;
use crate::split::piece::{NONE, Pieces, labels};
use crate::split::{DIGITS, Split, THREADS};
use warpfold_simt::{ALL, Order, Simt};

/// Labels that a thread reads at a time.
const OWN: usize = 8;
/// Counters of a digit: 16 KiB in all.
const COLUMNS: u32 = 4;

/// The only one.
#[inline(always)]
pub fn kernel<S: Simt>(s: &S, call: &Split) {
    let counts = s.shared::<u32, { (DIGITS * COLUMNS) as usize }, 0>("counts");
    let specials = s.shared::<u32, { (THREADS / 32) as usize }, 1>("specials of warps");
    if call.is_off(s) {
        return;
    }
    let (tid, column) = (s.thread_x(), s.lane() % COLUMNS);
    let mut pieces = Pieces::of(s, call, s.block_x());
    let mut special = 0;
    while let Some(piece) = pieces.next(s, call) {
        if s.branch(piece.from >= piece.to) {
            continue;
        }
        let mut i = tid;
        while s.again(i < DIGITS * COLUMNS) {
            s.put(counts, i, 0);
            i += THREADS;
        }
        s.barrier();
        let mut at = piece.from;
        while s.again(at < piece.to) {
            let found: [u32; OWN] = labels(s, call, at + OWN as u32 * THREADS <= piece.to, at + tid, THREADS, piece.to);
            let mut i = 0;
            while i < OWN {
                if s.branch(found[i] != NONE) {
                    let slot = (found[i] >> call.low) * COLUMNS + column;
                    s.atomic_add_shared(counts, slot, 1u32, Order::Relaxed);
                }
                i += 1;
            }
            // Those that follow come later.
            if s.branch(call.first != 0 && special == 0) {
                special = first_of(s, call, &found, at + tid, piece.to);
            }
            at += OWN as u32 * THREADS;
        }
        s.barrier();
        let row = (piece.bucket + s.block_x()) as usize * DIGITS as usize;
        let mut digit = tid;
        while s.again(digit < DIGITS) {
            let mut many = 0;
            for k in 0..COLUMNS {
                // Neighbours begin in other columns, which are other banks.
                many += s.get(counts, digit * COLUMNS + (k + digit / (32 / COLUMNS)) % COLUMNS);
            }
            s.store(array::<u32>(call.at.rows), row + digit as usize, many);
            digit += THREADS;
        }
        s.barrier();
    }
    if s.branch(call.first == 0) {
        return;
    }
    for by in [1, 2, 4, 8, 16] {
        special = special.max(s.shuffle_xor(ALL, special, by));
    }
    if s.branch(s.lane() == 0) {
        s.put(specials, s.warp(), special);
    }
    s.barrier();
    if s.branch(tid == 0) {
        let mut found = 0;
        for warp in 0..THREADS / 32 {
            found = found.max(s.get(specials, warp));
        }
        s.store(array::<u32>(call.at.firsts), s.block_x() as usize, found);
    }
}

/// The first of these labels that is neither a group's nor -1.
#[inline(always)]
fn first_of<S: Simt>(s: &S, call: &Split, found: &[u32; OWN], first: u32, end: u32) -> u32 {
    let (mut special_of, mut i) = (0, 0);
    while i < OWN {
        let at = (first + i as u32 * THREADS) as u64;
        if s.branch(found[i] == NONE && at < end as u64) {
            let [raw] = read::<S, 1>(s, call.at.labels, call.elements.size, at, 1, call.n);
            if s.branch(label(raw, &call.elements).1) {
                special_of = special(at, 0).max(special_of);
            }
        }
        i += 1;
    }
    special_of
}
