//! What results by key should be: computed from the generator in integers, as in [`crate::exact`].

use crate::case::{Case, SEED};
use crate::data::{Exact, Generator};
use crate::exact::{BUDGET, Known, MOST, Walk, Want, near, wanted};
use crate::exact_kmeans;
use crate::keys::{Keys, label};
use crate::work::Work;
use rayon::prelude::*;

/// What should come of a case.
pub struct Expected {
    /// How many outputs there are.
    pub outputs: usize,
    /// Those that are compared, ascending.
    pub at: Vec<usize>,
    /// What they should be.
    pub wants: Vec<Want>,
    /// What outputs are of, in words.
    pub of: String,
    /// Why nothing can be said.
    pub fault: Option<String>,
}

/// All that is known of a case's keys and elements.
pub enum Table {
    /// Where segments begin.
    Offsets(Vec<i64>),
    /// Distinct values, ascending, in units.
    Distinct(Vec<i32>),
    /// Sums by label.
    Sums(Sums),
    /// Labels of some points.
    Labels(Vec<Want>),
}

/// Sums by label and coordinate, in units.
pub struct Sums {
    sums: Vec<i128>,
    magnitudes: Vec<u128>,
    /// By label.
    counts: Vec<u64>,
    /// Coordinates of each label.
    width: usize,
}

impl Sums {
    fn none(labels: usize, width: usize) -> Sums {
        Sums { sums: vec![0; labels * width], magnitudes: vec![0; labels * width], counts: vec![0; labels], width }
    }

    /// Of `n` points, or of elements, which have one coordinate.
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

