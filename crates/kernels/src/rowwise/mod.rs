//! Operations on rows: a row is reduced, and each of its elements computed from the element and the reduction.
//!
//! Idea: a warp reads up to 1024 elements of a row, or of several short rows, into registers, once. Its lanes reduce
//! them by the tree, warps of a row meet in shared memory, and each lane computes its elements from what the row was
//! reduced to and writes them. A block reads a row that it cannot hold in turns, and a second time from shared memory
//! or the cache; few such rows are reduced by one launch, many blocks to a row, and computed by another.
//! Bottleneck: memory, one read and one write; of softmax of 2 bytes nearly the exponentials.
//!
//! - [`spread`]: which packs of 16 bytes a lane has. [`place`]: where rows are. [`read`],
//!   [`mod@write`], [`dense`]: packs at any address.
//! - [`level`]: how nodes meet over warps and blocks, `slots` over lanes and steps; [`exponents`]: of exponentials.
//!   [`op`]: what an operation is.
//! - [`softmax`], [`cross_entropy`], [`gradient`], [`norm`], [`norm_gradient`]: the operations. [`factor`]: weights and
//!   biases; [`columns`]: their gradients, with those of elements: [`folded`], of short rows, and [`swept`], where they
//!   wait for their neighbours (`waiting`). [`together`], [`kernel`]: the three kernels of each operation, one of which
//!   keeps in shared memory what it read ([`turns`]) or computed ([`staying`]). [`found`]: longer rows. [`results`]:
//!   what is written. [`table`]: their names.
//! - [`arrange`]: copies arrays that lie otherwise than the kernels read them.

pub mod arrange;
pub mod columns;
pub mod cross_entropy;
pub mod dense;
pub mod exponents;
pub mod factor;
pub mod folded;
pub mod found;
pub mod gradient;
pub mod kernel;
pub mod level;
pub mod norm;
pub mod norm_gradient;
pub mod number;
pub mod op;
pub mod place;
pub mod read;
pub mod results;
mod slots;
pub mod softmax;
pub mod spread;
pub mod staying;
pub mod sweep;
pub mod swept;
pub mod table;
pub mod together;
pub mod turns;
mod waiting;
pub mod write;

use crate::params::params;
use crate::reduce::shape::map::Divisor;

/// Threads of a block.
pub const THREADS: u32 = 256;
/// Warps of a block.
pub const WARPS: u32 = THREADS / 32;
/// Steps of a warp, each of which has 16 bytes to a lane, by the size of elements: as many as have 32 words of numbers.
pub const fn steps(size: usize) -> usize {
    if size == 2 { 4 } else { 8 }
}

/// Steps of a warp that has short rows. With as many as others, numbers of 4 bytes and two arrays took 160 to 186
/// registers, and a multiprocessor had one block.
pub const SHORT: usize = 4;

/// Elements of a row that a warp has at once, by their size.
pub const fn chunk(size: usize) -> u64 {
    (32 * 16 * steps(size) / size) as u64
}

/// Parts of a warp's chunk, of which a row has some.
pub const QUARTERS: u32 = 4;

/// Parts that a block reduces.
pub const PARTS: u64 = THREADS as u64;

/// Words of shared memory for a node of each warp.
const SLOTS: usize = 32 * 4;
/// The same for a node of each chunk of a row.
const NODES: usize = PARTS as usize * 4;

/// What a launch does: all of rows of which one block has several, or each row one block.
pub const WHOLE: u32 = 0;
/// Each block reduces its part of a row.
pub const REDUCE: u32 = 1;
/// Each block reduces parts of a row.
pub const MEET: u32 = 2;
/// Each block computes its elements, from all parts of the row.
pub const MAP: u32 = 3;
/// Each block reads a row in turns, twice.
pub const TURNS: u32 = 4;

/// Of the packs of all lanes: some may not be there, or not be whole.
pub const RAGGED: u64 = 0;
/// All are there, and whole.
pub const PACKS: u64 = 1;
/// And they follow one another in each array, as rows do that lie side by side, and nothing is masked.
pub const LINES: u64 = 2;

/// Weights or biases: none.
pub const NONE: u32 = 0;
/// As the elements are, and as many as fill whole lines.
pub const NARROW: u32 = 1;
/// Numbers as the arithmetic has them, rounded up to whole lines of elements, where elements are others.
pub const WIDE: u32 = 2;

