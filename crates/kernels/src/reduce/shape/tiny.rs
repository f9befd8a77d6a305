//! Tiny rows: at most 16 bytes, so that one lane has all of a row.
//!
//! Idea: no lane needs another. A warp takes 256 rows, 8 to a lane, and all are in flight before the first is used. A
//! row that is not one aligned read of 8 or 16 bytes is read as the aligned words that it touches, and shifted into
//! place; what is past its end is filled with what changes nothing. Rows of up to 4, 8 and 16 bytes have code of their
//! own. Bottleneck: memory; for rows of a few bytes, the instructions that finish and write them.

use crate::address::array;
use crate::params::params;
use crate::reduce::call::Call;
use crate::reduce::fold::Parts;
use crate::reduce::shape::piece::{self, Outputs, loose_steps};
use crate::reduce::shape::split::{STEPS, next};
use crate::source::{Bits, words};
use warpfold_simt::Simt;

/// Rows that a warp takes.
pub const ROWS: u32 = 32 * STEPS as u32;

/// Rows of a lane that are finished together: more would be more code, fewer more moves.
const GROUP: usize = 2;

params! {
    /// Outputs, and how many elements each has.
    pub struct Tiny[; const K] {
        /// The kept axes; those that there are not are zero.
        pub outputs: Outputs<K>,
        /// Elements of a row: at least 2, at most 16 bytes.
        pub len: u64,
    }
}

/// See the module.
#[inline(always)]
pub fn kernel<S: Simt, P: piece::Tiny, const K: usize>(s: &S, call: &Call<Tiny<K>>) {
    let size = P::Bits::SIZE;
    let bytes = call.shape.len as u32 * size;
    if s.branch(size <= 2 && bytes <= 4) {
        rows::<S, P, K, 1>(s, call, bytes);
    } else if s.branch(size <= 4 && bytes <= 8) {
        rows::<S, P, K, 2>(s, call, bytes);
    } else {
        rows::<S, P, K, 4>(s, call, bytes);
    }
}

/// A warp's rows, of `bytes` in `W` words.
#[inline(always)]
fn rows<S: Simt, P: piece::Tiny, const K: usize, const W: usize>(s: &S, call: &Call<Tiny<K>>, bytes: u32) {
    let piece = P::new(&call.recipe);
    let outputs = &call.shape.outputs;
    let warp = s.block_x() as u64 * (s.block_dim_x() / 32) as u64 + s.warp() as u64;
    let first = warp * ROWS as u64;
    if s.branch(first >= outputs.total) {
        return;
    }
    let (left, lane) = ((outputs.total - first).min(ROWS as u64) as u32, s.lane());
    let number = |k: u32| first + (32 * k + lane) as u64;
    let mut w = read::<S, P::Bits, K, W>(s, call, first, left, bytes);
    let (mut k, steps) = (0, s.opaque(STEPS as u32));
    while s.again(k < steps) {
        let found = piece.tiny::<S, W, GROUP>(
            s,
            &warpfold_simt::array::from_fn(
                #[inline(always)]
                |j| w[j],
            ),
            call.shape.len as u32,
        );
        let mut out = [0; GROUP];
        if s.branch(outputs.axes <= 1) {
            let mut j = 0;
            while j < GROUP {
                out[j] = number(k + j as u32) as i64 * outputs.axis[0].out;
                j += 1;
            }
        } else {
            // One copy of a division.
            let (mut j, group) = (0, s.opaque(GROUP as u32));
            while s.again(j < group) {
                out = next(out, outputs.at(number(k + j)).out);
                j += 1;
            }
        }
        let mut j = 0;
        while j < GROUP {
            let step = k + j as u32;
            if s.branch(32 * step + lane < left) {
                piece.fold().finish(s, &call.recipe, found[j], call.out(out[j]));
            }
            j += 1;
        }
        w = warpfold_simt::array::from_fn(
            #[inline(always)]
            |j| w[(j + GROUP) % STEPS],
        );
        k += GROUP as u32;
    }
}

/// The bytes of a lane's rows; those past a row's end may be anything.
#[inline(always)]
fn read<S: Simt, B: Bits, const K: usize, const W: usize>(
    s: &S,
    call: &Call<Tiny<K>>,
    first: u64,
    left: u32,
    bytes: u32,
) -> [[u32; 4]; STEPS] {
    let (outputs, lane) = (&call.shape.outputs, s.lane());
    let mut at = [call.at.input; STEPS];
    if s.branch(outputs.axes <= 1) {
        let x = outputs.axis[0].x;
        let from = call.at.input.wrapping_add(((first + lane as u64) as i64 * x) as u64);
        let mut k = 0;
        while k < STEPS {
            at[k] = from.wrapping_add((32 * k as i64 * x) as u64);
            k += 1;
        }
    } else {
        let (mut k, steps) = (0, s.opaque(STEPS as u32));
        while s.again(k < steps) {
            at = next(at, call.at.input.wrapping_add(outputs.at(first + (32 * k + lane) as u64).x as u64));
            k += 1;
        }
    }
    if s.branch(left == ROWS) {
        // A multiple of what all addresses are multiples of.
        let all = outputs.axis.iter().fold(call.at.input, |all, axis| all | axis.x as u64) as u32;
        if s.branch(W >= 2 && bytes == 4 * W as u32 && all & (4 * W as u32 - 1) == 0) {
            return warpfold_simt::array::from_fn(
                #[inline(always)]
                |k| words(s, array(at[k]), 4 * W as u32),
            );
        }
        // The most that an address is above the word that it is in, and the words that a row then touches.
        let above = 4 - ((all | 4) & (all | 4).wrapping_neg());
        let count = (above + bytes).div_ceil(4);
        if s.branch(above + bytes % 4 == 0 || (outputs.axes <= 1 && within(call, first, bytes, 4 * count))) {
            let mut w = [[0u32; 5]; STEPS];
            let mut i = 0;
            while i <= W {
                if s.branch((i as u32) < count) {
                    let mut k = 0;
                    while k < STEPS {
                        w[k][i] = s.load(array(at[k] & !3), i);
                        k += 1;
                    }
                }
                i += 1;
            }
            let mut rows = [[0u32; 4]; STEPS];
            let mut i = 0;
            while i < W {
                let mut k = 0;
                while k < STEPS {
                    rows[k][i] = s.funnel(w[k][i], w[k][i + 1], at[k] as u32 * 8);
                    k += 1;
                }
                i += 1;
            }
            return rows;
        }
    }
    let len = call.shape.len as u32;
    let valid = |k: u32| if 32 * k + lane < left { len } else { 0 };
    loose_steps::<S, B>(
        s,
        at,
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| valid(k as u32),
        ),
    )
}

/// Whether the `read` bytes from the word that a row begins in are the array's, for all rows of a warp; of one axis.
#[inline(always)]
fn within<const K: usize>(call: &Call<Tiny<K>>, first: u64, bytes: u32, read: u32) -> bool {
    let outputs = &call.shape.outputs;
    let at = |number: u64| call.at.input.wrapping_add((number as i64 * outputs.axis[0].x) as u64);
    let end = at(outputs.total - 1) + bytes as u64;
    at(first) & !3 >= call.at.input && (at(first + (ROWS - 1) as u64) & !3) + read as u64 <= end
}
