//! Points whose rough scores do not say which centroid is nearest ([`hopper`](crate::kmeans::hopper)).
//!
//! They wait in shared memory, each with a limit: only centroids whose rough scores are below it may be the nearest.
//! When rough scores are made again, the few below are written down, and then compared as scores are defined.

use crate::address::array;
use crate::kmeans::image::{POINTS, THREADS};
use crate::kmeans::{Assign, store};
use crate::source::{Bits, Source, words};
use warpfold_simt::{ALL, Global, Order, Pack, Shared, Simt};

/// Centroids that a point may have written down.
const EACH: u32 = 8;

/// The points that wait, and what is known of those that are worked on.
#[derive(Clone, Copy)]
pub struct Doubt {
    points: Shared<u32>,
    limits: Shared<f32>,
    /// How many wait.
    waiting: Shared<u32>,
    /// How many centroids each has, and which.
    counts: Shared<u32>,
    centroids: Shared<u32>,
}

/// What scores of two points are below, of centroids that may be the nearest.
#[derive(Clone, Copy)]
pub struct Limits([f32; 2]);

impl Limits {
    /// None is.
    pub const NONE: Self = Self([0.0; 2]);
}

impl Doubt {
    /// Nothing waits, after a barrier.
    #[inline(always)]
    pub fn new<S: Simt>(s: &S) -> Self {
        let new = Self {
            points: s.shared::<u32, { 2 * POINTS as usize }, 4>("points that wait"),
            limits: s.shared::<f32, { 2 * POINTS as usize }, 5>("limits of points that wait"),
            waiting: s.shared::<u32, 1, 6>("how many wait"),
            counts: s.shared::<u32, { POINTS as usize }, 7>("how many centroids are near"),
            centroids: s.shared::<u32, { (POINTS * EACH) as usize }, 8>("centroids that are near"),
        };
        if s.branch(s.thread_x() == 0) {
            s.put(new.waiting, 0, 0);
        }
        new
    }

    /// How many wait.
    #[inline(always)]
    pub fn queue<S: Simt>(&self, s: &S) -> u32 {
        s.get(self.waiting, 0)
    }

    /// Which point that is.
    #[inline(always)]
    pub fn point<S: Simt>(&self, s: &S, place: u32) -> u32 {
        s.get(self.points, place)
    }

    /// One more.
    #[inline(always)]
    pub fn add<S: Simt>(&self, s: &S, point: u32, limit: f32) {
        let place = s.atomic_add_shared(self.waiting, 0, 1, Order::Relaxed);
        s.put(self.points, place, point);
        s.put(self.limits, place, limit);
    }

    /// The limits of a lane's two points, of `count` that wait from `from` on; and no centroid is written down, after a
    /// barrier.
    #[inline(always)]
    pub fn begin<S: Simt>(&self, s: &S, from: u32, row: u32, count: u32) -> Limits {
        if s.branch(s.thread_x() < POINTS) {
            s.put(self.counts, s.thread_x(), 0);
        }
        s.barrier();
        Limits([row, row + 8].map(|row| if s.branch(row < count) { s.get(self.limits, from + row) } else { 0.0 }))
    }

    /// Writes down which of 128 centroids are below the limits. The lane's first has number `first`.
    #[inline(always)]
    pub fn take<S: Simt>(&self, s: &S, limits: &Limits, scores: &[f32; 64], row: u32, first: u32, clusters: u32) {
        for (k, &limit) in limits.0.iter().enumerate() {
            let mut below = 0;
            for i in 0..32 {
                below |= ((scores[i / 2 * 4 + k * 2 + i % 2] <= limit) as u32) << i;
            }
            while s.again(below != 0) {
                let i = below.trailing_zeros();
                below &= below - 1;
                let centroid = first + i / 2 * 8 + i % 2;
                if s.branch(centroid < clusters) {
                    let row = row + 8 * k as u32;
                    let place = s.atomic_add_shared(self.counts, row, 1, Order::Relaxed);
                    if s.branch(place < EACH) {
                        s.put(self.centroids, row * EACH + place, centroid);
                    }
                }
            }
        }
    }

    /// Labels `count` points that wait from `from` on, by the centroids that were written down; they wait no longer.
    /// Those that have too many are handed on. Eight lanes for each point.
    #[inline(always)]
    pub fn settle<S: Simt, T: Source<Value = f32>>(
        &self,
        s: &S,
        call: &Assign,
        from: u32,
        count: u32,
        hand: impl Fn(bool, u32),
    ) {
        let own = s.thread_x() % EACH;
        let mut row = s.thread_x() / EACH;
        while s.again(row < POINTS) {
            let (mut point, mut near) = (0, EACH + 1);
            let is_there = row < count;
            if s.branch(is_there) {
                point = self.point(s, from + row);
                near = s.get(self.counts, row);
            }
            let is_settled = near != 0 && near <= EACH;
            let (mut score, mut label) = (f32::INFINITY, u32::MAX);
            if s.branch(is_settled && own < near) {
                label = s.get(self.centroids, row * EACH + own);
                score = exact::<S, T>(s, call, call.at.points + point as u64 * call.along, label);
            }
            for by in [1, 2, 4] {
                let (other, of) = (s.shuffle_xor(ALL, score, by), s.shuffle_xor(ALL, label, by));
                if other < score || other == score && of < label {
                    (score, label) = (other, of);
                }
            }
            if s.branch(own == 0 && is_settled) {
                store(s, call, point as usize, s.load(array(call.at.labels), point as usize), label);
            }
            hand(own == 0 && is_there && !is_settled, point);
            row += THREADS / EACH;
        }
        if s.branch(s.thread_x() == 0) {
            s.put(self.waiting, 0, from);
        }
    }
}

/// A score, as it is defined.
#[inline(always)]
fn exact<S: Simt, T: Source<Value = f32>>(s: &S, call: &Assign, x: u64, cluster: u32) -> f32 {
    let centroid: Global<f32> = array(call.at.centroids + cluster as u64 * call.dimensions as u64 * 4);
    let centre: Global<f32> = array(call.at.centre);
    let (mut score, mut j) = (s.load(array::<f32>(call.at.halves), cluster as usize), 0);
    if s.branch(call.wide != 0) {
        while s.again(j < call.dimensions) {
            // Sixteen coordinates are on their way at once; those that are not there change nothing.
            let (mut xs, mut cs, mut ms) = ([[0; 4]; 4], [[0.0; 4]; 4], [[0.0; 4]; 4]);
            for i in 0..4 {
                let at = j + 4 * i as u32;
                if s.branch(at < call.dimensions) {
                    cs[i] = s.load(centroid.cast::<Pack<f32, 4>>(), at as usize / 4).0;
                    ms[i] = s.load(centre.cast::<Pack<f32, 4>>(), at as usize / 4).0;
                    xs[i] = words(s, array(x + at as u64 * T::Bits::SIZE as u64), 4 * T::Bits::SIZE);
                }
            }
            for i in 0..4 {
                for k in 0..4 {
                    let (m, x) = (ms[i][k], T::value(s, T::Bits::nth(&xs[i], k)));
                    score = s.fma_f32(m - x, cs[i][k] - m, score);
                }
            }
            j += 16;
        }
    } else {
        while s.again(j < call.dimensions) {
            let m = s.load(centre, j as usize);
            let x = m - T::value(s, s.load(array(x + j as u64 * call.across), 0));
            score = s.fma_f32(x, s.load(centroid, j as usize) - m, score);
            j += 1;
        }
    }
    score
}
