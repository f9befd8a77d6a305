//! Rows as columns, so that a segment of rows is a segment of each column: what kernels for segments read.
//!
//! A block has a tile of rows and columns. It is read along the rows and written along the columns, through shared
//! memory, so that neighbours are side by side both times. Rows may be taken in the order of positions. Columns lie one
//! after the other, with a zero after each: between the segments of two columns there is always something.
//!
//! Bottleneck: memory (each element is read once and written once).

use crate::address::array;
use crate::block::THREADS;
use crate::block::each_of_grid;
use crate::group::divide;
use crate::params::params;
use crate::sort::key::{read, write};
use warpfold_simt::Simt;

/// Elements of a tile.
pub const TILE: u32 = 1024;
/// And of a thread.
const OWN: usize = (TILE / THREADS) as usize;
/// The most columns of a tile, as a power of two.
pub const WIDE: u32 = 5;

params! {
    #[derive(Default)]
    /// Where rows are, and where columns go.
    pub struct TurnAt {
        /// The first element of the first row.
        pub input: u64,
        /// `u32` of each row that is read: which one; or 0: as they are.
        pub positions: u64,
        /// The first element of the first column.
        pub output: u64,
    }

    /// Rows, and where they go.
    pub struct Turn at TurnAt {
        /// How many rows are read.
        pub rows: u64,
        /// Of how many elements.
        pub columns: u64,
        /// Bytes from one row to the next.
        pub along: u64,
        /// Bytes from one element of a row to the next.
        pub across: u64,
        /// Elements of a column that is written: zeros after the rows.
        pub pitch: u64,
        /// Elements that are written lie so many apart.
        pub step: u64,
        /// Bytes of an element.
        pub size: u32,
        /// Columns of a tile, as a power of two.
        pub wide: u32,
    }
}

/// A tile to a block.
#[inline(always)]
pub fn kernel<S: Simt>(s: &S, call: &Turn) {
    // A column more than there are, so that lanes find different banks.
    let tile = s.shared::<u64, { 2 * TILE as usize }, 0>("a tile");
    let (wide, high) = (call.wide, TILE.ilog2() - call.wide);
    let across = (call.columns + (1 << wide) - 1) >> wide;
    let (down, right) = divide(s.block_x() as u64, across);
    let (first_row, first_column) = (down << high, right << wide);
    // All positions, then all elements, then all of the tile: what is read must not wait for what is written.
    let place = |i: usize| {
        let at = i as u32 * THREADS + s.thread_x();
        (at >> wide, at & ((1 << wide) - 1))
    };
    let is_there = |(r, c): (u32, u32)| first_row + (r as u64) < call.rows && first_column + (c as u64) < call.columns;
    let mut from = [0; OWN];
    for (i, from) in from.iter_mut().enumerate() {
        let (r, c) = place(i);
        *from = first_row + r as u64;
        if s.branch(call.at.positions != 0 && is_there((r, c))) {
            *from = s.load(array::<u32>(call.at.positions), *from as usize) as u64;
        }
    }
    let mut elements = [0; OWN];
    for (i, x) in elements.iter_mut().enumerate() {
        let (r, c) = place(i);
        if s.branch(is_there((r, c))) {
            let column = first_column + c as u64;
            let address = call.at.input + from[i].wrapping_mul(call.along) + column.wrapping_mul(call.across);
            [*x] = read::<S, 1>(s, address, call.size, 0, 0, 1);
        }
    }
    for (i, x) in elements.into_iter().enumerate() {
        let (r, c) = place(i);
        s.put(tile, r * ((1 << wide) + 1) + c, x);
    }
    s.barrier();
    for i in 0..OWN as u32 {
        let at = i * THREADS + s.thread_x();
        let (c, r) = (at >> high, at & ((1 << high) - 1));
        let (row, column) = (first_row + r as u64, first_column + c as u64);
        if s.branch(row < call.pitch && column < call.columns) {
            let x = s.get(tile, r * ((1 << wide) + 1) + c);
            write(s, call.at.output, call.size, ((column * call.pitch + row) * call.step) as usize, x);
        }
    }
}

params! {
    #[derive(Default)]
    /// Where offsets are, and where those of all columns go.
    pub struct RepeatAt {
        /// Integers of 4 or 8 bytes.
        pub input: u64,
        /// `u64`, as many for each column.
        pub output: u64,
    }

    /// Offsets of segments of rows, and those of segments of all columns.
    pub struct Repeat at RepeatAt {
        /// How many there are.
        pub offsets: u64,
        /// How many columns.
        pub columns: u64,
        /// How many rows.
        pub rows: u64,
        /// Elements of a column that was written.
        pub pitch: u64,
        /// Bytes of an offset.
        pub size: u32,
        /// Whether it has a sign.
        pub signed: u32,
    }
}

/// Offsets for each column. One beyond all rows is beyond all columns, which the reduction says.
#[inline(always)]
pub fn repeat<S: Simt>(s: &S, call: &Repeat) {
    each_of_grid(
        s,
        call.offsets * call.columns,
        #[inline(always)]
        |at| {
            let (column, i) = divide(at, call.offsets);
            let [raw] = read::<S, 1>(s, call.at.input, call.size, i, 1, call.offsets);
            let offset = if call.signed != 0 && call.size == 4 { raw as i32 as u64 } else { raw };
            let there = if offset > call.rows { u64::MAX } else { column * call.pitch + offset };
            s.store(array::<u64>(call.at.output), at as usize, there);
        },
    );
}
