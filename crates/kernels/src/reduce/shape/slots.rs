//! Where the parts of a block's teams meet.
//!
//! Idea: rows of parts in shared memory, which meet in pairs until one is left of each group. Bottleneck: barriers.

use crate::node::{get, put};
use crate::reduce::fold::Parts;
use crate::reduce::shape::piece::share;
use warpfold_simt::{Shared, Simt};

/// Parts in shared memory: rows of `wide` of them.
#[derive(Clone, Copy)]
pub(super) struct Slots {
    pub(super) words: Shared<u32>,
    pub(super) all: u32,
    pub(super) wide: u32,
}

/// Rows of slots meet in pairs until one is left of each `group` (powers of two); `rows_of` says in which row a slot
/// is, and where there. There is a barrier at each end.
#[inline(always)]
pub(super) fn meet_slots<S: Simt, P: Parts>(
    s: &S,
    f: &P,
    slots: Slots,
    rows: u32,
    group: u32,
    rows_of: impl Fn(u32) -> (u32, u32),
) {
    let Slots { words, all, wide } = slots;
    let mut step = 1;
    while s.again(step < group) {
        let mut i = s.thread_x();
        while s.again(i < share(rows, 2 * step) * wide) {
            let (row, place) = rows_of(i);
            let left = row * 2 * step * wide + place;
            let (a, b) = (get(s, words, all, left, f.nothing()), get(s, words, all, left + step * wide, f.nothing()));
            put(s, words, all, left, f.meet(a, b));
            i += s.block_dim_x();
        }
        s.barrier();
        step *= 2;
    }
}
