//! The routes on which the fastest axis in memory is kept.

use super::counter::Counter;
use super::engine::{Job, Out, Output, Scratch};
use super::kernel::{Acc, Item, Kernel};
use super::load::Load;
use super::panel::{RowList, take_apart};
use super::policy::{BLOCK, PANEL, STRIP_BYTES};
use super::tree::combine_nodes;
use crate::problem::{At, Dim, Problem, Walk};

/// A power of two of rows, such that there are tasks enough for all threads.
pub(super) fn rows_per_task(rows: usize, tasks: usize, threads: usize, least: usize) -> usize {
    let wanted = (threads * 8).div_ceil(tasks.max(1));
    if threads == 1 || wanted <= 1 {
        return rows.next_power_of_two();
    }
    rows.div_ceil(wanted).next_power_of_two().max(least)
}

/// A strip of columns, and the rows of it that a task reduces.
pub(super) struct Strip<'a> {
    /// The axes along which rows follow one another.
    pub axes: &'a [Dim],
    pub base: At,
    pub first_row: usize,
    pub rows: usize,
    pub width: usize,
}

impl<K: Kernel, L: Load<Item<K>>> Job<'_, K, L>
where
    Out<K>: Send,
{
    /// Several rows at a time, column by column.
    pub(super) unsafe fn columns(&self, lane: usize, out: &Output<Out<K>>) {
        let (lane, others) = self.take_kept(lane);
        let count = self.problem.count;
        let strip = (STRIP_BYTES / self.problem.size).min(lane.len);
        let strips = lane.len.div_ceil(strip);
        let outer = self.problem.outputs / lane.len;
        let rows = rows_per_task(count, strips * outer, self.threads, 8 * PANEL);
        let chunks = count.div_ceil(rows);
        let place = |task: usize| {
            let (row, column) = (task % chunks * rows, task / chunks % strips * strip);
            let walk = Walk::new(&others, self.base, task / chunks / strips);
            let strip = Strip {
                axes: &self.problem.reduced,
                base: walk.at().step(&lane, column),
                first_row: row,
                rows: rows.min(count - row),
                width: strip.min(lane.len - column),
            };
            (strip, walk.out() + column as isize * lane.out)
        };
        if chunks == 1 {
            self.tasks(outer * strips, &|task| {
                let (strip, at) = place(task);
                // SAFETY: the caller's; strips are disjoint.
                unsafe {
                    self.finish_along(out, at, &lane, &self.strip(&lane, &strip));
                }
            });
            return;
        }
        // SAFETY: the caller's.
        let nodes = self.results(outer * strips * chunks, |task| unsafe { self.strip(&lane, &place(task).0) });
        let last = (count - (chunks - 1) * rows) as u64;
        let mut list = Vec::with_capacity(chunks);
        for (i, nodes) in nodes.chunks(chunks).enumerate() {
            let at = place(i * chunks).1;
            for column in 0..nodes[0].len() {
                list.clear();
                list.extend(nodes.iter().map(|strip| strip[column]));
                let root = combine_nodes(self.kernel.reducer(), &mut list, rows as u64, last);
                // SAFETY: one writer per output.
                unsafe { self.finish(out, at + column as isize * lane.out, root.expect("a chunk")) };
            }
        }
    }

    fn take_kept(&self, lane: usize) -> (Dim, Vec<Dim>) {
        let mut others = self.problem.kept.clone();
        (others.remove(lane), others)
    }

    /// Calls `each` with the number of a panel, its rows, and the index of the first of them.
    unsafe fn panels(&self, lane: &Dim, strip: &Strip<'_>, mut each: impl FnMut(usize, &[*const Item<K>], u64)) {
        let Strip { width, rows, first_row, .. } = *strip;
        let mut items: Vec<Item<K>> = Vec::new();
        let mut walk = Walk::new(strip.axes, strip.base, first_row);
        let mut ats: Vec<At> = Vec::with_capacity(PANEL);
        for (panel, row) in (0..rows).step_by(PANEL).enumerate() {
            let n = PANEL.min(rows - row);
            ats.clear();
            for _ in 0..n {
                ats.push(walk.at());
                walk.advance();
            }
            // SAFETY: the caller's: rows are readable along the lane.
            let now = unsafe { self.rows_of(&ats, lane, width, &mut items) };
            each(panel, now.as_slice(), (first_row + row) as u64);
            if panel % 8 == 7 || row + n == rows {
                self.tell((panel % 8 * PANEL + n) * width);
            }
        }
    }

    /// The nodes of a strip's columns, one panel after the other.
    unsafe fn running_strip(&self, lane: &Dim, strip: &Strip<'_>) -> Vec<Acc<K>> {
        let mut nodes: Vec<Acc<K>> = Vec::with_capacity(strip.width);
        // SAFETY: the caller's; the first panel writes `width` nodes.
        unsafe {
            self.panels(lane, strip, |panel, rows, start| {
                if panel > 0 {
                    return self.kernel.panel_after(rows, start, &mut nodes);
                }
                self.kernel.panel(rows, start, &mut nodes.spare_capacity_mut()[..strip.width]);
                nodes.set_len(strip.width);
            });
        }
        nodes
    }

    /// The nodes of a strip's columns: panels of 8 rows, joined as a binary counter carries.
    pub(super) unsafe fn strip(&self, lane: &Dim, strip: &Strip<'_>) -> Vec<Acc<K>> {
        if K::RUNS {
            // SAFETY: the caller's.
            return unsafe { self.running_strip(lane, strip) };
        }
        let mut counter = Counter::new(self.kernel, PANEL as u64);
        let mut tail: Option<(Vec<Acc<K>>, u64)> = None;
        let each = |_: usize, rows: &[*const Item<K>], start| {
            let mut nodes = counter.room(strip.width);
            // SAFETY: the rows are readable; the panel writes `width` nodes.
            unsafe {
                self.kernel.panel(rows, start, &mut nodes.spare_capacity_mut()[..strip.width]);
                nodes.set_len(strip.width);
            }
            if rows.len() < PANEL {
                tail = Some((nodes, rows.len() as u64));
            } else {
                counter.push(nodes);
            }
        };
        // SAFETY: the caller's.
        unsafe { self.panels(lane, strip, each) };
        counter.finish(tail).expect("at least one row")
    }

    /// Where each row's strip can be read.
    pub(super) unsafe fn rows_of(
        &self,
        ats: &[At],
        lane: &Dim,
        width: usize,
        items: &mut Vec<Item<K>>,
    ) -> RowList<Item<K>> {
        let aligned = |at: &At| at.x.cast::<Item<K>>().is_aligned();
        if self.load.direct() && lane.x == size_of::<Item<K>>() as isize && ats.iter().all(aligned) {
            return ats.iter().map(|at| at.x.cast()).collect();
        }
        items.clear();
        items.reserve(ats.len() * width);
        for (i, at) in ats.iter().enumerate() {
            // SAFETY: the caller's; there is room for all rows.
            unsafe { self.load.gather(*at, lane, width, items.as_mut_ptr().add(i * width)) };
        }
        (0..ats.len()).map(|i| items.as_ptr().wrapping_add(i * width)).collect()
    }

    /// A few columns, taken apart into one tile each.
    pub(super) unsafe fn interleaved(&self, lane: usize, out: &Output<Out<K>>) {
        let (lane, others) = self.take_kept(lane);
        let Problem { count, outputs, .. } = *self.problem;
        let outer = outputs / lane.len;
        let rows = rows_per_task(count, outer, self.threads, BLOCK).min(1 << 20);
        let chunks = count.div_ceil(rows);
        let nodes = self.results(outer * chunks, |task| {
            let base = Walk::new(&others, self.base, task / chunks).at();
            let from = task % chunks * rows;
            // SAFETY: the caller's.
            unsafe { self.apart(&lane, base, from, rows.min(count - from)) }
        });
        let last = (count - (chunks - 1) * rows) as u64;
        let mut walk = Walk::new(&others, self.base, 0);
        let mut list = Vec::with_capacity(chunks);
        for nodes in nodes.chunks(chunks) {
            for column in 0..lane.len {
                list.clear();
                list.extend(nodes.iter().map(|columns| columns[column]));
                let root = combine_nodes(self.kernel.reducer(), &mut list, rows as u64, last);
                // SAFETY: one writer per output.
                unsafe { self.finish(out, walk.out() + column as isize * lane.out, root.expect("a chunk")) };
            }
            walk.advance();
        }
    }

    /// The nodes of each of a few columns over `len` rows from `from`: tiles of rows that stay in L1 while each column is
    /// read out of them.
    unsafe fn apart(&self, lane: &Dim, base: At, from: usize, len: usize) -> Vec<Acc<K>> {
        let tile = BLOCK / 4;
        let mut scratch = Scratch::<K>::new();
        let size = size_of::<Item<K>>() as isize;
        let dense = self.load.direct()
            && lane.x == size
            && self.problem.reduced.len() == 1
            && self.problem.inner().x == size * lane.len as isize;
        let mut nodes: Vec<Vec<Acc<K>>> = (0..lane.len).map(|_| Vec::with_capacity(len.div_ceil(tile))).collect();
        for start in (from..from + len).step_by(tile) {
            let n = tile.min(from + len - start);
            if dense {
                let items = &mut scratch.items;
                items.clear();
                items.reserve(n * lane.len);
                // SAFETY: the rows are adjacent; all of the items are written.
                unsafe {
                    let x = base.step(&self.problem.inner(), start).x.cast();
                    take_apart(x, n, lane.len, items.as_mut_ptr());
                    items.set_len(n * lane.len);
                }
                for (x, nodes) in items.chunks(n).zip(&mut nodes) {
                    nodes.push(self.kernel.block(x, start as u64));
                }
                continue;
            }
            for (column, nodes) in nodes.iter_mut().enumerate() {
                // SAFETY: the caller's.
                let x = unsafe { self.sequence(base.step(lane, column), start, n, &mut scratch.items) };
                nodes.push(self.kernel.block(x, start as u64));
            }
        }
        let last = ((len - 1) % tile + 1) as u64;
        let combine = |mut n: Vec<Acc<K>>| combine_nodes(self.kernel.reducer(), &mut n, tile as u64, last);
        nodes.into_iter().map(|n| combine(n).expect("len is not 0")).collect()
    }
}
