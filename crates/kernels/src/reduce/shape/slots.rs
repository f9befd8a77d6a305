//! Where the parts of a block's teams meet.
//!
//! Idea: rows of parts in shared memory, which meet in pairs until one is left of each group. Bottleneck: barriers.

use crate::node::{Node, get, put};
use crate::reduce::fold::Parts;
use crate::reduce::shape::piece::share;
use warpfold_simt::{Shared, Simt};

/// Words of shared memory for a part of each of `wide` columns of 32 lanes of 8 warps.
pub const fn slots<P: Node>(wide: usize) -> usize {
    256 * wide * P::WORDS as usize
}

/// Words of shared memory that suffice for those, and, before that, for five levels of subtrees of each thread.
pub const fn deep<P: Node, N: Node>(wide: usize) -> usize {
    let own = 256 * wide * 5 * N::WORDS as usize;
    if own > slots::<P>(wide) { own } else { slots::<P>(wide) }
}

/// Words of shared memory for a thread's own parts of eight elements: eight of them, in four levels.
pub const fn deep_any<P: Node>() -> usize {
    256 * 4 * P::WORDS as usize
}

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
