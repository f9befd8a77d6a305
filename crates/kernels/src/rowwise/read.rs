//! A warp's packs from memory: rows begin at any address.
//!
//! Idea: rows that begin with lines of 16 bytes are read by lines. Of others a lane reads its packs by words, which its
//! neighbours find in the same lines of the first-level cache: nothing is exchanged. Lines that wait in shared memory
//! (`staged`) have packs in two, so a lane gets what follows its line from the next one, and shifts both into place.
//! The packs with which the array ends are read by elements. A warp whose packs are all in the midst of a row and of
//! the array (`inside`) does not check each of them.

use super::spread::{Place, Spread};
use crate::address::array;
use crate::node::select;
use crate::reduce::shape::piece::{below, joined, loose};
use crate::source::{Bits, kept, words};
use warpfold_simt::{ALL, Pack, Simt};

/// A row's lines of 16 bytes.
#[derive(Clone, Copy)]
pub(super) struct Lines {
    /// The address of the first.
    pub(super) first: u64,
    /// Bytes from there to the row.
    shift: u32,
    /// How many that have something of the row can be read.
    pub(super) readable: u32,
}

impl Lines {
    #[inline(always)]
    pub(super) fn of<B: Bits>(place: &Place, end: u64) -> Self {
        let (first, shift) = (place.input & !15, place.input as u32 & 15);
        let count = if place.valid == 0 { 0 } else { (shift + place.valid * B::SIZE).div_ceil(16) };
        let beyond = first + 16 * count as u64 > end;
        Self { first, shift, readable: count.saturating_sub(beyond as u32) }
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
        Self { first, shift: shift as u32, readable: count.saturating_sub(beyond as u32) }
    }

    #[inline(always)]
    fn read<S: Simt>(&self, s: &S, line: u32) -> [u32; 4] {
        words(s, array(self.first + 16 * line as u64), 16)
    }
}

/// Whether the lines in which a pack at an address lies end before the array does.
#[inline(always)]
fn fits(at: u64, end: u64) -> bool {
    ((at + 31) & !15) <= end
}

/// Whether rows have all packs of all lanes of a warp, [`Spread::WARP`], and the array does not end in the line after
/// any.
#[inline(always)]
fn is_inside<S: Simt, B: Bits, const N: usize>(s: &S, end: u64, place: impl Fn(u32) -> Place) -> bool {
    let (mut inside, mut k) = (true, 0);
    while k < N as u32 {
        inside &= place(k).valid >= (k + 1) * 32 * B::PER;
        k += 1;
    }
    // There are two rows at most.
    let furthest = |k: u32| place(k).input.wrapping_add(16 * (32 * N as u64 + 1));
    s.branch(inside && furthest(0) <= end && furthest(N as u32 - 1) <= end)
}

/// A lane's packs. `place` says where the row of each step is, `line` what the lane's line of each step is and at which
/// address, and `end` where the array ends. Elements that the row does not have are `blank`. Whether all rows begin
/// with a line, whether all end with one, too, and whether `line` may be elsewhere than in memory. If `WARP`, `spread`
/// is [`Spread::WARP`].
#[inline(always)]
pub fn read<S: Simt, B: Bits, const WARP: bool, const N: usize>(
    s: &S,
    spread: Spread<N>,
    end: u64,
    [aligned, whole, staged]: [bool; 3],
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
                w[k] = line(k as u32, place.input.wrapping_add(spread.pack_at(k as u32, lane, 16)));
            }
            k += 1;
        }
        return w;
    }
    // Wider elements wait for memory.
    let inside = WARP && B::SIZE == 2 && is_inside::<S, B, N>(s, end, &place);
    if !staged && s.branch(!aligned) {
        if inside {
            return by_words_inside::<S, N>(s, &place);
        }
        return by_words::<S, B, N>(s, spread, end, blank, &place);
    }
    if inside {
        return by_lines::<S, B, true, N>(s, spread, end, aligned, line, &place);
    }
    let mut w = by_lines::<S, B, false, N>(s, spread, end, aligned, line, &place);
    let (mut beyond, mut k) = (false, 0);
    while k < N {
        let (place, pack) = (place(k as u32), spread.pack(k as u32, lane));
        let count = place.count(pack, B::PER);
        if s.branch(count < B::PER) {
            w[k] = blanked(w[k], count, blank);
        }
        beyond |= count > 0 && !fits(place.input.wrapping_add(16 * pack as u64), end);
        k += 1;
    }
    if s.branch(beyond) {
        w = by_elements(s, spread, end, blank, w, place);
    }
    w
}

