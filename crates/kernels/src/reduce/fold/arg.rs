//! argmin and argmax: the greatest key and the first pack of 16 bytes that has it; which of its elements, the end
//! tells.

use crate::node::{Node, select};
use crate::reduce::fold::halves::Halves;
use crate::reduce::fold::key::Key;
use crate::reduce::fold::keys::Keys;
use crate::reduce::fold::{Heap, Parts};
use crate::reduce::out::{Hole, Out};
use crate::reduce::recipe::{Recipe, flag};
use crate::source::Bits;
use warpfold_simt::Simt;

/// The only word of a node.
#[inline(always)]
fn word<N: Node>(node: N) -> u32 {
    let mut only = 0;
    let _ = node.map(|_, word| {
        only = word;
        word
    });
    only
}

/// Where the greatest or the least element is; the first of equals.
#[derive(Clone, Copy)]
pub struct Arg<B, K>(pub(super) Keys<B, K>);

impl<B: Bits, K: Key> Parts for Arg<B, K> {
    const PLACES: bool = true;
    /// The key, and a place: of a pack, a row, or in the end of the element.
    type Part = (K, u64);
    const SWAPS: bool = true;
    #[inline(always)]
    fn new(recipe: &Recipe) -> Self {
        Self(Keys::new(recipe, true))
    }
    #[inline(always)]
    fn nothing(&self) -> Self::Part {
        (K::MIN, u64::MAX)
    }
    #[inline(always)]
    fn meet(&self, left: Self::Part, right: Self::Part) -> Self::Part {
        let better = right.0 > left.0 || (right.0 == left.0 && right.1 < left.1);
        if better { right } else { left }
    }
    #[inline(always)]
    fn moved(&self, part: Self::Part, by: u64) -> Self::Part {
        (part.0, if part.1 == u64::MAX { part.1 } else { part.1 + by })
    }
    #[inline(always)]
    fn finish<S: Simt>(&self, s: &S, recipe: &Recipe, part: Self::Part, out: Out) {
        if recipe.has(flag::SKIP_NAN) && self.0.is_lost(part.0) {
            out.hole(s, Hole::AllNan);
        }
        s.store(out.output.cast(), out.index, part.1);
    }
}

impl<B: Bits, K: Key> Arg<B, K> {
    /// The running value and what comes later, of 16-bit elements: keys of [`Halves`]. No word is as low as that of
    /// nothing.
    #[inline(always)]
    fn later(acc: (K, u32), word: u32, place: u32) -> (K, u32) {
        if word > acc.0.long() as u32 { (K::cut(word as i64), place) } else { acc }
    }
}

