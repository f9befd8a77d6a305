//! The exact results of keyed cases.

use super::kmeans;
use super::known::Known;
use super::sample::{BUDGET, MOST, spread};
use super::table::Table;
use super::walk::Walk;
use super::want::{Want, wanted};
use crate::case::Case;
use crate::work::Work;
use rayon::prelude::*;

/// The expected result of a case.
pub struct Expected {
    /// The number of outputs.
    pub outputs: usize,
    /// The outputs that are compared, ascending.
    pub at: Vec<usize>,
    /// Their expected values.
    pub wants: Vec<Want>,
    /// A description of the elements of an output.
    pub of: String,
    /// Why no answer can be right, if so.
    pub fault: Option<String>,
}

/// The expected result of a keyed case; for an iteration of k-means, given the labels that a side found.
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
            let mut at = kmeans::points(case);
            let mut wants = wants.clone();
            at.extend(kmeans::cells(case));
            let means = labels.ok_or("labels did not come".to_owned());
            let (means, fault) = match means.and_then(|labels| kmeans::means(case, labels)) {
                Ok(means) => (means, None),
                Err(why) => (Vec::new(), Some(why)),
            };
            wants.extend(means);
            Expected { outputs: case.outputs(), at, wants, of: format!("(labels and means) of {n} points"), fault }
        }
        Table::Sums(sums) => {
            let at = spread(0, sums.len(), MOST);
            let is_mean = case.work == Work::Update;
            let is_rounded = case.dtype.is_float();
            let want = |&i: &usize| match is_rounded {
                true => sums.want(i, unit, is_mean),
                false => Want::Int(sums.exact(i)),
            };
            let wants = at.iter().map(want).collect();
            let of = format!("of {n} {}", if is_mean { "points" } else { "elements" });
            Expected { outputs: sums.len(), at, wants, of, fault: None }
        }
    }
}

/// The segments that are compared, the longest among them.
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

/// The expected result of a segment. For an empty segment it is zero, which all sides are told to fill in.
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

    #[test]
    fn the_longest_segment_is_among_those_that_are_compared() {
        let mut offsets: Vec<i64> = (0..10_000).collect();
        offsets.extend((0..10_000).map(|i| 1_000_000 + i));
        let at = some_segments(&offsets);
        assert!(at.contains(&9_999) && at.is_sorted() && at.len() <= MOST + 1);
    }
}
