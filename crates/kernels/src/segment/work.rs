//! The segments of a window, and what is done with each: read, finished, filled, listed.

use crate::address::{array, fixed};
use crate::reduce::fold::Parts;
use crate::reduce::out::{Hole, Out};
use crate::reduce::recipe::log_size;
use crate::reduce::shape::piece::{Held, hold};
use crate::segment::call::{SHORT, SegmentsCall, finish};
use crate::segment::offsets::{Offsets, Window};
use crate::segment::stretches;
use crate::source::Bits;
use warpfold_simt::{ALL, Simt};

/// The segments of a window.
pub(super) struct Work<'a, P> {
    pub(super) piece: P,
    pub(super) call: &'a SegmentsCall,
    pub(super) window: Window,
    /// The first of them that is this warp's.
    pub(super) own: u32,
    /// The address of their first element.
    pub(super) values: u64,
    /// And of the end of all elements.
    pub(super) end: u64,
    /// Where the result of the first goes.
    pub(super) out: Out,
}

impl<'a, P: Held> Work<'a, P> {
    #[inline(always)]
    pub(super) fn new<S: Simt>(s: &S, piece: P, call: &'a SegmentsCall, window: Window, own: u32) -> Self {
        let address = |i: u64| call.at.input.wrapping_add(i.wrapping_mul(P::Bits::SIZE as u64));
        let (values, end) = (fixed(s, address(window.base)), address(call.shape.len));
        let before = window.first * P::Fold::RESULTS;
        let output = array(fixed(s, call.at.output + (before << log_size(call.recipe.output))));
        Self { piece, call, window, own, values, end, out: Out { output, ..call.out(0) } }
    }

    /// The address of element `from`.
    #[inline(always)]
    pub(super) fn at(&self, from: u32) -> u64 {
        self.values.wrapping_add(from as u64 * P::Bits::SIZE as u64)
    }

    /// Reads what a lane takes of a segment: `count` elements of each of two packs, the first of which begins at `at`.
    #[inline(always)]
    pub(super) fn hold<S: Simt>(&self, s: &S, at: u64, apart: u32, count: [u32; 2]) -> [[u32; 4]; 2] {
        hold(s, at, apart, count, self.end, self.piece.blank())
    }

    /// Writes the result of segment `i`, of `count` elements.
    #[inline(always)]
    pub(super) fn finish<S: Simt>(&self, s: &S, i: u32, count: u32, part: <P::Fold as Parts>::Part) {
        finish(s, self.piece.fold(), self.call, self.out(s, i), count as u64, part);
    }

    /// Writes the results of segments without elements. Done last, so that nothing of it is among the others'
    /// instructions.
    #[inline(always)]
    pub(super) fn fill<S: Simt>(&self, s: &S) {
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
    pub(super) fn list<S: Simt>(&self, s: &S, offsets: &Offsets) {
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
    pub(super) fn nothing<S: Simt>(&self, s: &S, i: u32) {
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
    pub(super) fn out<S: Simt>(&self, s: &S, i: u32) -> Out {
        // Opaque, or there would be a register for results of each size.
        Out { index: s.opaque(i * P::Fold::RESULTS as u32) as usize, ..self.out }
    }
}
