//! The elements of one output, as its index has them: in place, or copied side by side.

use warpfold_array::problem::{At, Dim, Walk};

use super::Work;
use super::nodes::Items;
use crate::loops::{ALIGN, Item};
use crate::moves::copy_lines;
use crate::policy::LONG_RUN;

impl Work<'_> {
    /// The address of `n` elements along one axis: in place if memory has them as the kernel reads them, else copied.
    pub(super) unsafe fn run_of(&self, at: At, dim: &Dim, n: usize, items: &mut Items) -> *const Item {
        let size = self.facts.item;
        if self.load.direct() && dim.x == size as isize && at.x.addr().is_multiple_of(self.facts.align) {
            return at.x.cast();
        }
        let room = items.room(n * size);
        // SAFETY: the caller vouches for `n` elements along the axis, and there is room for them.
        unsafe { self.load.gather(at, dim, n, room) };
        room
    }

    /// The address of `n` elements of one output's sequence, from the index `start`: in place, or copied.
    pub(super) unsafe fn sequence(&self, base: At, start: usize, n: usize, items: &mut Items) -> *const Item {
        let inner = self.problem.inner();
        let outer = self.problem.reduced.split_last().map_or(&[][..], |(_, outer)| outer);
        let mut walk = Walk::new(outer, base, start / inner.len);
        let mut at = start % inner.len;
        if at + n <= inner.len {
            // SAFETY: the run lies within what the caller vouches for.
            return unsafe { self.run_of(walk.at().step(&inner, at), &inner, n, items) };
        }
        let size = self.facts.item;
        let raw = self.problem.size;
        let is_run = inner.x == raw as isize && inner.len * raw < LONG_RUN;
        if is_run && self.load.direct() {
            let room = items.room(n * size);
            // SAFETY: the caller vouches for the elements, for which there is room.
            unsafe { self.runs_of(base, start, n, raw, room) };
            return room;
        }
        if is_run && self.problem.reduced.iter().all(|dim| dim.mask == 0) {
            // A conversion of a few elements takes as long as one of many.
            let room = items.room((n * size).next_multiple_of(ALIGN) + n * raw);
            let runs = room.wrapping_byte_add((n * size).next_multiple_of(ALIGN));
            let along = Dim { len: n, x: raw as isize, mask: 0, out: 0 };
            // SAFETY: as above; the runs are converted after they have been written.
            unsafe {
                self.runs_of(base, start, n, raw, runs);
                self.load.gather(At { x: runs.cast_const().cast(), ..base }, &along, n, room);
            }
            return room;
        }
        let room = items.room(n * size);
        let mut done = 0;
        while done < n {
            let run = (inner.len - at).min(n - done);
            let to = room.wrapping_byte_add(done * size);
            // SAFETY: the run lies within the sequence, which the caller vouches for, and there is room for all `n`
            // elements.
            unsafe { self.load.gather(walk.at().step(&inner, at), &inner, run, to) };
            done += run;
            at = 0;
            walk.advance();
        }
        room
    }

    /// Copies `n` elements of one output's sequence, from the index `start`, as memory holds them: `bytes` bytes each,
    /// those of the innermost axis side by side.
    ///
    /// # Safety
    /// The elements are readable, and there is room for them.
    unsafe fn runs_of(&self, base: At, start: usize, n: usize, bytes: usize, to: *mut Item) {
        let (inner, outer) = self.problem.reduced.split_last().expect("a run");
        let last = outer.last().expect("several runs");
        let mut done = 0;
        while done < n {
            let (row, at) = ((start + done) / inner.len, (start + done) % inner.len);
            // A run, or the part of one at an end; or some whole runs, a step apart.
            let len = (inner.len - at).min(n - done);
            let whole = if len < inner.len { 1 } else { ((n - done) / len).min(last.len - row % last.len) };
            let x = Walk::new(outer, base, row).at().step(inner, at).x.cast::<Item>();
            // SAFETY: these runs lie within the sequence, which the caller vouches for with room for it.
            unsafe { copy_lines(x, whole, last.x, len, bytes, to.wrapping_byte_add(done * bytes), len) };
            done += whole * len;
        }
    }
}
