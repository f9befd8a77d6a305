//! From sums to means: a warp for each cluster. It leaves the totals zero for the next update.

use super::Totals;
use crate::kernels::recipe::array;
use crate::simt::{ALL, Global, Order, Simt};
use warpfold_core::Fixed;

/// Threads of a block.
pub const THREADS: u32 = 256;

/// What a block of warps is to finish.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finish {
    /// Where means go: `f32`, \[cluster\]\[coordinate\].
    pub means: u64,
    /// Where the points of each cluster go, as `i64`; or 0.
    pub counts: u64,
    /// [`Totals`].
    pub totals: u64,
    /// `i32` of each coordinate: the exponent of its unit.
    pub units: u64,
    /// Means of before, which a cluster without points keeps; or 0: it has NaN.
    pub before: u64,
    /// Where the squares of the moves go, as `f64` \[cluster\]\[coordinate\]; only with `before`.
    pub moves: u64,
    /// As [`Update::report`](super::Update::report).
    pub report: u64,
    /// Coordinates of a point.
    pub dimensions: u32,
    /// Clusters.
    pub clusters: u32,
}

/// One launch has a warp for each cluster, or more.
#[inline(always)]
pub fn kernel<S: Simt>(s: &S, call: &Finish) {
    let cluster = s.block_x() * (THREADS / 32) + s.warp();
    let totals = Totals::at(call.totals, call.clusters, call.dimensions);
    let report: Global<u64> = array(call.report);
    if s.branch(cluster == 0 && s.lane() == 0) {
        let bad = totals.take(s, totals.bad());
        s.atomic_add(report, super::BAD, bad, Order::Relaxed);
    }
    if s.branch(cluster < call.clusters) {
        let count = s.load(array::<u64>(call.totals), totals.count(cluster));
        // All have read it before one of them makes it zero.
        s.warp_barrier(ALL);
        if s.branch(s.lane() == 0) {
            totals.take(s, totals.count(cluster));
            if s.branch(call.counts != 0) {
                s.store(array::<u64>(call.counts), cluster as usize, count);
            }
            if s.branch(count == 0) {
                s.atomic_add(report, super::EMPTY, 1u64, Order::Relaxed);
            }
        }
        let mut coordinate = s.lane();
        while s.again(coordinate < call.dimensions) {
            let at = totals.sum(cluster, coordinate);
            let total = totals.take(s, at) as i64;
            let before = if s.branch(call.before != 0) { s.load(array(call.before), at) } else { f32::NAN };
            let mean = if count == 0 {
                before
            } else {
                f32::mean(total, count, s.load(array::<i32>(call.units), coordinate as usize))
            };
            if s.branch(call.before != 0 && call.moves != 0) {
                let by = mean as f64 - before as f64;
                s.store(array(call.moves), at, by * by);
            }
            s.store(array(call.means), at, mean);
            coordinate += 32;
        }
    }
}
