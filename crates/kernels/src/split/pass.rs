//! Parts a list by a digit, stable. A block has a chunk.
//!
//! A tile is put in order in shared memory (`tile.rs`), so that neighbours of one digit are written side
//! by side. Where a digit goes is known from the counts of all chunks before, and the block counts on by itself.

use crate::address::array;
use crate::split::piece::{NONE, Piece, Pieces, labels};
use crate::split::tile::{OWN, Room, STEP, TILE, place, ranks};
use crate::split::{DIGITS, Split, THREADS};
use warpfold_simt::{Order, Shared, Simt};

/// The only one. A thread has two digits.
#[inline(always)]
pub fn kernel<S: Simt>(s: &S, call: &Split) {
    const { assert!(THREADS * 2 == DIGITS && 2 * TILE <= STEP * THREADS / 32) };
    // The counters; then each element's label and value.
    let counters = s.shared::<u32, { (STEP * THREADS / 32) as usize }, 0>("elements in order");
    let shifts = s.shared::<u32, { DIGITS as usize }, 1>("from places to targets");
    let begins = s.shared::<u32, { DIGITS as usize + 1 }, 2>("where digits begin");
    let sums = s.shared::<u32, { THREADS as usize / 32 }, 3>("sums of warps");
    let found = s.shared::<u32, 1, 4>("whether a bucket is too long");
    let room = Room { counters, sums, begins, warps: THREADS / 32 };
    if call.is_off(s) {
        return;
    }
    let tid = s.thread_x();
    let mut pieces = Pieces::of(s, call, s.block_x());
    while let Some(piece) = pieces.next(s, call) {
        let row = (piece.bucket * DIGITS + 2 * tid) as usize / 2;
        let own = s.load(array::<u64>(call.at.totals), row);
        let own = [own as u32, (own >> 32) as u32];
        let (before, all) = crate::block::scan_of(s, sums, own[0] + own[1], room.warps);
        let mut to = [piece.start + before, piece.start + before + own[0]];
        if s.branch(piece.is_first) {
            write_starts(s, call, &piece, to, piece.start + all);
            if s.branch(call.first != 0) {
                say(s, call, found, own[0].max(own[1]) > call.most);
            }
        }
        if s.branch(piece.from < piece.to) {
            let row = ((piece.bucket + s.block_x()) * DIGITS + 2 * tid) as usize / 2;
            let before = s.load(array::<u64>(call.at.rows), row);
            to[0] += before as u32;
            to[1] += (before >> 32) as u32;
        }
        let mut at = piece.from;
        while s.again(at < piece.to) {
            s.barrier();
            to = tile(s, call, room, shifts, to, at, piece.to);
            at += TILE;
        }
        s.barrier();
    }
}

/// Moves the elements of a tile. A thread's digits go to `to`, and those of the next tile to what is returned.
#[inline(always)]
fn tile<S: Simt>(s: &S, call: &Split, room: Room, shifts: Shared<u32>, to: [u32; 2], at: u32, end: u32) -> [u32; 2] {
    let (tid, pairs) = (s.thread_x(), room.counters.cast::<u64>());
    let first = at + s.warp() * 32 * OWN as u32 + s.lane();
    let keys: [u32; OWN] = labels(s, call, false, first, 32, end);
    let digit = |key: u32, low: u32| if key == NONE { DIGITS } else { key >> low };
    let mut order = ranks::<S, OWN, { OWN / 2 }>(
        s,
        room,
        OWN as u32,
        #[inline(always)]
        |i| digit(keys[i], call.low),
    );
    // Anew: digits that were kept would take as many registers as keys.
    let low = s.anew(call.low);
    place::<S, OWN, { OWN / 2 }>(
        s,
        room,
        &mut order,
        #[inline(always)]
        |i| digit(keys[i], low),
    );
    s.barrier();
    // Anew, as places that were kept since the labels were read would take registers, too.
    let first = s.anew(first);
    let values: [u32; OWN] = warpfold_simt::array::from_fn(
        #[inline(always)]
        |i| s.load_stream(array::<u32>(call.at.values), (first + 32 * i as u32).min(end - 1) as usize),
    );
    let mut i = 0;
    while i < OWN {
        if s.branch(keys[i] != NONE) {
            s.put(pairs, order.of(i), keys[i] as u64 | (values[i] as u64) << 32);
        }
        i += 1;
    }
    let begin = |digit: u32| s.get(room.begins, digit);
    let ends = [begin(2 * tid), begin(2 * tid + 1), begin(2 * tid + 2)];
    s.put(shifts, 2 * tid, to[0].wrapping_sub(ends[0]));
    s.put(shifts, 2 * tid + 1, to[1].wrapping_sub(ends[1]));
    let many = begin(DIGITS);
    s.barrier();
    let rest = (1 << call.low) - 1;
    i = 0;
    while i < OWN {
        let slot = i as u32 * THREADS + tid;
        if s.branch(slot < many) {
            let pair = s.get(pairs, slot);
            let key = pair as u32;
            let target = s.get(shifts, key >> call.low).wrapping_add(slot) as usize;
            s.store(array::<u32>(call.at.moved), target, (pair >> 32) as u32);
            if s.branch(call.at.rests != 0) {
                s.store(array::<u16>(call.at.rests), target, (key & rest) as u16);
            }
        }
        i += 1;
    }
    [to[0] + (ends[1] - ends[0]), to[1] + (ends[2] - ends[1])]
}

/// Writes down where the digits of a bucket begin, and where the last bucket ends.
#[inline(always)]
fn write_starts<S: Simt>(s: &S, call: &Split, piece: &Piece, from: [u32; 2], end: u32) {
    let starts = array::<u32>(call.at.starts);
    let mut k = 0;
    while k < 2 {
        let digit = 2 * s.thread_x() + k as u32;
        let part = piece.bucket * call.digits + digit;
        if s.branch(digit < call.digits && part < call.parts) {
            s.store(starts, part as usize, from[k]);
        }
        k += 1;
    }
    if s.branch(piece.bucket + 1 == call.buckets && s.thread_x() == 0) {
        s.store(starts, call.parts as usize, end);
    }
}

/// Says whether there is a bucket that only a second part reduces.
#[inline(always)]
fn say<S: Simt>(s: &S, call: &Split, found: Shared<u32>, is_long: bool) {
    if s.branch(s.thread_x() == 0) {
        s.put(found, 0, 0);
    }
    s.barrier();
    if s.branch(is_long) {
        s.atomic_or_shared(found, 0, 1, Order::Relaxed);
    }
    s.barrier();
    if s.branch(s.thread_x() == 0) {
        s.store_volatile(array::<u32>(call.at.again), 0, s.get(found, 0));
    }
}
