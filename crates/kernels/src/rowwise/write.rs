//! A warp's packs to memory: rows begin at any address.
//!
//! Idea: whole lines of 16 bytes are written at multiples of 16. Where packs do not begin with lines, a lane gets the
//! end of the pack before its own from the lane before it. What a row has of a line that it shares with others is
//! written by elements.

use super::level::pick;
use super::spread::{Place, Spread};
use crate::address::array;
use crate::reduce::shape::piece::joined;
use crate::source::Bits;
use warpfold_simt::{ALL, Pack, Simt};

/// Writes a lane's packs to where `place` says that the row of each step is. Whether all rows begin with a line, and
/// whether all rows, or chunks of them, begin and end with lines.
#[inline(always)]
pub fn write<S: Simt, B: Bits, const N: usize>(
    s: &S,
    spread: Spread<N>,
    [aligned, whole]: [bool; 2],
    mut w: [[u32; 4]; N],
    place: impl Fn(u32) -> Place,
) {
    let lane = s.lane();
    if s.branch(aligned && whole) {
        let mut k = 0;
        while k < N {
            let (place, pack) = (place(k as u32), spread.pack(k as u32, lane));
            if s.branch(pack * B::PER < place.valid) {
                s.store_stream(array(place.output.wrapping_add(16 * pack as u64)), 0, Pack(w[k]));
            }
            k += 1;
        }
        return;
    }
    if s.branch(!whole) {
        edges::<S, B, N>(s, spread, &w, &place);
    }
    let shift = |place: &Place| place.output as u32 & 15;
    if s.branch(!aligned) {
        let own = spread.own(lane);
        let (before, is_last) = (spread.lane(lane, own.wrapping_sub(1)), own + 1 == spread.lanes());
        let mut k = N;
        while k > 0 {
            k -= 1;
            let shift = shift(&place(k as u32));
            let ahead = if k > 0 { w[k - 1] } else { [0; 4] };
            let leads: [u32; 4] = warpfold_simt::array::from_fn(
                #[inline(always)]
                |i| {
                    // As many words as a line may have of the pack before its own.
                    if (i as u32) < B::SIZE / 4 {
                        return 0;
                    }
                    s.shuffle_idx(ALL, if is_last { ahead[i] } else { w[k][i] }, before)
                },
            );
            w[k] = if shift == 0 { w[k] } else { joined::<B>(leads, w[k], 16 - shift) };
        }
    }
    let mut k = 0;
    while k < N {
        let (place, line) = (place(k as u32), spread.pack(k as u32, lane));
        let shift = shift(&place);
        // Bytes of the row before the line.
        let first = 16 * line as i32 - shift as i32;
        let before = (place.before * B::SIZE) as i32;
        if s.branch(first >= before && first as u32 + 16 <= place.valid * B::SIZE) {
            s.store_stream(array((place.output & !15) + 16 * line as u64), 0, Pack(w[k]));
        }
        k += 1;
    }
}

/// Writes the elements of lines of which a row has a part.
#[inline(always)]
fn edges<S: Simt, B: Bits, const N: usize>(s: &S, spread: Spread<N>, w: &[[u32; 4]; N], place: impl Fn(u32) -> Place) {
    let (lane, steps, mut k) = (s.lane(), s.opaque(N as u32), 0);
    while s.again(k < steps) {
        let place = place(k);
        let from = spread.pack(k, lane) * B::PER;
        // Elements up to the first whole line, and up to the end of the last.
        let begin = (place.output as u32).wrapping_add(place.before * B::SIZE);
        let head = place.before + ((16 - (begin & 15)) % 16 / B::SIZE).min(place.valid - place.before);
        let body = head + (place.valid - head) / B::PER * B::PER;
        if s.branch(from < head || (from + B::PER > body && from < place.valid)) {
            let (own, output, mut i) = (pick(*w, k), array::<B>(place.output), 0);
            while i < B::PER {
                let at = from + i;
                if s.branch((at >= place.before && at < head) || (at >= body && at < place.valid)) {
                    s.store(output, at as usize, B::nth(&own, i as usize));
                }
                i += 1;
            }
        }
        k += 1;
    }
}
