//! b2 shared: global memory is read once.
//!
//! Idea: the first round adds two global elements into shared memory; all later rounds stay there.
//! Delta: one read per element instead of one per round, and the input survives.
//! Bottleneck: one block per partial; a long input needs a second launch to bring the blocks together.

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
    let mut stride = block / 2;
    while s.again(stride >= 1) {
        s.barrier();
        if s.branch(tid < stride) {
            x = x.plus(s.get(data, tid + stride));
            s.put(data, tid, x);
        }
        stride /= 2;
    }
    if s.branch(tid == 0) {
        s.store(output, s.block_x() as usize, x);
    }
}
