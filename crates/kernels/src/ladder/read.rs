//! read: the bytes and nothing else.
//!
//! Idea: read everything with 16-byte loads, eight in flight, and fold it with xor, which costs next to nothing.
//! Delta: not a reduction; what it reaches is the read bandwidth that the ladder is measured against.
//! Bottleneck: memory, by construction.

use warpfold_simt::{Global, Pack, Simt};

/// Reads `n` words; the last `n % 4` are left out. `output` has one word per block, written only if some thread folds
/// its words to `never`, which keeps the compiler from dropping the reads.
#[inline(always)]
pub fn kernel<S: Simt>(s: &S, input: Global<u32>, output: Global<u32>, n: usize, never: u32) {
    let (packs, count) = (input.cast::<Pack<u32, 4>>(), n / 4);
    let step = s.block_dim_x() as usize * s.grid_dim_x() as usize;
    let mut i = s.block_x() as usize * s.block_dim_x() as usize + s.thread_x() as usize;
    let mut x = [0; 4];
    while s.again(i + 7 * step < count) {
        let eight: [_; 8] = core::array::from_fn(|k| s.load_stream(packs, i + k * step));
        for pack in eight {
            x = core::array::from_fn(|k| x[k] ^ pack.0[k]);
        }
        i += 8 * step;
    }
    while s.again(i < count) {
        let pack = s.load_stream(packs, i);
        x = core::array::from_fn(|k| x[k] ^ pack.0[k]);
        i += step;
    }
    if s.branch(x[0] ^ x[1] ^ x[2] ^ x[3] == never) {
        s.store_volatile(output, s.block_x() as usize, never);
    }
}
