//! A contiguous range of a sequence, reduced to its maximal canonical nodes: [`warpfold_core::Span`] of nodes without a
//! type.

use warpfold_core::NotAdjacent;

use super::nodes::Nodes;
use crate::loops::{Item, Loops, Node};
use crate::moves::copy;
use crate::policy::BLOCK;

/// See the module.
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

    /// The empty range at `start`, in the same memory.
    pub fn begin(&mut self, start: u64) {
        (self.start, self.end) = (start, start);
        self.levels.clear();
        self.nodes.clear();
    }

    /// Where it ends.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Appends the canonical node of the next `2^level` elements, which `write` writes.
    ///
    /// # Safety
    /// It writes a node of this kernel.
    unsafe fn push_with(&mut self, kernel: &dyn Loops, level: u32, write: impl FnOnce(*mut Node)) {
        assert!(self.end.trailing_zeros() >= level, "a node of level {level} cannot start at {}", self.end);
        self.end += 1 << level;
        let mut level = level;
        // SAFETY: the caller's.
        unsafe { self.nodes.push_with(write) };
        self.levels.push(level as u8);
        // The left neighbour is a sibling if this node is the odd one of its pair and the pair is whole.
        while let [.., left, right] = &mut self.levels[..]
            && *left == *right
            && self.end >> level & 1 == 0
        {
            *left += 1;
            // SAFETY: both are nodes of this kernel; the pair takes the place of the left one.
            unsafe { kernel.root(self.nodes.pair(), 2, 1 << level, 1 << level) };
            self.levels.pop();
            self.nodes.pop();
            level += 1;
        }
    }

    /// Appends a run of `n` elements: the fewest canonical nodes that make it up.
    ///
    /// # Safety
    /// They are there, and of this kernel.
    pub unsafe fn extend(&mut self, kernel: &dyn Loops, x: *const Item, n: usize) {
        let size = kernel.facts().item;
        let mut done = 0;
        while done < n {
            let at = self.end;
            let level = at.trailing_zeros().min(BLOCK.ilog2()).min((n - done).ilog2());
            let x = x.wrapping_byte_add(done * size);
            // SAFETY: the caller's.
            unsafe {
                self.push_with(kernel, level, |to| kernel.block(std::ptr::null(), x, 1 << level, at, to));
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
            // SAFETY: a node of this kernel.
            unsafe { self.push_with(kernel, level as u32, |to| copy(next.nodes.at(i), to, size)) };
        }
        Ok(())
    }

    /// The root of the tree over the range and `tail` after it, a node of some more elements, or null. How many
    /// elements the root has: 0, if there are none; `to` is not written then.
    ///
    /// # Safety
    /// There is a node of this kernel, and room for one.
    pub unsafe fn root(&self, kernel: &dyn Loops, tail: *const Node, more: u64, to: *mut Node) -> u64 {
        let size = kernel.facts().node;
        let (mut count, mut levels) = (more, self.levels.iter().enumerate().rev());
        // SAFETY: nodes of this kernel.
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
