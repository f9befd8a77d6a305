//! A copy of elements in the order in which they are reduced, row after row.
//!
//! Idea: a tile has a *near* side, the axes along which elements lie side by side in the input, and a *far* side, those
//! along which they do so in the copy. A block reads a tile along its near side and writes it along its far side,
//! through shared memory, so that neighbouring lanes have neighbouring elements both times. Where a tile's elements
//! lie is the same for all tiles but for where the tile begins, so it is computed once, into tables in shared memory.
//! Bottleneck: memory (each element is read once and written once); of elements of 1 or 2 bytes, loads and stores.

use crate::address::array;
use crate::block::{THREADS, each};
use crate::params::params;
use crate::reduce::any::AXES;
use crate::reduce::call::CallAt;
use crate::reduce::shape::piece::{divide, walk};
use crate::source::Bits;
use warpfold_simt::Simt;

/// Axes of a side.
pub const SIDE: usize = 4;
/// Elements of a tile of elements of up to 4 bytes; of 8 bytes there are half as many.
pub const TILE: usize = 4096;
/// The most elements along the near side, a power of two.
pub const NEAR: usize = 256;
/// And along the far side.
pub const FAR: usize = 1024;

params! {
    #[derive(Default)]
    /// An axis.
    pub struct Axis {
        /// Its length.
        pub len: u64,
        /// Bytes from one element to the next in the input.
        pub from: i64,
        /// And in the copy.
        pub to: u64,
    }

    #[derive(Default)]
    /// A side of the tiles: axes of which each tile has all, but for the last, which is cut into stretches.
    pub struct Side {
        /// How many axes there are.
        pub axes: u64,
        /// Each, the innermost first.
        pub axis: [Axis; SIDE],
        /// Places along the side, a power of two: elements, and places without.
        pub places: u64,
        /// Elements of all axes but the last.
        pub inner: u64,
        /// The last axis's length.
        pub len: u64,
        /// Elements of a stretch of the last axis.
        pub stretch: u64,
        /// The number of stretches, and bytes from one to the next.
        pub stretches: Axis,
    }

    /// What is copied.
    pub struct Transpose at CallAt {
        /// Bytes from the input to the first element.
        pub from: i64,
        /// And from the workspace to its copy.
        pub to: u64,
        /// Along which lanes read.
        pub near: Side,
        /// Along which lanes write.
        pub far: Side,
        /// Other axes: how many.
        pub axes: u64,
        /// Each.
        pub axis: [Axis; AXES],
        /// Tiles.
        pub tiles: u64,
    }
}

impl Side {
    /// Bytes from the tile's first element to that at a place, in the input and in the copy.
    #[inline(always)]
    fn find(&self, place: u64) -> (u64, u64) {
        let (mut from, mut to) = (0, 0);
        walk(
            &self.axis,
            self.axes,
            place,
            |axis| axis.len,
            #[inline(always)]
            |axis, i| {
                from += i as i64 * axis.from;
                to += i * axis.to;
            },
        );
        (from as u64, to)
    }

    /// Elements along the side in a stretch. The last stretch may have fewer than others.
    #[inline(always)]
    fn elements(&self, stretch: u64) -> u32 {
        let left = self.len - stretch * self.stretch;
        (self.inner * left.min(self.stretch)) as u32
    }
}

/// Some tiles to a block. `ROOM` elements of shared memory suffice for a tile, and a thread has `N` reads in flight.
#[inline(always)]
pub fn kernel<S: Simt, B: Bits, const ROOM: usize, const N: usize>(s: &S, call: &Transpose) {
    let tile = s.shared::<B, ROOM, 0>("a tile");
    let sources = s.shared::<u64, FAR, 1>("where elements of the far side are in the input");
    let targets = s.shared::<u32, FAR, 2>("and in the copy");
    let beside = s.shared::<u32, NEAR, 3>("where elements of the near side are in the copy");
    let (near, far, thread) = (&call.near, &call.far, s.thread_x());
    let (wide, high) = (near.places as u32, far.places as u32);
    let (wide_bits, high_bits) = (wide.trailing_zeros(), high.trailing_zeros());
    // Lanes that write take neighbours; those that read take rows, in banks of their own.
    let pitch = high + ((128 / B::SIZE) >> wide_bits).max(4 / B::SIZE).max(1);

    each(
        s,
        thread,
        high,
        #[inline(always)]
        |o| {
            let (from, to) = far.find(o as u64);
            s.put(sources, o, from);
            s.put(targets, o, to as u32);
        },
    );
    let (i, first) = (thread & (wide - 1), thread >> wide_bits);
    let (own, to) = near.find(i as u64);
    if s.branch(thread < wide) {
        s.put(beside, i, to as u32);
    }
    s.barrier();

    let turns = (wide * high).div_ceil(THREADS);
    let mut number = s.block_x() as u64;
    while s.again(number < call.tiles) {
        let (rest, at_near) = divide(number, near.stretches.len);
        let (rest, at_far) = divide(rest, far.stretches.len);
        let mut from = call.from + at_near as i64 * near.stretches.from + at_far as i64 * far.stretches.from;
        let mut to = call.to + at_near * near.stretches.to + at_far * far.stretches.to;
        walk(
            &call.axis,
            call.axes,
            rest,
            |axis| axis.len,
            #[inline(always)]
            |axis, i| {
                from += i as i64 * axis.from;
                to += i * axis.to;
            },
        );
        let (columns, rows) = (near.elements(at_near), far.elements(at_far));
        let source = call.at.input.wrapping_add(from as u64).wrapping_add(own);
        let mut turn = 0;
        while s.again(turn < turns) {
            let row = |j: u32| first + (turn + j) * (THREADS >> wide_bits);
            let mut x = [B::ZERO; N];
            for (j, x) in x.iter_mut().enumerate() {
                let o = row(j as u32);
                if s.branch(i < columns && o < rows) {
                    *x = s.load(array::<B>(source.wrapping_add(s.get(sources, o))), 0);
                }
            }
            for (j, x) in x.into_iter().enumerate() {
                let o = row(j as u32);
                if s.branch(i < columns && o < rows) {
                    s.put(tile, i * pitch + o, x);
                }
            }
            turn += N as u32;
        }
        s.barrier();
        let target = call.at.workspace + to;
        let mut turn = 0;
        while s.again(turn < turns) {
            for j in 0..N as u32 {
                let at = thread + (turn + j) * THREADS;
                let (o, i) = (at & (high - 1), at >> high_bits);
                if s.branch(i < columns && o < rows) {
                    let place = target + (s.get(beside, i) + s.get(targets, o)) as u64;
                    s.store(array::<B>(place), 0, s.get(tile, i * pitch + o));
                }
            }
            turn += N as u32;
        }
        s.barrier();
        number += s.grid_dim_x() as u64;
    }
}

/// Elements of a tile of elements of so many bytes.
#[must_use]
pub const fn tile(size: usize) -> usize {
    if size == 8 { TILE / 2 } else { TILE }
}

/// Elements of shared memory for a tile, with what keeps its rows in different banks.
#[must_use]
pub const fn room(size: usize) -> usize {
    tile(size) + if size < 4 { NEAR * 4 / size } else { NEAR }
}
