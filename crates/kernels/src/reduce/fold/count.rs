//! any, all and count of nonzero elements: one count.

use crate::reduce::fold::{Heap, Parts, as_brief};
use crate::reduce::out::Out;
use crate::reduce::recipe::{Recipe, flag};
use crate::source::Bits;
use core::marker::PhantomData;
use warpfold_core::DType;
use warpfold_simt::Simt;

/// Counts elements that are not zero. `B` is what memory holds; floats come with their sign masked out.
#[derive(Clone, Copy)]
pub struct Count<B> {
    /// The bits that matter: not a float's sign.
    pub(super) mask: u64,
    /// Beyond this, a float is NaN and skipped.
    most: u64,
    kind: PhantomData<B>,
}

impl<B: Bits> Parts for Count<B> {
    type Part = i64;
    const SWAPS: bool = true;
    #[inline(always)]
    fn new(recipe: &Recipe) -> Self {
        let float = |dtype: DType| recipe.input == dtype as u32;
        let ones = !0u64 >> (64 - 8 * B::SIZE);
        let infinity = match B::SIZE {
            2 if float(DType::F16) => 0x7c00,
            2 if float(DType::BF16) => 0x7f80,
            4 if float(DType::F32) => 0x7f80_0000,
            8 if float(DType::F64) => 0x7ff0_0000_0000_0000,
            _ => ones,
        };
        let is_float = infinity != ones;
        let skip = is_float && recipe.has(flag::SKIP_NAN);
        Self {
            mask: if is_float { ones >> 1 } else { ones },
            most: if skip { infinity } else { ones },
            kind: PhantomData,
        }
    }
    #[inline(always)]
    fn nothing(&self) -> i64 {
        0
    }
    #[inline(always)]
    fn meet(&self, left: i64, right: i64) -> i64 {
        left + right
    }
    #[inline(always)]
    fn finish<S: Simt>(&self, s: &S, recipe: &Recipe, part: i64, out: Out) {
        let result = if recipe.has(flag::ANY) {
            (part != 0) as u64
        } else if recipe.has(flag::ALL) {
            (part as u64 == recipe.count) as u64
        } else {
            part as u64
        };
        out.integer(s, recipe.output, result);
    }
}

impl<B: Bits> Count<B> {
    /// What makes the magnitude of a 16-bit NaN that is skipped, and of nothing else, reach the sign; 0 if none is.
    #[inline(always)]
    pub(super) fn beyond(&self) -> u32 {
        self.mask.saturating_sub(self.most) as u32
    }
}

impl<B: Bits> Heap for Count<B> {
    type Bits = B;
    type Acc = u32;
    const REPEATS: bool = false;
    as_brief!();
    #[inline(always)]
    fn start(&self) -> u32 {
        0
    }
    #[inline(always)]
    fn pack<S: Simt>(&self, s: &S, mut acc: u32, words: &[u32; 4], place: u32) -> u32 {
        if B::SIZE == 1 {
            // The top bit of each byte that is not zero, by the carry of its other bits.
            let count = |w: u32| ((((w & 0x7f7f_7f7f) + 0x7f7f_7f7f) | w) & 0x8080_8080).count_ones();
            return acc + (count(words[0]) + count(words[1])) + (count(words[2]) + count(words[3]));
        }
        let mut k = 0;
        while k < B::PER as usize {
            acc = self.one(s, acc, B::nth(words, k), place);
            k += 1;
        }
        acc
    }
    #[inline(always)]
    fn one<S: Simt>(&self, _s: &S, acc: u32, bits: B, _place: u32) -> u32 {
        let magnitude = match B::SIZE {
            8 => bits.to_bits() as u64 & self.mask,
            _ => {
                let magnitude = bits.to_bits() as u32 & self.mask as u32;
                return acc + (magnitude != 0 && magnitude <= self.most as u32) as u32;
            }
        };
        acc + (magnitude != 0 && magnitude <= self.most) as u32
    }
    #[inline(always)]
    fn part(&self, acc: u32) -> i64 {
        acc as i64
    }
}
