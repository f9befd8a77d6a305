//! Rows of a matrix, column by column, however wide: brought to where the kernel's tiles of [`TILE`] columns are.

use std::mem::MaybeUninit;

use super::Work;
use super::nodes::{Items, Nodes};
use crate::loops::{Item, Node};
use crate::moves::{PITCH, TILE, WIDE, copy_rows, fill, side_by_side};
use crate::panel::{Panel, RowList};
use crate::policy::{AHEAD, BLOCK, PANEL};
use crate::simd::prefetch;

/// What rows are of.
#[derive(Clone, Copy)]
enum Of {
    /// Elements, the first of which have this index.
    Items(u64),
    /// Nodes of so many elements each.
    Nodes(u64),
}

/// Room for what is brought together.
pub struct Room {
    tile: Items,
    /// Tiles of elements and of nodes, all of which is written, with what was there before.
    wide: [Items; 2],
    /// The nodes of a tile.
    nodes: Nodes,
    /// Levels of dense rows take turns.
    levels: [Nodes; 2],
    /// Rows, taken apart.
    pub apart: Items,
}

impl Room {
    /// None yet, for nodes of so many bytes.
    pub fn new(node: usize) -> Self {
        Self {
            tile: Items::new(),
            wide: [Items::new(), Items::new()],
            nodes: Nodes::new(node),
            levels: [Nodes::new(node), Nodes::new(node)],
            apart: Items::new(),
        }
    }
}

impl Work<'_> {
    /// The nodes of the `width` columns of rows, at most [`PANEL`], or for a kernel that runs, [`MOST_ROWS`].
    ///
    /// # Safety
    /// The elements are there, and room for the nodes.
    pub(super) unsafe fn panel(&self, rows: &[*const Item], start: u64, width: usize, room: &mut Room, to: *mut Node) {
        // SAFETY: the caller's.
        unsafe {
            if self.facts.runs {
                self.kernel.panel(Panel::new(rows, start), width, to);
            } else {
                self.fold(Of::Items(start), rows, width, room, to);
            }
        }
    }

    /// The nodes of the columns of at most [`PANEL`] rows.
    ///
    /// # Safety
    /// What rows are of is there, and room for the nodes.
    unsafe fn fold<X>(&self, of: Of, rows: &[*const X], width: usize, room: &mut Room, to: *mut Node) {
        let size = self.size(of);
        // SAFETY: the caller's.
        unsafe {
            if width >= TILE {
                return self.tiles(of, Panel::new(rows, 0), width, to);
            }
            let tile = room.tile.room(PANEL * TILE * size).cast::<X>();
            copy_rows(rows, width, size, tile);
            let rows: RowList<X> = self.rows_at(tile, rows.len(), TILE, size);
            room.nodes.write(TILE, |to| self.tiles(of, Panel::new(rows.as_slice(), 0), TILE, to));
            copy_nodes(room.nodes.first(), to, width * self.facts.node);
        }
    }

    /// The same of at least as many columns as in a tile.
    unsafe fn tiles<X>(&self, of: Of, panel: Panel<'_, X>, width: usize, to: *mut Node) {
        // SAFETY: the caller's.
        unsafe {
            match of {
                Of::Items(start) => self.kernel.panel(Panel { start, ..panel.cast() }, width, to),
                Of::Nodes(weight) => self.kernel.above(panel.cast(), weight, width, to),
            }
        }
    }

    /// Bytes of what rows are of.
    fn size(&self, of: Of) -> usize {
        match of {
            Of::Items(_) => self.facts.item,
            Of::Nodes(_) => self.facts.node,
        }
    }

    /// The addresses of rows without a gap between them.
    fn rows_at<X>(&self, x: *const X, rows: usize, width: usize, size: usize) -> RowList<X> {
        (0..rows).map(|i| x.wrapping_byte_add(i * width * size)).collect()
    }

    /// The same of elements.
    pub(super) fn adjacent_rows(&self, x: *const Item, rows: usize, width: usize) -> RowList<Item> {
        self.rows_at(x, rows, width, self.facts.item)
    }

    /// The nodes of the `width` columns of rows without a gap between them, at most a block, the first of which has the index `start`.
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
            if rows < PANEL || (rows == PANEL && !self.facts.dense) {
                return self.panel(self.adjacent_rows(x, rows, width).as_slice(), start, width, room, to);
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

    /// The same of a power of two of rows, at least [`PANEL`]. Every eight rows become one row of nodes, which lie as the elements did,
    /// so the same is done to them until one row is left.
    unsafe fn dense(&self, x: *const Item, rows: usize, width: usize, start: u64, room: &mut Room, to: *mut Node) {
        debug_assert!(rows * width <= BLOCK && rows >= PANEL && rows.is_power_of_two());
        let [mut from, mut next] = std::mem::replace(&mut room.levels, [Nodes::new(0), Nodes::new(0)]);
        // SAFETY: the caller's; each step writes all of its nodes.
        unsafe {
            let (mut rows, mut weight) = (rows / PANEL, PANEL as u64);
            // Tiles may write more than is wanted, which what comes next overwrites.
            from.write(rows * width + TILE, |to| self.step(Of::Items(start), x, PANEL, rows, width, room, to));
            while rows > 1 {
                let n = rows.min(PANEL);
                rows /= n;
                next.write(rows * width + TILE, |to| self.step(Of::Nodes(weight), from.first(), n, rows, width, room, to));
                weight *= n as u64;
                std::mem::swap(&mut from, &mut next);
            }
            copy_nodes(from.first(), to, width * self.facts.node);
        }
        room.levels = [from, next];
    }

    /// Every `n` rows become one, `groups` times. There is room for a tile more.
    #[expect(clippy::too_many_arguments, reason = "three of them are addresses")]
    unsafe fn step<X>(
        &self,
        of: Of,
        x: *const X,
        n: usize,
        groups: usize,
        width: usize,
        room: &mut Room,
        to: *mut Node,
    ) {
        let (size, node) = (self.size(of), self.facts.node);
        let bytes = n * width * size;
        // SAFETY: the caller's.
        unsafe {
            if width >= TILE {
                let rows: RowList<X> = self.rows_at(x, n, width, size);
                return self.tiles(of, Panel { rows: rows.as_slice(), start: 0, groups, step: bytes }, width, to);
            }
            // As many groups of rows side by side as there is room for.
            let one = matches!(of, Of::Items(_)) && self.facts.indexed;
            let together = if one { 1 } else { WIDE / width };
            let tile = &mut room.wide[matches!(of, Of::Nodes(_)) as usize];
            let (is_new, tile) = (tile.is_empty(), tile.room(PANEL * PITCH * size).cast::<X>());
            if is_new {
                fill(tile, x, PANEL * PITCH, size);
            }
            let rows: RowList<X> = self.rows_at(tile, n, PITCH, size);
            for first in (0..groups).step_by(together) {
                let some = together.min(groups - first);
                let x = x.byte_add(first * bytes);
                let of = match of {
                    Of::Items(start) => {
                        prefetch(x.cast::<u8>().wrapping_byte_add(AHEAD), some * bytes);
                        Of::Items(start + (first * n) as u64)
                    }
                    nodes => nodes,
                };
                side_by_side(x, some, n, width, size, tile);
                let wide = (some * width).next_multiple_of(TILE);
                self.tiles(of, Panel::new(rows.as_slice(), 0), wide, to.byte_add(first * width * node));
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
