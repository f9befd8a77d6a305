//! What the threads of a block do together: a scan, and shares of numbers.

use core::ops::{Add, Sub};
use warpfold_simt::{ALL, Pod, Shared, Simt, Word};

/// Threads of a block of every kernel that uses this module.
pub const THREADS: u32 = 256;
/// Warps of a block.
pub const WARPS: u32 = THREADS / 32;

/// The sum of `x` over the threads before this one, and over all threads of the block. `warps` has [`WARPS`] places;
/// they are read until the next barrier.
#[inline(always)]
pub fn scan<S: Simt, T>(s: &S, warps: Shared<T>, x: T) -> (T, T)
where
    T: Word + Pod + Default + Add<Output = T> + Sub<Output = T>,
{
    scan_of(s, warps, x, WARPS)
}

/// The same of a block of so many warps.
#[inline(always)]
pub fn scan_of<S: Simt, T>(s: &S, warps: Shared<T>, x: T, count: u32) -> (T, T)
where
    T: Word + Pod + Default + Add<Output = T> + Sub<Output = T>,
{
    let lane = s.lane();
    let mut up_to = x;
    for by in [1, 2, 4, 8, 16] {
        let other = s.shuffle_up(ALL, up_to, by);
        up_to = up_to + if lane >= by { other } else { T::default() };
    }
    if s.branch(lane == 31) {
        s.put(warps, s.warp(), up_to);
    }
    s.barrier();
    let (mut all, mut before) = (T::default(), up_to - x);
    for warp in 0..count {
        let sum = s.get(warps, warp);
        before = before + if warp < s.warp() { sum } else { T::default() };
        all = all + sum;
    }
    (before, all)
}

/// Shares numbers below `n` out among the threads of the block.
#[inline(always)]
pub fn each<S: Simt>(s: &S, tid: u32, n: u32, f: impl Fn(u32)) {
    let mut i = tid;
    while s.again(i < n) {
        f(i);
        i += THREADS;
    }
}

/// Shares numbers below `n` out among the threads of all blocks.
#[inline(always)]
pub fn each_of_grid<S: Simt>(s: &S, n: u64, f: impl Fn(u64)) {
    let mut at = s.block_x() as u64 * THREADS as u64 + s.thread_x() as u64;
    while s.again(at < n) {
        f(at);
        at += s.grid_dim_x() as u64 * THREADS as u64;
    }
}