/// The same packs, of which those whose lines do not all lie in the array are read by elements.
#[inline(always)]
fn by_elements<S: Simt, B: Bits, const N: usize>(
    s: &S,
    spread: Spread<N>,
    end: u64,
    blank: B,
    mut w: [[u32; 4]; N],
    place: impl Fn(u32) -> Place,
) -> [[u32; 4]; N] {
    let (mut k, steps) = (0, s.opaque(N as u32));
    while s.again(k < steps) {
        let (place, pack) = (place(k), spread.pack(k, s.lane()));
        let (count, at) = (place.count(pack, B::PER), place.input.wrapping_add(16 * pack as u64));
        if s.branch(count > 0 && !fits(at, end)) {
            let own = blanked(loose::<S, B>(s, array(at), count), count, blank);
            w = warpfold_simt::array::from_fn(
                #[inline(always)]
                |j| select(j as u32 == k, Pack(own), Pack(w[j])).0,
            );
        }
        k += 1;
    }
    w
}

/// Packs that begin anywhere, by the words of memory that have something of them.
#[inline(always)]
fn by_words<S: Simt, B: Bits, const N: usize>(
    s: &S,
    spread: Spread<N>,
    end: u64,
    blank: B,
    place: impl Fn(u32) -> Place,
) -> [[u32; 4]; N] {
    let lane = s.lane();
    let at = |k: u32| place(k).input.wrapping_add(spread.pack_at(k, lane, 16));
    // Where the array goes on after all packs, what follows a row is read, too.
    let (mut fits, mut k) = (true, 0);
    while k < N as u32 {
        fits &= at(k).wrapping_add(20) <= end;
        k += 1;
    }
    let fits = s.branch(s.all(ALL, fits));
    // Elements of 16 bits may end in the midst of a word that is not all the array's.
    let is_whole = B::SIZE >= 4 || end & 3 == 0;
    let (mut words, mut k) = ([[0; 5]; N], 0);
    while fits && k < N {
        words[k] = words_from::<S, B>(s, at(k as u32), if place(k as u32).valid > 0 { i32::MAX } else { 0 });
        k += 1;
    }
    k = 0;
    while !fits && k < N {
        let (place, pack, at) = (place(k as u32), spread.pack(k as u32, lane), at(k as u32));
        // Bytes from the first word to the row's end, or to that of the array's whole words.
        let all = (place.input as u32 & 3) + place.valid * B::SIZE;
        let mut left = if place.valid > 0 { all as i32 - (16 * pack) as i32 } else { 0 };
        if s.branch(!is_whole) {
            left = left.min(((end & !3) as i64 - (at & !3) as i64).clamp(0, 20) as i32);
        }
        words[k] = words_from::<S, B>(s, at, left);
        k += 1;
    }
    let (mut w, mut k) = ([[0; 4]; N], 0);
    while k < N {
        let (from, place) = (words[k], place(k as u32));
        let mut i = 0;
        while i < 4 {
            let shift = 8 * (place.input as u32 & 3);
            w[k][i] = if B::SIZE < 4 { s.funnel(from[i], from[i + 1], shift) } else { from[i] };
            i += 1;
        }
        let count = place.count(spread.pack(k as u32, lane), B::PER);
        if s.branch(count < B::PER) {
            w[k] = blanked(w[k], count, blank);
        }
        k += 1;
    }
    if B::SIZE < 4 && s.branch(!fits && !is_whole) {
        w = by_elements(s, spread, end, blank, w, place);
    }
    w
}

