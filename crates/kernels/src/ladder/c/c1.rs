//! c1 atomics: a histogram of sums.
//!
//! Idea: every point adds its coordinates to its cluster's cells in shared memory, atomically; then the block adds its
//! cells to the result, atomically again.
//! Delta: none, this is the start. The published form reads past the end when the points do not fill the last block.
//! Bottleneck: with few clusters, many lanes of a warp want the same cell, and wait for each other.

use crate::ladder::c::Centroids;
use warpfold_simt::{Order, Simt};

/// Any block size.
#[inline(always)]
pub fn kernel<S: Simt>(s: &S, at: Centroids) {
    let sums = s.shared::<f32, 2048, 0>("sums");
    let counts = s.shared::<u32, 32, 1>("counts");
    let (tid, block) = (s.thread_x(), s.block_dim_x());
    let cells = at.clusters * at.coords;
    let mut cell = tid;
    while s.again(cell < cells) {
        s.put(sums, cell, 0.0);
        cell += block;
    }
    if s.branch(tid < at.clusters) {
        s.put(counts, tid, 0);
    }
    s.barrier();
    let i = s.block_x() as usize * block as usize + tid as usize;
    if s.branch(i < at.n) {
        let c = s.load(at.labels, i) as u32;
        s.atomic_add_shared(counts, c, 1, Order::Relaxed);
        let mut a = 0;
        while s.again(a < at.coords) {
            let x = s.load(at.points, at.point(a, i));
            s.atomic_add_shared(sums, c * at.coords + a, x, Order::Relaxed);
            a += 1;
        }
    }
    s.barrier();
    let mut cell = tid;
    while s.again(cell < cells) {
        s.atomic_add(at.sums, cell as usize, s.get(sums, cell), Order::Relaxed);
        cell += block;
    }
    if s.branch(tid < at.clusters) {
        s.atomic_add(at.counts, tid as usize, s.get(counts, tid), Order::Relaxed);
    }
}
