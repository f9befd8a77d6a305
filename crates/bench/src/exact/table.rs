//! Facts about the keys of a case, and about its elements by key.

use super::kmeans;
use super::want::{Want, near};
use crate::case::{Case, SEED};
use crate::data::{Exact, Generator};
use crate::keys::{Keys, label};
use crate::work::Work;
use rayon::prelude::*;

/// The facts of a keyed case.
pub enum Table {
    /// The offsets of the segments.
    Offsets(Vec<i64>),
    /// Distinct values, ascending, in units.
    Distinct(Vec<i32>),
    /// Sums by label.
    Sums(Sums),
    /// The expected labels of some points.
    Labels(Vec<Want>),
}

/// Sums by label and coordinate, in units.
pub struct Sums {
    sums: Vec<i128>,
    magnitudes: Vec<u128>,
    /// The number of elements or points by label.
    counts: Vec<u64>,
    /// The number of coordinates of each label.
    width: usize,
}

impl Sums {
    fn none(labels: usize, width: usize) -> Sums {
        Sums { sums: vec![0; labels * width], magnitudes: vec![0; labels * width], counts: vec![0; labels], width }
    }

    /// The sums of `n` points of `width` coordinates. Elements are points of one coordinate.
    fn of(generator: &Generator, n: usize, labels: usize, width: usize) -> Sums {
        let threads = rayon::current_num_threads();
        let part = n.div_ceil(threads).max(1);
        let parts = (0..threads).into_par_iter().map(|t| {
            let mut part_of = Sums::none(labels, width);
            (t * part..((t + 1) * part).min(n)).for_each(|i| part_of.add(generator, i as u64));
            part_of
        });
        parts.reduce_with(Sums::join).unwrap_or_else(|| Sums::none(labels, width))
    }

    fn add(&mut self, generator: &Generator, i: u64) {
        let label = label(i, self.counts.len(), SEED);
        self.counts[label] += 1;
        for c in 0..self.width {
            if let Exact::Units(k) = generator.exact(i * self.width as u64 + c as u64) {
                self.sums[label * self.width + c] += k;
                self.magnitudes[label * self.width + c] += k.unsigned_abs();
            }
        }
    }

    fn join(mut self, other: Sums) -> Sums {
        self.sums.iter_mut().zip(&other.sums).for_each(|(a, b)| *a += b);
        self.magnitudes.iter_mut().zip(&other.magnitudes).for_each(|(a, b)| *a += b);
        self.counts.iter_mut().zip(&other.counts).for_each(|(a, b)| *a += b);
        self
    }

    /// The number of cells: labels times coordinates.
    pub fn len(&self) -> usize {
        self.sums.len()
    }

    /// Whether there are no cells.
    pub fn is_empty(&self) -> bool {
        self.sums.is_empty()
    }

    /// The exact sum of a cell, in units.
    pub fn exact(&self, cell: usize) -> i128 {
        self.sums[cell]
    }

    /// The expected sum of a cell, or its mean.
    pub fn want(&self, cell: usize, unit: f64, is_mean: bool) -> Want {
        let n = self.counts[cell / self.width] as f64;
        let per = if is_mean { n } else { 1.0 };
        let (value, size) = (self.sums[cell] as f64 * unit / per, self.magnitudes[cell] as f64 * unit / per);
        let u = 0.5f64.powi(24);
        let depth = n.max(1.0).log2().ceil() + 1.0;
        let other = u * (depth + 2.0 * n.sqrt() + per.min(2.0)) * size;
        match is_mean {
            // Fixed point: half a unit of 2^-30 of the greatest magnitude, which is below 1.
            true => near(value, 0.5f64.powi(31), other),
            false => near(value, u * depth * size, other),
        }
    }
}

/// The table of a case.
pub fn table(case: &Case) -> Table {
    let (generator, n) = (case.generator(), case.elements());
    match (case.work, case.keys) {
        (Work::Unique, _) => {
            let mut units: Vec<i32> = (0..n as u64).into_par_iter().map(|i| units(generator.exact(i)) as i32).collect();
            units.par_sort_unstable();
            units.dedup();
            Table::Distinct(units)
        }
        (_, Some(Keys::Segments(lengths))) => Table::Offsets(lengths.offsets(n, SEED)),
        (Work::Iterate, _) => Table::Labels(kmeans::labels(case)),
        (_, keys) => {
            let is_points = matches!(keys, Some(Keys::Clusters(..)));
            let width = if is_points { case.dimensions() } else { 1 };
            Table::Sums(Sums::of(&generator, case.shape[0], case.labels().unwrap_or(1), width))
        }
    }
}

fn units(exact: Exact) -> i128 {
    if let Exact::Units(k) = exact { k } else { 0 }
}
