//! The route for arrays whose rows in memory hold elements of many sequences, or of many places of one: say, of an
//! array in Fortran order, whatever its axes are.
//!
//! The innermost reduced axes are walked from row to row. The other axes that follow one another in memory are the
//! columns of a row. A lane is an index of the outer reduced axes, and each column is a lane of an output; its sequence
//! goes on where the lane before ends. So the subtrees of [`PANEL`] elements, its units, begin in a row of its own, and
//! its last unit ends in the first rows of the next lane. All rows are read in the order of memory, each once for all
//! columns of a tile ([`crate::staggered`]); behind the last row the first ones follow, each column's those of the next
//! lane. Only the nodes of units are brought into index order.

use warpfold_array::problem::{At, Dim, Walk};

use super::Work;
use super::nodes::{Items, Nodes};
use super::span::Span;
use crate::crossing::{Columns, to_next};
use crate::loops::{Item, Node, Value};
use crate::moves::{TILE, copy, copy_run};
use crate::output::Output;
use crate::policy::{DENSE_ROW, LEAST_LANES, PANEL, TILE_ITEMS, TILE_PARTS, TILE_UNITS};
use crate::simd::prefetch;
use crate::staggered::Staggered;
use crate::transpose::{Rows, take_apart};

/// How a problem is cut.
struct Crossed<'a> {
    columns: Columns,
    /// The other axes, whose indices have rows of their own.
    others: Columns,
    /// The outer reduced axes, whose indices are lanes.
    outer: &'a [Dim],
    /// The innermost reduced axes.
    inner: &'a [Dim],
    lanes: usize,
    /// Elements of a lane.
    depth: usize,
    /// The power of two at whose multiples units begin.
    step: usize,
}

/// Some columns of some rows.
struct Tile {
    /// The first column's first element.
    base: At,
    /// Of each column, the place of its output and its lane.
    places: Vec<(isize, usize)>,
    from: usize,
    to: usize,
}

