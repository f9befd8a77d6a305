//! Rows in memory that hold elements of many lanes: what is a row, and what lies beside and between rows.
//!
//! The innermost reduced axes are walked from row to row. A lane is an index of the outer reduced axes. A row has an
//! element of each of its columns, which are lanes of the outputs.

use warpfold_array::problem::{Dim, Problem};

use super::moves::TILE;
use super::policy::{LEAST_CROSSED, LEAST_DEPTH, MOST_OF_TILES, PANEL};

/// The number in [`Problem::reduced`] of the first of the axes along which rows are walked, if units of columns are
/// reduced where they lie: the fastest axes in memory are not those of the index, nor so many outputs that these are
/// columns. `number` says that a node is one number.
///
/// If a lane is long, its elements can be transposed instead. 128 MiB, two threads of a Xeon with AVX-512, speed of a
/// plain read, of transposed elements, and of units: sum of bf16 (372827, 1, 36, 5) over axes 0, 2 and 3, of memory
/// order 3, 2, 0, 1, 28 %, 38 %; norm of f32 (2, 161, 104206), of order 0, 2, 1, 37 %, 53 %; sum of f64 (4271, 3929) in
/// Fortran order 22 %, 45 %; of f32 (82241, 410) 55 %, 62 %; of an odd number of rows, (82241, 409), 60 %, 55 %, of
/// bf16 38 %, 32 %; few columns, of which a tile has more: norm of bf16 (82, 58457, 14) 37 %, 25 %; nodes of two
/// numbers: var of f16 (22295, 3010) 29 %, 19 %, of f32 (82241, 409) 52 %, 35 %. If it is short, elements are gathered
/// one by one: std of bf16 (3, 2197, 10181) in Fortran order 2 %, 14 %; sum of f32 (2, 232, 72315) over axes 0 and 2,
/// 7 %, 55 %. There is no record.
pub fn crossing(problem: &Problem, number: bool) -> Option<usize> {
    let Problem { kept, reduced, size, count, outputs, .. } = problem;
    let is_plain = |dim: &Dim| dim.mask == 0 && dim.x.unsigned_abs().is_multiple_of(*size);
    if *count < LEAST_CROSSED || *outputs > MOST_OF_TILES || !kept.iter().chain(reduced).all(is_plain) {
        return None;
    }
    (1..reduced.len()).rev().find(|&inner| {
        let (columns, _) = Columns::of(problem, inner);
        let depth = reduced[inner..].iter().map(|dim| dim.len).product::<usize>();
        let outputs: usize = columns.0.iter().take_while(|axis| axis.lane == 0).map(|axis| axis.len).product();
        let is_wide = columns.len() >= TILE && outputs < TILE.min(columns.len());
        let pays = match columns.0.first() {
            Some(axis) if axis.lane != 0 && axis.len >= TILE => {
                let is_even = depth.is_multiple_of(2) || *size == size_of::<u64>();
                let by_lanes = depth.is_multiple_of(LEAST_DEPTH) || depth.is_power_of_two();
                number && columns.len() >= 2 * TILE && is_even && !by_lanes
            }
            _ => true,
        };
        is_wide && pays && depth >= 2 * PANEL
    })
}

/// A kept axis, or an outer reduced one, beside or between the rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    len: usize,
    /// The step in the array.
    x: isize,
    /// The step in the output.
    out: isize,
    /// The step among the lanes; 0 for a kept axis.
    lane: isize,
}

/// Some axes, the fastest one first.
pub(super) struct Columns(Vec<Axis>);

impl Columns {
    /// The axes that follow one another in memory, but for the reduced ones from number `inner` on, and the others.
    pub(super) fn of(problem: &Problem, inner: usize) -> (Self, Self) {
        let kept = problem.kept.iter().map(|dim| Axis { len: dim.len, x: dim.x, out: dim.out, lane: 0 });
        let mut lane = 1;
        let reduced = problem.reduced[..inner].iter().rev().map(|dim| {
            let axis = Axis { len: dim.len, x: dim.x, out: 0, lane };
            lane *= dim.len as isize;
            axis
        });
        let mut others: Vec<Axis> = kept.chain(reduced).collect();
        let (mut columns, mut end) = (Vec::new(), problem.size as isize);
        while let Some(next) = others.iter().position(|axis| axis.x == end) {
            let axis = others.remove(next);
            end = end.saturating_mul(axis.len as isize);
            columns.push(axis);
        }
        (Self(columns), Self(others))
    }

    /// The number of indices.
    pub(super) fn len(&self) -> usize {
        self.0.iter().map(|axis| axis.len).product()
    }

    /// Where `n` indices from one on are: in the array, in the output, and among the lanes.
    pub(super) fn places(&self, from: usize, n: usize) -> Vec<[isize; 3]> {
        let (mut rest, mut at, mut index) = (from, [0; 3], vec![0; self.0.len()]);
        let step =
            |at: [isize; 3], axis: &Axis, n: isize| [at[0] + n * axis.x, at[1] + n * axis.out, at[2] + n * axis.lane];
        for (axis, i) in self.0.iter().zip(&mut index) {
            *i = rest % axis.len;
            rest /= axis.len;
            at = step(at, axis, *i as isize);
        }
        let mut places = Vec::with_capacity(n);
        for _ in 0..n {
            places.push(at);
            for (axis, i) in self.0.iter().zip(&mut index) {
                *i += 1;
                at = step(at, axis, 1);
                if *i < axis.len {
                    break;
                }
                *i = 0;
                at = step(at, axis, -(axis.len as isize));
            }
        }
        places
    }
}

/// The step in the array from an index of some axes to the next one; 0 from the last one.
pub(super) fn to_next(axes: &[Dim], index: usize) -> isize {
    let (mut rest, mut step) = (index, 0);
    for dim in axes.iter().rev() {
        if rest % dim.len + 1 < dim.len {
            return step + dim.x;
        }
        step -= (dim.len as isize - 1) * dim.x;
        rest /= dim.len;
    }
    0
}
