//! The routes for reductions that keep the fastest axis in memory.

use warpfold_array::problem::{At, Dim, Problem, Walk};

use super::Work;
use super::counter::Counter;
use super::lane::Lane;
use super::nodes::{Items, Nodes};
use super::panels::Room;
use super::rows::Scratch;
use super::strip::{Beside, Single, Strip};
use crate::loops::{Item, Value};
use crate::moves::{TILE, copy};
use crate::output::Output;
use crate::panel::{Panel, RowList};
use crate::policy::{
    APART_ITEMS, BLOCK, FEW_COLUMNS, FEW_DENSE_COLUMNS, FEW_ROWS, LONG_STRIP, MOST_FEW, MOST_ROWS, PANEL, STRIP,
    STRIP_BESIDE, STRIP_BYTES, STRIP_NODES, TILE_ITEMS,
};
use crate::simd::prefetch;
use crate::transpose::{Rows, take_apart};

/// The rows of a task, a power of two and at least `least`, such that there are enough tasks for all threads.
pub(super) fn rows_per_task(rows: usize, tasks: usize, threads: usize, least: usize) -> usize {
    let wanted = (threads * 8).div_ceil(tasks.max(1));
    if threads == 1 || wanted <= 1 {
        return rows.next_power_of_two();
    }
    rows.div_ceil(wanted).next_power_of_two().max(least)
}

/// The columns of a matrix.
struct Columns {
    lane: Lane,
    /// Neighbours that are one output, in any order.
    group: usize,
    /// Whether a task has all columns.
    few: bool,
    others: Vec<Dim>,
    /// Elements of an output.
    count: usize,
}

