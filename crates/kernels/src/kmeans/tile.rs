//! The update where the sums of all clusters fit shared memory, of all coordinates or a slice of them.
//!
//! A block takes 2048 points at a time. It sorts them by label: each adds one to its label's count, which was its rank
//! among points with the same label; a scan of the counts says where each label begins. Then groups of lanes read the
//! points in that order, straight from global memory: it is the same 2048 rows, only in another order. Sums go to
//! shared memory when the label changes, and to global memory once per block.
//!
//! Bottleneck: memory, where clusters are few beside 2048; otherwise the shared atomics of short runs.

use crate::address::array;
use crate::block::THREADS;
use crate::block::{self, each};
use crate::kmeans::finish::{self, CLUSTERS};
use crate::kmeans::number::Number;
use crate::kmeans::stretch::{self, Part, Stretch};
use crate::kmeans::{NONE, Update, divide};
use crate::source::Source;
use warpfold_simt::{Global, Order, Shared, Simt};

/// Points that each thread has of a tile.
pub const OWN: usize = 8;
/// Points of a tile.
pub const TILE: u32 = THREADS * OWN as u32;
/// Clusters times coordinates of a slice, at most; of f64, half of it.
pub const ROOM: usize = 4096;
/// Tiles that a block may take before sums overflow.
pub const MOST: u32 = crate::kmeans::limbs::MOST / TILE;

/// `W` elements of `T` at a time, with room for so many sums.
#[inline(always)]
pub fn kernel<S: Simt, T: Source<Value: Number>, const W: usize, const SUMS: usize>(s: &S, call: &Update) {
    let order = s.shared::<u32, { beside(TILE) as usize }, 0>("order");
    let places = s.shared::<u32, CLUSTERS, 1>("places");
    let counts = s.shared::<u32, CLUSTERS, 2>("counts");
    let highs = s.shared::<Part<T>, SUMS, 3>("high sums");
    let lows = s.shared::<Part<T>, SUMS, 4>("low sums");
    let warps = s.shared::<u32, 8, 5>("sums of warps");
    let tid = s.thread_x();
    let (block, slice) = divide(s.block_x(), call.slices);
    let totals = T::Value::totals(call);
    let sums = call.clusters * call.reads * W as u32;

    each(s, tid, sums, |i| {
        s.put(highs, i, T::Value::NONE);
        s.put(lows, i, T::Value::NONE);
    });
    each(s, tid, CLUSTERS as u32, |i| s.put(counts, i, 0));
    let mut tile = block as u64 * call.tiles as u64;
    let end = tile + call.tiles as u64;
    while s.again(tile < end && tile * (TILE as u64) < call.n) {
        let first = tile * TILE as u64;
        each(s, tid, CLUSTERS as u32, |i| s.put(places, i, 0));
        s.barrier();
        let own = labels(s, call, first + tid as u64);
        let ranks: [u32; OWN] = warpfold_simt::array::from_fn(
            #[inline(always)]
            |i| {
                if s.branch(own[i] < call.clusters) {
                    s.atomic_add_shared(places, own[i], 1, Order::Relaxed)
                } else {
                    if s.branch(own[i] != NONE && slice == 0) {
                        totals.add(s, totals.bad(), 1);
                    }
                    0
                }
            },
        );
        s.barrier();
        let many = scan(s, places, counts, warps);
        for i in 0..OWN {
            if s.branch(own[i] < call.clusters) {
                let at = s.get(places, own[i]) + ranks[i];
                s.put(order, beside(at), own[i] << 16 | (i as u32 * THREADS + tid));
            }
        }
        s.barrier();
        let group = tid >> call.abreast;
        let groups = THREADS >> call.abreast;
        let long = (many + groups - 1) >> (THREADS.ilog2() - call.abreast);
        let (from, to) = (group * long, group * long + long);
        let to = if to < many { to } else { many };
        let stretch = Stretch { from, to, points: call.at.points + first * call.along, slice };
        stretch::add::<S, T, W>(
            s,
            call,
            stretch,
            #[inline(always)]
            |at| {
                let entry = s.get(order, beside(at));
                (entry >> 16, entry & 0xffff)
            },
            #[inline(always)]
            |label, read, sums: [[Part<T>; 2]; W]| {
                for (w, [high, low]) in sums.into_iter().enumerate() {
                    // Lanes side by side have words side by side.
                    let at = (label * W as u32 + w as u32) * call.reads + read;
                    s.atomic_add_shared(highs, at, high, Order::Relaxed);
                    s.atomic_add_shared(lows, at, low, Order::Relaxed);
                }
            },
        );
        tile += 1;
    }
    s.barrier();
    each(s, tid, sums, |i| {
        let (of, read) = divide(i, call.reads);
        let (w, cluster) = (of % W as u32, of / W as u32);
        let coordinate = (slice * call.reads + read) * W as u32 + w;
        if s.branch(coordinate < call.dimensions) {
            T::Value::give(s, &totals, cluster, coordinate, s.get(highs, i), s.get(lows, i));
        }
    });
    if s.branch(slice == 0) {
        each(s, tid, call.clusters, |i| totals.add(s, totals.count(i), s.get(counts, i) as u64));
    }
    finish::last::<S, T::Value>(s, call);
}

/// Where an entry is: groups of lanes read them together, and often 32 apart, which would be one bank.
const fn beside(at: u32) -> u32 {
    at + at / 32
}

/// The labels of the points `first + i · THREADS`; those from `n` on have none.
#[inline(always)]
fn labels<S: Simt>(s: &S, call: &Update, first: u64) -> [u32; OWN] {
    let labels: Global<i32> = array(call.at.labels);
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |i| {
            let at = first + i as u64 * THREADS as u64;
            if s.branch(at < call.n) { s.load(labels, at as usize) as u32 } else { NONE }
        },
    )
}

/// Turns how many of each label there are into where each begins, adds them to `counts`, and says how many there are of
/// all.
#[inline(always)]
fn scan<S: Simt>(s: &S, places: Shared<u32>, counts: Shared<u32>, warps: Shared<u32>) -> u32 {
    const OF: usize = CLUSTERS / THREADS as usize;
    let tid = s.thread_x();
    let mut mine = [0; OF];
    let mut before = 0;
    for (i, mine) in mine.iter_mut().enumerate() {
        let at = tid * OF as u32 + i as u32;
        *mine = s.get(places, at);
        s.put(counts, at, s.get(counts, at) + *mine);
        before += *mine;
    }
    let (mut at, all) = block::scan(s, warps, before);
    for (i, mine) in mine.into_iter().enumerate() {
        s.put(places, tid * OF as u32 + i as u32, at);
        at += mine;
    }
    s.barrier();
    all
}
