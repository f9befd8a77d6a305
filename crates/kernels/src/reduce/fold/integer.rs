//! Sums and means of integers, exact.

use crate::reduce::fold::{Heap, Parts, as_brief};
use crate::reduce::out::Out;
use crate::reduce::recipe::{Recipe, flag};
use crate::source::Bits;
use core::marker::PhantomData;
use warpfold_core::ops::IntegerSum;
use warpfold_core::{Cast, Reducer};
use warpfold_simt::Simt;

/// Adds integers in 128 bits; a lane needs fewer while it runs. `B` is what memory holds, signed or not as told.
#[derive(Clone, Copy)]
pub struct Integer<B> {
    unsigned: bool,
    /// The sign bit of a signed element.
    pub(super) bias: u32,
    kind: PhantomData<B>,
}

impl<B: Bits> Parts for Integer<B> {
    type Part = i128;
    const SWAPS: bool = true;
    #[inline(always)]
    fn new(recipe: &Recipe) -> Self {
        let unsigned = recipe.has(flag::UNSIGNED);
        let bias = if unsigned || B::SIZE > 2 { 0 } else { 1 << (8 * B::SIZE - 1) };
        Self { unsigned, bias, kind: PhantomData }
    }
    #[inline(always)]
    fn nothing(&self) -> i128 {
        0
    }
    #[inline(always)]
    fn meet(&self, left: i128, right: i128) -> i128 {
        left + right
    }
    #[inline(always)]
    fn finish<S: Simt>(&self, s: &S, recipe: &Recipe, part: i128, out: Out) {
        let [low, high] = recipe.initial;
        let first = (high as i128) << 64 | low as i128;
        let initial = recipe.has(flag::INITIAL).then_some(first);
        let sum = IntegerSum::<i64>::new(recipe.has(flag::MEAN), initial);
        match sum.finish(part, recipe.count) {
            mean @ Cast::Float(_) => out.number(s, recipe.output, mean),
            Cast::Signed(x) => out.integer(s, recipe.output, x as u64),
            Cast::Unsigned(x) => out.integer(s, recipe.output, x),
        }
    }
}

impl<B: Bits> Integer<B> {
    /// The number that the bits mean, in 64 bits.
    #[inline(always)]
    fn number(&self, bits: B) -> i64 {
        let bits = bits.to_bits() as u64;
        let spare = 64 - 8 * B::SIZE;
        let signed = ((bits << spare) as i64) >> spare;
        if self.unsigned { bits as i64 } else { signed }
    }

    /// The same of at most 16 bits, in 32, without a choice.
    #[inline(always)]
    fn small(&self, bits: B) -> u32 {
        (bits.to_bits() as u32 ^ self.bias).wrapping_sub(self.bias)
    }
}

impl<B: Bits> Heap for Integer<B> {
    type Bits = B;
    /// The sum modulo 2^64, and (of 64-bit elements) what left it on top. Of elements of at most 16 bits a lane adds
    /// less than 2^31 in all, so the low half is enough.
    type Acc = (u64, i64);
    const REPEATS: bool = false;
    as_brief!();
    #[inline(always)]
    fn start(&self) -> (u64, i64) {
        (0, 0)
    }
    #[inline(always)]
    fn pack<S: Simt>(&self, s: &S, mut acc: (u64, i64), words: &[u32; 4], place: u32) -> (u64, i64) {
        if B::SIZE <= 2 {
            // 16 bytes add at most 2^19 in magnitude.
            let mut sum = 0u32;
            let mut k = 0;
            while k < 4 {
                sum = match (B::SIZE, self.unsigned) {
                    (1, false) => s.add_i8x4(words[k], sum),
                    (1, true) => s.add_u8x4(words[k], sum),
                    (_, false) => s.add_i16x2(words[k], sum),
                    (_, true) => s.add_u16x2(words[k], sum),
                };
                k += 1;
            }
            return ((acc.0 as u32).wrapping_add(sum) as u64, 0);
        }
        let mut k = 0;
        while k < B::PER as usize {
            acc = self.one(s, acc, B::nth(words, k), place);
            k += 1;
        }
        acc
    }
    #[inline(always)]
    fn one<S: Simt>(&self, _s: &S, acc: (u64, i64), bits: B, _place: u32) -> (u64, i64) {
        if B::SIZE <= 2 {
            return ((acc.0 as u32).wrapping_add(self.small(bits)) as u64, 0);
        }
        let x = self.number(bits);
        if B::SIZE < 8 {
            return (acc.0.wrapping_add(x as u64), 0);
        }
        let (low, carry) = acc.0.overflowing_add(x as u64);
        let top = if self.unsigned { 0 } else { x >> 63 };
        (low, acc.1 + top + carry as i64)
    }
    #[inline(always)]
    fn part(&self, acc: (u64, i64)) -> i128 {
        match B::SIZE {
            1 | 2 if self.unsigned => acc.0 as u32 as i128,
            1 | 2 => acc.0 as u32 as i32 as i128,
            4 => acc.0 as i64 as i128,
            _ => (acc.1 as i128) << 64 | acc.0 as i128,
        }
    }
}