impl Work<'_> {
    /// Reduces units of columns. The rows are those of the reduced axes from number `inner` on.
    ///
    /// # Safety
    /// Every element is readable in place, and `out` has a place for each output.
    pub(super) unsafe fn crossed(&self, inner: usize, out: &Output<Value>) {
        let product = |dims: &[Dim]| dims.iter().map(|dim| dim.len).product::<usize>();
        let (columns, others) = Columns::of(self.problem, inner);
        let (outer, inner) = self.problem.reduced.split_at(inner);
        let (lanes, depth) = (product(outer), product(inner));
        let step = PANEL.min(1 << depth.trailing_zeros());
        let crossed = Crossed { columns, others, outer, inner, lanes, depth, step };
        let width = crossed.columns.len();
        // Elements under as many bytes of nodes.
        let items = |bytes: usize| bytes / self.facts.node * PANEL;
        let least = (LEAST_LANES / 2 / self.facts.item).clamp(TILE, width);
        let is_dense = width * self.facts.item <= DENSE_ROW;
        let is_whole = least.saturating_mul(depth) <= items(TILE_UNITS) && !is_dense;
        let wanted = if is_whole { (items(TILE_ITEMS) / depth).max(least) } else { least };
        let groups = if is_dense { 1 } else { width.div_ceil(wanted).min(width / TILE) };
        let most = if is_whole { depth } else { items(TILE_PARTS) / width.div_ceil(groups) };
        let slice = depth.min(most.next_multiple_of(PANEL));
        let slices = depth.div_ceil(slice);
        let spans = self.quiet_results(crossed.others.len() * groups * slices, |task| {
            let (other, group, slice_of) = (task / slices / groups, task / slices % groups, task % slices);
            let (first, end) = (group * width / groups, (group + 1) * width / groups);
            let [x, place, lane] = crossed.others.places(other, 1)[0];
            let places = crossed.columns.places(first, end - first);
            let tile = Tile {
                base: self.base.offset(x + places[0][0], 0),
                places: places.into_iter().map(|[_, out, more]| (place + out, (lane + more) as usize)).collect(),
                from: slice_of * slice,
                to: depth.min((slice_of + 1) * slice),
            };
            // SAFETY: the tile lies within the elements that the caller vouches for, and begins with whole units.
            unsafe { self.crossed_tile(&crossed, &tile) }
        });
        let mut spans: Vec<(isize, Span)> = spans.into_iter().flatten().collect();
        spans.sort_by_key(|(place, span)| (*place, span.start()));
        let mut root = Nodes::new(self.facts.node);
        for spans in spans.chunk_by(|a, b| a.0 == b.0) {
            let mut whole = Span::new(self.kernel, 0);
            for (_, span) in spans {
                whole.join(self.kernel, span).expect("units follow one another");
            }
            // SAFETY: there are elements, so `root` writes a node; this thread alone writes results.
            unsafe {
                root.write(1, |to| {
                    whole.root(self.kernel, std::ptr::null(), 0, to);
                });
                self.finish(out, spans[0].0, root.first(), 1, self.problem.count);
            }
        }
    }

    /// The spans of a tile: of the units that begin in it, and of what is left after an output's last unit. Each has
    /// the place of its output.
    ///
    /// # Safety
    /// The elements of the tile, and those after it, are readable, and it begins with whole units.
    unsafe fn crossed_tile(&self, crossed: &Crossed<'_>, tile: &Tile) -> Vec<(isize, Span)> {
        let (&Crossed { depth, lanes, inner, .. }, &Tile { ref places, from, to, .. }) = (crossed, tile);
        let (node, width, n) = (self.facts.node, places.len(), (to - from).div_ceil(PANEL));
        let count = self.problem.count;
        // The first unit that does not begin before a row of a lane.
        let unit = |lane: usize, row: usize| (lane * depth + row).div_ceil(PANEL).min(count / PANEL);
        let some = |column: usize| unit(places[column].1, to) - unit(places[column].1, from);
        let mut order: Vec<usize> = (0..width).collect();
        let is_sorted = places.is_sorted();
        if !is_sorted {
            order.sort_unstable_by_key(|&column| places[column]);
        }
        let (mut abreast, mut room, mut ordered) = (Nodes::new(node), Items::new(), Items::new());
        let mut spans: Vec<(isize, Span)> = Vec::new();
        // SAFETY: the caller vouches for the elements; there is room for the nodes of `n` units of each column, which
        // are written before they are read.
        unsafe {
            abreast.write(n * width, |to| self.units_of_columns(crossed, tile, n, to));
            let apart: *mut Node = room.room(n * width * node).cast();
            take_apart(abreast.first(), Rows::dense(n, width, node, self.facts.number), apart, n);
            // Units in the order of the index. Some columns have one less.
            let units = if is_sorted { apart } else { ordered.room(n * width * node).cast() };
            let mut done = 0;
            for &column in &order {
                let (x, to) = (apart.byte_add(column * n * node), units.byte_add(done * node));
                if x != to {
                    std::ptr::copy(x.cast::<u8>(), to.cast(), some(column) * node);
                }
                done += some(column);
            }
            done = 0;
            let follows = |&a: &usize, &b: &usize| {
                let ((out, lane), (next_out, next_lane)) = (places[a], places[b]);
                to - from == depth && out == next_out && lane + 1 == next_lane
            };
            for columns in order.chunk_by(follows) {
                let (first, last) = (columns[0], columns[columns.len() - 1]);
                let (begin, end) = (unit(places[first].1, from), unit(places[last].1, to));
                let mut span = Span::new(self.kernel, (begin * PANEL) as u64);
                span.extend_by_nodes(self.kernel, units.byte_add(done * node), end - begin, PANEL);
                done += end - begin;
                let rest = count % PANEL;
                if to == depth && places[last].1 + 1 == lanes && rest > 0 {
                    let walk = Walk::new(inner, tile.base.offset((last * self.facts.item) as isize, 0), depth - rest);
                    self.extend_by_rows(&mut span, walk, rest);
                }
                if span.end() > span.start() {
                    spans.push((places[first].0, span));
                }
            }
        }
        spans
    }

    /// Appends `n` elements, fewer than a unit has, to a span.
    ///
    /// # Safety
    /// The walk begins at the first of them, and they are readable.
    unsafe fn extend_by_rows(&self, span: &mut Span, mut walk: Walk<'_>, n: usize) {
        let (mut items, size) = (Items::new(), self.facts.item);
        let x = items.room(n * size);
        for i in 0..n {
            // SAFETY: the caller vouches for the elements, for which there is room.
            unsafe { copy(walk.at().x.cast(), x.wrapping_byte_add(i * size), size) };
            walk.advance();
        }
        // SAFETY: the elements have just been written.
        unsafe { span.extend(self.kernel, x, n) };
    }

    /// Writes the nodes of a tile's units, `n` of each column, those of all columns side by side. A column's last unit
    /// may begin after the tile.
    ///
    /// # Safety
    /// As of [`Work::crossed_tile`]; there is room for the nodes.
    unsafe fn units_of_columns(&self, crossed: &Crossed<'_>, tile: &Tile, n: usize, to: *mut Node) {
        let (Tile { places, from, .. }, size) = (tile, self.facts.item);
        let width = places.len();
        let first = |&(_, lane): &(isize, usize)| ((lane * crossed.depth + from).wrapping_neg() % PANEL) as u32;
        let firsts: Vec<u32> = places.iter().map(first).collect();
        let mut room = Items::new();
        // SAFETY: the caller's.
        let rows = unsafe { self.rows_of_units(crossed, tile, n, &mut room) };
        let height = 2 * PANEL - crossed.step;
        for unit in 0..n {
            let own = unit * PANEL..unit * PANEL + height;
            // Rows may be on pages of their own, so the CPU does not load ahead by itself.
            rows[own.end..].iter().skip(PANEL).take(PANEL).for_each(|row| prefetch(row.cast::<u8>(), width * size));
            let staggered = Staggered { rows: &rows[own], firsts: &firsts };
            // SAFETY: every row has an element of each column; the caller vouches for room for their nodes.
            unsafe { self.kernel.staggered(staggered, width, to.byte_add(unit * width * self.facts.node)) };
            self.tell(width * PANEL.min(tile.to - from - unit * PANEL));
        }
    }

    /// The addresses of the rows of `n` units of each column. Behind the last row are the first ones of the next lanes.
    ///
    /// # Safety
    /// As of [`Work::crossed_tile`].
    unsafe fn rows_of_units(&self, crossed: &Crossed<'_>, tile: &Tile, n: usize, room: &mut Items) -> Vec<*const Item> {
        let &Tile { base, ref places, from, .. } = tile;
        let (size, width) = (self.facts.item, places.len());
        let all = (n + 1) * PANEL - crossed.step;
        let own = all.min(crossed.depth - from);
        let mut rows = Vec::with_capacity(all);
        let mut walk = Walk::new(crossed.inner, base, from);
        for _ in 0..own {
            rows.push(walk.at().x.cast());
            walk.advance();
        }
        if own == all {
            return rows;
        }
        // Runs of columns whose next lanes are as far away. An element of a last lane stands for one that no unit has.
        let next: Vec<isize> = places.iter().map(|&(_, lane)| to_next(crossed.outer, lane)).collect();
        let to = room.room((all - own) * width * size);
        let mut walk = Walk::new(crossed.inner, base, 0);
        for row in 0..all - own {
            let (mut column, to) = (0, to.wrapping_byte_add(row * width * size));
            for run in next.chunk_by(|a, b| a == b) {
                let x = walk.at().x.wrapping_offset(run[0]);
                if run.len() == width {
                    rows.push(x.cast());
                    break;
                }
                let (x, to) = (x.wrapping_add(column * size), to.wrapping_byte_add(column * size));
                // SAFETY: these are elements of the array, and there is room for one of each column.
                unsafe { copy_run(x.cast(), to.cast(), run.len() * size) };
                column += run.len();
                if column == width {
                    rows.push(to.wrapping_byte_sub((column - run.len()) * size).cast_const());
                }
            }
            walk.advance();
        }
        rows
    }
}
