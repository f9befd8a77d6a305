//! A warp's stretch of memory, copied to shared memory: from there a lane takes what it needs, at any address.
//!
//! Idea: lines of 16 bytes are copied as they lie, whatever the length of rows and wherever they begin. A word stands
//! one place later for every 32 words before it, so that lanes that read at equal distances find different banks.

use crate::address::array;
use crate::node::select;
use crate::reduce::shape::map::Divisor;
use crate::reduce::shape::piece::followed;
use crate::reduce::shape::split::{STEPS, next};
use crate::source::{Bits, words};
use warpfold_simt::{Pack, Shared, Simt};

/// Lines of a tile.
pub const LINES: u32 = 32 * STEPS as u32;
/// Words of shared memory for a warp's lines, one more that is read in part, and the gaps.
const WORDS: u32 = place(4 * (LINES + 1));
/// The same for the warps of a block.
pub const BLOCK: usize = 8 * WORDS as usize;

/// Where a word stands.
#[inline(always)]
const fn place(word: u32) -> u32 {
    word + (word >> 5)
}

/// What a tile has of memory: segments of bytes side by side.
#[derive(Clone, Copy)]
pub struct Source {
    /// The address of the first segment.
    pub first: u64,
    /// Bytes from segment to segment.
    pub step: i64,
    /// Segments.
    pub segments: u32,
    /// Bytes of a segment.
    pub bytes: u32,
    /// Lines for which a segment has room, if there are several segments.
    pub lines: Divisor,
    /// The address of the array's end.
    pub end: u64,
}

impl Source {
    /// Lines of the tile, at most [`LINES`].
    #[inline(always)]
    pub fn count(&self) -> u32 {
        if self.segments == 1 {
            ((self.first as u32 & 15) + self.bytes).div_ceil(16)
        } else {
            self.segments * self.lines.by as u32
        }
    }

    /// The address of line `i`. Beyond a segment's last line, it is that one again.
    #[inline(always)]
    fn at(&self, i: u32) -> u64 {
        let (segment, i) = if self.segments == 1 { (0, i) } else { self.lines.divide_small(i) };
        let segment = segment.min(self.segments - 1);
        let first = self.first.wrapping_add((segment as i64 * self.step) as u64);
        let last = ((first as u32 & 15) + self.bytes - 1) / 16;
        (first & !15) + (16 * i.min(last)) as u64
    }

    /// A lane's lines of the tile; beyond the last there may be anything.
    #[inline(always)]
    pub fn read<S: Simt, B: Bits>(&self, s: &S) -> [[u32; 4]; STEPS] {
        let (count, lane) = (self.count(), s.lane());
        // Whether the array ends inside a line, which then cannot be read.
        let last = self.first.wrapping_add(((self.segments - 1) as i64 * self.step) as u64);
        let cut = (last + self.bytes as u64 + 15) & !15 > self.end;
        let (mut w, mut k, steps) = ([[0; 4]; STEPS], 0, s.opaque(STEPS as u32));
        if s.branch(self.segments == 1) {
            // Step by step, so that no address outlives its read.
            let readable = count - cut as u32;
            let (base, last, mut from) = (array::<u8>(self.first & !15), 16 * readable.max(1) - 16, 16 * lane);
            let mut k = 0;
            while k < STEPS {
                if s.branch(32 * (k as u32) < readable) {
                    w[k] = words(s, base.offset(from.min(last) as usize), 16);
                }
                from = s.opaque(from + 512);
                k += 1;
            }
        } else {
            // One copy of a division.
            let mut at = [0u64; STEPS];
            while s.again(k < steps) {
                at = next(at, self.at(32 * k + lane));
                k += 1;
            }
            let mut k = 0;
            while k < STEPS {
                if s.branch(32 * (k as u32) < count && (!cut || at[k] + 16 <= self.end)) {
                    w[k] = words(s, array(at[k]), 16);
                }
                k += 1;
            }
        }
        if s.branch(cut) {
            // Several short segments may end in that line.
            k = 0;
            while s.again(k < steps) {
                let (i, at) = (32 * k + lane, self.at(32 * k + lane));
                if s.branch(i < count && at + 16 > self.end) {
                    let own = Pack(some::<S, B>(s, at, (self.end - at) as u32 / B::SIZE));
                    w = warpfold_simt::array::from_fn(
                        #[inline(always)]
                        |j| select(j as u32 == k, own, Pack(w[j])).0,
                    );
                }
                k += 1;
            }
        }
        w
    }
}

