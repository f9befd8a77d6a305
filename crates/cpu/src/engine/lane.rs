//! Axes that are one in memory, in whatever order outputs, or places, have them.

use warpfold_array::MAX_RANK;
use warpfold_array::problem::{Dim, Problem};

use crate::policy::STRIP_BYTES;

/// Axes that follow one another in memory.
pub(super) struct Lane {
    /// All of them as one axis. Its step between outputs is that of the axis that is the fastest in memory.
    pub dim: Dim,
    /// The axes, the fastest in memory first.
    parts: Vec<Dim>,
}

impl Lane {
    /// A lane of one axis.
    pub fn of(dim: Dim) -> Self {
        Self { dim, parts: vec![dim] }
    }

    /// Whether the axis goes on where the lane ends.
    pub fn goes_on(&self, dim: &Dim) -> bool {
        let end = |step: isize| step.checked_mul(self.dim.len as isize);
        self.dim.x > 0 && Some(dim.x) == end(self.dim.x) && Some(dim.mask) == end(self.dim.mask)
    }

    /// Appends an axis that goes on where the lane ends.
    pub fn append(&mut self, dim: Dim) {
        debug_assert!(self.goes_on(&dim));
        self.dim.len *= dim.len;
        self.parts.push(dim);
    }

    /// The step between the outputs of neighbours, if it is the same for all of them.
    pub fn step(&self) -> Option<isize> {
        matches!(self.parts[..], [_]).then_some(self.dim.out)
    }

    /// The places of the outputs from number `from` along the lane on.
    pub fn places(&self, from: usize, places: &mut [isize]) {
        let (mut place, mut rest) = (0, from);
        let mut at = [0; MAX_RANK];
        for (dim, at) in self.parts.iter().zip(&mut at) {
            *at = rest % dim.len;
            place += *at as isize * dim.out;
            rest /= dim.len;
        }
        // A division for each place would take longer than all else.
        for to in places {
            *to = place;
            for (dim, at) in self.parts.iter().zip(&mut at) {
                (*at, place) = (*at + 1, place + dim.out);
                if *at < dim.len {
                    break;
                }
                (*at, place) = (0, place - dim.len as isize * dim.out);
            }
        }
    }

    /// Reduced axes that follow one another in memory, from the fastest one on, and the others. Places are in `out`.
    pub fn of_reduced(problem: &Problem) -> (Self, Vec<Dim>) {
        let mut place = 1;
        let placed = |dim: &Dim| {
            let out = place;
            place *= dim.len as isize;
            Dim { out, ..*dim }
        };
        let mut others: Vec<Dim> = problem.reduced.iter().rev().map(placed).collect();
        others.reverse();
        let step = |&i: &usize| if others[i].x == 0 { usize::MAX } else { others[i].x.unsigned_abs() };
        let nearest = (0..others.len()).min_by_key(step).expect("a reduced axis");
        let mut lane = Self::of(others.remove(nearest));
        while others.len() > 1
            && lane.dim.len * problem.size < STRIP_BYTES
            && let Some(next) = others.iter().position(|dim| lane.goes_on(dim))
        {
            lane.append(others.remove(next));
        }
        (lane, others)
    }
}
