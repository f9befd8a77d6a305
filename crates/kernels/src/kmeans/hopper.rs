//! The nearest centroid of each point by the tensor cores of a Hopper GPU, in one kernel.
//!
//! A block has 128 points at a time in registers, a warp 16 of them, and centroids come by in shared memory, 16 KiB
//! at a time while the 16 KiB before are worked on ([`image`](mod@image)). Four warps multiply 64 coordinates of
//! their points and of 128 centroids in one go; others compare scores meanwhile. Of each point the least score and
//! the next are kept. A score has the same exponent whatever it is, since a great number is added to it, so that
//! scores are compared as integers, with their centroids' numbers in bits that a multiplication has made room for.
//!
//! Points whose two scores are closer than they can be off wait in shared memory until there are 128, or no others.
//! Then their scores are made again, and `doubt` compares the few that may be least as they are defined.
//!
//! Bottleneck: products from 128 coordinates on, comparisons below.

use crate::address::array;
use crate::kmeans::doubt::{Doubt, Limits};
use crate::kmeans::image::{self, POINTS, THREADS, TOGETHER, WORDS};
use crate::kmeans::points::Points;
use crate::kmeans::score::unit;
use crate::kmeans::{Assign, Unsure, store};
use crate::source::Source;
use warpfold_core::Real;
use warpfold_simt::{ALL, Global, Pack, Shared, Simt};

/// Blocks of a multiprocessor: while those of one compare, those of the other multiply.
pub const BLOCKS: u32 = 2;
/// What a score is multiplied by, so that there is room for the number of one of a lane's 32 among 128 centroids.
pub const ROOM: u32 = 32;
/// Clusters from which on this is worth its while.
pub const CLUSTERS: usize = 128;
/// The square of a length, in the unit, from which on nothing is known: scores might have another exponent. All
/// coordinates are below 2¹⁰, unless they are greater than those that the scale was made for.
const fn far<const D: usize>() -> f32 {
    (D << 20) as f32
}

/// What is added to scores, and how far they may be off.
#[derive(Clone, Copy)]
struct Bound {
    unit: f32,
    /// 6·2ⁿ: scores are below 2ⁿ in magnitude.
    great: f32,
    /// One over the last place of a score.
    places: f32,
    /// Twice what scores are off, in last places: whatever the point, for its length, for that of what it lacks in f16.
    apart: [f32; 3],
}

impl Bound {
    /// By the halves of squares of all centroids, and the squares of what they lack.
    ///
    /// Let X and C be the lengths of the point and of the longest centroid in the unit, x and c those of what they lack
    /// in f16, and D the coordinates with padding. A score is off by no more than
    ///
    /// - x·C + (X + x)·c, by f16;
    /// - X·C·D·2⁻²² in tensor cores, if they lose 2⁻¹⁸ of what they add for every sixteen products (they lose less);
    /// - (C²/2 + X·C)·D·2⁻²⁴ in the chain of fused multiply-adds that defines it;
    /// - a last place where the half of the square, and the great number, are added.
    ///
    /// The factors here are a little larger.
    #[inline(always)]
    fn new<S: Simt, const D: usize>(s: &S, call: &Assign, warps: Shared<f32>) -> Self {
        let halves: Global<f32> = array(call.at.halves);
        let lacks: Global<f32> = array(image::places(call).1);
        let (mut most, mut cluster) = ([0.0f32; 2], s.thread_x());
        while s.again(cluster < call.clusters) {
            let of = [s.load(halves, cluster as usize), s.load(lacks, cluster as usize)];
            most = greatest(most, of);
            cluster += THREADS;
        }
        for by in [1, 2, 4, 8, 16] {
            most = greatest(most, most.map(|x| s.shuffle_xor(ALL, x, by)));
        }
        if s.branch(s.lane() == 0) {
            s.put(warps, 2 * s.warp(), most[0]);
            s.put(warps, 2 * s.warp() + 1, most[1]);
        }
        s.barrier();
        for warp in 0..THREADS / 32 {
            most = greatest(most, [s.get(warps, 2 * warp), s.get(warps, 2 * warp + 1)]);
        }
        let unit = unit(s, call);
        let half = most[0] * unit * unit;
        let (length, lacks) = (Real::sqrt(2.0 * half), Real::sqrt(most[1]));
        // A power of two that is greater, for points that are not too far.
        let greatest =
            f32::from_bits(((half + Real::sqrt(far::<D>()) * length).max(1e-12).to_bits() & 0x7f80_0000) + (1 << 23));
        let places = (1 << 21) as f32 / greatest;
        let power = |n: u32| 1.0 / (1u32 << n) as f32;
        let apart = [
            2.0 * half * D as f32 * power(23) + 1.0 / places,
            lacks + length * D as f32 * 1.5 * power(22),
            length + lacks,
        ];
        // Of a centroid that is too far, or is none, nothing is known.
        let known = if half < far::<D>() { 2.02 * places } else { f32::NAN };
        Self { unit, great: 6.0 * greatest, places, apart: apart.map(|x| x * known) }
    }

