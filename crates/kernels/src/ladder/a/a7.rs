//! a7 shuffle: the last 64 values in registers.
//!
//! Idea: lanes of a warp read each other's registers; a shuffle is the exchange and the synchronisation in one.
//! Delta: from 64 values down there is no shared memory, no barrier, and so no race. The running value has the
//! element's type; the published form kept it in an `int`, which cuts the fraction off floats.
//! Bottleneck: the loads: one 4-byte request per lane keeps too few bytes in flight.

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
        x = x.plus(s.get(data, tid + 32));
        for delta in [16, 8, 4, 2, 1] {
            x = x.plus(s.shuffle_down(ALL, x, delta));
        }
    }
    if s.branch(tid == 0) {
        s.store(output, s.block_x() as usize, x);
    }
}
