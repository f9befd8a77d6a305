//! A strip of columns. Where the columns have the elements of the innermost reduced axis side by side, batches of rows
//! are transposed as they are read.

use warpfold_array::problem::{At, Dim, Walk};

use super::Work;
use super::nodes::{Items, Nodes};
use super::panels::Room;
use crate::loops::Item;
use crate::panel::RowList;
use crate::policy::{HIGH, NARROW};
use crate::simd::prefetch;
use crate::transpose::{Rows, take_apart};

/// A strip of columns, and the rows of it that a task reduces.
pub(super) struct Strip<'a> {
    /// The axes along which rows follow one another.
    pub axes: &'a [Dim],
    /// The index of each row along the only axis; `None` if rows lie there one after the other.
    pub order: Option<&'a [u32]>,
    pub base: At,
    pub first_row: usize,
    pub rows: usize,
    pub width: usize,
}

/// The rows of a strip whose columns have the elements of the innermost axis side by side. A batch is that many rows,
/// transposed; the last few batches are kept.
pub(super) struct Beside<'a> {
    inner: Dim,
    outer: &'a [Dim],
    items: Items,
    room: Items,
    /// How many batches there is room for.
    batches: usize,
    /// The next batch to transpose.
    next: usize,
}

/// Workspace of strips of one panel each, one after the other.
pub(super) struct Single {
    ats: Vec<At>,
    items: Items,
    room: Room,
    nodes: Nodes,
}

impl Single {
    /// For nodes of `node` bytes.
    pub(super) fn new(node: usize) -> Self {
        Self { ats: Vec::new(), items: Items::new(), room: Room::new(node), nodes: Nodes::new(node) }
    }
}

impl<'a> Beside<'a> {
    /// For panels of at most `most` rows.
    pub(super) fn new(strip: &Strip<'a>, most: usize) -> Self {
        let (inner, outer) = strip.axes.split_last().expect("a reduced axis");
        Self {
            inner: *inner,
            outer,
            items: Items::new(),
            room: Items::new(),
            batches: most.div_ceil(inner.len) + 1,
            next: strip.first_row / inner.len,
        }
    }
}

impl Work<'_> {
    /// The nodes of the columns of a strip whose rows are one panel.
    ///
    /// # Safety
    /// The strip is readable.
    pub(super) unsafe fn one_panel<'s>(&self, lane: &Dim, strip: &Strip<'_>, single: &'s mut Single) -> &'s Nodes {
        let Single { ats, items, room, nodes } = single;
        let (mut walk, width) = (Walk::new(strip.axes, strip.base, strip.first_row), strip.width);
        ats.clear();
        for _ in 0..strip.rows {
            ats.push(walk.at());
            walk.advance();
        }
        self.look_ahead(ats, lane, width, false);
        // SAFETY: the caller vouches for `width` elements of each row; the panel writes as many nodes.
        unsafe {
            let rows = self.rows_of(ats, lane, width, items);
            nodes.write(width, |to| self.panel(rows.as_slice(), strip.first_row as u64, width, room, to));
        }
        self.tell(strip.rows * width);
        nodes
    }

    /// Prefetches the panel after the next one, if rows are narrow. `is_more` says whether there is one; if
    /// not, another strip may follow.
    pub(super) fn look_ahead(&self, ats: &[At], lane: &Dim, width: usize, is_more: bool) {
        let [first, second, ..] = ats else { return };
        let (step, bytes) = (second.x.addr().wrapping_sub(first.x.addr()), width * self.problem.size);
        let is_narrow = bytes <= NARROW && lane.x == self.problem.size as isize;
        if is_narrow && (is_more || step <= 2 * bytes) {
            let ahead = step.wrapping_mul(2 * self.facts.rows);
            ats.iter().for_each(|at| prefetch(at.x.wrapping_byte_add(ahead), bytes));
        }
    }

    /// The addresses of rows of a strip that are steps along one axis, as the kernel reads them, if the kernel itself
    /// prefetches the rows after them.
    pub(super) fn rows_apart(&self, strip: &Strip<'_>, lane: &Dim, row: usize, n: usize) -> Option<RowList<Item>> {
        let ([axis], None) = (strip.axes, strip.order) else { return None };
        let first = strip.base.step(axis, strip.first_row + row).x;
        let aligned = |bytes: usize| bytes.is_multiple_of(self.facts.align);
        let in_place = self.load.direct() && lane.x == self.facts.item as isize;
        let are_read = in_place && aligned(first.addr()) && aligned(axis.x.unsigned_abs());
        let takes = are_read && self.facts.rows > HIGH && !self.facts.runs;
        takes.then(|| (0..n).map(|i| first.wrapping_offset(i as isize * axis.x).cast()).collect())
    }

    /// The addresses of the rows `from..from + n` of a strip whose columns have elements side by side, after they are
    /// transposed.
    pub(super) unsafe fn rows_beside(
        &self,
        beside: &mut Beside<'_>,
        strip: &Strip<'_>,
        from: usize,
        n: usize,
    ) -> RowList<Item> {
        let (len, width, size) = (beside.inner.len, strip.width, self.facts.item);
        let batch = len * width * size;
        while beside.next <= (from + n - 1) / len {
            let at = Walk::new(beside.outer, strip.base, beside.next).at();
            // SAFETY: the caller vouches for all rows of the strip, whose batch of `len` rows is as many elements side
            // by side for each column. (Those before the first row and after the last one are the array's, too.)
            unsafe {
                let x = self.run_of(at, &beside.inner, len * width, &mut beside.items);
                let to = beside.room.room(beside.batches * batch).byte_add(beside.next % beside.batches * batch);
                let rows = Rows::dense(width, len, size, self.load.whole());
                take_apart(x, rows, to, width);
            }
            beside.next += 1;
        }
        let room = beside.room.room(beside.batches * batch);
        (from..from + n)
            .map(|row| {
                let (batch, place) = (row / len % beside.batches, row % len);
                room.wrapping_byte_add((batch * len + place) * width * size).cast_const()
            })
            .collect()
    }
}
