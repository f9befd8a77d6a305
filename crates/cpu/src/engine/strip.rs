//! A strip of columns. Where the columns have the elements of the innermost reduced axis side by side, batches of rows
//! are transposed as they are read.

use warpfold_array::problem::{At, Dim, Walk};

use super::Work;
use super::nodes::Items;
use crate::loops::Item;
use crate::panel::RowList;
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
