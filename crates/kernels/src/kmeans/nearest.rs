//! The nearest centroid of each point, by tensor cores, and those points whose nearest they do not tell for certain.
//!
//! Scores of all centroids are products of matrices, which tensor cores make of f16 ([`score`](mod@score)): good enough
//! to say which centroid is nearest, but for points nearly as near to another one. These are listed, and compared once
//! more in two f16 for each coordinate; those that are left, next to none, [`assign`](crate::kmeans::assign) settles by
//! the scores as they are defined. So labels are those of exact arithmetic, at the speed of a rough one. Few centroids
//! are in shared memory as they are, too, and a warp settles what it is not sure of by itself: one launch instead of
//! four.
//!
//! A warp has 32 points in registers, or 16 in two f16, and centroids come by in shared memory, all of them if they
//! fit.
//!
//! Bottleneck: memory for few clusters, instructions for few coordinates, products for many of both.

use crate::address::array;
use crate::block::THREADS;
use crate::block::each;
use crate::kmeans::direct::{self, Exact};
use crate::kmeans::image;
use crate::kmeans::points::{self, Points};
use crate::kmeans::score::{self, Bound, ROOM, TOGETHER};
use crate::kmeans::twice::{self, Least};
use crate::kmeans::two::Two;
use crate::kmeans::{Assign, Unsure, store};
use crate::source::Source;
use warpfold_simt::{ALL, Global, Pack, Shared, Simt};

/// Points of a block at a time.
pub const fn points(fine: bool) -> u32 {
    THREADS / 32 * points::points(fine)
}

/// Points at most: numbers of those after the last must not overflow.
pub const MOST: usize = u32::MAX as usize - (1 << 24);
/// Clusters times coordinates, with padding, of which a kernel settles everything by itself: more take longer so.
pub const FEW: usize = 1024;
/// Room for such centroids as they are, and halves of their squares.
pub const ALONE: usize = FEW + FEW / score::PADDED[0];
/// Room for what is not there, of a kernel that does not.
pub const LISTS: usize = 1;

