//! Rows of a matrix, column by column, however wide: brought to where the kernel's tiles of [`TILE`] columns are.

use std::mem::MaybeUninit;

use super::Work;
use super::nodes::{Items, Nodes};
use crate::loops::{Item, Node};
use crate::moves::{PITCH, TILE, WIDE, copy_rows, fill, side_by_side, take_apart};
use crate::panel::{Panel, RowList};
use crate::policy::{AHEAD, BLOCK, MOST_APART, PANEL};
use crate::simd::prefetch;

/// Room for what is brought together.
pub struct Room {
    tile: Items,
    /// A tile of elements, all of which is written, with what was there before.
    wide: Items,
    /// The nodes of a tile.
    nodes: Nodes,
    /// The nodes of dense rows.
    dense: Nodes,
    /// Rows, taken apart.
    pub apart: Items,
    /// Columns, taken apart.
    columns: Items,
}

impl Room {
    /// None yet, for nodes of so many bytes.
    pub fn new(node: usize) -> Self {
        Self {
            tile: Items::new(),
            wide: Items::new(),
            nodes: Nodes::new(node),
            dense: Nodes::new(node),
            apart: Items::new(),
            columns: Items::new(),
        }
    }
}

impl Work<'_> {
    /// The nodes of the `width` columns of rows, at most [`PANEL`], or for a kernel that runs, [`MOST_ROWS`].
    ///
    /// # Safety
    /// The elements are there, and room for the nodes.
    pub(super) unsafe fn panel(&self, rows: &[*const Item], start: u64, width: usize, room: &mut Room, to: *mut Node) {
        let size = self.facts.item;
        // SAFETY: the caller's.
        unsafe {
            if self.facts.runs || width >= TILE {
                return self.kernel.panel(Panel::new(rows, start), width, to);
            }
            let tile = room.tile.room(PANEL * TILE * size);
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

    /// The nodes of the `width` columns of rows without a gap between them, at most a block, the first of which has the
    /// index `start`.
    ///
    /// # Safety
    /// They are there, and room for the nodes.
    pub(super) unsafe fn dense_rows(
        &self,
        x: *const Item,
        rows: usize,
        width: usize,
        start: u64,
        room: &mut Room,
        to: *mut Node,
    ) {
        // SAFETY: the caller's.
        unsafe {
            if width <= MOST_APART && !self.facts.dense {
                return self.columns_apart(x, rows, width, start, room, to);
            }
            if rows < PANEL || (rows == PANEL && !self.facts.dense) {
                return self.panel(self.rows_at(x, rows, width).as_slice(), start, width, room, to);
            }
            let first = 1 << rows.ilog2();
            if self.facts.dense {
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

    /// The same of so few columns that each can be taken out of registers: it is a block.
    unsafe fn columns_apart(
        &self,
        x: *const Item,
        rows: usize,
        width: usize,
        start: u64,
        room: &mut Room,
        to: *mut Node,
    ) {
        let size = self.facts.item;
        let columns = room.columns.room(rows * width * size);
        // SAFETY: the caller's; there is room for all elements.
        unsafe {
            take_apart(x, rows, width, size, self.load.whole(), columns);
            for i in 0..width {
                let column = columns.byte_add(i * rows * size);
                self.kernel.block(std::ptr::null(), column, rows, start, to.byte_add(i * self.facts.node));
            }
        }
    }

    /// The same of a power of two of rows, at least [`PANEL`]. Every eight rows become one row of nodes; then rows of
    /// nodes become one, pair by pair, in the place of the right one of them.
    unsafe fn dense(&self, x: *const Item, rows: usize, width: usize, start: u64, room: &mut Room, to: *mut Node) {
        debug_assert!(rows * width <= BLOCK && rows >= PANEL && rows.is_power_of_two());
        let (groups, row) = (rows / PANEL, width * self.facts.node);
        let mut nodes = std::mem::replace(&mut room.dense, Nodes::new(0));
        // SAFETY: the caller's; the panels write all nodes, and a tile may write more than is wanted.
        unsafe {
            nodes.write(groups * width + TILE, |to| self.dense_panels(x, groups, width, start, room, to));
            let first = nodes.first_mut();
            let mut step = 1;
            while step < groups {
                let weight = (step * PANEL) as u64;
                for right in (2 * step - 1..groups).step_by(2 * step) {
                    let (left, right) = (first.byte_add((right - step) * row), first.byte_add(right * row));
                    self.kernel.merge(left, weight, right, weight, width);
                }
                step *= 2;
            }
            copy_nodes(first.byte_add((groups - 1) * row), to, row);
        }
        room.dense = nodes;
    }

    /// The nodes of the columns of every [`PANEL`] rows, `groups` times. There is room for a tile more.
    unsafe fn dense_panels(
        &self,
        x: *const Item,
        groups: usize,
        width: usize,
        start: u64,
        room: &mut Room,
        to: *mut Node,
    ) {
        let (size, node) = (self.facts.item, self.facts.node);
        let bytes = PANEL * width * size;
        // SAFETY: the caller's.
        unsafe {
            if width >= TILE {
                let rows = self.rows_at(x, PANEL, width);
                let panel = Panel { rows: rows.as_slice(), start, groups, step: bytes };
                return self.kernel.panel(panel, width, to);
            }
            // As many groups of rows side by side as there is room for.
            let together = if self.facts.indexed { 1 } else { WIDE / width };
            let (is_new, tile) = (room.wide.is_empty(), room.wide.room(PANEL * PITCH * size));
            if is_new {
                fill(tile, x, PANEL * PITCH, size);
            }
            let rows = self.rows_at(tile, PANEL, PITCH);
            for first in (0..groups).step_by(together) {
                let some = together.min(groups - first);
                let x = x.byte_add(first * bytes);
                prefetch(x.cast::<u8>().wrapping_byte_add(AHEAD), some * bytes);
                side_by_side(x, some, PANEL, width, size, tile);
                let wide = (some * width).next_multiple_of(TILE);
                let panel = Panel::new(rows.as_slice(), start + (first * PANEL) as u64);
                self.kernel.panel(panel, wide, to.byte_add(first * width * node));
            }
        }
    }
}

/// # Safety
/// They are there, and room for as many.
unsafe fn copy_nodes(from: *const Node, to: *mut Node, bytes: usize) {
    // SAFETY: the caller's.
    unsafe { std::ptr::copy_nonoverlapping(from.cast::<MaybeUninit<u8>>(), to.cast(), bytes) };
}
