//! a2 sequential: neighbours in the warp are neighbours in memory.
//!
//! Idea: the stride starts at half the block and halves; thread `tid` adds the element `stride` further on.
//! Delta: a warp always touches 32 consecutive words, so there is no bank conflict.
//! Bottleneck: half of the threads only load one element and never add anything.

use crate::ladder::Element;
use warpfold_simt::{Global, Simt};

/// Any block size that is a power of two.
#[inline(always)]
pub fn kernel<S: Simt, T: Element>(s: &S, input: Global<T>, output: Global<T>, n: usize) {
    let data = s.shared::<T, 1024, 0>("data");
    let (tid, block) = (s.thread_x(), s.block_dim_x());
    let i = s.block_x() as usize * block as usize + tid as usize;
    let x = if s.branch(i < n) { s.load(input, i) } else { T::ZERO };
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
