//! What a warp knows of the offsets: where its share of the work begins and ends, and a window of them in shared memory.

use super::{COST, LEAST, Segments, WARPS};
use crate::kernels::recipe::{Call, STATUS, array};
use crate::kernels::shape::piece::divide;
use crate::simt::{ALL, Shared, Simt};

/// Offsets in a window.
pub const WINDOW: u32 = 256;

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
    pub fn of(call: &Call<Segments>) -> Self {
        Self { at: call.mask, shape: call.shape }
    }

    /// Offset number `i`; a negative one is beyond all elements.
    #[inline(always)]
    pub fn get<S: Simt>(&self, s: &S, i: u64) -> u64 {
        if s.branch(self.shape.size == 8) {
            return s.load(array::<u64>(self.at), i as usize);
        }
        let x = s.load(array::<u32>(self.at), i as usize);
        if self.shape.signed != 0 { x as i32 as u64 } else { x as u64 }
    }

    /// The elements of a segment, as their first and their number; none, and a word to the host, if there cannot be such.
    #[inline(always)]
    pub fn segment<S: Simt>(&self, s: &S, call: &Call<Segments>, i: u64) -> (u64, u64) {
        let (from, to) = (self.get(s, i), self.get(s, i + 1));
        if s.branch(from > to || to > self.shape.len) {
            let status = array::<u8>(call.workspace);
            s.store_volatile(status, 4 * STATUS + BAD, 1);
            return (0, 0);
        }
        (from, to - from)
    }

    /// Whether the first launch, which looks at all of them, has found something wrong.
    #[inline(always)]
    pub fn are_bad<S: Simt>(&self, s: &S, call: &Call<Segments>) -> bool {
        s.load_volatile(array::<u8>(call.workspace), 4 * STATUS + BAD) != 0
    }

    /// Bytes of work before segment `i`.
    #[inline(always)]
    pub fn before<S: Simt>(&self, s: &S, i: u64, size: u32) -> u64 {
        let clipped = |i: u64| self.get(s, i).min(self.shape.len);
        COST * i + clipped(i).wrapping_sub(clipped(0)).wrapping_mul(size as u64)
    }

    /// The first segment before which there are `work` bytes or more; lanes of each half of the warp have the same `work`.
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
}

/// Neighbouring offsets, in shared memory, counted from the first.
pub struct Window {
    bounds: Shared<u32>,
    /// The first offset.
    pub base: u64,
    /// Segments: up to the first that ends before it begins, or more than 2^32 elements further. That one is listed.
    pub count: u32,
}

impl Window {
    /// The offsets of `n` segments, fewer than [`WINDOW`], from number `first`.
    #[inline(always)]
    pub fn read<S: Simt>(s: &S, offsets: &Offsets, bounds: Shared<u32>, first: u64, n: u32) -> Self {
        let found: [u64; 8] = core::array::from_fn(
            #[inline(always)]
            |k| {
                if s.branch(32 * k as u32 <= n) {
                    offsets.get(s, first + (32 * k as u32 + s.lane()).min(n) as u64)
                } else {
                    0
                }
            },
        );
        let base = s.shuffle_idx(ALL, found[0], 0);
        let mut k = 0;
        while k < 8 {
            let far = if found[k] > offsets.shape.len { u64::MAX } else { found[k].wrapping_sub(base) };
            s.put(bounds, 32 * k as u32 + s.lane(), far.min(u32::MAX as u64) as u32);
            k += 1;
        }
        s.warp_barrier(ALL);
        let window = Self { bounds, base, count: n };
        let mut count = 0;
        while s.again(count < n) {
            let i = count + s.lane();
            let (mut from, mut to) = (0, 0);
            if s.branch(i < n) {
                (from, to) = (window.get(s, i), window.get(s, i + 1));
            }
            let good = s.ballot(ALL, i < n && from <= to && to != u32::MAX).trailing_ones();
            count += good;
            if s.branch(good < 32) {
                break;
            }
        }
        Self { count, ..window }
    }

    /// Offset number `i`.
    #[inline(always)]
    pub fn get<S: Simt>(&self, s: &S, i: u32) -> u32 {
        s.get(self.bounds, i)
    }

    /// How many segments from number `at` have no more than `room` elements together.
    #[inline(always)]
    pub fn fit<S: Simt>(&self, s: &S, at: u32, room: u32) -> u32 {
        let mut fit = 0;
        let from = self.get(s, at);
        while s.again(at + fit < self.count) {
            let i = at + fit + s.lane();
            let fits = i < self.count && self.get(s, i.min(self.count - 1) + 1) - from <= room;
            let more = s.ballot(ALL, fits).trailing_ones();
            fit += more;
            if s.branch(more < 32) {
                break;
            }
        }
        fit
    }
}
