//! A warp's packs to memory: rows begin at any address.
//!
//! Idea: whole lines of 16 bytes are written at multiples of 16. Where packs do not begin with lines, a lane gets the
//! end of the pack before its own from the lane before it. Of a line that a row shares with others, what it has is
//! written by words.

use super::spread::{Place, Spread};
use crate::address::array;
use crate::reduce::shape::piece::joined;
use crate::source::Bits;
use warpfold_simt::{ALL, Global, Pack, Simt};

/// Writes a lane's packs to where `place` says that the row of each step is. Whether all rows begin with a line, and
/// whether all rows, or chunks of them, begin and end with lines. If `WARP`, `spread` is [`Spread::WARP`].
#[inline(always)]
pub fn write<S: Simt, B: Bits, const WARP: bool, const N: usize>(
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
                let at = place.output.wrapping_add(spread.pack_at(k as u32, lane, 16));
                s.store_stream(array(at), 0, Pack(w[k]));
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
                line_of::<S, B>(s, &here, next, joined::<B>(w[k], [0; 4], 16 - shift), shift);
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
    // In the midst of a row the first line alone may be shared with others.
    let (mut inside, mut k) = (WARP && B::SIZE == 2, 0);
    while k < N as u32 {
        inside &= place(k).valid >= (k + 1) * 32 * B::PER && place(k).before == 0;
        k += 1;
    }
    let inside = s.branch(inside);
    let mut k = 0;
    while k < N {
        let (place, pack) = (place(k as u32), spread.pack(k as u32, lane));
        if inside && (k > 0 || s.branch(lane > 0 || place.output & 15 == 0)) {
            let at = (place.output & !15) + spread.pack_at(k as u32, lane, 16);
            s.store_stream(array(at), 0, Pack(w[k]));
        } else {
            line_of::<S, B>(s, &place, pack, w[k], 16);
        }
        k += 1;
    }
}

/// Writes what a row has of the first `most` bytes of its line number `line`.
#[inline(always)]
fn line_of<S: Simt, B: Bits>(s: &S, place: &Place, number: u32, w: [u32; 4], most: u32) {
    let shift = place.output as u32 & 15;
    // Where the line begins, in bytes from the place's first element.
    let first = 16 * number as i32 - shift as i32;
    let [begin, end] = [place.before, place.valid].map(
        #[inline(always)]
        |elements| (elements * B::SIZE) as i32 - first,
    );
    let at = array::<u8>((place.output & !15) + 16 * number as u64);
    line::<S, B>(s, at, w, [begin, end.min(most as i32)]);
}

/// Writes what lies within these bytes of a line.
#[inline(always)]
fn line<S: Simt, B: Bits>(s: &S, at: Global<u8>, w: [u32; 4], [begin, end]: [i32; 2]) {
    if s.branch(begin <= 0 && end >= 16) {
        s.store_stream(at.cast(), 0, Pack(w));
    } else if s.branch(begin.max(0) < end) {
        piece::<S, B>(s, at, w, begin.max(0) as u32, end.min(16) as u32);
    }
}

/// Writes bytes `from` up to `to`, at least one element, of a line: its words, and what it has of the two in which
/// these bytes begin and end.
#[inline(always)]
fn piece<S: Simt, B: Bits>(s: &S, at: Global<u8>, w: [u32; 4], from: u32, to: u32) {
    if B::SIZE < 2 || B::SIZE > 4 {
        let mut i = 0;
        while i < B::PER {
            if s.branch(i * B::SIZE >= from && i * B::SIZE < to) {
                s.store(at.cast::<B>(), i as usize, B::nth(&w, i as usize));
            }
            i += 1;
        }
        return;
    }
    let mut i = 0;
    while i < 4 {
        if s.branch(4 * i >= from && 4 * i + 4 <= to) {
            s.store(at.cast::<u32>(), i as usize, w[i as usize]);
        }
        i += 1;
    }
    if B::SIZE == 2 {
        // By masks: the compiler would make an indexed array of a choice between words.
        let half = |number: u32| {
            let bit = |bit: u32| ((number >> bit) & 1).wrapping_neg();
            let two = |first: usize| (w[first + 1] & bit(1)) | (w[first] & !bit(1));
            (((two(2) & bit(2)) | (two(0) & !bit(2))) >> (16 * (number & 1))) as u16
        };
        let (begin, end) = (from / 2, to / 2 - 1);
        if s.branch(begin & 1 != 0) {
            s.store(at.cast::<u16>(), begin as usize, half(begin));
        }
        if s.branch(end & 1 == 0) {
            s.store(at.cast::<u16>(), end as usize, half(end));
        }
    }
}
