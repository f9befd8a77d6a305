//! Windows of some elements, from shared memory: a block reads each element once, whatever number of windows has it.
//!
//! Idea: a block has some rows of results, and copies the rows of elements that these take to shared memory, of four
//! planes side by side: 16 bytes, which one read of a walk gets. So a step of a walk, of which windows of many elements
//! consist, serves four planes, and has no address to compute but a sum; and gradients are divided once, as they come.
//! Place 0 is a nothing, where steps beyond a window's end read. Bottleneck: instructions.

use super::along::{Along, Span};
use super::average::divided;
use super::max::{Best, NONE};
use super::number::{Any, Elements, Of};
use super::stack::{Stack, join};
use super::walk::{AHEAD, Planes};
use super::{LEVELS, PLANES, Pool};
use crate::address::{array, fixed};
use crate::block::THREADS;
use crate::reduce::recipe::code;
use crate::source::{Bf16, F16, F32, Source};
use warpfold_core::pool::gathered;
use warpfold_core::{Accumulate, DType};
use warpfold_simt::{Pack, Shared, Simt};

/// Elements of four planes.
type Four = [f32; PLANES];

/// What a block has: rows `first .. last` of the results of some fours of planes, and where their elements lie.
struct Patch {
    room: Shared<Pack<f32, PLANES>>,
    /// The first four's number.
    four: u64,
    /// Rows of results.
    first: u32,
    last: u32,
    /// Rows of elements, from this on.
    above: u32,
    rows: u32,
}

/// A result of a patch.
struct Place {
    planes: Planes<PLANES>,
    /// The result's number in its plane.
    number: u32,
    /// What it takes of each axis, and the place of the first one.
    rows: Span,
    columns: Span,
    begin: u32,
    /// What is to be added to a place for the number of its element.
    beyond: u32,
}

impl Patch {
    #[inline(always)]
    fn own<S: Simt, const BACKWARD: bool, const HAS_INDICES: bool>(s: &S, call: &Pool) -> Self {
        let (group, band) = call.bands.divide_small(s.block_x());
        let (along, first) = (&call.axis[1], band * call.band);
        let results = call.axis[1].split.by as u32;
        let last = (first + call.band).min(results);
        let (above, below) = if BACKWARD {
            // Without dilation windows that have no element lie as the others do.
            let ends = along.windows(s, last - 1);
            (along.windows(s, first).first, ends.first + ends.count)
        } else {
            let extent = (along.size - 1) * along.dilation + 1;
            (
                (first * along.stride).saturating_sub(along.padding),
                ((last - 1) * along.stride + extent).saturating_sub(along.padding),
            )
        };
        let (above, below) = (above.min(along.sources), below.min(along.sources));
        // Of gradients of the greatest elements there are indices, too.
        let places = (1 + (call.fours * call.places.by) as u32) * if HAS_INDICES { 2 } else { 1 };
        let room = s.room_of::<Pack<f32, PLANES>>("elements of four planes", places);
        let four = group as u64 * call.fours;
        Self { room, four, first, last, above, rows: below.saturating_sub(above) }
    }

    /// Fours of planes that there are.
    #[inline(always)]
    fn fours(&self, call: &Pool) -> u32 {
        let all = call.planes.div_ceil(PLANES as u64);
        (all - self.four).min(call.fours) as u32
    }

    /// Copies the elements: what `f` returns, given what there is in some planes, its number and its place.
    #[inline(always)]
    fn fill<S: Simt>(&self, s: &S, call: &Pool, nothing: f32, f: impl Fn(&Planes<PLANES>, Four, u32, u32) -> Four) {
        if s.branch(s.thread_x() == 0) {
            s.put(self.room, 0, Pack([nothing; PLANES]));
        }
        let (size, before) = (call.axis[2].step, self.above * call.axis[2].sources);
        let (count, fours) = (self.rows * call.axis[2].sources, self.fours(call));
        let copy = |four: u32, planes: &Planes<PLANES>, i: u32| {
            let x = Any::read(s, call.dtype, planes.at((before + i) as i64 * size));
            let place = 1 + four * call.places.by as u32 + i;
            s.put(self.room, place, Pack(f(planes, x, before + i, place)));
        };
        let mut i = s.thread_x();
        if s.branch(fours == 1) {
            let planes = Planes::of(call, self.four * PLANES as u64);
            while s.again(i < count) {
                copy(0, &planes, i);
                i += THREADS;
            }
        } else {
            while s.again(i < fours * call.places.by as u32) {
                let (four, i_of_four) = call.places.divide_small(i);
                if s.branch(i_of_four < count) {
                    let planes = Planes::of(call, (self.four + four as u64) * PLANES as u64);
                    copy(four, &planes, i_of_four);
                }
                i += THREADS;
            }
        }
        s.barrier();
    }

