//! Values in the order of their labels, by a digit of up to ten bits at a time, from the highest; and sums of groups.
//!
//! Idea: three launches part a list by a digit. Each block counts the digits of a chunk ([`count`]); one scan over all
//! chunks makes of the counts where each chunk's digits go ([`starts`]); and then a block puts tile after tile of its
//! chunk in order in shared memory and writes it ([`pass`]). No block waits for another. Up to 1024 groups, that is
//! all, and what the scan finds are the offsets of the groups. Up to 2^20, the same three launches part each *bucket*,
//! the labels of one high digit, by the low digit. Sums need no second part: a block has a bucket to itself, and adds
//! up its groups in shared memory ([`sums`]); if a bucket or a group is too long for that, it says so, and the second
//! part is made after all. Sums of many elements in few groups need no part: from the counts a block knows the ranks
//! of its elements in their groups, and makes nodes where they lie ([`nodes`], [`joints`]).
//!
//! A chunk may have parts of several buckets, *pieces*. Piece number `bucket + chunk` has a row of counts. Labels of
//! no group are left out by the first part. Bottleneck: shared memory, whose banks random digits share unevenly.

pub mod count;
mod group;
pub mod joints;
pub mod nodes;
mod order;
pub mod pass;
mod piece;
pub mod starts;
pub mod sums;
mod tile;

use crate::params::params;
use crate::sort::key::Elements;

pub use nodes::{EIGHT, NODE};
pub use sums::{SUM_THREADS, SUM_TILE, SumsAt, SumsCall, Within};
pub use tile::TILE;

/// Values of a digit at most.
pub const DIGITS: u32 = 1024;
/// Threads of a block that parts.
pub const THREADS: u32 = 512;
/// Threads of a block that makes nodes: one for each digit.
pub const WIDE: u32 = 1024;
/// Bytes of shared memory that a block has at most.
pub const ROOM: u32 = 227 << 10;

params! {
    #[derive(Default)]
    /// Where parting finds and leaves what it works on.
    pub struct SplitAt {
        /// The labels; in the second part what [`SplitAt::rests`] was in the first.
        pub labels: u64,
        /// The values, of 4 bytes.
        pub values: u64,
        /// `u32`: where each bucket begins, and where the last ends; unused in the first part.
        pub buckets: u64,
        /// `u16` of each element: what is left of its label. 0: not written.
        pub rests: u64,
        /// The values in order.
        pub moved: u64,
        /// `u32`: where each digit of each bucket begins, and where the last ends.
        pub starts: u64,
        /// Counts of pieces: a row of [`DIGITS`] words for each.
        pub rows: u64,
        /// Counts of buckets, likewise.
        pub totals: u64,
        /// The first label of no group of each chunk; in the first part.
        pub firsts: u64,
        /// Three words: the first label of no group; in the first part.
        pub said: u64,
        /// A word: whether there has to be a second part.
        pub again: u64,
        /// Nodes of eight elements of groups.
        pub eights: u64,
        /// Nodes of [`NODE`] elements of groups.
        pub nodes: u64,
    }

    /// What is parted, and how.
    pub struct Split at SplitAt {
        /// How many elements.
        pub n: u64,
        /// What the labels are.
        pub elements: Elements,
        /// Bits below the digit.
        pub low: u32,
        /// Values of the digit.
        pub digits: u32,
        /// Buckets: 1 in the first part.
        pub buckets: u32,
        /// Chunks.
        pub chunks: u32,
        /// Elements of a chunk.
        pub chunk: u32,
        /// Parts of all buckets together.
        pub parts: u32,
        /// Slices of the digits in which [`starts`] scans a bucket's rows: the logarithm.
        pub slices: u32,
        /// Of the first part: the most elements of a bucket that need no second part.
        pub most: u32,
        /// Of the second part: whether it is left out unless [`SplitAt::again`] says otherwise.
        pub asked: u32,
        /// Whether this is the first part.
        pub first: u32,
        /// Bits of a digit.
        pub bits: u32,
        /// Of nodes: what a fold is told, see [`crate::reduce::recipe::flag`].
        pub flags: u32,
        /// Of joints: elements of what is joined, eight of the size below; the logarithm.
        pub size: u32,
        /// Of nodes: chunks of counts for each of their own chunks.
        pub each: u32,
    }
}

impl Split {
    /// Whether there is nothing to do.
    #[inline(always)]
    fn is_off<S: warpfold_simt::Simt>(&self, s: &S) -> bool {
        s.branch(self.asked != 0) && s.load_volatile(crate::address::array::<u32>(self.at.again), 0) == 0
    }
}
