//! A stretch of points in the order of their labels: a lane reads 16 bytes of each, and adds them up while the label
//! stays the same.
//!
//! Lanes side by side read a point together. Several reads are under way before the first is added.

use crate::address::array;
use crate::kmeans::number::Number;
use crate::kmeans::{NONE, Update};
use crate::source::{Bits, Source};
use warpfold_simt::{Atom, Global, Pod, Simt};

/// Reads under way.
const FLIGHT: usize = 8;

/// Where a stretch is, and who reads it.
#[derive(Clone, Copy)]
pub struct Stretch {
    /// The first of the list.
    pub from: u32,
    /// After the last.
    pub to: u32,
    /// The first point that entries count from, in bytes.
    pub points: u64,
    /// Which slice of the coordinates.
    pub slice: u32,
}

/// What a lane adds up of points of `T`.
pub type Part<T> = <<T as Source>::Value as Number>::Part;

/// Reads the words of `W` elements.
#[inline(always)]
pub fn words<S: Simt, T: Source, const W: usize>(s: &S, at: u64) -> [u32; 4] {
    if W == 1 {
        // Neighbours are read by others, or later.
        let bits = s.load(array::<T::Bits>(at), 0).to_bits();
        return [bits as u32, (bits >> 32) as u32, 0, 0];
    }
    crate::source::words(s, array(at), 16)
}

/// One of the elements.
#[inline(always)]
pub fn value<S: Simt, T: Source>(s: &S, words: &[u32; 4], w: usize) -> T::Value {
    T::value(s, T::Bits::nth(words, w))
}

/// Adds up a stretch. `entry` names the label and the point of a place in the list; `flush` takes a label, which of the
/// slice's reads, and the sums of each of its elements.
#[inline(always)]
pub fn add<S: Simt, T: Source<Value: Number>, const W: usize>(
    s: &S,
    call: &Update,
    stretch: Stretch,
    entry: impl Fn(u32) -> (u32, u32),
    flush: impl Fn(u32, u32, [[Part<T>; 2]; W]),
) {
    let reads = whole(call, W as u32).wrapping_sub(stretch.slice * call.reads);
    let reads = if reads < call.reads { reads } else { call.reads };
    let mut read_of = s.lane() & ((1 << call.abreast) - 1);
    while s.again(read_of < reads) {
        let first = stretch.slice * call.reads + read_of;
        let scales: Global<T::Value> = array(call.at.scales);
        let scales: [T::Value; W] = warpfold_simt::array::from_fn(
            #[inline(always)]
            |w| T::Value::factor(s.load(scales, first as usize * W + w)),
        );
        let from = stretch.points + first as u64 * W as u64 * call.across;
        let mut sums = [[T::Value::NONE; 2]; W];
        let (mut label, mut many) = (NONE, 0u32);
        let mut at = stretch.from;
        while s.again(at < stretch.to) {
            // Past the end, the last one again, so that nothing branches before all reads are under way.
            let last = stretch.to - 1;
            let entries: [(u32, u32); FLIGHT] = warpfold_simt::array::from_fn(
                #[inline(always)]
                |i| {
                    let at = at + i as u32;
                    entry(if at < last { at } else { last })
                },
            );
            let points = entries.map(
                #[inline(always)]
                |(_, point)| words::<S, T, W>(s, from + point as u64 * call.along),
            );
            for i in 0..FLIGHT {
                let (next, is_one) = (entries[i].0, at + (i as u32) < stretch.to);
                if s.branch(next != label && is_one) {
                    if s.branch(many != 0) {
                        flush(label, read_of, less::<T::Value, W>(sums, many));
                    }
                    (sums, many, label) = ([[T::Value::NONE; 2]; W], 0, next);
                }
                if is_one {
                    many += 1;
                    for w in 0..W {
                        let [high, low] = T::Value::parts(s, value::<S, T>(s, &points[i], w), scales[w]);
                        sums[w] = [sums[w][0].plus(high), sums[w][1].plus(low)];
                    }
                }
            }
            at += FLIGHT as u32;
        }
        if s.branch(many != 0) {
            flush(label, read_of, less::<T::Value, W>(sums, many));
        }
        read_of += 1 << call.abreast;
    }
}

/// Reads that a whole point takes.
#[inline(always)]
fn whole(call: &Update, wide: u32) -> u32 {
    call.dimensions / wide
}

/// Sums of so many.
#[inline(always)]
pub fn less<F: Number, const W: usize>(sums: [[F::Part; 2]; W], many: u32) -> [[F::Part; 2]; W] {
    sums.map(|sums| F::less(sums, many))
}