/// Labels of points of `T` with at most `D` coordinates, by what [`image::centroids`] has left: of all, or `FINE`, of
/// those that were not sure when all were compared; or if `EXACT` is [`ALONE`], by the centroids.
#[inline(always)]
pub fn kernel<S: Simt, T: Source<Value = f32>, const D: usize, const FINE: bool, const EXACT: usize>(
    s: &S,
    call: &Assign,
) {
    let (own, is_alone) = const { (points::points(FINE), EXACT == ALONE) };
    let rough = s.shared::<u32, { ROOM / 2 }, 0>("centroids in f16");
    let halves = s.shared::<f32, { ROOM / 4 }, 1>("halves of squares");
    let centre = s.shared::<f32, D, 2>("the centre in the unit");
    let listed = s.shared::<u32, { (THREADS / 32 * List::ROOM) as usize }, 3>("points that are not sure");
    let about = s.shared::<f32, EXACT, 4>("centroids about the centre, and halves of squares");
    let (tid, lane) = (s.thread_x(), s.lane());
    let shown = Shown { rough, halves, is_all: is_alone };
    let exact = Exact { about, halves: about.offset(if is_alone { FEW as u32 } else { 0 }) };
    let bound = if is_alone {
        exact.fill::<S, D>(s, call);
        let bound = Bound::new::<S, D, FINE>(s, call, |cluster| s.get(exact.halves, cluster));
        shown.make::<S, D>(s, call, &bound, exact);
        bound
    } else {
        Bound::new::<S, D, FINE>(s, call, |cluster| s.load(array(call.at.halves), cluster as usize))
    };
    each(s, tid, D as u32, |j| s.put(centre, j, bound.centre(s, call, j)));
    s.barrier();
    let unsure = [Unsure::of(call, 0), Unsure::of(call, 1)];
    let count = if FINE { unsure[0].count(s) } else { call.n as u32 };
    let mut list = List { points: listed.offset(s.warp() * List::ROOM), count: 0 };
    let empty = |list: &mut List| {
        if is_alone {
            list.drain(
                s,
                #[inline(always)]
                |_, point| settle::<S, T, D>(s, call, exact, point),
            );
        } else {
            list.hand(s, if FINE { unsure[1] } else { unsure[0] });
        }
    };
    let first = s.block_x() * points(FINE);
    let stride = s.grid_dim_x() * points(FINE);
    let mut at = first;
    // Of the first of four points of this lane.
    let mut address = call.at.points + (first + s.warp() * own + lane / 4) as u64 * call.along;
    while s.again(at < count) {
        let mine = at + s.warp() * own;
        // The point that this lane answers for.
        let answer = if score::is_twice(D, FINE) { twice::own(lane) } else { lane };
        let is_there = answer < own && mine + answer < count;
        let (mut point, mut before) = (0, 0);
        if s.branch(is_there) {
            point = if FINE { unsure[0].get(s, mine + answer) } else { mine + answer };
            before = s.load(array::<u32>(call.at.labels), point as usize);
        }
        let mut rows = [0; 4];
        let is_whole = mine + own <= count;
        if !FINE && s.branch(is_whole) {
            for (k, row) in rows.iter_mut().enumerate() {
                *row = address + k as u64 * 8 * call.along;
            }
        } else {
            for (k, row) in rows.iter_mut().enumerate().take(own as usize / 8) {
                // In place of points that are not there, the last one.
                let i = (mine + lane / 4 + 8 * k as u32).min(count - 1);
                let point = if FINE { unsure[0].get(s, i) } else { i };
                *row = call.at.points + point as u64 * call.along;
            }
        }
        let read = Points::<D, FINE>::read::<S, T>(s, call, bound.unit, centre, rows);
        let scores = |i| score::scores::<S, D, FINE>(s, &read, rough, halves, i);
        let is_new = at == first;
        let (label, is_sure) = if score::is_twice(D, FINE) {
            let mut least = Least::NONE;
            shown.each_chunk::<S, D, FINE>(
                s,
                call,
                &bound,
                is_new,
                #[inline(always)]
                |_, eights| {
                    let mut i = 0;
                    while s.again(i < eights) {
                        least.take(scores(i));
                        i += 1;
                    }
                },
            );
            let mut limits = least.limits(s, read.squares, &bound);
            shown.each_chunk::<S, D, FINE>(
                s,
                call,
                &bound,
                false,
                #[inline(always)]
                |from, eights| {
                    let mut i = 0;
                    while s.again(i < eights) {
                        limits.take(s, scores(i), from + i * TOGETHER);
                        i += 1;
                    }
                },
            );
            limits.settle(s)
        } else {
            let mut two = Two::NONE;
            shown.each_chunk::<S, D, FINE>(
                s,
                call,
                &bound,
                is_new,
                #[inline(always)]
                |from, eights| {
                    let (mut of_chunk, mut i) = (Two::NONE, 0);
                    while s.again(i < eights) {
                        of_chunk.take::<FINE>(&bound, scores(i), i);
                        i += 1;
                    }
                    two.meet(s, &of_chunk, &bound, from);
                },
            );
            two.settle(s, &read, &bound)
        };
        if s.branch(is_there && is_sure) {
            store(s, call, point as usize, before, label);
        }
        list.add(s, is_there && !is_sure, point, &empty);
        at += stride;
        address += stride as u64 * call.along;
    }
    empty(&mut list);
}

/// The label of one point by the scores as they are defined.
#[inline(always)]
fn settle<S: Simt, T: Source<Value = f32>, const D: usize>(s: &S, call: &Assign, exact: Exact, point: u32) {
    let before = s.load(array::<u32>(call.at.labels), point as usize);
    let mut x = [[0.0; D]];
    direct::read::<S, T, D>(s, call, call.at.points + point as u64 * call.along, &mut x[0]);
    direct::about_centre(s, call, &mut x);
    let [label] = exact.nearest(s, call, &x);
    store(s, call, point as usize, before, label);
}

/// Centroids in shared memory.
#[derive(Clone, Copy)]
struct Shown {
    rough: Shared<u32>,
    halves: Shared<f32>,
    /// Whether all of them are there for good.
    is_all: bool,
}

