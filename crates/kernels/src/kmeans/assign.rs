//! The nearest centroid of each point, for any number of coordinates and clusters.
//!
//! As a product of matrices: a block takes 128 points, and 64 clusters at a time, of which each thread has 8 times 4
//! scores in registers. Of both, 16 coordinates at a time come by in shared memory. A score is one chain of fused
//! multiply-adds, which goes on from one stage to the next; which thread has it makes no difference.
//!
//! Bottleneck: multiply-adds.

use crate::address::array;
use crate::block::THREADS;
use crate::block::each;
use crate::kmeans::number::Number;
use crate::kmeans::{Assign, Unsure, store};
use crate::source::Source;
use warpfold_simt::{ALL, Global, Simt};

/// Points of a block.
pub const POINTS: u32 = 128;
/// Clusters at a time.
const CLUSTERS: u32 = 64;
/// Coordinates at a time.
const STAGE: u32 = 16;
/// Points and clusters of a thread; 16 threads side by side have the same points.
const OWN: [usize; 2] = [8, 4];
/// Coordinates of points that a thread brings there at a time.
const EACH: usize = (POINTS * STAGE / THREADS) as usize;
/// From one coordinate to the next in shared memory, of points and clusters: four more, so that neighbours' coordinates
/// are in other banks.
const PITCH: [u32; 2] = [POINTS + 4, CLUSTERS + 4];

/// Half of the square of each centroid about the centre. A thread for each cluster.
#[inline(always)]
pub fn halves<S: Simt, F: Number>(s: &S, call: &Assign) {
    half::<S, F>(s, call, s.block_x() * THREADS, THREADS);
}

/// The same of some clusters.
#[inline(always)]
pub fn half<S: Simt, F: Number>(s: &S, call: &Assign, first: u32, many: u32) {
    let (centroids, centre, halves): (Global<F>, Global<F>, Global<F>) =
        (array(call.at.centroids), array(call.at.centre), array(call.at.halves));
    let cluster = first + s.thread_x();
    if s.branch(s.thread_x() < many && cluster < call.clusters) {
        let first = centroids.offset(cluster as usize * call.dimensions as usize);
        let (mut square, mut j) = (F::ZERO, 0);
        while s.again(j < call.dimensions as usize) {
            let c = s.load(first, j).sub(s.load(centre, j));
            square = F::fma(s, c, c, square);
            j += 1;
        }
        s.store(halves, cluster as usize, square.half());
    }
}

/// Labels of points of `T`, by the halves that [`halves`] has left.
#[inline(always)]
pub fn kernel<S: Simt, T: Source<Value = F>, F: Number>(s: &S, call: &Assign) {
    let first = s.block_x() as u64 * POINTS as u64;
    some::<S, T, F>(
        s,
        call,
        #[inline(always)]
        |i| if first + (i as u64) < call.n { Some(first + i as u64) } else { None },
    );
}

/// The same of those points that [`nearest`](crate::kmeans::nearest) was not sure of.
#[inline(always)]
pub fn settle<S: Simt, T: Source<Value = F>, F: Number>(s: &S, call: &Assign) {
    let unsure = Unsure::of(call, 1);
    let count = unsure.count(s);
    let mut first = s.block_x() * POINTS;
    while s.again(first < count) {
        some::<S, T, F>(
            s,
            call,
            #[inline(always)]
            |i| if s.branch(first + i < count) { Some(unsure.get(s, first + i) as u64) } else { None },
        );
        first += s.grid_dim_x() * POINTS;
    }
}

