//! How many elements are in each bin: between edges, or of each label.
//!
//! Few bins are counted in shared memory, where a block has a counter of each in some columns, and a lane counts in its
//! own column, so that equal bins seldom wait for each other; many in global memory, where one lane counts for all if
//! they have one bin. The bin of a number is looked for where it would be if all were of one width, then by halving.
//!
//! Bottleneck: memory; with many bins, atomics.

use crate::address::array;
use crate::block::THREADS;
use crate::block::each;
use crate::params::params;
use crate::sort::key::{Elements, kind, label, read};
use warpfold_core::f16;
use warpfold_simt::{ALL, Global, Order, Simt};

/// Elements that a thread reads at a time.
const OWN: usize = 8;
/// Elements that a block reads at a time.
pub const TILE: u64 = THREADS as u64 * OWN as u64;
/// Counters in shared memory: so many bins at most are counted there.
pub const ROOM: usize = 8192;
/// The bin of what is in none.
const NONE: u32 = u32::MAX;

params! {
    #[derive(Default)]
    /// Where elements and edges are, and where counts or bins go.
    pub struct BinsAt {
        /// The elements.
        pub input: u64,
        /// `f64`: one more than there are bins; 0: elements are labels.
        pub edges: u64,
        /// `u64` of each bin, zero before; or 0.
        pub counts: u64,
        /// `u32` of each element, all ones if it is in none; or 0.
        pub labels: u64,
    }

    /// Elements, and their bins.
    pub struct Bins at BinsAt {
        /// How many elements.
        pub n: u64,
        /// How many bins.
        pub bins: u64,
        /// The bits of an `f64`: bins by the distance of the first edge from the last.
        pub per_unit: u64,
        /// What the elements are.
        pub elements: Elements,
        /// Columns of a bin's counters in shared memory, as a power of two, up to 5.
        pub columns: u32,
        /// To fill a word.
        pub unused: u32,
    }
}

/// Counts them, or says of each what its bin is.
#[inline(always)]
pub fn kernel<S: Simt>(s: &S, call: &Bins) {
    let room = s.shared::<u32, ROOM, 0>("counts");
    let (tid, lane, bins, columns) = (s.thread_x(), s.lane(), call.bins as u32, call.columns);
    let (are_few, mask) = (call.bins <= ROOM as u64, (1 << columns) - 1);
    if s.branch(are_few) {
        each(s, tid, bins << columns, |i| s.put(room, i, 0));
    }
    let mut ends = [0.0; 2];
    if s.branch(call.at.edges != 0) {
        let edges: Global<f64> = array(call.at.edges);
        ends = [s.load(edges, 0), s.load(edges, call.bins as usize)];
    }
    s.barrier();
    let mut first = s.block_x() as u64 * TILE;
    while s.again(first < call.n) {
        let raw = read::<S, OWN>(s, call.at.input, call.elements.size, first + tid as u64, THREADS as u64, call.n);
        for (i, raw) in raw.into_iter().enumerate() {
            let at = first + i as u64 * THREADS as u64 + tid as u64;
            let mut bin = NONE;
            if s.branch(at < call.n) {
                bin = if s.branch(call.at.edges == 0) {
                    let (label, _) = label(raw, &call.elements);
                    if (label as u64) < call.bins { label } else { NONE }
                } else {
                    find(s, call, ends, number(s, raw, &call.elements))
                };
                if s.branch(call.at.labels != 0) {
                    s.store(array::<u32>(call.at.labels), at as usize, bin);
                }
            }
            if s.branch(are_few) {
                if s.branch(bin != NONE) {
                    s.atomic_add_shared(room, bin << columns | lane & mask, 1u32, Order::Relaxed);
                }
            } else if s.branch(call.at.counts != 0) {
                let alike = s.all(ALL, s.shuffle_idx(ALL, bin, 0) == bin);
                if s.branch(bin != NONE && (!alike || lane == 0)) {
                    let many = if alike { 32 } else { 1u64 };
                    s.atomic_add(array::<u64>(call.at.counts), bin as usize, many, Order::Relaxed);
                }
            }
        }
        first += s.grid_dim_x() as u64 * TILE;
    }
    s.barrier();
    if s.branch(are_few && call.at.counts != 0) {
        each(s, tid, bins, |bin| {
            let mut many = 0;
            for column in 0..=mask {
                // Neighbours begin in other columns, which are other banks.
                many += s.get(room, bin << columns | (column + bin) & mask);
            }
            if s.branch(many != 0) {
                s.atomic_add(array::<u64>(call.at.counts), bin as usize, many as u64, Order::Relaxed);
            }
        });
    }
}

/// An element as the nearest `f64`.
#[inline(always)]
fn number<S: Simt>(s: &S, raw: u64, of: &Elements) -> f64 {
    if s.branch(of.kind == kind::FLOAT) {
        if s.branch(of.size == 4) {
            f32::from_bits(raw as u32) as f64
        } else if s.branch(of.size == 8) {
            f64::from_bits(raw)
        } else if s.branch(of.bound == f16::INFINITY.to_bits() as u64) {
            s.f16_to_f32(raw as u16) as f64
        } else {
            s.bf16_to_f32(raw as u16) as f64
        }
    } else if s.branch(of.kind == kind::SIGNED) {
        let away = (64 - 8 * of.size) & 63;
        ((raw << away) as i64 >> away) as f64
    } else if s.branch(of.kind == kind::TRUTH) {
        (raw != 0) as u32 as f64
    } else {
        raw as f64
    }
}

/// The last bin that begins at or before `x`, if that is between the ends.
#[inline(always)]
fn find<S: Simt>(s: &S, call: &Bins, ends: [f64; 2], x: f64) -> u32 {
    let edges: Global<f64> = array(call.at.edges);
    let last = call.bins as usize - 1;
    if !s.branch(x >= ends[0] && x <= ends[1]) {
        return NONE;
    }
    let guess = (((x - ends[0]) * f64::from_bits(call.per_unit)) as usize).min(last);
    if s.branch(s.load(edges, guess) <= x && (guess == last || x < s.load(edges, guess + 1))) {
        return guess as u32;
    }
    // The last edge of those up to `last` that is not beyond x is in `low..high`.
    let (mut low, mut high) = (0, last + 1);
    while s.again(low + 1 < high) {
        let middle = low + (high - low) / 2;
        if s.branch(s.load(edges, middle) <= x) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low as u32
}
