//! The points of all clusters in the order of their labels, in global memory, for sums that do not fit shared memory.
//!
//! A counting sort in three launches: count the labels, where each point learns its rank among points with the same
//! label ([`count`]); give each cluster room ([`offsets`]); write each point there ([`scatter`]). The order of points
//! with the same label does not matter, as sums are whole numbers, and neither does which cluster does. So no order is
//! kept among equals, and no block waits for another.
//!
//! Then [`gather`] adds the list up. A group of lanes has a short cluster to itself, and writes its means without
//! adding anything to global memory. Long clusters, which begin the list, are cut into stretches of one length; who
//! comes last to a cluster makes its means.
//!
//! Bottleneck: memory; the list is 4 bytes for a point, written once and read once.

use crate::address::array;
use crate::block::THREADS;
use crate::block::each;
use crate::block::{self, WARPS};
use crate::kmeans::number::Number;
use crate::kmeans::stretch::Part;
use crate::kmeans::{NONE, Totals, Update, finish, run};
use crate::source::Source;
use warpfold_simt::{Global, Order, Shared, Simt};

/// Points that each thread has of a tile.
const OWN: usize = 16;
/// Points of a tile.
pub const TILE: u32 = THREADS * OWN as u32;
/// Clusters that all have a count in shared memory.
const CLUSTERS: usize = 8192;
/// Slots for counts of some labels of more clusters.
const SLOTS: u32 = 2048;
/// Clusters to which a thread of [`offsets`] gives room, and points that one of [`scatter`] writes.
pub const EACH: usize = 4;

/// What [`cursors`](crate::kmeans::UpdateAt::cursors) is, and the halves of [`order`](crate::kmeans::UpdateAt::order).
#[derive(Clone, Copy)]
struct List {
    /// How many points of long clusters have room, from the first place on; and, 32 bits higher, of short ones, before
    /// the last.
    room: Global<u64>,
    /// Where each cluster begins; and, 32 bits higher, how many points it has.
    clusters: Global<u64>,
    /// The numbers of the points.
    points: Global<u32>,
    /// The rank of each point among points with the same label.
    ranks: Global<u32>,
}

impl List {
    #[inline(always)]
    fn of(call: &Update) -> Self {
        Self {
            room: array(call.at.cursors),
            clusters: array(call.at.cursors + 8),
            points: array(call.at.order),
            ranks: array(call.at.order + 4 * call.n),
        }
    }
}

/// Words that [`cursors`](crate::kmeans::UpdateAt::cursors) has room for.
pub const fn cursors(clusters: usize) -> usize {
    clusters + 1
}

/// Points of a cluster that a group of lanes has to itself, at most.
#[inline(always)]
fn short(call: &Update) -> u64 {
    3 * call.stretch as u64
}

/// A label, of no cluster from `n` on.
#[inline(always)]
fn label<S: Simt>(s: &S, call: &Update, at: u64) -> u32 {
    if s.branch(at < call.n) { s.load(array::<u32>(call.at.labels), at as usize) } else { NONE }
}

/// Counts the labels, and writes the rank of each point.
#[inline(always)]
pub fn count<S: Simt>(s: &S, call: &Update) {
    let shared = s.shared::<u32, CLUSTERS, 0>("counts");
    let list = List::of(call);
    let totals = Totals::at(call.at.totals, call.clusters, call.sums);
    let tid = s.thread_x();
    if s.branch(s.block_x() == 0 && tid == 0) {
        s.store(list.room, 0, 0);
    }
    // In the order of the points, as far as blocks run at once: then [`scatter`] writes to few places at a time.
    let mut tile = s.block_x() as u64;
    while s.again(tile * (TILE as u64) < call.n) {
        let point = |i: usize| tile * TILE as u64 + i as u64 * THREADS as u64 + tid as u64;
        let own: [u32; OWN] = warpfold_simt::array::from_fn(
            #[inline(always)]
            |i| label(s, call, point(i)),
        );
        let bad = own.into_iter().filter(|&label| label >= call.clusters && label != NONE).count();
        totals.add(s, totals.bad(), bad as u64);
        let own = own.map(|label| if label < call.clusters { label } else { NONE });
        let ranks = if s.branch(call.clusters <= CLUSTERS as u32) {
            ranks_by_label(s, call, &totals, shared, own)
        } else {
            ranks_by_slot(s, call, &totals, shared, own)
        };
        for (i, rank) in ranks.into_iter().enumerate() {
            if s.branch(own[i] != NONE) {
                s.store(list.ranks, point(i) as usize, rank);
            }
        }
        s.barrier();
        tile += s.grid_dim_x() as u64;
    }
}

