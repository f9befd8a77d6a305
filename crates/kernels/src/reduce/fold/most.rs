//! The greatest key of many elements at once, for less than a key for each: bytes and integers are compared as they
//! lie, f32 as numbers, and f64 as integers. Where one of them is NaN, keys are compared one by one. Those of 16 bits
//! are in `halves.rs`.

use crate::reduce::fold::key::Key;
use crate::reduce::fold::keys::Keys;
use crate::source::Bits;
use warpfold_simt::Simt;

impl<B: Bits, K: Key> Keys<B, K> {
    /// The greatest key of some packs of 16 bytes, of elements that have not 16 bits.
    #[inline(always)]
    pub fn most<S: Simt, const N: usize>(&self, s: &S, packs: &[[u32; 4]; N]) -> K {
        if B::SIZE == 1 {
            let mut most = self.bytes(&packs[0]);
            let mut k = 1;
            while k < N {
                most = most.max(self.bytes(&packs[k]));
                k += 1;
            }
            return most;
        }
        if s.branch(self.float == K::cut(0)) {
            return self.integers(packs);
        }
        match B::SIZE {
            // Of few elements all may well be negative.
            8 if N > 2 => self.wide(s, packs),
            4 => self.numbers(s, packs),
            _ => self.floats(s, packs),
        }
    }

    /// Of f32, as numbers: one instruction for each, which leaves out NaNs, and if they are not to be left out another
    /// for two, which tells whether one of them is NaN.
    #[inline(always)]
    fn numbers<S: Simt, const N: usize>(&self, s: &S, packs: &[[u32; 4]; N]) -> K {
        let x = |k: usize| f32::from_bits(self.top(packs, k).long() as u32);
        if !s.branch(self.skips()) {
            let (mut nan, mut k) = (false, 0);
            while k < 4 * N {
                nan |= x(k).partial_cmp(&x(k + 1)).is_none();
                k += 2;
            }
            if s.branch(nan) {
                return self.one_by_one(packs);
            }
        }
        let (mut best, mut k) = (x(0), 1);
        if s.branch(self.least) {
            while k < 4 * N {
                best = s.lesser(best, x(k));
                k += 1;
            }
        } else {
            while k < 4 * N {
                best = s.greater(best, x(k));
                k += 1;
            }
        }
        // All of them are.
        if best.is_nan() { self.nan } else { self.key_of(K::cut(best.to_bits() as i32 as i64)) }
    }

    /// Of f64, as signed integers, of which that of the greatest is the greatest unless all are negative; all signs are
    /// flipped for the least. The high words tell whether there may be a NaN.
    #[inline(always)]
    fn wide<S: Simt, const N: usize>(&self, s: &S, packs: &[[u32; 4]; N]) -> K {
        let sign = K::cut(if self.least { i64::MIN } else { 0 });
        let x = |k: usize| self.top(packs, k).flipped(sign);
        let (mut most, mut high, mut k) = (x(0), 0, 0);
        while k < 2 * N {
            most = most.max(x(k));
            high = high.max(packs[k / 2][2 * (k % 2) + 1] << 1);
            k += 1;
        }
        // All bits of an infinity's exponent are set, too.
        if s.branch(high >= (self.infinity.long() as u64 >> 31) as u32) {
            return self.one_by_one(packs);
        }
        if s.branch(most < K::cut(0)) {
            (most, k) = (x(0), 1);
            while k < 2 * N {
                most = most.lower(x(k));
                k += 1;
            }
        }
        self.key_of(most.flipped(sign))
    }

    /// The greatest key, of elements that may be NaN.
    #[inline(always)]
    fn one_by_one<const N: usize>(&self, packs: &[[u32; 4]; N]) -> K {
        let key = |k: usize| self.key(B::nth(&packs[k / B::PER as usize], k % B::PER as usize));
        let mut best = key(0);
        let mut k = 1;
        while k < N * B::PER as usize {
            best = best.max(key(k));
            k += 1;
        }
        best
    }

    /// The key of what is kept of a float's bits, which is no NaN.
    #[inline(always)]
    fn key_of(&self, bits: K) -> K {
        let key = K::cut(bits.long() ^ (bits.sign().long() & self.float.long()));
        let key = if self.same_zeros && key == K::cut(-1) { K::cut(0) } else { key };
        key.flipped(self.flip)
    }

    /// Of bytes: each is shifted to the top of a word, and what lies below decides nothing.
    #[inline(always)]
    fn bytes(&self, words: &[u32; 4]) -> K {
        let flip = (self.flip.long() as u8 as u32) * 0x0101_0101;
        let most = |w: u32| {
            let w = w ^ flip;
            (w as i32).max((w << 8) as i32).max(((w << 16) as i32).max((w << 24) as i32))
        };
        let most = most(words[0]).max(most(words[1])).max(most(words[2]).max(most(words[3])));
        K::cut((most >> 24) as i64)
    }

    /// Element `k` as a key, what is kept of it.
    #[inline(always)]
    fn top<const N: usize>(&self, packs: &[[u32; 4]; N], k: usize) -> K {
        let (words, k) = (&packs[k / B::PER as usize], k % B::PER as usize);
        match B::SIZE {
            8 => K::cut(B::nth(words, k).to_bits() as i64 & self.keep.long()),
            _ => K::cut((words[k] as i32 & self.keep.long() as i32) as i64),
        }
    }

    #[inline(always)]
    fn integers<const N: usize>(&self, packs: &[[u32; 4]; N]) -> K {
        let mut most = self.top(packs, 0).flipped(self.flip);
        let mut k = 1;
        while k < N * B::PER as usize {
            most = most.max(self.top(packs, k).flipped(self.flip));
            k += 1;
        }
        most
    }

    /// Of f64, as they are: the greatest is the greatest as a signed integer, unless all are negative; then it is the
    /// least as an unsigned one. Likewise for the least. The two ends also tell whether there is a NaN.
    #[inline(always)]
    fn floats<S: Simt, const N: usize>(&self, s: &S, packs: &[[u32; 4]; N]) -> K {
        let x = self.top(packs, 0);
        let (mut most, mut lower, mut upper) = (x, x, x);
        let mut k = 1;
        while k < N * B::PER as usize {
            let x = self.top(packs, k);
            (most, lower, upper) = (most.max(x), lower.lower(x), upper.upper(x));
            k += 1;
        }
        let zero = K::cut(0);
        let beyond = K::cut(upper.long() & (i64::MAX >> (64 - 8 * B::SIZE)));
        if s.branch(most > self.infinity || (upper < zero && beyond > self.infinity)) {
            return self.one_by_one(packs);
        }
        let greatest = if most >= zero { most } else { lower };
        let least = if upper < zero { upper } else { lower };
        self.key_of(if self.least { least } else { greatest })
    }
}
