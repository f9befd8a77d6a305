//! What a result should be: computed from the generator in integers, without any array, layout or tree.

use crate::case::Case;
use crate::data::{Exact, Generator};
use crate::exact_keys::{Table, table};
use crate::keys::Keys;
use crate::side::Positions;
use crate::work::Work;
use rayon::prelude::*;
use warpfold::{Op, Precision};

/// All that is known of the elements of one output, in units of 2^-shift.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Facts {
    /// Elements that are no NaN.
    pub count: u64,
    /// NaNs.
    pub nans: u64,
    /// Elements that are neither zero nor NaN.
    pub nonzero: u64,
    /// Of the elements.
    pub sum: i128,
    /// Of their magnitudes.
    pub magnitudes: u128,
    /// Of their squares, each without its last [`Walk::dropped`] bits.
    pub squares: u128,
    /// The least, and the first place where it is.
    pub min: (i128, u64),
    /// The greatest, and the first place where it is.
    pub max: (i128, u64),
    /// Of the exponentials.
    pub exponentials: Total,
}

impl Facts {
    const NONE: Facts = Facts {
        count: 0,
        nans: 0,
        nonzero: 0,
        sum: 0,
        magnitudes: 0,
        squares: 0,
        min: (i128::MAX, u64::MAX),
        max: (i128::MIN, u64::MAX),
        exponentials: Total { sum: 0.0, lost: 0.0 },
    };

    fn join(self, right: Facts) -> Facts {
        Facts {
            count: self.count + right.count,
            nans: self.nans + right.nans,
            nonzero: self.nonzero + right.nonzero,
            sum: self.sum + right.sum,
            magnitudes: self.magnitudes + right.magnitudes,
            squares: self.squares + right.squares,
            min: if right.min.0 < self.min.0 { right.min } else { self.min },
            max: if right.max.0 > self.max.0 { right.max } else { self.max },
            exponentials: self.exponentials.plus(right.exponentials.sum).plus(right.exponentials.lost),
        }
    }
}

/// A sum of positive f64, with what its additions rounded away: without that, 2^18 terms from left to right are off by up to
/// 200 units of roundoff, which is more than the results that are checked may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Total {
    sum: f64,
    lost: f64,
}

impl Total {
    /// With one more term.
    fn plus(self, x: f64) -> Total {
        let sum = self.sum + x;
        let part = sum - self.sum;
        Total { sum, lost: self.lost + ((self.sum - (sum - part)) + (x - part)) }
    }

    /// Rounded once.
    fn value(self) -> f64 {
        if self.sum.is_finite() { self.sum + self.lost } else { self.sum }
    }
}

/// Elements that a walk over sampled outputs looks at, unless one output has more.
pub const BUDGET: usize = 1 << 25;
/// Outputs that are sampled.
pub const MOST: usize = 4096;

/// Outputs whose values are compared: the first, the last, and others in between.
pub fn positions(case: &Case) -> Positions {
    let outputs = case.outputs();
    let wanted = (BUDGET / case.count().max(1)).clamp(2, MOST);
    if outputs <= wanted {
        return Positions::All;
    }
    let at = |i: usize| (i as u128 * (outputs - 1) as u128 / (wanted - 1) as u128) as usize;
    Positions::Some((0..wanted).map(at).collect())
}

/// The way through an array's elements.
#[derive(Clone, Debug, PartialEq)]
pub struct Walk {
    generator: Generator,
    /// Length and stride in elements of each reduced axis, outermost first.
    reduced: Vec<(u64, u64)>,
    kept: Vec<(u64, u64)>,
    count: u64,
    needs_exponentials: bool,
}

impl Walk {
    /// Over a case's elements.
    pub fn new(case: &Case) -> Walk {
        let strides = case.dense_strides();
        let axis = |axis: usize| (case.shape[axis] as u64, strides[axis] as u64);
        Walk {
            generator: case.generator(),
            reduced: case.axes.iter().map(|&a| axis(a)).collect(),
            kept: case.kept().map(axis).collect(),
            count: case.count() as u64,
            needs_exponentials: case.work == Work::Op(Op::LogSumExp),
        }
    }

    /// Over all elements of a case, whatever they are taken together by.
    pub fn all(case: &Case) -> Walk {
        let n = case.elements() as u64;
        Walk { reduced: vec![(n, 1)], kept: Vec::new(), count: n, ..Walk::new(case) }
    }

    /// Bits that squares lose, so that their sum fits.
    pub fn dropped(&self) -> i32 {
        if self.generator.dtype.size() == 8 { 24 } else { 0 }
    }

    /// What is known of one output's elements.
    pub fn facts(&self, output: usize) -> Facts {
        self.pieces(place(&self.kept, output as u64), self.count)
    }

