//! A thread's window in a few planes, and the walk over its elements.

use super::Pool;
use super::along::Span;
use crate::block::THREADS;
use warpfold_simt::Simt;

/// What a thread has: a result of `P` planes.
#[derive(Clone, Copy)]
pub struct Own<const P: usize> {
    /// The result's place along each axis.
    pub at: [u32; 3],
    /// Its number in the plane.
    pub number: u32,
    /// The first plane.
    pub plane: u64,
    /// How many planes there are.
    pub planes: u32,
    /// The addresses of the planes' first source elements; of planes that there are not, of the last one's.
    pub sources: [u64; P],
}

impl<const P: usize> Own<P> {
    /// None, if there are fewer threads' worth of results.
    #[inline(always)]
    pub fn of<S: Simt>(s: &S, call: &Pool) -> Option<Self> {
        let index = s.block_x() as u64 * THREADS as u64 + s.thread_x() as u64;
        let (group, number) = call.results.divide(index);
        let plane = group * P as u64;
        if !s.branch(plane < call.planes) {
            return None;
        }
        let planes = (call.planes - plane).min(P as u64) as u32;
        let sources = warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| {
                let (far, near) = call.inner.divide(plane + (k as u32).min(planes - 1) as u64);
                call.at.input.wrapping_add((near as i64 * call.near + far as i64 * call.far) as u64)
            },
        );
        let number = number as u32;
        let (rest, x) = call.axis[2].split.divide_small(number);
        let (z, y) = call.axis[1].split.divide_small(rest);
        Some(Self { at: [z, y, x], number, plane, planes, sources })
    }

    /// The number of the result of the thread's plane `k`, of all results.
    #[inline(always)]
    pub fn result(&self, call: &Pool, k: usize) -> u64 {
        (self.plane + k as u64) * call.results.by + self.number as u64
    }
}

/// Calls `f` with the places along the axes of all source elements of three spans that `holds` of their axes, in
/// row-major order, and with bytes from the first element of a plane.
#[inline(always)]
pub fn walk<S: Simt>(
    s: &S,
    call: &Pool,
    spans: [Span; 3],
    holds: impl Fn(usize, u32) -> bool,
    mut f: impl FnMut([u32; 3], i64),
) {
    let [outer, middle, inner] = spans;
    let mut i = 0;
    while s.again(i < outer.count) {
        let z = outer.first + i * outer.step;
        i += 1;
        if !s.branch(holds(0, z)) {
            continue;
        }
        let mut j = 0;
        while s.again(j < middle.count) {
            let y = middle.first + j * middle.step;
            j += 1;
            if !s.branch(holds(1, y)) {
                continue;
            }
            let row = z as i64 * call.axis[0].step + y as i64 * call.axis[1].step;
            let mut k = 0;
            while s.again(k < inner.count) {
                let x = inner.first + k * inner.step;
                k += 1;
                if s.branch(holds(2, x)) {
                    f([z, y, x], row + x as i64 * call.axis[2].step);
                }
            }
        }
    }
}