    /// The sum of a cell, or its mean.
    fn want(&self, cell: usize, unit: f64, is_mean: bool) -> Want {
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
        (Work::Iterate, _) => Table::Labels(exact_kmeans::labels(case)),
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

/// What should come of a case by keys; of an iteration of k-means, with the labels that a side found.
pub fn expected(case: &Case, known: &mut Known, labels: Option<&[i32]>) -> Expected {
    let generator = case.generator();
    let unit = 0.5f64.powi(generator.shift());
    let table = known.table(case);
    let n = case.shape[0];
    match table {
        Table::Distinct(values) => {
            let at = spread(0, values.len(), MOST);
            let want = |&i: &usize| match case.dtype.is_float() {
                true => Want::Same(f64::from(values[i]) * unit),
                false => Want::Int(values[i].into()),
            };
            let wants = at.iter().map(want).collect();
            Expected { outputs: values.len(), at, wants, of: format!("of {n} elements"), fault: None }
        }
        Table::Offsets(offsets) => {
            let walk = Walk::all(case);
            let at = some_segments(offsets);
            let wants = at.iter().map(|&i| of_segment(case, &walk, offsets[i] as u64, offsets[i + 1] as u64)).collect();
            Expected { outputs: offsets.len() - 1, at, wants, of: format!("of {n} elements"), fault: None }
        }
        Table::Labels(wants) => {
            let mut at = exact_kmeans::points(case);
            let mut wants = wants.clone();
            at.extend(exact_kmeans::cells(case));
            let means = labels.ok_or("labels did not come".to_owned());
            let (means, fault) = match means.and_then(|labels| exact_kmeans::means(case, labels)) {
                Ok(means) => (means, None),
                Err(why) => (Vec::new(), Some(why)),
            };
            wants.extend(means);
            Expected { outputs: case.outputs(), at, wants, of: format!("(labels and means) of {n} points"), fault }
        }
        Table::Sums(sums) => {
            let at = spread(0, sums.sums.len(), MOST);
            let is_mean = case.work == Work::Update;
            let is_rounded = case.dtype.is_float();
            let want = |&i: &usize| match is_rounded {
                true => sums.want(i, unit, is_mean),
                false => Want::Int(sums.sums[i]),
            };
            let wants = at.iter().map(want).collect();
            let of = format!("of {n} {}", if is_mean { "points" } else { "elements" });
            Expected { outputs: sums.sums.len(), at, wants, of, fault: None }
        }
    }
}

/// From `start` to before `end`: all, or about so many of them, the first and the last among them.
pub fn spread(start: usize, end: usize, most: usize) -> Vec<usize> {
    let n = end - start;
    if n <= most {
        return (start..end).collect();
    }
    (0..most).map(|i| start + (i as u128 * (n - 1) as u128 / (most - 1) as u128) as usize).collect()
}

/// Some segments, the longest among them.
fn some_segments(offsets: &[i64]) -> Vec<usize> {
    let segments = offsets.len() - 1;
    let n = offsets[segments].max(1) as usize;
    let most = (BUDGET as u128 * segments as u128 / n as u128).clamp(2, MOST as u128);
    let mut at = spread(0, segments, most as usize);
    let longest = (0..segments).into_par_iter().max_by_key(|&i| (offsets[i + 1] - offsets[i], segments - i));
    if let Err(place) = at.binary_search(&longest.unwrap_or(0)) {
        at.insert(place, longest.unwrap_or(0));
    }
    at
}

/// The reduction of a segment. Of no elements it is zero: so all sides are asked to fill in.
fn of_segment(case: &Case, walk: &Walk, start: u64, end: u64) -> Want {
    match (start == end, case.work) {
        (false, _) => wanted(case, walk, &walk.between(start, end)).swap_remove(0),
        (true, Work::Op(op)) if op.result_dtype(case.dtype).is_float() => Want::Same(0.0),
        (true, _) => Want::Int(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Order, Reference};
    use crate::cpu::Cpu;
    use crate::side::{Answer, Number, Side};
    use crate::suite;

    #[test]
    fn some_are_spread_over_all() {
        assert_eq!(spread(5, 8, 10), [5, 6, 7]);
        assert_eq!(spread(0, 1001, 3), [0, 500, 1000]);
    }

    #[test]
    fn the_longest_segment_is_among_those_that_are_compared() {
        let mut offsets: Vec<i64> = (0..10_000).collect();
        offsets.extend((0..10_000).map(|i| 1_000_000 + i));
        let at = some_segments(&offsets);
        assert!(at.contains(&9_999) && at.is_sorted() && at.len() <= MOST + 1);
    }

    /// Of every case by key of the suite `smoke`: our result passes, and does not with a value changed or dropped.
    /// A suite has the update of some points before their iterations.
    #[test]
    fn what_is_known_of_an_update_is_not_taken_for_an_iteration() {
        let mut known = Known::default();
        let cases = suite::load("smoke").unwrap().cases;
        let iteration = cases.iter().find(|case| case.work == Work::Iterate).unwrap();
        let update = Case { work: Work::Update, ..iteration.clone() };
        assert!(matches!(known.table(&update), Table::Sums(_)));
        assert!(matches!(known.table(iteration), Table::Labels(_)));
        assert!(matches!(known.table(&update), Table::Sums(_)));
    }

    #[test]
    fn a_wrong_value_by_key_is_caught() {
        let cases: Vec<Case> = suite::load("smoke").unwrap().cases.into_iter().filter(Case::is_keyed).collect();
        assert!(cases.len() > 40);
        for case in cases {
            let mut cpu = Cpu::new();
            cpu.prepare(&case).unwrap();
            cpu.sample().unwrap();
            let labels = (case.work == Work::Iterate).then(|| cpu.labels().unwrap());
            let reference = Reference::new(&case, &mut Known::default(), labels.as_deref());
            let answer = cpu.result(&reference.positions()).unwrap();
            let passes =
                |answer: &Answer| [Order::Tree, Order::Other].map(|order| reference.check(answer, order).passed);
            assert_eq!(passes(&answer), [true; 2], "{case}");
            let n = answer.values.len();
            for i in [0, n / 2, n - 1] {
                // Half of a label is none; so is one of the others, which may be as near by a peer's rounding.
                for wrong in [answer.values[i].to_f64() + 1.0 / 16.0, f64::NAN] {
                    let mut changed = answer.clone();
                    changed.values[i] = match answer.values[i] {
                        Number::Int(k) => Number::Int(k + 1),
                        Number::Float(_) => Number::Float(wrong),
                    };
                    assert_eq!(passes(&changed), [false; 2], "{case} {i}");
                }
            }
            let mut fewer = answer.clone();
            fewer.values.pop();
            assert_eq!(passes(&fewer), [false; 2], "{case}");
            assert_eq!(passes(&Answer { outputs: answer.outputs + 1, ..answer }), [false; 2], "{case}");
        }
    }
}
