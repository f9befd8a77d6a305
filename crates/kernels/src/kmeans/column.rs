//! The update of points of one coordinate, in at most 16 clusters: no atomics but at the end.
//!
//! So many points have the same few labels that threads would queue up for any sum they share. So each thread has all
//! sums, in a column of shared memory that nobody else uses: the total in the low 48 bits of a word, and how many
//! points in the others.
//!
//! Bottleneck: the launch, up to some millions of points; then memory.

use crate::address::array;
use crate::block::THREADS;
use crate::kmeans::limbs::{EACH, limbs, scale, total};
use crate::kmeans::tile::{OWN, TILE};
use crate::kmeans::{NONE, Totals, Update, finish};
use crate::source::Source;
use warpfold_simt::{ALL, Global, Simt};

/// Clusters at most.
pub const CLUSTERS: usize = 16;
/// Threads that add up a cluster's columns.
const PARTS: u32 = THREADS / CLUSTERS as u32;

/// Tiles of a block are as many as those of [`tile`](crate::kmeans::tile), so that 16 bits can count a thread's points.
#[inline(always)]
pub fn kernel<S: Simt, T: Source<Value = f32>>(s: &S, call: &Update) {
    let sums = s.shared::<u64, { CLUSTERS * THREADS as usize }, 0>("sums");
    let tid = s.thread_x();
    let totals = Totals::at(call.at.totals, call.clusters, call.dimensions);
    let labels: Global<u32> = array(call.at.labels);
    let factor = scale(s.load(array(call.at.scales), 0));
    let mut tile = s.block_x() as u64 * call.tiles as u64;
    let end = tile + call.tiles as u64;
    let points = call.n.min(end * TILE as u64);
    let read = |tile: u64| -> [(u32, f32); OWN] {
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |i| {
                let at = tile * TILE as u64 + i as u64 * THREADS as u64 + tid as u64;
                if s.branch(at < points) {
                    (s.load(labels, at as usize), T::value(s, s.load(array(call.at.points + at * call.along), 0)))
                } else {
                    (NONE, 0.0)
                }
            },
        )
    };
    // Reads are under way while sums become zero, and while the tile before is added.
    let mut own = read(tile);
    let mut cluster = 0;
    while s.again(cluster < call.clusters) {
        s.put(sums, cluster * THREADS + tid, 0);
        cluster += 1;
    }
    while s.again(tile < end) {
        tile += 1;
        let next = read(tile);
        for (label, x) in own {
            if s.branch(label < call.clusters) {
                let [high, low] = limbs(s, x, factor).map(|limb| limb.wrapping_sub(EACH));
                let at = label * THREADS + tid;
                let before = s.get(sums, at);
                s.put(sums, at, before.wrapping_add(total(high, low)).wrapping_add(1 << 48));
            } else if s.branch(label != NONE) {
                totals.add(s, totals.bad(), 1);
            }
        }
        own = next;
    }
    s.barrier();
    // So many threads add up a cluster's columns.
    let (cluster, part) = (tid / PARTS, tid % PARTS);
    let (mut sum, mut many) = (0u64, 0u64);
    if s.branch(cluster < call.clusters) {
        for i in 0..THREADS / PARTS {
            let word = s.get(sums, cluster * THREADS + i * PARTS + part);
            let total = ((word << 16) as i64 >> 16) as u64;
            sum = sum.wrapping_add(total);
            many += word.wrapping_sub(total) >> 48;
        }
    }
    for by in [8, 4, 2, 1] {
        sum = sum.wrapping_add(s.shuffle_xor(ALL, sum, by));
        many += s.shuffle_xor(ALL, many, by);
    }
    s.barrier();
    if s.branch(part == 0 && cluster < call.clusters) {
        s.put(sums, totals.sum(cluster, 0) as u32, sum);
        s.put(sums, totals.count(cluster) as u32, many);
    }
    s.barrier();
    // Neighbours add to neighbours: the cache takes 32 bytes of them at once.
    if s.branch(tid < 2 * call.clusters) {
        totals.add(s, tid as usize, s.get(sums, tid));
    }
    finish::last::<S, f32>(s, call);
}
