//! Segments of at most one element: there is no tree, and a lane has eight of them in flight.

use crate::address::array;
use crate::reduce::shape::piece::Held;
use crate::reduce::shape::split::next;
use crate::segment::offsets::WINDOW;
use crate::segment::work::Work;
use crate::source::Bits;
use warpfold_simt::Simt;

/// Segments of a lane.
const EACH: usize = WINDOW as usize / 32;

/// Reduces those of a window of such.
#[inline(always)]
pub fn reduce<S: Simt, P: Held>(s: &S, work: &Work<'_, P>) {
    let window = &work.window;
    let mut there = (1 << EACH) - 1;
    let mut bits: [P::Bits; EACH] = if s.branch(!window.empty && window.count == WINDOW && work.own == 0) {
        // None is left out, so there is nothing to look up.
        let at = array(work.at(s.lane()));
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| s.load(at, 32 * k),
        )
    } else {
        there = 0;
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| {
                let i = 32 * k as u32 + s.lane();
                let (from, len) = window.segment(s, i);
                let mine = i >= work.own && i < window.count && len > 0;
                there |= (mine as u32) << k;
                if mine { s.load(array(work.at(from)), 0) } else { P::Bits::ZERO }
            },
        )
    };
    // One copy of the code.
    let (mut i, mut left) = (s.lane(), s.opaque(EACH as u32));
    while s.again(left > 0) {
        if s.branch(there & 1 != 0) {
            work.finish(s, i, 1, work.piece.single(s, bits[0]));
        }
        bits = next(bits, bits[0]);
        there >>= 1;
        i += 32;
        left -= 1;
    }
}
