//! c5 sixteen_per_thread: each thread first adds up its 16 points, in shared memory.
//!
//! Idea: a block takes 16 points per thread; for each cluster a thread adds its members into its own shared slot.
//! Delta: the tree and its barriers are paid once per 16 points. The published form summed coordinate 0 only.
//! Bottleneck: sixteen reads and writes of a shared slot that nobody else looks at.

use crate::ladder::c::{Centroids, POINTS_PER_THREAD};
use warpfold_simt::{ALL, Order, Simt};

/// `B` threads per block, a power of two from 32 to 256; `U` coordinates at once, at most 4.
#[inline(always)]
pub fn kernel<S: Simt, const B: u32, const U: usize>(s: &S, at: Centroids) {
    let data = s.shared::<f32, 1024, 0>("data");
    let counts = s.shared::<u32, 256, 1>("counts");
    let tid = s.thread_x();
    let first = s.block_x() as usize * (B * POINTS_PER_THREAD) as usize + tid as usize;
    let mut a = 0;
    while s.again(a < at.coords) {
        let mut c = 0;
        while s.again(c < at.clusters) {
            for u in 0..U as u32 {
                s.put(data, u * B + tid, 0.0);
            }
            s.put(counts, tid, 0);
            let mut j = 0;
            while s.again(j < POINTS_PER_THREAD) {
                let i = first + (j * B) as usize;
                if s.branch(i < at.n && s.load(at.labels, i) == c as i32) {
                    for u in 0..U as u32 {
                        if s.branch(a + u < at.coords) {
                            let x = s.load(at.points, at.point(a + u, i));
                            s.put(data, u * B + tid, s.get(data, u * B + tid) + x);
                        }
                    }
                    s.put(counts, tid, s.get(counts, tid) + 1);
                }
                j += 1;
            }
            s.barrier();
            for stride in [128, 64, 32] {
                if B >= 2 * stride {
                    if s.branch(tid < stride) {
                        for u in 0..U as u32 {
                            let at = u * B + tid;
                            s.put(data, at, s.get(data, at) + s.get(data, at + stride));
                        }
                        s.put(counts, tid, s.get(counts, tid) + s.get(counts, tid + stride));
                    }
                    s.barrier();
                }
            }
            if s.branch(tid < 32) {
                let mut x: [f32; U] = core::array::from_fn(|u| s.get(data, u as u32 * B + tid));
                let mut count = s.get(counts, tid);
                for delta in [16, 8, 4, 2, 1] {
                    x = x.map(|x| x + s.shuffle_down(ALL, x, delta));
                    count += s.shuffle_down(ALL, count, delta);
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
            }
            c += 1;
        }
        a += U as u32;
    }
}
