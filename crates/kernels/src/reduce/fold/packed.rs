//! Columns of 1- and 2-byte elements, all of a 32-bit word together.
//!
//! A lane takes at most 128 rows before it makes parts, so that counts and sums of bytes fit narrow fields, and an arg
//! op's key and row fit one word: the key on top, then the row's number in reverse, so that the greatest word is the
//! first of the greatest keys.

use crate::reduce::fold::extremum::{Extremum, Keys, MinMax};
use crate::reduce::fold::key::Key;
use crate::reduce::fold::{Arg, Count, Heap, Integer};
use crate::source::Bits;
use core::marker::PhantomData;
use warpfold_simt::Simt;

/// A heap that takes the columns of a word together.
pub trait Packed: Heap {
    /// The running values of a word's columns.
    type Columns: Copy;
    /// Before the first row.
    fn begin(&self) -> Self::Columns;
    /// Takes the word of a row; rows have the numbers 0, 1, 2, … 127, in this order.
    fn row<S: Simt>(&self, s: &S, columns: Self::Columns, word: u32, number: u32) -> Self::Columns;
    /// The part of column `j`, after so many rows; `place` says where a row is.
    fn column(&self, columns: Self::Columns, j: usize, taken: u32, place: impl Fn(u32) -> u64) -> Self::Part;
}

/// Field `j` of a word, as wide as an element.
#[inline(always)]
fn field<B: Bits>(word: u32, j: usize) -> u32 {
    let width = 8 * B::SIZE;
    word << (32 - width - width * j as u32) >> (32 - width)
}

/// The same bits in every field of a word.
#[inline(always)]
fn every<B: Bits>(bits: u32) -> u32 {
    if B::SIZE == 1 { (bits & 0xff) * 0x0101_0101 } else { (bits & 0xffff) * 0x0001_0001 }
}

/// Of each half, its sign in all its bits.
#[inline(always)]
fn signs<S: Simt>(s: &S, word: u32) -> u32 {
    s.permute(word, 0, 0xbb99)
}

/// Keys of a word's elements as unsigned numbers of their width. `ZEROS` if -0.0 equals +0.0.
#[derive(Clone, Copy)]
pub(super) struct Words<B, const ZEROS: bool> {
    /// Bits of a float that count.
    keep: u32,
    /// A float's magnitude; none of an integer.
    magnitude: u32,
    /// What turns round in negative floats: their magnitude.
    turn: u32,
    /// The sign bit of floats, if `ZEROS`.
    raise: u32,
    flip: u32,
    /// Added to a NaN's magnitude, this reaches the sign; to that of no other.
    beyond: u32,
    /// The key of a NaN.
    nan: u32,
    /// Whether the least is looked for.
    least: bool,
    kind: PhantomData<B>,
}

impl<B: Bits, const ZEROS: bool> Words<B, ZEROS> {
    const SIGN: u32 = (1u64 << (8 * B::SIZE - 1)) as u32;

    #[inline(always)]
    pub(super) fn of<K: Key>(keys: &Keys<B, K>) -> Self {
        let is_float = B::SIZE == 2 && keys.float != K::cut(0);
        let magnitude = every::<B>(if is_float { 0x7fff } else { 0 });
        let raise = if is_float && ZEROS { 0x8000 } else { 0 };
        Self {
            keep: every::<B>(keys.keep.long() as u32),
            magnitude,
            turn: if keys.keep == K::cut(-1) { magnitude } else { 0 },
            raise: every::<B>(raise),
            flip: every::<B>(keys.flip.long() as u32 ^ raise ^ Self::SIGN),
            beyond: if is_float { every::<B>(0x7fff - keys.infinity.long() as u32) } else { 0 },
            nan: every::<B>(keys.nan.long() as u32 ^ Self::SIGN),
            least: keys.least,
            kind: PhantomData,
        }
    }

    /// The keys of a word's elements.
    #[inline(always)]
    pub(super) fn keys<S: Simt>(&self, s: &S, word: u32) -> u32 {
        if B::SIZE == 1 {
            return word ^ self.flip;
        }
        let negative = signs(s, word) & self.turn;
        let keys = if ZEROS {
            // The sign bit plus or minus the magnitude, so that both zeros are the same; of the least, all bits
            // flipped. No half of the sum leaves its 16 bits.
            let twice = if self.least { 2 } else { 2u32.wrapping_neg() };
            ((word | self.raise) ^ self.flip).wrapping_add((word & negative).wrapping_mul(twice))
        } else {
            (word & self.keep) ^ (negative ^ self.flip)
        };
        let nan = signs(s, (word & self.magnitude) + self.beyond);
        (self.nan & nan) | (keys & !nan)
    }

    /// The key of [`Keys`] that one of these is.
    #[inline(always)]
    pub(super) fn key(&self, key: u32) -> i32 {
        let spare = 32 - 8 * B::SIZE;
        let signed = |bits: u32| ((bits << spare) as i32) >> spare;
        if B::SIZE == 2 && ZEROS && self.raise != 0 {
            // Negative floats are one less there, where -0.0 has a key of its own.
            let flip = -(self.least as i32);
            let value = signed(key ^ flip as u32 ^ Self::SIGN);
            return (value + (value >> 31)).max(i16::MIN as i32) ^ flip;
        }
        signed(key ^ Self::SIGN)
    }
}

/// The greatest of keys and of what a row has, column by column. What lies below a key decides nothing.
#[inline(always)]
pub(super) fn most<B: Bits>(columns: [u32; 4], keys: u32) -> [u32; 4] {
    let (width, per) = (8 * B::SIZE as usize, 4 / B::SIZE as usize);
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |j| if j < per { columns[j].max(keys << (32 - width - width * j)) } else { columns[j] },
    )
}

