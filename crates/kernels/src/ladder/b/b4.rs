//! b4 coarsened: each thread first adds `2 * C` elements.
//!
//! Idea: fewer, fatter blocks: `C` times as many elements per thread are summed in a register before the tree.
//! Delta: the tree, its barriers and its idle threads are paid once for `C` blocks' worth of input.
//! Bottleneck: as b3, once the coarsening has hidden the tree: loads of 4 bytes, and a sum that depends on the order.

use crate::ladder::Element;
use warpfold_simt::{Global, Order, Simt};

/// Any block size that is a power of two; coarsening factor `C`.
#[inline(always)]
pub fn kernel<S: Simt, T: Element, const C: u32>(s: &S, input: Global<T>, output: Global<T>, n: usize) {
    let data = s.shared::<T, 1024, 0>("data");
    let (tid, block) = (s.thread_x(), s.block_dim_x());
    let i = s.block_x() as usize * block as usize * (2 * C) as usize + tid as usize;
    let mut x = T::ZERO;
    for part in 0..2 * C as usize {
        let i = i + part * block as usize;
        if s.branch(i < n) {
            x = x.plus(s.load(input, i));
        }
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
