//! Segments of at most 32 bytes: a lane has one to itself.

use super::{HELD, TURNS, Work};
use crate::kernels::shape::piece::Held;
use crate::simt::{ALL, Simt};

/// Reduces those of a window.
#[inline(always)]
pub fn reduce<S: Simt, P: Held>(s: &S, work: &Work<'_, P>) {
    let (per, mut at) = (P::PER, 0);
    while s.again(at < work.window.count) {
        let turns: [_; TURNS] = core::array::from_fn(
            #[inline(always)]
            |k| {
                let i = at + 32 * k as u32 + s.lane();
                let (from, len) = work.window.segment(s, i);
                let mine = i >= work.own && i < work.window.count && len <= 2 * per;
                let len = if mine { len } else { 0 };
                let count = [len.min(per), len.max(per) - per];
                (i, len, mine, count, work.hold(s, from, HELD / 2, count))
            },
        );
        let mut k = 0;
        while k < TURNS {
            let (i, len, mine, count, w) = turns[k];
            if s.branch(s.any(ALL, mine)) {
                let part = work.piece.held(s, &w, count, 0, 1);
                if s.branch(mine && len > 0) {
                    work.finish(s, i, len, part);
                } else if s.branch(mine) {
                    work.nothing(s, i);
                }
            }
            k += 1;
        }
        at += 32 * TURNS as u32;
    }
}
