//! Segments: consecutive parts of one axis, a few long ones or a million short ones, each reduced by itself.
//!
//! Segments longer than a task are cut along subtrees. Shorter ones share a task. Neighbours of one length are rows.
//! Elements at any places along the axis are segments, too, if an order lists them: see `ordered.rs`. Those of many
//! short lines are reduced side by side: see `lines.rs`.

use warpfold_array::problem::{At, Dim, Problem, Walk};

use super::Work;
use super::cuts::{Cuts, Part, Tasks, look_through};
use super::lane::Lane;
use super::nodes::{Items, Nodes};
use super::panels::Room;
use super::rows::Scratch;
use super::strip::Strip;
use crate::loops::{Item, Node, Value};
use crate::moves::{copy, repeat};
use crate::output::Output;
use crate::policy::{BLOCK, CHUNK, PANEL, STRIP_BYTES};

/// The columns of one line or strip: their start in memory and in the output, and their number.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub at: At,
    pub out: isize,
    pub width: usize,
}

impl Work<'_> {
    /// See [`super::Job::segments`]. Whether every segment has a result.
    ///
    /// # Safety
    /// Every element that the problem reaches from the base is readable. Its only reduced axis is the one that is cut.
    /// `out` has a place for each output of each segment.
    pub unsafe fn segments(&self, cuts: Cuts<'_>, out: &Output<Value>) -> bool {
        let Problem { count, outputs, .. } = *self.problem;
        let Cuts { offsets, order } = cuts;
        let (sorted, empty) = look_through(offsets, self.threads);
        assert!(
            sorted && offsets.last().is_some_and(|&end| end <= order.map_or(count, <[u32]>::len)),
            "checked offsets"
        );
        assert!(order.is_none_or(|order| order.iter().all(|&at| (at as usize) < count)), "indices along the axis");
        if empty && !self.kernel.has_empty() {
            return false;
        }
        if (offsets.len() - 1) * outputs == 0 {
            return true;
        }
        // SAFETY: the caller vouches for elements and places; segments lie within the axis, by the checked offsets.
        unsafe {
            match self.problem.kept.split_last() {
                Some((lane, others)) if self.problem.inner().x.unsigned_abs() > lane.x.unsigned_abs() => {
                    self.segments_of_rows(cuts, lane, others, out);
                }
                _ => match self.lines_abreast() {
                    Some(most) => self.segments_of_tiles(cuts, most, out),
                    None if order.is_some() => self.segments_in_order(cuts, out),
                    None => self.segments_of_lines(offsets, out),
                },
            }
        }
        true
    }

    /// The segments of each kept index by itself. The cut axis is the fastest in memory, or the only one.
    unsafe fn segments_of_lines(&self, offsets: &[usize], out: &Output<Value>) {
        let tasks = Tasks::new(offsets, CHUNK, self.threads);
        let place = |line: usize| {
            let walk = Walk::new(&self.problem.kept, self.base, line);
            Place { at: walk.at(), out: walk.out(), width: 1 }
        };
        let lines = self.problem.outputs;
        self.quiet_tasks(tasks.shared.len() * lines, &|task| {
            let (from, to) = tasks.shared[task % tasks.shared.len()];
            let place = place(task / tasks.shared.len());
            // SAFETY: the caller vouches for the elements; each task writes outputs of its own.
            unsafe { self.short_segments(&offsets[from..=to], from, &place, out) };
            self.tell(offsets[to] - offsets[from]);
        });
        let parts = &tasks.parts;
        let nodes = self.quiet_results(parts.len() * lines, |task| {
            let Part { segment, from } = parts[task % parts.len()];
            let (start, end) = (offsets[segment], offsets[segment + 1]);
            let at = place(task / parts.len()).at.step(&self.problem.inner(), start);
            let len = CHUNK.min(end - start - from);
            let (mut items, mut nodes) = (Items::new(), Nodes::new(self.facts.node));
            // SAFETY: these elements lie within what the caller vouches for.
            unsafe { self.chunk(at, from, len, &mut items, &mut nodes) };
            self.tell(len);
            nodes
        });
        // SAFETY: every part has its nodes; no other task writes the outputs of segments that are cut.
        unsafe { self.join_parts(offsets, &tasks, &nodes, &place, None, out) };
    }

    /// The segments of several columns at a time. The last kept axis is faster in memory than the cut one.
    unsafe fn segments_of_rows(&self, cuts: Cuts<'_>, lane: &Dim, others: &[Dim], out: &Output<Value>) {
        let width = (STRIP_BYTES / self.problem.size).min(lane.len);
        let strips = lane.len.div_ceil(width);
        let piece = (CHUNK / width).next_power_of_two().max(8 * PANEL);
        let offsets = cuts.offsets;
        let tasks = Tasks::new(offsets, piece, self.threads);
        let place = |strip: usize| {
            let (walk, column) = (Walk::new(others, self.base, strip / strips), strip % strips * width);
            let out = walk.out() + column as isize * lane.out;
            Place { at: walk.at().step(lane, column), out, width: width.min(lane.len - column) }
        };
        let places = self.problem.outputs / lane.len * strips;
        // Of more segments than rows, results are written in their order, if their pieces are not too short.
        let by_segment = offsets.len() - 1 > self.problem.count && width * self.problem.size >= STRIP_BYTES / 2;
        let shared = tasks.shared.len();
        self.quiet_tasks(shared * places, &|task| {
            let (some, at) = if by_segment { (task / places, task % places) } else { (task % shared, task / shared) };
            let ((from, to), place) = (tasks.shared[some], place(at));
            // SAFETY: the caller vouches for the elements; each task writes outputs of its own.
            unsafe { self.short_segments_of_rows(cuts.some(from..to), from, lane, &place, out) };
        });
        let parts = &tasks.parts;
        let nodes = self.quiet_results(parts.len() * places, |task| {
            let Part { segment, from } = parts[task % parts.len()];
            let len = piece.min(offsets[segment + 1] - offsets[segment] - from);
            // SAFETY: these rows lie within a segment, whose elements the caller vouches for.
            unsafe { self.rows_from(lane, &place(task / parts.len()), cuts, offsets[segment], from, len) }
        });
        // SAFETY: every part has its nodes; no other task writes the outputs of segments that are cut.
        unsafe { self.join_parts(offsets, &tasks, &nodes, &place, Some(lane), out) };
    }

    /// The roots of segments that were cut, from the nodes of their parts.
    unsafe fn join_parts(
        &self,
        offsets: &[usize],
        tasks: &Tasks,
        nodes: &[Nodes],
        place: &dyn Fn(usize) -> Place,
        lane: Option<&Dim>,
        out: &Output<Value>,
    ) {
        let parts = tasks.parts.len();
        if parts == 0 {
            return;
        }
        let mut list = Nodes::new(self.facts.node);
        for (strip, nodes) in nodes.chunks(parts).enumerate() {
            let place = place(strip);
            let mut first = 0;
            while first < parts {
                let segment = tasks.parts[first].segment;
                let len = offsets[segment + 1] - offsets[segment];
                let of_segment = &nodes[first..first + len.div_ceil(tasks.piece)];
                let last = (len - 1) % tasks.piece + 1;
                for column in 0..place.width {
                    list.clear();
                    let at = place.out + lane.map_or(0, |lane| column as isize * lane.out);
                    // SAFETY: the caller passes the nodes of every part; no other task writes outputs of cut segments.
                    unsafe {
                        of_segment.iter().for_each(|columns| list.push(columns.at(column)));
                        self.kernel.root(list.first_mut(), list.len(), tasks.piece as u64, last as u64);
                        self.finish_segment(out, segment, at, len, list.first());
                    }
                }
                first += of_segment.len();
            }
        }
    }

    /// Writes the result of a segment.
    ///
    /// # Safety
    /// `node` is a written node of this kernel; no other task writes the place.
    pub(super) unsafe fn finish_segment(
        &self,
        out: &Output<Value>,
        segment: usize,
        at: isize,
        len: usize,
        node: *const Node,
    ) {
        // SAFETY: the caller vouches for a node of this kernel, and that no other task writes the place.
        unsafe { self.finish(out, (segment * self.problem.outputs) as isize + at, node, 1, len) };
    }

    /// Writes the result of no elements to `n` outputs along a kept axis.
    ///
    /// # Safety
    /// No other task writes the places.
    unsafe fn finish_empty_columns(&self, out: &Output<Value>, at: isize, lane: &Dim, n: usize) {
        let at = at + self.problem.out_offset;
        let first = out.at(at, 1);
        // SAFETY: the places are in bounds and have room for a value, and the caller vouches that no other task writes
        // them.
        unsafe {
            assert!(self.kernel.finish_empty(first), "empty segments have a result, as checked before");
            if lane.out == 1 {
                return repeat(out.at(at, n), n, self.facts.value);
            }
            for column in 1..n as isize {
                copy(first, out.at(at + column * lane.out, 1), self.facts.value);
            }
        }
    }

    /// Reduces segments of at most [`CHUNK`] elements, as many at a time as a block holds. The first is number `first`.
    unsafe fn short_segments(&self, offsets: &[usize], first: usize, place: &Place, out: &Output<Value>) {
        let inner = self.problem.inner();
        let segments = offsets.len() - 1;
        let mut scratch = Scratch::new(self.kernel);
        let mut from = 0;
        while from < segments {
            let start = offsets[from];
            let mut to = from;
            while to < segments && offsets[to + 1] - start <= BLOCK {
                to += 1;
            }
            let at = place.at.step(&inner, start);
            if to == from {
                let len = offsets[from + 1] - start;
                // SAFETY: these elements lie within what the caller vouches for.
                unsafe {
                    self.chunk(at, 0, len, &mut scratch.items, &mut scratch.nodes);
                    self.finish_segment(out, first + from, place.out, len, scratch.nodes.first());
                }
                from += 1;
                continue;
            }
            // SAFETY: the run lies within what the caller vouches for; no other task writes these places.
            unsafe {
                let x = self.run_of(at, &inner, offsets[to] - start, &mut scratch.items);
                let Scratch { nodes, room, .. } = &mut scratch;
                self.segments_of_block(x, &offsets[from..=to], first + from, place, (nodes, room), out);
            }
            from = to;
        }
    }

    /// Reduces segments of a block, which begins at `x`. The first is number `first`.
    ///
    /// # Safety
    /// All elements of the segments are readable from `x` on; no other task writes the places.
    pub(super) unsafe fn segments_of_block(
        &self,
        x: *const Item,
        offsets: &[usize],
        first: usize,
        place: &Place,
        (nodes, room): (&mut Nodes, &mut Room),
        out: &Output<Value>,
    ) {
        let (mut from, to) = (0, offsets.len() - 1);
        while from < to {
            let len = offsets[from + 1] - offsets[from];
            let alike = offsets[from..].windows(2).take_while(|pair| pair[1] - pair[0] == len).count();
            let begin = x.wrapping_byte_add((offsets[from] - offsets[0]) * self.facts.item);
            // SAFETY: the elements of the segments from `from` on begin at `begin`; no other task writes their places.
            unsafe {
                if alike >= ALIKE && (1..=BLOCK / 2).contains(&len) {
                    nodes.write(alike, |to| self.rows_of_block(begin, alike, len, room, to));
                    self.finish_segments(out, first + from, place, len, nodes);
                    from += alike;
                } else {
                    let until = from + unlike(&offsets[from..]);
                    self.some_segments(begin, &offsets[from..=until], first + from, place, out);
                    from = until;
                }
            }
        }
    }

    /// Writes the results of neighbouring segments of one length.
    ///
    /// # Safety
    /// The nodes are of this kernel; no other task writes the places.
    unsafe fn finish_segments(&self, out: &Output<Value>, segment: usize, place: &Place, len: usize, nodes: &Nodes) {
        if self.problem.outputs == 1 {
            // SAFETY: the caller vouches for nodes of this kernel, and that no other task writes the places.
            return unsafe { self.finish(out, segment as isize + place.out, nodes.first(), nodes.len(), len) };
        }
        for i in 0..nodes.len() {
            // SAFETY: the caller vouches for nodes of this kernel, and that no other task writes the places.
            unsafe { self.finish_segment(out, segment + i, place.out, len, nodes.at(i)) };
        }
    }

    /// Reduces segments of any lengths, the first of which begins at `x`.
    ///
    /// # Safety
    /// All elements of the segments are readable from `x` on; no other task writes the places.
    unsafe fn some_segments(
        &self,
        x: *const Item,
        offsets: &[usize],
        segment: usize,
        place: &Place,
        out: &Output<Value>,
    ) {
        let (n, outputs) = (offsets.len() - 1, self.problem.outputs);
        let at = place.out + self.problem.out_offset;
        // The places of the last and of the first segment are in bounds, so all places are.
        out.at(((segment + n - 1) * outputs) as isize + at, 1);
        let to = out.at((segment * outputs) as isize + at, 1);
        // SAFETY: the caller vouches for the elements; all places are in bounds, and no other task writes them.
        unsafe { self.kernel.segments(x, offsets, to, (outputs * self.facts.value) as isize) };
    }

    /// Reduces segments of a strip of columns. The first is number `first`.
    ///
    /// # Safety
    /// Every element of the columns is readable; no other task writes the outputs of these segments and columns.
    pub(super) unsafe fn short_segments_of_rows(
        &self,
        Cuts { offsets, order }: Cuts<'_>,
        first: usize,
        lane: &Dim,
        place: &Place,
        out: &Output<Value>,
    ) {
        let inner = self.problem.inner();
        let (mut items, mut nodes, mut ats) = (Items::new(), Nodes::new(self.facts.node), Vec::with_capacity(PANEL));
        let (mut room, columns) = (Room::new(self.facts.node), Lane::of(*lane));
        for (i, pair) in offsets.windows(2).enumerate() {
            let (start, len) = (pair[0], pair[1] - pair[0]);
            let segment = first + i;
            let at = (segment * self.problem.outputs) as isize + place.out;
            if len == 0 {
                // SAFETY: this task alone writes the outputs of its segments and columns.
                unsafe { self.finish_empty_columns(out, at, lane, place.width) };
                continue;
            }
            let index = |row: usize| order.map_or(row, |order| order[row] as usize);
            if len == 1 {
                let row = place.at.step(&inner, index(start));
                // SAFETY: the caller vouches for the row; this task alone writes the outputs of its segments.
                unsafe { self.some_singles(&columns, row, at, 0, place.width, &mut items, out) };
                self.tell(place.width);
                continue;
            }
            if len <= PANEL {
                ats.clear();
                ats.extend((start..start + len).map(|row| place.at.step(&inner, index(row))));
                // SAFETY: the caller vouches for the segment's rows, and the panel writes `width` nodes.
                unsafe {
                    let rows = self.rows_of(&ats, lane, place.width, &mut items);
                    nodes.write(place.width, |to| self.panel(rows.as_slice(), 0, place.width, &mut room, to));
                }
                self.tell(len * place.width);
            } else {
                // SAFETY: these rows lie within a segment, whose elements the caller vouches for.
                nodes = unsafe { self.rows_from(lane, place, Cuts { offsets, order }, start, 0, len) };
            }
            // SAFETY: nodes of this kernel; this task alone writes the outputs of its segments and columns.
            unsafe { self.finish_apart(out, at, lane.out, nodes.first(), nodes.len(), len) };
        }
    }

    /// The nodes of a strip's columns over `len` rows of a segment that starts at `start`, from its row `from`.
    unsafe fn rows_from(
        &self,
        lane: &Dim,
        place: &Place,
        cuts: Cuts<'_>,
        start: usize,
        from: usize,
        len: usize,
    ) -> Nodes {
        let order = cuts.order.map(|order| &order[start + from..][..len]);
        let strip = Strip {
            axes: &self.problem.reduced,
            order,
            base: if order.is_some() { place.at } else { place.at.step(&self.problem.inner(), start) },
            first_row: from,
            rows: len,
            width: place.width,
        };
        // SAFETY: the strip lies within what the caller vouches for.
        unsafe { self.strip(lane, &strip) }
    }
}

/// The fewest neighbours of one length that are reduced as rows of a matrix.
const ALIKE: usize = 4;

/// The number of segments before the first [`ALIKE`] neighbours of one length, at least one.
fn unlike(offsets: &[usize]) -> usize {
    let mut alike = 1;
    for i in 1..offsets.len() - 1 {
        alike = if offsets[i + 1] - offsets[i] == offsets[i] - offsets[i - 1] { alike + 1 } else { 1 };
        if alike == ALIKE && i >= ALIKE {
            return i + 1 - ALIKE;
        }
    }
    offsets.len() - 1
}
