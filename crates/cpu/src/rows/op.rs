//! What an operation on rows is: how a block of rows is reduced, and what becomes of its elements; and how parts of
//! rows are cut into blocks.

use std::ops::Range;

use crate::gather::Gather;
use crate::policy::BLOCK;

use super::lines::{Lines, Part, RowFloat};

/// The most inputs of an operation.
pub const INPUTS: usize = 3;

/// A node of a row: two numbers, whatever they are.
pub type Node<F> = [F; 2];

/// Some elements of some rows, at most a block of them.
pub struct Block<'a, F> {
    /// Which.
    pub part: Part,
    /// The elements of each input, row after row.
    pub x: [&'a [F]; INPUTS],
    /// For each element, 0 if it is masked out.
    pub mask: Option<&'a [u8]>,
    /// Room for a number of each element.
    pub terms: &'a mut [F],
    /// Whether `terms` is as the last round has left it.
    pub fresh: bool,
}

/// An operation on rows.
pub trait RowOp<F: RowFloat>: Sync {
    /// What a row was reduced to.
    type Stat: Copy + Default + Send + Sync;

    /// How often a row is reduced.
    fn rounds(&self) -> usize {
        1
    }

    /// Whether elements of the first input are changed before they are used.
    fn prepares(&self) -> bool {
        false
    }

    /// Changes them. `other` has the elements of the second input.
    fn prepare(&self, _x: &mut [F], _other: &[F], _mask: Option<&[u8]>) {}

    /// Whether the elements of the first input are a result, too, after they were changed.
    fn keeps_prepared(&self) -> bool {
        false
    }

    /// The node of each row of the block, which is zero before.
    fn reduce(&self, _round: usize, _block: &mut Block<'_, F>, _stats: &[Self::Stat], _nodes: &mut [Node<F>]) {}

    /// The node above two neighbours of so many elements.
    fn join(&self, _round: usize, left: (Node<F>, u64), right: (Node<F>, u64)) -> Node<F> {
        [left.0[0].add(right.0[0]), left.0[1].add(right.0[1])]
    }

    /// What follows from the node of a row.
    fn finish(&self, _round: usize, _row: usize, _node: Node<F>, _stat: &mut Self::Stat) {}

    /// Writes the results of the block's elements. What is there before is not read.
    fn map(&self, block: &mut Block<'_, F>, stats: &[Self::Stat], out: &mut [F]);

    /// How many numbers of each element are summed down the rows.
    fn columns(&self) -> usize {
        0
    }

    /// One of these numbers, of the block's elements.
    fn column(&self, _which: usize, _block: &Block<'_, F>, _stats: &[Self::Stat], _out: &mut [F]) {}
}

/// An array, and how its elements become floats.
pub struct Input<T> {
    /// Where they are.
    pub lines: Lines,
    /// Reads and converts.
    pub gather: Gather<T>,
}

/// A part in pieces of so many elements of each row.
pub fn pieces(part: &Part, width: usize) -> impl Iterator<Item = Part> {
    let Part { ref rows, from, n } = *part;
    let rows = rows.clone();
    (0..n).step_by(width).map(move |at| Part { rows: rows.clone(), from: from + at, n: width.min(n - at) })
}

/// Calls `f` with each block of a part, the place of its first element in the part's tile, and its rows, counted from
/// the part's first.
pub fn blocks(part: &Part, mut f: impl FnMut(Part, usize, Range<usize>)) {
    let (rows, n) = (part.rows.len(), part.n);
    let (height, width) = if n > BLOCK { (1, BLOCK) } else { (BLOCK / n, n) };
    for row in (0..rows).step_by(height) {
        let of_block = row..rows.min(row + height);
        for from in (0..n).step_by(width) {
            let rows = part.rows.start + of_block.start..part.rows.start + of_block.end;
            let block = Part { rows, from: part.from + from, n: width.min(n - from) };
            f(block, row * n + from, of_block.clone());
        }
    }
}

/// The elements of a block.
pub fn slice<'a, F>(
    part: Part,
    place: usize,
    x: [&'a [F]; INPUTS],
    mask: Option<&'a [u8]>,
    terms: &'a mut [F],
) -> Block<'a, F> {
    let range = place..place + part.rows.len() * part.n;
    let of = |x: &'a [F]| if x.is_empty() { x } else { &x[range.clone()] };
    Block {
        x: x.map(of),
        mask: mask.map(|mask| &mask[range.clone()]),
        terms: &mut terms[range.clone()],
        fresh: true,
        part,
    }
}
