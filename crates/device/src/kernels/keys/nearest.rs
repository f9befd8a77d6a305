//! The nearest centroid of each point, by tensor cores, and those points whose nearest they do not tell for certain.
//!
//! Scores of all centroids are products of matrices, which tensor cores make of f16 ([`score`](mod@score)): good enough to say which centroid is
//! nearest, but for points nearly as near to another one. These are listed, and compared once more in two f16 for each coordinate; those that
//! are left, next to none, [`assign`](super::assign) settles by the scores as they are defined. So labels are those of exact arithmetic, at the
//! speed of a rough one.
//!
//! A warp has 32 points in registers, or 16 in two f16, and centroids come by in shared memory, all of them if they fit.
//!
//! Bottleneck: memory for few clusters, comparing scores for few coordinates, products for many of both.

use super::score::{self, Bound, Points, ROOM, TOGETHER, Two};
use super::tile::each;
use super::{THREADS, Unsure, Update};
use crate::kernels::recipe::array;
use crate::kernels::source::Source;
use crate::simt::{ALL, Global, Pack, Shared, Simt};

/// Points of a block at a time.
pub const fn points(fine: bool) -> u32 {
    THREADS / 32 * score::points(fine)
}

/// Labels of points of `T` with at most `D` coordinates, by what [`score::centroids`] has left: of all, or `FINE`, of those that were not
/// sure when all were compared.
#[inline(always)]
pub fn kernel<S: Simt, T: Source<Value = f32>, const D: usize, const FINE: bool>(s: &S, call: &Update) {
    let (chunk, own) = (const { score::chunk(D, FINE) }, const { score::points(FINE) });
    let rough = s.shared::<u32, { ROOM / 2 }, 0>("centroids in f16");
    let halves = s.shared::<f32, { ROOM / 8 }, 1>("halves of squares");
    let centre = s.shared::<f32, D, 2>("the centre in the unit");
    let listed = s.shared::<u32, { (THREADS / 32 * List::ROOM) as usize }, 3>("points that are not sure");
    let (tid, lane) = (s.thread_x(), s.lane());
    let (squares, centroids): (Global<f32>, Global<Pack<u32, 4>>) =
        (array(call.order), array(score::rough(call.order, call.clusters)));
    let bound = Bound::new::<S, D, FINE>(s, call);
    each(s, tid, D as u32, |j| s.put(centre, j, bound.centre(s, call, j)));
    s.barrier();
    let unsure = [Unsure::of(call, 0), Unsure::of(call, 1)];
    let count = if FINE { unsure[0].count(s) as u64 } else { call.n };
    let number = |i: u64| if FINE { unsure[0].get(s, i as u32) as u64 } else { i };
    let mut list =
        List { points: listed.offset(s.warp() * List::ROOM), count: 0, to: if FINE { unsure[1] } else { unsure[0] } };
    let first = s.block_x() as u64 * points(FINE) as u64;
    let mut at = first;
    while s.again(at < count) {
        let mine = at + (s.warp() * own) as u64;
        let is_there = lane < own && mine + (lane as u64) < count;
        let (mut point, mut before) = (0, 0);
        if s.branch(is_there) {
            point = number(mine + lane as u64);
            before = s.load(array::<u32>(call.labels), point as usize);
        }
        let read = Points::<D, FINE>::read::<S, T>(
            s,
            call,
            &bound,
            centre,
            #[inline(always)]
            |i| number((mine + i as u64).min(count - 1)),
        );
        let mut two = Two::NONE;
        let mut from = 0;
        while s.again(from < call.clusters) {
            let left = call.clusters - from;
            let many = if left < chunk { left.next_multiple_of(TOGETHER) } else { chunk };
            if s.branch(at == first || call.clusters > chunk) {
                s.barrier();
                // Sixteen bytes at a time: eight coordinates; and what they lack, after them.
                let words = const { D as u32 / 8 };
                let all = call.clusters.next_multiple_of(TOGETHER) * words;
                each(s, tid, many * words, |i| {
                    s.put(rough.cast(), i, s.load(centroids, (from * words + i) as usize));
                    if FINE {
                        let low = s.load(centroids, (all + from * words + i) as usize);
                        s.put(rough.cast(), chunk * words + i, low);
                    }
                });
                each(s, tid, many, |i| {
                    let is_there = from + i < call.clusters;
                    let half = if s.branch(is_there) { s.load(squares, (from + i) as usize) } else { 0.0 };
                    s.put(halves, i, bound.half(half, is_there));
                });
                s.barrier();
            }
            let (mut of_chunk, mut i) = (Two::NONE, 0);
            while s.again(i < many / TOGETHER) {
                of_chunk.compare(s, &read, &bound, rough, halves, i);
                i += 1;
            }
            two.meet(s, &of_chunk, &bound, from);
            from += chunk;
        }
        let (label, is_sure) = two.settle(s, &read, &bound);
        if s.branch(is_there && is_sure) {
            store(s, call, point as usize, before, label);
        }
        list.add(s, is_there && !is_sure, point as u32);
        at += s.grid_dim_x() as u64 * points(FINE) as u64;
    }
    list.flush(s);
}

/// Writes a label, and says so if it was another one before.
#[inline(always)]
pub fn store<S: Simt>(s: &S, call: &Update, at: usize, before: u32, label: u32) {
    if s.branch(before != label) {
        s.store(array::<u32>(call.labels), at, label);
        s.store_volatile(array::<u64>(call.report), super::CHANGED, 1);
    }
}

/// What a warp is going to list: all blocks have one counter, and it is busy.
struct List {
    points: Shared<u32>,
    count: u32,
    to: Unsure,
}

impl List {
    /// Points that have room.
    const ROOM: u32 = 64;

    /// Takes the points of those lanes that say so.
    #[inline(always)]
    fn add<S: Simt>(&mut self, s: &S, is_unsure: bool, point: u32) {
        let lanes = s.ballot(ALL, is_unsure);
        let many = lanes.count_ones();
        if s.branch(self.count + many > Self::ROOM) {
            self.flush(s);
        }
        if s.branch(is_unsure) {
            s.put(self.points, self.count + (lanes & ((1 << s.lane()) - 1)).count_ones(), point);
        }
        self.count += many;
    }

    /// Lists them.
    #[inline(always)]
    fn flush<S: Simt>(&mut self, s: &S) {
        let mut to = 0;
        if s.branch(s.lane() == 0 && self.count != 0) {
            to = self.to.grow(s, self.count);
        }
        let to = s.shuffle_idx(ALL, to, 0);
        s.warp_barrier(ALL);
        let mut i = s.lane();
        while s.again(i < self.count) {
            self.to.put(s, to + i, s.get(self.points, i));
            i += 32;
        }
        s.warp_barrier(ALL);
        self.count = 0;
    }
}
