//! A contiguous range of the sequences of many outputs, as canonical nodes: [`warpfold_core::Span`] for nodes of which
//! only the size is known.

use crate::engine::nodes::Nodes;
use crate::loops::Loops;
use crate::moves::copy;

/// The nodes of a range, from left to right.
pub struct Range {
    pub start: u64,
    pub end: u64,
    pub pieces: Vec<Piece>,
}

/// The nodes of all outputs over 2^level elements, from a multiple of 2^level.
pub struct Piece {
    pub level: u32,
    pub nodes: Nodes,
}

/// A copy of `n` nodes.
fn duplicate(nodes: &Nodes, size: usize, n: usize) -> Nodes {
    let mut other = Nodes::with_capacity(size, n);
    // SAFETY: there are `n` nodes of this size on the one side, and room for as many on the other.
    unsafe { other.write(n, |to| copy(nodes.first(), to, n * size)) };
    other
}

impl Clone for Piece {
    fn clone(&self) -> Self {
        Self { level: self.level, nodes: duplicate(&self.nodes, self.nodes.size(), self.nodes.len()) }
    }
}

impl Clone for Range {
    fn clone(&self) -> Self {
        Self { start: self.start, end: self.end, pieces: self.pieces.clone() }
    }
}

impl Range {
    /// The empty range at `start`.
    pub fn new(start: u64) -> Self {
        Self { start, end: start, pieces: Vec::new() }
    }

    /// Appends the nodes of the next 2^level elements.
    pub fn push(&mut self, kernel: &dyn Loops, outputs: usize, piece: Piece) {
        let Piece { mut level, mut nodes } = piece;
        assert!(self.end.trailing_zeros() >= level, "a node of level {level} cannot start at {}", self.end);
        self.end += 1 << level;
        // The left neighbour is the sibling if this node is the right one of its pair.
        while self.pieces.last().is_some_and(|left| left.level == level) && (self.end >> level) & 1 == 0 {
            let left = self.pieces.pop().expect("looked at just now");
            let n = 1 << level;
            // SAFETY: both lists have a node for each output.
            unsafe { kernel.merge(left.nodes.first(), n, nodes.first_mut(), n, outputs) };
            level += 1;
        }
        self.pieces.push(Piece { level, nodes });
    }

    /// The roots of the trees over the range, which starts at 0 and is not empty.
    pub fn root(&self, kernel: &dyn Loops, outputs: usize) -> Nodes {
        let (last, before) = self.pieces.split_last().expect("the range is not empty");
        let mut root = duplicate(&last.nodes, kernel.facts().node, outputs);
        let mut count = 1u64 << last.level;
        for left in before.iter().rev() {
            let n = 1u64 << left.level;
            // SAFETY: both lists have a node for each output.
            unsafe { kernel.merge(left.nodes.first(), n, root.first_mut(), count, outputs) };
            count += n;
        }
        root
    }
}

/// Disjoint ranges in ascending order, neighbours joined.
pub fn joined(kernel: &dyn Loops, outputs: usize, mut ranges: Vec<Range>) -> Vec<Range> {
    ranges.sort_by_key(|range| range.start);
    let mut all: Vec<Range> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match all.last_mut().filter(|left| left.end == range.start) {
            Some(left) => range.pieces.into_iter().for_each(|piece| left.push(kernel, outputs, piece)),
            None => all.push(range),
        }
    }
    all
}

/// The levels of the canonical nodes of a range, from left to right.
pub fn levels(start: u64, end: u64) -> impl Iterator<Item = u32> {
    let mut at = start;
    std::iter::from_fn(move || {
        let rest = end.checked_sub(at).filter(|&rest| rest > 0)?;
        let level = at.trailing_zeros().min(rest.ilog2());
        at += 1 << level;
        Some(level)
    })
}
