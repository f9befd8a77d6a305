//! Segments: the elements of each output follow those of the one before, and an array of offsets says where they end.
//!
//! Idea: every warp takes an equal share of bytes, of values and of what goes with a segment; it searches the offsets for where that
//! begins. Whatever mix of lengths there is, none waits for another. As many segments as fit 4 KiB are staged in shared memory at
//! once and taken by 1, 4, 16 or 32 lanes each; longer ones are listed in stretches for a second launch ([`stretches`]), and a third reduces their parts ([`ends`]).
//! Bottleneck: memory; for segments of a few elements, the instructions that find, finish and write them.

use super::parts::{self, SLOTS};
use super::piece::{Dense, Piece, Row, Staged, divide, share};
use super::stage::{self, Stage};
use super::warp::meet_lanes;
use crate::kernels::fold::Parts;
use crate::kernels::node::publish;
use crate::kernels::recipe::{Call, Hole, Recipe, STATUS, array};
use crate::kernels::source::Bits;
use crate::simt::{ALL, Global, Order, Shared, Simt};

/// Warps of a block.
pub const WARPS: u32 = 8;
/// Bytes that a segment costs beside its values: its offset, its result, and its share of instructions.
pub const COST: u64 = 16;
/// The least share of a warp, in bytes.
pub const LEAST: u64 = 4096;
/// Offsets that a warp looks at together.
const WINDOW: u32 = 256;

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
    /// For `len` elements, of which a stretch has `stretch` and a stage at least `staged`.
    pub const fn new(len: u64, stretch: u64, staged: u64) -> Self {
        Self { stretches: len / stretch + len / staged + 1, cut: len / stretch + 1, parts: 2 * (len / stretch) + 2 }
    }
}

/// The offsets.
#[derive(Clone, Copy)]
struct Offsets {
    at: u64,
    shape: Segments,
}

impl Offsets {
    #[inline(always)]
    fn of(call: &Call<Segments>) -> Self {
        Self { at: call.mask, shape: call.shape }
    }

    /// Offset number `i`; a negative one is beyond all elements.
    #[inline(always)]
    fn get<S: Simt>(&self, s: &S, i: u64) -> u64 {
        if s.branch(self.shape.size == 8) {
            return s.load(array::<u64>(self.at), i as usize);
        }
        let x = s.load(array::<u32>(self.at), i as usize);
        if self.shape.signed != 0 { x as i32 as u64 } else { x as u64 }
    }

    /// The elements of a segment, as their first and their number; none, and a word to the host, if there cannot be such.
    #[inline(always)]
    fn segment<S: Simt>(&self, s: &S, call: &Call<Segments>, i: u64) -> (u64, u64) {
        let (from, to) = (self.get(s, i), self.get(s, i + 1));
        if s.branch(from > to || to > self.shape.len) {
            let status = array::<u8>(call.workspace);
            s.store_volatile(status, 4 * STATUS + BAD, 1);
            return (0, 0);
        }
        (from, to - from)
    }

    /// Bytes of work before segment `i`.
    #[inline(always)]
    fn before<S: Simt>(&self, s: &S, i: u64, size: u32) -> u64 {
        let clipped = |i: u64| self.get(s, i).min(self.shape.len);
        COST * i + clipped(i).wrapping_sub(clipped(0)).wrapping_mul(size as u64)
    }

    /// The first segment before which there are `work` bytes or more; lanes of each half of the warp have the same `work`.
    #[inline(always)]
    fn search<S: Simt>(&self, s: &S, work: u64, size: u32) -> u64 {
        let (mut low, mut high) = (0, self.shape.total);
        while s.again(s.any(ALL, low < high)) {
            let step = (high - low) / 16 + 1;
            let probe = low + step * (s.lane() as u64 % 16 + 1) - 1;
            let mut less = false;
            if s.branch(probe < high) {
                less = self.before(s, probe, size) < work;
            }
            let less = (s.ballot(ALL, less) >> (s.lane() & 16) & 0xffff).trailing_ones() as u64;
            high = high.min(low + step * (less + 1) - 1);
            low += step * less;
        }
        high
    }
}

/// The byte of [`STATUS`] that is set if offsets decrease, or go beyond the elements.
pub const BAD: usize = 2;

/// A warp's share: segments that begin in it, and the stretches of one that begins before.
struct Share {
    /// Bytes of work.
    from: u64,
    to: u64,
    /// Segments.
    first: u64,
    end: u64,
}

