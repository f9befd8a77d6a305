//! Columns of 1- and 2-byte elements, all of a 32-bit word together.
//!
//! A lane takes at most 128 rows before it makes parts, so that counts and sums of bytes fit narrow fields, and an arg
//! op's key and row fit one word: the key on top, then the row's number in reverse, so that the greatest word is the
//! first of the greatest keys.

use crate::reduce::fold::extremum::{Extremum, MinMax};
use crate::reduce::fold::halves::Halves;
use crate::reduce::fold::keys::Keys;
use crate::reduce::fold::{Arg, Count, Heap, Integer};
use crate::source::Bits;
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

/// The keys of a word's bytes, unsigned.
#[inline(always)]
fn bytes<B: Bits>(keys: &Keys<B, i32>, word: u32) -> u32 {
    word ^ every::<B>(keys.flip as u32 ^ 0x80)
}

/// The key of [`Keys`] that one of these is, on top of a word.
#[inline(always)]
fn byte(word: u32) -> i32 {
    (word ^ 1 << 31) as i32 >> 24
}

/// Of an extreme: takes the word of a row. Of 16-bit elements the first of the four has both columns.
#[inline(always)]
fn row<S: Simt, B: Bits>(s: &S, keys: &Keys<B, i32>, columns: [u32; 4], word: u32) -> [u32; 4] {
    if B::SIZE == 2 {
        return [Halves::<false>::taking(s, keys).take(s, columns[0], word), 0, 0, 0];
    }
    let word = bytes(keys, word);
    // What lies below a key decides nothing.
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |j| columns[j].max(word << (24 - 8 * j)),
    )
}

/// The key of column `j`, after so many rows.
#[inline(always)]
fn column<B: Bits>(keys: &Keys<B, i32>, columns: [u32; 4], j: usize, taken: u32) -> i32 {
    if taken == 0 {
        i32::MIN
    } else if B::SIZE == 2 {
        Halves::<false>::of(keys).key(keys, field::<B>(columns[0], j))
    } else {
        byte(columns[j])
    }
}

impl<B: Bits> Packed for Extremum<B, i32> {
    type Columns = [u32; 4];
    #[inline(always)]
    fn begin(&self) -> [u32; 4] {
        [0; 4]
    }
    #[inline(always)]
    fn row<S: Simt>(&self, s: &S, columns: [u32; 4], word: u32, _number: u32) -> [u32; 4] {
        row(s, &self.0, columns, word)
    }
    #[inline(always)]
    fn column(&self, columns: [u32; 4], j: usize, taken: u32, _place: impl Fn(u32) -> u64) -> i32 {
        column(&self.0, columns, j, taken)
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
        [row(s, &self.least, least, word), row(s, &self.greatest, greatest, word)]
    }
    #[inline(always)]
    fn column(
        &self,
        [least, greatest]: [[u32; 4]; 2],
        j: usize,
        taken: u32,
        _place: impl Fn(u32) -> u64,
    ) -> (i32, i32) {
        (column(&self.least, least, j, taken), column(&self.greatest, greatest, j, taken))
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
        let keys = if B::SIZE == 2 { Halves::<true>::taking(s, &self.0).same(s, word) } else { bytes(&self.0, word) };
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
        let key = if B::SIZE == 2 { Halves::<true>::of(&self.0).key(&self.0, word >> 16) } else { byte(word) };
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