/// The labels of [`POINTS`] points, whose numbers `number` knows.
#[inline(always)]
fn some<S: Simt, T: Source<Value = F>, F: Number>(s: &S, call: &Assign, number: impl Fn(u32) -> Option<u64>) {
    let points = s.shared::<F, { (PITCH[0] * STAGE) as usize }, 0>("points");
    let about = s.shared::<F, { (PITCH[1] * STAGE) as usize }, 1>("centroids");
    let (centroids, centre, halves): (Global<F>, Global<F>, Global<F>) =
        (array(call.at.centroids), array(call.at.centre), array(call.at.halves));
    let tid = s.thread_x();
    let (column, row) = (tid % 16, tid / 16);
    let infinity = F::from_f64(f64::INFINITY);
    let (mut least, mut labels) = ([infinity; OWN[0]], [0u32; OWN[0]]);
    let mut group = 0;
    while s.again(group < call.clusters) {
        let mut scores = [[F::ZERO; OWN[1]]; OWN[0]];
        for k in 0..OWN[1] {
            let cluster = group + column * OWN[1] as u32 + k as u32;
            let half = if s.branch(cluster < call.clusters) { s.load(halves, cluster as usize) } else { infinity };
            scores.iter_mut().for_each(|scores| scores[k] = half);
        }
        let mut from = 0;
        while s.again(from < call.dimensions) {
            s.barrier();
            // Neighbours read neighbours, of coordinates or of points; all reads are under way before the first is
            // used.
            let by_points = call.along < call.across;
            let place = |i: usize| {
                let i = i as u32 * THREADS + tid;
                if by_points { (i % POINTS, i / POINTS) } else { (i / STAGE, i % STAGE) }
            };
            let x: [F; EACH] = warpfold_simt::array::from_fn(
                #[inline(always)]
                |i| {
                    let (point, j) = place(i);
                    match number(point) {
                        Some(at) if s.branch(from + j < call.dimensions) => {
                            let address = call.at.points + at * call.along + (from + j) as u64 * call.across;
                            let x = T::value(s, s.load(array(address), 0));
                            s.load(centre, (from + j) as usize).sub(x)
                        }
                        _ => F::ZERO,
                    }
                },
            );
            for (i, x) in x.into_iter().enumerate() {
                let (point, j) = place(i);
                s.put(points, j * PITCH[0] + point, x);
            }
            each(s, tid, CLUSTERS * STAGE, |i| {
                let (cluster, j) = (i / STAGE, i % STAGE);
                let (at, to) = (group + cluster, from + j);
                let mut c = F::ZERO;
                if s.branch(at < call.clusters && to < call.dimensions) {
                    let place = at as usize * call.dimensions as usize + to as usize;
                    c = s.load(centroids, place).sub(s.load(centre, to as usize));
                }
                s.put(about, j * PITCH[1] + cluster, c);
            });
            s.barrier();
            for j in 0..STAGE {
                let low = F::four(s, points, j * (PITCH[0] / 4) + row * 2);
                let high = F::four(s, points, j * (PITCH[0] / 4) + row * 2 + 1);
                let c = F::four(s, about, j * (PITCH[1] / 4) + column);
                for k in 0..OWN[1] {
                    for i in 0..4 {
                        scores[i][k] = F::fma(s, low[i], c[k], scores[i][k]);
                        scores[i + 4][k] = F::fma(s, high[i], c[k], scores[i + 4][k]);
                    }
                }
            }
            from += STAGE;
        }
        for (i, scores) in scores.into_iter().enumerate() {
            for (k, score) in scores.into_iter().enumerate() {
                let less = score < least[i];
                least[i] = if less { score } else { least[i] };
                labels[i] = if less { group + column * OWN[1] as u32 + k as u32 } else { labels[i] };
            }
        }
        group += CLUSTERS;
    }
    for i in 0..OWN[0] {
        for by in [1, 2, 4, 8] {
            let (other, label) = (s.shuffle_xor(ALL, least[i], by), s.shuffle_xor(ALL, labels[i], by));
            if other < least[i] || other == least[i] && label < labels[i] {
                (least[i], labels[i]) = (other, label);
            }
        }
    }
    // Of the sixteen threads that have the same points, each of the first eight writes one.
    let at = if s.branch(column < OWN[0] as u32) { number(row * OWN[0] as u32 + column) } else { None };
    if let Some(at) = at {
        let mut label = labels[0];
        for (i, &of) in labels.iter().enumerate() {
            label = if column == i as u32 { of } else { label };
        }
        store(s, call, at as usize, s.load(array(call.at.labels), at as usize), label);
    }
}