impl Share {
    #[inline(always)]
    fn of<S: Simt>(s: &S, offsets: &Offsets, size: u32) -> Option<Self> {
        let total = offsets.shape.total;
        // Neighbours are on different multiprocessors.
        let warps = s.grid_dim_x() as u64 * WARPS as u64;
        let number = s.warp() as u64 * s.grid_dim_x() as u64 + s.block_x() as u64;
        let all = offsets.before(s, total, size).min(1 << 60);
        let share = (divide(all, warps).0 + 1).max(LEAST);
        let (from, to) = (share * number, share * (number + 1));
        if s.branch(from >= all) {
            return None;
        }
        let found = offsets.search(s, if s.lane() < 16 { from } else { to }, size);
        let (first, end) = (s.shuffle_idx(ALL, found, 0), s.shuffle_idx(ALL, found, 16));
        // Even if offsets are in no order, each is looked at.
        Some(Self { from, to, first, end: if to >= all { total } else { end } })
    }
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
                list::<S, P::Bits>(s, call, &offsets, &share, number);
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

/// Neighbouring offsets, in shared memory, counted from the first.
struct Window {
    bounds: Shared<u32>,
    /// The first offset.
    base: u64,
    /// Segments: up to the first that ends before it begins, or more than 2^32 elements further. That one is for [`list`].
    count: u32,
}

impl Window {
    #[inline(always)]
    fn read<S: Simt>(s: &S, offsets: &Offsets, bounds: Shared<u32>, first: u64, n: u32) -> Self {
        let found: [u64; 8] = core::array::from_fn(
            #[inline(always)]
            |k| {
                if s.branch(32 * k as u32 <= n) {
                    offsets.get(s, first + (32 * k as u32 + s.lane()).min(n) as u64)
                } else {
                    0
                }
            },
        );
        let base = s.shuffle_idx(ALL, found[0], 0);
        let mut k = 0;
        while k < 8 {
            let far = if found[k] > offsets.shape.len { u64::MAX } else { found[k].wrapping_sub(base) };
            s.put(bounds, 32 * k as u32 + s.lane(), far.min(u32::MAX as u64) as u32);
            k += 1;
        }
        s.warp_barrier(ALL);
        let window = Self { bounds, base, count: n };
        let mut count = 0;
        while s.again(count < n) {
            let i = count + s.lane();
            let (mut from, mut to) = (0, 0);
            if s.branch(i < n) {
                (from, to) = (window.get(s, i), window.get(s, i + 1));
            }
            let good = s.ballot(ALL, i < n && from <= to && to != u32::MAX).trailing_ones();
            count += good;
            if s.branch(good < 32) {
                break;
            }
        }
        Self { count, ..window }
    }

    #[inline(always)]
    fn get<S: Simt>(&self, s: &S, i: u32) -> u32 {
        s.get(self.bounds, i)
    }

    /// How many segments from number `at` have no more than `room` elements together.
    #[inline(always)]
    fn fit<S: Simt>(&self, s: &S, at: u32, room: u32) -> u32 {
        let mut fit = 0;
        let from = self.get(s, at);
        while s.again(at + fit < self.count) {
            let i = at + fit + s.lane();
            let fits = i < self.count && self.get(s, i.min(self.count - 1) + 1) - from <= room;
            let more = s.ballot(ALL, fits).trailing_ones();
            fit += more;
            if s.branch(more < 32) {
                break;
            }
        }
        fit
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
            // Each group of lanes takes the next of these.
            let mut mine = these;
            if s.branch(lanes == 1) {
                mine &= 1 << lane;
                these = 0;
            } else {
                let mut group = 0;
                while s.again((group + 1) * lanes < 32) {
                    mine = if (group + 1) * lanes <= lane { mine & mine.wrapping_sub(1) } else { mine };
                    group += 1;
                }
                these = s.shuffle_idx(ALL, mine & mine.wrapping_sub(1), 31);
            }
            let who = mine.trailing_zeros() & 31;
            let (place, len) = (s.shuffle_idx(ALL, place, who), s.shuffle_idx(ALL, len, who));
            let len = if mine != 0 { len } else { 0 };
            let each = share(len + lanes - 1, lanes).next_power_of_two().max(32 / size);
            let before = (lane & (lanes - 1)) * each;
            let count = len.max(before) - before;
            let part = piece.walk(s, stage, place + before * size, count.min(each), before);
            let part = meet_lanes(s, f, part, lanes);
            if s.branch(mine != 0 && lane & (lanes - 1) == 0) {
                finish(s, f, call, first + who as u64, len as u64, part);
            }
        }
        lanes = (4 * lanes).min(32);
        most *= 4;
    }
}

