//! b1 converge: the working threads stay together.
//!
//! Idea: the stride starts at the block size and halves; threads below it add the element one stride on.
//! Delta: whole warps fall idle together; only the last five rounds diverge, in one warp. Accesses are coalesced.
//! Bottleneck: every round goes through global memory.

use crate::ladder::Element;
use warpfold_simt::{Global, Simt};

/// Any block size that is a power of two. Destroys its input.
#[inline(always)]
pub fn kernel<S: Simt, T: Element>(s: &S, input: Global<T>, output: Global<T>, n: usize) {
    let (tid, block) = (s.thread_x(), s.block_dim_x());
    let base = s.block_x() as usize * block as usize * 2;
    let i = base + tid as usize;
    let mut stride = block;
    loop {
        let other = i + stride as usize;
        if s.branch(tid < stride && other < n) {
            s.store(input, i, s.load(input, i).plus(s.load(input, other)));
        }
        s.barrier();
        stride /= 2;
        if !s.again(stride >= 1) {
            break;
        }
    }
    if s.branch(tid == 0) {
        s.store(output, s.block_x() as usize, s.load(input, base));
    }
}
