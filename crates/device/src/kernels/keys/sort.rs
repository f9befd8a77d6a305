//! The points of all clusters in the order of their labels, in global memory, for sums that do not fit shared memory.
//!
//! A counting sort in three launches: count the labels, add the counts up ([`offsets`]), put each point where its label has room. Blocks
//! count in shared memory, and each takes room for all its points of a label at once; which of them comes first does not matter, as
//! sums are whole numbers. So no order is kept among equals, and no block waits for another. Then [`gather`] adds stretches of that list up.
//!
//! Bottleneck: memory; the list is 8 bytes for a point, written once and read once.

use super::number::Number;
use super::stretch::{self, Part, Stretch};
use super::tile::each;
use super::{NONE, THREADS, Totals, Update};
use crate::kernels::recipe::array;
use crate::kernels::source::Source;
use crate::simt::{ALL, Global, Order, Simt};

/// Points that each thread has of a tile.
const OWN: usize = 16;
/// Points of a tile.
pub const TILE: u32 = THREADS * OWN as u32;
/// Clusters that are counted in shared memory; of more, few points of a block are alike.
pub const CLUSTERS: usize = 8192;
/// Warps of a block.
const WARPS: usize = THREADS as usize / 32;
/// Rows of counts that are added up at a time.
const TOGETHER: usize = 8;

/// A label, of no cluster from `n` on.
#[inline(always)]
fn label<S: Simt>(s: &S, call: &Update, at: u64) -> u32 {
    if s.branch(at < call.n) { s.load(array::<u32>(call.labels), at as usize) } else { NONE }
}

/// Counts labels into the cursors, which were zero.
#[inline(always)]
pub fn count<S: Simt>(s: &S, call: &Update) {
    let counts = s.shared::<u32, CLUSTERS, 0>("counts");
    let cursors: Global<u32> = array(call.cursors);
    let totals = Totals::at(call.totals, call.clusters, call.dimensions);
    let (tid, here) = (s.thread_x(), call.clusters <= CLUSTERS as u32);
    if s.branch(here) {
        each(s, tid, call.clusters, |i| s.put(counts, i, 0));
        s.barrier();
    }
    let mut at = s.block_x() as u64 * call.each as u64 * TILE as u64 + tid as u64;
    let mut left = call.each * OWN as u32 / 4;
    while s.again(left > 0) {
        let labels: [u32; 4] = core::array::from_fn(
            #[inline(always)]
            |i| label(s, call, at + i as u64 * THREADS as u64),
        );
        for label in labels {
            if s.branch(label < call.clusters) {
                if s.branch(here) {
                    s.atomic_add_shared(counts, label, 1, Order::Relaxed);
                } else {
                    s.atomic_add(cursors, label as usize, 1, Order::Relaxed);
                }
            } else if s.branch(label != NONE) {
                totals.add(s, totals.bad(), 1);
            }
        }
        at += 4 * THREADS as u64;
        left -= 1;
    }
    if s.branch(here) {
        s.barrier();
        each(s, tid, call.clusters, |i| {
            let many = s.get(counts, i);
            if s.branch(many != 0) {
                s.atomic_add(cursors, i as usize, many, Order::Relaxed);
            }
        });
    }
}

/// From how many of each to where each begins, and after the last one how many there are of all. One block, which takes rows of
/// [`THREADS`] counts, several at once.
#[inline(always)]
pub fn offsets<S: Simt>(s: &S, call: &Update) {
    let warps = s.shared::<u32, { TOGETHER * WARPS }, 0>("sums of warps");
    let cursors: Global<u32> = array(call.cursors);
    let totals = Totals::at(call.totals, call.clusters, call.dimensions);
    let (tid, lane, warp) = (s.thread_x(), s.lane(), s.warp());
    let (mut first, mut base) = (0, 0);
    while s.again(first < call.clusters) {
        let cluster = |row: usize| first + row as u32 * THREADS + tid;
        let many: [u32; TOGETHER] = core::array::from_fn(
            #[inline(always)]
            |row| {
                let at = cluster(row);
                if s.branch(at < call.clusters) { s.load(cursors, at as usize) } else { 0 }
            },
        );
        let mut before = many;
        for by in [1, 2, 4, 8, 16] {
            for before in &mut before {
                let other = s.shuffle_up(ALL, *before, by);
                *before += if lane >= by { other } else { 0 };
            }
        }
        if s.branch(lane == 31) {
            for (row, before) in before.into_iter().enumerate() {
                s.put(warps, (row * WARPS) as u32 + warp, before);
            }
        }
        s.barrier();
        // Those of the warps before, and of all.
        let mut all = 0;
        for row in 0..TOGETHER {
            let mut at = base + all;
            for other in 0..WARPS as u32 {
                let sum = s.get(warps, (row * WARPS) as u32 + other);
                at += if other < warp { sum } else { 0 };
                all += sum;
            }
            if s.branch(cluster(row) < call.clusters) {
                s.store(cursors, cluster(row) as usize, at + before[row] - many[row]);
                totals.add(s, totals.count(cluster(row)), many[row] as u64);
            }
        }
        base += all;
        first += THREADS * TOGETHER as u32;
        s.barrier();
    }
    if s.branch(tid == 0) {
        s.store(cursors, call.clusters as usize, base);
    }
}