/// Lists those stretches of a long segment that begin in a warp's share, for [`stretches`].
#[inline(always)]
fn list<S: Simt, B: Bits>(s: &S, call: &Call<Segments>, offsets: &Offsets, share: &Share, number: u64) {
    let (_, len) = offsets.segment(s, call, number);
    let stretch = Stretch::of::<B>(&call.shape);
    let bytes = stretch.0 + B::SIZE.trailing_zeros();
    let before = offsets.before(s, number, B::SIZE);
    // Those of which `before + k * bytes` is in the share.
    let up_to = |work: u64| ((work.max(before) - before + (1 << bytes) - 1) >> bytes).min(stretch.count(len));
    let (first, end) = (up_to(share.from), up_to(share.to));
    let mut at = 0;
    if s.branch(s.lane() == 0 && first < end) {
        at = s.atomic_add(array::<u32>(call.workspace), STRETCHES, (end - first) as u32, Order::Relaxed);
    }
    let at = s.shuffle_idx(ALL, at, 0) as usize;
    // Segments that overlap have too many; then another offset is found to decrease.
    let end = end.min(first + call.shape.stretches.saturating_sub(at as u64));
    let mut k = s.lane() as u64;
    while s.again(first + k < end) {
        let entry = at + k as usize;
        s.store(stretches_of(call), 2 * entry, number);
        s.store(stretches_of(call), 2 * entry + 1, first + k);
        k += 32;
    }
}

/// Stretches of long segments: a warp takes one at a time, and leaves its part, unless it is all of the segment.
#[inline(always)]
pub fn stretches<S: Simt, P: Staged<Reduced = Dense>>(s: &S, call: &Call<Segments>) {
    let (piece, offsets, shape, size) = (P::new(&call.recipe), Offsets::of(call), &call.shape, P::Bits::SIZE);
    let counters = array::<u32>(call.workspace);
    let (mut at, stretch) = (s.block_x() * WARPS + s.warp(), Stretch::of::<P::Bits>(shape));
    let count = s.load_volatile(counters, STRETCHES).min(shape.stretches as u32);
    while s.again(at < count) {
        let number = s.load(stretches_of(call), 2 * at as usize);
        let k = s.load(stretches_of(call), 2 * at as usize + 1);
        let (start, len) = offsets.segment(s, call, number);
        let row = Row {
            input: call.input,
            x: call.input.wrapping_add(start * size as u64),
            mask: 0,
            len,
            reduced: Dense { stride: 0, segment: 63, end: shape.len * size as u64 },
        };
        let tiles = shape.tiles as u32;
        let part = piece.run(s, &row, k as u32 * tiles, tiles);
        if s.branch(s.lane() == 0) {
            let part = piece.settle(s, &row, part);
            if s.branch(stretch.count(len) == 1) {
                finish(s, piece.fold(), call, number, len, part);
            } else {
                publish(s, parts::left(call), (stretch.slot(start) + k) as usize, part);
                if s.branch(k == 0) {
                    let at = s.atomic_add(counters, CUT, 1u32, Order::Relaxed);
                    if s.branch((at as u64) < shape.cut) {
                        s.store(cut(call), at as usize, number);
                    }
                }
            }
        }
        at += s.grid_dim_x() * WARPS;
    }
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
    /// Where the parts of a segment begin, if it has more than one: no two segments' overlap, since it has no more parts than half
    /// stretches.
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
fn stretches_of(call: &Call<Segments>) -> Global<u64> {
    parts::of(call).cast()
}

/// Segments that have several stretches, in no order.
#[inline(always)]
fn cut(call: &Call<Segments>) -> Global<u64> {
    stretches_of(call).offset(2 * call.shape.stretches as usize)
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

/// The results of the segments that have left parts: one block for each at a time.
#[inline(always)]
pub fn ends<S: Simt, P: Piece>(s: &S, call: &Call<Segments>)
where
    P: Staged,
{
    let slots = s.shared::<u32, SLOTS, 0>("slots");
    let (f, offsets, stretch) = (P::new(&call.recipe), Offsets::of(call), Stretch::of::<P::Bits>(&call.shape));
    let f = f.fold();
    let counters = array::<u32>(call.workspace);
    let (mut at, count) = (s.block_x(), s.load_volatile(counters, CUT).min(call.shape.cut as u32));
    while s.again(at < count) {
        let number = s.load(cut(call), at as usize);
        let (start, len) = offsets.segment(s, call, number);
        let first = stretch.slot(start) as usize;
        let part = parts::reduce(s, f, slots, parts::left(call), first, stretch.count(len));
        if s.branch(s.thread_x() == 0) {
            finish(s, f, call, number, len, part);
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
