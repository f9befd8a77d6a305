//! Packs of 16 bytes that lie side by side, from any address.

use super::{Dense, Packs, Row};
use crate::kernels::node::select;
use crate::kernels::recipe::array;
use crate::kernels::shape::warp::STEPS;
use crate::kernels::source::{Bits, words};
use crate::simt::{ALL, Global, Simt};

/// One tile of a row: 8 steps of 32 packs, or what is left of them.
#[derive(Clone, Copy)]
pub struct Tile {
    /// The address of its first element.
    base: u64,
    /// Bytes from the multiple of 16 below.
    shift: u32,
    /// Elements of the row in it.
    pub valid: u32,
    /// Its first so many packs can be read whole: two reads and a shift, where it does not start at a multiple of 16.
    readable: u32,
}

impl Tile {
    /// Tile number `tile` of a row.
    #[inline(always)]
    pub fn of<B: Bits>(row: &Row<Dense>, tile: u32) -> Self {
        let (first, per) = (tile as u64 * 256, B::PER as u64);
        let base = row.pack(first);
        let shift = base as u32 & 15;
        let left = row.len - first * per;
        // What follows a segment is not the row's.
        let segment = 1u64 << row.reduced.segment;
        let packs = (segment - (first & (segment - 1))).min(257);
        let together = left.min(packs * per) as u32;
        let beyond = (shift != 0) as u32;
        let packs = (together + shift / B::SIZE) / B::PER;
        Self { base, shift, valid: left.min(256 * per) as u32, readable: (packs.max(beyond) - beyond).min(256) }
    }

    /// Packs all of whose elements the row has.
    #[inline(always)]
    pub fn whole<B: Bits>(&self) -> u32 {
        self.valid / B::PER
    }

    /// The address of pack `p`.
    #[inline(always)]
    pub fn at(&self, p: u32) -> u64 {
        self.base + p as u64 * 16
    }

    /// A lane's 8 packs; those that are not whole may be anything.
    #[inline(always)]
    pub fn read<S: Simt, B: Bits>(&self, s: &S) -> [[u32; 4]; STEPS] {
        let lane = s.lane();
        if s.branch(self.readable == 256 && self.shift == 0) {
            let base = array::<u8>(self.at(lane));
            return core::array::from_fn(
                #[inline(always)]
                |k| words(s, base.offset(k * 512), 16),
            );
        }
        let mut w = [[0; 4]; STEPS];
        if s.branch(self.readable > 0) {
            // Beyond the last, it is the last again, which costs no memory.
            let last = self.readable - (self.shift == 0) as u32;
            let below = array::<u8>(self.base & !15);
            let read = |p: u32| words(s, below.offset(p.min(last) as usize * 16), 16);
            w = core::array::from_fn(
                #[inline(always)]
                |k| read(k as u32 * 32 + lane),
            );
            if s.branch(self.shift != 0) {
                w = shifted(s, w, read(256), self.shift);
            }
        }
        // At most two packs are whole and not readable, so a lane has at most one of them.
        let mine = self.readable + (lane.wrapping_sub(self.readable) & 31);
        if s.branch(mine < self.whole::<B>()) {
            let own = loose::<S, B>(s, array(self.at(mine)), B::PER);
            w = core::array::from_fn(
                #[inline(always)]
                |k| {
                    core::array::from_fn(
                        #[inline(always)]
                        |i| select(k as u32 * 32 + lane == mine, own[i], w[k][i]),
                    )
                },
            );
        }
        w
    }
}

impl Packs {
    /// What they have, and zeros.
    #[inline(always)]
    pub fn read<S: Simt, B: Bits>(&self, s: &S) -> [[u32; 4]; STEPS] {
        if s.branch(self.packed(B::PER)) {
            return core::array::from_fn(
                #[inline(always)]
                |k| words(s, array(self.at[k]), 16),
            );
        }
        loose_steps::<S, B>(s, self.at, self.valid)
    }
}

/// Packs that start `shift` bytes later than those given, which with `end` lie side by side over steps of lanes.
#[inline(always)]
fn shifted<S: Simt>(s: &S, w: [[u32; 4]; STEPS], end: [u32; 4], shift: u32) -> [[u32; 4]; STEPS] {
    let lane = s.lane();
    core::array::from_fn(
        #[inline(always)]
        |k| {
            // The next lane has what follows; after the last, the first lane's next step.
            let after = if k + 1 < STEPS { w[k + 1] } else { end };
            let a = w[k];
            let b: [u32; 4] = core::array::from_fn(
                #[inline(always)]
                |i| s.shuffle_idx(ALL, select(lane == 0, after[i], a[i]), (lane + 1) & 31),
            );
            joined(a, b, shift)
        },
    )
}

/// The 16 bytes that start `shift` bytes, at most 15, after the first of `a`, which `b` follows.
#[inline(always)]
pub fn joined(a: [u32; 4], b: [u32; 4], shift: u32) -> [u32; 4] {
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
    let w: [u32; 5] = core::array::from_fn(
        #[inline(always)]
        |i| choose(one, w[i + 1], w[i]),
    );
    core::array::from_fn(
        #[inline(always)]
        |i| ((((w[i + 1] as u64) << 32) | w[i] as u64) >> (8 * (shift & 3))) as u32,
    )
}

/// Sixteen bytes from anywhere, element by element; those beyond `valid` are zero.
#[inline(always)]
pub fn loose<S: Simt, B: Bits>(s: &S, at: Global<u8>, valid: u32) -> [u32; 4] {
    let mut words = [0u32; 4];
    let mut k = 0;
    while k < B::PER as usize {
        let bits = if (k as u32) < valid { s.load(at.cast::<B>(), k) } else { B::ZERO };
        match B::SIZE {
            16 => words = core::array::from_fn(|i| (bits.to_bits() >> (32 * i)) as u32),
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

/// Eight packs from anywhere, an element of each at a time.
#[inline(always)]
fn loose_steps<S: Simt, B: Bits>(s: &S, at: [u64; STEPS], valid: [u32; STEPS]) -> [[u32; 4]; STEPS] {
    let mut w = [[0u32; 4]; STEPS];
    let (mut e, per) = (0, if B::SIZE >= 8 { B::PER } else { s.opaque(B::PER) });
    while s.again(e < per) {
        let bits: [B; STEPS] = core::array::from_fn(
            #[inline(always)]
            |k| if e < valid[k] { s.load(array(at[k]), e as usize) } else { B::ZERO },
        );
        // Each element comes in at the end and moves on as others follow.
        let mut k = 0;
        while k < STEPS {
            let all = bits[k].to_bits();
            let x = all as u64;
            let [a, b, c, d] = w[k];
            w[k] = match B::SIZE {
                16 => [x as u32, (x >> 32) as u32, (all >> 64) as u32, (all >> 96) as u32],
                8 => [c, d, x as u32, (x >> 32) as u32],
                4 => [b, c, d, x as u32],
                2 => [a >> 16 | b << 16, b >> 16 | c << 16, c >> 16 | d << 16, d >> 16 | (x as u32) << 16],
                _ => [a >> 8 | b << 24, b >> 8 | c << 24, c >> 8 | d << 24, d >> 8 | (x as u32) << 24],
            };
            k += 1;
        }
        e += 1;
    }
    w
}
