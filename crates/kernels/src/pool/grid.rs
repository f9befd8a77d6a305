//! Where a window of few elements lies in a plane, for all planes of a thread; and these planes.

use super::along::{Along, Span};
use super::number::{Elements, Floats, Of};
use super::{ELEMENTS, PADDED, Pool};
use crate::address::fixed;
use crate::block::THREADS;
use crate::source::Bits;
use warpfold_simt::Simt;

/// Planes from one on until another.
pub type Range = (u64, u64);

/// Elements of `P` planes: by row, column and plane.
pub type Window<F, const N: usize, const P: usize> = [[[F; P]; N]; N];

/// What a result takes of a plane: rows of elements.
#[derive(Clone, Copy)]
pub struct Grid<const N: usize> {
    /// The result's number in its plane.
    pub number: u32,
    /// This thread's place among those that share the planes of the result.
    slot: u64,
    /// How many rows there are.
    pub rows: u32,
    /// Elements of each.
    pub columns: u32,
    /// Bytes to the first.
    begin: i64,
    /// Bytes from row to row.
    pub down: i64,
    /// The first one's number in the plane.
    pub flat: u32,
    /// Rows of the window, or of those that hold an element: a mean is divided by these times the columns.
    pub heights: [u32; N],
    /// Columns.
    pub widths: [u32; N],
}

impl<const N: usize> Grid<N> {
    /// Whether there is an element.
    #[inline(always)]
    pub fn has(&self, row: usize, column: usize) -> bool {
        (row as u32) < self.rows && (column as u32) < self.columns
    }

    /// How many elements of the plane lie between the first one and another.
    #[inline(always)]
    pub fn beyond(&self, call: &Pool, row: usize, column: usize) -> u32 {
        row as u32 * call.axis[2].sources + column as u32
    }

    /// Of this thread.
    #[inline(always)]
    pub fn own<S: Simt, const BACKWARD: bool>(s: &S, call: &Pool) -> Self {
        let index = s.block_x() as u64 * THREADS as u64 + s.thread_x() as u64;
        let (slot, number) = call.results.divide(index);
        let (y, x) = call.axis[2].split.divide_small(number as u32);
        let take = |along: &Along, at: u32| if BACKWARD { along.windows(s, at) } else { along.elements(s, at) };
        let [rows, columns] = [take(&call.axis[1], y), take(&call.axis[2], x)];
        // What the windows from the first one on are divided by along an axis; one, of those that there are not.
        let counts = |along: &Along, windows: Span| {
            warpfold_simt::array::from_fn(
                #[inline(always)]
                |i| {
                    let window = windows.first + i as u32;
                    let is_there = (i as u32) < windows.count && (call.divides == ELEMENTS || call.divides == PADDED);
                    match (s.branch(is_there), call.divides == PADDED) {
                        (false, _) => 1,
                        (true, true) => along.padded(window),
                        (true, false) => along.elements(s, window).count,
                    }
                },
            )
        };
        let (down, right) = (call.axis[1].step, call.axis[2].step);
        Self {
            number: number as u32,
            slot,
            rows: rows.count,
            columns: columns.count,
            begin: rows.first as i64 * down + columns.first as i64 * right,
            down,
            flat: rows.first.wrapping_mul(call.axis[2].sources).wrapping_add(columns.first),
            heights: counts(&call.axis[1], if BACKWARD { rows } else { Span { first: y, count: 1, ..rows } }),
            widths: counts(&call.axis[2], if BACKWARD { columns } else { Span { first: x, count: 1, ..columns } }),
        }
    }

    /// Calls `f` for `P` planes at a time, from plane `from` until `until`, which are a multiple of `P` apart.
    #[inline(always)]
    pub fn each<S: Simt, X: Floats, const P: usize>(
        &self,
        (s, call, (from, until)): (&S, &Pool, Range),
        f: impl Fn(Planes<P>),
    ) {
        let (mut plane, step) = (from + self.slot * P as u64, call.share * P as u64);
        let size = X::Bits::SIZE as u64;
        let mut source = call.at.input.wrapping_add((plane as i64 * call.near + self.begin) as u64);
        let mut result = plane * call.results.by + self.number as u64;
        while s.again(self.slot < call.share && plane < until) {
            // Computed once, and not by a sum of its own for each plane.
            let (source_at, output_at) = (fixed(s, source), fixed(s, call.at.output + result * size));
            let sources = warpfold_simt::array::from_fn(
                #[inline(always)]
                |k| source_at.wrapping_add((k as i64 * call.near) as u64),
            );
            let outputs = warpfold_simt::array::from_fn(
                #[inline(always)]
                |k| output_at + k as u64 * (call.results.by * size),
            );
            f(Planes { first: plane, result, sources, outputs });
            plane += step;
            result += step * call.results.by;
            source = source.wrapping_add((step as i64 * call.near) as u64);
        }
    }
}

/// Some planes.
pub struct Planes<const P: usize> {
    /// The first one's number.
    pub first: u64,
    /// The number of its result.
    pub result: u64,
    /// Addresses of the first elements that a result takes.
    pub sources: [u64; P],
    /// Addresses of the results.
    outputs: [u64; P],
}

impl<const P: usize> Planes<P> {
    /// Writes the results.
    #[inline(always)]
    pub fn write<S: Simt, X: Floats>(&self, s: &S, results: [X::Value; P]) {
        let mut k = 0;
        while k < P {
            Of::<X>::write(s, 0, self.outputs[k], 0, results[k]);
            k += 1;
        }
    }
}
