//! Sums of subtrees of channels that lie side by side: of the products of gradients and normalised elements, and of
//! gradients, both at once.
//!
//! Idea: a thread has up to four channels, and keeps their statistics while it goes down the samples. Every two rows
//! are added when they are read, every two pairs, and every two of these: a node has eight samples. Bottleneck: memory.

use super::Channels;
use super::found::Found;
use super::last::across;
use super::read::Words;
use crate::address::array;
use crate::node::{Node, select};
use crate::rowwise::number::{numbers, write_one};
use crate::source::{Source, words};
use warpfold_core::{Accumulate, Element, Float};
use warpfold_simt::Simt;

/// Samples of a node.
pub const SAMPLES: usize = 8;

/// Channels of a thread, at most.
const MOST: usize = 4;

/// Channels of a thread, of elements of so many bytes: those of 16 bytes, but no more than four, since their sums fill
/// the registers.
#[must_use]
pub const fn channels(size: usize) -> usize {
    if size == 8 { 2 } else { MOST }
}

/// Both sums of each channel of a thread.
type Sums<X> = [[<X as Source>::Value; MOST]; 2];

/// The sums of two samples, of which there may be fewer: those before number `samples`.
#[inline(always)]
fn pair<S, X>(s: &S, found: &[Found<X::Value>; MOST], words: [Words; 2], first: u64, samples: u64) -> Sums<X>
where
    S: Simt,
    X: Source<Value: Float + Node>,
{
    let one = |which: usize| {
        let Words { x, gradient } = words[which];
        let [x, gradient] = [x, gradient].map(
            #[inline(always)]
            |words| numbers::<S, X>(s, words),
        );
        let is_there = first + (which as u64) < samples;
        let there = |x: X::Value| select(is_there, x, X::Value::NOTHING);
        [each::<X>(|k| there(found[k].product(x[k], gradient[k]))), each::<X>(|k| there(gradient[k]))]
    };
    added::<X>(one(0), one(1))
}

/// What each channel of a thread has.
#[inline(always)]
fn each<X: Source<Value: Float + Node>>(of: impl Fn(usize) -> X::Value) -> [X::Value; MOST] {
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| if k < channels(size_of::<X::Bits>()) { of(k) } else { X::Value::zero() },
    )
}

#[inline(always)]
fn added<X: Source<Value: Float + Node>>(left: Sums<X>, right: Sums<X>) -> Sums<X> {
    let of = |which: usize| each::<X>(|k| left[which][k].add(right[which][k]));
    [of(0), of(1)]
}

/// Writes both sums of every channel of every eight samples.
#[inline(always)]
pub fn kernel<S, X>(s: &S, call: &Channels)
where
    S: Simt,
    X: Source<Value: Element + Float + Node>,
{
    let (_, pack, row, rows) = across(s, call);
    let per = channels(size_of::<X::Bits>());
    let bytes = (per * size_of::<X::Bits>()) as u32;
    let found: [Found<X::Value>; MOST] = warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| Found::of_channel(s, call, pack * per as u64 + if k < per { k as u64 } else { 0 }),
    );
    let (width, samples) = (call.each.by, call.count);
    // What there is not is the last sample.
    let two = |first: u64| {
        [first, first + 1].map(
            #[inline(always)]
            |sample| {
                let at = (if sample < samples { sample } else { samples - 1 }) * width + pack;
                let [x, gradient] = [call.at.x, call.at.gradient].map(
                    #[inline(always)]
                    |first| words(s, array(first + bytes as u64 * at), bytes),
                );
                Words { x, gradient }
            },
        )
    };
    let mut node = row;
    while s.again(node < call.stretches) {
        let first = node * SAMPLES as u64;
        let none = [[X::Value::zero(); MOST]; 2];
        let (mut held, mut upper, mut words) = (none, none, two(first));
        // One copy of the code.
        let (mut i, turns) = (0, s.opaque(SAMPLES as u32 / 2));
        while s.again(i < turns) {
            let here = first + 2 * i as u64;
            let sums = pair::<S, X>(s, &found, words, here, samples);
            words = two(here + 2);
            if s.branch(i & 1 == 0) {
                held = sums;
            } else {
                let sums = added::<X>(held, sums);
                if s.branch(i == 1) {
                    upper = sums;
                } else {
                    let [dots, totals] = added::<X>(upper, sums);
                    let mut k = 0;
                    while k < per {
                        let to = (node * width + pack) * per as u64 + k as u64;
                        write_one::<S, X>(s, call.at.output, to, true, dots[k]);
                        write_one::<S, X>(s, call.at.totals, to, true, totals[k]);
                        k += 1;
                    }
                }
            }
            i += 1;
        }
        node += rows;
    }
}
