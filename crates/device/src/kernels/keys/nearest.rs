//! A whole iteration in one read of the points: the update by tiles ([`tile`]), whose labels are found and not given.
//!
//! A lane has all coordinates of a few points in registers, and centroids come by from shared memory, the same for all lanes: for each
//! centroid and coordinate one fused multiply-add. The points are read again right after that, in the order of their labels, while they
//! are in the caches.
//!
//! Bottleneck: multiply-adds, from about 16 clusters on.

use core::marker::PhantomData;

use super::tile::{self, Labels, OWN, THREADS, each};
use super::{NONE, Update};
use crate::kernels::recipe::array;
use crate::kernels::source::Source;
use crate::simt::{Global, Pack, Shared, Simt};

/// Clusters times padded coordinates, at most; and clusters times coordinates.
pub const ROOM: usize = 2048;

/// Clusters that are compared together, so that reads of the next ones hide behind multiply-adds: on an H200, 2^24 points of 16
/// coordinates and 64 clusters took 1.39 ms with 4, 1.43 with 2 and 1.51 with 1 (with four points to a lane, 1.49 to 1.61).
pub const TOGETHER: usize = 4;

/// Points of at most `d` coordinates that a lane has in registers.
const fn held(d: usize) -> usize {
    match d {
        ..=4 => OWN,
        _ => 2,
    }
}

/// The nearest centroids of points of at most `D` coordinates.
struct Nearest<'a, T, const W: usize, const D: usize> {
    call: &'a Update,
    /// \[cluster\]\[`D`\]: centroids about the centre, then zeros.
    about: Shared<f32>,
    /// Half of the square of each.
    halves: Shared<f32>,
    /// The centre, then zeros.
    centre: Shared<f32>,
    kind: PhantomData<T>,
}

/// `W` elements of `T` at a time, at most `D` coordinates.
#[inline(always)]
pub fn kernel<S: Simt, T: Source<Value = f32>, const W: usize, const D: usize>(s: &S, call: &Update) {
    let about = s.shared::<f32, ROOM, 6>("centroids");
    let halves = s.shared::<f32, { tile::CLUSTERS }, 7>("halves of squares");
    let centre = s.shared::<f32, D, 8>("centre");
    let tid = s.thread_x();
    let (centroids, mean): (Global<f32>, Global<f32>) = (array(call.centroids), array(call.centre));
    let d = call.dimensions;
    each(s, tid, D as u32, |j| s.put(centre, j, if s.branch(j < d) { s.load(mean, j as usize) } else { 0.0 }));
    let padded = call.clusters.next_multiple_of(TOGETHER as u32);
    each(s, tid, padded * D as u32, |i| {
        let (cluster, j) = (i / D as u32, i % D as u32);
        let at = cluster as usize * d as usize + j as usize;
        let is_there = cluster < call.clusters && j < d;
        let c = if s.branch(is_there) { s.load(centroids, at) - s.load(mean, j as usize) } else { 0.0 };
        s.put(about, i, c);
    });
    s.barrier();
    each(s, tid, padded, |cluster| {
        let mut square = 0.0;
        for j in 0..D as u32 {
            let c = s.get(about, cluster * D as u32 + j);
            square = s.fma_f32(c, c, square);
        }
        // Nothing is nearest to a cluster that is not there.
        s.put(halves, cluster, if cluster < call.clusters { square * 0.5 } else { f32::INFINITY });
    });
    // The update has a barrier before it asks for labels.
    let nearest = Nearest::<T, W, D> { call, about, halves, centre, kind: PhantomData };
    tile::update::<S, T, W, ROOM>(s, call, &nearest);
}

impl<T: Source<Value = f32>, const W: usize, const D: usize> Nearest<'_, T, W, D> {
    /// Of the points `first + i · THREADS` from `i = from` on: as many as registers hold.
    #[inline(always)]
    fn some<S: Simt>(&self, s: &S, first: u64, from: usize, found: &mut [u32; OWN]) {
        let call = self.call;
        let held = const { held(D) };
        let mut x = [[0.0f32; D]; OWN];
        for (i, x) in x.iter_mut().enumerate().take(held) {
            let at = first + (from + i) as u64 * THREADS as u64;
            // Past the end, the last one again.
            let at = if at < call.n { at } else { call.n - 1 };
            for j in 0..D / W {
                if s.branch((j * W) as u32 <= call.dimensions - W as u32) {
                    let address = call.points + at * call.along + (j * W) as u64 * call.across;
                    let read = super::stretch::read::<S, T, W>(s, address);
                    x[j * W..j * W + W].copy_from_slice(&read);
                }
            }
        }
        for j in 0..D {
            let m = s.get(self.centre, j as u32);
            for x in x.iter_mut().take(held) {
                x[j] = m - x[j];
            }
        }
        let (mut least, mut labels) = ([f32::INFINITY; OWN], [0u32; OWN]);
        let mut cluster = 0;
        while s.again(cluster < call.clusters) {
            let mut scores = [[0.0f32; OWN]; TOGETHER];
            for (u, scores) in scores.iter_mut().enumerate() {
                *scores = [s.get(self.halves, cluster + u as u32); OWN];
            }
            for j in 0..D / 4 {
                for (u, scores) in scores.iter_mut().enumerate() {
                    let at = (cluster + u as u32) * (D as u32 / 4) + j as u32;
                    let c = s.get(self.about.cast::<Pack<f32, 4>>(), at).0;
                    for (score, x) in scores.iter_mut().zip(&x).take(held) {
                        for (i, c) in c.into_iter().enumerate() {
                            *score = s.fma_f32(x[j * 4 + i], c, *score);
                        }
                    }
                }
            }
            for (u, scores) in scores.iter().enumerate() {
                for i in 0..held {
                    let less = scores[i] < least[i];
                    least[i] = if less { scores[i] } else { least[i] };
                    labels[i] = if less { cluster + u as u32 } else { labels[i] };
                }
            }
            cluster += TOGETHER as u32;
        }
        for i in 0..held {
            let at = first + (from + i) as u64 * THREADS as u64;
            if s.branch(at < call.n) {
                found[from + i] = labels[i];
                store(s, call, at as usize, labels[i]);
            }
        }
    }
}

/// Writes a label, and says so if it was another one.
#[inline(always)]
pub fn store<S: Simt>(s: &S, call: &Update, at: usize, label: u32) {
    let labels: Global<u32> = array(call.labels);
    if s.branch(s.load(labels, at) != label) {
        s.store(labels, at, label);
        s.store_volatile(array::<u64>(call.report), super::CHANGED, 1);
    }
}

impl<T: Source<Value = f32>, const W: usize, const D: usize> Labels for Nearest<'_, T, W, D> {
    #[inline(always)]
    fn of<S: Simt>(&self, s: &S, first: u64) -> [u32; OWN] {
        let mut found = [NONE; OWN];
        let mut from = 0;
        while from < OWN {
            self.some(s, first, from, &mut found);
            from += const { held(D) };
        }
        found
    }
}
