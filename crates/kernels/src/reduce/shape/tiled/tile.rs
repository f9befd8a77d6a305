//! A tile: its columns and rows, and where they are in shared memory.

use super::axes::Axes;
use crate::params::params;
use crate::reduce::call::Call;
use crate::reduce::shape::map::Divisor;
use warpfold_simt::{Pack, Shared, Simt};

/// Threads of a block: few, since each first finds where the tile is.
pub const THREADS: u32 = 128;
/// Bytes of a window, of floats as they are added.
pub const WINDOW: usize = 128;
/// Lines of 16 bytes of a tile.
pub const LINES: usize = 2240;
/// Rows of a tile, with those that its windows read on.
pub const ROWS: usize = 2112;
/// Groups of rows of a tile.
pub const GROUPS: usize = 512;
/// Columns of a tile that is cut.
pub const WIDE: usize = 64;
/// Rows that windows read on, at most.
pub(super) const BEYOND: usize = 31;

params! {
    /// Columns, and how they are cut into tiles.
    pub struct Tiled[; const K] {
        /// The axes of columns outside runs, kept or reduced.
        pub outer: Axes<K>,
        /// The axes of an output's columns.
        pub across: Axes<K>,
        /// The axes of groups of rows.
        pub down: Axes<K>,
        /// Rows of a group: those that share lines, whatever the columns.
        pub group: Divisor,
        /// Bytes from row to row of a group.
        pub step: u64,
        /// Columns of an output.
        pub columns: u64,
        /// Rows of a column.
        pub rows: u64,
        /// Bytes and columns from an output's first column to the run's first.
        pub start: [i64; 2],
        /// Columns of a run.
        pub run: u64,
        /// Bytes from one of these to the next.
        pub near: u64,
        /// Columns of the inner one of a run's two axes.
        pub low: Divisor,
        /// Columns of an output from place to place of the inner axis, and of the outer one.
        pub numbers: [i64; 2],
        /// The same in elements of an output.
        pub befores: [i64; 2],
        /// The same in the output, in parts.
        pub outs: [i64; 2],
        /// Tiles side by side.
        pub beside: Divisor,
        /// Tiles one below the other.
        pub below: Divisor,
        /// Columns of a tile.
        pub wide: Divisor,
        /// Rows of a tile in which windows begin.
        pub fresh: Divisor,
        /// Lines of a group, at most.
        pub lines: Divisor,
        /// Lines from group to group in shared memory.
        pub pitch: u32,
        /// Bytes from row to row of those that are read on there.
        pub apart: u32,
        /// Rows that windows read on.
        pub beyond: u32,
        /// If a tile has all rows of its columns, which follow one another in the output: how many windows a lane
        /// takes. Otherwise none.
        pub spread: u32,
        /// Bytes from row to row of a window in shared memory, if all are equally far apart. Where a tile has all rows
        /// of its columns, a window then has whole ones, which are read by quads.
        pub even: u32,
        /// Bytes of an element.
        pub size: u32,
        /// Bytes from the input to the end of the array.
        pub end: u64,
    }
}

/// A block's tile.
pub(super) struct Tile<'a, const K: usize> {
    pub(super) call: &'a Call<Tiled<K>>,
    /// The address of its first column's first row.
    pub(super) first: u64,
    /// The place of its first column in the run.
    pub(super) column: u32,
    /// Its columns.
    pub(super) width: u32,
    /// The number of the run's first column in the output.
    pub(super) number: u64,
    /// Elements of the output before that.
    pub(super) before: u64,
    /// The run's place among parts.
    pub(super) out: i64,
    /// The first row.
    pub(super) row: u64,
    /// Its first group, and the rows of that group which are before the tile.
    pub(super) group: u64,
    pub(super) inside: u32,
    /// Rows of its columns.
    pub(super) own: u32,
}

/// Where elements are.
#[derive(Clone, Copy)]
pub(super) struct Stage {
    pub(super) lines: Shared<Pack<u32, 4>>,
    /// Lines in memory from the tile's first one to those of groups.
    pub(super) groups: Shared<i32>,
    /// Bytes from there to a group's first element.
    pub(super) shifts: Shared<u16>,
    /// Addresses of the columns that follow, and then bytes to the rows of these that are read on.
    pub(super) next: Shared<u64>,
    /// Bytes from the first line to a column's rows.
    pub(super) rows: Shared<u16>,
}

impl<'a, const K: usize> Tile<'a, K> {
    #[inline(always)]
    pub(super) fn new<S: Simt>(s: &S, call: &'a Call<Tiled<K>>) -> Self {
        let shape = &call.shape;
        let (rest, beside) = shape.beside.divide_small(s.block_x());
        let (outer, below) = shape.below.divide_small(rest);
        let at = shape.outer.at(outer as u64);
        let column = beside * shape.wide.by as u32;
        let row = below as u64 * shape.fresh.by;
        let (group, inside) = shape.group.divide(row);
        let more = if shape.spread != 0 { 0 } else { shape.beyond as u64 };
        Self {
            call,
            first: call.at.input.wrapping_add((at.x + shape.start[0]) as u64) + column as u64 * shape.near,
            column,
            width: (shape.run - column as u64).min(shape.wide.by) as u32,
            number: (at.mask + shape.start[1]) as u64,
            before: (at.mask + shape.start[1]) as u64 * shape.rows,
            out: at.out,
            row,
            group,
            inside: inside as u32,
            own: (shape.rows - row).min(shape.fresh.by + more) as u32,
        }
    }

    /// Groups of the tile.
    #[inline(always)]
    pub(super) fn groups(&self) -> u32 {
        self.call.shape.group.divide_small(self.inside + self.own - 1).0 + 1
    }

    /// The place of column `c` of the tile along both axes of the run, with such steps.
    #[inline(always)]
    fn along(&self, c: u32, steps: [i64; 2]) -> i64 {
        let (high, low) = self.call.shape.low.divide_small(self.column + c);
        low as i64 * steps[0] + high as i64 * steps[1]
    }

    /// The number in the output of column `c` of the tile.
    #[inline(always)]
    pub(super) fn number(&self, c: u32) -> u64 {
        self.number.wrapping_add(self.along(c, self.call.shape.numbers) as u64)
    }

    /// Elements of the output before that column, and the place of that output.
    #[inline(always)]
    pub(super) fn at(&self, c: u32) -> (u64, i64) {
        let shape = &self.call.shape;
        (self.before.wrapping_add(self.along(c, shape.befores) as u64), self.out + self.along(c, shape.outs))
    }
}
