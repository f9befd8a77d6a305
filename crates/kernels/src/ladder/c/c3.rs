//! c3 fewer_barriers: the last 32 values by shuffles, `U` coordinates at once.
//!
//! Idea: a tree over `U` coordinates and the count together; once 32 values of each are left, one warp shuffles them.
//! Delta: one set of barriers for all `U` coordinates and the count, and five rounds fewer in each. The published form
//! summed coordinate 0 only.
//! Bottleneck: loops over a block size known only at run time; one point per thread for all those barriers.

use crate::ladder::c::Centroids;
use warpfold_simt::{ALL, Order, Simt};

/// A power of two from 32 to 256 threads per block; `U` coordinates at once, at most 4.
#[inline(always)]
pub fn kernel<S: Simt, const U: usize>(s: &S, at: Centroids) {
    let data = s.shared::<f32, 1024, 0>("data");
    let counts = s.shared::<u32, 256, 1>("counts");
    let (tid, block) = (s.thread_x(), s.block_dim_x());
    let i = s.block_x() as usize * block as usize + tid as usize;
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
                s.put(data, u as u32 * block + tid, x);
            }
            s.put(counts, tid, count);
            s.barrier();
            let mut stride = block / 2;
            while s.again(stride >= 32) {
                if s.branch(tid < stride) {
                    for (u, x) in x.iter_mut().enumerate() {
                        *x += s.get(data, u as u32 * block + tid + stride);
                        s.put(data, u as u32 * block + tid, *x);
                    }
                    count += s.get(counts, tid + stride);
                    s.put(counts, tid, count);
                }
                s.barrier();
                stride /= 2;
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
