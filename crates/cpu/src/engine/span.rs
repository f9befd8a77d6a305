//! A contiguous range of a sequence, reduced to its maximal canonical nodes. It is [`warpfold_core::Span`] for nodes
//! whose type is not known here.

use warpfold_core::NotAdjacent;

use super::nodes::Nodes;
use crate::loops::{Item, Loops, Node};
use crate::moves::copy;
use crate::policy::BLOCK;

/// A contiguous range of a sequence as its maximal canonical nodes.
pub struct Span {
    start: u64,
    end: u64,
    levels: Vec<u8>,
    nodes: Nodes,
}

impl Span {
    /// The empty range at `start`.
    pub fn new(kernel: &dyn Loops, start: u64) -> Self {
        Self { start, end: start, levels: Vec::new(), nodes: Nodes::new(kernel.facts().node) }
    }

    /// Makes the span the empty range at `start`, and keeps its memory.
    pub fn begin(&mut self, start: u64) {
        (self.start, self.end) = (start, start);
        self.levels.clear();
        self.nodes.clear();
    }

    /// The index after the last element.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Appends the canonical node of the next `2^level` elements, which `write` writes.
    ///
    /// # Safety
    /// `write` writes a node of this kernel.
    unsafe fn push_with(&mut self, kernel: &dyn Loops, level: u32, write: impl FnOnce(*mut Node)) {
        assert!(self.end.trailing_zeros() >= level, "a node of level {level} cannot start at {}", self.end);
        self.end += 1 << level;
        let mut level = level;
        // SAFETY: the caller vouches that `write` writes the node.
        unsafe { self.nodes.push_with(write) };
        self.levels.push(level as u8);
        // The left neighbour is a sibling if this node is the odd one of its pair and the pair is whole.
        while let [.., left, right] = &mut self.levels[..]
            && *left == *right
            && self.end >> level & 1 == 0
        {
            *left += 1;
            // SAFETY: the last two nodes are of this kernel and written; their root replaces the left one.
            unsafe { kernel.root(self.nodes.pair(), 2, 1 << level, 1 << level) };
            self.levels.pop();
            self.nodes.pop();
            level += 1;
        }
    }

    /// Appends a run of `n` elements, as the fewest canonical nodes that make it up.
    ///
    /// # Safety
    /// `n` elements of this kernel's type are readable at `x`.
    pub unsafe fn extend(&mut self, kernel: &dyn Loops, x: *const Item, n: usize) {
        let size = kernel.facts().item;
        let mut done = 0;
        while done < n {
            let at = self.end;
            let level = at.trailing_zeros().min(BLOCK.ilog2()).min((n - done).ilog2());
            let x = x.wrapping_byte_add(done * size);
            // SAFETY: the next `2^level` elements are among the `n` that the caller vouches for, since `level` is at
            // most the logarithm of those left; `block` writes their node.
            unsafe {
                self.push_with(kernel, level, |to| kernel.short(x, 1 << level, at, to));
            }
            done += 1 << level;
        }
    }

    /// Appends the next contiguous range, of the same kernel.
    pub fn join(&mut self, kernel: &dyn Loops, next: &Span) -> Result<(), NotAdjacent> {
        if self.end != next.start {
            return Err(NotAdjacent { end: self.end, start: next.start });
        }
        let size = kernel.facts().node;
        for (i, &level) in next.levels.iter().enumerate() {
            // SAFETY: the node is one of `next`, so written and of this kernel, and `copy` writes all of its bytes.
            unsafe { self.push_with(kernel, level as u32, |to| copy(next.nodes.at(i), to, size)) };
        }
        Ok(())
    }

    /// Writes the root of the tree over the range and `more` elements after it, whose node is `tail`. `tail` is null if
    /// there are none. Returns the number of elements under the root. If it is 0, no root is written.
    ///
    /// # Safety
    /// `tail` is null or a node of this kernel, and `to` has room for a node.
    pub unsafe fn root(&self, kernel: &dyn Loops, tail: *const Node, more: u64, to: *mut Node) -> u64 {
        let size = kernel.facts().node;
        let (mut count, mut levels) = (more, self.levels.iter().enumerate().rev());
        // SAFETY: the span's nodes are written, the caller vouches for `tail` and `to`, and `to` is written before it
        // is merged, since a merge follows only after a copy.
        unsafe {
            if !tail.is_null() {
                copy(tail, to, size);
            } else if let Some((i, &level)) = levels.next() {
                copy(self.nodes.at(i), to, size);
                count = 1 << level;
            }
            // The nodes get smaller from left to right: the ragged end passes through, and joins on the right.
            for (i, &level) in levels {
                kernel.merge(self.nodes.at(i), 1 << level, to, count, 1);
                count += 1 << level;
            }
        }
        count
    }
}
