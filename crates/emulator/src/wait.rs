//! What a thread waits for.

use super::fault::Op;
use core::panic::Location;

/// Why a thread does not run.
#[derive(Clone)]
pub(super) enum Wait {
    /// It can run.
    Ready,
    /// It waits for the block.
    Barrier(&'static Location<'static>),
    /// It waits for the lanes of `mask`.
    Warp { mask: u32, ask: Ask, site: &'static Location<'static> },
    /// The kernel has returned.
    Returned,
}

/// What a lane asks of the others.
#[derive(Clone, Copy)]
pub(super) enum Ask {
    Barrier,
    Shuffle {
        way: Way,
        by: u32,
        value: u32,
    },
    Vote {
        vote: bool,
    },
    /// All lanes get all words: what a product of matrices needs.
    Words([u32; 3]),
}

/// Where a shuffle reads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Xor,
    Down,
    Up,
    Idx,
}

impl Way {
    /// The lane that a lane reads from.
    pub(super) fn source(self, lane: u32, by: u32) -> u32 {
        match self {
            Way::Xor => (lane ^ by) & 31,
            Way::Down if lane + by < 32 => lane + by,
            Way::Up if by <= lane => lane - by,
            Way::Down | Way::Up => lane,
            Way::Idx => by & 31,
        }
    }
}

impl Ask {
    /// Whether another lane asks for the same operation.
    pub(super) fn agrees(&self, other: &Ask) -> bool {
        match (self, other) {
            (Ask::Barrier, Ask::Barrier) | (Ask::Vote { .. }, Ask::Vote { .. }) | (Ask::Words(_), Ask::Words(_)) => {
                true
            }
            (Ask::Shuffle { way: a, .. }, Ask::Shuffle { way: b, .. }) => a == b,
            _ => false,
        }
    }

    /// The operation, for a fault.
    pub(super) fn op(&self) -> Op {
        match self {
            Ask::Barrier => Op::WarpBarrier,
            Ask::Shuffle { .. } => Op::Shuffle,
            Ask::Words(_) => Op::Product,
            Ask::Vote { .. } => Op::Vote,
        }
    }
}