    /// Half of a square, and the great number; more than any score of a cluster that is not there.
    #[inline(always)]
    fn half<S: Simt>(&self, s: &S, half: f32, is_there: bool) -> f32 {
        if is_there { s.fma_f32(half * self.unit, self.unit, self.great) } else { self.great * 1.25 }
    }

    /// What the least score and another one are apart at most, in last places, if both may be the least; NaN if that is
    /// not known.
    #[inline(always)]
    fn margin<const D: usize>(&self, square: f32, lacking: f32) -> f32 {
        let [any, length, lacks] = self.apart;
        let known = if square < far::<D>() { any } else { f32::NAN };
        known + length * Real::sqrt(square) + lacks * Real::sqrt(lacking)
    }
}

/// The greater of both each; a NaN stays.
#[inline(always)]
fn greatest(a: [f32; 2], b: [f32; 2]) -> [f32; 2] {
    let one = |a: f32, b: f32| if a >= b || a.is_nan() { a } else { b };
    [one(a[0], b[0]), one(a[1], b[1])]
}

/// Labels of points of `T` with at most `D` coordinates, `SLABS` times 64, by the [`image`](mod@image) of centroids.
#[inline(always)]
pub fn kernel<S: Simt, T: Source<Value = f32>, const D: usize, const SLABS: usize>(s: &S, call: &Assign) {
    let centroids = s.shared::<u32, { 2 * WORDS as usize }, 0>("centroids in f16");
    let halves = s.shared::<f32, { 2 * TOGETHER as usize }, 1>("halves of squares and the great number");
    let centre = s.shared::<f32, D, 2>("the centre in the unit");
    let warps = s.shared::<f32, { THREADS as usize / 16 }, 3>("greatest numbers of warps");
    let doubt = Doubt::new(s);
    let (tid, lane) = (s.thread_x(), s.lane());
    let bound = Bound::new::<S, D>(s, call, warps);
    if s.branch(tid < D as u32) {
        let is_there = s.branch(tid < call.dimensions);
        s.put(
            centre,
            tid,
            if is_there { bound.unit * s.load(array::<f32>(call.at.centre), tid as usize) } else { 0.0 },
        );
    }
    let unsure = Unsure::of(call, 0);
    let coming = Coming { call, bound, slabs: SLABS as u32 };
    let first = coming.begin(s, 0, centroids);
    coming.end(s, first, halves);
    // Which of two sides of shared memory has the slab, and which the halves, that are worked on.
    let (mut at, mut side, mut turn) = (s.block_x() as u64 * POINTS as u64, 0, 0);
    loop {
        // The same for all threads: a barrier is between this and whatever changes it.
        let queue = doubt.queue(s);
        let is_fresh = queue < POINTS && at < call.n;
        let left = call.n.wrapping_sub(at);
        let count = if !is_fresh {
            queue.min(POINTS)
        } else if left < POINTS as u64 {
            left as u32
        } else {
            POINTS
        };
        if !s.again(count != 0) {
            break;
        }
        let from = if is_fresh { 0 } else { queue - count };
        let row = s.warp() * 16 + lane / 4;
        let mut points = [0; 2];
        for (k, point) in points.iter_mut().enumerate() {
            // In place of points that are not there, the last one.
            let row = (row + 8 * k as u32).min(count - 1);
            *point = if s.branch(is_fresh) { at as u32 + row } else { doubt.point(s, from + row) };
        }
        let addresses = points.map(|point| call.at.points + point as u64 * call.along);
        let read = Points::<D, true>::read_at_once::<S, T>(s, call, bound.unit, centre, addresses);
        let rows: [[[u32; 4]; 4]; SLABS] = warpfold_simt::array::from_fn(
            #[inline(always)]
            |slab| {
                warpfold_simt::array::from_fn(
                    #[inline(always)]
                    |step| {
                        let [first, second] = [0, 1].map(|i| read.rough[(slab * 4 + step) * 2 + i]);
                        [first[0], first[1], second[0], second[1]]
                    },
                )
            },
        );
        let mut two = [Two::NONE; 2];
        let limits = if s.branch(is_fresh) { Limits::NONE } else { doubt.begin(s, from, row, count) };
        let mut of = 0;
        while s.again(of < call.image) {
            let mut scores = [0.0; 64];
            for (slab, rows) in rows.iter().enumerate() {
                let is_last = slab + 1 == SLABS;
                let tile = if !is_last || of + TOGETHER < call.image { of / TOGETHER + is_last as u32 } else { 0 };
                let next = tile * SLABS as u32 + if is_last { 0 } else { slab as u32 + 1 };
                let next = coming.begin(s, next, centroids.offset((side ^ 1) * WORDS));
                let here = centroids.offset(side * WORDS);
                scores = if slab == 0 {
                    s.multiply_shared::<true>(rows, here, scores)
                } else {
                    s.multiply_shared::<false>(rows, here, scores)
                };
                if is_last {
                    let halves = halves.offset(turn * TOGETHER).cast::<u64>();
                    for i in 0..16 {
                        let both = s.get(halves, i * 4 + lane % 4);
                        let both = [both as u32, (both >> 32) as u32].map(f32::from_bits);
                        for k in 0..4 {
                            scores[4 * i as usize + k] += both[k % 2];
                        }
                    }
                    if s.branch(is_fresh) {
                        for (k, two) in two.iter_mut().enumerate() {
                            two.take(&scores, k, call.room, of);
                        }
                    } else {
                        doubt.take(s, &limits, &scores, row, of + lane % 4 * 2, call.clusters);
                    }
                    turn ^= 1;
                }
                side ^= 1;
                coming.end(s, next, halves.offset(turn * TOGETHER));
            }
            of += TOGETHER;
        }
        if s.branch(is_fresh) {
            for two in &mut two {
                two.meet(s);
            }
            let [(square, lacking), (second, second_lacking)] = [0, 1].map(|k| {
                let mut sums = [read.squares[k], read.lacking[k]];
                for by in [1, 2] {
                    sums = sums.map(|sum| sum + s.shuffle_xor(ALL, sum, by));
                }
                (sums[0], sums[1])
            });
            // The first of four lanes answers for one point, the second for the other.
            let k = lane % 4;
            let two = if k == 0 { two[0] } else { two[1] };
            let margin =
                if k == 0 { bound.margin::<D>(square, lacking) } else { bound.margin::<D>(second, second_lacking) };
            let point = if k == 0 { points[0] } else { points[1] };
            let is_there = k < 2 && row + 8 * k < count;
            let is_sure = two.apart() > margin;
            if s.branch(is_there && is_sure) {
                store(s, call, point as usize, s.load(array(call.at.labels), point as usize), two.label);
            }
            let is_known = !margin.is_nan();
            if s.branch(is_there && !is_sure && is_known) {
                doubt.add(s, point, two.limit(bound.great, bound.places, margin));
            }
            list(s, unsure, is_there && !is_known, point);
            at += s.grid_dim_x() as u64 * POINTS as u64;
        } else {
            doubt.settle::<S, T>(s, call, from, count, |is_unsettled, point| list(s, unsure, is_unsettled, point));
        }
        s.barrier();
    }
}

