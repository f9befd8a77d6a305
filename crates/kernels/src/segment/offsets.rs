//! What a warp knows of the offsets: where its share of the work begins and ends, and a window of them in shared
//! memory.

use crate::address::array;
use crate::reduce::shape::piece::divide;
use crate::reduce::workspace::STATUS;
use crate::segment::call::{COST, LEAST, Segments, SegmentsCall, WARPS};
use warpfold_simt::{ALL, Shared, Simt};

/// Segments of a window, at most.
pub const WINDOW: u32 = 256;
/// Words that [`Share::keep`] needs.
const KEPT: u32 = 6;
/// Words for all of this.
pub const WORDS: u32 = WINDOW + 1 + KEPT;

/// The offsets.
#[derive(Clone, Copy)]
pub struct Offsets {
    at: u64,
    /// The segments.
    pub shape: Segments,
}

impl Offsets {
    /// Those that a kernel is told.
    #[inline(always)]
    pub fn of(call: &SegmentsCall) -> Self {
        Self { at: call.at.offsets, shape: call.shape }
    }

    /// Offset number `i`; a negative one is beyond all elements.
    #[inline(always)]
    pub fn get<S: Simt>(&self, s: &S, i: u64) -> u64 {
        if s.branch(self.shape.size == 8) {
            return s.load(array::<u64>(self.at), i as usize);
        }
        self.widened(s.load(array::<u32>(self.at), i as usize))
    }

    /// A lane's share of offsets from number `first`, and the one `count` further; those that follow that are the same.
    #[inline(always)]
    fn neighbours<S: Simt>(&self, s: &S, first: u64, count: u32) -> ([u64; 8], u64) {
        let at = self.at.wrapping_add(first * self.shape.size);
        // Anew, or there would be a register for each `k` all along.
        let lane = s.anew(s.lane());
        let i = |k: usize| (32 * k as u32 + lane).min(count) as usize;
        if s.branch(self.shape.size == 8) {
            let found = warpfold_simt::array::from_fn(
                #[inline(always)]
                |k| s.load(array::<u64>(at), i(k)),
            );
            return (found, s.load(array::<u64>(at), count as usize));
        }
        let found: [u32; 8] = warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| s.load(array::<u32>(at), i(k)),
        );
        let end = s.load(array::<u32>(at), count as usize);
        (
            found.map(
                #[inline(always)]
                |x| self.widened(x),
            ),
            self.widened(end),
        )
    }

    #[inline(always)]
    fn widened(&self, x: u32) -> u64 {
        if self.shape.signed != 0 { x as i32 as u64 } else { x as u64 }
    }

    /// The elements of a segment, as their first and their number; none, and a word to the host, if there cannot be
    /// such.
    #[inline(always)]
    pub fn segment<S: Simt>(&self, s: &S, call: &SegmentsCall, i: u64) -> (u64, u64) {
        let (from, to) = (self.get(s, i), self.get(s, i + 1));
        if s.branch(from > to || to > self.shape.len) {
            let status = array::<u8>(call.at.workspace);
            s.store_volatile(status, 4 * STATUS + BAD, 1);
            return (0, 0);
        }
        (from, to - from)
    }

    /// Whether the first launch, which looks at all of them, has found something wrong.
    #[inline(always)]
    pub fn are_bad<S: Simt>(&self, s: &S, call: &SegmentsCall) -> bool {
        s.load_volatile(array::<u8>(call.at.workspace), 4 * STATUS + BAD) != 0
    }

    /// Bytes of work before segment `i`.
    #[inline(always)]
    pub fn before<S: Simt>(&self, s: &S, i: u64, size: u32) -> u64 {
        let clipped = |i: u64| self.get(s, i).min(self.shape.len);
        COST * i + clipped(i).wrapping_sub(clipped(0)).wrapping_mul(size as u64)
    }

    /// The first segment before which there are `work` bytes or more; lanes of each half of the warp have the same
    /// `work`.
    #[inline(always)]
    pub fn search<S: Simt>(&self, s: &S, work: u64, size: u32) -> u64 {
        let (mut low, mut high) = (0, self.shape.total);
        while s.again(s.any(ALL, low < high)) {
            let step = (high - low) / 16 + 1;
            let probe = low + step * (s.lane() as u64 % 16 + 1) - 1;
            let mut less = false;
            if s.branch(probe < high) {
                less = self.before(s, probe, size) < work;
            }
            let less = (s.ballot(ALL, less) >> (s.lane() & 16) & 0xffff).trailing_ones() as u64;
            high = high.min(low + step * (less + 1) - 1);
            low += step * less;
        }
        high
    }
}

/// The byte of [`STATUS`] that is set if offsets decrease, or go beyond the elements.
pub const BAD: usize = 2;

/// A warp's share: segments that begin in it, and the stretches of one that begins before.
pub struct Share {
    /// The work before it, in bytes.
    pub from: u64,
    /// And up to its end.
    pub to: u64,
    /// The first segment that begins in it.
    pub first: u64,
    /// And the first that does not.
    pub end: u64,
}

