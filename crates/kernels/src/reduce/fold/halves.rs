//! The greatest keys of 16-bit elements, two in a word.
//!
//! Idea: floats become integers in their order, the first and the last few of which are NaN. A number is added to all
//! of them, so that the NaNs of one sign go over to the other end: then all are greater than any number, or less if
//! they are skipped. So nothing asks an element whether it is NaN, and Hopper takes a word in four or five
//! instructions. For a place, all NaNs are made one.

use crate::reduce::fold::key::Key;
use crate::reduce::fold::keys::Keys;
use crate::source::Bits;
use warpfold_simt::Simt;

/// The top bit of both.
const SIGNS: u32 = 0x8000_8000;

/// The same 16 bits in both.
#[inline(always)]
fn both(bits: u32) -> u32 {
    (bits & 0xffff) * 0x1_0001
}

/// How words become keys, which are unsigned. `ZEROS` if -0.0 equals +0.0.
#[derive(Clone, Copy)]
pub(super) struct Halves<const ZEROS: bool> {
    /// What turns round where the sign is set: a float's magnitude; if magnitudes are compared, the sign.
    turn: u32,
    /// The sign bit of floats, if `ZEROS`.
    raise: u32,
    /// Bits to flip.
    flip: u32,
    /// Twice a negative float's magnitude is taken from the key; added to it for the least. If `ZEROS`.
    twice: u32,
    /// What is added to all keys in the end, modulo 2^16; nothing to integers.
    by: u32,
    /// All keys from this on are of NaNs.
    limit: u32,
}

impl<const ZEROS: bool> Halves<ZEROS> {
    #[inline(always)]
    pub(super) fn of<B: Bits, K: Key>(keys: &Keys<B, K>) -> Self {
        let is_float = keys.float != K::cut(0);
        let raise = if ZEROS && is_float { SIGNS } else { 0 };
        // How many keys the NaNs of a sign have. Where zeros share one, the end beyond negative NaNs has one more.
        let nans = 0x7fffu32.wrapping_sub(keys.infinity.long() as u32);
        let by = if keys.skips() {
            nans.wrapping_add((ZEROS && keys.least) as u32)
        } else {
            nans.wrapping_add((ZEROS && !keys.least) as u32).wrapping_neg()
        };
        Self {
            turn: both(if keys.keep == K::cut(-1) { keys.float.long() as u32 } else { 0x8000 }),
            raise,
            flip: both(keys.flip.long() as u32) ^ raise ^ SIGNS,
            twice: if keys.least { 2 } else { 2u32.wrapping_neg() },
            by: both(if is_float { by } else { 0 }),
            limit: both(if is_float && !keys.skips() { (keys.infinity.long() as u32 | 0x8000) - nans } else { 0xffff }),
        }
    }

    /// The same where words are taken: the compiler would make choices of what it knew.
    #[inline(always)]
    pub(super) fn taking<S: Simt, B: Bits, K: Key>(s: &S, keys: &Keys<B, K>) -> Self {
        let Self { turn, raise, flip, twice, by, limit } = Self::of(keys);
        let [turn, raise, flip] = [turn, raise, flip].map(
            #[inline(always)]
            |x| s.opaque(x),
        );
        Self { turn, raise, flip, twice: s.opaque(twice), by: s.opaque(by), limit: s.opaque(limit) }
    }

    /// The keys of a word's elements, but for what is added in the end.
    #[inline(always)]
    pub(super) fn keys<S: Simt>(&self, s: &S, word: u32) -> u32 {
        let turn = s.permute(word, 0, 0xbb99) & self.turn;
        if ZEROS {
            // The sign bit plus or minus the magnitude; of the least, all bits flipped. No half of the sum leaves its
            // 16 bits.
            ((word | self.raise) ^ self.flip).wrapping_add((word & turn).wrapping_mul(self.twice))
        } else {
            word ^ turn ^ self.flip
        }
    }

    /// The keys of a word's elements, of which all NaNs have the same.
    #[inline(always)]
    pub(super) fn same<S: Simt>(&self, s: &S, word: u32) -> u32 {
        s.least_halves(self.keys(s, word), self.by, self.limit)
    }

    /// The greater of two keys on top of a word, all other bits of which are set; one for all NaNs.
    #[inline(always)]
    pub(super) fn top(&self, most: u32) -> u32 {
        (greater(most) | 0xffff).min(self.limit | 0xffff)
    }

    /// The greatest of these keys, and of a word's; those of nothing are 0.
    #[inline(always)]
    pub(super) fn take<S: Simt>(&self, s: &S, most: u32, word: u32) -> u32 {
        s.greatest_halves(self.keys(s, word), self.by, most)
    }

    /// The same of packs.
    #[inline(always)]
    pub(super) fn packs<S: Simt, const N: usize>(&self, s: &S, mut most: u32, packs: &[[u32; 4]; N]) -> u32 {
        let mut k = 0;
        while k < 4 * N {
            most = self.take(s, most, packs[k / 4][k % 4]);
            k += 1;
        }
        most
    }

    /// The key of [`Keys`] that one is which was the greatest.
    #[inline(always)]
    pub(super) fn key<B: Bits, K: Key>(&self, keys: &Keys<B, K>, one: u32) -> K {
        let own = (one.wrapping_sub(self.by) ^ SIGNS) as i16;
        let number = K::cut(own as i64).flipped(keys.flip);
        // Of floats, -0.0 has a key of its own there.
        let number = if self.raise != 0 { K::cut(number.long() + number.sign().long()) } else { number };
        if keys.beyond(number, number) { keys.nan } else { number.flipped(keys.flip) }
    }
}

/// The greater of both, on top of a word; what is below it decides nothing.
#[inline(always)]
pub(super) fn greater(most: u32) -> u32 {
    most.max(most << 16)
}
