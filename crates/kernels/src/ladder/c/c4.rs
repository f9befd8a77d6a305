//! c4 unrolled: the block size is a compile-time constant.
//!
//! Idea: as a5 did for the plain sum: with the block size known, the rounds are written out.
//! Delta: no loop counter and no loop branch in the tree.
//! Bottleneck: one point per thread for all those barriers, once per cluster.

use crate::ladder::c::Centroids;
use warpfold_simt::{ALL, Order, Simt};

/// `B` threads per block, a power of two from 32 to 256; `U` coordinates at once, at most 4.
#[inline(always)]
pub fn kernel<S: Simt, const B: u32, const U: usize>(s: &S, at: Centroids) {
    let data = s.shared::<f32, 1024, 0>("data");
    let counts = s.shared::<u32, 256, 1>("counts");
    let tid = s.thread_x();
    let i = s.block_x() as usize * B as usize + tid as usize;
    let label = if s.branch(i < at.n) { s.load(at.labels, i) } else { -1 };
    let mut a = 0;
    while s.again(a < at.coords) {
        let point: [f32; U] = core::array::from_fn(|u| {
            let a = a + u as u32;
            if s.branch(i < at.n && a < at.coords) { s.load(at.points, at.point(a, i)) } else { 0.0 }
        });
        let mut c = 0;
        while s.again(c < at.clusters) {
            let member = label == c as i32;
            let mut x = point.map(|x| if member { x } else { 0.0 });
            let mut count = u32::from(member);
            for (u, x) in x.into_iter().enumerate() {
                s.put(data, u as u32 * B + tid, x);
            }
            s.put(counts, tid, count);
            s.barrier();
            for stride in [128, 64, 32] {
                if B >= 2 * stride {
                    if s.branch(tid < stride) {
                        for (u, x) in x.iter_mut().enumerate() {
                            *x += s.get(data, u as u32 * B + tid + stride);
                            s.put(data, u as u32 * B + tid, *x);
                        }
                        count += s.get(counts, tid + stride);
                        s.put(counts, tid, count);
                    }
                    s.barrier();
                }
            }
            if s.branch(tid < 32) {
                for delta in [16, 8, 4, 2, 1] {
                    x = x.map(|x| x + s.shuffle_down(ALL, x, delta));
                    count += s.shuffle_down(ALL, count, delta);
                }
            }
            if s.branch(tid == 0) {
                for (u, x) in x.into_iter().enumerate() {
                    if s.branch(a + (u as u32) < at.coords) {
                        s.atomic_add(at.sums, at.sum(c, a + u as u32), x, Order::Relaxed);
                    }
                }
                if s.branch(a == 0) {
                    s.atomic_add(at.counts, c as usize, count, Order::Relaxed);
                }
            }
            c += 1;
        }
        a += U as u32;
    }
}
