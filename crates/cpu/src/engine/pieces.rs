//! The canonical nodes of ranges, from left to right in one list: a node that is appended joins its left sibling.
//!
//! A piece is the nodes of all outputs over one subtree. A list of pieces may hold several ranges, one after the other:
//! then only those of the last range, from its first piece on, are joined. Nodes are known by address and size only.

use std::ops::Range;

use super::nodes::Nodes;
use crate::loops::{Item, Loops, Node};
use crate::moves::copy;
use crate::policy::BLOCK;

/// See the module.
pub struct Pieces {
    outputs: usize,
    levels: Vec<u8>,
    nodes: Nodes,
}

/// A range that grows to the right: the number of its first piece, and the index after its last element.
#[derive(Clone, Copy)]
pub struct Growing {
    pub first: usize,
    pub end: u64,
}

impl Pieces {
    /// No pieces yet, of so many outputs.
    pub fn new(kernel: &dyn Loops, outputs: usize) -> Self {
        Self { outputs, levels: Vec::new(), nodes: Nodes::new(kernel.facts().node) }
    }

    /// A copy.
    #[cfg(feature = "reductions")]
    pub fn copied(&self) -> Self {
        Self { outputs: self.outputs, levels: self.levels.clone(), nodes: self.nodes.copied() }
    }

    /// Makes room for `n` pieces in all.
    #[cfg(feature = "reductions")]
    pub fn reserve(&mut self, n: usize) {
        self.nodes.reserve(n * self.outputs);
    }

    /// Removes all pieces, and keeps their memory.
    pub fn clear(&mut self) {
        self.levels.clear();
        self.nodes.clear();
    }

    /// The number of pieces.
    pub fn len(&self) -> usize {
        self.levels.len()
    }

    /// The address of the first node of a piece. The nodes of further pieces follow.
    pub fn at(&self, piece: usize) -> *const Node {
        assert!(piece < self.len());
        self.nodes.first().wrapping_byte_add(piece * self.outputs * self.nodes.size())
    }

    /// Appends the piece of the next `2^level` elements, which `write` writes, and joins it to its siblings.
    ///
    /// # Safety
    /// `write` writes a node of this kernel for each output.
    pub unsafe fn push(&mut self, kernel: &dyn Loops, range: &mut Growing, level: u32, write: impl FnOnce(*mut Node)) {
        assert!(range.end.trailing_zeros() >= level, "a node of level {level} cannot start at {}", range.end);
        range.end += 1 << level;
        let mut level = level;
        // SAFETY: the caller vouches that `write` writes the nodes.
        unsafe { self.nodes.append(self.outputs, write) };
        self.levels.push(level as u8);
        // The left neighbour is a sibling if this node is the odd one of its pair and the pair is whole.
        while let [.., left, right] = &mut self.levels[range.first..]
            && *left == *right
            && range.end >> level & 1 == 0
        {
            *left += 1;
            // SAFETY: the last two pieces are of this kernel and written; their root replaces the left one.
            unsafe { self.join_last(kernel, 1 << level) };
            self.levels.pop();
            level += 1;
        }
    }

    /// Joins the last two pieces, of `n` elements each.
    ///
    /// # Safety
    /// They are of this kernel, and written.
    #[inline]
    unsafe fn join_last(&mut self, kernel: &dyn Loops, n: u64) {
        let (outputs, size) = (self.outputs, self.nodes.size());
        let left = self.nodes.last_mut(2 * outputs);
        // SAFETY: the caller's. Left and right do not overlap.
        unsafe {
            if outputs == 1 {
                kernel.root(left, 2, n, n);
            } else {
                let right = left.wrapping_byte_add(outputs * size);
                kernel.merge(left, n, right, n, outputs);
                copy(right, left, outputs * size);
            }
        }
        self.nodes.shorten(outputs);
    }

    /// Appends a run of `n` elements of the one output, as the fewest canonical nodes that make it up.
    ///
    /// # Safety
    /// `n` elements of this kernel's type are readable at `x`.
    pub unsafe fn extend(&mut self, kernel: &dyn Loops, range: &mut Growing, x: *const Item, n: usize) {
        assert!(self.outputs == 1, "elements of one output");
        let size = kernel.facts().item;
        let mut done = 0;
        while done < n {
            let at = range.end;
            let level = at.trailing_zeros().min(BLOCK.ilog2()).min((n - done).ilog2());
            let x = x.wrapping_byte_add(done * size);
            // SAFETY: the next `2^level` elements are among the `n` that the caller vouches for, since `level` is at
            // most the logarithm of those left; `short` writes their node.
            unsafe { self.push(kernel, range, level, |to| kernel.short(x, 1 << level, at, to)) };
            done += 1 << level;
        }
    }

