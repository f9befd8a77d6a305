//! a5 as published: the last warp without any barrier.
//!
//! Idea: see a5.
//! Delta: trusts that the 32 lanes of a warp run in lockstep.
//! Bottleneck: since Volta they need not: each step reads what another lane may or may not have written yet.

use crate::ladder::Element;
use warpfold_simt::{Global, Simt};

/// `B` threads per block, a power of two from 64.
#[inline(always)]
pub fn kernel<S: Simt, T: Element, const B: u32>(s: &S, input: Global<T>, output: Global<T>, n: usize) {
    let data = s.shared::<T, 1024, 0>("data");
    let tid = s.thread_x();
    let i = s.block_x() as usize * (2 * B) as usize + tid as usize;
    let mut x = if s.branch(i < n) { s.load(input, i) } else { T::ZERO };
    if s.branch(i + (B as usize) < n) {
        x = x.plus(s.load(input, i + B as usize));
    }
    s.put(data, tid, x);
    s.barrier();
    for stride in [512, 256, 128, 64] {
        if B >= 2 * stride {
            if s.branch(tid < stride) {
                x = x.plus(s.get(data, tid + stride));
                s.put(data, tid, x);
            }
            s.barrier();
        }
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