/// The key on top of a word.
#[inline(always)]
pub(super) fn top<B: Bits>(word: u32) -> u32 {
    word >> (32 - 8 * B::SIZE)
}

impl<B: Bits> Packed for Extremum<B, i32> {
    type Columns = [u32; 4];
    #[inline(always)]
    fn begin(&self) -> [u32; 4] {
        [0; 4]
    }
    #[inline(always)]
    fn row<S: Simt>(&self, s: &S, columns: [u32; 4], word: u32, _number: u32) -> [u32; 4] {
        most::<B>(columns, Words::<B, false>::of(&self.0).keys(s, word))
    }
    #[inline(always)]
    fn column(&self, columns: [u32; 4], j: usize, taken: u32, _place: impl Fn(u32) -> u64) -> i32 {
        if taken == 0 { i32::MIN } else { Words::<B, false>::of(&self.0).key(top::<B>(columns[j])) }
    }
}

impl<B: Bits> Packed for MinMax<B, i32> {
    type Columns = [[u32; 4]; 2];
    #[inline(always)]
    fn begin(&self) -> [[u32; 4]; 2] {
        [[0; 4]; 2]
    }
    #[inline(always)]
    fn row<S: Simt>(&self, s: &S, [least, greatest]: [[u32; 4]; 2], word: u32, _number: u32) -> [[u32; 4]; 2] {
        let keys = |keys: &Keys<B, i32>| Words::<B, false>::of(keys).keys(s, word);
        [most::<B>(least, keys(&self.least)), most::<B>(greatest, keys(&self.greatest))]
    }
    #[inline(always)]
    fn column(
        &self,
        [least, greatest]: [[u32; 4]; 2],
        j: usize,
        taken: u32,
        _place: impl Fn(u32) -> u64,
    ) -> (i32, i32) {
        let key = |keys: &Keys<B, i32>, word: u32| {
            if taken == 0 { i32::MIN } else { Words::<B, false>::of(keys).key(top::<B>(word)) }
        };
        (key(&self.least, least[j]), key(&self.greatest, greatest[j]))
    }
}

impl<B: Bits> Arg<B, i32> {
    /// Bits of a word below the key.
    const BELOW: u32 = u32::MAX >> (8 * B::SIZE);
}

impl<B: Bits> Packed for Arg<B, i32> {
    type Columns = [u32; 4];
    #[inline(always)]
    fn begin(&self) -> [u32; 4] {
        [0; 4]
    }
    #[inline(always)]
    fn row<S: Simt>(&self, s: &S, columns: [u32; 4], word: u32, number: u32) -> [u32; 4] {
        let keys = Words::<B, true>::of(&self.0).keys(s, word);
        let row = Self::BELOW - number;
        // The key's bytes on top, and below them the row's lowest.
        let select: [u32; 4] = if B::SIZE == 1 { [0x0654, 0x1654, 0x2654, 0x3654] } else { [0x1054, 0x3254, 0, 0] };
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |j| if select[j] == 0 { columns[j] } else { columns[j].max(s.permute(keys, row, select[j])) },
        )
    }
    #[inline(always)]
    fn column(&self, columns: [u32; 4], j: usize, _taken: u32, place: impl Fn(u32) -> u64) -> (i32, u64) {
        let word = columns[j];
        // No row's word is 0: numbers are far below `BELOW`.
        if word == 0 {
            return (i32::MIN, u64::MAX);
        }
        let key = Words::<B, true>::of(&self.0).key(top::<B>(word));
        (key, place(Self::BELOW - (word & Self::BELOW)))
    }
}

impl<B: Bits> Packed for Integer<B> {
    /// Of bytes, sums of the even and of the odd ones in halves of a word; of 2-byte elements, a word each. All without
    /// the bias, which makes every element positive.
    type Columns = [u32; 2];
    #[inline(always)]
    fn begin(&self) -> [u32; 2] {
        [0; 2]
    }
    #[inline(always)]
    fn row<S: Simt>(&self, s: &S, [even, odd]: [u32; 2], word: u32, _number: u32) -> [u32; 2] {
        let word = word ^ every::<B>(self.bias);
        if B::SIZE == 1 {
            [even + (word & 0x00ff_00ff), odd + s.permute(word, 0, 0x4341)]
        } else {
            [even + (word & 0xffff), odd + (word >> 16)]
        }
    }
    #[inline(always)]
    fn column(&self, columns: [u32; 2], j: usize, taken: u32, _place: impl Fn(u32) -> u64) -> i128 {
        let sum = if B::SIZE == 1 { field::<u16>(columns[j % 2], j / 2) } else { columns[j % 2] };
        (sum as i32 - (taken * self.bias) as i32) as i128
    }
}

impl<B: Bits> Packed for Count<B> {
    /// A field of the element's width each.
    type Columns = u32;
    #[inline(always)]
    fn begin(&self) -> u32 {
        0
    }
    #[inline(always)]
    fn row<S: Simt>(&self, _s: &S, counts: u32, word: u32, _number: u32) -> u32 {
        // The carry of an element's other bits reaches its top one, unless all are zero; so does a NaN's with what is
        // added to it.
        let top = every::<B>(1 << (8 * B::SIZE - 1));
        let word = word & every::<B>(self.mask as u32);
        let rest = word & !top;
        let nan = if B::SIZE == 2 { rest + every::<B>(self.beyond()) } else { 0 };
        let nonzero = ((rest + !top) | word) & !nan & top;
        counts + (nonzero >> (8 * B::SIZE - 1))
    }
    #[inline(always)]
    fn column(&self, counts: u32, j: usize, _taken: u32, _place: impl Fn(u32) -> u64) -> i64 {
        field::<B>(counts, j) as i64
    }
}