/// Adds to the points of a cluster, and says how many there were. The low half is enough; and what comes back is not
/// touched, so that no atomic waits for the one before.
#[inline(always)]
fn add<S: Simt>(s: &S, call: &Update, totals: &Totals, label: u32, many: u32) -> u32 {
    s.atomic_add(array::<u32>(call.at.totals), 2 * totals.count(label), many, Order::Relaxed)
}

/// Ranks by counts of all labels: a block adds what it has of a label at once.
#[inline(always)]
fn ranks_by_label<S: Simt>(s: &S, call: &Update, totals: &Totals, counts: Shared<u32>, own: [u32; OWN]) -> [u32; OWN] {
    let tid = s.thread_x();
    each(s, tid, call.clusters, |i| s.put(counts, i, 0));
    s.barrier();
    let ranks = own.map(
        #[inline(always)]
        |label| if s.branch(label != NONE) { s.atomic_add_shared(counts, label, 1, Order::Relaxed) } else { 0 },
    );
    s.barrier();
    let mut from = tid;
    while s.again(from < call.clusters) {
        let at: [u32; EACH] = warpfold_simt::array::from_fn(|i| from + i as u32 * THREADS);
        let many = at.map(|at| if s.branch(at < call.clusters) { s.get(counts, at) } else { 0 });
        let firsts: [u32; EACH] = warpfold_simt::array::from_fn(|i| {
            if s.branch(many[i] != 0) { add(s, call, totals, at[i], many[i]) } else { 0 }
        });
        for i in 0..EACH {
            if s.branch(many[i] != 0) {
                s.put(counts, at[i], firsts[i]);
            }
        }
        from += EACH as u32 * THREADS;
    }
    s.barrier();
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |i| ranks[i] + if s.branch(own[i] != NONE) { s.get(counts, own[i]) } else { 0 },
    )
}

/// Ranks of too many labels for that. A slot goes to the first label that comes to it; points of that label are counted
/// there, and the others one by one in global memory: few of them are alike.
#[inline(always)]
fn ranks_by_slot<S: Simt>(s: &S, call: &Update, totals: &Totals, shared: Shared<u32>, own: [u32; OWN]) -> [u32; OWN] {
    let slot = |label: u32| label % SLOTS;
    let owner = |label: u32| slot(label) + SLOTS;
    let count = |label: u32| slot(label) + 2 * SLOTS;
    each(s, s.thread_x(), 3 * SLOTS, |i| s.put(shared, i, 0));
    s.barrier();
    let came = own.map(
        #[inline(always)]
        |label| if s.branch(label != NONE) { s.atomic_add_shared(shared, slot(label), 1, Order::Relaxed) } else { 1 },
    );
    for i in 0..OWN {
        if s.branch(came[i] == 0) {
            s.put(shared, owner(own[i]), own[i]);
        }
    }
    s.barrier();
    let is_owner = own.map(
        #[inline(always)]
        |label| s.get(shared, owner(label)) == label,
    );
    let ranks: [u32; OWN] = warpfold_simt::array::from_fn(
        #[inline(always)]
        |i| {
            if s.branch(is_owner[i]) {
                s.atomic_add_shared(shared, count(own[i]), 1, Order::Relaxed)
            } else if s.branch(own[i] != NONE) {
                add(s, call, totals, own[i], 1)
            } else {
                0
            }
        },
    );
    s.barrier();
    let firsts: [u32; OWN] = warpfold_simt::array::from_fn(
        #[inline(always)]
        |i| if s.branch(came[i] == 0) { add(s, call, totals, own[i], s.get(shared, count(own[i]))) } else { 0 },
    );
    for i in 0..OWN {
        if s.branch(came[i] == 0) {
            s.put(shared, slot(own[i]), firsts[i]);
        }
    }
    s.barrier();
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |i| ranks[i] + if s.branch(is_owner[i]) { s.get(shared, slot(own[i])) } else { 0 },
    )
}

/// Where each cluster begins. Each block takes room for its clusters at once, for short ones and long ones apart.
#[inline(always)]
pub fn offsets<S: Simt>(s: &S, call: &Update) {
    let warps = s.shared::<u64, { WARPS as usize }, 0>("sums of warps");
    let before = s.shared::<u64, 1, 1>("what other blocks have taken");
    let (list, words): (List, Global<u64>) = (List::of(call), array(call.at.totals));
    let totals = Totals::at(call.at.totals, call.clusters, call.sums);
    let tid = s.thread_x();
    let cluster = |i: usize| (s.block_x() * THREADS + tid) * EACH as u32 + i as u32;
    let many: [u64; EACH] = warpfold_simt::array::from_fn(
        #[inline(always)]
        |i| if s.branch(cluster(i) < call.clusters) { s.load(words, totals.count(cluster(i))) } else { 0 },
    );
    let is_short = |i: usize| many[i] <= short(call);
    let room: [u64; EACH] = warpfold_simt::array::from_fn(|i| if is_short(i) { many[i] << 32 } else { many[i] });
    let own: u64 = room.into_iter().sum();
    let (mut at, all) = block::scan(s, warps, own);
    if s.branch(tid == 0) {
        s.put(before, 0, s.atomic_add(list.room, 0, all, Order::Relaxed));
    }
    s.barrier();
    at += s.get(before, 0);
    for i in 0..EACH {
        let start = if is_short(i) { call.n - (at >> 32) - many[i] } else { at & u32::MAX as u64 };
        if s.branch(cluster(i) < call.clusters) {
            s.store(list.clusters, cluster(i) as usize, many[i] << 32 | start);
        }
        at += room[i];
    }
}

