//! The route for small slabs: neighbours along a kept axis, each of which is a few outputs whole, their elements in any
//! order.
//!
//! A block of slabs is transposed, so that equal elements of all slabs lie side by side. Then it is a matrix: a row of
//! it is one element of each output of each slab. It is reduced column by column. A slab of many outputs side by side
//! is such a matrix by itself.

use warpfold_array::problem::{Dim, Walk};

use super::Work;
use super::nodes::{Items, Nodes};
use super::panels::Room;
use crate::loops::{Item, Node, Value};
use crate::moves::take_apart;
use crate::output::Output;
use crate::panel::Panel;
use crate::policy::{BLOCK, CHUNK, MOST_ROWS, WIDE_SLAB};

/// The slabs of a problem.
struct Slabs {
    /// The axis along which they lie side by side.
    dim: Dim,
    /// Elements of a slab.
    each: usize,
    /// Where a slab's elements are: those with index 0 of each of its outputs, then those with index 1, and so on.
    /// Empty if that is their order.
    order: Vec<usize>,
    /// The places of a slab's outputs after its first one's.
    outs: Vec<isize>,
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
        let total = self.problem.outputs / slabs.outs.len();
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
                let n = (BLOCK / slabs.each).min(end - at).min(slabs.dim.len - at % slabs.dim.len);
                // SAFETY: the caller vouches for the elements and the places. These slabs follow one another, and no
                // other task has them.
                unsafe { self.some_slabs(&slabs, &Walk::new(outer, self.base, at), n, &mut scratch, out) };
                at += n;
            }
        });
    }

    fn slabs_along(&self, dim: Dim, inner: &[Dim]) -> Slabs {
        let size = self.problem.size as isize;
        let steps = |dims: &[Dim], step: fn(&Dim) -> isize| {
            dims.iter().fold(vec![0], |steps: Vec<isize>, dim| {
                steps.iter().flat_map(|&at| (0..dim.len as isize).map(move |i| at + i * step(dim))).collect()
            })
        };
        let (rows, columns) = (steps(&self.problem.reduced, |dim| dim.x), steps(inner, |dim| dim.x));
        let order: Vec<usize> =
            rows.iter().flat_map(|row| columns.iter().map(move |column| ((row + column) / size) as usize)).collect();
        let sorted = order.iter().enumerate().all(|(i, &place)| i == place);
        Slabs { dim, each: order.len(), order: if sorted { Vec::new() } else { order }, outs: steps(inner, |d| d.out) }
    }

    /// Reduces `n` slabs.
    ///
    /// # Safety
    /// They are readable from the walk's place on, and no other thread writes their outputs.
    unsafe fn some_slabs(&self, slabs: &Slabs, at: &Walk<'_>, n: usize, scratch: &mut Scratch, out: &Output<Value>) {
        let (size, node, count) = (self.facts.item, self.facts.node, self.problem.count);
        let Slabs { dim, each, order, outs } = slabs;
        let (each, width) = (*each, outs.len());
        let along = Dim { len: dim.len * each, x: self.problem.size as isize, mask: (dim.mask != 0).into(), out: 0 };
        let neighbours = dim.out == width as isize && outs.iter().enumerate().all(|(i, &out)| out == i as isize);
        // SAFETY: the caller vouches for the slabs, which are `n * each` neighbours. There is room for as many, all of
        // which are written before they are read, and for a node of each output.
        unsafe {
            let x = self.run_of(at.at(), &along, n * each, &mut scratch.items);
            if neighbours && order.is_empty() && width >= WIDE_SLAB {
                scratch.nodes.write(n * width, |to| {
                    for slab in 0..n {
                        let to = to.byte_add(slab * width * node);
                        self.matrix(x.byte_add(slab * each * size), width, &mut scratch.room, to);
                    }
                });
                return self.finish(out, at.out(), scratch.nodes.first(), n * width, count);
            }
            let apart = scratch.apart.room(n * each * size);
            take_apart(x, n, each, size, self.load.whole(), apart);
            let mut matrix = apart;
            if !order.is_empty() {
                matrix = scratch.ordered.room(n * each * size);
                for (row, place) in order.iter().enumerate() {
                    let (from, to) = (apart.byte_add(place * n * size), matrix.byte_add(row * n * size));
                    std::ptr::copy_nonoverlapping(from.cast::<u8>(), to.cast(), n * size);
                }
            }
            scratch.nodes.write(n * width, |to| self.matrix(matrix, n * width, &mut scratch.room, to));
            let nodes = scratch.nodes.first();
            if neighbours {
                scratch.sorted.write(n * width, |to| take_apart(nodes, width, n, node, false, to));
                return self.finish(out, at.out(), scratch.sorted.first(), n * width, count);
            }
            for (column, place) in outs.iter().enumerate() {
                let nodes = nodes.byte_add(column * n * node);
                if dim.out == 1 {
                    self.finish(out, at.out() + place, nodes, n, count);
                    continue;
                }
                for i in 0..n {
                    let to = at.out() + place + i as isize * dim.out;
                    self.finish(out, to, nodes.byte_add(i * node), 1, count);
                }
            }
        }
    }

    /// The trees over the columns of a matrix that has a row for each element of an output.
    ///
    /// # Safety
    /// The matrix is readable, and `to` has room for `width` nodes.
    unsafe fn matrix(&self, x: *const Item, width: usize, room: &mut Room, to: *mut Node) {
        let count = self.problem.count;
        // SAFETY: the caller vouches for the rows and for room for the nodes.
        unsafe {
            if self.facts.runs && count <= MOST_ROWS {
                self.kernel.panel(Panel::new(self.rows_at(x, count, width).as_slice(), 0), width, to);
            } else {
                self.dense_rows(x, count, width, 0, room, to);
            }
        }
    }
}
