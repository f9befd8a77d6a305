//! A row that its block reads in turns, in shared memory.
//!
//! Idea: each lane copies the lines of 16 bytes that it will read itself to places of its own, some turns ahead and
//! beside other work, so that no thread waits for another and no register for memory. The turns that were read last
//! are still there when the row is read once more, backwards. Each place that becomes free then is that of the next
//! turn that had to leave, which is copied again.
//! Bottleneck: memory, read once if the row has three turns.

use super::op::RowOp;
use super::read::Lines;
use super::spread::{Place, Spread};
use super::{NODES, Rowwise, SLOTS};
use crate::address::array;
use crate::source::{Bits, Source};
use core::marker::PhantomData;
use warpfold_simt::{Pack, Shared, Simt};

/// Places of turns, at most. Of bf16 (8192,32768), which are four turns, rms_norm took an H100 400 us with two, 392
/// with three, 407 with four; layer_norm 447, 439, 466; the gradient of softmax, of two arrays, 664 and 595
/// (bench/record/nvidia-h100/2026-11-28/turns-tried.txt).
pub const PLACES: u32 = 3;
/// Bytes of shared memory that kernels of longer rows have beside them.
pub const BESIDE: u32 = 4 * (SLOTS + NODES) as u32;

/// Lines of 16 bytes of a turn of a block, by its threads, the steps of a warp and the number of arrays.
pub const fn turn_lines(threads: u32, steps: u32, arrays: u32) -> u32 {
    threads * steps * arrays
}

/// The places of a block's turns of a row.
#[derive(Clone, Copy)]
pub struct Ring<O, const N: usize> {
    slots: Shared<Pack<u32, 4>>,
    /// How many there are, at least one.
    places: u32,
    of: PhantomData<O>,
}

impl<O: RowOp, const N: usize> Ring<O, N> {
    /// Arrays.
    const ARRAYS: u32 = 1 + O::SECOND as u32;
    /// Whether there may be any: elements have 16 bits, and memory is what an operation waits for.
    pub const THERE: bool = O::TURNED && <<O::Source as Source>::Bits as Bits>::SIZE == 2;

    /// That of a launch.
    #[inline(always)]
    pub fn new<S: Simt>(s: &S, call: &Rowwise) -> Self {
        let places = call.kept as u32;
        let slots = match Self::THERE {
            true => s.room_of("turns", places * turn_lines(s.block_dim_x(), N as u32, Self::ARRAYS)),
            false => Shared::from_address(0),
        };
        Self { slots, places, of: PhantomData }
    }

    /// How many turns have a place.
    #[inline(always)]
    pub fn kept(&self) -> u32 {
        if Self::THERE { self.places } else { 0 }
    }

    /// Where a thread's line of step `k` is.
    #[inline(always)]
    fn at<S: Simt>(&self, s: &S, slot: u32, array: u32, k: u32) -> u32 {
        ((slot * Self::ARRAYS + array) * N as u32 + k) * s.block_dim_x() + s.thread_x()
    }

    /// The place of the turn after the one in `slot`, or of the turn before it if the row is read `back`.
    #[inline(always)]
    pub fn next(&self, slot: u32, back: bool) -> u32 {
        let last = self.kept() - 1;
        let (end, begin, next) = if back { (0, last, slot.wrapping_sub(1)) } else { (last, 0, slot + 1) };
        if slot == end { begin } else { next }
    }

    /// A line of this thread that has been waited for.
    #[inline(always)]
    pub fn line<S: Simt>(&self, s: &S, slot: u32, array: u32, k: u32) -> [u32; 4] {
        s.get(self.slots, self.at(s, slot, array, k)).0
    }

    /// Begins to copy this thread's lines of a warp's chunk of a row, which has its element `at` first.
    #[inline(always)]
    pub fn fill<S: Simt>(&self, s: &S, call: &Rowwise, slot: u32, row: Place, at: u64) {
        let places = [
            (row, call.at.input.wrapping_add(call.end)),
            (row.of_second(), call.at.second.wrapping_add(call.second_end)),
        ];
        let mut which = 0;
        while which < Self::ARRAYS {
            let (row, end) = places[which as usize];
            let lines = Lines::from::<<O::Source as Source>::Bits>(row.input, at, call.len, 32 * N as u32, end);
            if s.branch(lines.readable == 32 * N as u32) {
                let mut k = 0;
                while k < N as u32 {
                    let from = lines.first + Spread::<N>::WARP.pack_at(k, s.lane(), 16);
                    s.copy(self.slots, self.at(s, slot, which, k), array(from), 0);
                    k += 1;
                }
            } else if s.branch(lines.readable > 0) {
                let (mut k, all) = (0, s.opaque(N as u32));
                while s.again(k < all) {
                    let line = Spread::<N>::WARP.pack(k, s.lane()).min(lines.readable - 1);
                    s.copy(self.slots, self.at(s, slot, which, k), array(lines.first + 16 * line as u64), 0);
                    k += 1;
                }
            }
            which += 1;
        }
    }

    /// Waits for the turn that comes next. A group of copies has been ended for each turn from the first on, so all
    /// that have a place, one to three, may be on their way but this one.
    #[inline(always)]
    pub fn wait<S: Simt>(&self, s: &S) {
        if s.branch(self.kept() == PLACES) {
            s.copied_but::<{ PLACES - 1 }>();
        } else if s.branch(self.kept() == 2) {
            s.copied_but::<1>();
        } else {
            s.copied_but::<0>();
        }
    }
}
