//! The route for reductions whose fastest axis in memory is an outer reduced one: say, the sum of a transposed matrix.
//!
//! Index order and memory order differ. A lane is an index of the fastest axis in memory. If a large power of two
//! divides the length of a lane, lanes are cut into subtrees of that length, and reduced as columns are. Otherwise
//! lanes start at any index: then a task copies tiles of some lanes into index order, and keeps one [`Span`] for each
//! lane.

use warpfold_array::problem::{At, Dim, Walk};

use super::Work;
use super::columns::Strip;
use super::nodes::{Items, Nodes};
use super::span::Span;
use crate::loops::Value;
use crate::moves::{by_size, copy};
use crate::output::Output;
use crate::policy::{LEAST_DEPTH, MOST_DEPTH, MOST_NODES, STRIP_BYTES, TILE_DEPTH, TILE_LANES};

/// Elements of a lane's ring: those of a tile, and those that the tile before has left.
const RING: usize = 2 * TILE_DEPTH;

/// Elements from one lane's ring to the next. This is no power of two, so that lanes do not compete for one cache set.
const PITCH: usize = RING + 16;

/// Elements that a task copies at most.
const TASK: usize = 1 << 20;

impl Work<'_> {
    /// Reduces lanes as columns, or by spans.
    pub(super) unsafe fn transposed(&self, lane: usize, out: &Output<Value>) {
        let (outer, rest) = self.problem.reduced.split_at(lane);
        let (lane, inner) = (rest[0], &rest[1..]);
        let depth: usize = inner.iter().map(|d| d.len).product();
        let outer_len: usize = outer.iter().map(|d| d.len).product();
        let unit = MOST_DEPTH.min(1 << depth.trailing_zeros());
        if !self.facts.indexed && unit >= LEAST_DEPTH && self.problem.count / unit <= MOST_NODES {
            // SAFETY: the caller vouches for the elements and the places.
            return unsafe { self.lanes_as_columns(outer, lane, inner, unit, out) };
        }
        let groups = lane.len.div_ceil(TILE_LANES);
        let slice = (TASK / TILE_LANES).min(depth);
        let slices = depth.div_ceil(slice);
        let per_output = outer_len * groups * slices;
        let spans = self.results(self.problem.outputs * per_output, |task| {
            let base = Walk::new(&self.problem.kept, self.base, task / per_output).at();
            let at = task % per_output;
            let (o, group, s) = (at / slices / groups, at / slices % groups, at % slices);
            let tile = Tile {
                base: Walk::new(outer, base, o).at().step(&lane, group * TILE_LANES),
                lane,
                inner,
                lanes: TILE_LANES.min(lane.len - group * TILE_LANES),
                first: (o * lane.len + group * TILE_LANES) * depth,
                depth,
                from: s * slice,
                to: depth.min((s + 1) * slice),
            };
            // SAFETY: the tile's lanes and their part lie within the elements that the caller vouches for.
            unsafe { self.lanes(&tile) }
        });
        let mut walk = Walk::new(&self.problem.kept, self.base, 0);
        let mut root = Nodes::new(self.facts.node);
        for spans in spans.chunks(per_output) {
            let mut whole = Span::new(self.kernel, 0);
            for slices in spans.chunks(slices) {
                for i in 0..slices[0].len() {
                    for slice in slices {
                        whole.join(self.kernel, &slice[i]).expect("slices of a lane, and lanes, follow one another");
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
        let per_output = outer_len * strips * units;
        let nodes = self.results(self.problem.outputs * per_output, |task| {
            let base = Walk::new(&self.problem.kept, self.base, task / per_output).at();
            let at = task % per_output;
            let (o, first, u) = (at / units / strips, at / units % strips * width, at % units);
            let strip = Strip {
                axes: inner,
                base: Walk::new(outer, base, o).at().step(&lane, first),
                first_row: u * unit,
                rows: unit,
                width: width.min(lane.len - first),
            };
            // SAFETY: the strip lies within what the caller vouches for.
            unsafe { self.strip(&lane, &strip) }
        });
        let mut walk = Walk::new(&self.problem.kept, self.base, 0);
        let mut list = Nodes::with_capacity(self.facts.node, self.problem.count / unit);
        for nodes in nodes.chunks(per_output) {
            list.clear();
            for units in nodes.chunks(units) {
                for lane in 0..units[0].len() {
                    // SAFETY: every task has written a node of this kernel for each of its lanes.
                    units.iter().for_each(|nodes| unsafe { list.push(nodes.at(lane)) });
                }
            }
            // SAFETY: the list has a node for each unit of each lane; this thread alone writes results.
            unsafe {
                self.kernel.root(list.first_mut(), list.len(), unit as u64, unit as u64);
                self.finish(out, walk.out(), list.first(), 1, self.problem.count);
            }
            walk.advance();
        }
    }

    /// One span per lane of a tile.
    unsafe fn lanes(&self, tile: &Tile<'_>) -> Vec<Span> {
        let Tile { lanes, first, depth, .. } = *tile;
        let mut spans: Vec<Span> =
            (0..lanes).map(|i| Span::new(self.kernel, (first + i * depth + tile.from) as u64)).collect();
        // The place of a lane's next element in its ring: its index, so that a run of `TILE_DEPTH` elements from a
        // multiple of `TILE_DEPTH` is a subtree, and does not wrap around.
        let mut places: Vec<usize> = spans.iter().map(|span| span.end() as usize % RING).collect();
        let size = self.facts.item;
        let (mut line, mut rings) = (Items::new(), Items::new());
        let rings = rings.room(lanes * PITCH * size);
        let mut walk = Walk::new(tile.inner, tile.base, tile.from);
        for start in (tile.from..tile.to).step_by(TILE_DEPTH) {
            let n = TILE_DEPTH.min(tile.to - start);
            // SAFETY: the caller vouches for `lanes` elements of each line, and there is a ring for each lane.
            unsafe {
                for i in 0..n {
                    let x = self.run_of(walk.at(), &tile.lane, lanes, &mut line);
                    by_size!(size, T => {
                        for (lane, place) in places.iter().enumerate() {
                            let ring = rings.cast::<T>().add(lane * PITCH + (place + i) % RING);
                            ring.write_unaligned(x.cast::<T>().add(lane).read_unaligned());
                        }
                    }, else {
                        for (lane, place) in places.iter().enumerate() {
                            let ring = rings.byte_add((lane * PITCH + (place + i) % RING) * size);
                            copy(x.byte_add(lane * size), ring, size);
                        }
                    });
                    walk.advance();
                    if i % 32 == 31 || i + 1 == n {
                        self.tell((i % 32 + 1) * lanes);
                    }
                }
            }
            for (lane, (span, place)) in spans.iter_mut().zip(&mut places).enumerate() {
                *place = (*place + n) % RING;
                let end = (first + lane * depth + start + n) as u64;
                // Elements of an incomplete run wait for the next lines. Fewer than `TILE_DEPTH` wait, and at most as
                // many lines follow, so the ring has room.
                let whole = if start + n == tile.to { end } else { end - end % TILE_DEPTH as u64 };
                while span.end() < whole {
                    let from = span.end() as usize;
                    let to = (whole as usize).min((from / TILE_DEPTH + 1) * TILE_DEPTH);
                    let x = rings.wrapping_byte_add((lane * PITCH + from % RING) * size);
                    // SAFETY: these elements were written to the ring, and fewer than `RING` elements have followed
                    // them.
                    unsafe { span.extend(self.kernel, x, to - from) };
                }
            }
        }
        spans
    }
}

/// Some lanes of one output, and the part of them that a task reduces.
struct Tile<'a> {
    base: At,
    lane: Dim,
    inner: &'a [Dim],
    lanes: usize,
    /// The index of the first lane's first element.
    first: usize,
    /// Elements of a whole lane.
    depth: usize,
    from: usize,
    to: usize,
}