/// Lists the points of those lanes that say so.
#[inline(always)]
fn list<S: Simt>(s: &S, to: Unsure, is_unsure: bool, point: u32) {
    let lanes = s.ballot(ALL, is_unsure);
    if s.branch(lanes != 0) {
        let mut at = 0;
        if s.branch(s.lane() == 0) {
            at = to.grow(s, lanes.count_ones());
        }
        let at = s.shuffle_idx(ALL, at, 0);
        if s.branch(is_unsure) {
            to.put(s, at + (lanes & ((1 << s.lane()) - 1)).count_ones(), point);
        }
    }
}

/// Centroids on their way to shared memory.
struct Coming<'a> {
    call: &'a Assign,
    bound: Bound,
    slabs: u32,
}

/// Half of a square, on its way.
struct Half {
    half: f32,
    is_there: bool,
    /// Whether this thread has one.
    is_own: bool,
}

impl Coming<'_> {
    /// Begins to bring slab number `of` there: of 128 centroids 64 coordinates, and halves with the first of these.
    #[inline(always)]
    fn begin<S: Simt>(&self, s: &S, of: u32, to: Shared<u32>) -> Half {
        let tid = s.thread_x();
        let from: Global<Pack<u32, 4>> = array(image::places(self.call).0);
        for i in 0..const { WORDS / 4 / THREADS } {
            let place = tid + i * THREADS;
            s.copy(to.cast(), place, from, (of * (WORDS / 4) + place) as usize);
        }
        let (tile, slab) = (of / self.slabs, of % self.slabs);
        let (is_own, cluster) = (slab == 0 && tid < TOGETHER, tile * TOGETHER + tid);
        let is_there = is_own && cluster < self.call.clusters;
        // Nothing is computed of it here: that would wait for the read.
        let half = if s.branch(is_there) { s.load(array(self.call.at.halves), cluster as usize) } else { 0.0 };
        Half { half, is_there, is_own }
    }

    /// Waits for it; all may use it after a barrier.
    #[inline(always)]
    fn end<S: Simt>(&self, s: &S, half: Half, halves: Shared<f32>) {
        if s.branch(half.is_own) {
            s.put(halves, s.thread_x(), self.bound.half(s, half.half, half.is_there));
        }
        s.copied();
        s.publish();
        s.barrier();
    }
}

