//! Where rows are, and a warp's packs of them.
//!
//! Idea: where a row is takes multiplications, and divisions if rows lie along two axes; its parts, and the rows that
//! are so many rows further, are found from there by additions.

use super::op::RowOp;
use super::read::read;
use super::spread::{Packs, Place, Spread};
use super::{RAGGED, Rowwise};
use crate::source::Bits;
use warpfold_simt::Simt;

impl Rowwise {
    /// Bytes to row number `row`, in the array, in the second one and in the mask.
    #[inline(always)]
    pub(super) fn places(&self, row: u64) -> [i64; 3] {
        if self.inner.by >= self.rows {
            return [self.along, self.second_along, self.mask_along].map(
                #[inline(always)]
                |step| row as i64 * step,
            );
        }
        let (outer, inner) = self.inner.divide(row);
        let at = |along: i64, across: i64| inner as i64 * along + outer as i64 * across;
        let second = at(self.second_along, self.second_outer);
        [at(self.along, self.outer), second, at(self.mask_along, self.mask_outer)]
    }

    /// Of row number `row` the elements from `first` on, at most `most`; none, if there is no such row.
    #[inline(always)]
    pub(super) fn place<B: Bits>(&self, row: u64, first: u64, most: u64) -> Place {
        self.part::<B>(self.row::<B>(row), first, most)
    }

    /// Where row number `row` is. It has an element, if there is such a row.
    #[inline(always)]
    pub(super) fn row<B: Bits>(&self, row: u64) -> Place {
        let is_there = row < self.rows;
        let place = self.row_there::<B>(if is_there { row } else { 0 });
        Place { valid: is_there as u32, ..place }
    }

    /// The same of a row that is there.
    #[inline(always)]
    pub(super) fn row_there<B: Bits>(&self, row: u64) -> Place {
        let [x, second, mask] = self.places(row);
        Place {
            input: self.at.input.wrapping_add(x as u64),
            second: self.at.second.wrapping_add(second as u64),
            output: self.at.output + row * self.len * B::SIZE as u64,
            mask: self.at.mask.wrapping_add(mask as u64),
            first: 0,
            before: 0,
            valid: 1,
        }
    }

    /// Of a row the elements from `first` on, at most `most`.
    #[inline(always)]
    pub(super) fn part<B: Bits>(&self, row: Place, first: u64, most: u64) -> Place {
        let bytes = first * B::SIZE as u64;
        Place {
            input: row.input.wrapping_add(bytes),
            second: row.second.wrapping_add(bytes),
            output: row.output + bytes,
            first,
            valid: if row.valid > 0 { self.len.saturating_sub(first).min(most) as u32 } else { 0 },
            ..row
        }
    }

    /// Of a row all elements from the `first` on, in lines before which its first one has `shift` elements' room.
    #[inline(always)]
    pub(super) fn shifted<B: Bits>(&self, row: Place, first: u64, shift: u32) -> Place {
        // The row's first line begins before the row.
        let before = if first == 0 { shift } else { 0 };
        let most = u32::MAX - B::PER;
        self.part::<B>(row, first - (shift - before) as u64, most as u64).moved::<B>(before)
    }

    /// Bytes from row number `row` to one `further` on, in the array, in the second one and in the mask.
    #[inline(always)]
    pub(super) fn moves(&self, row: u64, further: u32) -> [i64; 3] {
        let further = further as u64;
        if self.inner.by >= self.rows {
            return [self.along, self.second_along, self.mask_along].map(
                #[inline(always)]
                |step| further as i64 * step,
            );
        }
        if row + further >= self.rows {
            return [0; 3];
        }
        let (from, to) = (self.places(row), self.places(row + further));
        [to[0] - from[0], to[1] - from[1], to[2] - from[2]]
    }

    /// The place of a row `further` after one that has the place `base`, and so many bytes from it, of `left` rows.
    #[inline(always)]
    pub(super) fn next_place<B: Bits>(&self, base: Place, moves: [i64; 3], further: u32, left: u64) -> Place {
        Place {
            input: base.input.wrapping_add(moves[0] as u64),
            second: base.second.wrapping_add(moves[1] as u64),
            // Of these rows only short ones have results.
            output: base.output.wrapping_add(further.wrapping_mul((self.len as u32).wrapping_mul(B::SIZE)) as u64),
            mask: base.mask.wrapping_add(moves[2] as u64),
            valid: if (further as u64) < left { base.valid } else { 0 },
            ..base
        }
    }

    /// Whether all results begin with lines of 16 bytes.
    #[inline(always)]
    pub(super) fn aligned_out<B: Bits>(&self) -> bool {
        (self.at.output | (self.len * B::SIZE as u64)) & 15 == 0
    }

    /// Elements by which all arrays of a row begin after a line of 16 bytes: what needs no tree goes by lines there.
    /// None if they differ, if there are masks, counted from the first element, and if all rows are lines anyway.
    #[inline(always)]
    pub(super) fn lined<B: Bits>(&self, place: Place, is_second: bool) -> Option<u32> {
        let (own, size) = (place.output as u32, B::SIZE);
        let others = (own ^ place.input as u32) | if is_second { own ^ place.second as u32 } else { 0 };
        let alike = (others & 15) | (own & (size - 1)) | self.masked as u32 == 0;
        (alike && !self.aligned_out::<B>()).then_some((own & 15) / size)
    }

    /// Whether all packs of all lanes are there, and whole, if they are not lines of rows that begin and end anywhere.
    #[inline(always)]
    pub(super) fn whole(&self, lined: bool) -> bool {
        !lined && self.whole != RAGGED
    }

    /// A warp's packs of both arrays, or of the only one; `blank` is what stands there for elements that are not.
    /// Whether packs are `lined`: lines of rows that begin and end anywhere. `line` is one of array number 0 or 1 at a
    /// step and an address; whether it may be `staged`. `WARP` is as in [`read`].
    #[inline(always)]
    pub(super) fn packs<S, B, O, P, const WARP: bool, const N: usize>(
        &self,
        s: &S,
        blank: [B; 2],
        spread: Spread<N>,
        [lined, staged]: [bool; 2],
        line: impl Fn(u32, u32, u64) -> [u32; 4],
        place: P,
    ) -> Packs<P, N>
    where
        S: Simt,
        B: Bits,
        O: RowOp,
        P: Fn(u32) -> Place,
    {
        let ([first, second], at) = (blank, &self.at);
        let whole = !lined && self.len.is_multiple_of(B::PER as u64);
        let aligned = lined || (at.input | self.along as u64 | self.outer as u64) & 15 == 0;
        let w = read::<S, B, WARP, N>(
            s,
            spread,
            at.input.wrapping_add(self.end),
            [aligned, whole, staged],
            first,
            |k, from| line(0, k, from),
            &place,
        );
        if !O::SECOND {
            return Packs { spread, w: [w, [[0; 4]; N]], place, whole: self.whole(lined) };
        }
        let aligned = lined || (at.second | self.second_along as u64 | self.second_outer as u64) & 15 == 0;
        let end = at.second.wrapping_add(self.second_end);
        let line = |k, from| line(1, k, from);
        let second =
            read::<S, B, WARP, N>(s, spread, end, [aligned, whole, staged], second, line, |k| place(k).of_second());
        Packs { spread, w: [w, second], place, whole: self.whole(lined) }
    }
}
