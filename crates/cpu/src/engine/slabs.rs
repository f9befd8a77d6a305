//! The route for small slabs: neighbours along a kept axis, each of which is a few outputs whole, their elements in any
//! order.
//!
//! A block of slabs becomes a matrix: a row of it is one element of each output of each slab. It is reduced column by
//! column. A slab of many outputs side by side is such a matrix by itself. Of other slabs, pieces are transposed: the
//! elements of neighbouring outputs that lie side by side. Where pieces would be tiny, whole slabs are transposed, so
//! that equal elements of all slabs lie side by side.

use warpfold_array::problem::{Dim, Walk};

use super::Work;
use super::nodes::{Items, Nodes};
use super::panels::Room;
use crate::loops::Value;
use crate::moves::{TILE, copy_pieces};
use crate::output::Output;
use crate::policy::{BLOCK, CHUNK, LEAST_LINE, LEAST_PIECE, WIDE_ROW, WIDE_SLAB};
use crate::route::has_gaps;
use crate::transpose::{Rows, take_apart};

/// The slabs of a problem.
struct Slabs {
    /// The axis along which they lie side by side.
    dim: Dim,
    /// Bytes from one of their elements to the next.
    unit: isize,
    /// Elements of a slab.
    each: usize,
    /// Where a slab's elements are: those with index 0 of each of its outputs, then those with index 1, and so on.
    /// Empty if that is their order.
    order: Vec<usize>,
    /// The places of a slab's outputs after its first one's.
    outs: Vec<isize>,
    /// The pieces that are transposed, if they are not tiny.
    pieces: Option<Pieces>,
    /// Rows of neighbouring outputs, and the axis along which these lie, if there are gaps between the rows.
    gaps: Option<[Dim; 2]>,
}

/// The pieces of a slab: rows of neighbouring outputs' elements that follow one another.
struct Pieces {
    /// Outputs of a piece.
    n: usize,
    /// Elements of each of them.
    columns: usize,
    /// Rows of the matrix from one such element to the next.
    step: usize,
    /// The place of each piece in the slab, and the row and the column of the matrix that its first element goes to.
    places: Vec<[usize; 3]>,
}

impl Pieces {
    /// The pieces of a slab whose elements are `unit` bytes apart; `None` if they are tiny.
    fn of(reduced: &[Dim], inner: &[Dim], unit: isize, size: usize) -> Option<Self> {
        let side = reduced.iter().position(|dim| dim.x == unit);
        let columns = side.map_or(1, |side| reduced[side].len);
        let (n, others) = match inner.split_last() {
            Some((lane, others)) if lane.x == unit * columns as isize => (lane.len, others),
            _ => (1, inner),
        };
        if n * columns < LEAST_PIECE && (columns > 1 || n * size < LEAST_LINE) {
            return None;
        }
        // The matrix's rows and columns as steps along the axes of which a piece has one index.
        let count = |dims: &[Dim]| dims.iter().map(|dim| dim.len).product::<usize>();
        let rows = |(i, dim): (usize, &Dim)| (side != Some(i)).then(|| (*dim, count(&reduced[i + 1..])));
        let rows: Vec<(Dim, usize)> = reduced.iter().enumerate().filter_map(rows).collect();
        let mut places = vec![[0; 3]];
        let axes = rows.into_iter().map(|(dim, step)| (dim, [step, 0]));
        let others = others.iter().enumerate().map(|(i, dim)| (*dim, [0, count(&others[i + 1..]) * n]));
        for (dim, [row, column]) in axes.chain(others) {
            let along = |i: usize| [i * (dim.x / unit) as usize, i * row, i * column];
            let add = |a: [usize; 3], b: [usize; 3]| [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
            places = places.iter().flat_map(|&at| (0..dim.len).map(move |i| add(at, along(i)))).collect();
        }
        Some(Pieces { n, columns, step: side.map_or(1, |side| count(&reduced[side + 1..])), places })
    }
}

/// The workspace of a task.
struct Scratch {
    items: Items,
    apart: Items,
    ordered: Items,
    nodes: Nodes,
    sorted: Nodes,
    room: Room,
}

impl Work<'_> {
    /// Reduces slabs that follow one another along the kept axis number `slab`.
    pub(super) unsafe fn slabs(&self, slab: usize, out: &Output<Value>) {
        let (outer, inner) = self.problem.kept.split_at(slab + 1);
        let slabs = self.slabs_along(outer[slab], inner);
        let width = slabs.outs.len();
        let total = self.problem.outputs / width;
        // Of a tile of columns that is not full, all are reduced.
        let columns = (BLOCK / slabs.each).max(WIDE_SLAB.div_ceil(width)) * width;
        let most = columns.next_multiple_of(TILE) / width;
        let group = (CHUNK / slabs.each).clamp(1, total.div_ceil(self.threads * 4).max(BLOCK / slabs.each));
        self.tasks(total.div_ceil(group), &|task| {
            let node = self.facts.node;
            let mut scratch = Scratch {
                items: Items::new(),
                apart: Items::new(),
                ordered: Items::new(),
                nodes: Nodes::new(node),
                sorted: Nodes::new(node),
                room: Room::new(node),
            };
            let (mut at, end) = (task * group, total.min((task + 1) * group));
            while at < end {
                let n = most.min(end - at).min(slabs.dim.len - at % slabs.dim.len);
                // SAFETY: the caller vouches for the elements and the places. These slabs follow one another, and no
                // other task has them.
                unsafe { self.some_slabs(&slabs, &Walk::new(outer, self.base, at), n, &mut scratch, out) };
                at += n;
            }
        });
    }

