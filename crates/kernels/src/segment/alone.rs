//! Segments of at most 32 bytes: a lane has one to itself.

use crate::reduce::shape::piece::Held;
use crate::segment::call::{HELD, TURNS};
use crate::segment::together::Lists;
use crate::segment::work::Work;
use crate::source::Bits;
use warpfold_simt::{ALL, Simt};

/// Reduces those of a window, and writes down the others.
#[inline(always)]
pub fn reduce<S: Simt, P: Held>(s: &S, work: &Work<'_, P>, mut lists: Lists) -> Lists {
    let (per, mut at) = (P::PER, 0);
    while s.again(at < work.window.count) {
        let turns: [_; TURNS] = warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| {
                let i = at + 32 * k as u32 + s.lane();
                let (from, len) = work.window.segment(s, i);
                let there = i >= work.own && i < work.window.count;
                let mine = there && len > 0 && len <= 2 * per;
                let held = if mine { len } else { 0 };
                let count = [held.min(per), held.max(per) - per];
                (i, if there { len } else { 0 }, mine, count, work.hold(s, work.at(from), HELD / 2, count))
            },
        );
        let mut k = 0;
        while k < TURNS {
            let (i, len, mine, count, w) = turns[k];
            if s.branch(work.window.longest > 1) {
                lists.add(s, i, len, P::Bits::SIZE);
            }
            if s.branch(s.any(ALL, mine)) {
                let part = work.piece.held(s, &w, count, 0, 1);
                if s.branch(mine) {
                    work.finish(s, i, len, part);
                }
            }
            k += 1;
        }
        at += 32 * TURNS as u32;
    }
    lists
}
