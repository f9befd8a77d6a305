//! The route that reduces the elements of one output after the other, and many short rows at a time.

use std::sync::atomic::{AtomicUsize, Ordering};

use warpfold_array::problem::{At, Dim, Problem, Walk};

use super::Work;
use super::lane::Lane;
use super::nodes::{Items, Nodes};
use super::panels::Room;
use crate::loops::{Item, Loops, Node, Value};
use crate::moves::{TILE, copy};
use crate::output::Output;
use crate::policy::{ALONE, BLOCK, CHUNK, EARLY, FIRST, LEAST_DECIDED, LONG_BLOCK, MOST_DECIDED, ROWS_ITEMS};
use crate::simd::prefetch;
use crate::transpose::{LINE_BYTES, Rows, take_apart};

/// The workspace of a task.
pub struct Scratch {
    /// A tile of elements.
    pub items: Items,
    /// The nodes of blocks.
    pub nodes: Nodes,
    /// For panels.
    pub room: Room,
}

impl Scratch {
    pub fn new(kernel: &dyn Loops) -> Self {
        let node = kernel.facts().node;
        Self { items: Items::new(), nodes: Nodes::new(node), room: Room::new(node) }
    }
}

impl Work<'_> {
    /// Reduces outputs one after the other. Long ones are cut into chunks.
    pub(super) unsafe fn rows(&self, out: &Output<Value>) {
        let Problem { count, outputs, .. } = *self.problem;
        if count > CHUNK {
            let chunks = count.div_ceil(CHUNK);
            let mut nodes = Nodes::new(self.facts.node);
            // The first chunk of each output whose node is final. Those behind it may be left out.
            let ends: Vec<AtomicUsize> = (0..outputs).map(|_| AtomicUsize::new(usize::MAX)).collect();
            // SAFETY: a chunk writes its node, unless a final one is before it: then it is not read.
            unsafe {
                nodes.write(outputs * chunks, |to| {
                    let to = Output::at_address(to, outputs * chunks, self.facts.node);
                    self.tasks(outputs * chunks, &|task| {
                        let (end, chunk) = (&ends[task / chunks], task % chunks);
                        if end.load(Ordering::Relaxed) < chunk {
                            return;
                        }
                        let base = Walk::new(&self.problem.kept, self.base, task / chunks).at();
                        let from = chunk * CHUNK;
                        let (mut items, mut nodes) = (Items::new(), Nodes::new(self.facts.node));
                        // SAFETY: the caller vouches for the elements; each task writes a node of its own.
                        let is_final = self.chunk(base, from, CHUNK.min(count - from), &mut items, &mut nodes);
                        copy(nodes.first(), to.at(task as isize, 1), self.facts.node);
                        if is_final {
                            end.fetch_min(chunk, Ordering::Relaxed);
                        }
                    });
                });
            }
            let last = (count - (chunks - 1) * CHUNK) as u64;
            let mut walk = Walk::new(&self.problem.kept, self.base, 0);
            for (output, end) in ends.into_iter().enumerate() {
                let first = nodes.first_mut().wrapping_byte_add(output * chunks * self.facts.node);
                // SAFETY: the tasks have written the nodes of all chunks up to a final one; this thread alone writes
                // results.
                unsafe {
                    let root = match end.into_inner() {
                        usize::MAX => {
                            self.kernel.root(first, chunks, CHUNK as u64, last);
                            first
                        }
                        end => first.byte_add(end * self.facts.node),
                    };
                    self.finish(out, walk.out(), root, 1, count);
                }
                walk.advance();
            }
            return;
        }
        let group = (CHUNK / count).clamp(1, outputs.div_ceil(self.threads * 4).max(BLOCK.div_ceil(count)));
        self.tasks(outputs.div_ceil(group), &|task| {
            let (from, to) = (task * group, outputs.min((task + 1) * group));
            // SAFETY: the caller vouches for the elements and the places, and tasks have disjoint outputs.
            unsafe {
                match self.short_rows() {
                    Some(lane) => self.many_rows(&lane, from, to, out),
                    None => self.few_rows(from, to, out),
                }
            }
        });
    }

    /// Writes the results of outputs, if the first few elements of each decide it; returns whether they do. All is done
    /// on this thread, and given up where it would take long.
    ///
    /// # Safety
    /// As of [`Work::outputs`].
    pub unsafe fn decided(&self, out: &Output<Value>) -> bool {
        let Problem { count, outputs, .. } = *self.problem;
        let few = (1..=MOST_DECIDED).contains(&outputs) && count >= LEAST_DECIDED;
        if !few || !self.facts.ends || !self.reads_in_place() {
            return false;
        }
        let one = Dim { len: 1, x: 0, mask: 0, out: 0 };
        let (nearest, others) = self.problem.kept.split_last().unwrap_or((&one, &[]));
        if !self.problem.kept.iter().all(|dim| dim.x.unsigned_abs().is_multiple_of(self.facts.align)) {
            return false;
        }
        let (mut walk, n) = (Walk::new(others, self.base, 0), nearest.len);
        let mut nodes = Nodes::new(self.facts.node);
        (0..outputs / n).all(|_| {
            let (x, mut are_final) = (walk.at().x.cast(), false);
            // SAFETY: an output has more elements than these, which are in place and aligned, and the caller vouches
            // for all, and for the places. Nodes that are not all written are let go.
            unsafe {
                nodes.write(n, |to| are_final = self.kernel.ends(x, nearest.x, FIRST, n, to));
                if are_final {
                    self.finish_apart(out, walk.out(), nearest.out, nodes.first(), n, count);
                } else {
                    nodes.clear();
                }
            }
            walk.advance();
            are_final
        })
    }

    /// The kept axes along which rows follow one another, if rows are short enough to take many at once. 128 MiB, two
    /// threads of a busy EPYC with AVX-512, CPU time of each, ms of rows with gaps one by one, and copied: var of bf16
    /// (441505, 137), 152 apart, 42.9, 11.1; sum of f32 (400000, 70), 77 apart, 17.4, 6.7; max of f32 (800000, 32), 40
    /// apart, 19.3, 7.0. Longer ones are read in place: min of i32 (50080, 634), 670 apart, one output after the other
    /// 5.2, and a batch of them 3.7.
    fn short_rows(&self) -> Option<Lane> {
        let (nearest, others) = self.problem.kept.split_last()?;
        let mut lane = Lane::of(*nearest);
        for dim in others.iter().rev() {
            if !lane.goes_on(dim) {
                break;
            }
            lane.append(*dim);
        }
        let (len, dim) = (self.problem.count, &lane.dim);
        let is_one = self.problem.reduced.len() <= 1;
        let is_adjacent = self.are_adjacent(dim) && len <= BLOCK / 2;
        let is_copied = dim.len >= TILE && (self.are_together(len) || len < ALONE && !self.load.direct());
        (is_one && (is_adjacent || is_copied || self.have_gaps(dim) && len <= BLOCK)).then_some(lane)
    }

    /// Whether many rows of this length are reduced together. If they have gaps, they are copied side by side.
    fn are_together(&self, len: usize) -> bool {
        self.kernel.apart(len) || len.is_power_of_two() && len < ALONE
    }

    /// Whether rows along a kept axis lie in place, with gaps between them, and are reduced one by one.
    fn have_gaps(&self, rows: &Dim) -> bool {
        let is_aligned = |dim: &Dim| dim.x.unsigned_abs().is_multiple_of(self.facts.align);
        let in_place = self.reads_in_place() && self.problem.kept.iter().all(is_aligned);
        in_place && !self.are_adjacent(rows) && !self.are_together(self.problem.count)
    }

    /// Whether rows along a kept axis follow one another without a gap.
    fn are_adjacent(&self, rows: &Dim) -> bool {
        let (inner, len) = (self.problem.inner(), self.problem.count as isize);
        let has_masks = rows.mask != 0 || inner.mask != 0;
        inner.x > 0 && rows.x == inner.x * len && (rows.mask == inner.mask * len || !has_masks)
    }

    /// The address of `n` rows without gaps, the first at `at`: in place, or copied.
    ///
    /// # Safety
    /// The rows are readable, `rows` apart.
    unsafe fn side_by_side(&self, at: At, rows: &Dim, n: usize, items: &mut Items) -> *const Item {
        let (inner, len, size) = (self.problem.inner(), self.problem.count, self.facts.item);
        // SAFETY: the caller vouches for the rows, for which there is room.
        unsafe {
            if self.are_adjacent(rows) {
                return self.run_of(at, &Dim { len: n * len, ..inner }, n * len, items);
            }
            let room = items.room(n * len * size);
            self.bring_lines(at, rows, n, &inner, len, room);
            room
        }
    }

    /// Outputs `from..to`, row by row.
    unsafe fn few_rows(&self, from: usize, to: usize, out: &Output<Value>) {
        let (mut items, mut nodes) = (Items::new(), Nodes::new(self.facts.node));
        let mut walk = Walk::new(&self.problem.kept, self.base, from);
        let (mut ends, count) = (false, self.problem.count);
        let step = self.problem.kept.last().map_or(0, |lane| lane.x);
        for _ in from..to {
            let x = walk.at().x.cast::<Item>();
            let is_run = self.reads_in_place() && x.addr().is_multiple_of(self.facts.align);
            // SAFETY: these elements lie within what the caller vouches for, in place if it is a run.
            unsafe {
                if ends && is_run {
                    nodes.clear();
                    nodes.write(1, |to| ends = self.ends_early(x, step, count, to));
                } else {
                    ends = false;
                }
                if !ends {
                    ends = self.chunk(walk.at(), 0, count, &mut items, &mut nodes);
                }
                self.finish(out, walk.out(), nodes.first(), 1, count);
            }
            walk.advance();
        }
    }

    /// Looks among the first elements of a row for one that decides it, and writes its node if there is one. Where a
    /// row has ended early, the next one is likely to. Rows are `step` bytes apart.
    ///
    /// # Safety
    /// `len` elements are readable at `x`, aligned, and `to` has room for a node.
    unsafe fn ends_early(&self, x: *const Item, step: isize, len: usize, to: *mut Node) -> bool {
        prefetch(x.wrapping_byte_offset(EARLY as isize * step).cast::<u8>(), 2 * LINE_BYTES);
        // SAFETY: the caller vouches for the elements and for the room.
        unsafe { self.kernel.ends(x, 0, FIRST.min(len), 1, to) }
    }

    /// Outputs `from..to`, a block of rows at a time.
    unsafe fn many_rows(&self, lane: &Lane, from: usize, to: usize, out: &Output<Value>) {
        let mut scratch = Scratch::new(self.kernel);
        let (len, rows) = (self.problem.count, lane.dim.len);
        // Columns are reduced a tile at a time, and an odd number of tiles is no large power of two of bytes wide.
        let most = match self.kernel.apart(len) {
            true => ((ROWS_ITEMS / len / TILE).saturating_sub(1) | 1) * TILE,
            false => BLOCK / len,
        };
        let has_gaps = self.have_gaps(&lane.dim);
        let mut row = from;
        while row < to {
            let at = row % rows;
            let (walk, first) = (Walk::new(&self.problem.kept, self.base, row), row - at);
            let batch = most.min(to - row).min(rows - at);
            // SAFETY: `batch` rows lie along the lane, within what the caller vouches for; no other task writes these
            // outputs.
            unsafe {
                if has_gaps {
                    let (x, step) = (walk.at().x.cast(), lane.dim.x);
                    scratch.nodes.write(batch, |to| self.one_by_one(x, step, batch, len, &mut scratch.room, to));
                } else {
                    let x = self.side_by_side(walk.at(), &lane.dim, batch, &mut scratch.items);
                    scratch.nodes.write(batch, |to| self.rows_of_block(x, batch, len, &mut scratch.room, to));
                }
                let (place, nodes) = (Walk::new(&self.problem.kept, self.base, first).out(), scratch.nodes.first());
                self.finish_along(out, place, lane, at, nodes, batch, len);
            }
            row += batch;
        }
    }

    /// The trees over `n` rows of `len` elements: at most a block, or a tile of rows that are transposed.
    ///
    /// # Safety
    /// `n * len` elements are readable at `x`, and `to` has room for `n` nodes.
    pub(super) unsafe fn rows_of_block(&self, x: *const Item, n: usize, len: usize, room: &mut Room, to: *mut Node) {
        // SAFETY: the caller vouches for the elements and for room for the nodes; the transposed rows have room for as
        // many elements, all of which `take_apart` writes.
        unsafe {
            if !self.kernel.apart(len) {
                return match len {
                    ALONE.. => self.one_by_one(x, (len * self.facts.item) as isize, n, len, room, to),
                    _ => self.kernel.rows(x, n * len, len, to),
                };
            }
            let size = self.facts.item;
            let mut apart = std::mem::replace(&mut room.apart, Items::new());
            let columns = apart.room(n * len * size);
            let rows = Rows::dense(n, len, size, self.load.whole());
            take_apart(x, rows, columns, n);
            self.matrix(columns, len, n, room, to);
            room.apart = apart;
        }
    }

    /// The trees over `n` rows of `len` elements, at most a block, each row by itself. Rows are `step` bytes apart.
    ///
    /// # Safety
    /// `len` elements of each row are readable from `x` on, and `to` has room for `n` nodes.
    unsafe fn one_by_one(&self, x: *const Item, step: isize, n: usize, len: usize, room: &mut Room, to: *mut Node) {
        for i in 0..n {
            // SAFETY: the caller vouches for the elements and for room for the nodes.
            unsafe {
                let (x, to) = (x.wrapping_byte_offset(i as isize * step), to.byte_add(i * self.facts.node));
                if room.ends && self.ends_early(x, step, len, to) {
                    continue;
                }
                self.kernel.block(std::ptr::null(), x, len, 0, to);
                room.ends = self.facts.ends && self.kernel.is_final(to);
            }
        }
    }

    /// The tree over `len` elements of one output, from the index `from` (a multiple of `CHUNK`): the first of `nodes`.
    /// Returns whether the node is final.
    pub(super) unsafe fn chunk(&self, base: At, from: usize, len: usize, items: &mut Items, nodes: &mut Nodes) -> bool {
        nodes.clear();
        nodes.reserve(len.div_ceil(BLOCK));
        let long = if self.facts.long && self.reads_in_place() { LONG_BLOCK } else { BLOCK };
        let (mut start, end) = (from, from + len);
        while start < end {
            // Blocks without a tree may have any length. A final node costs no more than what is read before it.
            let n = (start - from).clamp(BLOCK, long).min(end - start);
            // SAFETY: these elements lie within those of the output, which the caller vouches for; `block` writes the
            // node.
            unsafe {
                let x = self.sequence(base, start, n, items);
                nodes.push_after(|left, to| self.kernel.block(left, x, n, start as u64, to));
                if self.facts.ends && self.kernel.is_final(nodes.last()) {
                    if nodes.len() > 1 {
                        copy(nodes.last(), nodes.first_mut(), self.facts.node);
                    }
                    return true;
                }
            }
            start += n;
        }
        let last = (len - 1) % BLOCK + 1;
        // SAFETY: the loop above has written a node of this kernel for each block.
        unsafe { self.kernel.root(nodes.first_mut(), nodes.len(), BLOCK as u64, last as u64) };
        false
    }

    /// Whether the elements of an output are one run in memory, as the kernel reads them.
    fn reads_in_place(&self) -> bool {
        let dense = self.problem.reduced.len() == 1 && self.problem.inner().x == self.facts.item as isize;
        dense && self.load.direct() && self.base.x.addr().is_multiple_of(self.facts.align)
    }
}