/// The two least scores of a point: their bits, with five more for the centroid's number, but for those bits that all
/// have.
#[derive(Clone, Copy)]
struct Two {
    least: u32,
    next: u32,
    /// Until [`Two::meet`], the first of the 128 centroids among which the least is.
    label: u32,
}

impl Two {
    const NONE: Self = Self { least: u32::MAX, next: u32::MAX, label: 0 };

    /// Takes the scores of point `k` of two by 128 centroids, the first of which has number `from`.
    #[inline(always)]
    fn take(&mut self, scores: &[f32; 64], k: usize, room: u32, from: u32) {
        // A multiplication, as that is no work for the units that compare.
        let score = |i: usize| {
            let at = i / 2 * 4 + k * 2 + i % 2;
            scores[at].to_bits().wrapping_mul(room).wrapping_add(i as u32)
        };
        let (mut least, mut next) = (u32::MAX, u32::MAX);
        for i in 0..16 {
            let (a, b) = (score(2 * i), score(2 * i + 1));
            let (low, high) = (a.min(b), a.max(b));
            next = next.min(high).min(least.max(low));
            least = least.min(low);
        }
        self.join(least, next, from);
    }

    #[inline(always)]
    fn join(&mut self, least: u32, next: u32, label: u32) {
        self.label = if least < self.least { label } else { self.label };
        self.next = self.next.min(next).min(self.least.max(least));
        self.least = self.least.min(least);
    }

    /// What four lanes have seen of the point.
    #[inline(always)]
    fn meet<S: Simt>(&mut self, s: &S) {
        let number = self.least & (ROOM - 1);
        self.label += number / 2 * 8 + s.lane() % 4 * 2 + number % 2;
        for by in [1, 2] {
            let [least, next, label] = [self.least, self.next, self.label].map(|x| s.shuffle_xor(ALL, x, by));
            self.join(least, next, label);
        }
    }

    /// What the two are apart, in last places.
    #[inline(always)]
    fn apart(&self) -> f32 {
        (self.next / ROOM - self.least / ROOM) as f32
    }

    /// The score that is so many last places above the least.
    #[inline(always)]
    fn limit(&self, great: f32, places: f32, margin: f32) -> f32 {
        // The bits that all scores have: the exponent.
        let least = f32::from_bits((great.to_bits() & 0x7f80_0000) | ((self.least / ROOM) & 0x7f_ffff));
        least + (margin + 1.0) / places
    }
}
