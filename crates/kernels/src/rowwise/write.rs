//! A warp's packs to memory: rows begin at any address.
//!
//! Idea: whole lines of 16 bytes are written at multiples of 16. Where packs do not begin with lines, a lane gets the
//! end of the pack before its own from the lane before it. Of a line that a row shares with others, what it has is
//! written in pieces of 8, 4, 2 and 1 bytes, at most one of each.

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
    if s.branch(!aligned) {
        let own = spread.own(lane);
        let (before, is_last) = (spread.lane(lane, own.wrapping_sub(1)), own + 1 == spread.lanes());
        let mut k = N;
        while k > 0 {
            k -= 1;
            let here = place(k as u32);
            let shift = here.output as u32 & 15;
            let mut ends = spread.step(k as u32) + 1 == spread.steps();
            if k + 1 < N {
                // Another row may follow, which may be counted from where this one begins.
                let next = place(k as u32 + 1);
                ends |= next.output != here.output || next.before != here.before;
            }
            if s.branch(is_last && shift != 0 && ends) {
                // The end of the last pack lies in a line that no lane has.
                let next = spread.pack(k as u32, lane) + 1;
                line::<S, B>(s, &here, next, joined::<B>(w[k], [0; 4], 16 - shift), shift);
            }
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
        line::<S, B>(s, &place(k as u32), spread.pack(k as u32, lane), w[k], 16);
        k += 1;
    }
}

/// Writes what a row has of the first `most` bytes of its line number `line`.
#[inline(always)]
fn line<S: Simt, B: Bits>(s: &S, place: &Place, line: u32, w: [u32; 4], most: u32) {
    let shift = place.output as u32 & 15;
    // Where the line begins, in bytes from the place's first element; the row has its bytes `from` up to `to`.
    let first = 16 * line as i32 - shift as i32;
    let from = ((place.before * B::SIZE) as i32 - first).max(0) as u32;
    let to = ((place.valid * B::SIZE) as i32 - first).min(most as i32);
    let at = array::<u8>((place.output & !15) + 16 * line as u64);
    if s.branch(from == 0 && to == 16) {
        s.store_stream(at.cast(), 0, Pack(w));
    } else if s.branch((from as i32) < to) {
        let to = to as u32;
        if s.branch(from > 0 && to < 16) {
            let mut i = 0;
            while i < B::PER {
                if s.branch(i * B::SIZE >= from && i * B::SIZE < to) {
                    s.store(at.cast::<B>(), i as usize, B::nth(&w, i as usize));
                }
                i += 1;
            }
            return;
        }
        // In the end of a line the smallest piece comes first, in the begin of one last: so each is at a multiple of
        // its size.
        let is_begin = from == 0;
        let bytes = if is_begin { to } else { 16 - from };
        let of = |piece: u32| if is_begin { to & !(2 * piece - 1) } else { from + (bytes & (piece - 1)) };
        // By masks: the compiler would make an indexed array of a choice between words.
        let word = |at: u32| {
            let bit = |bit: u32| ((at >> bit) & 1).wrapping_neg();
            let two = |first: usize| (w[first + 1] & bit(2)) | (w[first] & !bit(2));
            (two(2) & bit(3)) | (two(0) & !bit(3))
        };
        if B::SIZE == 1 && s.branch(bytes & 1 != 0) {
            let own = of(1);
            s.store(at.cast::<u8>(), own as usize, (word(own) >> (8 * (own & 3))) as u8);
        }
        if B::SIZE <= 2 && s.branch(bytes & 2 != 0) {
            let half = of(2);
            s.store(at.cast::<u16>(), half as usize / 2, (word(half) >> (8 * (half & 2))) as u16);
        }
        if B::SIZE <= 4 && s.branch(bytes & 4 != 0) {
            let quarter = of(4);
            s.store(at.cast::<u32>(), quarter as usize / 4, word(quarter));
        }
        if s.branch(bytes & 8 != 0) {
            let half = of(8);
            let both = (word(half + 4) as u64) << 32 | word(half) as u64;
            s.store(at.cast::<u64>(), half as usize / 8, both);
        }
    }
}
