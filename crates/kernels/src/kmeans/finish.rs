//! From sums to means, which leaves the totals zero for the next update.
//!
//! Where sums are few, the last block of the update makes them ([`last`]): another launch takes longer than that. Of
//! more, a warp has each cluster ([`kernel`]). Lanes that add up whole clusters write their means themselves ([`own`]).

use crate::address::array;
use crate::block::THREADS;
use crate::kmeans::number::Number;
use crate::kmeans::{BAD, EMPTY, Totals, Update};
use warpfold_core::Accumulate;
use warpfold_simt::{ALL, Global, Order, Pack, Pod, Simt};

/// Clusters at most of an update that adds up in shared memory.
pub const CLUSTERS: usize = 512;
/// Sums of which the last block of an update makes means.
pub const FEW: usize = 1024;

/// One launch has a warp for each cluster, or more.
#[inline(always)]
pub fn kernel<S: Simt, F: Number>(s: &S, call: &Update) {
    let cluster = s.block_x() * (THREADS / 32) + s.warp();
    let totals = F::totals(call);
    if s.branch(cluster == 0 && s.lane() == 0) {
        bad(s, call, &totals, s.load(array(call.at.totals), totals.bad()));
    }
    if s.branch(cluster < call.clusters) {
        let many = totals.many(s, cluster);
        one::<S, F>(s, call, &totals, (cluster, many), (s.lane(), 32));
        // All have read how many before one of them makes it zero.
        s.warp_barrier(ALL);
        if s.branch(s.lane() == 0) {
            count(s, call, &totals, (cluster, many));
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
    let (tid, blocks) = (s.thread_x(), array::<u64>(call.at.totals));
    s.barrier();
    if s.branch(tid == 0) {
        let before = s.atomic_add(blocks, totals.done(), 1u64, Order::AcqRel);
        s.put(flag, 0, (before + 1 == s.grid_dim_x() as u64) as u32);
    }
    s.barrier();
    if s.branch(s.get(flag, 0) != 0) {
        // Read with the sums, as each read takes as long as all; zero when all have read.
        const OF: usize = CLUSTERS / THREADS as usize;
        let cluster = |i: usize| tid + i as u32 * THREADS;
        let counts: [u64; OF] = warpfold_simt::array::from_fn(
            #[inline(always)]
            |i| if s.branch(cluster(i) < call.clusters) { totals.many(s, cluster(i)) } else { 0 },
        );
        let wrong = if s.branch(tid == 0) { s.load(blocks, totals.bad()) } else { 0 };
        let many = |at: u32| totals.many(s, crate::kmeans::divide(at, call.dimensions).0);
        means::<S, F, 2>(s, call, &totals, (tid, THREADS, call.clusters * call.dimensions), many);
        s.barrier();
        for (i, many) in counts.into_iter().enumerate() {
            if s.branch(cluster(i) < call.clusters) {
                count(s, call, &totals, (cluster(i), many));
            }
        }
        if s.branch(tid == 0) {
            bad(s, call, &totals, wrong);
            s.store(blocks, totals.done(), 0);
        }
    }
}

/// The means of the totals of a cluster of so many points, shared out among so many lanes.
#[inline(always)]
pub fn one<S: Simt, F: Number>(
    s: &S,
    call: &Update,
    totals: &Totals,
    (cluster, many): (u32, u64),
    (lane, lanes): (u32, u32),
) {
    let first = cluster * call.dimensions;
    means::<S, F, 4>(s, call, totals, (first + lane, lanes, first + call.dimensions), |_| many);
}

/// The means of sums that a lane has, of neighbouring coordinates from `first` on, written 16 bytes at a time if they
/// are so many.
#[inline(always)]
pub fn own<S: Simt, F: Number, const W: usize>(
    s: &S,
    call: &Update,
    (cluster, many): (u32, u64),
    first: u32,
    sums: [[F::Part; 2]; W],
) {
    let at = cluster as usize * call.dimensions as usize + first as usize;
    let means: [F; W] = warpfold_simt::array::from_fn(
        #[inline(always)]
        |w| mean(s, call, at + w, F::total(sums[w][0], sums[w][1]), many, look(s, call, at + w, first + w as u32)),
    );
    let size = size_of::<F>();
    let pack = if W * size >= 16 { 16 / size } else { 1 };
    for (i, means) in means.chunks_exact(pack).enumerate() {
        let to = call.at.means + ((at + i * pack) * size) as u64;
        if pack == 1 {
            s.store(array(to), 0, means[0]);
        } else {
            let bits = means.iter().rev().fold(0, |bits, mean| bits << (8 * size) | mean.to_bits());
            s.store(array(to), 0, Pack::<u32, 4>::from_bits(bits));
        }
    }
}

/// The means of sums `from`, `from + step` and so on, below `end`; `N` are under way at once.
#[inline(always)]
fn means<S: Simt, F: Number, const N: usize>(
    s: &S,
    call: &Update,
    totals: &Totals,
    (from, step, end): (u32, u32, u32),
    many: impl Fn(u32) -> u64,
) {
    let mut first = from;
    while s.again(first < end) {
        let at = |i: usize| first + i as u32 * step;
        let found: [(F::Total, u64, (F, i32)); N] = warpfold_simt::array::from_fn(
            #[inline(always)]
            |i| {
                if s.branch(at(i) < end) {
                    let coordinate = crate::kmeans::divide(at(i), call.dimensions).1;
                    let total = F::take(s, totals, at(i) as usize);
                    (total, many(at(i)), look(s, call, at(i) as usize, coordinate))
                } else {
                    (F::Total::ZERO, 0, (F::NAN, 0))
                }
            },
        );
        for (i, (total, count, old)) in found.into_iter().enumerate() {
            if s.branch(at(i) < end) {
                s.store(array(call.at.means), at(i) as usize, mean(s, call, at(i) as usize, total, count, old));
            }
        }
        first += N as u32 * step;
    }
}

/// The mean of before, or NaN, and the exponent of the unit.
#[inline(always)]
fn look<S: Simt, F: Number>(s: &S, call: &Update, at: usize, coordinate: u32) -> (F, i32) {
    let before: Global<F> = array(call.at.before);
    let before = if s.branch(call.at.before != 0) { s.load(before, at) } else { F::NAN };
    (before, s.load(array(call.at.units), coordinate as usize))
}

/// A mean. Writes how far it has moved.
#[inline(always)]
fn mean<S: Simt, F: Number>(
    s: &S,
    call: &Update,
    at: usize,
    total: F::Total,
    count: u64,
    (before, unit): (F, i32),
) -> F {
    let mean = if count == 0 { before } else { F::mean(total, count, unit) };
    if s.branch(call.at.before != 0 && call.at.moves != 0) {
        let by = mean.to_f64() - before.to_f64();
        s.store(array(call.at.moves), at, by * by);
    }
    mean
}

/// Hands the number of a cluster's points over, and leaves zero.
#[inline(always)]
pub fn count<S: Simt>(s: &S, call: &Update, totals: &Totals, (cluster, many): (u32, u64)) {
    s.store(array::<u64>(call.at.totals), totals.count(cluster), 0);
    if s.branch(call.at.counts != 0) {
        s.store(array::<u64>(call.at.counts), cluster as usize, many);
    }
    if s.branch(many == 0) {
        s.atomic_add(array::<u64>(call.at.report), EMPTY, 1u64, Order::Relaxed);
    }
}

/// Hands the number of labels of no cluster over, and leaves zero.
#[inline(always)]
pub fn bad<S: Simt>(s: &S, call: &Update, totals: &Totals, wrong: u64) {
    if s.branch(wrong != 0) {
        s.store(array::<u64>(call.at.totals), totals.bad(), 0);
        s.atomic_add(array::<u64>(call.at.report), BAD, wrong, Order::Relaxed);
    }
}
