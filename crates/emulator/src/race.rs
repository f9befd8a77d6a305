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
    pub(super) epoch: u32,
    pub(super) clock: u32,
    pub(super) thread: u16,
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
                    && u32::from(s.thread / 32) == self.thread / 32
                    && self.lanes[s.thread as usize % 32] >= s.clock)
    }
}

/// One element of memory: whether it holds a value, and the accesses that later ones must be ordered after.
#[derive(Clone, Default)]
pub(super) struct Cell {
    pub(super) written: bool,
    /// Most elements have one, so that takes no memory of its own.
    first: Option<Stamp>,
    others: Vec<Stamp>,
    /// What the others are.
    kinds: Kinds,
}

/// What some accesses are, so that one need not be compared with each of many that it cannot race with.
#[derive(Clone, Copy, Default)]
struct Kinds {
    writes: bool,
    weak: bool,
}

impl Kinds {
    fn add(&mut self, op: Op) {
        self.writes |= op.writes();
        self.weak |= !op.is_strong();
    }

    /// Whether one more access races with none of them, in whatever order they come.
    fn agree(self, op: Op) -> bool {
        !(self.writes || op.writes()) || op.is_strong() && !self.weak
    }
}

impl Cell {
    /// Forgets all, and keeps its memory.
    pub(super) fn renew(&mut self) {
        (self.written, self.first, self.kinds) = (false, None, Kinds::default());
        self.others.clear();
    }

    /// Others, at most. One more than a warp: among this many threads a writer finds at least one outside its own warp.
    const LIMIT: usize = 33;

    /// Records an access and returns an earlier one that it races with. `ordered` says of another thread's access
    /// whether this one comes after it.
    pub(super) fn touch(&mut self, now: Stamp, mut ordered: impl FnMut(&Stamp) -> bool) -> Option<Stamp> {
        if self.join(now, &mut ordered) {
            return None;
        }
        let mut race = None;
        let mut is_kept = |old: &Stamp| {
            if old.launch != now.launch {
                return false;
            }
            if old.block == now.block && old.thread == now.thread || ordered(old) {
                // This one supersedes it, except a write by a read: a later read must not forget it.
                return old.op.writes() && !now.op.writes();
            }
            let conflict = (old.op.writes() || now.op.writes()) && !(old.op.is_strong() && now.op.is_strong());
            if conflict && race.is_none() {
                race = Some(*old);
            }
            true
        };
        self.first = self.first.filter(&mut is_kept);
        if !self.others.is_empty() {
            self.others.retain(&mut is_kept);
            if self.first.is_none() && !self.others.is_empty() {
                self.first = Some(self.others.remove(0));
            }
        }
        if self.others.len() >= Self::LIMIT {
            self.forget(now.thread as usize % Self::LIMIT);
        }
        match self.first {
            None => self.first = Some(now),
            Some(_) => self.others.push(now),
        }
        self.kinds = Kinds::default();
        self.others.iter().for_each(|other| self.kinds.add(other.op));
        race
    }

    /// Records an access that races with none and after which all are kept that are not its own thread's: many threads
    /// read an element, or add to it. Whether it is one.
    fn join(&mut self, now: Stamp, ordered: &mut impl FnMut(&Stamp) -> bool) -> bool {
        let Some(first) = self.first.filter(|first| first.launch == now.launch && !self.others.is_empty()) else {
            return false;
        };
        let is_own = |old: &Stamp| old.block == now.block && old.thread == now.thread;
        if !self.kinds.agree(now.op) {
            return false;
        }
        if is_own(&first) && first.op == now.op {
            self.first = Some(now);
            return true;
        }
        let mut kinds = Kinds::default();
        kinds.add(first.op);
        // A read forgets no write that it comes after.
        let mut is_after = || first.op.writes() && !now.op.writes() && ordered(&first);
        if (is_own(&first) || !kinds.agree(now.op)) && !is_after() {
            return false;
        }
        let slot = now.thread as usize % Self::LIMIT;
        let is_at = |at: usize| self.others.get(at).is_some_and(is_own);
        let at = [slot, slot.wrapping_sub(1)].into_iter().find(|&at| is_at(at));
        match at.or_else(|| self.others.iter().position(is_own)) {
            Some(at) if self.others[at].op == now.op => self.others[at] = now,
            None if self.others.len() < Self::LIMIT => self.others.push(now),
            None if now.op.writes() || !self.others[slot].op.writes() => self.others[slot] = now,
            // A write gives way to no read, of its own thread or another's.
            _ => return false,
        }
        self.kinds.add(now.op);
        true
    }

    /// Forgets a read, since reads are many and alike; if there is none, the access with this number. The last one
    /// takes its place.
    fn forget(&mut self, write: usize) {
        let is_read = |a: &Stamp| !a.op.writes();
        if self.first.as_ref().is_some_and(is_read) {
            self.first = self.others.pop();
            return;
        }
        let other = self.others.iter().position(is_read).map_or(write, |i| i + 1);
        match other.checked_sub(1) {
            Some(i) => drop(self.others.swap_remove(i)),
            None => self.first = self.others.pop(),
        }
    }
}