/// The words that have something of a pack at an address, of which so many bytes are left from the first one on.
#[inline(always)]
fn words_from<S: Simt, B: Bits>(s: &S, at: u64, left: i32) -> [u32; 5] {
    let (mut w, mut i) = ([0; 5], 0);
    let from = array::<u8>(if B::SIZE < 4 { at & !3 } else { at });
    while B::SIZE >= 8 && i < 2 {
        if s.branch(left > 8 * i as i32) {
            let both = kept(s, from.offset(8 * i), 8);
            (w[2 * i], w[2 * i + 1]) = (both[0], both[1]);
        }
        i += 1;
    }
    while B::SIZE < 8 && i < 4 {
        if s.branch(left > 4 * i as i32) {
            w[i] = kept(s, from.offset(4 * i), 4)[0];
        }
        i += 1;
    }
    if B::SIZE < 4 && s.branch(left > 16 && at & 3 != 0) {
        w[4] = kept(s, from.offset(16), 4)[0];
    }
    w
}

/// The same of elements of 16 bits in the midst of a row.
#[inline(always)]
fn by_words_inside<S: Simt, const N: usize>(s: &S, place: impl Fn(u32) -> Place) -> [[u32; 4]; N] {
    let lane = s.lane();
    let words: [[u32; 5]; N] = warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| {
            let at = place(k as u32).input.wrapping_add(Spread::<N>::WARP.pack_at(k as u32, lane, 16));
            let (from, mut w, mut i) = (array::<u8>(at & !3), [0; 5], 0);
            while i < 5 {
                w[i] = kept(s, from.offset(4 * i), 4)[0];
                i += 1;
            }
            w
        },
    );
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| {
            let (w, shift) = (words[k], 8 * (place(k as u32).input as u32 & 3));
            warpfold_simt::array::from_fn(
                #[inline(always)]
                |i| s.funnel(w[i], w[i + 1], shift),
            )
        },
    )
}

/// Packs in lines, which lanes exchange if rows do not begin with lines, but for those that do not fit. All do, and
/// `spread` is [`Spread::WARP`], if `INSIDE`.
#[inline(always)]
fn by_lines<S: Simt, B: Bits, const INSIDE: bool, const N: usize>(
    s: &S,
    spread: Spread<N>,
    end: u64,
    aligned: bool,
    line: impl Fn(u32, u64) -> [u32; 4],
    place: impl Fn(u32) -> Place,
) -> [[u32; 4]; N] {
    let (lane, lines) = (s.lane(), |k: usize| Lines::of::<B>(&place(k as u32), end));
    let (mut w, mut k) = ([[0; 4]; N], 0);
    while k < N {
        let lines = lines(k);
        if INSIDE {
            w[k] = line(k as u32, lines.first.wrapping_add(Spread::<N>::WARP.pack_at(k as u32, lane, 16)));
        } else if s.branch(lines.readable > 0) {
            // Beyond the last line it is that one again, which costs no memory.
            let own = spread.pack(k as u32, lane).min(lines.readable - 1);
            w[k] = line(k as u32, lines.first + 16 * own as u64);
        }
        k += 1;
    }
    if !s.branch(!aligned) {
        return w;
    }
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
        if s.branch(ends && is_last && (INSIDE || lines.readable > line)) {
            follows = lines.read(s, line);
        }
        w[k] = if lines.shift == 0 { w[k] } else { joined::<B>(w[k], follows, lines.shift) };
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
            if B::SIZE >= 4 {
                let is_there = count * B::SIZE > 4 * i as u32;
                return if is_there { w[i] } else { word };
            }
            let keep = below(count * B::SIZE, i);
            (w[i] & keep) | (word & !keep)
        },
    )
}
