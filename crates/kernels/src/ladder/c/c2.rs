//! c2 per_cluster: a tree for each cluster instead of atomics.
//!
//! Idea: for one cluster after the other, members put their coordinate into shared memory, all others zero, and the
//! block folds it.
//! Delta: one atomic per block, cluster and coordinate; no two lanes ever want the same cell.
//! Bottleneck: barriers: a whole tree for each cluster and coordinate, and one more for the counts.

use crate::ladder::c::Centroids;
use warpfold_simt::{Order, Simt};

/// Any block size that is a power of two.
#[inline(always)]
pub fn kernel<S: Simt>(s: &S, at: Centroids) {
    let data = s.shared::<f32, 1024, 0>("data");
    let (tid, block) = (s.thread_x(), s.block_dim_x());
    let i = s.block_x() as usize * block as usize + tid as usize;
    let label = if s.branch(i < at.n) { s.load(at.labels, i) } else { -1 };
    let mut c = 0;
    while s.again(c < at.clusters) {
        let member = label == c as i32;
        // One round more than there are coordinates: the last one counts. A block's count is exact in f32.
        let mut a = 0;
        while s.again(a <= at.coords) {
            let mut x = 0.0;
            if s.branch(member) {
                x = if s.branch(a < at.coords) { s.load(at.points, at.point(a, i)) } else { 1.0 };
            }
            s.put(data, tid, x);
            s.barrier();
            let mut stride = block / 2;
            while s.again(stride > 0) {
                if s.branch(tid < stride) {
                    x += s.get(data, tid + stride);
                    s.put(data, tid, x);
                }
                s.barrier();
                stride /= 2;
            }
            if s.branch(tid == 0) {
                if s.branch(a < at.coords) {
                    s.atomic_add(at.sums, at.sum(c, a), x, Order::Relaxed);
                } else {
                    s.atomic_add(at.counts, c as usize, x as u32, Order::Relaxed);
                }
            }
            a += 1;
        }
        c += 1;
    }
}
