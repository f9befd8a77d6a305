//! Packs of 16 bytes that lie side by side, from any address.

use crate::address::array;
use crate::node::select;
use crate::reduce::shape::piece::{Row, Sequence};
use crate::reduce::shape::split::STEPS;
use crate::source::{Bits, words};
use warpfold_simt::{ALL, Global, Simt};

/// One tile of a row: 8 steps of 32 packs, or what is left of them; a last one by lines may have 257.
///
/// Memory is read in *lines* of 16 bytes at multiples of 16, of which a pack has two if the row does not start at one.
#[derive(Clone, Copy)]
pub struct Tile {
    /// The address of its first element.
    base: u64,
    /// Bytes from the line's start to there.
    pub shift: u32,
    /// Elements of the row in it.
    pub valid: u32,
    /// Whether the last line that has some of them goes beyond the array, and so is not read.
    beyond: bool,
    /// Whether they are in more than one run.
    pub torn: bool,
    /// The number of the first element.
    pub first: u64,
}

impl Tile {
    /// Tile number `tile` of a row.
    #[inline(always)]
    pub fn of<B: Bits, Q: Sequence>(row: &Row<Q>, tile: u32) -> Self {
        let whole = 256 * B::PER as u64;
        let first = tile as u64 * whole;
        let (base, left) = row.find::<B>(first);
        let shift = base as u32 & 15;
        let valid = (row.len - first).min(whole) as u32;
        let end = (base + (valid * B::SIZE) as u64 + 15) & !15;
        Self { base, shift, valid, beyond: end > row.end(), torn: left < valid as u64, first }
    }

    /// The same for elements in any order, of a row in one run: of 256 lines, but that the first begins with the row,
    /// and the last ends with it, so that only these are not whole.
    #[inline(always)]
    pub fn lined<B: Bits, Q: Sequence>(row: &Row<Q>, tile: u32) -> Self {
        let whole = 256 * B::PER as u64;
        let shift = row.x as u32 & 15;
        let skip = (shift / B::SIZE) as u64;
        let is_last = (tile as u64 + 1) * whole >= row.len;
        let first = if tile == 0 { 0 } else { tile as u64 * whole - skip };
        let end = if is_last { row.len } else { (tile as u64 + 1) * whole - skip };
        let base = row.x + first * B::SIZE as u64;
        let (shift, valid) = (base as u32 & 15, (end - first) as u32);
        let beyond = ((base + (valid * B::SIZE) as u64 + 15) & !15) > row.end();
        Self { base, shift, valid, beyond, torn: false, first }
    }

    /// Lines that have some of its elements, at most 257.
    #[inline(always)]
    fn count<B: Bits>(&self) -> u32 {
        (self.shift + self.valid * B::SIZE).div_ceil(16)
    }

    /// The first so many of them can be read.
    #[inline(always)]
    fn readable<B: Bits>(&self) -> u32 {
        self.count::<B>() - self.beyond as u32
    }

    /// Packs all of whose elements the row has.
    #[inline(always)]
    pub fn whole<B: Bits>(&self) -> u32 {
        self.valid / B::PER
    }

    /// Whether its packs are 256 lines, side by side.
    #[inline(always)]
    pub fn is_even<B: Bits>(&self) -> bool {
        self.shift == 0 && self.valid == 256 * B::PER && !self.torn
    }

    /// The address of pack `p`, of one run.
    #[inline(always)]
    fn at(&self, p: u32) -> u64 {
        self.base + p as u64 * 16
    }

