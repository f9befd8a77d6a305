//! Rows of a matrix of any width, reduced column by column. Narrow rows are copied to tiles of [`TILE`] columns, which
//! is what kernels take, or their columns become blocks.

use std::mem::MaybeUninit;

use super::Work;
use super::nodes::{Items, Nodes};
use crate::loops::{Item, Node};
use crate::moves::{TILE, copy_lines, copy_rows};
use crate::panel::{Panel, RowList};
use crate::policy::{BLOCK, LEAST_ABREAST, MOST_ROWS, PANEL};
use crate::transpose::{Rows, take_apart};

/// Bytes between columns that are blocks, so that they do not compete for one cache set.
const PAD: usize = 64;

/// Workspace of panels.
pub struct Room {
    tile: Items,
    /// The nodes of a tile.
    nodes: Nodes,
    /// The nodes of dense rows.
    dense: Nodes,
    /// Few columns side by side, or stretches of them.
    columns: Items,
    /// The nodes of stretches.
    abreast: Nodes,
    /// Rows, transposed.
    pub apart: Items,
    /// Whether the row before had a final node.
    pub ends: bool,
}

impl Room {
    /// An empty workspace, for nodes of `node` bytes.
    pub fn new(node: usize) -> Self {
        Self {
            tile: Items::new(),
            nodes: Nodes::new(node),
            dense: Nodes::new(node),
            columns: Items::new(),
            abreast: Nodes::new(node),
            apart: Items::new(),
            ends: false,
        }
    }
}

