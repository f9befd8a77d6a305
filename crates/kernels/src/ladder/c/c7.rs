//! c7 warp_first: shuffles first, one shared slot per warp.
//!
//! Idea: each warp folds its own registers; the first lane leaves one value, and the first thread adds those.
//! Delta: no tree in shared memory; two barriers per cluster whatever the block size. The published form looked points
//! up as `[point][coordinate]` in an array laid out `[coordinate][point]`.
//! Bottleneck: every cluster still visits every point, and floats are added atomically: the bits change from run to
//! run.

use crate::ladder::c::Centroids;
use warpfold_simt::{ALL, Order, Simt};

/// `B` threads per block, a power of two from 32; `U` coordinates at once, at most 4.
#[inline(always)]
pub fn kernel<S: Simt, const B: u32, const U: usize>(s: &S, at: Centroids) {
    let slots = s.shared::<f32, 128, 0>("slots");
    let counts = s.shared::<u32, 32, 1>("counts");
    let (tid, warp) = (s.thread_x(), s.thread_x() / 32);
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
            for delta in [16, 8, 4, 2, 1] {
                x = x.map(|x| x + s.shuffle_down(ALL, x, delta));
                count += s.shuffle_down(ALL, count, delta);
            }
            if s.branch(tid.is_multiple_of(32)) {
                for (u, x) in x.into_iter().enumerate() {
                    s.put(slots, u as u32 * 32 + warp, x);
                }
                s.put(counts, warp, count);
            }
            s.barrier();
            if s.branch(tid == 0) {
                for w in 1..B / 32 {
                    for (u, x) in x.iter_mut().enumerate() {
                        *x += s.get(slots, u as u32 * 32 + w);
                    }
                    count += s.get(counts, w);
                }
                for (u, x) in x.into_iter().enumerate() {
                    if s.branch(a + (u as u32) < at.coords) {
                        s.atomic_add(at.sums, at.sum(c, a + u as u32), x, Order::Relaxed);
                    }
                }
                if s.branch(a == 0) {
                    s.atomic_add(at.counts, c as usize, count, Order::Relaxed);
                }
            }
            s.barrier();
            c += 1;
        }
        a += U as u32;
    }
}