    /// A lane's 8 packs of a tile that [`Tile::is_even`].
    #[inline(always)]
    pub fn even<S: Simt>(&self, s: &S) -> [[u32; 4]; STEPS] {
        let base = array::<u8>(self.at(s.lane()));
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| words(s, base.offset(k * 512), 16),
        )
    }

    /// A lane's pack of a step of such a tile.
    #[inline(always)]
    pub fn pack<S: Simt>(&self, s: &S, step: usize) -> [u32; 4] {
        words(s, array(self.at(32 * step as u32 + s.lane())), 16)
    }

    /// How many elements the row has of a lane's pack of a step.
    #[inline(always)]
    pub fn elements<S: Simt, B: Bits>(&self, s: &S, step: usize) -> u32 {
        self.valid.saturating_sub((32 * step as u32 + s.lane()) * B::PER).min(B::PER)
    }

    /// A lane's pack of a step, of one run, of which the row has `count` elements; the others may be anything. The
    /// array ends at `end`.
    #[inline(always)]
    pub fn near<S: Simt, B: Bits>(&self, s: &S, step: usize, count: u32, end: u64) -> [u32; 4] {
        near::<S, B>(s, self.at(32 * step as u32 + s.lane()), count, end, B::ZERO)
    }

    /// A line; beyond the last that can be read, it is that one again, which costs no memory.
    #[inline(always)]
    fn line<S: Simt, B: Bits>(&self, s: &S, q: u32) -> [u32; 4] {
        words(s, array::<u8>(self.base & !15).offset(q.min(self.readable::<B>() - 1) as usize * 16), 16)
    }

    /// A lane's 8 packs of a tile in one run.
    #[inline(always)]
    pub fn read<S: Simt, B: Bits>(&self, s: &S) -> [[u32; 4]; STEPS] {
        if s.branch(self.is_even::<B>()) {
            return self.even(s);
        }
        let lane = s.lane();
        let mut w = [[0; 4]; STEPS];
        if s.branch(self.readable::<B>() > 0) {
            // Step by step, so that no address outlives its read.
            let last = 16 * (self.readable::<B>() - 1);
            let below = array::<u8>(self.base & !15);
            let mut from = 16 * lane;
            let mut k = 0;
            while k < STEPS {
                w[k] = words(s, below.offset(from.min(last) as usize), 16);
                from = s.opaque(from + 512);
                k += 1;
            }
            if s.branch(self.shift != 0) {
                // A word of the line after the last step's to each lane: one register instead of four.
                let q = 256.min(self.readable::<B>() - 1);
                let end = words(s, array::<u8>(self.base & !15).offset((16 * q + 4 * (lane & 3)) as usize), 4)[0];
                let words = self.shift >> 2;
                w = if B::SIZE < 4 && s.branch(words == 0) {
                    self.shifted::<S, B, 0>(s, w, end)
                } else if B::SIZE <= 4 && s.branch(words == 1) {
                    self.shifted::<S, B, 1>(s, w, end)
                } else if B::SIZE <= 4 && s.branch(words == 3) {
                    self.shifted::<S, B, 3>(s, w, end)
                } else {
                    self.shifted::<S, B, 2>(s, w, end)
                };
            }
        }
        if s.branch(self.beyond) {
            // One or two packs have some of the line that is not read, and a lane has at most one of them.
            let ready = self.readable::<B>().saturating_sub((self.shift != 0) as u32);
            let mine = ready + (lane.wrapping_sub(ready) & 31);
            if s.branch(mine < self.valid.div_ceil(B::PER)) {
                let own = loose::<S, B>(s, array(self.at(mine)), (self.valid - mine * B::PER).min(B::PER));
                w = warpfold_simt::array::from_fn(
                    #[inline(always)]
                    |k| {
                        warpfold_simt::array::from_fn(
                            #[inline(always)]
                            |i| select(k as u32 * 32 + lane == mine, own[i], w[k][i]),
                        )
                    },
                );
            }
        }
        w
    }

    /// Packs from lines, which lie side by side over steps of lanes, and words of one more in `end`; a pack starts in
    /// word `D` of a line.
    #[inline(always)]
    fn shifted<S: Simt, B: Bits, const D: usize>(&self, s: &S, w: [[u32; 4]; STEPS], end: u32) -> [[u32; 4]; STEPS] {
        let lane = s.lane();
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| {
                if s.branch(32 * k as u32 * B::PER >= self.valid) {
                    return w[k];
                }
                // The next lane has what follows; after the last, the first lane's next step. Only those words are
                // sent.
                let next: [u32; 4] = warpfold_simt::array::from_fn(
                    #[inline(always)]
                    |i| {
                        if i > D || (i == D && B::SIZE >= 4) {
                            return 0;
                        }
                        let after = if k + 1 < STEPS { w[k + 1][i] } else { s.shuffle_idx(ALL, end, i as u32) };
                        s.shuffle_idx(ALL, select(lane == 0, after, w[k][i]), (lane + 1) & 31)
                    },
                );
                let word = |i: usize| if i + D < 4 { w[k][i + D] } else { next[i + D - 4] };
                warpfold_simt::array::from_fn(
                    #[inline(always)]
                    |i| if B::SIZE < 4 { s.funnel(word(i), word(i + 1), 8 * self.shift) } else { word(i) },
                )
            },
        )
    }

    /// A lane's 8 lines, and the one that the elements end in, if they do not fill it; for elements in any order. Those
    /// that the row has nothing of may be anything.
    #[inline(always)]
    pub fn lines<S: Simt, B: Bits>(&self, s: &S) -> ([[u32; 4]; STEPS], [u32; 4]) {
        if s.branch(self.readable::<B>() == 0) {
            return ([[0; 4]; STEPS], [0; 4]);
        }
        let w = warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| self.line::<S, B>(s, k as u32 * 32 + s.lane()),
        );
        (w, self.line::<S, B>(s, self.count::<B>() - 1))
    }

    /// Lines up to the end of the elements, and bytes of the last.
    #[inline(always)]
    pub fn ends<B: Bits>(&self) -> (u32, u32) {
        let bytes = self.shift + self.valid * B::SIZE;
        (bytes / 16, bytes % 16)
    }

    /// The last line's elements, from its start, of which the row has `left`; it was read as `w`, if it can be.
    #[inline(always)]
    pub fn last<S: Simt, B: Bits>(&self, s: &S, w: [u32; 4], left: u32) -> [u32; 4] {
        let first = self.count::<B>() == 1;
        if s.branch(!self.beyond && (!first || self.shift == 0)) {
            return w;
        }
        let line = (self.base & !15) + 16 * (self.count::<B>() - 1) as u64;
        loose::<S, B>(s, array(if first { self.base } else { line }), left)
    }
}

