//! A contiguous range of a sequence, reduced to its canonical nodes.

use alloc::vec::Vec;
use core::fmt;

use crate::reducer::Reducer;

/// A contiguous range `[start, end)` of a longer sequence, reduced to its maximal canonical nodes.
///
/// A canonical node covers `2^level` elements and starts at a multiple of `2^level`. A range has at most `2 log2 n`
/// canonical nodes. Adjacent spans join, and their root has the bits of a reduction of the whole sequence. Streams,
/// chunks of a file, threads and devices combine their results in this way.
///
/// ```
/// use warpfold_core::{Reducer, Span, ops::Sum, tree};
///
/// let (sum, x) = (Sum::<f32>::total(), [0.1f32, 0.2, 0.3, 0.4, 0.5]);
/// let span = |from: usize, to: usize| {
///     let mut span = Span::new(from as u64);
///     (from..to).for_each(|i| span.push(&sum, 0, sum.lift(x[i], i as u64)));
///     span
/// };
/// let mut whole = span(0, 3);
/// whole.join(&sum, &span(3, 5))?;
/// let total = whole.root(&sum).map(|root| sum.finish(root, whole.count()));
/// assert_eq!(total, tree::reduce(&sum, x));
/// # Ok::<(), warpfold_core::NotAdjacent>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Span<A> {
    start: u64,
    end: u64,
    nodes: Vec<Node<A>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Node<A> {
    level: u32,
    acc: A,
}

/// The error of joining spans that are not adjacent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotAdjacent {
    /// The end of the left span.
    pub end: u64,
    /// The start of the right span.
    pub start: u64,
}

impl fmt::Display for NotAdjacent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "cannot join a span that ends at {} with one that starts at {}: a span joins only the next contiguous \
             range",
            self.end, self.start
        )
    }
}

impl core::error::Error for NotAdjacent {}

impl<A: Copy + Send + Sync> Span<A> {
    /// The empty range at `start`.
    pub const fn new(start: u64) -> Self {
        Self { start, end: start, nodes: Vec::new() }
    }

    /// The index of the first element.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// The index after the last element.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// The number of elements.
    pub fn count(&self) -> u64 {
        self.end - self.start
    }

    /// Appends the canonical node of the next `2^level` elements.
    ///
    /// # Panics
    /// If the span does not end at a multiple of `2^level`.
    #[inline]
    pub fn push<R: Reducer<Acc = A>>(&mut self, reducer: &R, level: u32, acc: A) {
        assert!(self.end.trailing_zeros() >= level, "a node of level {level} cannot start at {}", self.end);
        self.end += 1 << level;
        let (mut level, mut acc) = (level, acc);
        // The left neighbour is the sibling if this node is the right one of its pair.
        while let Some(&Node { level: l, acc: left }) = self.nodes.last() {
            if l != level || (self.end >> level) & 1 == 1 {
                break;
            }
            self.nodes.pop();
            acc = reducer.combine_counted(left, 1 << level, acc, 1 << level);
            level += 1;
        }
        self.nodes.push(Node { level, acc });
    }

    /// Appends the next contiguous range.
    pub fn join<R: Reducer<Acc = A>>(&mut self, reducer: &R, next: &Span<A>) -> Result<(), NotAdjacent> {
        if self.end != next.start {
            return Err(NotAdjacent { end: self.end, start: next.start });
        }
        for node in &next.nodes {
            self.push(reducer, node.level, node.acc);
        }
        Ok(())
    }

    /// The root of the tree over the range, whose end is the end of the sequence; `None` if it is empty.
    ///
    /// # Panics
    /// If the range does not start at 0.
    #[inline]
    pub fn root<R: Reducer<Acc = A>>(&self, reducer: &R) -> Option<A> {
        assert_eq!(self.start, 0, "only a span from the start of the sequence has a root");
        // The nodes get smaller from left to right. The last node passes through, and is the right operand.
        let mut nodes = self.nodes.iter().rev();
        let first = nodes.next()?;
        let mut right = (first.acc, 1u64 << first.level);
        for node in nodes {
            let n = 1u64 << node.level;
            right = (reducer.combine_counted(node.acc, n, right.0, right.1), n + right.1);
        }
        Some(right.0)
    }

    /// The nodes, from left to right, as `(level, node)`.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = (u32, A)> + '_ {
        self.nodes.iter().map(|n| (n.level, n.acc))
    }
}
