//! The nearest centroid of each point, of few coordinates and clusters: a lane computes all scores of its points, as they are defined.
//!
//! Centroids come by from shared memory, the same for all lanes, four coordinates at a time. Tensor cores would mostly multiply zeros, if there are but few
//! coordinates, and several launches would take longer than this one, if there are but few clusters.
//!
//! Bottleneck: memory, or the reads of centroids.

use super::nearest::store;
use super::tile::each;
use super::{THREADS, Update};
use crate::kernels::recipe::array;
use crate::kernels::source::{Bits, Source};
use crate::simt::{Global, Pack, Simt};

/// Clusters times coordinates, with padding.
pub const ROOM: usize = 2048;
/// Coordinates, with padding, that there are kernels for.
pub const PADDED: [usize; 2] = [4, 16];
/// Clusters at most, of the fewest coordinates.
const CLUSTERS: usize = ROOM / PADDED[0];

/// Points of a block at a time.
pub const fn points(padded: usize) -> u32 {
    THREADS * own(padded) as u32
}

/// Points of a lane: as many as registers hold.
const fn own(padded: usize) -> usize {
    if padded == 4 { 4 } else { 2 }
}

/// Labels of points of `T` with at most `D` coordinates.
#[inline(always)]
pub fn kernel<S: Simt, T: Source<Value = f32>, const D: usize>(s: &S, call: &Update) {
    let about = s.shared::<f32, ROOM, 0>("centroids about the centre, then zeros");
    let halves = s.shared::<f32, CLUSTERS, 1>("halves of squares");
    let (tid, d, own) = (s.thread_x(), call.dimensions, const { own(D) });
    let (centroids, centre): (Global<f32>, Global<f32>) = (array(call.centroids), array(call.centre));
    each(s, tid, call.clusters * D as u32, |i| {
        let (cluster, j) = (i / D as u32, i % D as u32);
        let at = (cluster * d + j) as usize;
        s.put(about, i, if s.branch(j < d) { s.load(centroids, at) - s.load(centre, j as usize) } else { 0.0 });
    });
    s.barrier();
    each(s, tid, call.clusters, |cluster| {
        let mut square = 0.0;
        for j in 0..D as u32 {
            let c = s.get(about, cluster * D as u32 + j);
            square = s.fma_f32(c, c, square);
        }
        s.put(halves, cluster, square * 0.5);
    });
    s.barrier();

    let first = s.block_x() as u64 * points(D) as u64 + tid as u64;
    let (mut x, mut before) = ([[0.0f32; D]; 4], [0u32; 4]);
    for (i, x) in x.iter_mut().enumerate().take(own) {
        let at = first + i as u64 * THREADS as u64;
        if s.branch(at < call.n) {
            before[i] = s.load(array(call.labels), at as usize);
            read::<S, T, D>(s, call, call.points + at * call.along, x);
        }
    }
    for j in 0..D {
        let about = if s.branch((j as u32) < d) { s.load(centre, j) } else { 0.0 };
        for x in x.iter_mut().take(own) {
            x[j] = about - x[j];
        }
    }
    let (mut least, mut labels) = ([f32::INFINITY; 4], [0u32; 4]);
    let mut cluster = 0;
    while s.again(cluster < call.clusters) {
        let mut scores = [s.get(halves, cluster); 4];
        for j in 0..D / 4 {
            let c = s.get(about.cast::<Pack<f32, 4>>(), cluster * (D as u32 / 4) + j as u32).0;
            for (score, x) in scores.iter_mut().zip(&x).take(own) {
                for (i, c) in c.into_iter().enumerate() {
                    *score = s.fma_f32(x[j * 4 + i], c, *score);
                }
            }
        }
        for i in 0..own {
            let less = scores[i] < least[i];
            (least[i], labels[i]) = if less { (scores[i], cluster) } else { (least[i], labels[i]) };
        }
        cluster += 1;
    }
    for i in 0..own {
        let at = first + i as u64 * THREADS as u64;
        if s.branch(at < call.n) {
            store(s, call, at as usize, before[i], labels[i]);
        }
    }
}

/// Reads a point's coordinates; the others stay zero.
#[inline(always)]
fn read<S: Simt, T: Source<Value = f32>, const D: usize>(s: &S, call: &Update, point: u64, x: &mut [f32; D]) {
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
