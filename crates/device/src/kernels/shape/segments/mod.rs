//! Segments: the elements of each output follow those of the one before, and an array of offsets says where they end.
//!
//! Idea: every warp takes an equal share of bytes, of values and of what goes with a segment; it searches the offsets for where that
//! begins. Whatever mix of lengths there is, none waits for another. As many segments as fit 4 KiB are staged in shared memory at
//! once and taken by 1, 4, 16 or 32 lanes each; longer ones are listed in stretches for a second launch ([`stretches`]), and a third reduces their parts ([`ends`]).
//! Bottleneck: memory; for segments of a few elements, the instructions that find, finish and write them.

mod offsets;
mod stretches;

pub use offsets::BAD;
pub use stretches::{Room, ends, stretches};

use self::offsets::{Offsets, Share, WINDOW, Window};
use super::parts;
use super::piece::{Dense, Staged, share};
use super::stage::{self, Stage};
use super::warp::meet_lanes;
use crate::kernels::fold::Parts;
use crate::kernels::recipe::{Call, Hole, Recipe};
use crate::kernels::source::Bits;
use crate::simt::{ALL, Simt};

/// Warps of a block.
pub const WARPS: u32 = 8;
/// Bytes that a segment costs beside its values: its offset, its result, and its share of instructions.
pub const COST: u64 = 16;
/// The least share of a warp, in bytes.
pub const LEAST: u64 = 4096;

/// Segments, and how the work on them is shared out. The mask's address is that of the offsets.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segments {
    /// How many: one less than offsets.
    pub total: u64,
    /// Elements along the axis.
    pub len: u64,
    /// Bytes of an offset: 4 or 8.
    pub size: u64,
    /// Whether offsets of 4 bytes have a sign.
    pub signed: u64,
    /// Results to a segment: 2 of minmax.
    pub pair: u64,
    /// Whether nothing reduces to something.
    pub filled: u64,
    /// To what: the bits of each result.
    pub empty: [u64; 2],
    /// Tiles of a stretch, a power of two.
    pub tiles: u64,
    /// Stretches that there is room for.
    pub stretches: u64,
    /// Segments of several stretches that there is room for.
    pub cut: u64,
}

/// See the module.
#[inline(always)]
pub fn kernel<S: Simt, P: Staged<Reduced = Dense>>(s: &S, call: &Call<Segments>) {
    let stages = s.shared::<u32, { (WARPS * stage::WORDS) as usize }, 0>("stages");
    let bounds = s.shared::<u32, { (WARPS * WINDOW) as usize }, 1>("bounds");
    let stage = Stage(stages.offset(s.warp() * stage::WORDS));
    let bounds = bounds.offset(s.warp() * WINDOW);
    let (piece, offsets, size) = (P::new(&call.recipe), Offsets::of(call), P::Bits::SIZE);
    let Some(share) = Share::of(s, &offsets, size) else { return };
    stage.clear(s);

    // The segment before may have stretches here.
    let mut first = share.first.saturating_sub(1);
    while s.again(first < share.end) {
        let window = Window::read(s, &offsets, bounds, first, (share.end - first).min(WINDOW as u64 - 1) as u32);
        let mut at = 0;
        while s.again(at < window.count.max(1)) {
            let start = window.base.wrapping_add(window.get(s, at) as u64);
            let x = call.input.wrapping_add(start.wrapping_mul(size as u64));
            let fit = window.fit(s, at, (stage::BYTES - (x as u32 & 15)) / size);
            let number = first + at as u64;
            if s.branch(fit == 0) {
                stretches::list::<S, P::Bits>(s, call, &offsets, &share, number);
                at += 1;
            } else if s.branch(number < share.first) {
                at += 1;
            } else {
                let from = window.get(s, at);
                let bytes = (window.get(s, at + fit) - from) * size;
                stage.fill::<S, P::Bits>(s, x, bytes, call.input.wrapping_add(offsets.shape.len * size as u64));
                let mut done = 0;
                while s.again(done < fit) {
                    let i = at + done + s.lane();
                    let (mut place, mut len) = (0, 0);
                    if s.branch(i < at + fit) {
                        let start = window.get(s, i);
                        (place, len) = ((x as u32 & 15) + (start - from) * size, window.get(s, i + 1) - start);
                        if s.branch(len == 0) {
                            nothing(s, call, first + i as u64);
                        }
                    }
                    some(s, &piece, call, stage, first + (at + done) as u64, place, len);
                    done += 32;
                }
                at += fit;
                s.warp_barrier(ALL);
            }
        }
        first += at as u64;
        s.warp_barrier(ALL);
    }
}

