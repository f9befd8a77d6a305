//! Consecutive parts of one axis, each reduced by itself: a few long ones, a million tiny ones, or both.
//!
//! Parts that are longer than a task are cut along subtrees; shorter ones share a task. Neighbours of one length are reduced as
//! rows of a matrix.

use std::ops::Range;

use rayon::prelude::*;
use warpfold_core::Reducer;

use super::columns::Strip;
use super::engine::{Job, Out, Output, Scratch, large_pages, run_tasks};
use super::kernel::{Acc, Item, Kernel};
use super::load::Load;
use super::policy::{BLOCK, CHUNK, ONE_THREAD, PANEL, STRIP_BYTES};
use super::tree::combine_nodes;
use warpfold_array::problem::{At, Dim, Problem, Walk};

/// What a segment costs beside its elements, in elements.
const OVERHEAD: usize = 16;

/// Segments that one thread looks through at a time before any is reduced.
const STRETCH: usize = 1 << 16;

/// What `of` says of each stretch of segments.
fn stretches<T: Send>(segments: usize, threads: usize, of: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
    if threads == 1 || segments <= STRETCH {
        return vec![of(0..segments)];
    }
    let stretch = |i: usize| of(i * STRETCH..segments.min((i + 1) * STRETCH));
    (0..segments.div_ceil(STRETCH)).into_par_iter().map(stretch).collect()
}

/// Whether offsets do not decrease, and whether a segment is empty. Not generic, so that its threads are compiled once.
fn look_through(offsets: &[usize], threads: usize) -> (bool, bool) {
    let looks = stretches(offsets.len() - 1, threads, |segments| {
        let pairs = offsets[segments.start..segments.end].iter().zip(&offsets[segments.start + 1..]);
        pairs.fold((true, false), |(sorted, empty), (a, b)| (sorted & (a <= b), empty | (a == b)))
    });
    looks.into_iter().fold((true, false), |a, b| (a.0 & b.0, a.1 | b.1))
}

/// A part of a segment that is cut over several tasks.
struct Part {
    segment: usize,
    from: usize,
}

/// Who does what.
struct Tasks {
    /// Neighbouring segments that one task reduces, as ranges. Those that are cut lie between them.
    shared: Vec<(usize, usize)>,
    /// The parts of segments that are cut, in order.
    parts: Vec<Part>,
    /// Rows of a part.
    piece: usize,
}

impl Tasks {
    /// Segments of more than `piece` rows (a power of two) are cut; others share tasks of about as much.
    fn new(offsets: &[usize], piece: usize, threads: usize) -> Self {
        let mut stretches = stretches(offsets.len() - 1, threads, |segments| Self::of(offsets, segments, piece));
        let mut all = Self { shared: Vec::new(), parts: Vec::new(), piece };
        for stretch in &mut stretches {
            all.shared.append(&mut stretch.shared);
            all.parts.append(&mut stretch.parts);
        }
        all
    }

    /// Those of some segments.
    fn of(offsets: &[usize], segments: Range<usize>, piece: usize) -> Self {
        let mut tasks = Self { shared: Vec::new(), parts: Vec::new(), piece };
        let (mut first, mut load) = (segments.start, 0);
        for segment in segments.clone() {
            let len = offsets[segment + 1] - offsets[segment];
            let long = len > piece;
            if long || load + len + OVERHEAD > piece {
                if first < segment {
                    tasks.shared.push((first, segment));
                }
                (first, load) = (segment, 0);
            }
            if long {
                tasks.parts.extend((0..len).step_by(piece).map(|from| Part { segment, from }));
                first = segment + 1;
            } else {
                load += len + OVERHEAD;
            }
        }
        if first < segments.end {
            tasks.shared.push((first, segments.end));
        }
        tasks
    }
}

/// The columns of one line or strip: where they start in memory and in the output.
#[derive(Clone, Copy)]
struct Place {
    at: At,
    out: isize,
    width: usize,
}