    /// What is known of the elements from `start` to before `end`, of [`Walk::all`]; places count from `start`.
    pub fn between(&self, start: u64, end: u64) -> Facts {
        self.pieces(start, end - start)
    }

    fn pieces(&self, base: u64, count: u64) -> Facts {
        const PIECE: u64 = 1 << 18;
        let piece = |i: u64| self.piece(base, i * PIECE, ((i + 1) * PIECE).min(count));
        let pieces: Vec<Facts> = (0..count.div_ceil(PIECE)).into_par_iter().map(piece).collect();
        pieces.into_iter().fold(Facts::NONE, Facts::join)
    }

    /// Of some of the elements: from the `start`th to before the `end`th.
    fn piece(&self, base: u64, start: u64, end: u64) -> Facts {
        let (mut facts, dropped) = (Facts::NONE, self.dropped());
        let unit = 0.5f64.powi(self.generator.shift());
        let Some(&(row, stride)) = self.reduced.last() else { return facts };
        let mut at = start;
        while at < end {
            let steps = (row - at % row).min(end - at);
            let first = base + place(&self.reduced, at);
            for i in 0..steps {
                let Exact::Units(k) = self.generator.exact(first + i * stride) else {
                    facts.nans += 1;
                    continue;
                };
                let magnitude = k.unsigned_abs();
                facts.count += 1;
                facts.nonzero += u64::from(k != 0);
                facts.sum += k;
                facts.magnitudes += magnitude;
                facts.squares += (magnitude * magnitude) >> dropped;
                if k < facts.min.0 {
                    facts.min = (k, at + i);
                }
                if k > facts.max.0 {
                    facts.max = (k, at + i);
                }
                if self.needs_exponentials {
                    facts.exponentials = facts.exponentials.plus((k as i64 as f64 * unit).exp());
                }
            }
            at += steps;
        }
        facts
    }
}

/// Walks whose facts are kept.
const KEPT: usize = 32;

/// What is known of some outputs' elements, kept for other reductions of the same: reading them takes longer than a GPU takes.
#[derive(Default)]
pub struct Known {
    walks: Vec<(Walk, Vec<usize>, Vec<Facts>)>,
    /// Of the last case by keys, with what it depends on.
    table: Option<(TableKey, Table)>,
}

/// Generator, shape, keys, and whether it is of distinct values.
type TableKey = (Generator, Vec<usize>, Option<Keys>, Work);

impl Known {
    /// What is known of the elements of the outputs `at`.
    pub fn facts(&mut self, walk: &Walk, at: &[usize]) -> &[Facts] {
        let known = self.walks.iter().position(|(known, outputs, _)| known == walk && outputs == at);
        let i = known.unwrap_or_else(|| {
            let facts = at.par_iter().map(|&output| walk.facts(output)).collect();
            // Cases that read the same elements stand together in a suite.
            if self.walks.len() == KEPT {
                self.walks.remove(0);
            }
            self.walks.push((walk.clone(), at.to_vec(), facts));
            self.walks.len() - 1
        });
        &self.walks[i].2
    }

    /// What is known of a case's keys, and of its elements by key.
    pub fn table(&mut self, case: &Case) -> &Table {
        let key = (case.generator(), case.shape.clone(), case.keys, case.work);
        let kept = self.table.take().filter(|(known, _)| *known == key);
        &self.table.insert(kept.unwrap_or_else(|| (key, table(case)))).1
    }
}

/// The place in memory of an index in row-major order.
fn place(axes: &[(u64, u64)], mut index: u64) -> u64 {
    let mut at = 0;
    for &(len, stride) in axes.iter().rev() {
        at += index % len * stride;
        index /= len;
    }
    at
}

/// A value, and how far from it a right result may be, before it is rounded to its dtype.
#[derive(Clone, Debug, PartialEq)]
pub enum Want {
    /// Anything: nothing is said of it.
    Any,
    /// The label of the nearest centroid, of a point.
    Label {
        /// By the definition, which is ours.
        label: usize,
        /// Those that rounding explains, of others.
        others: Vec<usize>,
    },
    /// This integer, or this one less a multiple of 2^64.
    Int(i128),
    /// This value; no rounding takes place.
    Same(f64),
    /// A rounded one.
    Near {
        /// The value.
        value: f64,
        /// For the tree: a bound on its rounding errors.
        tree: f64,
        /// For other orders, of which nothing is known: as if errors were random, and four times that.
        other: f64,
    },
}

/// What the values of one output should be.
pub fn wanted(case: &Case, walk: &Walk, facts: &Facts) -> Vec<Want> {
    match case.work {
        Work::Op(Op::MinMax) => vec![want(case, Op::Min, walk, facts), want(case, Op::Max, walk, facts)],
        Work::Op(op) => vec![want(case, op, walk, facts)],
        Work::Describe => {
            let nans = std::iter::once(Want::Int(facts.nans.into()));
            let ops = [Op::Min, Op::ArgMin, Op::Max, Op::ArgMax, Op::Mean, Op::Std, Op::Sum, Op::Norm];
            nans.chain(ops.map(|op| want(case, op, walk, facts))).collect()
        }
        // These are not of one output's elements: see `exact_keys`.
        Work::Unique | Work::Update | Work::Iterate => Vec::new(),
    }
}

