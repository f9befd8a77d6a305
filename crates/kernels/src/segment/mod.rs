//! Segments: the elements of each output follow those of the one before, and an array of offsets says where they end.
//!
//! Idea: every warp takes an equal share of bytes, of values and of what goes with a segment; it searches the offsets
//! for where that begins, and reads them 256 at a time, a window. Whatever mix of lengths there is, none waits for
//! another. A lane takes 32 bytes straight from memory, so one has a short segment to itself (`alone`); up to 4 KiB, 2
//! to 32 lanes share one (`together`). Where no segment has more than one element, there is no tree (`singles`). Longer
//! ones are listed in stretches for a second launch ([`stretches`]), and a third reduces their parts ([`ends`]).
//! Bottleneck: memory; for segments of a few elements, the instructions that find, finish and write them.

mod alone;
mod offsets;
mod singles;
mod stretches;
mod together;

pub use offsets::BAD;
pub use stretches::{Room, ends, stretches};

use self::offsets::{Kept, Offsets, Share, WINDOW, WORDS, Window};
use self::together::Lists;
use crate::address::{array, fixed};
use crate::params::params;
use crate::reduce::call::{Call, Results};
use crate::reduce::fold::Parts;
use crate::reduce::out::{Hole, Out};
use crate::reduce::recipe::{Recipe, log_size};
use crate::reduce::shape::piece::{Dense, Held, hold};
use crate::source::Bits;
use warpfold_simt::{ALL, Simt};

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
const HELD: u32 = 32;
/// Times so many that it has in flight.
const TURNS: usize = 2;

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
    }
}

impl Results for SegmentsAt {
    #[inline(always)]
    fn output(&self) -> u64 {
        self.output
    }
    #[inline(always)]
    fn workspace(&self) -> u64 {
        self.workspace
    }
}

/// The launch struct of segments.
pub type SegmentsCall = Call<Segments, SegmentsAt>;

/// See the module.
#[inline(always)]
pub fn kernel<S: Simt, P: Held<Reduced = Dense>>(s: &S, call: &SegmentsCall) {
    let words = s.shared::<u32, { (WARPS * (WORDS + WINDOW)) as usize }, 0>("segments");
    let bounds = words.offset(s.warp() * (WORDS + WINDOW));
    let (piece, offsets, size) = (P::new(&call.recipe), Offsets::of(call), P::Bits::SIZE);
    let Some(share) = Share::of(s, &offsets, size) else { return };
    share.keep(s, bounds);

    // The segment before may have stretches here.
    let mut first = share.first.saturating_sub(1);
    let mut own = (share.first - first) as u32;
    let mut left = share.end.saturating_sub(first);
    while s.again(left > 0) {
        let window = Window::read(s, &offsets, bounds, first, left, [1, HELD / size, SHORT / size]);
        let work = Work::new(s, piece, call, window, own);
        if s.branch(work.window.longest == 0) {
            singles::reduce(s, &work);
        } else {
            let lists = alone::reduce(s, &work, Lists::new(bounds.offset(WORDS)));
            if s.branch(work.window.longest > 1) {
                together::reduce(s, &work, lists);
            }
        }
        if s.branch(work.window.empty) {
            work.fill(s);
        }
        if s.branch(work.window.longest > 2) {
            work.list(s, &offsets);
        }
        first += work.window.count.max(1) as u64;
        own = 0;
        left = Share::kept(s, bounds, Kept::End) - first;
        s.warp_barrier(ALL);
    }
}

/// The segments of a window.
struct Work<'a, P> {
    piece: P,
    call: &'a SegmentsCall,
    window: Window,
    /// The first of them that is this warp's.
    own: u32,
    /// The address of their first element.
    values: u64,
    /// And of the end of all elements.
    end: u64,
    /// Where the result of the first goes.
    out: Out,
}

impl<'a, P: Held> Work<'a, P> {
    #[inline(always)]
    fn new<S: Simt>(s: &S, piece: P, call: &'a SegmentsCall, window: Window, own: u32) -> Self {
        let address = |i: u64| call.at.input.wrapping_add(i.wrapping_mul(P::Bits::SIZE as u64));
        let (values, end) = (fixed(s, address(window.base)), address(call.shape.len));
        let before = window.first * P::Fold::RESULTS;
        let output = array(fixed(s, call.at.output + (before << log_size(call.recipe.output))));
        Self { piece, call, window, own, values, end, out: Out { output, ..call.out(0) } }
    }

    /// The address of element `from`.
    #[inline(always)]
    fn at(&self, from: u32) -> u64 {
        self.values.wrapping_add(from as u64 * P::Bits::SIZE as u64)
    }

    /// Reads what a lane takes of a segment: `count` elements of each of two packs, the first of which begins at `at`.
    #[inline(always)]
    fn hold<S: Simt>(&self, s: &S, at: u64, apart: u32, count: [u32; 2]) -> [[u32; 4]; 2] {
        hold(s, at, apart, count, self.end, self.piece.blank())
    }

    /// Writes the result of segment `i`, of `count` elements.
    #[inline(always)]
    fn finish<S: Simt>(&self, s: &S, i: u32, count: u32, part: <P::Fold as Parts>::Part) {
        finish(s, self.piece.fold(), self.call, self.out(s, i), count as u64, part);
    }

    /// Writes the results of segments without elements. Done last, so that nothing of it is among the others'
    /// instructions.
    #[inline(always)]
    fn fill<S: Simt>(&self, s: &S) {
        let mut i = s.lane();
        while s.again(i < self.window.count) {
            if s.branch(i >= self.own && self.window.segment(s, i).1 == 0) {
                self.nothing(s, i);
            }
            i += 32;
        }
    }

    /// Lists the stretches of segments that are too long for lanes; also of the first, if that is none.
    #[inline(always)]
    fn list<S: Simt>(&self, s: &S, offsets: &Offsets) {
        let (window, short) = (&self.window, SHORT / P::Bits::SIZE);
        let mut at = 0;
        while s.again(at < window.count.max(1)) {
            let i = at + s.lane();
            let long = if window.count == 0 { i == 0 } else { i < window.count && window.segment(s, i).1 > short };
            let mut left = s.ballot(ALL, long);
            while s.again(left != 0) {
                let number = window.first + (at + left.trailing_zeros()) as u64;
                stretches::list::<S, P::Bits>(s, self.call, offsets, window.bounds, number);
                left &= left - 1;
            }
            at += 32;
        }
    }

    /// Writes the result of no elements.
    #[inline(always)]
    fn nothing<S: Simt>(&self, s: &S, i: u32) {
        let (shape, out) = (&self.call.shape, self.out(s, i));
        if s.branch(shape.filled == 0) {
            return out.hole(s, Hole::Empty);
        }
        // Rarely needed, so nothing of it is kept in registers.
        let dtype = s.anew(self.call.recipe.output);
        let mut k = 0;
        while k < P::Fold::RESULTS as usize {
            Out { index: out.index + k, ..out }.integer(s, dtype, shape.empty[k]);
            k += 1;
        }
    }

    #[inline(always)]
    fn out<S: Simt>(&self, s: &S, i: u32) -> Out {
        // Opaque, or there would be a register for results of each size.
        Out { index: s.opaque(i * P::Fold::RESULTS as u32) as usize, ..self.out }
    }
}

/// Writes the result of a segment of `count` elements.
#[inline(always)]
fn finish<S: Simt, F: Parts>(s: &S, f: &F, call: &SegmentsCall, out: Out, count: u64, part: F::Part) {
    f.finish(s, &Recipe { count, ..call.recipe }, part, out);
}
