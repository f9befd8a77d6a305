//! From the counts of pieces to where each piece's digits go in its bucket, and how many a bucket has of each digit.
//!
//! A block scans the rows of a bucket in a slice of the digits: its threads share them out, add up what they have, and
//! go over the rows again. The block of the first slice also finds the first label of no group.

use crate::address::array;
use crate::sort::key::read;
use crate::sort::state::of_special;
use crate::split::piece::start;
use crate::split::{DIGITS, Split, THREADS};
use warpfold_simt::{ALL, Global, Simt};

/// Rows that a thread reads at a time.
const OWN: usize = 8;

/// The only one.
#[inline(always)]
pub fn kernel<S: Simt>(s: &S, call: &Split) {
    let sums = s.shared::<u32, { THREADS as usize }, 0>("sums of threads");
    if call.is_off(s) {
        return;
    }
    // Powers of two, whose logarithms these are.
    let (tid, digits) = (s.thread_x(), DIGITS.ilog2() - call.slices);
    let shares = THREADS.ilog2() - digits;
    let (digit, share) = (tid & ((1 << digits) - 1), tid >> digits);
    let mut item = s.block_x();
    while s.again(item < call.buckets << call.slices) {
        let (bucket, slice) = (item >> call.slices, item & ((1 << call.slices) - 1));
        let (from, to) = (start(s, call, bucket), start(s, call, bucket + 1));
        let (mut first, mut count) = (bucket, 0);
        if s.branch(from < to) {
            first = bucket + from / call.chunk.max(1);
            count = bucket + (to - 1) / call.chunk.max(1) + 1 - first;
        }
        let each = (count + (1 << shares) - 1) >> shares;
        let (at, end) = (first + (share * each).min(count), first + ((share + 1) * each).min(count));
        let rows = array::<u32>(call.at.rows).offset(((slice << digits) + digit) as usize);
        let mut sum = 0;
        let mut row = at;
        while s.again(row < end) {
            sum += some(s, rows, row, end).iter().sum::<u32>();
            row += OWN as u32;
        }
        s.put(sums, tid, sum);
        s.barrier();
        let (mut before, mut all) = (0, 0);
        for other in 0..1 << shares {
            let x = s.get(sums, (other << digits) + digit);
            before += if other < share { x } else { 0 };
            all += x;
        }
        row = at;
        while s.again(row < end) {
            let counts = some(s, rows, row, end);
            let mut i = 0;
            while i < OWN {
                if s.branch(row + (i as u32) < end) {
                    s.store(rows, (row as usize + i) * DIGITS as usize, before);
                }
                before += counts[i];
                i += 1;
            }
            row += OWN as u32;
        }
        if s.branch(share == 0) {
            s.store(array::<u32>(call.at.totals), (bucket * DIGITS + (slice << digits) + digit) as usize, all);
        }
        s.barrier();
        item += s.grid_dim_x();
    }
    if s.branch(call.first != 0 && s.block_x() == 0 && tid < 32) {
        say(s, call);
    }
}

/// Counts of rows from number `row`; zero from `end` on.
#[inline(always)]
fn some<S: Simt>(s: &S, rows: Global<u32>, row: u32, end: u32) -> [u32; OWN] {
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |i| {
            let row = row as usize + i;
            if s.branch(row < end as usize) { s.load(rows, row * DIGITS as usize) } else { 0 }
        },
    )
}

/// Says which label of no group is the first of all.
#[inline(always)]
fn say<S: Simt>(s: &S, call: &Split) {
    let (mut special, mut chunk) = (0, s.lane());
    while s.again(chunk < call.chunks) {
        special = special.max(s.load(array::<u32>(call.at.firsts), chunk as usize));
        chunk += 32;
    }
    for by in [1, 2, 4, 8, 16] {
        special = special.max(s.shuffle_xor(ALL, special, by));
    }
    if s.branch(s.lane() == 0) {
        let said = array::<u32>(call.at.said);
        s.store(said, 0, special);
        if s.branch(special != 0)
            && let Some((at, _)) = of_special(special)
        {
            let [label] = read::<S, 1>(s, call.at.labels, call.elements.size, at as u64, 1, call.n);
            s.store(said, 1, label as u32);
            s.store(said, 2, (label >> 32) as u32);
        }
    }
}
