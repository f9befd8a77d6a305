//! Pooling: windows over the last one to three axes of an array, and the gradients.
//!
//! Idea: elements of a window lie at the same places of each plane, so a thread has a window of some planes, and finds
//! them once. The tree is over elements in row-major order. A gradient is the same of the windows that hold an element,
//! so nothing is added by atomics. Of few elements each has a register ([`few`], [`grid`]); of more, a block has the
//! rows that it needs in shared memory ([`patch`]); any others are walked over where they lie ([`walk`]). Bottleneck:
//! memory where windows do not overlap, else instructions.
//!
//! - [`along`]: what a window or an element takes of an axis. [`stack`]: the tree. [`number`]: elements in memory.
//!   [`average`], [`max`]: the operations by walks. [`table`]: their names.

pub mod along;
pub mod average;
pub mod few;
pub mod grid;
pub mod max;
pub mod number;
pub mod patch;
pub mod stack;
pub mod table;
pub mod walk;

use crate::params::params;
use crate::reduce::shape::map::Divisor;
use along::Along;

/// Planes that a thread has at a time, of windows that are not large.
pub const PLANES: usize = 4;
/// Levels of the tree of such windows, above those of 32 elements: they have fewer than [`LARGE`] elements.
pub const LEVELS: usize = 4;
/// Elements that a window has to have for the kernels of large ones, whose threads have one plane at a time: nodes of
/// four fill all levels then, and the root of the tree would be one more.
pub const LARGE: u64 = (32 << LEVELS) - 3;
/// Levels of the tree of all other windows.
pub const MOST_LEVELS: usize = 26;
/// Elements of a plane are fewer than this, for the same reason.
pub const MOST: u64 = (32 << MOST_LEVELS) - 3;

/// Elements along an axis of the windows that are few, and windows along an axis that hold an element.
pub const FEW: [usize; 2] = [3, 2];
/// Whole numbers below this are divisors of the kernels of [`few`].
pub const QUICK: u64 = 1 << 22;

/// What a mean is divided by: the number of elements of its window.
pub const ELEMENTS: u32 = 0;
/// That, and the padding.
pub const PADDED: u32 = 1;
/// A number.
pub const FIXED: u32 = 2;
/// A power of two, whose inverse is the number that sums are multiplied by: the same bits.
pub const POWER: u32 = 3;

params! {
    #[derive(Default)]
    /// Where the arrays of pooling are.
    pub struct PoolAt {
        /// The first element of the source: of the array, or of the gradient of the results.
        pub input: u64,
        /// The first result.
        pub output: u64,
        /// The first index, where indices are read or wanted; zero: nowhere.
        pub places: u64,
    }

    #[derive(Default)]
    /// Pooling. Results and indices lie in C order, the source in any two axes of planes.
    pub struct Pool at PoolAt {
        /// What each of three axes has, the innermost last.
        pub axis: [Along; 3],
        /// Planes.
        pub planes: u64,
        /// Results of a plane, fewer than 2^31.
        pub results: Divisor,
        /// Threads that share the planes of a result: each takes some planes in turn.
        pub share: u64,
        /// Divides by the source's elements along the last axis.
        pub columns: Divisor,
        /// The same of the axis before.
        pub rows: Divisor,
        /// Planes of the inner one of their two axes.
        pub inner: Divisor,
        /// Bytes from plane to plane of the inner axis.
        pub near: i64,
        /// Bytes from plane to plane of the outer axis.
        pub far: i64,
        /// The divisor, if it is [`FIXED`], or its inverse, if it is a [`POWER`].
        pub divisor: f64,
        /// The dtype of the elements, as its place in `DType::ALL`.
        pub dtype: u32,
        /// [`ELEMENTS`], [`PADDED`], [`FIXED`] or [`POWER`].
        pub divides: u32,
        /// Elements of a window along an axis, at most, for the kernels of [`few`].
        pub most: u32,
        /// Rows of results of a block, for the kernels of [`patch`].
        pub band: u32,
        /// Divides by the bands of a plane.
        pub bands: Divisor,
        /// Fours of planes of a block.
        pub fours: u64,
        /// Divides by the places of a four's elements: as many as those of the longest band.
        pub places: Divisor,
        /// Divides by the results of a four, of the longest band.
        pub slots: Divisor,
    }
}
