//! A warp's packs from memory: rows begin at any address.
//!
//! Idea: memory is read in lines of 16 bytes at multiples of 16, in which a row of another address has its packs in
//! two. Then each lane gets what follows its line from the next lane, and shifts both into place. The line in which the
//! array ends is read by elements.

use super::spread::{Place, Spread};
use crate::address::array;
use crate::node::select;
use crate::reduce::shape::piece::{below, joined, loose};
use crate::source::{Bits, words};
use warpfold_simt::{ALL, Pack, Simt};

/// A row's lines of 16 bytes.
#[derive(Clone, Copy)]
pub(super) struct Lines {
    /// The address of the first.
    pub(super) first: u64,
    /// Bytes from there to the row.
    shift: u32,
    /// How many have something of the row.
    count: u32,
    /// How many of these can be read.
    pub(super) readable: u32,
}

impl Lines {
    #[inline(always)]
    fn of<B: Bits>(place: &Place, end: u64) -> Self {
        let (first, shift) = (place.input & !15, place.input as u32 & 15);
        let count = if place.valid == 0 { 0 } else { (shift + place.valid * B::SIZE).div_ceil(16) };
        let beyond = first + 16 * count as u64 > end;
        Self { first, shift, count, readable: count.saturating_sub(beyond as u32) }
    }

    /// Up to `most` lines of a row at `row` of `len` elements, from that on in which its element number `at` would be
    /// if the row began with a line. The array ends at `end`.
    #[inline(always)]
    pub(super) fn from<B: Bits>(row: u64, at: u64, len: u64, most: u32, end: u64) -> Self {
        let (begin, shift) = (row & !15, row & 15);
        let (from, to) = (at * B::SIZE as u64, shift + len * B::SIZE as u64);
        let count = to.saturating_sub(from).div_ceil(16).min(most as u64) as u32;
        let first = begin + from;
        let beyond = first + 16 * count as u64 > end;
        Self { first, shift: shift as u32, count, readable: count.saturating_sub(beyond as u32) }
    }

    #[inline(always)]
    fn read<S: Simt>(&self, s: &S, line: u32) -> [u32; 4] {
        words(s, array(self.first + 16 * line as u64), 16)
    }
}

/// A lane's packs. `place` says where the row of each step is, `line` what the lane's line of each step is and at which
/// address, and `end` where the array ends. Elements that the row does not have are `blank`. Whether all rows begin
/// with a line, and whether all end with one, too.
#[inline(always)]
pub fn read<S: Simt, B: Bits, const N: usize>(
    s: &S,
    spread: Spread<N>,
    end: u64,
    [aligned, whole]: [bool; 2],
    blank: B,
    line: impl Fn(u32, u64) -> [u32; 4],
    place: impl Fn(u32) -> Place,
) -> [[u32; 4]; N] {
    let lane = s.lane();
    if s.branch(aligned && whole) {
        let (mut w, mut k) = ([blanked([0; 4], 0, blank); N], 0);
        while k < N {
            let (place, pack) = (place(k as u32), spread.pack(k as u32, lane));
            if s.branch(pack * B::PER < place.valid) {
                w[k] = line(k as u32, place.input.wrapping_add(16 * pack as u64));
            }
            k += 1;
        }
        return w;
    }
    let lines = |k: usize| Lines::of::<B>(&place(k as u32), end);
    let (mut w, mut beyond, mut k) = ([[0; 4]; N], false, 0);
    while k < N {
        let lines = lines(k);
        beyond |= lines.readable < lines.count;
        if s.branch(lines.readable > 0) {
            // Beyond the last line it is that one again, which costs no memory.
            let own = spread.pack(k as u32, lane).min(lines.readable - 1);
            w[k] = line(k as u32, lines.first + 16 * own as u64);
        }
        k += 1;
    }
    if s.branch(!aligned) {
        let own = spread.own(lane);
        let (next, is_last) = (spread.lane(lane, own + 1), own + 1 == spread.lanes());
        let mut k = 0;
        while k < N {
            let lines = lines(k);
            let after = if k + 1 < N { w[k + 1] } else { [0; 4] };
            let mut follows: [u32; 4] = warpfold_simt::array::from_fn(
                #[inline(always)]
                |i| {
                    // As many words as a pack may have of its second line.
                    if 4 * i as u32 >= 16 - B::SIZE {
                        return 0;
                    }
                    s.shuffle_idx(ALL, if own == 0 { after[i] } else { w[k][i] }, next)
                },
            );
            let mut ends = spread.step(k as u32) + 1 == spread.steps();
            if k + 1 < N {
                // Another row may follow.
                ends |= place(k as u32 + 1).input != place(k as u32).input;
            }
            let line = spread.pack(k as u32, lane) + 1;
            if s.branch(ends && is_last && lines.readable > line) {
                follows = lines.read(s, line);
            }
            w[k] = if lines.shift == 0 { w[k] } else { joined::<B>(w[k], follows, lines.shift) };
            k += 1;
        }
    }
    if s.branch(beyond) {
        let (mut k, steps) = (0, s.opaque(N as u32));
        while s.again(k < steps) {
            let (place, pack) = (place(k), spread.pack(k, lane));
            let lines = Lines::of::<B>(&place, end);
            let count = place.count(pack, B::PER);
            if s.branch(count > 0 && lines.shift + 16 * pack + count * B::SIZE > 16 * lines.readable) {
                let own = loose::<S, B>(s, array(place.input + 16 * pack as u64), count);
                w = warpfold_simt::array::from_fn(
                    #[inline(always)]
                    |j| select(j as u32 == k, Pack(own), Pack(w[j])).0,
                );
            }
            k += 1;
        }
    }
    let mut k = 0;
    while k < N {
        let count = place(k as u32).count(spread.pack(k as u32, lane), B::PER);
        if s.branch(count < B::PER) {
            w[k] = blanked(w[k], count, blank);
        }
        k += 1;
    }
    w
}

/// Lines where they are.
#[inline(always)]
pub fn from_memory<S: Simt>(s: &S) -> impl Fn(u32, u32, u64) -> [u32; 4] {
    move |_, _, at| words(s, array(at), 16)
}

/// A pack whose elements from `count` on are `blank`.
#[inline(always)]
fn blanked<B: Bits>(w: [u32; 4], count: u32, blank: B) -> [u32; 4] {
    let bits = blank.to_bits();
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |i| {
            let word = match B::SIZE {
                2 => bits as u32 * 0x1_0001,
                8 => (bits >> (32 * (i % 2))) as u32,
                _ => bits as u32,
            };
            let keep = below(count * B::SIZE, i);
            (w[i] & keep) | (word & !keep)
        },
    )
}
