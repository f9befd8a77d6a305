//! a4 as published: the last warp without any barrier.
//!
//! Idea: see a4.
//! Delta: trusts that the 32 lanes of a warp run in lockstep.
//! Bottleneck: since Volta they need not: each step reads what another lane may or may not have written yet.

use crate::ladder::Element;
use warpfold_simt::{Global, Simt};

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
            s.put(data, tid, s.get(data, tid).plus(s.get(data, tid + stride)));
        }
    }
    if s.branch(tid == 0) {
        s.store(output, s.block_x() as usize, s.get(data, 0));
    }
}
