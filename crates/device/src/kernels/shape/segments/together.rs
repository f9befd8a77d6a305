//! Segments of at most 4 KiB: 2 to 32 lanes share one, with 32 bytes to a lane, and of 32 lanes several turns if need be.

use super::offsets::WINDOW;
use super::{HELD, SHORT, TURNS, Work};
use crate::kernels::fold::Parts;
use crate::kernels::shape::piece::{Held, share};
use crate::kernels::shape::stack::Few;
use crate::kernels::source::Bits;
use crate::simt::{ALL, Shared, Simt};

/// Segments of a window by their numbers in it.
#[derive(Clone, Copy)]
struct List {
    /// Where they are written down.
    numbers: Shared<u32>,
    /// How many there are.
    count: u32,
    /// How many lanes share one, a power of two.
    lanes: u32,
}

/// Lanes to a segment of the first list, at most.
const FEW: u32 = 8;

/// Those of at most [`FEW`] lanes, and those of more.
#[inline(always)]
fn lists<S: Simt, P: Held>(s: &S, work: &Work<'_, P>, numbers: Shared<u32>) -> [List; 2] {
    let (size, each) = (P::Bits::SIZE, HELD / P::Bits::SIZE);
    let (mut few, mut many, mut most, mut at) = (0, 0, [0, 0], 0);
    while s.again(at < work.window.count) {
        let i = at + s.lane();
        let (_, len) = work.window.segment(s, i);
        let len = if i >= work.own && i < work.window.count { len } else { 0 };
        let (is_few, is_many) = (len > each && len <= FEW * each, len > FEW * each && len <= SHORT / size);
        let (fews, manys) = (s.ballot(ALL, is_few), s.ballot(ALL, is_many));
        let before = |all: u32| (all & ((1 << s.lane()) - 1)).count_ones();
        few += fews.count_ones();
        many += manys.count_ones();
        if s.branch(is_few) {
            s.put(numbers, few - fews.count_ones() + before(fews), i);
            most[0] = most[0].max(len);
        }
        if s.branch(is_many) {
            s.put(numbers, WINDOW - many + before(manys), i);
            most[1] = most[1].max(len);
        }
        at += 32;
    }
    s.warp_barrier(ALL);
    // As few lanes as the longest needs.
    let fewest = |most: u32, mut lanes: u32, least: u32| {
        while s.again(lanes > least && !s.any(ALL, most > lanes / 2 * each)) {
            lanes /= 2;
        }
        lanes
    };
    [
        List { numbers, count: few, lanes: fewest(most[0], FEW, 2) },
        List { numbers: numbers.offset(WINDOW - many), count: many, lanes: fewest(most[1], 32, 2 * FEW) },
    ]
}

/// What a lane takes in a turn.
#[derive(Clone, Copy)]
struct Turn {
    /// The segment's number in the window.
    number: u32,
    /// Its elements.
    len: u32,
    /// The lane's first of them.
    before: u32,
    /// Which of the segment's turns it is.
    turn: u32,
    /// Whether it is the last.
    last: bool,
    /// The lane's elements of each pack.
    count: [u32; 2],
    w: [[u32; 4]; 2],
}

/// Reduces those of a window.
#[inline(always)]
pub fn reduce<S: Simt, P: Held>(s: &S, work: &Work<'_, P>, numbers: Shared<u32>) {
    let [mut list, many] = lists(s, work, numbers);
    // One copy of the code.
    let mut left = s.opaque(2);
    while s.again(left > 0) {
        reduce_list(s, work, &list);
        list = many;
        left -= 1;
    }
}

#[inline(always)]
fn reduce_list<S: Simt, P: Held>(s: &S, work: &Work<'_, P>, list: &List) {
    let (f, lanes, per) = (work.piece.fold(), list.lanes, P::PER);
    let (group, lane) = (share(s.lane(), lanes), s.lane() & (lanes - 1));
    let (mut at, mut turn) = (0, 0);
    let (mut stack, mut so_far) = (Few::new(f.nothing()), f.nothing());
    while s.again(at < list.count) {
        let turns: [Turn; TURNS] = core::array::from_fn(
            #[inline(always)]
            |_| {
                let (mut number, mut from, mut len) = (0, 0, 0);
                if s.branch(at + group < list.count) {
                    number = s.get(list.numbers, at + group);
                    (from, len) = work.window.segment(s, number);
                }
                let before = (turn * lanes * 2 + lane) * per;
                let of = |before: u32| (len.max(before) - before).min(per);
                let count = [of(before), of(before + lanes * per)];
                let w = work.hold(s, from + before, 16 * lanes, count);
                // Only all lanes together take several turns.
                let last = lanes < 32 || (turn + 1) * lanes * 2 * per >= len;
                let this = Turn { number, len, before, turn, last, count, w };
                (at, turn) = if last { (at + share(32, lanes), 0) } else { (at, turn + 1) };
                this
            },
        );
        let mut k = 0;
        while k < TURNS {
            let Turn { number, len, before, turn, last, count, w } = turns[k];
            let mut part = work.piece.held(s, &w, count, before, lanes);
            if P::FREE {
                part = if turn > 0 { f.meet(so_far, part) } else { part };
                so_far = part;
            } else if s.branch(turn > 0 || !last) {
                stack.push(f, turn, part);
                part = stack.close(f, turn + 1);
            }
            if s.branch(last) {
                let part = work.piece.together(s, part, lanes);
                if s.branch(lane == 0 && len > 0) {
                    work.finish(s, number, len, part);
                }
            }
            k += 1;
        }
    }
}
