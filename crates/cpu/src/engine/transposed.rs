//! The route for reductions whose fastest axis in memory is an outer reduced one: say, the sum of a transposed matrix.
//!
//! Index order and memory order differ. A lane is an index of the fastest axis in memory. If a large power of two
//! divides the length of a lane, lanes are cut into subtrees of that length, and reduced as columns are; so are the
//! lanes of each of many outputs, if each is such a subtree. Otherwise
//! lanes start at any index: then tiles of some lanes are transposed into index order. If a tile has lanes whole, they
//! follow one another, and are one [`Span`]; else each lane of the tile is. If the innermost axis has short runs
//! between the lanes, each run is transposed as one element.
//!
//! Places need no tree. Axes that follow one another in memory are one lane then, whatever their order in the index.

use warpfold_array::problem::{At, Dim, Walk};

use super::Work;
use super::columns::rows_per_task;
use super::lane::Lane;
use super::nodes::{Items, Nodes};
use super::span::Span;
use super::stored::{Sequences, Stored};
use super::strip::Strip;
use super::units::{Tile, Units};
use crate::loops::{Facts, Item, Value};
use crate::moves::TILE;
use crate::output::Output;
use crate::policy::{
    BLOCK, CHUNK, FEW_LINES, LEAST_DEPTH, LEAST_LANES, LINES, MOST_DEPTH, MOST_LANES, MOST_NODES, PANEL, SHORT_RUN,
    STRIP_BYTES, TILE_ITEMS, TILE_PARTS, TILE_UNITS,
};
use crate::transpose::{Rows, take_apart};

/// Elements between the parts of lanes in a tile, so that they do not compete for one cache set.
const PAD: usize = 16;

