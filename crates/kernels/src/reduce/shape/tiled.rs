//! Tiles of memory, whose elements are reduced in another order than they lie in.
//!
//! Idea: elements that lie side by side are *columns*, whose rows follow one another in the order of the tree; after a
//! column's last row comes the next column's first. A block reads a tile along its rows, so that neighbouring lanes
//! read neighbours, and keeps it in shared memory. From there a thread takes a *window*, a whole subtree of 128 bytes,
//! and leaves its part in the workspace, where another launch reduces the parts. Short columns are whole in a tile.
//! Long ones are cut: a tile has the windows that begin in its rows, and reads on until they end. Elements
//! of 16 bits become f32 on the way. Bottleneck: not instructions alone, about 25 for an element of f32 sums: with 36,
//! an H200 took 139 us in place of 129. It was not profiled.

use crate::address::array;
use crate::block::{THREADS, each};
use crate::node::publish;
use crate::params::params;
use crate::reduce::any::Strides;
use crate::reduce::call::Call;
use crate::reduce::fold::Parts;
use crate::reduce::recipe::{Recipe, code};
use crate::reduce::shape::map::Divisor;
use crate::reduce::shape::piece::{Outputs, PACKS, Stretch, Team, Walk, followed};
use crate::reduce::shape::split::STEPS;
use crate::source::Bits;
use warpfold_core::DType;
use warpfold_simt::{ALL, Pod, Shared, Simt};

/// Columns of a tile that has not all of their rows, at most. It has as many windows as there are threads, but for one
/// of each column.
pub const WIDE: u64 = 32;
/// Bytes of a window.
pub const WINDOW: usize = 128;
/// Rows of a tile, at most.
pub const ROWS: usize = 1024;
/// Reads of a thread that are in flight.
const READS: usize = 16;

params! {
    /// Columns, and how they are cut into tiles.
    pub struct Tiled[; const K] {
        /// The kept axes; outputs are counted in parts.
        pub outputs: Outputs<K>,
        /// The axes of columns, the innermost first.
        pub across: Strides<K>,
        /// The axes of rows.
        pub down: Strides<K>,
        /// Columns of an output.
        pub columns: u64,
        /// Rows of a column.
        pub rows: u64,
        /// Tiles side by side.
        pub beside: Divisor,
        /// Tiles one below the other.
        pub below: Divisor,
        /// Columns of a tile, a power of two.
        pub wide: u32,
        /// Rows of a tile in which windows begin.
        pub fresh: u32,
        /// Whether a tile has all rows of its columns.
        pub whole: u32,
        /// Bytes of an element.
        pub size: u32,
    }
}

/// A block's tile.
struct Tile<'a, const K: usize> {
    call: &'a Call<Tiled<K>>,
    /// The address of the output's first element.
    input: u64,
    /// The first column.
    column: u64,
    /// The first row.
    row: u64,
    /// Rows that are read.
    high: u32,
}

/// Elements of shared memory for a tile: a window for each thread, and one element between windows.
#[must_use]
pub const fn room(size: usize) -> usize {
    THREADS as usize * (WINDOW / size + 1)
}

/// See the module.
#[inline(always)]
pub fn kernel<S: Simt, W: Walk, const K: usize, const ROOM: usize>(s: &S, call: &Call<Tiled<K>>) {
    let walk = W::new(&call.recipe);
    let shape = &call.shape;
    let room = s.shared::<W::Bits, ROOM, 0>("a tile");
    let offsets = s.shared::<u64, ROWS, 1>("where rows are");
    let window = PACKS * W::PER;
    let (rest, beside) = shape.beside.divide_small(s.block_x());
    let (output, below) = shape.below.divide_small(rest);
    let at = shape.outputs.at(output as u64);
    let row = below as u64 * shape.fresh as u64;
    // The windows that begin in the last row have elements of the next column.
    let last = if shape.whole != 0 { shape.rows } else { shape.rows + window as u64 - 1 };
    let most = if shape.whole != 0 { shape.fresh } else { shape.fresh + window - 1 };
    let tile = Tile {
        call,
        input: call.at.input.wrapping_add(at.x as u64),
        column: beside as u64 * shape.wide as u64,
        row,
        high: (last - row).min(most as u64) as u32,
    };
    each(
        s,
        s.thread_x(),
        tile.high,
        #[inline(always)]
        |r| {
            let row = row + r as u64;
            let (offset, _) = shape.down.at(if row < shape.rows { row } else { row - shape.rows });
            s.put(offsets, r, offset as u64);
        },
    );
    s.barrier();
    // A place is left out after each window of whole columns, so that lanes that read windows find different banks.
    let stage = if shape.whole != 0 {
        Stage { room, right: shape.rows as u32, down: 1, shift: window.trailing_zeros() }
    } else {
        Stage { room, right: 1, down: shape.wide, shift: 31 }
    };
    tile.read::<S, W::Bits>(s, stage, offsets);
    s.barrier();

    let own = tile.window(s.thread_x(), window);
    let read = |k: u32, _: bool| {
        let mut words = [0; 4];
        let mut e = 0;
        while e < W::PER {
            words = followed(words, s.get(room, own.place + (k * W::PER + e) * stage.down));
            e += 1;
        }
        words
    };
    let packs: [[u32; 4]; STEPS] = warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| read(k as u32, false),
    );
    let (_, _, ordinary) = walk.ready(s, packs);
    let ordinary = s.all(ALL, ordinary);
    let stretch = Stretch { first: 0, count: own.count, packs: s.opaque(PACKS), team: Team::ALONE };
    let part = walk.walk(s, stretch, ordinary, read);
    if s.branch(own.count > 0) {
        let number = at.out as u64 + (own.first >> window.trailing_zeros());
        publish(s, call.partials(), number as usize, walk.fold().moved(part, own.first));
    }
}

