//! Segments of at most 4 KiB: 2 to 32 lanes share one, with 32 bytes to a lane, and of 32 lanes several turns if need
//! be.

use crate::reduce::fold::Parts;
use crate::reduce::shape::piece::{Held, hold_lines, share};
use crate::reduce::shape::stack::Few;
use crate::segment::call::{HELD, SHORT, TURNS};
use crate::segment::offsets::WINDOW;
use crate::segment::work::Work;
use crate::source::Bits;
use warpfold_simt::{ALL, Shared, Simt};

/// Lanes to a segment of the first list, at most.
const FEW: u32 = 8;

/// Segments of a window by their numbers in it: those of at most [`FEW`] lanes from the first place on, those of more
/// from the last one down.
#[derive(Clone, Copy)]
pub struct Lists {
    /// Where they are written down.
    numbers: Shared<u32>,
    few: u32,
    many: u32,
    /// The most elements of those that this lane has written, in each list.
    most: [u32; 2],
}

impl Lists {
    /// Empty ones.
    #[inline(always)]
    pub fn new(numbers: Shared<u32>) -> Self {
        Self { numbers, few: 0, many: 0, most: [0; 2] }
    }

    /// Adds each lane's segment `i` of `len` elements of `size` bytes, unless it is too short or too long.
    #[inline(always)]
    pub fn add<S: Simt>(&mut self, s: &S, i: u32, len: u32, size: u32) {
        let each = HELD / size;
        let (is_few, is_many) = (len > each && len <= FEW * each, len > FEW * each && len <= SHORT / size);
        let (fews, manys) = (s.ballot(ALL, is_few), s.ballot(ALL, is_many));
        let before = |all: u32| (all & ((1 << s.lane()) - 1)).count_ones();
        if s.branch(is_few) {
            s.put(self.numbers, self.few + before(fews), i);
            self.most[0] = self.most[0].max(len);
        }
        self.few += fews.count_ones();
        if s.branch(manys != 0) {
            self.many += manys.count_ones();
            if s.branch(is_many) {
                s.put(self.numbers, WINDOW - self.many + before(manys), i);
                self.most[1] = self.most[1].max(len);
            }
        }
    }
}

/// One of them.
#[derive(Clone, Copy)]
struct List {
    numbers: Shared<u32>,
    /// How many there are.
    count: u32,
    /// How many lanes share one, a power of two.
    lanes: u32,
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

/// Reduces what is written down.
#[inline(always)]
pub fn reduce<S: Simt, P: Held>(s: &S, work: &Work<'_, P>, lists: Lists) {
    s.warp_barrier(ALL);
    // As few lanes as the longest needs.
    let each = HELD / P::Bits::SIZE;
    let fewest = |most: u32, mut lanes: u32, least: u32| {
        while s.again(lanes > least && !s.any(ALL, most > lanes / 2 * each)) {
            lanes /= 2;
        }
        lanes
    };
    let Lists { numbers, few, many, most } = lists;
    let mut list = List { numbers, count: few, lanes: fewest(most[0], FEW, 2) };
    let many = List { numbers: numbers.offset(WINDOW - many), count: many, lanes: fewest(most[1], 32, 2 * FEW) };
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
    let (mut place, mut turn) = (0, 0);
    let (mut stack, mut so_far) = (Few::new(f.nothing()), f.nothing());
    while s.again(place < list.count) {
        let turns: [Option<Turn>; TURNS] = warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| {
                // Where order is no matter, the folds take so many registers that a second turn's would not fit.
                if (k > 0 && P::FREE) || !s.branch(place < list.count) {
                    return None;
                }
                let (mut number, mut from, mut len) = (0, 0, 0);
                if s.branch(place + group < list.count) {
                    number = s.get(list.numbers, place + group);
                    (from, len) = work.window.segment(s, number);
                }
                let before = (turn * lanes * 2 + lane) * per;
                let of = |before: u32| (len.max(before) - before).min(per);
                let count = [of(before), of(before + lanes * per)];
                // Where segments have whole lines only, these are read at once.
                let (at, apart) = (work.at(from + before), 16 * lanes);
                let w = if s.branch(s.all(ALL, (len == 0) | (at as u32 | (len * P::Bits::SIZE)).is_multiple_of(16))) {
                    hold_lines(s, at, apart, count, work.piece.blank())
                } else {
                    work.hold(s, at, apart, count)
                };
                // Only all lanes together take several turns.
                let last = lanes < 32 || (turn + 1) * lanes * 2 * per >= len;
                let this = Turn { number, len, before, turn, last, count, w };
                (place, turn) = if last { (place + share(32, lanes), 0) } else { (place, turn + 1) };
                Some(this)
            },
        );
        let mut k = 0;
        while k < TURNS {
            let Some(Turn { number, len, before, turn, last, count, w }) = turns[k] else { break };
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