    fn slabs_along(&self, dim: Dim, inner: &[Dim]) -> Slabs {
        let mut reduced = self.problem.reduced.clone();
        let mut gaps = None;
        if let ([lane], [row]) = (inner, &mut reduced[..])
            && has_gaps(lane, row, self.problem.size)
        {
            // Rows are brought together first.
            gaps = Some([*row, *lane]);
            row.x = lane.x * lane.len as isize;
        }
        let unit = inner.iter().chain(&reduced).map(|dim| dim.x).min().expect("an axis of a slab");
        let (rows, columns) = (steps(&reduced, |dim| dim.x), steps(inner, |dim| dim.x));
        let order: Vec<usize> =
            rows.iter().flat_map(|row| columns.iter().map(move |column| ((row + column) / unit) as usize)).collect();
        let sorted = order.iter().enumerate().all(|(i, &place)| i == place);
        Slabs {
            dim,
            unit,
            each: order.len(),
            order: if sorted { Vec::new() } else { order },
            outs: steps(inner, |d| d.out),
            pieces: Pieces::of(&reduced, inner, unit, self.facts.item),
            gaps,
        }
    }

    /// Reduces `n` slabs.
    ///
    /// # Safety
    /// They are readable from the walk's place on, and no other thread writes their outputs.
    unsafe fn some_slabs(&self, slabs: &Slabs, at: &Walk<'_>, n: usize, scratch: &mut Scratch, out: &Output<Value>) {
        let (size, node, count) = (self.facts.item, self.facts.node, self.problem.count);
        let Slabs { dim, unit, each, order, outs, pieces, gaps } = slabs;
        let (each, width) = (*each, outs.len());
        let along = Dim { len: dim.len * each, x: *unit, mask: (dim.mask != 0).into(), out: 0 };
        let neighbours = dim.out == width as isize && outs.iter().enumerate().all(|(i, &out)| out == i as isize);
        // SAFETY: the caller vouches for the slabs, which are `n * each` neighbours. There is room for as many, all of
        // which are written before they are read, and for a node of each output.
        unsafe {
            let x = match gaps {
                Some([row, lane]) => {
                    let room = scratch.items.room(n * each * size);
                    self.bring_lines(at.at(), row, n * count, lane, width, room);
                    room.cast_const()
                }
                None => self.run_of(at.at(), &along, n * each, &mut scratch.items),
            };
            if neighbours
                && order.is_empty()
                && width >= WIDE_SLAB
                && (width * size >= WIDE_ROW || self.kernel.takes_dense(width))
            {
                scratch.nodes.write(n * width, |to| {
                    for slab in 0..n {
                        let to = to.byte_add(slab * width * node);
                        self.matrix(x.byte_add(slab * each * size), count, width, &mut scratch.room, to);
                    }
                });
                return self.finish(out, at.out(), scratch.nodes.first(), n * width, count);
            }
            let apart = scratch.apart.room(n * each * size);
            let whole = self.load.whole();
            if let Some(pieces) = pieces
                && neighbours
            {
                let rows = Rows::dense(pieces.n, pieces.columns, size, whole);
                if pieces.columns == 1 {
                    // Lines of neighbouring outputs' elements are copied as they lie; those of 8 bytes, which no
                    // piece is shorter than, are transposed by vectors as elements are.
                    let bytes = pieces.n * size;
                    match pieces.n == width && order.is_empty() && bytes == size_of::<u64>() {
                        true => take_apart(x, Rows::dense(n, count, bytes, whole), apart, n),
                        false => copy_pieces(x, n, each * size, &pieces.places, pieces.n, size, apart, width),
                    }
                }
                for slab in (0..n).filter(|_| pieces.columns > 1) {
                    for [place, row, column] in &pieces.places {
                        let to = apart.byte_add(((row * n + slab) * width + column) * size);
                        take_apart(x.byte_add((slab * each + place) * size), rows, to, pieces.step * n * width);
                    }
                }
                scratch.nodes.write(n * width, |to| self.matrix(apart, count, n * width, &mut scratch.room, to));
                return self.finish(out, at.out(), scratch.nodes.first(), n * width, count);
            }
            take_apart(x, Rows::dense(n, each, size, whole), apart, n);
            let mut matrix = apart;
            if !order.is_empty() {
                matrix = scratch.ordered.room(n * each * size);
                for (row, place) in order.iter().enumerate() {
                    let (from, to) = (apart.byte_add(place * n * size), matrix.byte_add(row * n * size));
                    std::ptr::copy_nonoverlapping(from.cast::<u8>(), to.cast(), n * size);
                }
            }
            scratch.nodes.write(n * width, |to| self.matrix(matrix, count, n * width, &mut scratch.room, to));
            let nodes = scratch.nodes.first();
            if neighbours {
                let rows = Rows::dense(width, n, node, false);
                scratch.sorted.write(n * width, |to| take_apart(nodes, rows, to, width));
                return self.finish(out, at.out(), scratch.sorted.first(), n * width, count);
            }
            for (column, place) in outs.iter().enumerate() {
                let nodes = nodes.byte_add(column * n * node);
                self.finish_apart(out, at.out() + place, dim.out, nodes, n, count);
            }
        }
    }
}

/// The sums of all combinations of steps along axes.
pub(super) fn steps(dims: &[Dim], step: fn(&Dim) -> isize) -> Vec<isize> {
    dims.iter().fold(vec![0], |steps: Vec<isize>, dim| {
        steps.iter().flat_map(|&at| (0..dim.len as isize).map(move |i| at + i * step(dim))).collect()
    })
}
