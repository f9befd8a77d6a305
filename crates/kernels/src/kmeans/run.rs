//! Points of one label in a list: a lane reads 16 bytes of each, and adds them up in registers. Lanes side by side read
//! a point together.
//!
//! Many reads are under way before the first is added, and the numbers of the points after these are, too.

use crate::address::array;
use crate::kmeans::Update;
use crate::kmeans::number::Number;
use crate::kmeans::stretch::{Part, less, value, words};
use crate::source::Source;
use warpfold_simt::{Atom, Global, Simt};

/// Reads under way.
const FLIGHT: usize = 8;

/// Adds up the points whose numbers are in a list from a place to another. `give` takes which of the reads of a point
/// it was, and the sums of each of its `W` elements.
#[inline(always)]
pub fn add<S: Simt, T: Source<Value: Number>, const W: usize>(
    s: &S,
    call: &Update,
    (list, from, to): (Global<u32>, u32, u32),
    give: impl Fn(u32, [[Part<T>; 2]; W]),
) {
    // Past the end, the last one again, so that nothing branches before all reads are under way.
    let numbers = |at: u32| -> [u32; FLIGHT] {
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |i| {
                let at = at + i as u32;
                s.load(list, (if at < to { at } else { to - 1 }) as usize)
            },
        )
    };
    let mut read = s.lane() & ((1 << call.abreast) - 1);
    while s.again(read < call.reads) {
        let scales: Global<T::Value> = array(call.at.scales);
        let scales: [T::Value; W] = warpfold_simt::array::from_fn(
            #[inline(always)]
            |w| T::Value::factor(s.load(scales, read as usize * W + w)),
        );
        let points = call.at.points + read as u64 * W as u64 * call.across;
        let mut sums = [[T::Value::NONE; 2]; W];
        let mut at = from;
        let mut next = if s.branch(from < to) { numbers(at) } else { [0; FLIGHT] };
        while s.again(at < to) {
            let found = next.map(
                #[inline(always)]
                |point| words::<S, T, W>(s, points + point as u64 * call.along),
            );
            next = numbers(at + FLIGHT as u32);
            for (i, found) in found.into_iter().enumerate() {
                // Zero is added past the end.
                let is_one = at + (i as u32) < to;
                let found = found.map(|word| if is_one { word } else { 0 });
                for w in 0..W {
                    let [high, low] = T::Value::parts(s, value::<S, T>(s, &found, w), scales[w]);
                    sums[w] = [sums[w][0].plus(high), sums[w][1].plus(low)];
                }
            }
            at += FLIGHT as u32;
        }
        give(read, less::<T::Value, W>(sums, at - from));
        read += 1 << call.abreast;
    }
}
