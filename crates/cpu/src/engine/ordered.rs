//! Segments of elements at any places along the axis that is the fastest in memory. Each line of the axis is read as it
//! lies, its elements are brought in order in the cache, and its segments are neighbours there.

use std::ops::Range;

use warpfold_array::problem::Walk;

use super::Work;
use super::cuts::Cuts;
use super::nodes::Items;
use super::rows::Scratch;
use super::segments::Place;
use super::span::Span;
use crate::loops::{Item, Value};
use crate::moves::by_size;
use crate::output::Output;
use crate::policy::{BLOCK, CHUNK};

/// Writes the elements `order` of a line, one after the other.
///
/// # Safety
/// The elements are readable from `line` on, and there is room for as many at `to`.
unsafe fn in_order<T: Copy>(line: *const T, order: &[u32], to: *mut T) {
    for (i, &at) in order.iter().enumerate() {
        // SAFETY: the caller vouches for the element and its place.
        unsafe { to.add(i).write(line.add(at as usize).read()) };
    }
}

impl Work<'_> {
    /// The segments of each kept index by itself.
    ///
    /// # Safety
    /// As of [`Work::segments`], whose checks have been made.
    pub(super) unsafe fn segments_in_order(&self, cuts: Cuts<'_>, out: &Output<Value>) {
        let lines = self.problem.outputs;
        let each = (CHUNK / 4 / self.problem.count.max(1)).clamp(1, lines.div_ceil(4 * self.threads));
        self.quiet_tasks(lines.div_ceil(each), &|task| {
            let lines = task * each..lines.min((task + 1) * each);
            self.tell(lines.len() * self.problem.count);
            // SAFETY: the caller vouches for elements and places; each task writes outputs of its own.
            unsafe { self.lines_in_order(cuts, lines, out) };
        });
    }

    /// The segments of some kept indices.
    unsafe fn lines_in_order(&self, Cuts { offsets, order }: Cuts<'_>, lines: Range<usize>, out: &Output<Value>) {
        let (inner, size, segments) = (self.problem.inner(), self.facts.item, offsets.len() - 1);
        let order = &order.expect("an order")[..offsets[segments]];
        let Scratch { mut items, mut nodes, mut room } = Scratch::new(self.kernel);
        let (mut ordered, mut span) = (Items::new(), Span::new(self.kernel, 0));
        let mut walk = Walk::new(&self.problem.kept, self.base, lines.start);
        for _ in lines {
            let place = Place { at: walk.at(), out: walk.out(), width: 1 };
            let x: *mut Item = ordered.room(order.len() * size);
            // SAFETY: the caller vouches for the line, among whose elements are those of the order, as checked. There
            // is room for all of the order.
            unsafe {
                let line = self.run_of(place.at, &inner, self.problem.count, &mut items);
                by_size!(size, T => in_order::<T>(line.cast(), order, x.cast()), else unreachable!("1 to 16 bytes"));
            }
            let mut from = 0;
            while from < segments {
                let x = x.wrapping_byte_add(offsets[from] * size);
                let len = offsets[from + 1] - offsets[from];
                let until = offsets[from..].partition_point(|&end| end - offsets[from] <= BLOCK) - 1;
                // SAFETY: the elements in order, which are the kernel's, begin at `x`; this task alone writes the
                // outputs of its lines.
                unsafe {
                    if until > 0 {
                        let offsets = &offsets[from..=from + until];
                        self.segments_of_block(x, offsets, from, &place, (&mut nodes, &mut room), out);
                    } else {
                        span.begin(0);
                        span.extend(self.kernel, x, len);
                        nodes.write(1, |to| {
                            span.root(self.kernel, std::ptr::null(), 0, to);
                        });
                        self.finish_segment(out, from, place.out, len, nodes.first());
                    }
                }
                from += until.max(1);
            }
            walk.advance();
        }
    }
}
