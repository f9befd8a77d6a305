//! A warp's stretch of memory, copied to shared memory: from there a lane takes what it needs, at any address.
//!
//! Idea: lines of 16 bytes are copied as they lie, whatever the length of rows and wherever they begin. After every 8
//! lines there is a gap of one, so that lanes that read at equal distances find different banks.

use crate::address::array;
use crate::node::select;
use crate::reduce::shape::map::Divisor;
use crate::reduce::shape::panel::together;
use crate::reduce::shape::piece::{followed, joined};
use crate::reduce::shape::split::{STEPS, next};
use crate::source::{Bits, words};
use warpfold_simt::{Pack, Shared, Simt};

/// A line.
type Line = Pack<u32, 4>;

/// Lines of a tile.
pub const LINES: u32 = 32 * STEPS as u32;
/// Lines of shared memory for a warp's tile, one more that is read in part, and the gaps.
const ROOM: u32 = place(LINES + 1);
/// Words for the warps of a block.
pub const BLOCK: usize = 8 * 4 * ROOM as usize;

/// Where a line stands.
#[inline(always)]
const fn place(line: u32) -> u32 {
    line + (line >> 3)
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
    /// Bytes that the first segment begins later than others do, and how many fewer it has.
    pub before: u32,
    /// See `before`.
    pub less: u32,
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
            ((self.first as u32 & 15) + self.bytes - self.less).div_ceil(16)
        } else {
            self.segments * self.lines.by as u32
        }
    }

    /// The address of line `i`. Beyond a segment's last line, it is that one again.
    #[inline(always)]
    fn at(&self, i: u32) -> u64 {
        let (segment, i) = if self.segments == 1 { (0, i) } else { self.lines.divide_small(i) };
        let segment = segment.min(self.segments - 1);
        let [before, less] = if segment == 0 { [0, self.less] } else { [self.before, 0] };
        let first = self.first.wrapping_add((segment as i64 * self.step) as u64) - before as u64;
        let last = ((first as u32 & 15) + self.bytes - less - 1) / 16;
        (first & !15) + (16 * i.min(last)) as u64
    }

    /// A lane's lines of the tile; beyond the last there may be anything.
    #[inline(always)]
    pub fn read<S: Simt, B: Bits>(&self, s: &S) -> [[u32; 4]; STEPS] {
        let (count, lane) = (self.count(), s.lane());
        // Whether the array ends inside a line, which then cannot be read.
        let last = self.first.wrapping_add(((self.segments - 1) as i64 * self.step) as u64);
        let [before, less] = if self.segments == 1 { [0, self.less] } else { [self.before, 0] };
        let cut = (last - before as u64 + (self.bytes - less) as u64 + 15) & !15 > self.end;
        let (mut w, mut k, steps) = ([[0; 4]; STEPS], 0, s.opaque(STEPS as u32));
        if s.branch(self.segments == 1) {
            let readable = count - cut as u32;
            let base = array::<u8>((self.first & !15) + (16 * lane) as u64);
            let mut k = 0;
            while k < STEPS {
                if s.branch(32 * k as u32 + lane < readable) {
                    w[k] = words(s, base.offset(512 * k), 16);
                }
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
pub fn some<S: Simt, B: Bits>(s: &S, at: u64, count: u32) -> [u32; 4] {
    let (mut words, mut k, all) = ([0; 4], 0, s.opaque(B::PER));
    while s.again(k < all) {
        // Each element comes in at the end and moves on as others follow.
        let bits = if s.branch(k < count) { s.load(array(at), k as usize) } else { B::ZERO };
        words = followed(words, bits);
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
        Self(words.offset(warp * 4 * ROOM))
    }

    /// Keeps the first `count` lines, with gaps or `flat`. What follows them may be read, up to the end of one more.
    /// For [`Stage::twins`], gaps begin with the word that follows them.
    #[inline(always)]
    pub fn keep<S: Simt>(&self, s: &S, lines: [[u32; 4]; STEPS], count: u32, flat: bool, twins: bool) {
        let (lane, room) = (s.lane(), self.0.cast::<Line>());
        // All lines have room, and to write what is no line of the tile costs less than to ask.
        let (at, step) = if flat { (lane, 32) } else { (place(lane), place(32)) };
        let all = |step: u32| {
            let mut k = 0;
            while k < STEPS {
                s.put(room, at + k as u32 * step, Pack(lines[k]));
                k += 1;
            }
        };
        if s.branch(flat) {
            all(32)
        } else {
            all(place(32))
        }
        if s.branch(twins && lane & 7 == 0) {
            let mut k = 0;
            while k < STEPS {
                if s.branch(k as u32 + lane > 0) {
                    s.put(self.0, 4 * (at + k as u32 * step) - 4, lines[k][0]);
                }
                k += 1;
            }
        }
        if s.branch(count == LINES && lane == 0) {
            let end = STEPS as u32 * step;
            s.put(room, end, Pack([0; 4]));
            if s.branch(twins) {
                s.put(self.0, 4 * end - 4, 0);
            }
        }
    }

    /// Line `line`.
    #[inline(always)]
    pub fn line<S: Simt>(&self, s: &S, line: u32) -> [u32; 4] {
        s.get(self.0.cast::<Line>(), place(line)).0
    }

    /// The 16 bytes that begin `shift` bytes, a multiple of an element's, after a line does.
    #[inline(always)]
    pub fn pack<S: Simt, B: Bits>(&self, s: &S, line: u32, shift: u32) -> [u32; 4] {
        let words = self.line(s, line);
        if s.branch(shift == 0) { words } else { joined::<B>(words, self.line(s, line + 1), shift) }
    }

    /// The same of lines that are flat, word by word: lanes that are an odd number of words apart meet different banks.
    #[inline(always)]
    pub fn flat_pack<S: Simt, B: Bits>(&self, s: &S, at: u32) -> [u32; 4] {
        let words = self.0.cast::<u8>().offset(at & !3).cast::<u32>();
        if B::SIZE == 8 {
            let [x, y] = [0, 1].map(
                #[inline(always)]
                |i| s.get(words.cast::<u64>(), i),
            );
            return [x as u32, (x >> 32) as u32, y as u32, (y >> 32) as u32];
        }
        if B::SIZE >= 4 {
            return warpfold_simt::array::from_fn(
                #[inline(always)]
                |i| s.get(words, i as u32),
            );
        }
        let w: [u32; 5] = warpfold_simt::array::from_fn(
            #[inline(always)]
            |i| s.get(words, i as u32),
        );
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |i| s.funnel(w[i], w[i + 1], 8 * (at & 3)),
        )
    }

    /// As many elements as fit 16 bytes, of which `at` says where each is.
    #[inline(always)]
    pub fn gather<S: Simt, B: Bits>(&self, s: &S, at: impl Fn(u32) -> u32) -> [u32; 4] {
        // A few at a time, so that their places are in registers.
        let (each, mut words, mut k) = (if B::SIZE < 4 { 4 } else { B::PER }, [0; 4], 0);
        let all = if B::SIZE < 4 { s.opaque(B::PER) } else { B::PER };
        while s.again(k < all) {
            let some: [B; 4] = warpfold_simt::array::from_fn(
                #[inline(always)]
                |i| if (i as u32) < each { self.element(s, at(k + i as u32)) } else { B::ZERO },
            );
            // Whole words move on as others come in at the end.
            let mut i = 0;
            if B::SIZE < 4 {
                let ([_, b, c, d], [x, y, ..]) = (words, together(some));
                words = if B::SIZE == 1 { [b, c, d, x] } else { [c, d, x, y] };
                i = each;
            }
            while i < each {
                words = followed(words, some[i as usize]);
                i += 1;
            }
            k += each;
        }
        words
    }

    /// The 4 bytes at byte `at`, a multiple of 2, or of 4 if it is `even`, of lines with gaps or `flat`.
    #[inline(always)]
    pub fn twins<S: Simt>(&self, s: &S, at: u32, even: bool, flat: bool) -> u32 {
        let words = self.0.cast::<u8>().offset((at & !3) + if flat { 0 } else { at >> 7 << 4 }).cast::<u32>();
        let word = s.get(words, 0);
        if s.branch(even) { word } else { s.funnel(word, s.get(words, 1), 8 * (at & 2)) }
    }

    /// The element at byte `at`, a multiple of its size.
    #[inline(always)]
    fn element<S: Simt, B: Bits>(&self, s: &S, at: u32) -> B {
        self.flat(s, at + (at >> 7 << 4))
    }

    /// The element at byte `at`, a multiple of its size, of lines that are flat.
    #[inline(always)]
    pub fn flat<S: Simt, B: Bits>(&self, s: &S, at: u32) -> B {
        s.get(self.0.cast::<u8>().offset(at).cast::<B>(), 0)
    }
}
