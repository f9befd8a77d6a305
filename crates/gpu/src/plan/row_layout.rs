//! How rows lie in memory.

use warpfold_array::problem::{Dim, merge};

/// Rows whose elements lie side by side, along at most two axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowLayout {
    /// Rows.
    pub rows: usize,
    /// Elements of a row.
    pub len: usize,
    /// Rows of the inner axis.
    pub inner: usize,
    /// Bytes from row to row of the inner axis, and of the outer one, of each array.
    pub steps: [[isize; 2]; 2],
    /// The same of the mask, and bytes from element to element.
    pub mask: [isize; 3],
    /// Bytes from the first element to the end of each array.
    pub ends: [usize; 2],
    /// Whether there is a second array.
    pub is_pair: bool,
}

impl RowLayout {
    /// Of rows along `axes` (sorted) of two arrays with elements, of `size` bytes, and of a mask. None if rows are not
    /// as this type has them. An array that there is not has no steps.
    #[must_use]
    pub fn of(shape: &[usize], arrays: [&[isize]; 3], axes: &[usize], size: usize) -> Option<Self> {
        let dims = |of_row: bool| {
            let axes = (0..shape.len()).filter(|axis| axes.contains(axis) == of_row && shape[*axis] != 1);
            let step = |array: usize, axis: usize| arrays[array].get(axis).copied().unwrap_or(0);
            let dim = |axis| Dim { len: shape[axis], x: step(0, axis), out: step(1, axis), mask: step(2, axis) };
            merge(axes.map(dim).collect())
        };
        let near = size as isize;
        let (len, near) = match dims(true)[..] {
            [] => (1, 0),
            [Dim { len, x, out, mask }] if x == near && (arrays[1].is_empty() || out == near) => (len, mask),
            _ => return None,
        };
        let none = Dim { len: 1, x: 0, mask: 0, out: 0 };
        let [outer, inner] = match dims(false)[..] {
            [] => [none; 2],
            [inner] => [none, inner],
            [outer, inner] => [outer, inner],
            _ => return None,
        };
        let [x, second] = [|dim: Dim| dim.x, |dim: Dim| dim.out];
        let end = |step: fn(Dim) -> isize| {
            let furthest = |dim: Dim| step(dim).max(0) as usize * (dim.len - 1);
            furthest(outer) + furthest(inner) + len * size
        };
        Some(Self {
            rows: outer.len * inner.len,
            len,
            inner: inner.len,
            steps: [[inner.x, outer.x], [inner.out, outer.out]],
            mask: [inner.mask, outer.mask, near],
            ends: [end(x), end(second)],
            is_pair: !arrays[1].is_empty(),
        })
    }

    /// Whether rows follow one another in memory, with elements of `size` bytes.
    pub(super) fn is_dense(&self, size: usize) -> bool {
        let each = (self.len * size) as isize;
        let is_next = |[inner, _]: [isize; 2]| self.rows == 1 || inner == each;
        self.inner == self.rows && is_next(self.steps[0]) && (!self.is_pair || is_next(self.steps[1]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_lie_otherwise_are_known() {
        let of = |shape: &[usize], x: &[isize], axes: &[usize]| RowLayout::of(shape, [x, &[], &[]], axes, 4);
        assert_eq!(of(&[3, 5], &[20, 4], &[0]), None);
        let turned = of(&[2, 3, 5], &[20, 40, 4], &[2]).expect("two axes of rows");
        assert_eq!((turned.rows, turned.inner, turned.steps[0], turned.ends[0]), (6, 3, [40, 20], 120));
        let back = of(&[2, 3, 5], &[-60, 20, 4], &[1, 2]);
        assert_eq!(back.map(|rows| (rows.rows, rows.len, rows.ends[0])), Some((2, 15, 60)));
        // Rows of two arrays whose axes do not merge alike.
        let both = RowLayout::of(&[2, 3, 5], [&[60, 20, 4], &[20, 40, 4], &[]], &[2], 4).expect("two axes of rows");
        assert_eq!((both.inner, both.steps), (3, [[20, 60], [40, 20]]));
    }

    #[test]
    fn rows_that_follow_one_another_are_known() {
        let of = |shape: &[usize], arrays: [&[isize]; 3]| {
            RowLayout::of(shape, arrays, &[shape.len() - 1], 4).expect("rows along one axis").is_dense(4)
        };
        assert!(of(&[3, 5], [&[20, 4], &[], &[]]));
        assert!(of(&[2, 3, 5], [&[60, 20, 4], &[60, 20, 4], &[]]));
        assert!(of(&[1, 5], [&[24, 4], &[], &[]]), "the only row");
        assert!(!of(&[3, 5], [&[24, 4], &[], &[]]), "a gap");
        assert!(!of(&[3, 5], [&[0, 4], &[], &[]]), "one row for all");
        assert!(!of(&[3, 5], [&[20, 4], &[0, 4], &[]]), "one row of the second array for all");
        assert!(!of(&[2, 3, 5], [&[80, 20, 4], &[], &[]]), "a gap between two axes");
    }
}
