//! Tiles of memory, whose elements are reduced in another order than they lie in.
//!
//! Idea: an output's elements are *columns*, one after the other, whose *rows* follow one another in the order of the
//! tree. Neighbours in memory are columns of a *run*, in any order. A block copies the rows of some neighbouring
//! columns to shared memory by whole lines. From there a thread takes a *window*, a whole subtree of 128 bytes of one
//! column, and leaves its part in the workspace, where another launch reduces the parts. Where the rows of each column
//! are is found once for a tile, in a table, so any layout costs the same. Long columns are cut: a tile has the windows
//! that begin in its rows, and reads on until they end, if need be in the next column. Short ones are whole in a tile,
//! and windows go on from one to the next. Bottleneck: shared memory, which is read twice for an element.

mod axes;
mod copy;

use crate::node::publish;
use crate::params::params;
use crate::reduce::call::Call;
use crate::reduce::fold::Tree;
use crate::reduce::recipe::code;
use crate::reduce::shape::map::Divisor;
use crate::reduce::shape::piece::{Ordered, PACKS, Stretch, Team, Walk, followed, packs};
use crate::reduce::shape::split::STEPS;
use crate::source::Bits;
use core::marker::PhantomData;
use warpfold_core::DType;
use warpfold_simt::{ALL, Pack, Shared, Simt};

pub use axes::{Axes, Axis};

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
const BEYOND: usize = 31;

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
        /// Whether a tile has all rows of its columns, which follow one another in the output.
        pub whole: u32,
        /// Bytes from row to row of a window in shared memory, if all are equally far apart.
        pub even: u32,
        /// Bytes of an element.
        pub size: u32,
        /// Bytes from the input to the end of the array.
        pub end: u64,
    }
}

/// A block's tile.
struct Tile<'a, const K: usize> {
    call: &'a Call<Tiled<K>>,
    /// The address of its first column's first row.
    first: u64,
    /// The place of its first column in the run.
    column: u32,
    /// Its columns.
    width: u32,
    /// The number of the run's first column in the output.
    number: u64,
    /// Elements of the output before that.
    before: u64,
    /// The run's place among parts.
    out: i64,
    /// The first row.
    row: u64,
    /// Its first group, and the rows of that group which are before the tile.
    group: u64,
    inside: u32,
    /// Rows of its columns.
    own: u32,
}

/// Where elements are.
#[derive(Clone, Copy)]
struct Stage {
    lines: Shared<Pack<u32, 4>>,
    /// Lines in memory from the tile's first one to those of groups.
    groups: Shared<i32>,
    /// Bytes from there to a group's first element.
    shifts: Shared<u16>,
    /// Addresses of the columns that follow, and then bytes to the rows of these that are read on.
    next: Shared<u64>,
    /// Bytes from the first line to a column's rows.
    rows: Shared<u16>,
}

/// A thread's window.
struct Window {
    /// The number of its first element in the output.
    number: u64,
    /// Elements, none if there is no such window.
    count: u32,
    /// Its output's place among parts.
    out: i64,
    /// Where its column is in shared memory; if rows are equally far apart, its first element.
    first: Shared<u8>,
    /// Where its rows are.
    rows: Shared<u16>,
    /// Bytes from row to row, if they are equally far apart.
    even: u32,
}

/// See the module.
#[inline(always)]
pub fn kernel<S: Simt, F: Tree, const K: usize>(s: &S, call: &Call<Tiled<K>>) {
    let f = F::new(&call.recipe);
    let stage = Stage {
        lines: s.shared::<u16, { 8 * LINES }, 0>("a tile").cast(),
        groups: s.shared::<i32, GROUPS, 1>("where groups are"),
        shifts: s.shared::<u16, GROUPS, 2>("where they begin"),
        next: s.shared::<u64, { WIDE + BEYOND }, 3>("where next columns are"),
        rows: s.shared::<u16, ROWS, 4>("where rows are"),
    };
    let tile = Tile::new(s, call);
    tile.find(s, stage);
    s.barrier();
    tile.read(s, stage);
    // Beside the copies.
    tile.table(s, stage, PACKS * F::Bits::PER);
    if s.branch(call.shape.whole == 0) {
        tile.read_on(s, stage);
    }
    s.copied();
    if s.branch(call.shape.whole != 0) {
        s.barrier();
        tile.read_on_whole(s, stage);
    }
    s.barrier();
    tile.windows(s, &f, stage);
}

