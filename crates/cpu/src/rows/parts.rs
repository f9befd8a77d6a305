//! Parts of rows in pieces and blocks.

use std::ops::Range;

use crate::policy::BLOCK;

use super::lines::Part;
use super::op::{Block, INPUTS};

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