/// The bits of word `i` that are of the first `bytes` bytes.
#[inline(always)]
pub fn below(bytes: u32, i: usize) -> u32 {
    let left = bytes.saturating_sub(4 * i as u32);
    if left >= 4 { u32::MAX } else { (1 << (8 * left)) - 1 }
}

/// A pack with its first element in the place of those beyond `valid`.
#[inline(always)]
pub fn repeated<B: Bits>(s: &impl Simt, w: &[u32; 4], valid: u32) -> [u32; 4] {
    if !s.branch(valid < B::PER) {
        return *w;
    }
    let first = B::nth(w, 0).to_bits();
    let words = match B::SIZE {
        2 => [first as u32 * 0x1_0001; 2],
        4 => [first as u32; 2],
        _ => [first as u32, (first >> 32) as u32],
    };
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |i| {
            let keep = below(valid * B::SIZE, i);
            (w[i] & keep) | (words[i % 2] & !keep)
        },
    )
}

/// The elements of 16 bytes moved on by one, with another at the end.
#[inline(always)]
pub(in crate::reduce::shape) fn followed<B: Bits>([a, b, c, d]: [u32; 4], next: B) -> [u32; 4] {
    let all = next.to_bits();
    let x = all as u64;
    match B::SIZE {
        16 => [x as u32, (x >> 32) as u32, (all >> 64) as u32, (all >> 96) as u32],
        8 => [c, d, x as u32, (x >> 32) as u32],
        4 => [b, c, d, x as u32],
        2 => [a >> 16 | b << 16, b >> 16 | c << 16, c >> 16 | d << 16, d >> 16 | (x as u32) << 16],
        _ => [a >> 8 | b << 24, b >> 8 | c << 24, c >> 8 | d << 24, d >> 8 | (x as u32) << 24],
    }
}

