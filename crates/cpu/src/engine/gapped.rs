//! Short rows with gaps between them, which are brought together: many of them at a time take less than each by itself.

use warpfold_array::problem::{At, Dim, Walk};

use super::Work;
use super::nodes::Items;
use super::strip::Strip;
use crate::loops::Item;
use crate::moves::{copy, copy_lines};
use crate::policy::{LEAST_COLUMNS, LEAST_LINES, LINES, MOST_LINE};
use crate::simd::prefetch;

impl Work<'_> {
    /// Whether few columns lie side by side in rows that do not follow one another, and are read as they are: to
    /// convert many elements of a column takes less than to convert a few of each row.
    pub(super) fn has_lines(&self, lane: &Dim) -> bool {
        let is_side_by_side = lane.x == self.problem.size as isize && !self.problem.has_runs_along(lane);
        if !self.load.direct() || !lane.len.is_power_of_two() && lane.len < LEAST_COLUMNS {
            return false;
        }
        let are_many = self.problem.count >= LEAST_LINES;
        are_many && is_side_by_side && lane.len * self.problem.size <= MOST_LINE && !self.problem.has_dense_rows(lane)
    }

    /// The rows `start..start + n` of a strip of such columns, brought together.
    ///
    /// # Safety
    /// The rows are readable.
    pub(super) unsafe fn some_lines(
        &self,
        lane: &Dim,
        strip: &Strip<'_>,
        start: usize,
        n: usize,
        items: &mut Items,
    ) -> *const Item {
        let (inner, bytes) = (self.problem.inner(), strip.width * self.facts.item);
        let (room, mut done) = (items.room(n * bytes), 0);
        while done < n {
            let row = start + done;
            let some = (inner.len - row % inner.len).min(n - done);
            let at = Walk::new(strip.axes, strip.base, row).at();
            let to = room.wrapping_byte_add(done * bytes);
            if inner.x == bytes as isize && inner.len < LINES {
                // One run, too short for the CPU to see a stream.
                let later = row + LINES.next_multiple_of(inner.len);
                if later < strip.first_row + strip.rows {
                    prefetch(Walk::new(strip.axes, strip.base, later).at().x, some * bytes);
                }
                // SAFETY: the caller vouches for these rows, which follow one another, and there is room for all.
                unsafe { copy(at.x, to.cast(), some * bytes) };
            } else {
                // SAFETY: as above.
                unsafe { self.bring_lines(at, &inner, some, lane, strip.width, to) };
            }
            done += some;
        }
        room
    }

    /// Copies the first `len` elements along an axis of each of `n` rows to lines that follow one another.
    ///
    /// # Safety
    /// The rows are readable, `rows` apart, and `to` has room for the lines.
    pub(super) unsafe fn bring_lines(&self, at: At, rows: &Dim, n: usize, axis: &Dim, len: usize, to: *mut Item) {
        let size = self.facts.item;
        // SAFETY: the caller vouches for the rows and for the room.
        unsafe {
            if self.load.direct() && axis.x == size as isize {
                return copy_lines(at.x.cast::<Item>(), n, rows.x, len, size, to, len);
            }
            for i in 0..n {
                self.load.gather(at.step(rows, i), axis, len, to.wrapping_byte_add(i * len * size));
            }
        }
    }
}