    /// Lets `f` compute the results of four planes at each place.
    #[inline(always)]
    fn each<S: Simt, const BACKWARD: bool>(&self, s: &S, call: &Pool, f: impl Fn(Place)) {
        let width = call.axis[2].split.by as u32;
        let of_four = (self.last - self.first) * width;
        let mut slot = s.thread_x();
        while s.again(slot < self.fours(call) * call.slots.by as u32) {
            let (four, i) = call.slots.divide_small(slot);
            if s.branch(i < of_four) {
                let (y, x) = call.axis[2].split.divide_small(self.first * width + i);
                let take = |along: &Along, at| if BACKWARD { along.windows(s, at) } else { along.elements(s, at) };
                let (rows, columns) = (take(&call.axis[1], y), take(&call.axis[2], x));
                let base = 1 + four * call.places.by as u32;
                let sources = call.axis[2].sources;
                let begin = rows.first.wrapping_sub(self.above).wrapping_mul(sources).wrapping_add(columns.first);
                f(Place {
                    planes: Planes::of(call, (self.four + four as u64) * PLANES as u64),
                    number: y * width + x,
                    rows,
                    columns,
                    begin: begin.wrapping_add(base),
                    beyond: (self.above * sources).wrapping_sub(base),
                });
            }
            slot += THREADS;
        }
    }

    /// Calls `f` with the places of a window's elements, some at a time, and with how many there are before them.
    #[inline(always)]
    fn walk<S: Simt>(&self, s: &S, call: &Pool, place: &Place, mut f: impl FnMut(u32, [u32; AHEAD])) {
        let (rows, columns) = (place.rows, place.columns);
        let count = rows.count * columns.count;
        let down = rows.step.wrapping_mul(call.axis[2].sources);
        let back = columns.step.wrapping_mul(columns.count.wrapping_sub(1));
        let (mut at, mut column, mut done) = (place.begin, 0, 0);
        while s.again(done < count) {
            let (mut some, mut i) = ([0; AHEAD], 0);
            while i < AHEAD {
                some[i] = if done + (i as u32) < count { at } else { 0 };
                column += 1;
                at = at.wrapping_add(columns.step);
                if s.branch(column == columns.count) {
                    column = 0;
                    at = at.wrapping_add(down).wrapping_sub(back + columns.step);
                }
                i += 1;
            }
            f(done, some);
            done += AHEAD as u32;
        }
    }

    /// The tree over the elements of a window, each of which `leaf` finds by its place.
    #[inline(always)]
    fn tree<S: Simt>(&self, s: &S, call: &Pool, place: &Place, leaf: impl Fn(u32) -> Four) -> Four {
        let mut stack = Stack::<f32, PLANES, LEVELS>::empty();
        self.walk(
            s,
            call,
            place,
            #[inline(always)]
            |done, [a, b, c, d]| {
                stack.push(s, done / AHEAD as u32, join(join(leaf(a), leaf(b)), join(leaf(c), leaf(d))));
            },
        );
        stack.close(s, (place.rows.count * place.columns.count).div_ceil(AHEAD as u32))
    }

    /// The greatest elements of a window.
    #[inline(always)]
    fn greatest<S: Simt>(&self, s: &S, call: &Pool, place: &Place, wants_first: bool) -> Best<f32, PLANES> {
        let mut best = Best::none();
        self.walk(
            s,
            call,
            place,
            #[inline(always)]
            |_, some| {
                let mut i = 0;
                while i < AHEAD {
                    let number = some[i].wrapping_add(place.beyond);
                    best.take::<S, Any>(s, self.get(s, some[i]), number, wants_first);
                    i += 1;
                }
            },
        );
        best
    }

    /// The same, where leaves are the elements.
    #[inline(always)]
    fn sums<S: Simt>(&self, s: &S, call: &Pool, place: &Place) -> Four {
        self.tree(s, call, place, |at| self.get(s, at))
    }

    /// The elements at a place.
    #[inline(always)]
    fn get<S: Simt>(&self, s: &S, place: u32) -> Four {
        s.get(self.room, place).0
    }
}

impl Place {
    /// Writes the results.
    #[inline(always)]
    fn write<S: Simt>(&self, s: &S, call: &Pool, results: Four) {
        // Asked once, and not for each of them.
        if s.branch(call.dtype == code(DType::F32)) {
            self.write_as::<S, F32>(s, call, results);
        } else if s.branch(call.dtype == code(DType::F16)) {
            self.write_as::<S, F16>(s, call, results);
        } else {
            self.write_as::<S, Bf16>(s, call, results);
        }
    }