impl Share {
    /// This warp's; none, if there is not enough work for all.
    #[inline(always)]
    pub fn of<S: Simt>(s: &S, offsets: &Offsets, size: u32) -> Option<Self> {
        let total = offsets.shape.total;
        // Neighbours are on different multiprocessors.
        let warps = s.grid_dim_x() as u64 * WARPS as u64;
        let number = s.warp() as u64 * s.grid_dim_x() as u64 + s.block_x() as u64;
        let all = offsets.before(s, total, size).min(1 << 60);
        let share = (divide(all, warps).0 + 1).max(LEAST);
        let (from, to) = (share * number, share * (number + 1));
        if s.branch(from >= all) {
            return None;
        }
        let found = offsets.search(s, if s.lane() < 16 { from } else { to }, size);
        let (first, end) = (s.shuffle_idx(ALL, found, 0), s.shuffle_idx(ALL, found, 16));
        // Even if offsets are in no order, each is looked at.
        Some(Self { from, to, first, end: if to >= all { total } else { end } })
    }

    /// Leaves it in shared memory, so that it is in no registers.
    #[inline(always)]
    pub fn keep<S: Simt>(&self, s: &S, bounds: Shared<u32>) {
        if s.branch(s.lane() == 0) {
            let all = [self.from, self.to, self.end];
            let mut k = 0;
            while k < KEPT {
                s.put(bounds, WINDOW + 1 + k, (all[k as usize / 2] >> (k % 2 * 32)) as u32);
                k += 1;
            }
        }
        s.warp_barrier(ALL);
    }

    /// What was kept: the work before the share, that up to its end, or the first segment that does not begin in it.
    #[inline(always)]
    pub fn kept<S: Simt>(s: &S, bounds: Shared<u32>, which: Kept) -> u64 {
        let word = |k| s.get(bounds, WINDOW + 1 + 2 * which as u32 + k) as u64;
        word(0) | word(1) << 32
    }
}

/// A field of a [`Share`] in shared memory.
#[derive(Clone, Copy)]
pub enum Kept {
    From,
    To,
    End,
}

/// Neighbouring segments: their offsets in shared memory, counted from the first.
pub struct Window {
    /// Where their offsets are.
    pub bounds: Shared<u32>,
    /// The first segment's number.
    pub first: u64,
    /// The first offset.
    pub base: u64,
    /// Segments: up to the first that ends before it begins, or more than 2^32 elements further.
    pub count: u32,
    /// How many of the limits the longest one exceeds; all, if what follows the last is none.
    pub longest: u32,
    /// Whether there may be one of no elements.
    pub empty: bool,
}

impl Window {
    /// Of `n` segments from number `first` as many as there is room for. `limits` are numbers of elements, in their
    /// order, below 2^20.
    #[inline(always)]
    pub fn read<S: Simt>(s: &S, offsets: &Offsets, bounds: Shared<u32>, first: u64, n: u64, limits: [u32; 3]) -> Self {
        let count = n.min(WINDOW as u64) as u32;
        let (found, end) = offsets.neighbours(s, first, count);
        let base = s.shuffle_idx(ALL, found[0], 0);
        // What is beyond the elements, or 2^32 from the first, is the furthest.
        let within = base <= offsets.shape.len;
        let most = offsets.shape.len.wrapping_sub(base).min(u32::MAX as u64 - 1);
        let far = |found: u64| {
            let d = found.wrapping_sub(base);
            if d > most { u32::MAX } else { d as u32 }
        };
        let found = found.map(far);
        let mut k = 0;
        while k < 8 {
            s.put(bounds, 32 * k + s.lane(), found[k as usize]);
            k += 1;
        }
        if s.branch(s.lane() == 0) {
            s.put(bounds, WINDOW, far(end));
        }
        s.warp_barrier(ALL);
        let (mut least, mut most, mut k) = (u32::MAX, 0, 0);
        while k < 8 {
            let len = s.get(bounds, 32 * k + s.lane() + 1).wrapping_sub(found[k as usize]);
            (least, most) = (least.min(len), most.max(len));
            k += 1;
        }
        let exceeds = |limit: u32| s.any(ALL, most > limit || !within) as u32;
        let empty = s.any(ALL, least == 0);
        let window = Self { bounds, first, base, count, longest: exceeds(limits[0]) + exceeds(limits[1]), empty };
        // If all are within the limits, they follow one another: no difference is one of offsets that decrease.
        if s.branch(exceeds(limits[2]) == 0) { window } else { window.checked(s, if within { count } else { 0 }) }
    }

    /// Those of `all` up to the first that cannot be.
    #[inline(always)]
    fn checked<S: Simt>(self, s: &S, all: u32) -> Self {
        let mut count = 0;
        while s.again(count < all) {
            let i = count + s.lane();
            let (mut from, mut to) = (0, 0);
            if s.branch(i < all) {
                (from, to) = (s.get(self.bounds, i), s.get(self.bounds, i + 1));
            }
            let good = s.ballot(ALL, i < all && from <= to && to != u32::MAX).trailing_ones();
            count += good;
            if s.branch(good < 32) {
                break;
            }
        }
        Self { count, longest: 3, ..self }
    }

    /// Segment number `i`: its first element, counted from that of the window, and how many it has.
    #[inline(always)]
    pub fn segment<S: Simt>(&self, s: &S, i: u32) -> (u32, u32) {
        let from = s.get(self.bounds, i);
        (from, s.get(self.bounds, i + 1).wrapping_sub(from))
    }
}
