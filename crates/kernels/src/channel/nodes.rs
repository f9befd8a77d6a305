//! Sums of subtrees: of the products of gradients and normalised elements, and of gradients, both at once.
//!
//! Idea: where the elements of a channel that lie side by side are so many whole packs, or so many for each of several
//! lanes, a subtree of the sum over the channel has these. So a pack is a node when it is read, lanes add theirs, and
//! what is left to be reduced is a fraction of the elements.

use super::Channels;
use super::found::Found;
use super::read::{Words, read};
use crate::block::THREADS;
use crate::node::{Node, exchange};
use crate::rowwise::number::{MOST, numbers, write_one};
use crate::source::{Bits, Source};
use warpfold_core::{Accumulate, Element, Float};
use warpfold_simt::Simt;

/// The sum of a pack's numbers, which are as many as elements.
#[inline(always)]
fn tree<X: Source<Value: Float>>(mut x: [X::Value; MOST]) -> X::Value {
    let mut n = X::Bits::PER as usize;
    while n > 1 {
        n /= 2;
        let mut i = 0;
        while i < n {
            x[i] = x[2 * i].add(x[2 * i + 1]);
            i += 1;
        }
    }
    x[0]
}

/// Writes both sums of every subtree.
#[inline(always)]
pub fn kernel<S, X>(s: &S, call: &Channels)
where
    S: Simt,
    X: Source<Value: Element + Float + Node>,
{
    let packs = call.elements / X::Bits::PER as u64;
    let step = s.grid_dim_x() as u64 * THREADS as u64;
    let lane = s.lane();
    let mut at = s.block_x() as u64 * THREADS as u64 + s.thread_x() as u64;
    // All lanes of a warp go on, if the first does.
    while s.again(at - (lane as u64) < packs) {
        let is_there = at < packs;
        let i = if is_there { at } else { packs - 1 };
        let Words { x, gradient } = read(s, call, i);
        let found = Found::of(s, call, call.divide(s, &call.run, i * X::Bits::PER as u64).0);
        let [x, gradient] = [x, gradient].map(
            #[inline(always)]
            |words| numbers::<S, X>(s, words),
        );
        let (mut dot, mut total) = (tree::<X>(found.products::<X>(x, gradient)), tree::<X>(gradient));
        let mut k = 1;
        while s.again(k < call.lanes) {
            (dot, total) = (dot.add(exchange(s, dot, k)), total.add(exchange(s, total, k)));
            k *= 2;
        }
        if s.branch(is_there && lane & (call.lanes - 1) == 0) {
            let to = at >> call.lanes.trailing_zeros();
            write_one::<S, X>(s, call.at.output, to, true, dot);
            write_one::<S, X>(s, call.at.totals, to, true, total);
        }
        at += step;
    }
}
