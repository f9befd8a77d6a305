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
use crate::reduce::shape::piece::{self as axes, walk};
use crate::source::Bits;
use warpfold_simt::{Shared, Simt};

/// Axes of a side.
pub const SIDE: usize = 4;
/// Elements of a tile of elements of up to 4 bytes; of 8 bytes there are half as many.
pub const TILE: usize = 4096;
/// Reads of a thread that are in flight.
const READS: usize = 8;
/// The most elements along the near side.
pub const NEAR: usize = 256;
/// And along the far side, a power of two.
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
        /// Places along the side: as many as a stretch has elements. Of the far side, the next power of two.
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
        /// And from the output to its copy.
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

/// Some tiles to a block. `ROOM` elements of shared memory suffice for a tile.
#[inline(always)]
pub fn kernel<S: Simt, B: Bits, const ROOM: usize>(s: &S, call: &Transpose) {
    let tile = s.shared::<B, ROOM, 0>("a tile");
    let sources = s.shared::<u64, FAR, 1>("where elements of the far side are in the input");
    let targets = s.shared::<u32, FAR, 2>("and in the copy");
    let beside = s.shared::<u32, NEAR, 3>("where elements of the near side are in the copy");
    let (near, far, thread) = (&call.near, &call.far, s.thread_x());
    let (wide, high) = (near.places as u32, far.places as u32);
    // Lanes that write take neighbours; those that read take rows, in banks of their own.
    let pitch = high + divide(128 / B::SIZE + wide - 1, wide).0.max(4 / B::SIZE).max(1);

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
    // A thread reads at one place of the near side; those that are left over do not read.
    let (first, i) = divide(thread, wide);
    let (step, _) = divide(THREADS, wide);
    let (own, to) = near.find(i as u64);
    if s.branch(thread < wide) {
        s.put(beside, i, to as u32);
    }
    s.barrier();

    let mut number = s.block_x() as u64;
    while s.again(number < call.tiles) {
        let (rest, at_near) = axes::divide(number, near.stretches.len);
        let (rest, at_far) = axes::divide(rest, far.stretches.len);
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
        let target = call.at.output + to;
        let limit = if i < columns && first < step { rows } else { 0 };
        let read = Reading { tile, sources, source, at: i * pitch, first, step, rows };
        let written = Writing { tile, targets, beside, target, pitch, bits: high.trailing_zeros(), columns, rows };
        // Of powers of two of elements on both sides every thread has one in every turn.
        let turns = high.is_multiple_of(step * READS as u32) && wide.is_multiple_of(written.step() * READS as u32);
        if s.branch(rows == high && columns == wide && wide.is_power_of_two() && turns) {
            read.run(s, |_| true);
            s.barrier();
            written.run(s, |_| true);
        } else {
            read.run(s, |o| o < limit);
            s.barrier();
            written.run(s, |i| i < columns);
        }
        s.barrier();
        number += s.grid_dim_x() as u64;
    }
}

/// Quotient and remainder, of a divisor that is never zero: nothing here can panic.
#[inline(always)]
fn divide(a: u32, b: u32) -> (u32, u32) {
    (a.checked_div(b).unwrap_or(0), a.checked_rem(b).unwrap_or(0))
}

/// From the input to shared memory: a thread's own place on the near side, and some on the far side.
struct Reading<B> {
    tile: Shared<B>,
    sources: Shared<u64>,
    source: u64,
    /// Where the thread's elements begin in shared memory.
    at: u32,
    first: u32,
    step: u32,
    rows: u32,
}

impl<B: Bits> Reading<B> {
    /// Reads what is `there` on the far side.
    #[inline(always)]
    fn run<S: Simt>(&self, s: &S, there: impl Fn(u32) -> bool) {
        let mut next = 0;
        while s.again(next < self.rows) {
            // Anew, so that eight addresses of each kind are not kept from turn to turn.
            let step = s.anew(self.step);
            let place = |j: usize| self.first + next + j as u32 * step;
            let mut x = [B::ZERO; READS];
            for (j, x) in x.iter_mut().enumerate() {
                if s.branch(there(place(j))) {
                    *x = s.load(array::<B>(self.source.wrapping_add(s.get(self.sources, place(j)))), 0);
                }
            }
            for (j, x) in x.into_iter().enumerate() {
                if s.branch(there(place(j))) {
                    s.put(self.tile, self.at + place(j), x);
                }
            }
            next += READS as u32 * self.step;
        }
    }
}

/// From shared memory to the copy: neighbouring threads have neighbouring places on the far side.
struct Writing<B> {
    tile: Shared<B>,
    targets: Shared<u32>,
    beside: Shared<u32>,
    target: u64,
    pitch: u32,
    /// The logarithm of the places on the far side.
    bits: u32,
    columns: u32,
    rows: u32,
}

impl<B: Bits> Writing<B> {
    /// From one of a thread's places on the near side to the next.
    #[inline(always)]
    fn step(&self) -> u32 {
        (THREADS >> self.bits).max(1)
    }

    /// Writes what is `there` on the near side.
    #[inline(always)]
    fn run<S: Simt>(&self, s: &S, there: impl Fn(u32) -> bool) {
        let (mut o, step) = (s.thread_x() & ((1 << self.bits) - 1), self.step());
        while s.again(o < self.rows) {
            let target = self.target + s.get(self.targets, o) as u64;
            let mut next = s.thread_x() >> self.bits;
            while s.again(next < self.columns) {
                for j in 0..READS as u32 {
                    let i = next + j * step;
                    if s.branch(there(i)) {
                        let x = s.get(self.tile, i * self.pitch + o);
                        s.store(array::<B>(target + s.get(self.beside, i) as u64), 0, x);
                    }
                }
                next += READS as u32 * step;
            }
            o += THREADS;
        }
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
    tile(size) + if size < 4 { NEAR * 4 / size } else { NEAR } + 128 / size
}
