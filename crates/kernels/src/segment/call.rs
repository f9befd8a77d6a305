//! The launch struct of segments, how the work on them is cut, and how a result is written.

use crate::address::array;
use crate::params::params;
use crate::reduce::call::{Call, results};
use crate::reduce::fold::Parts;
use crate::reduce::out::Out;
use crate::reduce::recipe::Recipe;
use warpfold_simt::{Global, Simt};

/// Warps of a block: few, so that those that are done sooner make room for others.
pub const WARPS: u32 = 2;
/// Warps of a block that takes stretches.
pub const STRETCH_WARPS: u32 = 8;
/// Bytes that a segment costs beside its values: its offset, its result, and its share of instructions.
pub const COST: u64 = 16;
/// The least share of a warp, in bytes.
pub const LEAST: u64 = 4096;
/// Bytes of a segment that is not cut into stretches, at most.
pub const SHORT: u32 = 4096;
/// Bytes that a lane takes at once: two packs.
pub(super) const HELD: u32 = 32;
/// Times so many that it has in flight.
pub(super) const TURNS: usize = 2;

params! {
    #[derive(Default)]
    /// Where segments of values are, and where their results go.
    pub struct SegmentsAt {
        /// The first value.
        pub input: u64,
        /// The first offset.
        pub offsets: u64,
        /// The first output.
        pub output: u64,
        /// Counters, then lists and partials.
        pub workspace: u64,
        /// A word: zero if there is nothing to do. 0: there is.
        pub only: u64,
    }

    /// Segments, and how the work on them is shared out.
    pub struct Segments {
        /// How many: one less than offsets.
        pub total: u64,
        /// Elements along the axis.
        pub len: u64,
        /// Bytes of an offset: 4 or 8.
        pub size: u64,
        /// Whether offsets of 4 bytes have a sign.
        pub signed: u64,
        /// Whether empty segments have a result.
        pub filled: u64,
        /// The result of an empty segment: the bits of each output.
        pub empty: [u64; 2],
        /// Tiles of a stretch, a power of two.
        pub tiles: u64,
        /// Stretches that there is room for.
        pub stretches: u64,
        /// Segments of several stretches that there is room for.
        pub cut: u64,
        /// Words from the end of the counters to the partials of stretches.
        pub parts: u64,
        /// Whether a launch joins the partials that the one before left.
        pub ends: u64,
    }
}

results!(SegmentsAt);

/// The launch struct of segments.
pub type SegmentsCall = Call<Segments, SegmentsAt>;

/// Whether there is nothing to do.
#[inline(always)]
pub(super) fn is_off<S: Simt>(s: &S, call: &SegmentsCall) -> bool {
    s.branch(call.at.only != 0) && s.load_volatile(array::<u32>(call.at.only), 0) == 0
}

/// The partials that one launch leaves for another.
#[inline(always)]
pub(super) fn left_partials(call: &SegmentsCall) -> Global<u32> {
    call.partials().offset(call.shape.parts as usize)
}

/// Writes the result of a segment of `count` elements.
#[inline(always)]
pub(super) fn finish<S: Simt, F: Parts>(s: &S, f: &F, call: &SegmentsCall, out: Out, count: u64, part: F::Part) {
    f.finish(s, &Recipe { count, ..call.recipe }, part, out);
}
