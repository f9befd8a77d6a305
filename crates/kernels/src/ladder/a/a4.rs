//! a4 unroll_last_warp: the last 32 lanes need no block barrier.
//!
//! Idea: once 64 values are left, one warp finishes them in six straight steps.
//! Delta: six rounds of loop, test and block barrier are gone. A warp barrier stands where the published form trusted
//! lanes to run in lockstep; since Volta they need not, and without it this is a race.
//! Bottleneck: the rounds that are left still pay for a loop over a block size known only at run time.

use crate::ladder::Element;
use warpfold_simt::{ALL, Global, Simt};

/// Any block size that is a power of two, from 64.
#[inline(always)]
pub fn kernel<S: Simt, T: Element>(s: &S, input: Global<T>, output: Global<T>, n: usize) {
    let data = s.shared::<T, 1024, 0>("data");
    let (tid, block) = (s.thread_x(), s.block_dim_x());
    let i = s.block_x() as usize * block as usize * 2 + tid as usize;
    let mut x = if s.branch(i < n) { s.load(input, i) } else { T::ZERO };
    if s.branch(i + (block as usize) < n) {
        x = x.plus(s.load(input, i + block as usize));
    }
    s.put(data, tid, x);
    s.barrier();
    let mut stride = block / 2;
    while s.again(stride > 32) {
        if s.branch(tid < stride) {
            x = x.plus(s.get(data, tid + stride));
            s.put(data, tid, x);
        }
        s.barrier();
        stride /= 2;
    }
    if s.branch(tid < 32) {
        for stride in [32, 16, 8, 4, 2, 1] {
            x = x.plus(s.get(data, tid + stride));
            s.warp_barrier(ALL);
            s.put(data, tid, x);
            s.warp_barrier(ALL);
        }
    }
    if s.branch(tid == 0) {
        s.store(output, s.block_x() as usize, x);
    }
}
