//! a8 vector: 16-byte loads, four of them in flight.
//!
//! Idea: a lane reads four neighbours with one instruction, and starts four such reads before it uses the first.
//! Delta: a quarter of the load instructions, and enough bytes on their way to keep the memory busy.
//! Bottleneck: memory itself. What is left is the second launch for the partials, and a sum whose bits depend on the
//! grid.

use crate::ladder::Element;
use warpfold_simt::{ALL, Global, Pack, Simt};

/// `B` threads per block, a power of two from 64. The input is aligned to 16 bytes.
#[inline(always)]
pub fn kernel<S: Simt, T: Element, const B: u32>(s: &S, input: Global<T>, output: Global<T>, n: usize) {
    let data = s.shared::<T, 1024, 0>("data");
    let tid = s.thread_x();
    let first = s.block_x() as usize * B as usize + tid as usize;
    let step = B as usize * s.grid_dim_x() as usize;
    let (packs, count) = (input.cast::<Pack<T, 4>>(), n / 4);
    let mut x = [T::ZERO; 4];
    let mut i = first;
    while s.again(i + 3 * step < count) {
        let four: [_; 4] = core::array::from_fn(|k| s.load(packs, i + k * step));
        for pack in four {
            x = core::array::from_fn(|k| x[k].plus(pack.0[k]));
        }
        i += 4 * step;
    }
    while s.again(i < count) {
        let pack = s.load(packs, i);
        x = core::array::from_fn(|k| x[k].plus(pack.0[k]));
        i += step;
    }
    let mut x = x[0].plus(x[1]).plus(x[2].plus(x[3]));
    if s.branch(4 * count + first < n) {
        x = x.plus(s.load(input, 4 * count + first));
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
