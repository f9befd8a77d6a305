//! Walks over the elements of one output, as the generator makes them: their exact sum, extrema, squares and so on.

use crate::case::Case;
use crate::data::{Exact, Generator};
use crate::work::Work;
use rayon::prelude::*;
use warpfold::{DType, Op};

/// The facts of the elements of one output, in units of 2^-shift.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Facts {
    /// The number of elements that are not NaN.
    pub count: u64,
    /// The number of NaNs.
    pub nans: u64,
    /// The number of elements that are neither zero nor NaN.
    pub nonzero: u64,
    /// The sum of the elements.
    pub sum: i128,
    /// The sum of their magnitudes.
    pub magnitudes: u128,
    /// The sum of their squares, each without its last [`Walk::dropped`] bits.
    pub squares: u128,
    /// The least element, and its first position.
    pub min: (i128, u64),
    /// The greatest element, and its first position.
    pub max: (i128, u64),
    /// The sum of their exponentials.
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

/// A sum of positive f64, with the rounding errors of its additions. Without them, the sum of 2^18 terms from left to
/// right is off by up to 200 units of roundoff, more than the checked results may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Total {
    sum: f64,
    lost: f64,
}

impl Total {
    /// Adds a term.
    fn plus(self, x: f64) -> Total {
        let sum = self.sum + x;
        let part = sum - self.sum;
        Total { sum, lost: self.lost + ((self.sum - (sum - part)) + (x - part)) }
    }

    /// The sum, rounded once.
    pub fn value(self) -> f64 {
        if self.sum.is_finite() { self.sum + self.lost } else { self.sum }
    }
}

/// A walk through the elements of an array.
#[derive(Clone, Debug, PartialEq)]
pub struct Walk {
    generator: Generator,
    /// The length and the stride in elements of each reduced axis, outermost first.
    reduced: Vec<(u64, u64)>,
    kept: Vec<(u64, u64)>,
    count: u64,
    needs_exponentials: bool,
}

impl Walk {
    /// The walk over each output's elements of a case.
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

    /// The walk over all elements of a case, whatever its keys.
    pub fn all(case: &Case) -> Walk {
        let n = case.elements() as u64;
        Walk { reduced: vec![(n, 1)], kept: Vec::new(), count: n, ..Walk::new(case) }
    }

    /// The value of one unit: 2^-shift.
    pub fn unit(&self) -> f64 {
        0.5f64.powi(self.generator.shift())
    }

    /// The number of low bits that squares lose, so that their sum fits.
    pub fn dropped(&self) -> i32 {
        match self.generator.dtype {
            // Values are below 2^53 units. Of few elements, squares of small ones count.
            DType::F64 => (2 * 53 + self.count.next_power_of_two().ilog2() as i32 - 127).clamp(0, 24),
            dtype if dtype.size() == 8 => 24,
            _ => 0,
        }
    }

    /// The facts of one output's elements.
    pub fn facts(&self, output: usize) -> Facts {
        self.pieces(place(&self.kept, output as u64), self.count)
    }

    /// For [`Walk::all`], the facts of the elements `start..end`. Positions count from `start`.
    pub fn between(&self, start: u64, end: u64) -> Facts {
        self.pieces(start, end - start)
    }

    fn pieces(&self, base: u64, count: u64) -> Facts {
        const PIECE: u64 = 1 << 18;
        let piece = |i: u64| self.piece(base, i * PIECE, ((i + 1) * PIECE).min(count));
        let pieces: Vec<Facts> = (0..count.div_ceil(PIECE)).into_par_iter().map(piece).collect();
        pieces.into_iter().fold(Facts::NONE, Facts::join)
    }

    /// The facts of the elements `start..end` of an output.
    fn piece(&self, base: u64, start: u64, end: u64) -> Facts {
        let (mut facts, dropped) = (Facts::NONE, self.dropped());
        let unit = self.unit();
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

/// The offset in memory of an index in row-major order.
fn place(axes: &[(u64, u64)], mut index: u64) -> u64 {
    let mut at = 0;
    for &(len, stride) in axes.iter().rev() {
        at += index % len * stride;
        index /= len;
    }
    at
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