impl<B: Bits, K: Key> Heap for Arg<B, K> {
    type Bits = B;
    /// The key, or of 16-bit elements one of `Halves` above bits that are all set.
    type Acc = (K, u32);
    const REPEATS: bool = true;
    #[inline(always)]
    fn blank(&self) -> Option<B> {
        self.0.lowest()
    }
    #[inline(always)]
    fn start(&self) -> (K, u32) {
        (if B::SIZE == 2 { K::cut(0) } else { K::MIN }, u32::MAX)
    }
    #[inline(always)]
    fn pack<S: Simt>(&self, s: &S, acc: (K, u32), words: &[u32; 4], place: u32) -> (K, u32) {
        if B::SIZE == 2 {
            let halves = Halves::<true>::taking(s, &self.0);
            return Self::later(acc, halves.top(halves.packs(s, 0, &[*words])), place);
        }
        let key = self.0.most(s, &[*words]);
        // A lane meets its packs in order, so that equals change nothing; but a key of MIN must find a place.
        if key > acc.0 || acc.1 == u32::MAX { (key, place) } else { acc }
    }
    #[inline(always)]
    fn one<S: Simt>(&self, s: &S, acc: (K, u32), bits: B, place: u32) -> (K, u32) {
        if B::SIZE == 2 {
            let (halves, word) = (Halves::<true>::taking(s, &self.0), bits.to_bits() as u32 * 0x1_0001);
            return Self::later(acc, halves.top(halves.take(s, 0, word)), place);
        }
        let key = self.0.key(bits);
        if key > acc.0 || acc.1 == u32::MAX { (key, place) } else { acc }
    }
    #[inline(always)]
    fn part(&self, acc: (K, u32)) -> Self::Part {
        if acc.1 == u32::MAX {
            return self.nothing();
        }
        let one = acc.0.long() as u32 >> 16;
        (if B::SIZE == 2 { Halves::<true>::of(&self.0).key(&self.0, one) } else { acc.0 }, acc.1 as u64)
    }
    #[inline(always)]
    fn found(&self, bits: B, part: Self::Part) -> bool {
        self.0.key(bits) == part.0
    }
    #[inline(always)]
    fn locate(&self, words: &[u32; 4], part: Self::Part) -> u32 {
        let mut at = 0;
        if B::SIZE == 1 {
            let wanted = self.0.bits(part.0) as u8 as u32 * 0x0101_0101;
            let mut k = 4;
            while k > 0 {
                k -= 1;
                let x = words[k] ^ wanted;
                // The lowest bit set is of the first byte that is zero.
                let zero = x.wrapping_sub(0x0101_0101) & !x & 0x8080_8080;
                at = if zero != 0 { 4 * k as u32 + zero.trailing_zeros() / 8 } else { at };
            }
            return at;
        }
        if self.0.is_nan(part.0) {
            let mut k = B::PER;
            while k > 0 {
                k -= 1;
                at = if self.0.key(B::nth(words, k as usize)) == part.0 { k } else { at };
            }
            return at;
        }
        // What has the key has its bits, but for the sign of zero.
        let (bits, zero) = (self.0.bits(part.0), self.0.is_any_zero(part.0));
        let care = u64::MAX >> (64 - 8 * B::SIZE + zero as u32);
        if B::SIZE == 2 {
            let (wanted, care) = (bits as u16 as u32 * 0x1_0001, care as u16 as u32 * 0x1_0001);
            let mut k = 4;
            while k > 0 {
                k -= 1;
                let x = (words[k] ^ wanted) & care;
                let zero = x.wrapping_sub(0x1_0001) & !x & 0x8000_8000;
                let which = 2 * k as u32 + (zero & 0x8000 == 0) as u32;
                at = if zero != 0 { which } else { at };
            }
            return at;
        }
        let mut k = B::PER;
        while k > 0 {
            k -= 1;
            at = if (B::nth(words, k as usize).to_bits() as u64 ^ bits) & care == 0 { k } else { at };
        }
        at
    }
    #[inline(always)]
    fn place(&self, part: Self::Part) -> Option<u32> {
        Some(part.1 as u32)
    }
    /// Keys of up to 16 bits stand above the complement of the place: the greatest is the first of the greatest.
    type Brief = (K, B::Beside);
    #[inline(always)]
    fn brief(&self, part: Self::Part) -> Self::Brief {
        let none = part.1 == u64::MAX;
        if B::SIZE <= 2 {
            let key = if none { i16::MIN as i64 } else { part.0.long() };
            return (K::cut(key << 16 | (!part.1 & 0xffff) as i64), B::Beside::zero());
        }
        (part.0, B::Beside::zero().map(|_, _| part.1 as u32))
    }
    #[inline(always)]
    fn meet_brief(&self, left: Self::Brief, right: Self::Brief) -> Self::Brief {
        if B::SIZE <= 2 {
            return (left.0.max(right.0), left.1);
        }
        let better = right.0 > left.0 || (right.0 == left.0 && word(right.1) < word(left.1));
        select(better, right, left)
    }
    #[inline(always)]
    fn part_of(&self, brief: Self::Brief) -> Self::Part {
        if B::SIZE <= 2 {
            let both = brief.0.long();
            return (K::cut(both >> 16), (!both & 0xffff) as u64);
        }
        (brief.0, word(brief.1) as u64)
    }
    #[inline(always)]
    fn placed(&self, part: Self::Part, index: u64) -> Self::Part {
        (part.0, index)
    }
}
