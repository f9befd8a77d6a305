//! Rows of a matrix of any width, reduced column by column. Narrow rows are copied to tiles of [`TILE`] columns, which
//! is what kernels take.

use std::mem::MaybeUninit;

use super::Work;
use super::nodes::{Items, Nodes};
use crate::loops::{Item, Node};
use crate::moves::{PITCH, TILE, WIDE, copy_rows, fill, side_by_side};
use crate::panel::{Panel, RowList};
use crate::policy::{AHEAD, MOST_ROWS, PANEL};
use crate::simd::prefetch;

/// Workspace of panels.
pub struct Room {
    tile: Items,
    /// A tile of [`WIDE`] columns. All of it is written: where the present elements do not reach, with earlier ones.
    wide: Items,
    /// The nodes of a tile.
    nodes: Nodes,
    /// The nodes of dense rows.
    dense: Nodes,
    /// Rows, transposed.
    pub apart: Items,
}

impl Room {
    /// An empty workspace, for nodes of `node` bytes.
    pub fn new(node: usize) -> Self {
        Self {
            tile: Items::new(),
            wide: Items::new(),
            nodes: Nodes::new(node),
            dense: Nodes::new(node),
            apart: Items::new(),
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
            let whole = rows <= self.facts.rows && (!self.facts.dense || self.facts.rows > PANEL && width >= TILE);
            if rows < PANEL || whole {
                return self.panel(self.rows_at(x, rows, width).as_slice(), start, width, room, to);
            }
            let mut first = 1 << rows.ilog2();
            if self.facts.dense && first * width > self.facts.dense_items {
                // More than the kernel takes at a time: a subtree of them.
                if first == rows {
                    first /= 2;
                }
                self.dense_rows(x, first, width, start, room, to);
            } else if self.facts.dense {
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

    /// [`Work::dense_rows`] of a power of two of rows, at least [`PANEL`]. Every eight rows become one row of nodes.
    /// Then rows of nodes are merged pair by pair, each pair into its right row.
    unsafe fn dense(&self, x: *const Item, rows: usize, width: usize, start: u64, room: &mut Room, to: *mut Node) {
        debug_assert!(rows >= PANEL && rows.is_power_of_two());
        let (size, row) = (self.facts.item, width * self.facts.node);
        let groups = rows / PANEL;
        let mut nodes = std::mem::replace(&mut room.dense, Nodes::new(0));
        // SAFETY: the caller vouches for the elements; the panels write all nodes.
        unsafe {
            if width >= TILE {
                nodes.write(groups * width, |to| {
                    let rows = self.rows_at(x, PANEL, width);
                    let panel = Panel { rows: rows.as_slice(), start, groups, step: PANEL * width * size };
                    self.kernel.panel(panel, width, to);
                });
                self.merge_rows(nodes.first_mut(), groups, PANEL, width);
                copy_nodes(nodes.first().byte_add((groups - 1) * row), to, row);
            } else {
                // As many groups lie side by side as a tile has room for. If the kernel needs indices, it is one.
                let together = if self.facts.indexed { 1 } else { groups.min(1 << (WIDE / width).ilog2()) };
                let tiles = groups / together;
                nodes.write(tiles * width, |to| {
                    for tile in 0..tiles {
                        let first = tile * together * PANEL;
                        let x = x.byte_add(first * width * size);
                        self.dense_tile(x, together, width, start + first as u64, room, to.byte_add(tile * row));
                    }
                });
                self.merge_rows(nodes.first_mut(), tiles, together * PANEL, width);
                copy_nodes(nodes.first().byte_add((tiles - 1) * row), to, row);
            }
        }
        room.dense = nodes;
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

    /// The nodes of the columns of `groups` groups of [`PANEL`] rows, a power of two that fits a tile.
    ///
    /// In the tile, groups lie in the order of their numbers with the bits reversed. So the left groups of all pairs
    /// are in its first half and the right groups in its second, and one call merges all pairs. The same holds for the
    /// pairs of merged groups, and so on.
    unsafe fn dense_tile(
        &self,
        x: *const Item,
        groups: usize,
        width: usize,
        start: u64,
        room: &mut Room,
        to: *mut Node,
    ) {
        let (size, node) = (self.facts.item, self.facts.node);
        let (is_new, tile) = (room.wide.is_empty(), room.wide.room(PANEL * PITCH * size));
        // SAFETY: the caller vouches for the elements; the panel writes all nodes of the tile.
        unsafe {
            if is_new {
                fill(tile, x, PANEL * PITCH, size);
            }
            prefetch(x.cast::<u8>().wrapping_byte_add(AHEAD), groups * PANEL * width * size);
            side_by_side(x, groups, PANEL, width, size, tile);
            let rows = self.rows_at(tile, PANEL, PITCH);
            let wide = (groups * width).next_multiple_of(TILE);
            room.nodes.write(wide, |to| self.kernel.panel(Panel::new(rows.as_slice(), start), wide, to));
            let (mut nodes, mut half, mut weight) = (room.nodes.first_mut(), groups / 2, PANEL as u64);
            while half > 0 {
                let right = nodes.byte_add(half * width * node);
                self.kernel.merge(nodes, weight, right, weight, half * width);
                nodes = right;
                half /= 2;
                weight *= 2;
            }
            copy_nodes(nodes, to, width * node);
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
