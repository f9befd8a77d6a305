//! Of labels in order: where each group begins; and values brought into that order.

use super::THREADS;
use super::key::{read, write};
use crate::kernels::recipe::array;
use crate::simt::{Global, Simt};

/// Numbers that a thread looks after at a time, in [`gather`].
const OWN: usize = 4;
/// And a block.
pub const TILE: u64 = THREADS as u64 * OWN as u64;

/// Groups, and what is made of them. The addresses come first.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Groups {
    /// `u32` of each element: labels in order; those of no group are greater than all others. For [`gather`], values.
    pub input: u64,
    /// `u32`: the positions of the elements, in the order of their labels.
    pub positions: u64,
    /// `u32`: where each group begins, and where the last ends.
    pub offsets: u64,
    /// What [`gather`] or [`places`] writes.
    pub output: u64,
    /// How many elements.
    pub n: u64,
    /// How many groups.
    pub groups: u64,
    /// Bytes of a value.
    pub size: u64,
}

/// A number for each thread, and so on.
#[inline(always)]
fn each<S: Simt>(s: &S, n: u64, f: impl Fn(u64)) {
    let mut at = s.block_x() as u64 * THREADS as u64 + s.thread_x() as u64;
    while s.again(at < n) {
        f(at);
        at += s.grid_dim_x() as u64 * THREADS as u64;
    }
}

/// Offsets: for each group the first label that is not less, by halving.
#[inline(always)]
pub fn offsets<S: Simt>(s: &S, call: &Groups) {
    let labels: Global<u32> = array(call.input);
    each(
        s,
        call.groups + 1,
        #[inline(always)]
        |group| {
            let (mut low, mut high) = (0, call.n);
            while s.again(low < high) {
                let middle = low + (high - low) / 2;
                if s.branch((s.load(labels, middle as usize) as u64) < group) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            s.store(array::<u32>(call.offsets), group as usize, low as u32);
        },
    );
}

/// Values in the order of their labels.
#[inline(always)]
pub fn gather<S: Simt>(s: &S, call: &Groups) {
    let first = s.block_x() as u64 * TILE + s.thread_x() as u64;
    let positions = read::<S, OWN>(s, call.positions, 4, first, THREADS as u64, call.n);
    let values = positions.map(
        #[inline(always)]
        |at| {
            let [value] = read::<S, 1>(s, call.input, call.size as u32, at, 1, call.n);
            value
        },
    );
    for (i, value) in values.into_iter().enumerate() {
        let at = first + i as u64 * THREADS as u64;
        if s.branch(at < call.n) {
            write(s, call.output, call.size as u32, at as usize, value);
        }
    }
}

/// From places in a group (`i64` of each) to places among the values. A group without elements keeps what it has.
#[inline(always)]
pub fn places<S: Simt>(s: &S, call: &Groups) {
    let (output, offsets): (Global<u64>, Global<u32>) = (array(call.output), array(call.offsets));
    each(
        s,
        call.groups,
        #[inline(always)]
        |group| {
            let from = s.load(offsets, group as usize);
            let len = s.load(offsets, group as usize + 1) - from;
            if s.branch(len != 0) {
                let place = s.load(output, group as usize);
                // If not, there was no result, and the status says so.
                if s.branch(place < len as u64) {
                    let at = s.load(array::<u32>(call.positions), (from as u64 + place) as usize);
                    s.store(output, group as usize, at as u64);
                }
            }
        },
    );
}