    #[inline(always)]
    fn write_as<S: Simt, X: Source<Value = f32>>(&self, s: &S, call: &Pool, results: Four) {
        let size = size_of::<X::Bits>() as u64;
        let (at, step) = (fixed(s, call.at.output + self.result(call) * size), call.results.by * size);
        let mut k = 0;
        while k < PLANES {
            if s.branch((k as u32) < self.planes.count) {
                Of::<X>::write(s, call.dtype, at + k as u64 * step, 0, results[k]);
            }
            k += 1;
        }
    }

    /// The number of the first plane's result.
    #[inline(always)]
    fn result(&self, call: &Pool) -> u64 {
        self.planes.first * call.results.by + self.number as u64
    }
}

/// Means.
#[inline(always)]
pub fn average<S: Simt>(s: &S, call: &Pool) {
    let patch = Patch::own::<S, false, false>(s, call);
    patch.fill(s, call, f32::NOTHING, |_, x, _, _| x);
    patch.each::<S, false>(
        s,
        call,
        #[inline(always)]
        |place| {
            let sums = patch.sums(s, call, &place);
            let window = || {
                let (y, x) = call.axis[2].split.divide_small(place.number);
                [0, y, x]
            };
            place.write(s, call, divided(s, call, sums, window));
        },
    );
}

/// The gradient of the elements, from that of the means.
#[inline(always)]
pub fn average_backward<S: Simt>(s: &S, call: &Pool) {
    let patch = Patch::own::<S, true, false>(s, call);
    patch.fill(
        s,
        call,
        f32::NOTHING,
        #[inline(always)]
        |_, gradients, window, _| {
            let place = || {
                let (y, x) = call.columns.divide_small(window);
                [0, y, x]
            };
            divided(s, call, gradients, place)
        },
    );
    patch.each::<S, true>(
        s,
        call,
        #[inline(always)]
        |place| place.write(s, call, patch.sums(s, call, &place).map(gathered)),
    );
}

/// The greatest elements, and the index of the first of them, if indices are wanted.
#[inline(always)]
pub fn max<S: Simt>(s: &S, call: &Pool) {
    let (patch, wants_first) = (Patch::own::<S, false, false>(s, call), call.at.places != 0);
    patch.fill(s, call, f32::NEG_INFINITY, |_, x, _, _| x);
    patch.each::<S, false>(
        s,
        call,
        #[inline(always)]
        |place| {
            let best = if s.branch(wants_first) {
                patch.greatest(s, call, &place, true)
            } else {
                patch.greatest(s, call, &place, false)
            };
            place.write(s, call, best.values(place.rows.count * place.columns.count));
            if s.branch(wants_first) {
                let (mut at, mut k) = (place.result(call), 0);
                while k < PLANES {
                    if s.branch((k as u32) < place.planes.count) {
                        s.store(array::<i64>(call.at.places), at as usize, best.place(k));
                    }
                    (at, k) = (at + call.results.by, k + 1);
                }
            }
        },
    );
}

/// The gradient of the elements, from that of the greatest ones, whose indices are there, in C order: behind the
/// gradients they are in shared memory, too.
#[inline(always)]
pub fn max_backward<S: Simt>(s: &S, call: &Pool) {
    let patch = Patch::own::<S, true, true>(s, call);
    let (chosen, behind) = (patch.room.cast::<Pack<u32, PLANES>>(), 1 + (call.fours * call.places.by) as u32);
    if s.branch(s.thread_x() == 0) {
        s.put(chosen, behind, Pack([NONE; PLANES]));
    }
    let windows = call.rows.by * call.columns.by;
    patch.fill(
        s,
        call,
        f32::NOTHING,
        #[inline(always)]
        |planes, gradients, window, place| {
            let indices = warpfold_simt::array::from_fn(
                #[inline(always)]
                |k| {
                    let at = planes.plane(k) * windows + window as u64;
                    let index = s.load(array::<i64>(call.at.places), at as usize);
                    if index as u64 >> 32 == 0 { index as u32 } else { NONE }
                },
            );
            s.put(chosen, behind + place, Pack(indices));
            gradients
        },
    );
    patch.each::<S, true>(
        s,
        call,
        #[inline(always)]
        |place| {
            let sums = patch.tree(
                s,
                call,
                &place,
                #[inline(always)]
                |at| {
                    let (gradients, indices) = (patch.get(s, at), s.get(chosen, behind + at).0);
                    warpfold_simt::array::from_fn(
                        #[inline(always)]
                        |k| if indices[k] == place.number { gradients[k] } else { f32::NOTHING },
                    )
                },
            );
            place.write(s, call, sums.map(gathered));
        },
    );
}
