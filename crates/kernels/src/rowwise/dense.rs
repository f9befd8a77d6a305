//! A warp's packs to memory by way of shared memory: rows begin at any address.
//!
//! Idea: results of rows that follow one another lie side by side, so those of a warp are one stretch of memory, whose
//! lines of 16 bytes are written whole, however rows lie in them. Each lane puts its elements where they are in the
//! stretch, which begins as far from a line in shared memory as in memory. Only the first line and the last one are
//! shared with other warps, and written by elements.

use super::spread::{Place, Spread};
use crate::address::array;
use crate::node::exchange;
use crate::source::Bits;
use warpfold_simt::{ALL, Pack, Shared, Simt};

/// Lines of a warp's part of shared memory: those of its packs, and one more where the stretch does not begin with one.
const fn lines(steps: u32) -> u32 {
    32 * steps + 1
}

/// Bytes of shared memory that a launch brings for so many warps.
pub const fn room_bytes(warps: u32, steps: usize) -> u32 {
    16 * warps * lines(steps as u32)
}

/// Lines of 16 bytes.
type Line = Pack<u32, 4>;

/// The block's room: for packs of 4 steps, which have elements of 2 bytes, or of 8, and so many bytes beside.
#[inline(always)]
pub fn block_room<S: Simt, const N: usize>(s: &S, beside: u32) -> Shared<Line> {
    let bytes = room_bytes(s.block_dim_x() / 32, N) + beside;
    if N == 4 { s.room_of::<u16>("results", bytes / 2).cast() } else { s.room_of::<u32>("results", bytes / 4).cast() }
}

/// The warp's part of it.
#[inline(always)]
pub fn room<S: Simt, const N: usize>(s: &S, beside: u32) -> Shared<Line> {
    block_room::<S, N>(s, beside).offset(s.warp() * const { lines(N as u32) })
}

/// Writes a lane's packs to where `place` says that the row of each step is: of rows that follow one another, the first
/// pack that of the first lane's first step.
#[inline(always)]
pub fn write<S: Simt, B: Bits, const N: usize>(
    s: &S,
    spread: Spread<N>,
    room: Shared<Line>,
    w: [[u32; 4]; N],
    place: impl Fn(u32) -> Place,
) {
    let lane = s.lane();
    let first = place(0).output.wrapping_add(16 * spread.pack(0, lane) as u64);
    let [low, high] = [first as u32, (first >> 32) as u32].map(
        #[inline(always)]
        |word| s.shuffle_idx(ALL, word, 0),
    );
    let (first, begin) = ((high as u64) << 32 | (low & !15) as u64, low & 15);
    // Elements to their places, and where the last of all ends.
    let (mut end, mut k) = (0, 0);
    while k < N {
        let (place, pack) = (place(k as u32), spread.pack(k as u32, lane));
        let bytes = place.count(pack, B::PER) * B::SIZE;
        let at = (place.output as u32).wrapping_add(16 * pack).wrapping_sub(first as u32);
        if s.branch(bytes > 0) {
            end = at + bytes;
        }
        put::<S, B>(s, room.cast(), at, w[k], bytes);
        k += 1;
    }
    let mut bit = 1;
    while bit < 32 {
        end = exchange(s, end, bit).max(end);
        bit *= 2;
    }
    s.warp_barrier(ALL);
    let mut i = 0;
    while i <= N as u32 {
        // The last line is the first lane's.
        let number = 32 * i + lane;
        let (from, at) = (16 * number, array::<u8>(first + 16 * number as u64));
        if s.branch(from >= begin && from + 16 <= end) {
            s.store_stream(at.cast(), 0, s.get(room, number));
        }
        i += 1;
    }
    // Of the first line and of the last one each lane has an element.
    let (line, last) = (lane / B::PER, end & !15);
    let byte = if line == 0 { lane * B::SIZE } else { last + lane % B::PER * B::SIZE };
    let is_first = line == 0 && begin > 0 && byte >= begin;
    let is_last = line == 1 && (last > 0 || begin == 0);
    if s.branch((is_first || is_last) && byte < end) {
        s.store(array::<B>(first + byte as u64), 0, s.get(room.cast::<B>(), byte / B::SIZE));
    }
}

/// Puts the first `bytes` of a pack so many bytes into a stretch.
#[inline(always)]
fn put<S: Simt, B: Bits>(s: &S, stretch: Shared<u8>, at: u32, w: [u32; 4], bytes: u32) {
    let (words, halves) = (stretch.cast::<u32>(), stretch.cast::<u16>());
    if B::SIZE != 2 {
        let mut i = 0;
        while i < 4 {
            if s.branch(4 * i < bytes) {
                s.put(words, at / 4 + i, w[i as usize]);
            }
            i += 1;
        }
        return;
    }
    // Words as they are in the stretch: from the second element on, if the first one is the second half of a word.
    let (odd, count) = ((at / 2) & 1, bytes / 2);
    let own: [u32; 4] = warpfold_simt::array::from_fn(
        #[inline(always)]
        |i| s.funnel(w[i], if i < 3 { w[i + 1] } else { 0 }, 16 * odd),
    );
    let (first, mut i) = ((at + 2) / 4, 0);
    while i < 4 {
        if s.branch(odd + 2 * i + 2 <= count) {
            s.put(words, first + i, own[i as usize]);
        }
        i += 1;
    }
    if s.branch(odd != 0 && count > 0) {
        s.put(halves, at / 2, w[0] as u16);
    }
    // The last element, if it is the first half of a word.
    let last = count.wrapping_sub(1);
    if s.branch(count > odd && (count ^ odd) & 1 != 0) {
        // By masks: the compiler would make an indexed array of a choice between words.
        let bit = |bit: u32| (((last - odd) >> bit) & 1).wrapping_neg();
        let two = |from: usize| (own[from + 1] & bit(1)) | (own[from] & !bit(1));
        s.put(halves, at / 2 + last, ((two(2) & bit(2)) | (two(0) & !bit(2))) as u16);
    }
}
