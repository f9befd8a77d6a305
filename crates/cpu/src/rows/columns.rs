//! Sums down the rows, one for each element of a row: the tree, of vectors.

use crate::simd::vectorize;

use super::lines::RowFloat;

/// The sums of rows that begin at a multiple of a power of two, of which there are at most as many. A binary counter:
/// level l holds the sum of 2^l rows.
pub struct Columns<F> {
    width: usize,
    rows: usize,
    levels: Vec<Vec<F>>,
}

impl<F: RowFloat> Columns<F> {
    /// No rows yet.
    pub fn new(width: usize) -> Self {
        Self { width, rows: 0, levels: Vec::new() }
    }

    /// Adds the elements from `from` on, `n` of each, of the rows from number `row` on, which are changed. All elements
    /// of the rows before have been added.
    pub fn add(&mut self, mut row: usize, from: usize, n: usize, mut x: &mut [F]) {
        while !x.is_empty() {
            // As many rows as are a node.
            let whole = 1 << (x.len() / n).ilog2();
            let rows = if row == 0 { whole } else { whole.min(1 << row.trailing_zeros()) };
            let (node, rest) = x.split_at_mut(rows * n);
            self.add_node(row, rows, from, root(node, n));
            (row, x) = (row + rows, rest);
        }
    }

    /// Adds the sum of some rows, a power of two, which are a node.
    fn add_node(&mut self, row: usize, rows: usize, from: usize, x: &mut [F]) {
        self.rows = row + rows;
        let (lowest, place) = (rows.ilog2() as usize, row / rows);
        let level = lowest + place.trailing_ones() as usize;
        while self.levels.len() <= level {
            self.levels.push(vec![F::ZERO; self.width]);
        }
        for left in &self.levels[lowest..level] {
            add(&left[from..from + x.len()], x);
        }
        self.levels[level][from..from + x.len()].copy_from_slice(x);
    }

    /// The sum of all rows; `None` if there are none.
    fn root(self) -> Option<Vec<F>> {
        let rows = self.rows;
        let nodes = self.levels.into_iter().enumerate().filter(|(level, _)| rows >> level & 1 == 1);
        nodes.map(|(_, node)| node).reduce(|mut right, left| {
            add(&left, &mut right);
            right
        })
    }

    /// The sum of the rows of parts, all of which but the last have the same number of rows, a power of two. Of no rows
    /// it is zero.
    pub fn join(parts: Vec<Self>, width: usize) -> Vec<F> {
        let mut nodes: Vec<Vec<F>> = parts.into_iter().filter_map(Self::root).collect();
        while nodes.len() > 1 {
            let mut pairs = nodes.into_iter();
            nodes = Vec::new();
            while let Some(left) = pairs.next() {
                nodes.push(match pairs.next() {
                    Some(mut right) => {
                        add(&left, &mut right);
                        right
                    }
                    None => left,
                });
            }
        }
        nodes.pop().unwrap_or_else(|| vec![F::ZERO; width])
    }
}

/// The sum of rows of `n` elements, a power of two of them, which are changed.
fn root<F: RowFloat>(rows: &mut [F], n: usize) -> &mut [F] {
    let mut left = rows.len() / n;
    vectorize(
        #[inline(always)]
        || {
            while left > 1 {
                left /= 2;
                let (first, second) = rows.split_at_mut(n);
                for (a, b) in first.iter_mut().zip(second) {
                    *a = a.add(*b);
                }
                for row in 1..left {
                    let (before, pair) = rows.split_at_mut(2 * row * n);
                    let (a, b) = pair[..2 * n].split_at(n);
                    for ((to, a), b) in before[row * n..][..n].iter_mut().zip(a).zip(b) {
                        *to = a.add(*b);
                    }
                }
            }
        },
    );
    &mut rows[..n]
}

/// `right[i] = left[i] + right[i]`.
fn add<F: RowFloat>(left: &[F], right: &mut [F]) {
    vectorize(
        #[inline(always)]
        || {
            for (a, b) in left.iter().zip(right) {
                *b = a.add(*b);
            }
        },
    );
}
