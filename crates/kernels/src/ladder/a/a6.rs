//! a6 many_per_thread: a fixed grid; each thread first sums many elements.
//!
//! Idea: 1024 blocks stride over the whole input; a thread keeps its running sum in a register.
//! Delta: the tree in shared memory is paid once per 128 elements and thread (at 2^25), not once per two.
//! Bottleneck: the last 64 values still travel through shared memory, and loads are 4 bytes wide.

use crate::ladder::Element;
use warpfold_simt::{ALL, Global, Simt};

/// `B` threads per block, a power of two from 64.
#[inline(always)]
pub fn kernel<S: Simt, T: Element, const B: u32>(s: &S, input: Global<T>, output: Global<T>, n: usize) {
    let data = s.shared::<T, 1024, 0>("data");
    let tid = s.thread_x();
    let mut i = s.block_x() as usize * (2 * B) as usize + tid as usize;
    let mut x = T::ZERO;
    while s.again(i < n) {
        x = x.plus(s.load(input, i));
        if s.branch(i + (B as usize) < n) {
            x = x.plus(s.load(input, i + B as usize));
        }
        i += (2 * B) as usize * s.grid_dim_x() as usize;
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
            x = x.plus(s.get(data, tid + stride));
            s.warp_barrier(ALL);
            s.put(data, tid, x);
            s.warp_barrier(ALL);
        }
    }
    if s.branch(tid == 0) {
        s.store(output, s.block_x() as usize, x);
    }
}
