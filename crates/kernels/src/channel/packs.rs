//! The threads' packs.

use super::Channels;
use super::found::Found;
use super::read::{Words, read};
use super::{NORM, PRODUCT, SUMS, nodes};
use crate::address::array;
use crate::block::{THREADS, each_of_grid};
use crate::node::{Node, select};
use crate::reduce::shape::split::next;
use crate::rowwise::number::{MOST, numbers, write_one, write_pack};
use crate::source::{Bits, Source};
use warpfold_core::{Element, Float};
use warpfold_simt::Simt;

/// Elements of a thread that are on their way at once.
const ABREAST: usize = 4;

/// What becomes of pack number `i`.
#[inline(always)]
fn pack<S, X>(s: &S, call: &Channels, i: u64, words: Words)
where
    S: Simt,
    X: Source<Value: Float + Node>,
{
    let (kind, per) = (call.kind, X::Bits::PER as usize);
    let (mut q, before) = call.divide(s, &call.run, i * per as u64);
    let left = call.run.by - before;
    // Where a channel ends within, the next one has the rest: runs are no shorter than packs. One copy of the code.
    let (mut results, mut first) = ([X::Value::zero(); MOST], 0);
    while s.again(first < per as u64) {
        let [x, gradient] = [words.x, words.gradient].map(
            #[inline(always)]
            |words| numbers::<S, X>(s, words),
        );
        let own = Found::of(s, call, q).results::<S, X>(s, kind, x, gradient);
        results = warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| select(k as u64 >= first, own[k], results[k]),
        );
        (q, first) = (q + 1, first + if first == 0 { left } else { per as u64 });
    }
    write_pack::<S, X>(s, call.at.output, i, kind == PRODUCT, results);
}

/// What becomes of all elements from `first` on, of which lanes have neighbours.
#[inline(always)]
fn elements<S, X>(s: &S, call: &Channels, first: u64)
where
    S: Simt,
    X: Source<Value: Element + Float + Node>,
{
    let kind = call.kind;
    let step = s.grid_dim_x() as u64 * THREADS as u64;
    let mut at = first + s.block_x() as u64 * THREADS as u64 + s.thread_x() as u64;
    while s.again(at < call.elements) {
        let of = warpfold_simt::array::from_fn::<_, ABREAST>(
            #[inline(always)]
            |k| at + k as u64 * step,
        );
        let read = |first: u64| {
            of.map(
                #[inline(always)]
                // What there is not is asked for again.
                |i| s.load(array::<X::Bits>(first), if i < call.elements { i } else { at } as usize),
            )
        };
        let mut x = read(call.at.x);
        let mut gradient = if s.branch(kind == NORM) { x } else { read(call.at.gradient) };
        // One copy of the code.
        let (mut k, turns) = (0, s.opaque(ABREAST as u32));
        while s.again(k < turns && at < call.elements) {
            let found = Found::of(s, call, call.divide(s, &call.run, at).0);
            let result = found.result(s, kind, X::value(s, x[0]), X::value(s, gradient[0]));
            write_one::<S, X>(s, call.at.output, at, kind == PRODUCT, result);
            (x, gradient) = (next(x, x[0]), next(gradient, gradient[0]));
            (at, k) = (at + step, k + 1);
        }
    }
}

/// See [the module](super).
#[inline(always)]
pub fn kernel<S, X>(s: &S, call: &Channels)
where
    S: Simt,
    X: Source<Value: Element + Float + Node>,
{
    if s.branch(call.kind == SUMS) {
        return nodes::kernel::<S, X>(s, call);
    }
    let mut done = 0;
    if s.branch(call.packs != 0) {
        let packs = call.elements / X::Bits::PER as u64;
        done = packs * X::Bits::PER as u64;
        each_of_grid(
            s,
            packs,
            #[inline(always)]
            |i| pack::<S, X>(s, call, i, read(s, call, i)),
        );
    }
    elements::<S, X>(s, call, done);
}