params! {
    #[derive(Default)]
    /// Where the arrays of an operation on rows are.
    pub struct RowwiseAt {
        /// The first element.
        pub input: u64,
        /// The first element of the second array, if the operation has two.
        pub second: u64,
        /// The first result; zero: none is wanted.
        pub output: u64,
        /// The first weight; begins with a line of 16 bytes.
        pub weight: u64,
        /// The first bias; begins with a line of 16 bytes.
        pub bias: u64,
        /// The first element of the mask.
        pub mask: u64,
        /// Room for nodes of parts of rows.
        pub parts: u64,
        /// The class of the first row.
        pub targets: u64,
        /// The gradient of the first row's loss, or of all; zero: 1.
        pub scales: u64,
        /// That of all of them, with which the results were computed before; zero: they were not.
        pub used: u64,
        /// Where the losses of rows are wanted, as the arithmetic has them; zero: nowhere.
        pub losses: u64,
        /// The same of their logsumexp.
        pub logs: u64,
        /// Where the norm of each row is or is wanted, or the node of its exponentials: two numbers; zero: nowhere.
        pub norms: u64,
    }

    /// An operation on rows whose elements lie side by side. Results lie in C order.
    pub struct Rowwise at RowwiseAt {
        /// Rows.
        pub rows: u64,
        /// Elements of a row.
        pub len: u64,
        /// Bytes from the first element to the end of the array: all before may be read.
        pub end: u64,
        /// Rows of the inner one of two axes; at least all, if there is one axis.
        pub inner: Divisor,
        /// Bytes from row to row of the inner axis.
        pub along: i64,
        /// Bytes from row to row of the outer axis.
        pub outer: i64,
        /// As `end`, of the second array.
        pub second_end: u64,
        /// As `along`, of the second array.
        pub second_along: i64,
        /// As `outer`, of the second array.
        pub second_outer: i64,
        /// The same of the mask, if there is one.
        pub mask_along: i64,
        /// See `mask_along`.
        pub mask_outer: i64,
        /// Bytes from element to element of the mask.
        pub mask_near: i64,
        /// Whether there is a mask.
        pub masked: u64,
        /// Whether every pack of every lane is one of a row, and whole: [`RAGGED`], [`PACKS`] or [`LINES`].
        pub whole: u64,
        /// The class of rows that are ignored.
        pub ignore: i64,
        /// Whether nodes of rows have been noted, so that none is reduced.
        pub noted: u64,
        /// From one row's gradient of its loss to the next: 1, or 0 if all have one.
        pub scale_step: u64,
        /// Elements are multiplied by this number first.
        pub scale: f64,
        /// Added to the mean square, or to the variance.
        pub epsilon: f64,
        /// Added to each weight, if it is not zero.
        pub offset: f64,
        /// Of which kind weights are: [`NONE`], [`NARROW`], [`WIDE`].
        pub weights: u32,
        /// Of which kind biases are.
        pub biases: u32,
        /// [`WHOLE`], [`REDUCE`], [`MEET`], [`MAP`] or [`TURNS`].
        pub phase: u32,
        /// Quarters of a warp's chunk that a row has, at least 3, if a block has some rows; packs of a short row, at
        /// least 4.
        pub quarters: u32,
        /// 2^16 over that, rounded up; of a short row 2^20.
        pub quarter: u32,
        /// Rows of a block, so many that a group of lanes has the nodes of each.
        pub together: u32,
        /// Lanes to a short row, as a power of two: at least 8. Of a block of some rows: of a group with a row's nodes.
        pub lanes: u32,
        /// Packs of a short row that a lane has, as a power of two.
        pub deep: u32,
        /// Blocks to a row.
        pub blocks: u64,
        /// Turns in which a block reads a row, at most 32.
        pub turns: u64,
        /// Turns that shared memory has room for, of what is read or of what is kept.
        pub kept: u64,
        /// The place of the first part that is read.
        pub from: u64,
        /// The place of the first part that is written.
        pub to: u64,
        /// Parts of a row that are read.
        pub parts: u64,
        /// Elements under each of them but the last.
        pub under: u64,
    }
}