impl Work<'_> {
    /// The nodes of the `width` columns of a panel.
    ///
    /// # Safety
    /// Every pointer in `rows` is good for `width` elements, and `to` has room for as many nodes.
    pub(super) unsafe fn panel(&self, rows: &[*const Item], start: u64, width: usize, room: &mut Room, to: *mut Node) {
        let size = self.facts.item;
        // SAFETY: the caller vouches for `width` elements of each row, and room for `width` nodes. The tile has room
        // for as many rows of TILE elements, and TILE is more than `width` where nodes are copied from there.
        unsafe {
            if self.facts.runs || width >= TILE {
                return self.kernel.panel(Panel::new(rows, start), width, to);
            }
            let tile = room.tile.room(rows.len() * TILE * size);
            copy_rows(rows, width, size, tile);
            let rows = self.rows_at(tile, rows.len(), TILE);
            room.nodes.write(TILE, |to| self.kernel.panel(Panel::new(rows.as_slice(), start), TILE, to));
            copy_nodes(room.nodes.first(), to, width * self.facts.node);
        }
    }

    /// The addresses of rows of elements, `width` elements apart.
    pub(super) fn rows_at(&self, x: *const Item, rows: usize, width: usize) -> RowList<Item> {
        (0..rows).map(|i| x.wrapping_byte_add(i * width * self.facts.item)).collect()
    }

    /// The nodes of the `width` columns of a matrix.
    ///
    /// # Safety
    /// `rows * width` elements are readable at `x`, and `to` has room for `width` nodes.
    pub(super) unsafe fn matrix(&self, x: *const Item, rows: usize, width: usize, room: &mut Room, to: *mut Node) {
        if !self.facts.runs {
            // SAFETY: the caller vouches for the rows and for room for the nodes.
            return unsafe { self.dense_rows(x, rows, width, 0, room, to) };
        }
        for first in (0..rows).step_by(MOST_ROWS) {
            let x = x.wrapping_byte_add(first * width * self.facts.item);
            let some = self.rows_at(x, MOST_ROWS.min(rows - first), width);
            // SAFETY: the caller vouches for the rows and for room for the nodes, which the first panel writes.
            unsafe {
                match first {
                    0 => self.kernel.panel(Panel::new(some.as_slice(), 0), width, to),
                    _ => self.kernel.panel_after(some.as_slice(), first as u64, width, to),
                }
            }
        }
    }

    /// The nodes of the `width` columns of dense rows. The first row has the index `start`.
    ///
    /// # Safety
    /// `rows * width` elements are readable at `x`, and `to` has room for `width` nodes.
    pub(super) unsafe fn dense_rows(
        &self,
        x: *const Item,
        rows: usize,
        width: usize,
        start: u64,
        room: &mut Room,
        to: *mut Node,
    ) {
        // SAFETY: the caller vouches for all rows, so for the first ones and for the rest after them, and for room for
        // `width` nodes; `right` has room for as many.
        unsafe {
            let own = self.kernel.takes_dense(width);
            let whole = rows <= self.facts.rows && (!own || self.facts.rows > PANEL && width >= TILE);
            if rows < PANEL || whole {
                return self.panel(self.rows_at(x, rows, width).as_slice(), start, width, room, to);
            }
            let mut first = 1 << rows.ilog2();
            if !own && width < TILE && rows <= BLOCK {
                // Blocks of any length.
                first = rows;
            }
            // Kernels of few columns take more rows of these at a time than of many columns.
            let tall = self.facts.rows > PANEL && width >= TILE && first > self.facts.rows;
            if own && (tall || first * width > self.facts.dense_items) {
                // More than the kernel takes at a time: a subtree of them.
                if first == rows {
                    first /= 2;
                }
                self.dense_rows(x, first, width, start, room, to);
            } else if own {
                self.kernel.dense(x, first * width, start, width, to);
            } else {
                self.dense(x, first, width, start, room, to);
            }
            if first == rows {
                return;
            }
            let rest = x.wrapping_byte_add(first * width * self.facts.item);
            let mut right = Nodes::new(self.facts.node);
            right.write(width, |to| self.dense_rows(rest, rows - first, width, start + first as u64, room, to));
            self.kernel.merge(to, first as u64, right.first_mut(), (rows - first) as u64, width);
            copy_nodes(right.first(), to, width * self.facts.node);
        }
    }

    /// [`Work::dense_rows`] of a power of two of rows, at least [`PANEL`]. Every few rows become one row of nodes, and
    /// rows of nodes are merged pair by pair, each pair into its right row. Columns that are fewer than in a tile are
    /// brought side by side, and each is a block: there may be any number of rows.
    unsafe fn dense(&self, x: *const Item, rows: usize, width: usize, start: u64, room: &mut Room, to: *mut Node) {
        debug_assert!((PANEL..=BLOCK).contains(&rows) && (rows.is_power_of_two() || width < TILE));
        let (size, node) = (self.facts.item, self.facts.node);
        if width < TILE {
            if let Some(abreast) = self.stretches_abreast(rows, width) {
                // SAFETY: the caller's.
                return unsafe { self.dense_abreast(x, rows, width, abreast, room, to) };
            }
            let mut columns = std::mem::replace(&mut room.columns, Items::new());
            let pitch = rows + PAD.div_ceil(size);
            let apart = columns.room(pitch * width * size);
            // SAFETY: the caller vouches for the elements and for room for the nodes; there is room for all columns,
            // which are written before they are read.
            unsafe {
                take_apart(x, Rows::dense(rows, width, size, self.load.whole()), apart, pitch);
                for column in 0..width {
                    let (x, to) = (apart.byte_add(column * pitch * size), to.byte_add(column * node));
                    self.kernel.block(std::ptr::null(), x, rows, start, to);
                }
            }
            room.columns = columns;
            return;
        }
        let high = self.facts.rows.min(rows);
        let groups = rows / high;
        let mut nodes = std::mem::replace(&mut room.dense, Nodes::new(0));
        // SAFETY: the caller vouches for the elements; the panels write all nodes.
        unsafe {
            nodes.write(groups * width, |to| {
                let rows = self.rows_at(x, high, width);
                let panel = Panel { rows: rows.as_slice(), start, groups, step: high * width * size };
                self.kernel.panel(panel, width, to);
            });
            self.merge_rows(nodes.first_mut(), groups, high, width);
            copy_nodes(nodes.first().byte_add((groups - 1) * width * node), to, width * node);
        }
        room.dense = nodes;
    }

    /// How many stretches of so many rows of few columns are brought abreast, so that they fill tiles of columns.
    /// `None` if each column is to be a block.
    fn stretches_abreast(&self, rows: usize, width: usize) -> Option<usize> {
        let facts = &self.facts;
        let is_tree = !facts.number && !facts.free && !facts.indexed && facts.rows == PANEL;
        let by_columns = is_tree && self.kernel.apart(PANEL + 1);
        let takes = by_columns && rows.is_power_of_two() && width * facts.item >= LEAST_ABREAST;
        let reads = |abreast: usize| (abreast * width).next_multiple_of(TILE);
        let is_full = |&abreast: &usize| 8 * reads(abreast) <= 9 * abreast * width && abreast * width >= TILE;
        (1..).map(|i| 1 << i).take_while(|&abreast| abreast * PANEL <= rows).find(is_full).filter(|_| takes)
    }

    /// [`Work::dense`] of few columns, whose rows are cut into stretches. A row of each stretch, one beside the other,
    /// is a row of more columns: so elements are moved a row at a time, and added by whole vectors. 128 MiB, two
    /// threads of a busy Xeon with AVX-512, ms of columns as blocks, and of stretches abreast, along axis 0: std of
    /// bf16 (2033601, 33) 11.6, 10.0; (1300000, 51) 11.1, 8.9; of f16 (1430000, 47) 12.1, 8.6; var of f32 (713924, 47)
    /// 8.2, 6.7; of f64 (299593, 56) 6.9, 5.3; mean of f32 (713924, 47) that skips NaNs 8.1, 6.5. Nodes of one number
    /// gain nothing, nor does what takes more rows at a time: mean of bf16 (1300000, 51) 5.8, 6.6; logsumexp 11.3,
    /// 12.7.
    unsafe fn dense_abreast(
        &self,
        x: *const Item,
        rows: usize,
        width: usize,
        abreast: usize,
        room: &mut Room,
        to: *mut Node,
    ) {
        let (size, node, depth) = (self.facts.item, self.facts.node, rows / abreast);
        let mut columns = std::mem::replace(&mut room.columns, Items::new());
        let mut nodes = std::mem::replace(&mut room.abreast, Nodes::new(0));
        let apart = columns.room(rows * width * size);
        // SAFETY: the caller vouches for the elements and for room for the nodes; there is room for as many elements,
        // all of which are written before they are read, and for a node of each column of each stretch.
        unsafe {
            for stretch in 0..abreast {
                let (x, to) = (x.byte_add(stretch * depth * width * size), apart.byte_add(stretch * width * size));
                copy_lines(x, depth, (width * size) as isize, width, size, to, abreast * width);
            }
            nodes.write(abreast * width, |to| self.dense(apart, depth, abreast * width, 0, room, to));
            self.merge_rows(nodes.first_mut(), abreast, depth, width);
            copy_nodes(nodes.first().byte_add((abreast - 1) * width * node), to, width * node);
        }
        (room.columns, room.abreast) = (columns, nodes);
    }

    /// Merges a power of two of rows of nodes, of `weight` elements each, pair by pair. The last row becomes the
    /// result.
    unsafe fn merge_rows(&self, nodes: *mut Node, rows: usize, weight: usize, width: usize) {
        let row = width * self.facts.node;
        let mut step = 1;
        while step < rows {
            let weight = (step * weight) as u64;
            for right in (2 * step - 1..rows).step_by(2 * step) {
                // SAFETY: both rows are among the nodes, which the caller vouches for.
                unsafe {
                    let (left, right) = (nodes.byte_add((right - step) * row), nodes.byte_add(right * row));
                    self.kernel.merge(left, weight, right, weight, width);
                }
            }
            step *= 2;
        }
    }
}

/// Copies nodes of `bytes` bytes in all.
///
/// # Safety
/// The nodes are written, `to` has room for them, and both do not overlap.
unsafe fn copy_nodes(from: *const Node, to: *mut Node, bytes: usize) {
    // SAFETY: the caller vouches for `bytes` bytes of nodes on either side, which do not overlap.
    unsafe { std::ptr::copy_nonoverlapping(from.cast::<MaybeUninit<u8>>(), to.cast(), bytes) };
}
