//! a7 as published: the running value of a float sum is an `int`.
//!
//! Idea: see a7.
//! Delta: the last 64 values lose their fractions.
//! Bottleneck: the result is wrong for floats that are not whole.

use warpfold_simt::{ALL, Global, Simt};

/// `B` threads per block, a power of two from 64.
#[inline(always)]
pub fn kernel<S: Simt, const B: u32>(s: &S, input: Global<f32>, output: Global<f32>, n: usize) {
    let data = s.shared::<f32, 1024, 0>("data");
    let tid = s.thread_x();
    let mut i = s.block_x() as usize * (2 * B) as usize + tid as usize;
    let mut x = 0.0f32;
    while s.again(i < n) {
        x += s.load(input, i);
        if s.branch(i + (B as usize) < n) {
            x += s.load(input, i + B as usize);
        }
        i += (2 * B) as usize * s.grid_dim_x() as usize;
    }
    s.put(data, tid, x);
    s.barrier();
    for stride in [512, 256, 128, 64] {
        if B >= 2 * stride {
            if s.branch(tid < stride) {
                x += s.get(data, tid + stride);
                s.put(data, tid, x);
            }
            s.barrier();
        }
    }
    if s.branch(tid < 32) {
        // An `int`, as published.
        let mut sum = (x + s.get(data, tid + 32)) as i32;
        for delta in [16, 8, 4, 2, 1] {
            sum += s.shuffle_down(ALL, sum, delta);
        }
        x = sum as f32;
    }
    if s.branch(tid == 0) {
        s.store(output, s.block_x() as usize, x);
    }
}
