//! Long segments, in stretches of a power of two of tiles: what lists them, and the two launches that reduce them.

use crate::address::array;
use crate::node::publish;
use crate::reduce::fold::Parts;
use crate::reduce::out::Out;
use crate::reduce::shape::parts::{Left, SLOTS, reduce};
use crate::reduce::shape::piece::{Dense, Held, Row};
use crate::segment::call::{STRETCH_WARPS, Segments, SegmentsCall, finish, is_off, left_partials};
use crate::segment::offsets::{Kept, Offsets, Share};
use crate::source::Bits;
use warpfold_simt::{ALL, Global, Order, Shared, Simt};

/// What the workspace has room for.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Stretches.
    pub stretches: u64,
    /// Segments that have several.
    pub cut: u64,
    /// Parts.
    pub parts: u64,
}

impl Room {
    /// For `len` elements, of which a stretch has `stretch`, and a segment that is not cut at most `short`.
    pub const fn new(len: u64, stretch: u64, short: u64) -> Self {
        Self { stretches: len / stretch + len / short + 1, cut: len / stretch + 1, parts: 2 * (len / stretch) + 2 }
    }
}

/// Lists those stretches of a long segment that begin in a warp's share, for [`stretches`].
#[inline(always)]
pub fn list<S: Simt, B: Bits>(s: &S, call: &SegmentsCall, offsets: &Offsets, bounds: Shared<u32>, number: u64) {
    let (_, len) = offsets.segment(s, call, number);
    // Rarely needed, so nothing of it is kept in registers.
    let stretch = Stretch(s.anew(Stretch::of::<B>(&call.shape).0));
    let bytes = stretch.0 + B::SIZE.trailing_zeros();
    let before = offsets.before(s, number, B::SIZE);
    // Those of which `before + k * bytes` is in the share.
    let up_to = |work: u64| ((work.max(before) - before + (1 << bytes) - 1) >> bytes).min(stretch.count(len));
    let [first, end] = [Kept::From, Kept::To].map(
        #[inline(always)]
        |which| up_to(Share::kept(s, bounds, which)),
    );
    let mut at = 0;
    if s.branch(s.lane() == 0 && first < end) {
        at = s.atomic_add(array::<u32>(call.at.workspace), STRETCHES, (end - first) as u32, Order::Relaxed);
    }
    let at = s.shuffle_idx(ALL, at, 0) as usize;
    // Segments that overlap have too many; then an offset decreases, and nothing comes of them.
    let end = end.min(first + call.shape.stretches.saturating_sub(at as u64));
    let mut k = s.lane() as u64;
    while s.again(first + k < end) {
        let entry = at + k as usize;
        s.store(stretches_of(call), 2 * entry, number);
        s.store(stretches_of(call), 2 * entry + 1, first + k);
        k += 32;
    }
}

/// What a launch does with long segments: their parts, and then the results of these.
#[inline(always)]
pub fn stretches<S: Simt, P: Held<Reduced = Dense>>(s: &S, call: &SegmentsCall) {
    if s.branch(call.shape.ends != 0) {
        ends::<S, P>(s, call);
    } else {
        parts::<S, P>(s, call);
    }
}