    /// Appends `n` nodes of `weight` elements each, a power of two, of the one output. They are overwritten.
    ///
    /// # Safety
    /// `n` nodes of this kernel are at `nodes`.
    pub unsafe fn extend_by_nodes(
        &mut self,
        kernel: &dyn Loops,
        range: &mut Growing,
        nodes: *mut Node,
        n: usize,
        weight: usize,
    ) {
        assert!(self.outputs == 1, "nodes of one output");
        let (size, low) = (self.nodes.size(), weight.ilog2());
        let mut done = 0;
        while done < n {
            let level = (range.end.trailing_zeros() - low).min(BLOCK.ilog2()).min((n - done).ilog2());
            let first = nodes.wrapping_byte_add(done * size);
            // SAFETY: the next `2^level` nodes are among the `n` that the caller vouches for; `copy` writes their root.
            unsafe {
                kernel.root(first, 1 << level, weight as u64, weight as u64);
                self.push(kernel, range, low + level, |to| copy(first.cast_const(), to, size));
            }
            done += 1 << level;
        }
    }

    /// Appends the next range, the pieces `of` of another list.
    ///
    /// # Safety
    /// They are of the same kernel and outputs, and written.
    pub unsafe fn join(&mut self, kernel: &dyn Loops, range: &mut Growing, other: &Pieces, of: Range<usize>) {
        assert!(self.outputs == other.outputs, "pieces of as many outputs");
        let bytes = self.outputs * self.nodes.size();
        for i in of.clone() {
            let (before, from) = (self.len(), other.at(i));
            // SAFETY: the nodes are written, as the caller says, and `copy` writes all of their bytes.
            unsafe { self.push(kernel, range, other.levels[i] as u32, |to| copy(from, to, bytes)) };
            if self.len() > before {
                // The piece has no sibling on its left, so those after it have none but among themselves.
                return self.append(range, other, i + 1..of.end);
            }
        }
    }

    /// Appends pieces of another list, which have no siblings here.
    fn append(&mut self, range: &mut Growing, other: &Pieces, of: Range<usize>) {
        if of.is_empty() {
            return;
        }
        let (n, from) = (of.len() * self.outputs, other.at(of.start));
        let bytes = n * self.nodes.size();
        // SAFETY: the other list has as many nodes of the same size from there on, and `copy` writes all of them.
        unsafe { self.nodes.append(n, |to| copy(from, to, bytes)) };
        range.end += other.levels[of.clone()].iter().map(|&level| 1u64 << level).sum::<u64>();
        self.levels.extend_from_slice(&other.levels[of]);
    }

    /// Writes the roots of the trees over some pieces and `more` elements after them, whose nodes are at `tail`. `tail`
    /// is null if there are none. Returns the number of elements under a root. If it is 0, nothing is written.
    ///
    /// # Safety
    /// `tail` is null or has a node of this kernel for each output, and `to` has room for as many.
    pub unsafe fn root(
        &self,
        kernel: &dyn Loops,
        of: Range<usize>,
        tail: *const Node,
        more: u64,
        to: *mut Node,
    ) -> u64 {
        let bytes = self.outputs * self.nodes.size();
        let (mut count, mut pieces) = (more, of.rev());
        // SAFETY: the pieces' nodes are written, the caller vouches for `tail` and `to`, and `to` is written before it
        // is merged, since a merge follows only after a copy.
        unsafe {
            if !tail.is_null() {
                copy(tail, to, bytes);
            } else if let Some(i) = pieces.next() {
                copy(self.at(i), to, bytes);
                count = 1 << self.levels[i];
            }
            // The nodes get smaller from left to right: the ragged end passes through, and joins on the right.
            for i in pieces {
                let n = 1 << self.levels[i];
                kernel.merge(self.at(i), n, to, count, self.outputs);
                count += n;
            }
        }
        count
    }
}
