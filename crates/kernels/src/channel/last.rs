//! Elements of channels that lie side by side: the axis of channels is the last.
//!
//! Idea: a thread has the channels of 16 bytes, and keeps their records while it goes from row to row. Bottleneck:
//! memory.

use super::found::Found;
use super::read::{Words, read};
use super::{Channels, NORM, OF_GIVEN, PRODUCT};
use crate::block::THREADS;
use crate::node::Node;
use crate::rowwise::number::{MOST, numbers, write_pack};
use crate::source::{Bits, Source};
use warpfold_core::{Element, Float};
use warpfold_simt::Simt;

/// A thread's number, its pack of channels, and the row of these that it begins with; how many rows all threads take at
/// once. A thread that is left over has a row beyond all.
#[inline(always)]
pub(super) fn across<S: Simt>(s: &S, call: &Channels) -> (u64, u64, u64, u64) {
    let thread = s.block_x() as u64 * THREADS as u64 + s.thread_x() as u64;
    let (row, pack) = call.each.divide(thread);
    let (rows, _) = call.each.divide(s.grid_dim_x() as u64 * THREADS as u64);
    (thread, pack, if row < rows { row } else { u64::MAX }, rows)
}

/// See [the module](self).
#[inline(always)]
pub fn kernel<S, X>(s: &S, call: &Channels)
where
    S: Simt,
    X: Source<Value: Element + Float + Node>,
{
    let (kind, per) = (call.kind, X::Bits::PER as u64);
    let (thread, pack, row, rows) = across(s, call);
    let found: [Found<X::Value>; MOST] = warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| Found::of_channel(s, call, pack * per + if (k as u64) < per { k as u64 } else { 0 }),
    );
    let (packs, step) = (call.elements / per, rows * call.each.by);
    let mut i = if row < rows { thread } else { packs };
    let mut words = if s.branch(i < packs) { read(s, call, i) } else { Words { x: [0; 4], gradient: [0; 4] } };
    while s.again(i < packs) {
        // The next is on its way meanwhile; the last asks for itself again.
        let next = if i + step < packs { i + step } else { i };
        let Words { x, gradient } = words;
        words = read(s, call, next);
        let [x, gradient] = [x, gradient].map(
            #[inline(always)]
            |words| numbers::<S, X>(s, words),
        );
        let results = if s.branch(kind == NORM) {
            each::<X>(&found, x, gradient, |found, x, _| found.normed(x))
        } else if s.branch(kind == PRODUCT) {
            each::<X>(&found, x, gradient, |found, x, gradient| found.product(x, gradient))
        } else if s.branch(kind == OF_GIVEN) {
            each::<X>(&found, x, gradient, |found, _, gradient| found.given(gradient))
        } else {
            each::<X>(&found, x, gradient, |found, x, gradient| found.slope(kind, x, gradient))
        };
        write_pack::<S, X>(s, call.at.output, i, kind == PRODUCT, results);
        i += step;
    }
}

/// What becomes of the elements of a pack, each by the record of its channel.
#[inline(always)]
fn each<X: Source<Value: Float + Node>>(
    found: &[Found<X::Value>; MOST],
    x: [X::Value; MOST],
    gradient: [X::Value; MOST],
    of: impl Fn(&Found<X::Value>, X::Value, X::Value) -> X::Value,
) -> [X::Value; MOST] {
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| {
            if k < X::Bits::PER as usize { of(&found[k], x[k], gradient[k]) } else { X::Value::zero() }
        },
    )
}
