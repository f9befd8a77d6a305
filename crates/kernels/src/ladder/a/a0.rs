//! a0 interleaved_modulo: the tree as one would first write it.
//!
//! Idea: a block loads its elements into shared memory and folds neighbours; the stride doubles each round.
//! Delta: none, this is the start. Each block leaves one partial; a second launch of the same kernel finishes.
//! Bottleneck: `tid % (2 * stride)` is slow, and it scatters the working threads, so every round diverges.

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
    // The stride starts at 1, which is what the launch has here. Were it a constant, the compiler would see that all
    // strides are powers of two, and quietly put a mask where the published kernel has a remainder.
    let mut stride = s.grid_dim().y;
    while s.again(stride < block) {
        // `checked_rem` only because a plain `%` could panic on a stride of zero.
        if s.branch(tid.checked_rem(2 * stride) == Some(0)) {
            s.put(data, tid, s.get(data, tid).plus(s.get(data, tid + stride)));
        }
        s.barrier();
        stride *= 2;
    }
    if s.branch(tid == 0) {
        s.store(output, s.block_x() as usize, s.get(data, 0));
    }
}