impl Shown {
    /// Brings chunks of the centroids, one after the other, if there are several or the first is `new`, and says of
    /// each with which cluster it begins and how many times eight there are.
    #[inline(always)]
    fn each_chunk<S: Simt, const D: usize, const FINE: bool>(
        self,
        s: &S,
        call: &Assign,
        bound: &Bound,
        is_new: bool,
        mut f: impl FnMut(u32, u32),
    ) {
        let (tid, chunk, words) = (s.thread_x(), const { score::chunk(D, FINE) }, const { D as u32 / 8 });
        let (squares, centroids): (Global<f32>, Global<Pack<u32, 4>>) =
            (array(call.at.halves), array(score::rough(call.at.halves, call.clusters)));
        let mut from = 0;
        while s.again(from < call.clusters) {
            let left = call.clusters - from;
            let many = if left < chunk { left.next_multiple_of(TOGETHER) } else { chunk };
            if !self.is_all && s.branch(is_new || call.clusters > chunk) {
                s.barrier();
                // Sixteen bytes at a time: eight coordinates; and what they lack, after them.
                let all = call.clusters.next_multiple_of(TOGETHER) * words;
                each(s, tid, many * words, |i| {
                    s.put(self.rough.cast(), i, s.load(centroids, (from * words + i) as usize));
                    if FINE {
                        let low = s.load(centroids, (all + from * words + i) as usize);
                        s.put(self.rough.cast(), chunk * words + i, low);
                    }
                });
                each(s, tid, many, |i| {
                    let is_there = from + i < call.clusters;
                    let half = if s.branch(is_there) { s.load(squares, (from + i) as usize) } else { 0.0 };
                    self.half(s, i, bound.half(half, is_there));
                });
                s.barrier();
            }
            f(from, many / TOGETHER);
            from += chunk;
        }
    }

    /// Makes them of few centroids that are there as they are.
    #[inline(always)]
    fn make<S: Simt, const D: usize>(self, s: &S, call: &Assign, bound: &Bound, exact: Exact) {
        let (tid, many) = (s.thread_x(), call.clusters.next_multiple_of(TOGETHER));
        each(s, tid, many * D as u32 / 2, |i| {
            let eight = const { TOGETHER * D as u32 / 2 };
            let (cluster, j) = image::place(D as u32, i % eight);
            let at = (i / eight * TOGETHER + cluster) * D as u32 + j;
            let is_there = i / eight * TOGETHER + cluster < call.clusters;
            let [a, b] = [at, at + 1].map(|at| if s.branch(is_there) { s.get(exact.about, at) } else { 0.0 });
            s.put(self.rough, i, s.f32_to_f16_two([a * bound.unit, b * bound.unit]));
        });
        each(s, tid, many, |i| {
            let is_there = i < call.clusters;
            let half = if s.branch(is_there) { s.get(exact.halves, i) } else { 0.0 };
            self.half(s, i, bound.half(half, is_there));
        });
    }

    /// Puts one of the halves there: twice, as two points' sums begin with it.
    #[inline(always)]
    fn half<S: Simt>(self, s: &S, i: u32, half: f32) {
        for twice in [0, 2] {
            s.put(self.halves, i / 2 * 4 + i % 2 + twice, half);
        }
    }
}

/// What a warp is not sure of, gathered: a list of all blocks has one counter, and it is busy.
struct List {
    points: Shared<u32>,
    count: u32,
}

impl List {
    /// Points that have room.
    const ROOM: u32 = 64;

    /// Takes the points of those lanes that say so, and empties the list before if they have no room.
    #[inline(always)]
    fn add<S: Simt>(&mut self, s: &S, is_unsure: bool, point: u32, empty: &impl Fn(&mut Self)) {
        let lanes = s.ballot(ALL, is_unsure);
        let many = lanes.count_ones();
        if s.branch(self.count + many > Self::ROOM) {
            empty(self);
        }
        if s.branch(is_unsure) {
            s.put(self.points, self.count + (lanes & ((1 << s.lane()) - 1)).count_ones(), point);
        }
        self.count += many;
    }

    /// Takes all out: their places, and which they are.
    #[inline(always)]
    fn drain<S: Simt>(&mut self, s: &S, f: impl Fn(u32, u32)) {
        s.warp_barrier(ALL);
        let mut i = s.lane();
        while s.again(i < self.count) {
            f(i, s.get(self.points, i));
            i += 32;
        }
        s.warp_barrier(ALL);
        self.count = 0;
    }

    /// Hands them to others.
    #[inline(always)]
    fn hand<S: Simt>(&mut self, s: &S, to: Unsure) {
        let mut at = 0;
        if s.branch(s.lane() == 0 && self.count != 0) {
            at = to.grow(s, self.count);
        }
        let at = s.shuffle_idx(ALL, at, 0);
        self.drain(
            s,
            #[inline(always)]
            |i, point| to.put(s, at + i, point),
        );
    }
}