impl Work<'_> {
    /// Reduces several rows at a time, column by column. With `few`, a task has all columns.
    pub(super) unsafe fn columns(&self, lane: usize, few: bool, out: &Output<Value>) {
        let (lane, mut others) = self.take_kept(lane);
        if self.facts.free && self.problem.has_runs_along(&lane) {
            // In any order: each element of a run is a column of its own, and the nodes of a run are combined last.
            let (inner, outer) = self.problem.reduced.split_last().expect("a run");
            let (group, wide) = (inner.len, Dim { len: lane.len * inner.len, ..*inner });
            let (count, outputs) = (self.problem.count / group, self.problem.outputs * group);
            let problem = Problem { reduced: outer.to_vec(), count, outputs, ..self.problem.clone() };
            let few = problem.has_dense_rows(&wide) && wide.len < FEW_DENSE_COLUMNS;
            let work = Work { problem: &problem, ..*self };
            let columns = Columns { lane: Lane::of(lane), group, few, others, count: self.problem.count };
            // SAFETY: the caller vouches for the elements and the places.
            return unsafe { work.some_columns(&columns, wide, out) };
        }
        // Axes that follow one another in memory are one lane.
        let (mut lane, mut few) = (Lane::of(lane), few);
        while lane.dim.len * self.problem.size < STRIP_BYTES
            && let Some(next) = others.iter().position(|dim| lane.goes_on(dim))
        {
            lane.append(others.remove(next));
            let most = if self.problem.has_dense_rows(&lane.dim) { FEW_DENSE_COLUMNS } else { FEW_COLUMNS };
            few = lane.dim.len < most;
        }
        let wide = lane.dim;
        let columns = Columns { lane, group: 1, few, others, count: self.problem.count };
        // SAFETY: the caller vouches for the elements and the places.
        unsafe { self.some_columns(&columns, wide, out) };
    }

    /// Reduces the columns of a matrix, which lie along `lane`.
    unsafe fn some_columns(&self, columns: &Columns, lane: Dim, out: &Output<Value>) {
        let Columns { group, few, ref others, count: under, .. } = *columns;
        // A kernel that takes many rows at a time need not have them as a block.
        let tall = !self.facts.runs && self.facts.rows > PANEL && lane.len >= TILE;
        let (alone, count) = (self.facts.dense || self.facts.runs || tall, self.problem.count);
        let dense = lane.len <= APART_ITEMS / PANEL && self.problem.has_dense_rows(&lane) || self.has_lines(&lane);
        let few = few && !tall || dense && (!alone || lane.len < TILE);
        let beside = if self.problem.has_runs_along(&lane) { self.problem.inner().len } else { 1 };
        let strip = match few {
            true => lane.len,
            false => {
                let long = self.facts.runs && self.facts.rows == FEW_ROWS;
                // Rows that are transposed stay in L2.
                let longest = TILE_ITEMS / 2 / self.facts.rows * beside;
                let bytes = match (beside > 1 && group == 1, long) {
                    (true, _) => STRIP_BESIDE.min(longest).max(STRIP_BYTES),
                    (_, true) => LONG_STRIP,
                    _ => STRIP_BYTES,
                };
                let bytes = bytes.max(STRIP / count);
                // Other columns lie between those that are spread: a strip of either is as long in memory.
                let step = self.problem.size * beside;
                let step = if lane.x as usize >= 4 * step { lane.x as usize } else { step };
                ((bytes / step).max(TILE) / group).max(1) * group
            }
        };
        // The nodes of few rows are results at once, and are read again where they are written.
        let most = if !few && count <= self.facts.rows {
            STRIP_NODES / self.facts.node.max(1) / group * group
        } else {
            usize::MAX
        };
        let strips = lane.len.div_ceil(strip.min(most.max(TILE * group)).min(lane.len));
        // Strips of about one width, so that no thread waits for another one's last strip.
        let strip = lane.len.div_ceil(strips).next_multiple_of(TILE * group).min(strip).min(lane.len);
        let strips = lane.len.div_ceil(strip);
        let outer = self.problem.outputs / lane.len;
        let rows_of = |elements: usize| (elements / strip).next_power_of_two();
        let (least, most) = if few { (rows_of(4 * BLOCK), rows_of(MOST_FEW)) } else { (8 * PANEL, usize::MAX) };
        let rows = rows_per_task(count, strips * outer, self.threads, least).min(most);
        let chunks = count.div_ceil(rows);
        let place = |task: usize| {
            let (row, column) = (task % chunks * rows, task / chunks % strips * strip);
            let walk = Walk::new(others, self.base, task / chunks / strips);
            let strip = Strip {
                axes: &self.problem.reduced,
                order: None,
                base: walk.at().step(&lane, column),
                first_row: row,
                rows: rows.min(count - row),
                width: strip.min(lane.len - column),
            };
            (strip, walk.out(), column / group)
        };
        // Writes the results of nodes, from output number `first` along the lane on.
        let finish = |nodes: &Nodes, at: isize, first: usize| {
            let (n, nodes) = (nodes.len(), nodes.first());
            // SAFETY: the caller vouches for the elements and the places, and the outputs of strips are disjoint.
            unsafe {
                self.finish_along(out, at, &columns.lane, first, nodes, n, under);
            }
        };
        // SAFETY: the strip lies within what the caller vouches for.
        let nodes_of = |strip: &Strip<'_>| unsafe {
            if !few {
                return self.strip(&lane, strip);
            }
            let nodes = self.few_columns(&lane, strip);
            self.tell(strip.rows * strip.width);
            nodes
        };
        if chunks == 1 {
            let strips = outer * strips;
            let each = (4 * BLOCK / count.saturating_mul(strip)).clamp(1, strips.div_ceil(8 * self.threads).max(1));
            // All rows are one panel, without a tree above.
            let is_one = !few && group == 1 && beside == 1 && count <= self.facts.rows;
            self.quiet_tasks(strips.div_ceil(each), &|task| {
                let mut single = Single::new(self.facts.node);
                for task in task * each..strips.min((task + 1) * each) {
                    let (strip, at, first) = place(task);
                    // SAFETY: the caller vouches for the elements and the places, and the outputs of strips are
                    // disjoint.
                    unsafe {
                        if is_one {
                            finish(self.one_panel(&lane, &strip, &mut single), at, first);
                        } else {
                            finish(&self.grouped(nodes_of(&strip), group), at, first);
                        }
                    }
                }
            });
            return;
        }
        let nodes = self.quiet_results(outer * strips * chunks, |task| nodes_of(&place(task).0));
        let last = count - (chunks - 1) * rows;
        let mut nodes = nodes.into_iter();
        for i in 0..outer * strips {
            let (_, at, first) = place(i * chunks);
            let mut counter = Counter::new(self.kernel, rows as u64);
            nodes.by_ref().take(chunks - 1).for_each(|nodes| counter.push(nodes));
            let tail = nodes.next().map(|nodes| (nodes, last as u64));
            let roots = counter.finish(tail).expect("at least one row");
            // SAFETY: every strip has written a node of this kernel for each column; this thread alone writes results.
            unsafe {
                let roots = self.grouped(roots, group);
                finish(&roots, at, first);
            }
        }
    }

    /// The nodes over groups of nodes, which are combined in any order.
    ///
    /// # Safety
    /// The nodes are of this kernel.
    unsafe fn grouped(&self, nodes: Nodes, group: usize) -> Nodes {
        if group == 1 {
            return nodes;
        }
        let (n, size) = (nodes.len() / group, self.facts.node);
        // The first node of each group, then the second one of each, and so on.
        let (mut apart, mut roots) = (Nodes::new(size), Nodes::new(size));
        // SAFETY: the caller vouches for the nodes, which `take_apart` writes to `apart`. A row of them is merged into
        // the next one, and the last one is copied: `n` nodes on either side.
        unsafe {
            apart.write(n * group, |to| take_apart(nodes.first(), Rows::dense(n, group, size, false), to, n));
            let first = apart.first_mut();
            let row = |i: usize| first.wrapping_byte_add(i * n * size);
            for i in 1..group {
                self.kernel.merge(row(i - 1), i as u64, row(i), 1, n);
            }
            roots.write(n, |to| copy(row(group - 1), to, n * size));
        }
        roots
    }

    pub(super) fn take_kept(&self, lane: usize) -> (Dim, Vec<Dim>) {
        let mut others = self.problem.kept.clone();
        (others.remove(lane), others)
    }

    /// Calls `each` with the number of a panel, its rows, and the index of its first row.
    unsafe fn panels(&self, lane: &Dim, strip: &Strip<'_>, each: &mut dyn FnMut(usize, &[*const Item], u64)) {
        let Strip { width, rows, first_row, .. } = *strip;
        let most = self.facts.rows;
        let mut items = Items::new();
        let mut beside = self.problem.has_runs_along(lane).then(|| Beside::new(strip, most));
        let mut walk = Walk::new(strip.axes, strip.base, if beside.is_some() { 0 } else { first_row });
        let mut ats: Vec<At> = Vec::with_capacity(most);
        let mut untold = 0;
        for (panel, row) in (0..rows).step_by(most).enumerate() {
            let n = most.min(rows - row);
            let from = first_row + row;
            // SAFETY: the caller vouches for the strip, so for `width` elements of each of its rows along the lane.
            let now = unsafe {
                if let Some(beside) = &mut beside {
                    self.rows_beside(beside, strip, from, n)
                } else if let Some(rows) = self.rows_apart(strip, lane, row, n) {
                    rows
                } else {
                    ats.clear();
                    if let Some(order) = strip.order {
                        let inner = self.problem.inner();
                        ats.extend(order[row..row + n].iter().map(|&i| strip.base.step(&inner, i as usize)));
                    } else {
                        for _ in 0..n {
                            ats.push(walk.at());
                            walk.advance();
                        }
                        self.look_ahead(&ats, lane, width, row + 2 * most < rows);
                    }
                    self.rows_of(&ats, lane, width, &mut items)
                }
            };
            each(panel, now.as_slice(), from as u64);
            untold += n;
            if untold >= MOST_ROWS || row + n == rows {
                self.tell(std::mem::take(&mut untold) * width);
            }
        }
    }

    /// The nodes of a strip's columns, one panel after the other.
    unsafe fn running_strip(&self, lane: &Dim, strip: &Strip<'_>) -> Nodes {
        let mut nodes = Nodes::new(self.facts.node);
        let width = strip.width;
        // SAFETY: the caller vouches for the strip; the first panel writes `width` nodes, which later ones read.
        unsafe {
            self.panels(lane, strip, &mut |panel, rows, start| {
                if panel > 0 {
                    return self.kernel.panel_after(rows, start, width, nodes.first_mut());
                }
                nodes.write(width, |to| self.kernel.panel(Panel::new(rows, start), width, to));
            });
        }
        nodes
    }

    /// The nodes of a strip's columns: panels of rows, joined as a binary counter carries.
    pub(super) unsafe fn strip(&self, lane: &Dim, strip: &Strip<'_>) -> Nodes {
        if self.facts.runs {
            // SAFETY: the caller vouches for the elements of the strip.
            return unsafe { self.running_strip(lane, strip) };
        }
        let mut counter = Counter::new(self.kernel, self.facts.rows as u64);
        let mut tail: Option<(Nodes, u64)> = None;
        let mut room = Room::new(self.facts.node);
        let width = strip.width;
        let each = &mut |_: usize, rows: &[*const Item], start| {
            let mut nodes = counter.room();
            // SAFETY: the rows are readable; the panel writes `width` nodes.
            unsafe { nodes.write(width, |to| self.panel(rows, start, width, &mut room, to)) };
            if rows.len() < self.facts.rows {
                tail = Some((nodes, rows.len() as u64));
            } else {
                counter.push(nodes);
            }
        };
        // SAFETY: the caller vouches for the elements of the strip.
        unsafe { self.panels(lane, strip, each) };
        counter.finish(tail).expect("at least one row")
    }

    /// The addresses of a strip's part of each row: in place, or copied to `items`.
    pub(super) unsafe fn rows_of(&self, ats: &[At], lane: &Dim, width: usize, items: &mut Items) -> RowList<Item> {
        let size = self.facts.item;
        let aligned = |at: &At| at.x.addr().is_multiple_of(self.facts.align);
        if self.load.direct() && lane.x == size as isize && ats.iter().all(aligned) {
            return ats.iter().map(|at| at.x.cast()).collect();
        }
        let room = items.room(ats.len() * width * size);
        for (i, at) in ats.iter().enumerate() {
            // SAFETY: the caller vouches for `width` elements of each row, and there is room for those of all rows.
            unsafe { self.load.gather(*at, lane, width, room.wrapping_byte_add(i * width * size)) };
        }
        self.rows_at(room, ats.len(), width)
    }

    /// The nodes of the columns of a strip of few columns, a block of rows at a time.
    unsafe fn few_columns(&self, lane: &Dim, strip: &Strip<'_>) -> Nodes {
        let Strip { base, first_row: from, rows: len, width, .. } = *strip;
        let mut scratch = Scratch::new(self.kernel);
        let is_dense = self.problem.has_dense_rows(lane);
        if is_dense || self.has_lines(lane) {
            // Wide rows of a kernel without a tree stay in registers, a tile of columns after the other.
            let tiles = self.facts.runs && width >= TILE;
            let items = if tiles || self.kernel.takes_dense(width) { self.facts.dense_items } else { APART_ITEMS };
            let block = BLOCK.min(1 << (items / width).ilog2());
            let adds = self.facts.runs && self.kernel.takes_dense(width);
            let mut counter = Counter::new(self.kernel, block as u64);
            let mut tail = None;
            for start in (from..from + len).step_by(block) {
                let n = block.min(from + len - start);
                let at = base.step(&self.problem.inner(), start);
                // SAFETY: the caller vouches for the strip, whose dense rows are `n * width` elements along the lane.
                let x = unsafe {
                    match is_dense {
                        true => self.run_of(at, lane, n * width, &mut scratch.items),
                        false => self.some_lines(lane, strip, start, n, &mut scratch.items),
                    }
                };
                if tiles && is_dense && self.facts.rows != FEW_ROWS {
                    // Tiles of a few rows are no stream that the CPU sees. Order-free loops ask for more themselves.
                    let bytes = n * width * self.problem.size;
                    prefetch(at.x.wrapping_add(bytes), bytes);
                }
                if (tiles || adds && n == block)
                    && let Some(nodes) = counter.first()
                {
                    let (start, nodes) = (start as u64, nodes.first_mut());
                    // SAFETY: `x` has `n * width` elements, and the first row of nodes has a node for each column.
                    unsafe {
                        match tiles {
                            true => self.kernel.panel_after(self.rows_at(x, n, width).as_slice(), start, width, nodes),
                            false => self.kernel.dense_after(x, n * width, start, width, nodes),
                        }
                    }
                    continue;
                }
                let mut nodes = counter.room();
                // SAFETY: `x` has `n * width` elements, and either way writes a node for each column.
                unsafe {
                    nodes.write(width, |to| match tiles {
                        true => {
                            self.panel(self.rows_at(x, n, width).as_slice(), start as u64, width, &mut scratch.room, to)
                        }
                        false => self.dense_rows(x, n, width, start as u64, &mut scratch.room, to),
                    });
                }
                if n < block {
                    tail = Some((nodes, n as u64));
                } else {
                    counter.push(nodes);
                }
            }
            return counter.finish(tail).expect("at least one row");
        }
        // Tiles of rows that stay in L1 while each column is read out of them.
        let tile = BLOCK / 4;
        let mut nodes: Vec<Nodes> =
            (0..width).map(|_| Nodes::with_capacity(self.facts.node, len.div_ceil(tile))).collect();
        for start in (from..from + len).step_by(tile) {
            let n = tile.min(from + len - start);
            for (column, nodes) in nodes.iter_mut().enumerate() {
                // SAFETY: the caller vouches for the strip, so for `n` elements of each of its columns.
                unsafe {
                    let x = self.sequence(base.step(lane, column), start, n, &mut scratch.items);
                    nodes.push_with(|to| self.kernel.block(std::ptr::null(), x, n, start as u64, to));
                }
            }
        }
        let last = ((len - 1) % tile + 1) as u64;
        let mut roots = Nodes::with_capacity(self.facts.node, width);
        for mut nodes in nodes {
            // SAFETY: the loop above has written nodes of this kernel for every column.
            unsafe {
                self.kernel.root(nodes.first_mut(), nodes.len(), tile as u64, last);
                roots.push(nodes.first());
            }
        }
        roots
    }
}
