//! The first launch: each warp takes its share of short segments, window by window, and lists long ones.

use crate::reduce::shape::piece::{Dense, Held};
use crate::segment::call::{HELD, SHORT, SegmentsCall, WARPS, is_off};
use crate::segment::offsets::{Kept, Offsets, Share, WINDOW, WORDS, Window};
use crate::segment::together::Lists;
use crate::segment::work::Work;
use crate::segment::{alone, singles, together};
use crate::source::Bits;
use warpfold_simt::{ALL, Simt};

/// See the module.
#[inline(always)]
pub fn kernel<S: Simt, P: Held<Reduced = Dense>>(s: &S, call: &SegmentsCall) {
    let words = s.shared::<u32, { (WARPS * (WORDS + WINDOW)) as usize }, 0>("segments");
    let bounds = words.offset(s.warp() * (WORDS + WINDOW));
    if s.branch(is_off(s, call)) {
        return;
    }
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
