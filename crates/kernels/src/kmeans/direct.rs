//! The nearest centroid of each point, of few coordinates and clusters: a lane computes all scores of its points, as
//! they are defined.
//!
//! Centroids come by from shared memory, the same for all lanes, four coordinates at a time. Tensor cores would mostly
//! multiply zeros, if there are but few coordinates.
//!
//! Bottleneck: memory, or the reads of centroids.

use crate::address::array;
use crate::block::THREADS;
use crate::block::each;
use crate::kmeans::{Assign, store};
use crate::source::{Bits, Source};
use warpfold_simt::{Global, Pack, Shared, Simt};

/// Coordinates, with padding.
pub const PADDED: usize = 4;
/// Clusters at most.
pub const CLUSTERS: usize = 512;
/// Points of a lane: as many as registers hold.
const OWN: usize = 4;
/// Points of a block.
pub const POINTS: u32 = THREADS * OWN as u32;

/// Labels of points of `T`.
#[inline(always)]
pub fn kernel<S: Simt, T: Source<Value = f32>>(s: &S, call: &Assign) {
    let about = s.shared::<f32, { CLUSTERS * PADDED }, 0>("centroids about the centre, then zeros");
    let halves = s.shared::<f32, CLUSTERS, 1>("halves of squares");
    let exact = Exact { about, halves };
    exact.fill::<S, PADDED>(s, call);
    let at = |i: usize| s.block_x() as u64 * POINTS as u64 + i as u64 * THREADS as u64 + s.thread_x() as u64;
    let (mut x, mut before) = ([[0.0; PADDED]; OWN], [0; OWN]);
    for i in 0..OWN {
        if s.branch(at(i) < call.n) {
            before[i] = s.load(array(call.at.labels), at(i) as usize);
            read::<S, T, PADDED>(s, call, call.at.points + at(i) * call.along, &mut x[i]);
        }
    }
    about_centre(s, call, &mut x);
    let labels = exact.nearest(s, call, &x);
    for i in 0..OWN {
        if s.branch(at(i) < call.n) {
            store(s, call, at(i) as usize, before[i], labels[i]);
        }
    }
}

/// Centroids and halves of their squares in shared memory, as they are defined.
#[derive(Clone, Copy)]
pub struct Exact {
    /// \[cluster\]\[coordinate\], about the centre, with padding.
    pub about: Shared<f32>,
    /// Half of the square of each.
    pub halves: Shared<f32>,
}

impl Exact {
    /// Brings them there; all threads of a block do.
    #[inline(always)]
    pub fn fill<S: Simt, const D: usize>(self, s: &S, call: &Assign) {
        let (centroids, centre): (Global<f32>, Global<f32>) = (array(call.at.centroids), array(call.at.centre));
        let (tid, d) = (s.thread_x(), call.dimensions);
        each(s, tid, call.clusters * D as u32, |i| {
            let (cluster, j) = (i / D as u32, i % D as u32);
            let at = (cluster * d + j) as usize;
            let c = if s.branch(j < d) { s.load(centroids, at) - s.load(centre, j as usize) } else { 0.0 };
            s.put(self.about, i, c);
        });
        s.barrier();
        each(s, tid, call.clusters, |cluster| {
            let mut square = 0.0;
            for j in 0..D as u32 {
                let c = s.get(self.about, cluster * D as u32 + j);
                square = s.fma_f32(c, c, square);
            }
            s.put(self.halves, cluster, square * 0.5);
        });
        s.barrier();
    }

    /// The nearest to each point.
    #[inline(always)]
    pub fn nearest<S: Simt, const D: usize, const N: usize>(self, s: &S, call: &Assign, x: &[[f32; D]; N]) -> [u32; N] {
        let (mut least, mut labels) = ([f32::INFINITY; N], [0; N]);
        let mut cluster = 0;
        while s.again(cluster < call.clusters) {
            let mut scores = [s.get(self.halves, cluster); N];
            for j in 0..D / 4 {
                let c = s.get(self.about.cast::<Pack<f32, 4>>(), cluster * (D as u32 / 4) + j as u32).0;
                for (score, x) in scores.iter_mut().zip(x) {
                    for (i, c) in c.into_iter().enumerate() {
                        *score = s.fma_f32(x[j * 4 + i], c, *score);
                    }
                }
            }
            for i in 0..N {
                let less = scores[i] < least[i];
                (least[i], labels[i]) = if less { (scores[i], cluster) } else { (least[i], labels[i]) };
            }
            cluster += 1;
        }
        labels
    }
}

/// Points about the centre, the other way round.
#[inline(always)]
pub fn about_centre<S: Simt, const D: usize>(s: &S, call: &Assign, x: &mut [[f32; D]]) {
    for j in 0..D {
        let is_there = s.branch((j as u32) < call.dimensions);
        let about = if is_there { s.load(array::<f32>(call.at.centre), j) } else { 0.0 };
        for x in x.iter_mut() {
            x[j] = about - x[j];
        }
    }
}

/// Reads a point's coordinates; the others stay zero.
#[inline(always)]
pub fn read<S: Simt, T: Source<Value = f32>, const D: usize>(s: &S, call: &Assign, point: u64, x: &mut [f32; D]) {
    let wide = const { T::Bits::PER as usize };
    if D >= wide && s.branch(call.wide != 0) {
        for i in 0..D / wide {
            if s.branch(((i * wide) as u32) < call.dimensions) {
                let words = s.load(array::<Pack<u32, 4>>(point), i).0;
                for w in 0..wide {
                    x[i * wide + w] = T::value(s, T::Bits::nth(&words, w));
                }
            }
        }
        return;
    }
    for (j, x) in x.iter_mut().enumerate() {
        if s.branch((j as u32) < call.dimensions) {
            *x = T::value(s, s.load(array(point + j as u64 * call.across), 0));
        }
    }
}
