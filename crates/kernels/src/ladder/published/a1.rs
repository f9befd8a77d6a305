//! a1 as published: adds into `data[tid]` instead of `data[index]`.
//!
//! Idea: see a1.
//! Delta: the sum goes to the wrong place.
//! Bottleneck: the result is wrong; and the place is another thread's source in the same round, which is a race.

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
    let mut stride = 1;
    while s.again(stride < block) {
        let index = 2 * stride * tid;
        if s.branch(index < block) {
            s.put(data, tid, s.get(data, tid).plus(s.get(data, index + stride)));
        }
        s.barrier();
        stride *= 2;
    }
    if s.branch(tid == 0) {
        s.store(output, s.block_x() as usize, s.get(data, 0));
    }
}