/// Finishes the segments of a warp's lanes, the first of which has number `first`: each has `len` elements at byte `place` of the stage.
#[inline(always)]
fn some<S: Simt, P: Staged>(s: &S, piece: &P, call: &Call<Segments>, stage: Stage, first: u64, place: u32, len: u32) {
    let (f, size, lane) = (piece.fold(), P::Bits::SIZE, s.lane());
    let mut left = s.ballot(ALL, len > 0);
    let (mut lanes, mut most) = (1, 64);
    while s.again(left != 0) {
        let mut these = left & s.ballot(ALL, len * size <= most);
        left &= !these;
        while s.again(these != 0) {
            let (who, place, len) = if s.branch(lanes == 1) {
                let mine = these >> lane & 1 != 0;
                these = 0;
                (lane, place, if mine { len } else { 0 })
            } else {
                // Each group of lanes takes the next of these.
                let mine = without(s, these, share(lane, lanes), lanes);
                these = s.shuffle_idx(ALL, mine & mine.wrapping_sub(1), 31);
                let who = mine.trailing_zeros() & 31;
                let (place, len) = (s.shuffle_idx(ALL, place, who), s.shuffle_idx(ALL, len, who));
                (who, place, if mine != 0 { len } else { 0 })
            };
            let each = share(len + lanes - 1, lanes).next_power_of_two().max(32 / size);
            let before = (lane & (lanes - 1)) * each;
            let count = len.max(before) - before;
            let part = piece.walk(s, stage, place + before * size, count.min(each), before);
            let part = meet_lanes(s, f, part, lanes);
            if s.branch(len > 0 && lane & (lanes - 1) == 0) {
                finish(s, f, call, first + who as u64, len as u64, part);
            }
        }
        lanes = (4 * lanes).min(32);
        most *= 4;
    }
}

/// Bits without the lowest `n`, of at most as many as there are groups of so many lanes.
#[inline(always)]
fn without<S: Simt>(s: &S, bits: u32, n: u32, lanes: u32) -> u32 {
    let less = |bits: u32| bits & bits.wrapping_sub(1);
    let mut bits = if n & 1 != 0 { less(bits) } else { bits };
    if s.branch(lanes < 16) {
        bits = if n & 2 != 0 { less(less(bits)) } else { bits };
        bits = if n & 4 != 0 { less(less(less(less(bits)))) } else { bits };
    }
    bits
}

/// Writes a segment's result.
#[inline(always)]
fn finish<S: Simt, F: Parts>(s: &S, f: &F, call: &Call<Segments>, number: u64, count: u64, part: F::Part) {
    let recipe = Recipe { count, ..call.recipe };
    f.finish(s, &recipe, part, parts::out(call, (number * call.shape.pair) as i64));
}

/// Writes what no elements reduce to.
#[inline(always)]
fn nothing<S: Simt>(s: &S, call: &Call<Segments>, number: u64) {
    let (shape, out) = (&call.shape, parts::out(call, (number * call.shape.pair) as i64));
    if s.branch(shape.filled == 0) {
        return out.hole(s, Hole::Empty);
    }
    let mut out = out;
    out.integer(s, call.recipe.output, shape.empty[0]);
    if s.branch(shape.pair > 1) {
        out.index += 1;
        out.integer(s, call.recipe.output, shape.empty[1]);
    }
}
