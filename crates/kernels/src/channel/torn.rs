//! Sums of subtrees of channels whose runs are no whole packs: of the products of gradients and normalised elements,
//! and of gradients, both at once.
//!
//! Idea: neighbouring lanes take neighbouring elements of a channel's sequence, wherever a run ends between them, and
//! each takes one of every 32 of up to eight strides. Lanes then exchange halves of what they have until each has one
//! sum, in 12 exchanges for 256 elements; so for both. Sequences shorter than eight strides leave room for others.
//! Bottleneck: instructions, about 30 for an element by reckoning, not by a profiler.

use super::Channels;
use super::found::Found;
use crate::address::array;
use crate::block::WARPS;
use crate::node::{Node, exchange, select};
use crate::rowwise::number::write_one;
use crate::source::Source;
use warpfold_core::{Accumulate, Element, Float};
use warpfold_simt::{Simt, array::from_fn};

/// Strides of a warp.
pub const STRIDES: usize = 8;
/// Elements of a stride.
pub const STRIDE: usize = 32;

/// Sums over the lanes, of so many strides each that follow one another: a lane has that of stride `4 a + 2 b + c` and
/// those after it, `a` to `c` being the lowest bits of its number.
#[inline(always)]
fn halved<S: Simt, F: Float + Node>(s: &S, mut x: [F; STRIDES], strides: u32) -> F {
    let lane = s.lane();
    let (mut n, mut bit) = (STRIDES / 2, 1);
    while n >= 1 {
        let is_upper = lane & bit != 0;
        let mut k = 0;
        while k < n {
            let [own, other] = [select(is_upper, x[k + n], x[k]), select(is_upper, x[k], x[k + n])];
            x[k] = own.add(exchange(s, other, bit));
            k += 1;
        }
        (n, bit) = (n / 2, 2 * bit);
    }
    let mut sum = x[0];
    sum = sum.add(exchange(s, sum, 8));
    sum = sum.add(exchange(s, sum, 16));
    let (mut joined, mut bit) = (1, 4);
    while s.again(joined < strides) {
        sum = sum.add(exchange(s, sum, bit));
        (joined, bit) = (2 * joined, bit / 2);
    }
    sum
}

/// Writes both sums of every subtree: those of a channel side by side.
#[inline(always)]
pub fn kernel<S, X>(s: &S, call: &Channels)
where
    S: Simt,
    X: Source<Value: Element + Float + Node>,
{
    let (strides, lane) = (call.lanes, s.lane());
    let shift = strides.trailing_zeros();
    let [x, gradient] = [call.at.x, call.at.gradient].map(array::<X::Bits>);
    let warps = s.grid_dim_x() as u64 * WARPS as u64;
    let mut turn = s.block_x() as u64 * WARPS as u64 + s.warp() as u64;
    while s.again(turn < call.sets.by * call.stretches) {
        // Channels that follow one another have lines in common.
        let (stretch, set) = call.sets.divide(turn);
        let first = set * (STRIDES as u64 >> shift);
        let row = from_fn::<_, STRIDES>(
            #[inline(always)]
            |k| first + (k as u64 >> shift),
        );
        let place = from_fn::<_, STRIDES>(
            #[inline(always)]
            |k| (stretch << shift << 5) + ((k as u32 & (strides - 1)) << 5 | lane) as u64,
        );
        let is_there = from_fn::<_, STRIDES>(
            #[inline(always)]
            |k| place[k] < call.count && row[k] < call.rows,
        );
        let at = from_fn::<_, STRIDES>(
            #[inline(always)]
            |k| {
                // What there is not is the first element.
                let (sample, rest) = call.divide(s, &call.run, if is_there[k] { place[k] } else { 0 });
                let row = if is_there[k] { row[k] } else { 0 };
                ((sample * call.channels.by + row) * call.run.by + rest) as usize
            },
        );
        let [xs, gradients] = [x, gradient].map(
            #[inline(always)]
            |first| {
                at.map(
                    #[inline(always)]
                    |at| s.load(first, at),
                )
            },
        );
        let whole: Found<X::Value> = Found::of(s, call, first);
        let (mut dots, mut totals) = ([X::Value::NOTHING; STRIDES], [X::Value::NOTHING; STRIDES]);
        let mut k = 0;
        while k < STRIDES {
            let found = if s.branch(strides == STRIDES as u32) {
                whole
            } else {
                Found::of(s, call, if row[k] < call.rows { row[k] } else { first })
            };
            let gradient = X::value(s, gradients[k]);
            dots[k] = select(is_there[k], found.product(X::value(s, xs[k]), gradient), X::Value::NOTHING);
            totals[k] = select(is_there[k], gradient, X::Value::NOTHING);
            k += 1;
        }
        let (dot, total) = (halved(s, dots, strides), halved(s, totals, strides));
        let stride = (lane & 1) << 2 | (lane & 2) | (lane & 4) >> 2;
        let row = first + (stride >> shift) as u64;
        if s.branch(lane < 8 && stride & (strides - 1) == 0 && row < call.rows) {
            let to = row * call.stretches + stretch;
            write_one::<S, X>(s, call.at.output, to, true, dot);
            write_one::<S, X>(s, call.at.totals, to, true, total);
        }
        turn += warps;
    }
}