/// Writes each point to its place.
#[inline(always)]
pub fn scatter<S: Simt>(s: &S, call: &Update) {
    let list = List::of(call);
    let first = s.block_x() as u64 * (THREADS as usize * EACH) as u64 + s.thread_x() as u64;
    let point = |i: usize| first + i as u64 * THREADS as u64;
    let labels: [u32; EACH] = warpfold_simt::array::from_fn(
        #[inline(always)]
        |i| label(s, call, point(i)),
    );
    let places: [u32; EACH] = warpfold_simt::array::from_fn(
        #[inline(always)]
        |i| {
            if s.branch(labels[i] < call.clusters) {
                s.load(list.clusters, labels[i] as usize) as u32 + s.load(list.ranks, point(i) as usize)
            } else {
                0
            }
        },
    );
    for (i, place) in places.into_iter().enumerate() {
        if s.branch(labels[i] < call.clusters) {
            s.store(list.points, place as usize, point(i) as u32);
        }
    }
}

/// Adds the points of the list up, `W` elements at a time: first the groups of lanes that have a cluster, then those
/// that have a stretch.
#[inline(always)]
pub fn gather<S: Simt, T: Source<Value: Number>, const W: usize>(s: &S, call: &Update) {
    let list = List::of(call);
    let (labels, words): (Global<u32>, Global<u64>) = (array(call.at.labels), array(call.at.totals));
    let totals = T::Value::totals(call);
    let thread = s.block_x() * THREADS + s.thread_x();
    if s.branch(thread == 0) {
        finish::bad(s, call, &totals, s.load(words, totals.bad()));
    }
    let (lanes, group) = (1 << call.abreast, thread >> call.abreast);
    let lane = s.lane() & (lanes - 1);
    let mates = (u32::MAX >> (32 - lanes)) << (s.lane() - lane);

    let is_short = group < call.clusters;
    let label_at = |at: u32| s.load(labels, s.load(list.points, at as usize) as usize);
    let (mut cluster, mut from, mut end) = (group, 0, 0);
    if s.branch(!is_short) {
        let long = s.load(list.room, 0) as u32;
        from = (group - call.clusters).saturating_mul(call.stretch);
        if s.branch(from >= long) {
            return;
        }
        end = if long - from < call.stretch { long } else { from + call.stretch };
        cluster = label_at(from);
    }
    loop {
        let place = s.load(list.clusters, cluster as usize);
        let (start, many) = (place as u32, (place >> 32) as u32);
        let mut to = start + many;
        if s.branch(is_short) {
            if s.branch(many as u64 > short(call)) {
                return;
            }
            (from, end) = (start, to);
        }
        to = if to < end { to } else { end };
        run::add::<S, T, W>(
            s,
            call,
            (list.points, from, to),
            #[inline(always)]
            |read, sums: [[Part<T>; 2]; W]| {
                let first = read * W as u32;
                if s.branch(is_short) {
                    // No more than 16 bits: so the compiler leaves out how means of more points are made.
                    finish::own::<S, T::Value, W>(s, call, (cluster, many as u16 as u64), first, sums);
                } else {
                    for (w, [high, low]) in sums.into_iter().enumerate() {
                        T::Value::give(s, &totals, cluster, first + w as u32, high, low);
                    }
                }
            },
        );
        let mut is_last = is_short as u32;
        if s.branch(!is_short) {
            // All have added their sums.
            s.warp_barrier(mates);
            if s.branch(lane == 0) {
                let done = to - from;
                let before = s.atomic_add(words, totals.count(cluster), (done as u64) << 32, Order::AcqRel);
                is_last = ((before >> 32) as u32 + done == many) as u32;
            }
            is_last = s.shuffle_idx(mates, is_last, s.lane() - lane);
            s.warp_barrier(mates);
            if s.branch(is_last != 0) {
                finish::one::<S, T::Value>(s, call, &totals, (cluster, many as u64), (lane, lanes));
            }
        }
        if s.branch(is_last != 0 && lane == 0) {
            finish::count(s, call, &totals, (cluster, many as u64));
        }
        if s.branch(to == end) {
            return;
        }
        from = to;
        cluster = label_at(from);
    }
}