/// The first `count` elements of a line, and zeros. Rarely needed, so it is kept short.
#[inline(always)]
fn some<S: Simt, B: Bits>(s: &S, at: u64, count: u32) -> [u32; 4] {
    let (mut words, mut k, all) = ([0; 4], 0, s.opaque(B::PER));
    while s.again(k < all) {
        // Each element comes in at the end and moves on as others follow.
        let bits = if s.branch(k < count) { s.load(array(at), k as usize) } else { B::ZERO };
        words = followed(words, bits);
        k += 1;
    }
    words
}

/// The words of as many elements as fit 16 bytes.
#[inline(always)]
fn joined<B: Bits>(mut element: impl FnMut(u32) -> B) -> [u32; 4] {
    let (mut words, mut k) = ([0u32; 4], 0);
    while k < B::PER {
        let bits = element(k).to_bits();
        let at = (k * B::SIZE) as usize;
        let mut i = 0;
        while 4 * i < B::SIZE as usize {
            words[at / 4 + i] |= ((bits >> (32 * i)) as u32) << (8 * (at % 4));
            i += 1;
        }
        k += 1;
    }
    words
}

/// A warp's room in shared memory.
#[derive(Clone, Copy)]
pub struct Stage(Shared<u32>);

impl Stage {
    /// That of warp `warp`, in [`BLOCK`] words.
    #[inline(always)]
    pub fn new(words: Shared<u32>, warp: u32) -> Self {
        Self(words.offset(warp * WORDS))
    }

    /// Keeps the first `count` lines. What follows them may be read, up to the end of one more.
    #[inline(always)]
    pub fn keep<S: Simt>(&self, s: &S, lines: [[u32; 4]; STEPS], count: u32) {
        let lane = s.lane();
        let own = self.0.offset(place(4 * lane));
        let mut k = 0;
        while k < STEPS {
            if s.branch(32 * k as u32 + lane <= count) {
                let mut i = 0;
                while i < 4 {
                    s.put(own, place(128 * k as u32) + i, lines[k][i as usize]);
                    i += 1;
                }
            }
            k += 1;
        }
        if s.branch(count == LINES && lane < 4) {
            s.put(self.0, place(4 * LINES) + lane, 0);
        }
    }

    #[inline(always)]
    fn word<S: Simt>(&self, s: &S, word: u32) -> u32 {
        s.get(self.0, place(word))
    }

    /// The 16 bytes from byte `at` on, a multiple of an element's.
    #[inline(always)]
    pub fn pack<S: Simt, B: Bits>(&self, s: &S, at: u32) -> [u32; 4] {
        let first = at >> 2;
        if B::SIZE >= 4 {
            return warpfold_simt::array::from_fn(
                #[inline(always)]
                |i| self.word(s, first + i as u32),
            );
        }
        let w: [u32; 5] = warpfold_simt::array::from_fn(
            #[inline(always)]
            |i| self.word(s, first + i as u32),
        );
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |i| s.funnel(w[i], w[i + 1], 8 * at),
        )
    }

    /// As many elements as fit 16 bytes, of which `at` says where each is.
    #[inline(always)]
    pub fn gather<S: Simt, B: Bits>(&self, s: &S, at: impl Fn(u32) -> u32) -> [u32; 4] {
        if B::SIZE >= 4 {
            return joined::<B>(
                #[inline(always)]
                |k| self.element(s, at(k)),
            );
        }
        // A word at a time, so that the places of few elements are in registers.
        let (mut words, mut i, all) = ([0; 4], 0, s.opaque(4));
        while s.again(i < all) {
            let (mut word, mut k, per) = (0, 0, 4 / B::SIZE);
            while k < per {
                let bits: B = self.element(s, at(i * per + k));
                word |= (bits.to_bits() as u32) << (8 * B::SIZE * k);
                k += 1;
            }
            words = next(words, word);
            i += 1;
        }
        words
    }

    /// The element at byte `at`, a multiple of its size.
    #[inline(always)]
    fn element<S: Simt, B: Bits>(&self, s: &S, at: u32) -> B {
        let first = at >> 2;
        if B::SIZE < 4 {
            return B::from_bits((self.word(s, first) >> (8 * (at & 3))) as u128);
        }
        let (mut bits, mut i) = (0u128, 0);
        while 4 * i < B::SIZE {
            bits |= (self.word(s, first + i) as u128) << (32 * i);
            i += 1;
        }
        B::from_bits(bits)
    }
}