impl<K: Kernel, L: Load<Item<K>>> Job<'_, K, L>
where
    Out<K>: Send,
{
    /// The result of each segment `offsets[i]..offsets[i + 1]` of the reduced axis, for each kept index: in C order of
    /// \[segment\]\[kept axes\]. `None` if a segment is empty and the reducer has no identity.
    ///
    /// # Safety
    /// Every element that the problem reaches from `base` is readable. Its only reduced axis is the one that is cut.
    ///
    /// # Panics
    /// If the offsets decrease, or go beyond the axis.
    pub unsafe fn segments(&self, offsets: &[usize]) -> Option<Vec<Out<K>>> {
        let Problem { count, outputs, .. } = *self.problem;
        let (sorted, empty) = look_through(offsets, self.threads);
        assert!(sorted && offsets.last().is_some_and(|&end| end <= count), "checked offsets");
        let total = (offsets.len() - 1) * outputs;
        if empty && self.kernel.reducer().finish_empty().is_none() {
            return None;
        }
        let mut values: Vec<Out<K>> = Vec::with_capacity(total);
        large_pages(values.spare_capacity_mut());
        if total > 0 {
            let out = Output::new(&mut values.spare_capacity_mut()[..total]);
            // SAFETY: the caller's.
            unsafe {
                match self.problem.kept.split_last() {
                    Some((lane, others)) if self.problem.inner().x.unsigned_abs() > lane.x.unsigned_abs() => {
                        self.segments_of_rows(offsets, lane, others, &out);
                    }
                    _ => self.segments_of_lines(offsets, &out),
                }
            }
        }
        // SAFETY: every output of every segment is written.
        unsafe { values.set_len(total) };
        Some(values)
    }

    /// Runs tasks; they tell themselves what they have read.
    pub(super) fn quiet_tasks(&self, n: usize, task: &(dyn Fn(usize) + Sync)) {
        let work = self.problem.count.saturating_mul(self.problem.outputs);
        run_tasks(n, if work < ONE_THREAD { 1 } else { self.threads }, 0, self.progress, task);
    }

    /// Each kept index by itself: the cut axis is the fastest in memory, or the only one.
    unsafe fn segments_of_lines(&self, offsets: &[usize], out: &Output<Out<K>>) {
        let tasks = Tasks::new(offsets, CHUNK, self.threads);
        let place = |line: usize| {
            let walk = Walk::new(&self.problem.kept, self.base, line);
            Place { at: walk.at(), out: walk.out(), width: 1 }
        };
        let lines = self.problem.outputs;
        self.quiet_tasks(tasks.shared.len() * lines, &|task| {
            let (from, to) = tasks.shared[task % tasks.shared.len()];
            let place = place(task / tasks.shared.len());
            // SAFETY: the caller's; tasks have outputs of their own.
            unsafe { self.short_segments(&offsets[from..=to], from, &place, out) };
            self.tell(offsets[to] - offsets[from]);
        });
        let parts = &tasks.parts;
        let nodes = self.kept_results(parts.len() * lines, |task| {
            let Part { segment, from } = parts[task % parts.len()];
            let (start, end) = (offsets[segment], offsets[segment + 1]);
            let at = place(task / parts.len()).at.step(&self.problem.inner(), start);
            let len = CHUNK.min(end - start - from);
            // SAFETY: the caller's.
            let node = unsafe { self.chunk(at, from, len, &mut Scratch::new()) };
            self.tell(len);
            vec![node]
        });
        // SAFETY: the caller's; these outputs are no other task's.
        unsafe { self.join_parts(offsets, &tasks, &nodes, &place, None, out) };
    }

    /// Several columns at a time.
    unsafe fn segments_of_rows(&self, offsets: &[usize], lane: &Dim, others: &[Dim], out: &Output<Out<K>>) {
        let width = (STRIP_BYTES / self.problem.size).min(lane.len);
        let strips = lane.len.div_ceil(width);
        let piece = (CHUNK / width).next_power_of_two().max(8 * PANEL);
        let tasks = Tasks::new(offsets, piece, self.threads);
        let place = |strip: usize| {
            let (walk, column) = (Walk::new(others, self.base, strip / strips), strip % strips * width);
            let out = walk.out() + column as isize * lane.out;
            Place { at: walk.at().step(lane, column), out, width: width.min(lane.len - column) }
        };
        let places = self.problem.outputs / lane.len * strips;
        self.quiet_tasks(tasks.shared.len() * places, &|task| {
            let (from, to) = tasks.shared[task % tasks.shared.len()];
            let place = place(task / tasks.shared.len());
            // SAFETY: the caller's; tasks have outputs of their own.
            unsafe { self.short_segments_of_rows(&offsets[from..=to], from, lane, &place, out) };
        });
        let parts = &tasks.parts;
        let nodes = self.kept_results(parts.len() * places, |task| {
            let Part { segment, from } = parts[task % parts.len()];
            let len = piece.min(offsets[segment + 1] - offsets[segment] - from);
            // SAFETY: the caller's.
            unsafe { self.rows_from(lane, &place(task / parts.len()), offsets[segment], from, len) }
        });
        // SAFETY: the caller's; these outputs are no other task's.
        unsafe { self.join_parts(offsets, &tasks, &nodes, &place, Some(lane), out) };
    }

    /// As [`Job::results`], of tasks that tell themselves what they have read.
    pub(super) fn kept_results<T: Send>(&self, n: usize, task: impl Fn(usize) -> T + Sync) -> Vec<T> {
        let mut results: Vec<T> = Vec::with_capacity(n);
        let slots = Output::new(&mut results.spare_capacity_mut()[..n]);
        // SAFETY: each task writes its own slot; if one panics, the results are forgotten, not dropped.
        self.quiet_tasks(n, &|i| unsafe { slots.write(i as isize, task(i)) });
        // SAFETY: every slot is written.
        unsafe { results.set_len(n) };
        results
    }

    /// The roots of segments that were cut, from the nodes of their parts.
    unsafe fn join_parts(
        &self,
        offsets: &[usize],
        tasks: &Tasks,
        nodes: &[Vec<Acc<K>>],
        place: &dyn Fn(usize) -> Place,
        lane: Option<&Dim>,
        out: &Output<Out<K>>,
    ) {
        let parts = tasks.parts.len();
        if parts == 0 {
            return;
        }
        let mut list = Vec::new();
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
                    list.extend(of_segment.iter().map(|columns| columns[column]));
                    let root = combine_nodes(self.kernel.reducer(), &mut list, tasks.piece as u64, last as u64);
                    let at = place.out + lane.map_or(0, |lane| column as isize * lane.out);
                    // SAFETY: the caller's.
                    unsafe { self.finish_segment(out, segment, at, len, root.expect("at least one part")) };
                }
                first += of_segment.len();
            }
        }
    }

    /// # Safety
    /// Nobody else writes the place.
    unsafe fn finish_segment(&self, out: &Output<Out<K>>, segment: usize, at: isize, len: usize, acc: Acc<K>) {
        let value = self.kernel.reducer().finish(acc, len as u64);
        // SAFETY: the caller's.
        unsafe { out.write((segment * self.problem.outputs) as isize + at + self.problem.out_offset, value) };
    }

    /// # Safety
    /// Nobody else writes the place.
    unsafe fn finish_empty_segment(&self, out: &Output<Out<K>>, segment: usize, at: isize) {
        let value = self.kernel.reducer().finish_empty().expect("the caller has looked");
        // SAFETY: the caller's.
        unsafe { out.write((segment * self.problem.outputs) as isize + at + self.problem.out_offset, value) };
    }

    /// Segments of at most [`CHUNK`] elements, the first of which is number `first`, as many at a time as a block holds.
    unsafe fn short_segments(&self, offsets: &[usize], first: usize, place: &Place, out: &Output<Out<K>>) {
        let inner = self.problem.inner();
        let segments = offsets.len() - 1;
        let mut scratch = Scratch::<K>::new();
        let mut nodes = Vec::new();
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
                // SAFETY: the caller's.
                unsafe {
                    let acc = self.chunk(at, 0, len, &mut scratch);
                    self.finish_segment(out, first + from, place.out, len, acc);
                }
                from += 1;
                continue;
            }
            // SAFETY: the caller's.
            let x = unsafe { self.run_of(at, &inner, offsets[to] - start, &mut scratch.items) };
            while from < to {
                let (begin, len) = (offsets[from] - start, offsets[from + 1] - offsets[from]);
                if len == 0 {
                    // SAFETY: the caller's.
                    unsafe { self.finish_empty_segment(out, first + from, place.out) };
                    from += 1;
                    continue;
                }
                let alike = offsets[from..=to].windows(2).take_while(|pair| pair[1] - pair[0] == len).count();
                nodes.clear();
                if alike > 1 && len <= BLOCK / 2 {
                    self.kernel.rows(&x[begin..begin + alike * len], len, &mut nodes);
                } else {
                    nodes.push(short(self.kernel, &x[begin..begin + len], 0));
                }
                if self.problem.outputs == 1 {
                    // SAFETY: the caller's.
                    let places = unsafe { out.range((first + from) as isize, nodes.len()) };
                    self.kernel.finish(&nodes, len as u64, places);
                    from += nodes.len();
                    continue;
                }
                for &acc in &nodes {
                    // SAFETY: the caller's.
                    unsafe { self.finish_segment(out, first + from, place.out, len, acc) };
                    from += 1;
                }
            }
        }
    }

    /// The same of rows.
    unsafe fn short_segments_of_rows(
        &self,
        offsets: &[usize],
        first: usize,
        lane: &Dim,
        place: &Place,
        out: &Output<Out<K>>,
    ) {
        let inner = self.problem.inner();
        let (mut items, mut nodes, mut ats) = (Vec::new(), Vec::with_capacity(place.width), Vec::with_capacity(PANEL));
        for (i, pair) in offsets.windows(2).enumerate() {
            let (start, len) = (pair[0], pair[1] - pair[0]);
            let segment = first + i;
            if len == 0 {
                for column in 0..place.width as isize {
                    // SAFETY: the caller's.
                    unsafe { self.finish_empty_segment(out, segment, place.out + column * lane.out) };
                }
                continue;
            }
            if len <= PANEL {
                ats.clear();
                ats.extend((start..start + len).map(|row| place.at.step(&inner, row)));
                nodes.clear();
                // SAFETY: the caller's; the panel writes `width` nodes.
                unsafe {
                    let rows = self.rows_of(&ats, lane, place.width, &mut items);
                    self.kernel.panel(rows.as_slice(), 0, &mut nodes.spare_capacity_mut()[..place.width]);
                    nodes.set_len(place.width);
                }
                self.tell(len * place.width);
            } else {
                // SAFETY: the caller's.
                nodes = unsafe { self.rows_from(lane, place, start, 0, len) };
            }
            for (column, &acc) in nodes.iter().enumerate() {
                // SAFETY: the caller's.
                unsafe { self.finish_segment(out, segment, place.out + column as isize * lane.out, len, acc) };
            }
        }
    }

    /// The nodes of a strip's columns over `len` rows of a segment that starts at `start`, from its row `from`.
    unsafe fn rows_from(&self, lane: &Dim, place: &Place, start: usize, from: usize, len: usize) -> Vec<Acc<K>> {
        let strip = Strip {
            axes: &self.problem.reduced,
            base: place.at.step(&self.problem.inner(), start),
            first_row: from,
            rows: len,
            width: place.width,
        };
        // SAFETY: the caller's.
        unsafe { self.strip(lane, &strip) }
    }
}

/// The tree over at most [`BLOCK`] elements, the first of which has the index `at`.
pub(super) fn short<K: Kernel>(kernel: &K, x: &[Item<K>], at: u64) -> Acc<K> {
    match x.len() {
        // So few that it costs more to begin a block than to do without.
        ..=PANEL => few(kernel.reducer(), x, at),
        _ => kernel.block(x, at),
    }
}

/// The tree over a few elements, the first of which has the index `at`.
#[inline]
fn few<R: Reducer>(reducer: &R, x: &[R::Item], at: u64) -> R::Acc {
    let pair = |i: usize| reducer.lift_pair(x[i], x[i + 1], at + i as u64);
    match x.len() {
        1 => reducer.lift(x[0], at),
        2 => pair(0),
        3 => reducer.combine_counted(pair(0), 2, reducer.lift(x[2], at + 2), 1),
        4 => reducer.combine_counted(pair(0), 2, pair(2), 2),
        len => reducer.combine_counted(few(reducer, &x[..4], at), 4, few(reducer, &x[4..], at + 4), len as u64 - 4),
    }
}