/// Writes label and number of each point to where its label has room; cursors move on.
#[inline(always)]
pub fn scatter<S: Simt>(s: &S, call: &Update) {
    let places = s.shared::<u32, CLUSTERS, 0>("places");
    let cursors: Global<u32> = array(call.cursors);
    let order: Global<u64> = array(call.order);
    let (tid, here) = (s.thread_x(), call.clusters <= CLUSTERS as u32);
    let mut tile = s.block_x() as u64 * call.each as u64;
    let end = tile + call.each as u64;
    while s.again(tile < end && tile * (TILE as u64) < call.n) {
        let first = tile * TILE as u64 + tid as u64;
        let point = |i: usize| first + i as u64 * THREADS as u64;
        let own: [u32; OWN] = core::array::from_fn(
            #[inline(always)]
            |i| label(s, call, point(i)),
        );
        if s.branch(here) {
            each(s, tid, call.clusters, |i| s.put(places, i, 0));
            s.barrier();
        }
        let ranks: [u32; OWN] = core::array::from_fn(
            #[inline(always)]
            |i| {
                if s.branch(own[i] >= call.clusters) {
                    0
                } else if s.branch(here) {
                    s.atomic_add_shared(places, own[i], 1, Order::Relaxed)
                } else {
                    s.atomic_add(cursors, own[i] as usize, 1, Order::Relaxed)
                }
            },
        );
        if s.branch(here) {
            s.barrier();
            each(s, tid, call.clusters, |i| {
                let many = s.get(places, i);
                if s.branch(many != 0) {
                    s.put(places, i, s.atomic_add(cursors, i as usize, many, Order::Relaxed));
                }
            });
            s.barrier();
        }
        for i in 0..OWN {
            if s.branch(own[i] < call.clusters) {
                let from = if s.branch(here) { s.get(places, own[i]) } else { 0 };
                s.store(order, (from + ranks[i]) as usize, (own[i] as u64) << 32 | point(i));
            }
        }
        if s.branch(here) {
            s.barrier();
        }
        tile += 1;
    }
}

/// Adds the points of the list up, a stretch for each group of lanes, `W` elements at a time. Leaves the cursors zero.
#[inline(always)]
pub fn gather<S: Simt, T: Source<Value: Number>, const W: usize>(s: &S, call: &Update) {
    let cursors: Global<u32> = array(call.cursors);
    let order: Global<u64> = array(call.order);
    let totals = T::Value::totals(call);
    let thread = s.block_x() * THREADS + s.thread_x();
    let many = s.load(cursors, call.clusters as usize);
    let mut cluster = thread;
    while s.again(cluster < call.clusters) {
        s.store(cursors, cluster as usize, 0);
        cluster += s.grid_dim_x() * THREADS;
    }
    let from = (thread >> call.abreast).saturating_mul(call.each);
    let to = from.saturating_add(call.each);
    let to = if to < many { to } else { many };
    stretch::add::<S, T, W>(
        s,
        call,
        Stretch { from, to, points: call.points, slice: 0 },
        #[inline(always)]
        |at| {
            let entry = s.load(order, at as usize);
            ((entry >> 32) as u32, entry as u32)
        },
        #[inline(always)]
        |label, read, sums: [[Part<T>; 2]; W]| {
            for (w, [high, low]) in sums.into_iter().enumerate() {
                T::Value::give(s, &totals, label, read * W as u32 + w as u32, high, low);
            }
        },
    );
}
