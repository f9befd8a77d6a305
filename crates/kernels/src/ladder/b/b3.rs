//! b3 segmented: many blocks, joined by an atomic.
//!
//! Idea: each block reduces its own segment, and its first thread adds the result to the output atomically.
//! Delta: any length in one launch. The output must be zero before.
//! Bottleneck: a thread adds two elements and then sits through a whole tree. And blocks finish in any order, so a
//! float sum has different bits from run to run.

use crate::ladder::Element;
use warpfold_simt::{Global, Order, Simt};

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
        s.atomic_add(output, 0, x, Order::Relaxed);
    }
}
