//! A contiguous range of a sequence, reduced to its maximal canonical nodes. It is [`warpfold_core::Span`] for nodes
//! whose type is not known here.

use warpfold_core::NotAdjacent;

use super::pieces::{Growing, Pieces};
use crate::loops::{Item, Loops, Node};

/// A contiguous range of a sequence as its maximal canonical nodes.
pub struct Span {
    start: u64,
    range: Growing,
    pieces: Pieces,
}

impl Span {
    /// The empty range at `start`.
    pub fn new(kernel: &dyn Loops, start: u64) -> Self {
        Self { start, range: Growing { first: 0, end: start }, pieces: Pieces::new(kernel, 1) }
    }

    /// Makes the span the empty range at `start`, and keeps its memory.
    pub fn begin(&mut self, start: u64) {
        (self.start, self.range.end) = (start, start);
        self.pieces.clear();
    }

    /// The index of the first element.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// The index after the last element.
    pub fn end(&self) -> u64 {
        self.range.end
    }

    /// Appends a run of `n` elements, as the fewest canonical nodes that make it up.
    ///
    /// # Safety
    /// `n` elements of this kernel's type are readable at `x`.
    pub unsafe fn extend(&mut self, kernel: &dyn Loops, x: *const Item, n: usize) {
        // SAFETY: the caller's.
        unsafe { self.pieces.extend(kernel, &mut self.range, x, n) };
    }

    /// Appends `n` whole nodes of `weight` elements each, a power of two. They are overwritten.
    ///
    /// # Safety
    /// `n` nodes of this kernel are at `nodes`.
    pub unsafe fn extend_by_nodes(&mut self, kernel: &dyn Loops, nodes: *mut Node, n: usize, weight: usize) {
        // SAFETY: the caller's.
        unsafe { self.pieces.extend_by_nodes(kernel, &mut self.range, nodes, n, weight) };
    }

    /// Appends the next contiguous range, of the same kernel.
    pub fn join(&mut self, kernel: &dyn Loops, next: &Span) -> Result<(), NotAdjacent> {
        if self.end() != next.start {
            return Err(NotAdjacent { end: self.end(), start: next.start });
        }
        // SAFETY: the pieces of `next` are written, and of this kernel.
        unsafe { self.pieces.join(kernel, &mut self.range, &next.pieces, 0..next.pieces.len()) };
        Ok(())
    }

    /// Writes the root of the tree over the range and `more` elements after it, whose node is `tail`. `tail` is null if
    /// there are none. Returns the number of elements under the root. If it is 0, no root is written.
    ///
    /// # Safety
    /// `tail` is null or a node of this kernel, and `to` has room for a node.
    pub unsafe fn root(&self, kernel: &dyn Loops, tail: *const Node, more: u64, to: *mut Node) -> u64 {
        // SAFETY: the caller's.
        unsafe { self.pieces.root(kernel, 0..self.pieces.len(), tail, more, to) }
    }
}