/// A thread's window.
struct Window {
    /// The place of its first element in shared memory.
    place: u32,
    /// The number of its first element in the output.
    first: u64,
    /// Elements, none if there is no such window.
    count: u32,
}

impl<const K: usize> Tile<'_, K> {
    /// The address of a column.
    #[inline(always)]
    fn at(&self, column: u64) -> u64 {
        self.input.wrapping_add(self.call.shape.across.at(column).0 as u64)
    }

    /// Reads all elements into shared memory. There may be anything in the place of those that there are not.
    #[inline(always)]
    fn read<S: Simt, B: Bits>(&self, s: &S, stage: Stage<B>, offsets: Shared<u64>) {
        let (shape, thread) = (&self.call.shape, s.thread_x());
        let bits = shape.wide.trailing_zeros();
        let (first, step) = (thread >> bits, (THREADS >> bits).max(1));
        // Rows that are this column's, and not the next one's.
        let own = (shape.rows - self.row).min(self.high as u64) as u32;
        let mut column = thread & (shape.wide - 1);
        while s.again(column < shape.wide) {
            let last = shape.columns - 1;
            let number = self.column + column as u64;
            let (mut base, mut row, mut end) = (self.at(number.min(last)), first, own);
            while s.again(end > 0) {
                while s.again(row < end) {
                    // Anew, so that no address is kept from turn to turn.
                    let each = s.anew(step);
                    if s.branch(shape.whole == 0 && row + (READS as u32 - 1) * each < end) {
                        // The same, without a choice: so many rows have a place for each thread.
                        let (rows, to) = (offsets.offset(row), stage.room.offset(column + row * shape.wide));
                        let at = |j: usize| base.wrapping_add(s.get(rows, j as u32 * each));
                        let some = elements::<S, B>(s, &self.call.recipe, shape.size, at);
                        let mut j = 0;
                        while j < READS {
                            s.put(to, j as u32 * THREADS, some[j]);
                            j += 1;
                        }
                        row += READS as u32 * each;
                        continue;
                    }
                    let at = |j: usize| base.wrapping_add(s.get(offsets, (row + j as u32 * each).min(end - 1)));
                    let some = elements::<S, B>(s, &self.call.recipe, shape.size, at);
                    let each = s.anew(step);
                    let (first, down) = (column * stage.right + row * stage.down, each * stage.down);
                    let mut j = 0;
                    while j < READS {
                        if s.branch(row + j as u32 * each < end) {
                            s.put(stage.room, stage.apart(first + j as u32 * down), some[j]);
                        }
                        j += 1;
                    }
                    row += READS as u32 * step;
                }
                // Then those of the next column.
                (base, row, end) = if s.branch(end < self.high) {
                    (self.at((number + 1).min(last)), own + first, self.high)
                } else {
                    (base, row, 0)
                };
            }
            column += THREADS;
        }
    }

    /// The window of `len` elements that a thread has.
    #[inline(always)]
    fn window(&self, thread: u32, len: u32) -> Window {
        let shape = &self.call.shape;
        let (place, first, there);
        if shape.whole != 0 {
            let before = thread * len;
            place = thread * (len + 1);
            first = self.column * shape.rows + before as u64;
            there = (before as u64) < shape.wide as u64 * shape.rows;
        } else {
            let bits = shape.wide.trailing_zeros();
            let (right, number) = (thread & (shape.wide - 1), thread >> bits);
            let column = self.column + right as u64;
            let before = column * shape.rows + self.row;
            // Where the first window begins.
            let row = (before as u32).wrapping_neg() % len + number * len;
            place = row * shape.wide + right;
            first = before + row as u64;
            there = column < shape.columns && number * len < shape.fresh && self.row + (row as u64) < shape.rows;
        }
        let all = shape.columns * shape.rows;
        let count = if there && first < all { (all - first).min(len as u64) as u32 } else { 0 };
        Window { place: if count > 0 { place } else { 0 }, first, count }
    }
}

/// A tile's room in shared memory.
#[derive(Clone, Copy)]
struct Stage<B> {
    room: Shared<B>,
    /// From an element to that in the next column.
    right: u32,
    /// And to that in the next row.
    down: u32,
    /// The logarithm of the places after which one is left out.
    shift: u32,
}

impl<B> Stage<B> {
    /// A place, with those that are left out before it.
    #[inline(always)]
    fn apart(&self, place: u32) -> u32 {
        place + (place >> self.shift)
    }
}

/// Elements at addresses, each of `size` bytes.
#[inline(always)]
fn elements<S: Simt, B: Bits>(s: &S, recipe: &Recipe, size: u32, at: impl Fn(usize) -> u64) -> [B; READS] {
    let is = |dtype: DType| recipe.input == code(dtype);
    if B::SIZE == 4 && s.branch(size == 2) {
        let bits: [u16; READS] = load(s, &at);
        if s.branch(is(DType::BF16)) {
            return bits.map(|x| B::from_bits((x as u128) << 16));
        }
        return bits.map(|x| B::from_bits(s.f16_to_f32(x).to_bits() as u128));
    }
    load(s, &at)
}

#[inline(always)]
fn load<S: Simt, T: Pod>(s: &S, at: &impl Fn(usize) -> u64) -> [T; READS] {
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |j| s.load(array::<T>(at(j)), 0),
    )
}