impl Work<'_> {
    /// Reduces lanes as columns, or by spans.
    pub(super) unsafe fn transposed(&self, lane: usize, out: &Output<Value>) {
        let (outer, rest) = self.problem.reduced.split_at(lane);
        let (lane, inner) = (rest[0], &rest[1..]);
        let depth: usize = inner.iter().map(|d| d.len).product();
        let outer_len: usize = outer.iter().map(|d| d.len).product();
        let unit = MOST_DEPTH.min(1 << depth.trailing_zeros());
        let is_near = lane.x.unsigned_abs() == self.problem.size;
        let is_deep = unit >= LEAST_DEPTH || unit == depth && depth >= PANEL;
        let many = is_near && lane.len >= TILE && is_deep && self.problem.count / unit <= MOST_NODES;
        if !self.facts.indexed && many {
            // SAFETY: the caller vouches for the elements and the places.
            return unsafe { self.lanes_as_columns(outer, lane, inner, unit, out) };
        }
        let is_few = self.problem.count <= CHUNK && self.problem.outputs >= 8 * self.threads && outer.is_empty();
        if !self.facts.indexed && is_near && is_few && lane.len >= TILE && unit == depth && depth >= PANEL {
            // SAFETY: as above.
            return unsafe { self.lanes_of_outputs(lane, inner, out) };
        }
        if self.facts.indexed && self.facts.runs {
            let (wide, others) = Lane::of_reduced(self.problem);
            if wide.dim.len >= TILE {
                // SAFETY: as above.
                return unsafe { self.lanes_with_places(&wide, &others, out) };
            }
        }
        let units = Units::of(self, &lane, inner);
        // What is transposed: elements, or the nodes of units.
        let run = self.run_in(&lane, inner);
        let (unit, bytes) = units.map_or((run, self.facts.item.max(1)), |units| (units.len, self.facts.node));
        let bytes = if units.is_some() { bytes } else { bytes * run };
        let items = |most: usize| most / bytes * unit;
        let few = (if units.is_some() { LEAST_LANES / 2 } else { LEAST_LANES } / lane.x.unsigned_abs().max(1)).max(1);
        let is_whole = few.saturating_mul(depth) <= items(if units.is_some() { TILE_UNITS } else { TILE_ITEMS });
        let whole = if is_whole { (items(TILE_ITEMS) / depth).max(few) } else { 0 };
        let most = items(if is_whole { usize::MAX / 64 } else { TILE_PARTS });
        // Tiles of about as many lanes each: of a few lanes only a part of a cache line would be read.
        let groups = if is_whole { lane.len.div_ceil(whole) } else { (lane.len / few).max(1) };
        let width = lane.len.div_ceil(groups);
        let slice = depth.min((most / width).next_multiple_of(unit));
        let (groups, slices) = (lane.len.div_ceil(width), depth.div_ceil(slice));
        let per_output = outer_len * groups * slices;
        let spans = self.quiet_results(self.problem.outputs * per_output, |task| {
            let base = Walk::new(&self.problem.kept, self.base, task / per_output).at();
            let at = task % per_output;
            let (o, group, s) = (at / slices / groups, at / slices % groups, at % slices);
            let tile = Tile {
                base: Walk::new(outer, base, o).at().step(&lane, group * width),
                lane,
                inner,
                lanes: width.min(lane.len - group * width),
                first: (o * lane.len + group * width) * depth,
                depth,
                from: s * slice,
                to: depth.min((s + 1) * slice),
            };
            // SAFETY: the tile's lanes and their part lie within the elements that the caller vouches for. Lanes and
            // slices are whole units.
            unsafe {
                match &units {
                    Some(units) if tile.lanes >= TILE => self.lanes_in_units(&tile, units),
                    _ => self.lanes(&tile),
                }
            }
        });
        let mut walk = Walk::new(&self.problem.kept, self.base, 0);
        let mut root = Nodes::new(self.facts.node);
        for spans in spans.chunks(per_output) {
            let mut whole = Span::new(self.kernel, 0);
            for slices in spans.chunks(slices) {
                for i in 0..slices[0].len() {
                    for slice in slices {
                        whole.join(self.kernel, &slice[i]).expect("parts of a lane, and lanes, follow one another");
                    }
                }
            }
            // SAFETY: there are elements, so `root` writes a node; this thread alone writes results.
            unsafe {
                root.write(1, |to| {
                    whole.root(self.kernel, std::ptr::null(), 0, to);
                });
                self.finish(out, walk.out(), root.first(), 1, self.problem.count);
            }
            walk.advance();
        }
    }

    /// Strips of lanes, `unit` elements of each at a time.
    unsafe fn lanes_as_columns(&self, outer: &[Dim], lane: Dim, inner: &[Dim], unit: usize, out: &Output<Value>) {
        let product = |dims: &[Dim]| dims.iter().map(|d| d.len).product::<usize>();
        let (outer_len, units) = (product(outer), product(inner) / unit);
        let width = (STRIP_BYTES / self.problem.size).min(lane.len);
        let strips = lane.len.div_ceil(width);
        // The lanes of a strip that are one subtree.
        let is_subtree = width.is_power_of_two() && (outer_len == 1 || lane.len.is_multiple_of(width));
        let each = if units == 1 && is_subtree { width } else { 1 };
        let per_output = outer_len * strips * units;
        let nodes = self.quiet_results(self.problem.outputs * per_output, |task| {
            let base = Walk::new(&self.problem.kept, self.base, task / per_output).at();
            let at = task % per_output;
            let (o, first, u) = (at / units / strips, at / units % strips * width, at % units);
            let strip = Strip {
                axes: inner,
                order: None,
                base: Walk::new(outer, base, o).at().step(&lane, first),
                first_row: u * unit,
                rows: unit,
                width: width.min(lane.len - first),
            };
            // SAFETY: the strip lies within what the caller vouches for. Its nodes are of this kernel, and written.
            unsafe {
                let mut nodes = self.strip(&lane, &strip);
                if each > 1 {
                    // Whole lanes, which follow one another.
                    let n = nodes.len();
                    self.kernel.root(nodes.first_mut(), n, unit as u64, unit as u64);
                    nodes.shorten(n - 1);
                }
                nodes
            }
        });
        let mut walk = Walk::new(&self.problem.kept, self.base, 0);
        let mut list = Nodes::with_capacity(self.facts.node, self.problem.count / unit / each);
        for nodes in nodes.chunks(per_output) {
            list.clear();
            for units in nodes.chunks(units) {
                for lane in 0..units[0].len() {
                    // SAFETY: every task has written a node of this kernel for each of its lanes, or for all of them.
                    units.iter().for_each(|nodes| unsafe { list.push(nodes.at(lane)) });
                }
            }
            // SAFETY: the list has a node for each unit of each lane; this thread alone writes results.
            unsafe {
                let (n, weight) = (list.len(), unit * each);
                self.kernel.root(list.first_mut(), n, weight as u64, (self.problem.count - (n - 1) * weight) as u64);
                self.finish(out, walk.out(), list.first(), 1, self.problem.count);
            }
            walk.advance();
        }
    }

    /// Strips of a lane, of a kernel without a tree whose nodes have places: in a column of the lane, a place is that
    /// among the other axes. They are moved to where they are among all elements.
    unsafe fn lanes_with_places(&self, lane: &Lane, others: &[Dim], out: &Output<Value>) {
        let depth = others.iter().map(|dim| dim.len).product::<usize>();
        let width = (STRIP_BYTES / self.problem.size).min(lane.dim.len);
        let strips = lane.dim.len.div_ceil(width);
        let tasks = self.problem.outputs * strips;
        let rows = rows_per_task(depth, tasks, self.threads, 8 * PANEL).min(depth);
        let parts = depth.div_ceil(rows);
        // The place of a row's first element.
        let of_row = |row: u64| {
            let (mut place, mut rest) = (0, row);
            for dim in others.iter().rev() {
                place += rest % dim.len as u64 * dim.out as u64;
                rest /= dim.len as u64;
            }
            place
        };
        // The node of a strip's lanes, whose nodes are given.
        let node_of = |strip: usize, mut nodes: Nodes| {
            let mut places = vec![0; nodes.len()];
            lane.places(strip % strips * width, &mut places);
            let n = nodes.len();
            // SAFETY: the nodes are of this kernel, and written.
            unsafe {
                self.kernel.move_places(nodes.first_mut(), n, &|i, row| places[i] as u64 + of_row(row));
                self.kernel.root(nodes.first_mut(), n, 1, 1);
            }
            nodes.shorten(n - 1);
            nodes
        };
        let nodes = self.quiet_results(tasks * parts, |task| {
            let (at, part) = (task / parts, task % parts);
            let base = Walk::new(&self.problem.kept, self.base, at / strips).at();
            let first = at % strips * width;
            let strip = Strip {
                axes: others,
                order: None,
                base: base.step(&lane.dim, first),
                first_row: part * rows,
                rows: rows.min(depth - part * rows),
                width: width.min(lane.dim.len - first),
            };
            // SAFETY: the strip lies within what the caller vouches for.
            let nodes = unsafe { self.strip(&lane.dim, &strip) };
            if parts == 1 { node_of(at, nodes) } else { nodes }
        });
        let mut nodes = nodes.into_iter();
        let mut walk = Walk::new(&self.problem.kept, self.base, 0);
        let mut list = Nodes::with_capacity(self.facts.node, strips);
        for output in 0..self.problem.outputs {
            list.clear();
            for strip in 0..strips {
                let mut node = nodes.next().expect("a part of each strip");
                if parts > 1 {
                    for mut right in nodes.by_ref().take(parts - 1) {
                        // SAFETY: each part has a node of each lane.
                        unsafe { self.kernel.merge(node.first(), 1, right.first_mut(), 1, node.len()) };
                        node = right;
                    }
                    node = node_of(output * strips + strip, node);
                }
                // SAFETY: it is a node of this kernel.
                unsafe { list.push(node.first()) };
            }
            // SAFETY: the list has a node of each strip; this thread alone writes results.
            unsafe {
                self.kernel.root(list.first_mut(), list.len(), 1, 1);
                self.finish(out, walk.out(), list.first(), 1, self.problem.count);
            }
            walk.advance();
        }
    }

    /// The elements of a run of the innermost axis that is moved as one; 1 if each is moved by itself.
    fn run_in(&self, lane: &Dim, inner: &[Dim]) -> usize {
        let (Some((run, [_, ..])), size) = (inner.split_last(), self.problem.size) else { return 1 };
        let is_run = run.x == size as isize && lane.x == run.x * run.len as isize && run.len * size < SHORT_RUN;
        let is_read = self.load.direct() || self.problem.reduced.iter().all(|dim| dim.mask == 0);
        if is_run && is_read { run.len } else { 1 }
    }

    /// The span of a tile's lanes, or one for each lane if the tile has a part of them.
    unsafe fn lanes(&self, tile: &Tile<'_>) -> Vec<Span> {
        let Tile { lanes, first, depth, from, to: to_end, .. } = *tile;
        let (size, n) = (self.facts.item, to_end - from);
        let (mut apart, mut stored) = (Items::new(), Items::new());
        let run = self.run_in(&tile.lane, tile.inner);
        let pitch = if n == depth { n } else { (n + PAD).next_multiple_of(run) };
        let x = apart.room(lanes * pitch * size);
        let sequences = Sequences { number: lanes, len: n, pitch };
        // SAFETY: the caller vouches for the lanes' elements, and there is room for those of all lanes, which are
        // written before they are read.
        unsafe {
            self.brought(&sequences, &[], tile.base.mask, &mut stored, x, &|work, to| {
                if run == 1 {
                    return work.lines(tile, 1, to, pitch);
                }
                // A run is one element of more bytes.
                let item = run * work.facts.item;
                let runs = Stored { bytes: item, numbers: work.load.whole() };
                let work = Work { load: &runs, facts: Facts { item, align: 1, ..work.facts }, ..*work };
                let (inner, depth) = (&tile.inner[..tile.inner.len() - 1], depth / run);
                work.lines(&Tile { inner, depth, from: from / run, to: to_end / run, ..*tile }, run, to, pitch / run);
            });
            if n == depth {
                let mut span = Span::new(self.kernel, first as u64);
                span.extend(self.kernel, x, lanes * n);
                return vec![span];
            }
            let start = |lane: usize| (first + lane * depth + from) as u64;
            let mut spans: Vec<Span> = (0..lanes).map(|lane| Span::new(self.kernel, start(lane))).collect();
            for (lane, span) in spans.iter_mut().enumerate() {
                span.extend(self.kernel, x.byte_add(lane * pitch * size), n);
            }
            spans
        }
    }

    /// Transposes a tile's lines: lane i goes to the elements from `i * pitch` on. For the caller's progress, each is
    /// `each` elements of the array.
    unsafe fn lines(&self, tile: &Tile<'_>, each: usize, x: *mut Item, pitch: usize) {
        let Tile { lanes, depth, from, to, .. } = *tile;
        let (size, n) = (self.facts.item, to - from);
        let inner = tile.inner.last().copied().unwrap_or(tile.lane);
        if inner.len < FEW_LINES && n > inner.len {
            // SAFETY: the caller's.
            return unsafe { self.lines_apart(tile, each, x, pitch) };
        }
        let mut rows = Items::new();
        let mut walk = Walk::new(tile.inner, tile.base, from);
        let mut done = 0;
        while done < n {
            // Lines along the innermost axis are a fixed step apart.
            let lines = (inner.len - (from + done) % inner.len).min(n - done).min(LINES.max(BLOCK / lanes));
            let most = MOST_LANES.max(BLOCK / lines);
            for lane in (0..lanes).step_by(most) {
                let (at, to) = (walk.at().step(&tile.lane, lane), x.wrapping_byte_add((lane * pitch + done) * size));
                // SAFETY: the caller vouches for `lanes` elements of each line, and there is room for those of all.
                unsafe {
                    self.transpose(at, &tile.lane, most.min(lanes - lane), &inner, lines, &mut rows, to, pitch);
                }
            }
            done += lines;
            walk = Walk::new(tile.inner, tile.base, (from + done) % depth);
            self.tell(lines * lanes * each);
        }
    }

    /// [`Work::lines`] of an innermost axis so short that lines, one after the other, are at places far apart: each is
    /// copied, and some are transposed at a time.
    unsafe fn lines_apart(&self, tile: &Tile<'_>, each: usize, x: *mut Item, pitch: usize) {
        let Tile { lanes, from, to, .. } = *tile;
        let (size, n, whole) = (self.facts.item, to - from, self.load.whole());
        let mut rows = Items::new();
        for done in (0..n).step_by(LINES) {
            let lines = LINES.min(n - done);
            for lane in (0..lanes).step_by(MOST_LANES) {
                let width = MOST_LANES.min(lanes - lane);
                let copied = rows.room(lines * width * size);
                let mut walk = Walk::new(tile.inner, tile.base, from + done);
                // SAFETY: the caller vouches for `lanes` elements of each line, and there is room for those of all.
                unsafe {
                    for line in 0..lines {
                        let at = walk.at().step(&tile.lane, lane);
                        self.load.gather(at, &tile.lane, width, copied.byte_add(line * width * size));
                        walk.advance();
                    }
                    let to = x.wrapping_byte_add((lane * pitch + done) * size);
                    take_apart(copied.cast_const(), Rows::dense(lines, width, size, whole), to, pitch);
                }
            }
            self.tell(lines * lanes * each);
        }
    }

    /// Transposes `lines` lines of `lanes` elements, which are a step along `inner` apart: lane i goes to the elements
    /// from `i * pitch` on.
    #[expect(clippy::too_many_arguments, reason = "a matrix on either side")]
    pub(super) unsafe fn transpose(
        &self,
        at: At,
        lane: &Dim,
        lanes: usize,
        inner: &Dim,
        lines: usize,
        room: &mut Items,
        to: *mut Item,
        pitch: usize,
    ) {
        let (size, whole) = (self.facts.item, self.load.whole());
        let step = inner.x / size as isize;
        let in_place = self.load.direct() && lane.x == size as isize && inner.x % size as isize == 0;
        // SAFETY: the caller vouches for the lines, and for room for them on the other side.
        unsafe {
            if in_place && step >= lanes as isize {
                let rows = Rows { n: lines, columns: lanes, step: step as usize, bytes: size, whole };
                return take_apart(at.x.cast::<Item>(), rows, to, pitch);
            }
            let copied = room.room(lines * lanes * size);
            for line in 0..lines {
                self.load.gather(at.step(inner, line), lane, lanes, copied.byte_add(line * lanes * size));
            }
            take_apart(copied.cast_const(), Rows::dense(lines, lanes, size, whole), to, pitch);
        }
    }
}