/// The 16 bytes that start `shift` bytes, at most 15 and a multiple of an element's, after the first of `a`, which `b`
/// follows.
#[inline(always)]
pub fn joined<B: Bits>(a: [u32; 4], b: [u32; 4], shift: u32) -> [u32; 4] {
    // By masks: the compiler would make an indexed array of a choice between words.
    let two = ((shift >> 3) & 1).wrapping_neg();
    let one = ((shift >> 2) & 1).wrapping_neg();
    let choose = |mask: u32, far: u32, near: u32| (far & mask) | (near & !mask);
    let w = [
        choose(two, a[2], a[0]),
        choose(two, a[3], a[1]),
        choose(two, b[0], a[2]),
        choose(two, b[1], a[3]),
        choose(two, b[2], b[0]),
        choose(two, b[3], b[1]),
    ];
    if B::SIZE >= 8 {
        return [w[0], w[1], w[2], w[3]];
    }
    let w: [u32; 5] = warpfold_simt::array::from_fn(
        #[inline(always)]
        |i| choose(one, w[i + 1], w[i]),
    );
    if B::SIZE >= 4 {
        return [w[0], w[1], w[2], w[3]];
    }
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |i| ((((w[i + 1] as u64) << 32) | w[i] as u64) >> (8 * (shift & 3))) as u32,
    )
}

/// Sixteen bytes from anywhere, element by element; those beyond `valid` are zero.
#[inline(always)]
pub fn loose<S: Simt, B: Bits>(s: &S, at: Global<u8>, valid: u32) -> [u32; 4] {
    padded(s, at, valid, B::ZERO)
}

/// The same; those beyond `valid` are `blank`.
#[inline(always)]
fn padded<S: Simt, B: Bits>(s: &S, at: Global<u8>, valid: u32, blank: B) -> [u32; 4] {
    let mut words = [0u32; 4];
    let mut k = 0;
    while k < B::PER as usize {
        let bits = if (k as u32) < valid { s.load(at.cast::<B>(), k) } else { blank };
        match B::SIZE {
            16 => words = warpfold_simt::array::from_fn(|i| (bits.to_bits() >> (32 * i)) as u32),
            8 => {
                words[2 * k] = bits.to_bits() as u32;
                words[2 * k + 1] = (bits.to_bits() >> 32) as u32;
            }
            4 => words[k] = bits.to_bits() as u32,
            2 => words[k / 2] |= (bits.to_bits() as u32) << (16 * (k % 2)),
            _ => words[k / 4] |= (bits.to_bits() as u32) << (8 * (k % 4)),
        }
        k += 1;
    }
    words
}

/// Two packs from anywhere, `apart` bytes from each other, of which each lane has its own. What follows the first
/// `count` elements of each may be anything. An array's end is `end`.
///
/// They are read by elements or words: neighbouring lanes find theirs in the same lines of the first-level cache.
#[inline(always)]
pub fn hold<S: Simt, B: Bits>(s: &S, at: u64, apart: u32, count: [u32; 2], end: u64, blank: B) -> [[u32; 4]; 2] {
    let first = near::<S, B>(s, at, count[0], end, blank);
    let mut second = padded(s, array(at), 0, blank);
    if s.branch(s.any(ALL, count[1] > 0)) {
        second = near::<S, B>(s, at + apart as u64, count[1], end, blank);
    }
    [first, second]
}

/// The same, if each is a whole line or has no elements.
#[inline(always)]
pub fn hold_lines<S: Simt, B: Bits>(s: &S, at: u64, apart: u32, count: [u32; 2], blank: B) -> [[u32; 4]; 2] {
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| {
            let at = array(at + k as u64 * apart as u64);
            if s.branch(count[k] > 0) { words(s, at, 16) } else { padded(s, at, 0, blank) }
        },
    )
}

/// One of them.
#[inline(always)]
fn near<S: Simt, B: Bits>(s: &S, at: u64, count: u32, end: u64, blank: B) -> [u32; 4] {
    if B::SIZE >= 4 {
        return padded::<S, B>(s, array(at), count, blank);
    }
    let (below, shift) = (at & !3, at as u32 & 3);
    let words = if count > 0 { (shift + count * B::SIZE).div_ceil(4) } else { 0 };
    if s.branch(below + 4 * words as u64 > end) {
        return loose::<S, B>(s, array(at), count);
    }
    let w: [u32; 5] = warpfold_simt::array::from_fn(
        #[inline(always)]
        |i| if (i as u32) < words { s.load(array::<u32>(below), i) } else { 0 },
    );
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |i| s.funnel(w[i], w[i + 1], 8 * shift),
    )
}
