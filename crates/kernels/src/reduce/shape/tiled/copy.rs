//! A tile's way to shared memory: by lines, and element by element where windows read on beyond its columns.

use super::tile::{BEYOND, Stage, THREADS, Tile, WIDE};
use crate::address::array;
use crate::reduce::shape::stage::some;
use warpfold_simt::{ALL, Pack, Simt};

/// Shares numbers below `n` out among the threads of the block.
#[inline(always)]
fn each<S: Simt>(s: &S, n: u32, f: impl Fn(u32)) {
    let mut i = s.thread_x();
    while s.again(i < n) {
        f(i);
        i += THREADS;
    }
}

impl<const K: usize> Tile<'_, K> {
    /// Rows that are read on in the next columns.
    #[inline(always)]
    fn over(&self) -> u32 {
        let shape = &self.call.shape;
        if shape.spread != 0 { 0 } else { (shape.fresh.by as u32 + shape.beyond - self.own).min(shape.beyond) }
    }

    /// Bytes from a column's first row to row `i`.
    #[inline(always)]
    fn row_at(&self, i: u64) -> u64 {
        let shape = &self.call.shape;
        let (group, inside) = shape.group.divide(i);
        (shape.down.at(group).x as u64).wrapping_add(inside * shape.step)
    }

    /// Fills in the table of addresses.
    #[inline(always)]
    pub(super) fn find<S: Simt>(&self, s: &S, stage: Stage) {
        let (shape, thread) = (&self.call.shape, s.thread_x());
        each(
            s,
            self.groups(),
            #[inline(always)]
            |g| {
                let at = shape.down.at(self.group + g as u64).x + (self.first & 15) as i64;
                s.put(stage.groups, g, (at >> 4) as i32);
                s.put(stage.shifts, g, at as u16 & 15);
            },
        );
        if s.branch(self.over() > 0 && thread < (WIDE + BEYOND) as u32) {
            let at = if s.branch(thread < WIDE as u32) {
                let c = thread.min(self.width - 1);
                let number = self.number(c);
                let next = (number + 1).min(shape.columns - 1);
                let by = shape.across.at(next).x.wrapping_sub(shape.across.at(number).x);
                (self.first + c as u64 * shape.near).wrapping_add(by as u64)
            } else {
                self.row_at(((thread - WIDE as u32) as u64).min(shape.rows - 1))
            };
            s.put(stage.next, thread, at);
        }
    }

    /// Where a row of the tile's columns is in shared memory.
    #[inline(always)]
    fn place<S: Simt>(&self, s: &S, stage: Stage, i: u32) -> u32 {
        let shape = &self.call.shape;
        let (group, inside) = shape.group.divide_small(self.inside + i);
        16 * group * shape.pitch + s.get(stage.shifts, group) as u32 + inside * shape.step as u32
    }

    /// Fills in the table of rows, for windows of so many elements.
    #[inline(always)]
    pub(super) fn table<S: Simt>(&self, s: &S, stage: Stage, window: u32) {
        let shape = &self.call.shape;
        if s.branch(shape.even != 0 && shape.spread == 0) {
            return;
        }
        let more = if shape.spread != 0 { window - 1 } else { self.over() };
        let last = 16 * self.groups() * shape.pitch;
        each(
            s,
            self.own + more,
            #[inline(always)]
            |i| {
                let at = if s.branch(i < self.own) {
                    self.place(s, stage, i)
                } else if s.branch(shape.spread != 0) {
                    let (column, row) = shape.fresh.divide_small(i);
                    column * shape.near as u32 + self.place(s, stage, row)
                } else {
                    last + (i - self.own) * shape.apart
                };
                s.put(stage.rows, i, at as u16);
            },
        );
    }

    /// The last line that the array has all of, from the tile's first.
    #[inline(always)]
    fn last(&self) -> i32 {
        let end = self.call.at.input.wrapping_add(self.call.shape.end);
        (((end - (self.first & !15)) / 16) as i64 - 1).min(i32::MAX as i64) as i32
    }

    /// Copies lines of all groups. One that the array ends in is read element by element.
    #[inline(always)]
    pub(super) fn read<S: Simt>(&self, s: &S, stage: Stage) {
        let (shape, groups, last) = (&self.call.shape, self.groups(), self.last());
        let (first, each) = (self.first & !15, shape.lines.by as u32);
        let step = shape.lines.divide_small(THREADS);
        let (mut group, mut line) = shape.lines.divide_small(s.thread_x());
        let mut cut = false;
        while s.again(group < groups) {
            let at = s.get(stage.groups, group) + line as i32;
            if s.branch(at <= last) {
                let from = array(first.wrapping_add((16 * at as i64) as u64));
                s.copy(stage.lines, group * shape.pitch + line, from, 0);
            }
            cut |= at > last;
            line += step.1;
            let more = line >= each;
            line -= if more { each } else { 0 };
            group += step.0 + more as u32;
        }
        if s.branch(s.any(ALL, cut)) {
            self.last_lines(s, stage, last);
        }
    }

    /// Copies what there is of the line that the array ends in.
    #[inline(always)]
    fn last_lines<S: Simt>(&self, s: &S, stage: Stage, last: i32) {
        let (shape, all) = (&self.call.shape, self.groups() * self.call.shape.lines.by as u32);
        let end = self.call.at.input.wrapping_add(shape.end);
        each(
            s,
            all,
            #[inline(always)]
            |i| {
                let (group, line) = shape.lines.divide_small(i);
                if s.branch(s.get(stage.groups, group) + line as i32 == last + 1) {
                    let at = (self.first & !15).wrapping_add((16 * (last as i64 + 1)) as u64);
                    let count = (end - at) as u32 >> shape.size.trailing_zeros();
                    let last = if s.branch(shape.size == 2) {
                        some::<S, u16>(s, at, count)
                    } else if s.branch(shape.size == 4) {
                        some::<S, u32>(s, at, count)
                    } else {
                        some::<S, u64>(s, at, count)
                    };
                    s.put(stage.lines, group * shape.pitch + line, Pack(last));
                }
            },
        );
    }

    /// Copies one element.
    #[inline(always)]
    fn copy<S: Simt>(&self, s: &S, stage: Stage, from: u64, to: u32) {
        let (size, room) = (self.call.shape.size, stage.lines.cast::<u8>().offset(to));
        if s.branch(size == 2) {
            s.put(room.cast::<u16>(), 0, s.load(array(from), 0));
        } else if s.branch(size == 4) {
            s.put(room.cast::<u32>(), 0, s.load(array(from), 0));
        } else {
            s.put(room.cast::<u64>(), 0, s.load(array(from), 0));
        }
    }

    /// Copies the first rows of the next columns, where columns end in the tile.
    #[inline(always)]
    pub(super) fn read_on<S: Simt>(&self, s: &S, stage: Stage) {
        let shape = &self.call.shape;
        let first = 16 * self.groups() * shape.pitch;
        each(
            s,
            self.over() * shape.wide.by as u32,
            #[inline(always)]
            |i| {
                let (row, c) = shape.wide.divide_small(i);
                if s.branch(c < self.width) {
                    let at = s.get(stage.next, c).wrapping_add(s.get(stage.next, WIDE as u32 + row));
                    self.copy(s, stage, at, first + row * shape.apart + c * shape.near as u32);
                }
            },
        );
    }

    /// Copies the elements that follow those of the tile's columns, which are whole.
    #[inline(always)]
    pub(super) fn read_on_whole<S: Simt>(&self, s: &S, stage: Stage) {
        let (shape, i) = (&self.call.shape, s.thread_x());
        if s.branch(i < shape.beyond) {
            let (column, row) = shape.fresh.divide_small(i);
            let (c, number) = (self.width + column, self.number(0));
            let next = (number + c as u64).min(shape.columns - 1);
            let by = shape.across.at(next).x.wrapping_sub(shape.across.at(number).x);
            let at = self.first.wrapping_add(by as u64).wrapping_add(self.row_at(row as u64));
            self.copy(s, stage, at, c * shape.near as u32 + self.place(s, stage, row));
        }
    }
}
