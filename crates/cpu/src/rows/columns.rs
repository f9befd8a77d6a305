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

    /// Adds the elements from `from` on of row number `row`, which are changed. All elements of the rows before have
    /// been added.
    pub fn add(&mut self, row: usize, from: usize, x: &mut [F]) {
        self.rows = row + 1;
        let level = row.trailing_ones() as usize;
        for left in &self.levels[..level] {
            add(&left[from..from + x.len()], x);
        }
        if level == self.levels.len() {
            self.levels.push(vec![F::ZERO; self.width]);
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
