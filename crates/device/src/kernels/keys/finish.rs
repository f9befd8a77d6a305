//! From sums to means, which leaves the totals zero for the next update.
//!
//! Where sums are few, the last block of the update makes them ([`last`]): another launch takes longer than that. Of more, a warp has each
//! cluster ([`kernel`]).

use super::number::Number;
use super::tile::each;
use super::{BAD, EMPTY, THREADS, Totals, Update};
use crate::kernels::recipe::array;
use crate::simt::{ALL, Global, Order, Simt};
use warpfold_core::Accumulate;

/// Sums of which the last block of an update makes means.
pub const FEW: usize = 1024;

/// One launch has a warp for each cluster, or more.
#[inline(always)]
pub fn kernel<S: Simt, F: Number>(s: &S, call: &Update) {
    let cluster = s.block_x() * (THREADS / 32) + s.warp();
    let totals = F::totals(call);
    if s.branch(cluster == 0 && s.lane() == 0) {
        bad(s, call, &totals);
    }
    if s.branch(cluster < call.clusters) {
        let first = cluster * call.dimensions;
        means::<S, F, 4>(s, call, &totals, first + s.lane(), 32, first + call.dimensions);
        // All have read the count before one of them makes it zero.
        s.warp_barrier(ALL);
        if s.branch(s.lane() == 0) {
            count(s, call, &totals, cluster);
        }
    }
}

/// What each block of an update does in the end: the last of them makes the means.
#[inline(always)]
pub fn last<S: Simt, F: Number>(s: &S, call: &Update) {
    let flag = s.shared::<u32, 1, 9>("whether it is the last block");
    if s.branch(call.finishes == 0) {
        return;
    }
    let totals = F::totals(call);
    let (tid, blocks) = (s.thread_x(), array::<u64>(call.totals));
    s.barrier();
    if s.branch(tid == 0) {
        let before = s.atomic_add(blocks, totals.done(), 1u64, Order::AcqRel);
        s.put(flag, 0, (before + 1 == s.grid_dim_x() as u64) as u32);
    }
    s.barrier();
    if s.branch(s.get(flag, 0) != 0) {
        means::<S, F, 2>(s, call, &totals, tid, THREADS, call.clusters * call.dimensions);
        s.barrier();
        each(s, tid, call.clusters, |cluster| count(s, call, &totals, cluster));
        if s.branch(tid == 0) {
            bad(s, call, &totals);
            s.store(blocks, totals.done(), 0);
        }
    }
}

/// The means of sums `from`, `from + step` and so on, below `end`; `N` are under way at once.
#[inline(always)]
fn means<S: Simt, F: Number, const N: usize>(s: &S, call: &Update, totals: &Totals, from: u32, step: u32, end: u32) {
    let (words, before): (Global<u64>, Global<F>) = (array(call.totals), array(call.before));
    let mut first = from;
    while s.again(first < end) {
        let at = |i: usize| first + i as u32 * step;
        let found: [(F::Total, u64, F, i32); N] = core::array::from_fn(
            #[inline(always)]
            |i| {
                let mut found = (F::Total::ZERO, 0, F::NAN, 0);
                if s.branch(at(i) < end) {
                    let (cluster, coordinate) = super::divide(at(i), call.dimensions);
                    found.0 = F::take(s, totals, at(i) as usize);
                    found.1 = s.load(words, totals.count(cluster));
                    found.2 = if s.branch(call.before != 0) { s.load(before, at(i) as usize) } else { F::NAN };
                    found.3 = s.load(array::<i32>(call.units), coordinate as usize);
                }
                found
            },
        );
        for (i, (total, count, before, unit)) in found.into_iter().enumerate() {
            if s.branch(at(i) < end) {
                let mean = if count == 0 { before } else { F::mean(total, count, unit) };
                if s.branch(call.before != 0 && call.moves != 0) {
                    let by = mean.to_f64() - before.to_f64();
                    s.store(array(call.moves), at(i) as usize, by * by);
                }
                s.store(array(call.means), at(i) as usize, mean);
            }
        }
        first += N as u32 * step;
    }
}

/// Hands the number of a cluster's points over.
#[inline(always)]
fn count<S: Simt>(s: &S, call: &Update, totals: &Totals, cluster: u32) {
    let count = totals.take(s, totals.count(cluster));
    if s.branch(call.counts != 0) {
        s.store(array::<u64>(call.counts), cluster as usize, count);
    }
    if s.branch(count == 0) {
        s.atomic_add(array::<u64>(call.report), EMPTY, 1u64, Order::Relaxed);
    }
}

/// Hands the number of labels of no cluster over.
#[inline(always)]
fn bad<S: Simt>(s: &S, call: &Update, totals: &Totals) {
    let bad = totals.take(s, totals.bad());
    if s.branch(bad != 0) {
        s.atomic_add(array::<u64>(call.report), BAD, bad, Order::Relaxed);
    }
}
