//! c6 in_registers: the 16 points and their labels stay in registers.
//!
//! Idea: a thread loads its 16 labels once, and its points once per `U` coordinates; clusters are sums over registers.
//! Delta: no shared memory before the tree, and no point or label is read again for every cluster. The published form
//! summed coordinate 0 only.
//! Bottleneck: the tree through shared memory and its barriers, once per cluster.

use crate::ladder::c::Centroids;
use warpfold_simt::{ALL, Order, Simt};

/// `B` threads per block, a power of two from 32 to 256; `U` coordinates at once, at most 4.
#[inline(always)]
pub fn kernel<S: Simt, const B: u32, const U: usize>(s: &S, at: Centroids) {
    let data = s.shared::<f32, 1024, 0>("data");
    let counts = s.shared::<u32, 256, 1>("counts");
    let tid = s.thread_x();
    let first = s.block_x() as usize * (B * crate::ladder::c::POINTS_PER_THREAD) as usize + tid as usize;
    let index = |j: usize| first + j * B as usize;
    let labels: [i32; 16] =
        core::array::from_fn(|j| if s.branch(index(j) < at.n) { s.load(at.labels, index(j)) } else { -1 });
    let mut a = 0;
    while s.again(a < at.coords) {
        let points: [[f32; 16]; U] = core::array::from_fn(|u| {
            let a = a + u as u32;
            let load = |j| s.load(at.points, at.point(a, index(j)));
            core::array::from_fn(|j| if s.branch(index(j) < at.n && a < at.coords) { load(j) } else { 0.0 })
        });
        let mut c = 0;
        while s.again(c < at.clusters) {
            let member = labels.map(|label| label == c as i32);
            let mut x: [f32; U] = core::array::from_fn(|u| {
                let mut sum = 0.0;
                for (&x, &member) in points[u].iter().zip(&member) {
                    sum += if member { x } else { 0.0 };
                }
                sum
            });
            let mut count = 0;
            for member in member {
                count += u32::from(member);
            }
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
