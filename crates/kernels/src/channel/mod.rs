//! Norms of channels: every element by itself, once the statistics of its channel, or group of channels, are there.
//!
//! Idea: what elements of a channel that lie side by side need of it is a record of a few numbers. One launch computes
//! the records, from arrays of any dtypes; then a thread that has the elements of 16 bytes looks one up, and another
//! only where a channel ends within these. Bottleneck: memory.
//!
//! - [`record`]: what is known of rows and of channels. [`packs`]: the threads' packs. [`last`]: those of channels that
//!   lie side by side. `nodes`: sums of packs; `sums`: those of channels that lie side by side ([`beside`]), and of
//!   other runs ([`torn`]). `found`: what becomes of a channel's elements. [`table`]: the kernels' names.

pub mod beside;
mod found;
pub mod last;
mod nodes;
pub mod packs;
mod read;
pub mod record;
mod sums;
pub mod table;
pub mod torn;

use crate::params::params;
use crate::reduce::shape::map::Divisor;

/// Results are normalised elements, times weights, plus biases.
pub const NORM: u32 = 0;
/// They are the products of gradients and normalised elements, which are not rounded.
pub const PRODUCT: u32 = 1;
/// Sums of these products, and of gradients, over whole packs.
pub const SUMS: u32 = 2;
/// The gradients of elements, by their weighted gradients: those of groups.
pub const OF_GROUP: u32 = 3;
/// The same by a weight for the whole row: those of channels.
pub const OF_CHANNEL: u32 = 4;
/// The same where statistics do not depend on the elements.
pub const OF_GIVEN: u32 = 5;
/// As [`SUMS`], over whatever elements follow one another.
pub const TORN: u32 = 6;
/// As [`SUMS`], over the samples of channels that lie side by side.
pub const BESIDE: u32 = 7;

params! {
    #[derive(Default)]
    /// Where the arrays are.
    pub struct ChannelsAt {
        /// The first element, of which all lie in C order.
        pub x: u64,
        /// The first gradient, likewise.
        pub gradient: u64,
        /// The records of rows.
        pub rows: u64,
        /// The records of channels.
        pub channels: u64,
        /// The first result, in C order.
        pub output: u64,
        /// Where sums of gradients go, as those of products go to the results.
        pub totals: u64,
    }

    /// What becomes of elements.
    pub struct Channels at ChannelsAt {
        /// Elements.
        pub elements: u64,
        /// Elements of a channel that lie side by side.
        pub run: Divisor,
        /// Channels.
        pub channels: Divisor,
        /// Channels of a group, if rows are groups; packs of all channels, if these lie side by side.
        pub each: Divisor,
        /// What results are.
        pub kind: u32,
        /// Whether rows are groups, and not channels.
        pub grouped: u32,
        /// Whether the arrays of elements begin with lines of 16 bytes.
        pub packs: u32,
        /// Whether elements are fewer than 2^31.
        pub small: u32,
        /// Of [`SUMS`], the lanes whose packs become one; of [`TORN`], the strides of a warp that do.
        pub lanes: u32,
        /// Nothing.
        pub rest: u32,
        /// Of [`TORN`], sequences: channels, or those of each sample.
        pub rows: u64,
        /// Elements of each of these; of [`BESIDE`], samples.
        pub count: u64,
        /// Sums of each, or of each channel.
        pub stretches: u64,
        /// Sets of sequences, of which a warp has a stretch.
        pub sets: Divisor,
    }
}