/// Stretches of long segments: a warp takes one at a time, and leaves its part, unless it is all of the segment.
#[inline(always)]
fn parts<S: Simt, P: Held<Reduced = Dense>>(s: &S, call: &SegmentsCall) {
    if s.branch(is_off(s, call)) {
        return;
    }
    let (piece, offsets, shape, size) = (P::new(&call.recipe), Offsets::of(call), &call.shape, P::Bits::SIZE);
    let counters = array::<u32>(call.at.workspace);
    let (mut at, stretch) = (s.block_x() * STRETCH_WARPS + s.warp(), Stretch::of::<P::Bits>(shape));
    let count = s.load_volatile(counters, STRETCHES).min(shape.stretches as u32);
    if s.branch(offsets.are_bad(s, call)) {
        return;
    }
    while s.again(at < count) {
        let number = s.load(stretches_of(call), 2 * at as usize);
        let k = s.load(stretches_of(call), 2 * at as usize + 1);
        let (start, len) = offsets.segment(s, call, number);
        let row = Row {
            input: call.at.input,
            x: call.at.input.wrapping_add(start * size as u64),
            mask: 0,
            len,
            reduced: Dense { end: shape.len * size as u64 },
        };
        let tiles = shape.tiles as u32;
        let part = piece.run(s, &row, k as u32 * tiles, tiles);
        if s.branch(s.lane() == 0) {
            let part = piece.settle(s, &row, part);
            if s.branch(stretch.count(len) == 1) {
                finish(s, piece.fold(), call, out::<P::Fold>(call, number), len, part);
            } else {
                publish(s, left_partials(call), (stretch.slot(start) + k) as usize, part);
                if s.branch(k == 0) {
                    let at = s.atomic_add(counters, CUT, 1u32, Order::Relaxed);
                    if s.branch((at as u64) < shape.cut) {
                        s.store(cut(call), at as usize, number);
                    }
                }
            }
        }
        at += s.grid_dim_x() * STRETCH_WARPS;
    }
}

/// Where a segment's result goes.
#[inline(always)]
fn out<F: Parts>(call: &SegmentsCall, number: u64) -> Out {
    call.out((number * F::RESULTS) as i64)
}

/// The logarithm of a stretch's elements.
#[derive(Clone, Copy)]
struct Stretch(u32);

impl Stretch {
    #[inline(always)]
    fn of<B: Bits>(shape: &Segments) -> Self {
        Self((shape.tiles as u32 * 256 * B::PER).trailing_zeros())
    }
    /// Stretches of a segment.
    #[inline(always)]
    fn count(self, len: u64) -> u64 {
        (len + (1 << self.0) - 1) >> self.0
    }
    /// Where the parts of a segment begin, if it has more than one: no two segments' overlap, since it has no more
    /// parts than half stretches.
    #[inline(always)]
    fn slot(self, start: u64) -> u64 {
        (2 * start) >> self.0
    }
}

/// The counter of stretches.
const STRETCHES: usize = 0;
/// That of segments that have several.
const CUT: usize = 1;
/// That of blocks that are done.
const DONE: usize = 2;

/// Stretches in no order: each is its segment's number, and its own there.
#[inline(always)]
fn stretches_of(call: &SegmentsCall) -> Global<u64> {
    call.partials().cast()
}

/// Segments that have several stretches, in no order.
#[inline(always)]
fn cut(call: &SegmentsCall) -> Global<u64> {
    stretches_of(call).offset(2 * call.shape.stretches as usize)
}

/// The results of the segments that have left parts: one block for each at a time.
#[inline(always)]
fn ends<S: Simt, P: Held>(s: &S, call: &SegmentsCall) {
    let slots = s.shared::<u32, SLOTS, 0>("slots");
    let (f, offsets, stretch) = (P::new(&call.recipe), Offsets::of(call), Stretch::of::<P::Bits>(&call.shape));
    let f = f.fold();
    let counters = array::<u32>(call.at.workspace);
    let (mut at, count) = (s.block_x(), s.load_volatile(counters, CUT).min(call.shape.cut as u32));
    let count = if s.branch(offsets.are_bad(s, call)) { 0 } else { count };
    while s.again(at < count) {
        let number = s.load(cut(call), at as usize);
        let (start, len) = offsets.segment(s, call, number);
        let first = stretch.slot(start) as usize;
        let left = Left { parts: left_partials(call), first, count: stretch.count(len), there: false };
        let part = reduce(s, f, slots, left);
        if s.branch(s.thread_x() == 0) {
            finish(s, f, call, out::<P::Fold>(call, number), len, part);
        }
        at += s.grid_dim_x();
    }
    // The last block leaves the counters as they were.
    s.barrier();
    if s.branch(s.thread_x() == 0) {
        let before = s.atomic_add(counters, DONE, 1u32, Order::AcqRel);
        if s.branch(before + 1 == s.grid_dim_x()) {
            s.store_volatile(counters, STRETCHES, 0);
            s.store_volatile(counters, CUT, 0);
            s.store_volatile(counters, DONE, 0);
        }
    }
}
