//! Kept axes that are one in memory, in whatever order outputs have them.

use warpfold_array::problem::Dim;

/// Kept axes that follow one another in memory.
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

    /// The place of the output of number `i` along the lane.
    pub fn place(&self, i: usize) -> isize {
        let (mut place, mut rest) = (0, i);
        for dim in &self.parts {
            place += (rest % dim.len) as isize * dim.out;
            rest /= dim.len;
        }
        place
    }
}
