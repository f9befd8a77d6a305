//! A stable radix sort, and what is made of sorted keys: distinct values, runs, groups. Beside it, what else labels
//! need: bins, and rows as columns.
//!
//! Keys are integers of 4 or 8 bytes ([`key`]: elements of any dtype become such), with nothing, 4 or 8 bytes carried
//! along. One pass over the elements counts the digits of all places ([`count`]), one block turns counts into where
//! digits begin ([`starts`]), and then there is one pass for each place ([`pass`]): a block puts a tile in order in
//! shared memory, learns from the tiles before it where its digits go ([`back`]), and writes them there in runs. This
//! is *Onesweep* (Adinets and Merrill, 2022). A place at which all keys agree is left out, if nobody waits for the
//! result in a buffer of his choice.

pub mod back;
pub mod count;
pub mod distinct;
pub mod heads;
pub mod key;
pub mod pass;
mod sorted;
pub mod starts;
pub mod state;
pub mod table;

use crate::params::params;

/// Values of a digit at most: one for each thread.
pub const RADIX: u32 = 256;
/// Elements at most: what tiles tell each other has two bits of a word less.
pub const MOST: usize = (1 << 30) - 1;

params! {
    #[derive(Default)]
    /// Where a sort finds and leaves what it works on.
    pub struct SortAt {
        /// The elements.
        pub input: u64,
        /// What they carry, before the first pass; unused if that is their positions.
        pub values: u64,
        /// Keys between passes: each is written to the one and read from the other.
        pub keys: [u64; 2],
        /// What they carry, likewise.
        pub carried: [u64; 2],
        /// What [`state::State`] says; all zero at the start.
        pub state: u64,
    }

    /// What is sorted, and where.
    pub struct Sort at SortAt {
        /// How many elements.
        pub n: u64,
        /// What they are.
        pub elements: key::Elements,
        /// Digits of a key.
        pub places: u32,
        /// Bits of each.
        pub bits: u32,
        /// Bits below the first, which are left in any order.
        pub low: u32,
        /// Of a pass: which digit, from the lowest.
        pub place: u32,
        /// Tiles of a pass.
        pub tiles: u32,
        /// Whether [`count`] writes the keys down, since elements have another size.
        pub converted: u32,
        /// Bytes of what is carried before the first pass; 0: the positions.
        pub from: u32,
        /// And after the last one.
        pub to: u32,
        /// Whether there is a pass for each place, even if all keys agree there.
        pub every: u32,
        /// To fill a word.
        pub unused: u32,
    }
}

/// The buffer of two that is written in turn number `turn`: an index would bring the parameter into local memory.
#[inline(always)]
fn buffer(of: [u64; 2], turn: u32) -> u64 {
    if turn & 1 == 0 { of[0] } else { of[1] }
}