/// The relative error of what is computed here, in f64.
const HERE: f64 = 1.0 / (1u64 << 50) as f64;

/// A value, with what rounding makes of it and is made of it here.
pub fn near(value: f64, tree: f64, other: f64) -> Want {
    let own = HERE * value.abs();
    Want::Near { value, tree: 1.01 * tree + own, other: 1.01 * other + own }
}

fn want(case: &Case, op: Op, walk: &Walk, facts: &Facts) -> Want {
    let is_float = case.dtype.is_float();
    let unit = 0.5f64.powi(walk.generator.shift());
    let selected = |k: i128| if is_float { Want::Same(k as f64 * unit) } else { Want::Int(k) };
    // Sums of 16-bit floats are f32's; of integers, where they round at all, f64's.
    let u = if is_float && case.dtype.size() <= 4 { 0.5f64.powi(24) } else { 0.5f64.powi(53) };
    let n = facts.count as f64;
    let depth = n.log2().ceil() + 1.0;
    let random = depth + 2.0 * n.sqrt();
    let here = HERE;
    let (sum, magnitudes) = (facts.sum as f64 * unit, facts.magnitudes as f64 * unit);
    let squares = facts.squares as f64 * 2f64.powi(walk.dropped()) * unit * unit;
    let words = match (case.precision, u > 1e-10) {
        (Precision::Tree, _) => u,
        (Precision::Compensated, true) => 0.5f64.powi(45),
        (Precision::Compensated, false) => 0.5f64.powi(100),
    };
    match op {
        Op::Min => selected(facts.min.0),
        Op::Max => selected(facts.max.0),
        Op::ArgMin => Want::Int(facts.min.1.into()),
        Op::ArgMax => Want::Int(facts.max.1.into()),
        Op::Any => Want::Int((facts.nonzero > 0).into()),
        Op::All => Want::Int((facts.nonzero == facts.count).into()),
        Op::CountNonzero => Want::Int(facts.nonzero.into()),
        Op::Sum if !is_float => Want::Int(facts.sum),
        Op::Sum => near(sum, words * depth * magnitudes, u * random * magnitudes),
        Op::Mean => near(sum / n, words * (depth + 1.0) * magnitudes / n, u * (random + 1.0) * magnitudes / n),
        Op::Norm => near(squares.sqrt(), u * (depth + 3.0) * squares.sqrt(), u * (random + 3.0) * squares.sqrt()),
        Op::Var | Op::Std => {
            let (square, mean) = (squares / n, sum / n);
            let variance = (square - mean * mean).max(0.0);
            let (tree, other) = ((4.0 * depth + 16.0) * u * square, (4.0 * random + 16.0) * u * square);
            let root = variance.sqrt();
            match op {
                Op::Var => near(variance, tree + here * square, other + here * square),
                // The root of an error, where there is nothing to divide it by.
                _ if variance < 4.0 * tree => near(root, 2.0 * tree.sqrt(), 2.0 * other.sqrt()),
                _ => near(root, (tree + here * square) / root, (other + here * square) / root),
            }
        }
        Op::LogSumExp => {
            let value = facts.exponentials.value().ln();
            near(value, u * (depth + 8.0 + 2.0 * value.abs()), u * (random + 8.0 + 2.0 * value.abs()))
        }
        Op::Prod | Op::MinMax => Want::Same(f64::NAN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each exponential is a whole number of 2^-53, so that their sum in integers is exact.
    #[test]
    fn a_sum_of_exponentials_is_off_by_one_rounding() {
        let case = crate::case::tests::case(&[1 << 18], crate::layout::Layout::C);
        let case = Case { work: Work::Op(Op::LogSumExp), dtype: warpfold::DType::F64, axes: vec![0], ..case };
        let walk = Walk::new(&case);
        let scale = 2f64.powi(53);
        let term = |i: u64| match walk.generator.exact(i) {
            Exact::Units(k) => ((k as f64 * 0.5f64.powi(52)).exp() * scale) as u128,
            Exact::Nan => panic!("a NaN among values"),
        };
        let want = (0..1 << 18).map(term).sum::<u128>() as f64 / scale;
        let found = walk.facts(0).exponentials.value();
        assert!((found / want - 1.0).abs() <= 2.0 * f64::EPSILON, "{found:?} instead of {want:?}");
        assert_eq!(Total { sum: f64::INFINITY, lost: 0.0 }.plus(1.0).value(), f64::INFINITY);
    }
}