impl<'a, const K: usize> Tile<'a, K> {
    #[inline(always)]
    fn new<S: Simt>(s: &S, call: &'a Call<Tiled<K>>) -> Self {
        let shape = &call.shape;
        let (rest, beside) = shape.beside.divide_small(s.block_x());
        let (outer, below) = shape.below.divide_small(rest);
        let at = shape.outer.at(outer as u64);
        let column = beside * shape.wide.by as u32;
        let row = below as u64 * shape.fresh.by;
        let (group, inside) = shape.group.divide(row);
        let more = if shape.whole != 0 { 0 } else { shape.beyond as u64 };
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
    fn groups(&self) -> u32 {
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
    fn number(&self, c: u32) -> u64 {
        self.number.wrapping_add(self.along(c, self.call.shape.numbers) as u64)
    }

    /// Elements of the output before that column, and the place of that output.
    #[inline(always)]
    fn at(&self, c: u32) -> (u64, i64) {
        let shape = &self.call.shape;
        (self.before.wrapping_add(self.along(c, shape.befores) as u64), self.out + self.along(c, shape.outs))
    }

    /// The window with this number among the tile's.
    #[inline(always)]
    fn window<S: Simt>(&self, s: &S, stage: Stage, i: u32, len: u32) -> Window {
        let shape = &self.call.shape;
        let (c, mut row, number, out, there);
        if s.branch(shape.whole != 0) {
            let (before, own) = self.at(0);
            let start = (before as u32).wrapping_neg() % len + i * len;
            (c, row) = shape.fresh.divide_small(start);
            (number, out) = (before + start as u64, own);
            there = c < self.width;
        } else {
            (row, c) = shape.wide.divide_small(i);
            let (column, own) = self.at(c);
            let before = column.wrapping_add(self.row);
            out = own;
            row = (before as u32).wrapping_neg() % len + row * len;
            number = before.wrapping_add(row as u64);
            there = c < self.width && row < shape.fresh.by as u32 && self.row + (row as u64) < shape.rows;
        }
        let all = shape.columns * shape.rows;
        let count = if there && number < all { (all - number).min(len as u64) as u32 } else { 0 };
        let (c, row) = if count > 0 { (c, row) } else { (0, 0) };
        let mut first = stage.lines.cast::<u8>().offset(c * shape.near as u32);
        if s.branch(shape.even != 0) {
            let group = shape.group.divide_small(row).0;
            first = first.offset(16 * group * shape.pitch + s.get(stage.shifts, group) as u32);
        }
        Window { number, count, out, first, rows: stage.rows.offset(row), even: s.opaque(shape.even) }
    }

    /// Leaves the parts of all windows.
    #[inline(always)]
    fn windows<S: Simt, F: Tree>(&self, s: &S, f: &F, stage: Stage) {
        let (shape, len) = (&self.call.shape, PACKS * F::Bits::PER);
        let whole = shape.whole != 0;
        // Lanes of a warp have windows of different columns, which are in different banks.
        let all = if whole {
            (self.width * shape.fresh.by as u32).div_ceil(32 * len)
        } else {
            (shape.fresh.by as u32 / len * shape.wide.by as u32).div_ceil(THREADS)
        };
        let mut turn = if whole { s.warp() } else { 0 };
        while s.again(turn < all) {
            let i = if whole { s.lane() * all + turn } else { turn * THREADS + s.thread_x() };
            let window = self.window(s, stage, i, len);
            let read = |k: u32, _: bool| self.pack::<S, F::Bits>(s, &window, k * F::Bits::PER);
            let part = if s.branch(s.all(ALL, window.count == len || window.count == 0)) {
                let w: [[u32; 4]; STEPS] = warpfold_simt::array::from_fn(
                    #[inline(always)]
                    |k| read(k as u32, true),
                );
                let (f, w) = f.whole(s, w);
                let nodes = packs(s, &f, &w);
                let per = F::Bits::PER;
                let two = |k: usize| f.join(nodes[2 * k], nodes[2 * k + 1], per);
                let four = |k: usize| f.join(two(2 * k), two(2 * k + 1), 2 * per);
                f.part(f.join(four(0), four(1), 4 * per), len)
            } else {
                let stretch = Stretch { first: 0, count: window.count, packs: s.opaque(PACKS), team: Team::ALONE };
                Ordered::<F>(*f, PhantomData).walk(s, stretch, false, read)
            };
            if s.branch(window.count > 0) {
                let place = window.out as u64 + (window.number >> len.trailing_zeros());
                publish(s, self.call.partials(), place as usize, f.moved(part, window.number));
            }
            turn += if whole { THREADS / 32 } else { 1 };
        }
    }

    /// The elements of 16 bytes of a window, from element `from` on: as f32 if they have 16 bits.
    #[inline(always)]
    fn pack<S: Simt, B: Bits>(&self, s: &S, window: &Window, from: u32) -> [u32; 4] {
        let (shape, recipe) = (&self.call.shape, &self.call.recipe);
        let even = window.even;
        let places: [u32; 4] = warpfold_simt::array::from_fn(
            #[inline(always)]
            |i| {
                if (i as u32) >= B::PER {
                    0
                } else if s.branch(even != 0) {
                    (from + i as u32) * even
                } else {
                    s.get(window.rows, from + i as u32) as u32
                }
            },
        );
        let at = |i: usize| window.first.offset(places[i]);
        if B::SIZE == 4 && s.branch(shape.size == 2) {
            let bits: [u16; 4] = warpfold_simt::array::from_fn(
                #[inline(always)]
                |i| s.get(at(i).cast(), 0),
            );
            if s.branch(recipe.input == code(DType::BF16)) {
                return bits.map(|x| (x as u32) << 16);
            }
            return bits.map(|x| s.f16_to_f32(x).to_bits());
        }
        let (mut words, mut i) = ([0; 4], 0);
        while i < B::PER as usize {
            words = followed::<B>(words, s.get(at(i).cast(), 0));
            i += 1;
        }
        words
    }
}
