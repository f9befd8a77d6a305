//! b0 simple: each thread owns two neighbours, in place in global memory.
//!
//! Idea: one block folds up to twice its size in elements; in each round, threads at multiples of the stride add.
//! Delta: none, this is the start. Longer inputs take more blocks, each leaving one partial for a second launch.
//! Bottleneck: working threads drift apart, so nearly every warp diverges in nearly every round.

use crate::ladder::Element;
use warpfold_simt::{Global, Simt};

/// Any block size that is a power of two. Destroys its input.
#[inline(always)]
pub fn kernel<S: Simt, T: Element>(s: &S, input: Global<T>, output: Global<T>, n: usize) {
    let (tid, block) = (s.thread_x(), s.block_dim_x());
    let base = s.block_x() as usize * block as usize * 2;
    let i = base + 2 * tid as usize;
    // 1; read from the launch, or the compiler would put a mask in place of the remainder.
    let mut stride = s.grid_dim().y;
    loop {
        let other = i + stride as usize;
        if s.branch(tid.checked_rem(stride) == Some(0) && other < n) {
            s.store(input, i, s.load(input, i).plus(s.load(input, other)));
        }
        s.barrier();
        stride *= 2;
        if !s.again(stride <= block) {
            break;
        }
    }
    if s.branch(tid == 0) {
        s.store(output, s.block_x() as usize, s.load(input, base));
    }
}
