//! Outputs of one element each: there is nothing to reduce.
//!
//! Idea: where results have the dtype of the elements, they are the elements themselves, their magnitudes, or zero, and
//! of floats a NaN becomes the one NaN that results have. So lanes copy lines of 16 bytes, wherever rows begin, and
//! look at the bits of a word's elements together: no number is made of them. Bottleneck: memory.

use crate::address::array;
use crate::params::params;
use crate::reduce::call::CallAt;
use crate::reduce::shape::piece::{Outputs, divide};
use crate::rowwise::read::read;
use crate::rowwise::spread::{Place, Spread};
use crate::rowwise::write::write;
use crate::source::{Bits, words};
use warpfold_simt::Simt;

/// Steps of a warp, each of which has 16 bytes to a lane.
pub const STEPS: usize = 4;

/// Elements that a warp takes, by their size.
pub const fn chunk(size: usize) -> usize {
    32 * 16 * STEPS / size
}

params! {
    /// Where elements go, and what becomes of them.
    pub struct Single[; const K] at CallAt {
        /// Rows of elements side by side.
        pub outputs: Outputs<K>,
        /// Elements of a row.
        pub len: u64,
        /// Chunks of a row, each of which a warp takes.
        pub chunks: u64,
        /// Bytes from the input to the end of the array.
        pub end: u64,
        /// Bits of an element that are kept.
        pub keep: u64,
        /// The greatest bits, but for the sign, of what is not NaN.
        pub limit: u64,
        /// The bits of NaN.
        pub nan: u64,
    }
}

/// A chunk to a warp.
#[inline(always)]
pub fn kernel<S: Simt, B: Bits, const K: usize>(s: &S, call: &Single<K>) {
    let number = s.block_x() as u64 * (s.block_dim_x() / 32) as u64 + s.warp() as u64;
    let (row, own) = divide(number, call.chunks);
    if s.branch(row >= call.outputs.total) {
        return;
    }
    let (at, size) = (call.outputs.at(row), B::SIZE as u64);
    let most = chunk(B::SIZE as usize) as u64;
    let first = own * most;
    let place = Place {
        input: call.at.input.wrapping_add(at.x as u64) + first * size,
        second: 0,
        output: call.at.output.wrapping_add((at.out * size as i64) as u64) + first * size,
        mask: 0,
        first,
        before: 0,
        valid: (call.len - first).min(most) as u32,
    };
    let lined = |address: u64| address.is_multiple_of(16);
    let (end, whole) = (call.at.input + call.end, (place.valid * B::SIZE).is_multiple_of(16));
    let line = |_, at| words(s, array(at), 16);
    let w =
        read::<S, B, true, STEPS>(s, Spread::WARP, end, [lined(place.input), whole, false], B::ZERO, line, |_| place);
    let w = w.map(
        #[inline(always)]
        |pack| results::<B, K>(call, pack),
    );
    write::<S, B, true, STEPS>(s, Spread::WARP, [lined(place.output), whole && lined(place.output)], w, |_| place);
}

/// The results of elements in words.
#[inline(always)]
fn results<B: Bits, const K: usize>(call: &Single<K>, w: [u32; 4]) -> [u32; 4] {
    if B::SIZE == 8 {
        let [a, b, c, d] = w;
        let result = |low: u32, high: u32| {
            let bits = (high as u64) << 32 | low as u64;
            let is_nan = bits & (u64::MAX >> 1) > call.limit;
            let bits = if is_nan { call.nan } else { bits & call.keep };
            [bits as u32, (bits >> 32) as u32]
        };
        let ([a, b], [c, d]) = (result(a, b), result(c, d));
        return [a, b, c, d];
    }
    let bits = 8 * B::SIZE;
    // The same bits in each element of a word.
    let each = |bits: u64| if B::SIZE == 2 { bits as u16 as u32 * 0x1_0001 } else { bits as u32 };
    let (sign, most) = (each(1 << (bits - 1)), (1u64 << (bits - 1)) - 1);
    w.map(
        #[inline(always)]
        |word| {
            if B::SIZE == 1 {
                return word;
            }
            // What is beyond the limit carries into the sign's place, and no further.
            let beyond = ((word & !sign) + each(most - call.limit.min(most))) & sign;
            let is_nan = (beyond >> (bits - 1)) * (u32::MAX >> (32 - bits));
            (word & each(call.keep) & !is_nan) | (each(call.nan) & is_nan)
        },
    )
}
