//! a3 first_add: every thread adds once while it loads.
//!
//! Idea: a block takes twice its size in elements; each thread adds two of them on the way into shared memory.
//! Delta: half the blocks, and no thread that only loads.
//! Bottleneck: barriers and loop instructions for a tail of rounds in which one warp or less does anything.

use crate::ladder::Element;
use warpfold_simt::{Global, Simt};

/// Any block size that is a power of two.
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
    while s.again(stride > 0) {
        if s.branch(tid < stride) {
            s.put(data, tid, s.get(data, tid).plus(s.get(data, tid + stride)));
        }
        s.barrier();
        stride /= 2;
    }
    if s.branch(tid == 0) {
        s.store(output, s.block_x() as usize, s.get(data, 0));
    }
}
