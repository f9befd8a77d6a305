//! Happens-before, and the memory cells that remember who touched them.
//!
//! Three things order two accesses of different threads: a block barrier between them (the block's `epoch`), a chain of
//! warp barriers (a vector clock per lane, over the lanes of its warp), or an acquire of what the first one's thread
//! released through an atomic (`sync`). Shuffles and votes order nothing, and neither does lockstep: there is none.

use super::fault::Op;
use core::panic::Location;

/// One access, with the clocks of its thread when it happened.
#[derive(Clone, Copy)]
pub(super) struct Stamp {
    pub(super) launch: u32,
    pub(super) block: u32,
    pub(super) thread: u32,
    pub(super) epoch: u32,
    pub(super) clock: u32,
    pub(super) op: Op,
    pub(super) site: &'static Location<'static>,
}

/// What a thread knows to have happened: everything that a stamp must precede to be ordered.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    pub(super) block: u32,
    pub(super) thread: u32,
    pub(super) epoch: u32,
    /// Clocks of the lanes of the thread's warp, as far as it has heard.
    pub(super) lanes: &'a [u32; 32],
}

impl Known<'_> {
    /// Whether this covers an access of its own block.
    pub(super) fn covers(&self, s: &Stamp) -> bool {
        s.block == self.block
            && (s.epoch < self.epoch
                || s.epoch == self.epoch
                    && s.thread / 32 == self.thread / 32
                    && self.lanes[s.thread as usize % 32] >= s.clock)
    }
}

/// One element of memory: whether it holds a value, and the accesses that later ones must be ordered after.
#[derive(Clone, Default)]
pub(super) struct Cell {
    pub(super) written: bool,
    accesses: Vec<Stamp>,
}

impl Cell {
    /// One more than a warp: among this many threads a writer finds at least one outside its own warp.
    const LIMIT: usize = 33;

    /// Records an access and returns an earlier one that it races with.
    pub(super) fn touch(&mut self, now: Stamp, ordered: impl Fn(&Stamp) -> bool) -> Option<Stamp> {
        let mut race = None;
        self.accesses.retain(|old| {
            if old.launch != now.launch {
                return false;
            }
            let is_ordered = old.block == now.block && old.thread == now.thread || ordered(old);
            let conflict = (old.op.writes() || now.op.writes()) && !(old.op.is_strong() && now.op.is_strong());
            if conflict && !is_ordered && race.is_none() {
                race = Some(*old);
            }
            // An ordered access is superseded by this one, except a write by a read: a later read must not forget it.
            let superseded = now.op.writes() || !old.op.writes();
            !(is_ordered && superseded)
        });
        if self.accesses.len() >= Self::LIMIT {
            // Reads are many and alike; a write is worth keeping.
            let read = self.accesses.iter().position(|a| !a.op.writes());
            self.accesses.swap_remove(read.unwrap_or(now.thread as usize % Self::LIMIT));
        }
        self.accesses.push(now);
        race
    }
}
