//! The first k elements of each row in an order, and where they are: `top_k`.
//!
//! Idea: an element and its index are one integer, a candidate ([`candidate`]), of which no two are equal; so the first
//! k are the same whoever finds them. A team of threads ([`team`]: a warp, or a block) reads a row once. Its first
//! step has the greatest of each pack of 16 bytes: the k-th of these is not above the k-th of the row, and so keeps out
//! nearly all elements before any has been looked at alone. What passes is put down in shared memory, in any order.
//! When there is no more room, most of those that are not among the first k leave ([`narrow`]), and what is left keeps
//! out more. At the end it is put in order ([`order`]). Bottleneck: memory, but instructions where rows are short.
//!
//! - [`input`]: what is chosen from: elements of a row, or what others have chosen from its parts. [`choose`]: the
//!   kernel. [`table`]: the names.
//!
//! More than the most of a team are chosen in rounds: each takes those after the last of the round before.

pub mod candidate;
pub mod choose;
pub mod input;
pub mod narrow;
pub mod order;
pub mod table;
pub mod team;

use crate::params::params;
use crate::reduce::shape::map::Divisor;
use crate::sort::key::Elements;

/// The most that a block chooses at once.
pub const MOST: usize = 1024;
/// The most that a warp chooses at once.
pub const MOST_OF_WARP: usize = 128;
/// Candidates of a thread that a team has room for.
pub const OWN: usize = 8;
/// Elements of a row, and candidates of its parts, are fewer than this.
pub const LONGEST: usize = 1 << 31;

params! {
    #[derive(Default)]
    /// Where a selection finds and leaves what it works on.
    pub struct SelectAt {
        /// The first element.
        pub input: u64,
        /// The first value.
        pub values: u64,
        /// The first index.
        pub places: u64,
        /// What has been chosen of the parts of rows, as candidates of 8 or 16 bytes: written, or read.
        pub parts: u64,
        /// The last candidate of each row in the round before, and that of this one: of 8 or 16 bytes.
        pub last: u64,
    }

    /// A selection from rows.
    pub struct Select at SelectAt {
        /// What the elements are.
        pub elements: Elements,
        /// What turns the order round: zero, or all bits of an element.
        pub flip: u64,
        /// Rows.
        pub rows: u64,
        /// Elements of a row.
        pub len: u64,
        /// Bytes from row to row.
        pub step: u64,
        /// Elements of a part.
        pub part: u64,
        /// Parts of a row.
        pub parts: Divisor,
        /// Rows that are neighbours in the result, between its elements of one.
        pub inner: Divisor,
        /// How many are chosen now, from 1 to the most.
        pub k: u32,
        /// How many have been chosen before.
        pub first: u32,
        /// How many are chosen in all rounds.
        pub all: u32,
        /// Whether there are rounds after this one.
        pub again: u32,
    }
}
