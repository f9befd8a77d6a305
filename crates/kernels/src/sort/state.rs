//! What a sort's launches tell each other: words that are zero when it starts.

use crate::address::array;
use crate::sort::RADIX;
use crate::sort::back::Words;
use warpfold_simt::{Global, Order, Simt};

/// Digits of a key at most.
pub const PLACES: usize = 8;
/// Blocks of [`crate::sort::count`] at most.
pub const BLOCKS: usize = 2048;

/// Counts of each value of each digit, which become where it begins.
const COUNTS: usize = 0;
/// Which tile comes next, of each pass, and of [`crate::sort::heads`].
const TICKETS: usize = COUNTS + PLACES * RADIX as usize;
/// A bit for each place at which keys differ.
const LIVE: usize = TICKETS + PLACES + 1;
/// How many keys are heads.
pub const FOUND: usize = LIVE + 1;
/// What is special, as [`special`] has it: the first of all blocks. The label follows, in two words.
pub const FIRST: usize = FOUND + 1;
/// The same of each block.
const SPECIALS: usize = FIRST + 3;
/// What tiles tell those after them.
const BACK: usize = SPECIALS + BLOCKS;

/// Words for so many tiles of passes, of so many places, and tiles of heads.
pub const fn words(tiles: usize, places: usize, heads: usize) -> usize {
    BACK + tiles * places * RADIX as usize + heads
}

/// The position of an element, and a bit of it, so that the greatest is the first; zero is none.
#[inline(always)]
pub fn special(at: u64, bit: u32) -> u32 {
    !((at as u32) << 1 | bit)
}

/// The position and the bit; none if it is zero.
#[inline(always)]
pub fn of_special(word: u32) -> Option<(u32, u32)> {
    if word == 0 { None } else { Some((!word >> 1, !word & 1)) }
}

/// The words.
#[derive(Clone, Copy)]
pub struct State(Global<u32>);

impl State {
    /// At an address.
    #[inline(always)]
    pub fn at(address: u64) -> Self {
        Self(array(address))
    }

    /// The words themselves.
    #[inline(always)]
    pub fn words(self) -> Global<u32> {
        self.0
    }

    /// The place of the count of a digit's value.
    #[inline(always)]
    pub fn count(self, place: u32, digit: u32) -> usize {
        COUNTS + (place * RADIX + digit) as usize
    }

    /// The number of a block of a pass, in the order in which they begin; one thread asks.
    #[inline(always)]
    pub fn ticket<S: Simt>(self, s: &S, pass: u32) -> u32 {
        s.atomic_add(self.0, TICKETS + pass as usize, 1u32, Order::Relaxed)
    }

    /// Says at which places keys differ.
    #[inline(always)]
    pub fn set_live<S: Simt>(self, s: &S, places: u32) {
        s.store(self.0, LIVE, places);
    }

    /// At which places keys differ.
    #[inline(always)]
    pub fn live<S: Simt>(self, s: &S) -> u32 {
        s.load(self.0, LIVE)
    }

    /// The place of a block's special element.
    #[inline(always)]
    pub fn special(self, block: u32) -> usize {
        SPECIALS + block as usize
    }

    /// What tiles of a pass tell each other of a digit's value.
    #[inline(always)]
    pub fn digits(self, tiles: u32, place: u32, digit: u32) -> Words {
        let first = BACK + place as usize * tiles as usize * RADIX as usize + digit as usize;
        Words { words: self.0.offset(first), step: RADIX as usize }
    }

    /// What tiles of heads tell each other, after `tiles` tiles of `places` passes.
    #[inline(always)]
    pub fn heads(self, tiles: u32, places: u32) -> Words {
        let first = BACK + places as usize * tiles as usize * RADIX as usize;
        Words { words: self.0.offset(first), step: 1 }
    }
}
