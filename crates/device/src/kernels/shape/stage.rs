//! A stretch of memory that a warp keeps in shared memory, so that each lane can take elements from anywhere in it.
//!
//! Lines of 16 bytes come in side by side. Lanes then read at powers of two of words from one another, which would all lie in one bank:
//! so a word is left out after every 32.

use crate::kernels::recipe::array;
use crate::kernels::shape::piece::loose;
use crate::kernels::source::{Bits, words};
use crate::simt::{Shared, Simt};

/// Lines that it holds: as many as a warp has in flight at once.
pub const LINES: u32 = 256;
/// Bytes of them.
pub const BYTES: u32 = 16 * LINES;
/// Words that a warp needs, with those left out, and with two packs more, since a lane reads whole ones.
pub const WORDS: u32 = 1072;

/// A warp's share of the block's stage.
#[derive(Clone, Copy)]
pub struct Stage(pub Shared<u32>);

impl Stage {
    /// Writes zeros, since what follows the elements is read as well.
    #[inline(always)]
    pub fn clear<S: Simt>(&self, s: &S) {
        let mut i = s.lane();
        while s.again(i < WORDS) {
            s.put(self.0, i, 0);
            i += 32;
        }
        s.warp_barrier(crate::simt::ALL);
    }

    /// Copies the lines that `bytes` bytes from address `x` lie in: at most [`LINES`]. No line beyond `end` is read as such.
    #[inline(always)]
    pub fn fill<S: Simt, B: Bits>(&self, s: &S, x: u64, bytes: u32, end: u64) {
        let (below, shift) = (x & !15, x as u32 & 15);
        let lines = if bytes == 0 { 0 } else { (shift + bytes).div_ceil(16) };
        let beyond = below + (16 * lines) as u64 > end;
        let readable = lines.saturating_sub(beyond as u32);
        let from = array::<u8>(below + 16 * s.lane() as u64);
        let w: [[u32; 4]; 8] = core::array::from_fn(
            #[inline(always)]
            |k| {
                let there = 32 * k as u32 + s.lane() < readable;
                if s.branch(there) { words(s, from.offset(512 * k), 16) } else { [0; 4] }
            },
        );
        let mut k = 0;
        while k < 8 {
            let q = 32 * k as u32 + s.lane();
            if s.branch(q < readable) {
                self.put(s, q, w[k]);
            }
            k += 1;
        }
        if s.branch(beyond && s.lane() == 0) {
            let last = lines - 1;
            let own = loose::<S, B>(s, array(below + (16 * last) as u64), (shift + bytes - 16 * last) / B::SIZE);
            self.put(s, last, own);
        }
        s.warp_barrier(crate::simt::ALL);
    }

    #[inline(always)]
    fn put<S: Simt>(&self, s: &S, q: u32, w: [u32; 4]) {
        let mut i = 0;
        while i < 4 {
            s.put(self.0, 4 * q + (q >> 3) + i as u32, w[i]);
            i += 1;
        }
    }

    #[inline(always)]
    fn word<S: Simt>(&self, s: &S, a: u32) -> u32 {
        s.get(self.0, a + (a >> 5))
    }

    /// The 16 bytes from byte `at`, which is a multiple of the element's size.
    #[inline(always)]
    pub fn pack<S: Simt, B: Bits>(&self, s: &S, at: u32) -> [u32; 4] {
        if B::SIZE >= 4 {
            return core::array::from_fn(
                #[inline(always)]
                |i| self.word(s, at / 4 + i as u32),
            );
        }
        let w: [u32; 5] = core::array::from_fn(
            #[inline(always)]
            |i| self.word(s, at / 4 + i as u32),
        );
        core::array::from_fn(
            #[inline(always)]
            |i| s.funnel(w[i], w[i + 1], 8 * (at & 3)),
        )
    }
}
