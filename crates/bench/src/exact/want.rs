//! The expected values of one output, and their rounding errors.

use super::walk::{Facts, Walk};
use crate::case::Case;
use crate::work::Work;
use warpfold::{Op, Precision};

/// An expected value, and the rounding errors that a right result may have before it is rounded to its dtype.
#[derive(Clone, Debug, PartialEq)]
pub enum Want {
    /// Any value.
    Any,
    /// The label of a point's nearest centroid.
    Label {
        /// The label by our definition.
        label: usize,
        /// The labels that rounding errors of other methods explain.
        others: Vec<usize>,
    },
    /// This integer, or this one less a multiple of 2^64.
    Int(i128),
    /// This value, without rounding.
    Same(f64),
    /// A rounded value.
    Near {
        /// The value.
        value: f64,
        /// A bound on the rounding errors of the tree.
        tree: f64,
        /// The bound for unknown orders of additions: four times the error expected if the errors were random.
        other: f64,
    },
}

/// The expected values of one output.
pub fn wanted(case: &Case, walk: &Walk, facts: &Facts) -> Vec<Want> {
    match case.work {
        Work::Op(Op::MinMax) => vec![want(case, Op::Min, walk, facts), want(case, Op::Max, walk, facts)],
        Work::Op(op) => vec![want(case, op, walk, facts)],
        Work::Describe => {
            let nans = std::iter::once(Want::Int(facts.nans.into()));
            let ops = [Op::Min, Op::ArgMin, Op::Max, Op::ArgMax, Op::Mean, Op::Std, Op::Sum, Op::Norm];
            nans.chain(ops.map(|op| want(case, op, walk, facts))).collect()
        }
        // These are not reductions of one output's elements: see [`super::by_key`].
        Work::Unique | Work::Update | Work::Iterate => Vec::new(),
    }
}

/// The relative error of the expected values themselves, which are f64.
const HERE: f64 = 1.0 / (1u64 << 50) as f64;

/// A rounded value. Adds the error of the expected value itself to both bounds.
pub fn near(value: f64, tree: f64, other: f64) -> Want {
    let own = HERE * value.abs();
    Want::Near { value, tree: 1.01 * tree + own, other: 1.01 * other + own }
}

fn want(case: &Case, op: Op, walk: &Walk, facts: &Facts) -> Want {
    let is_float = case.dtype.is_float();
    let unit = walk.unit();
    let selected = |k: i128| if is_float { Want::Same(k as f64 * unit) } else { Want::Int(k) };
    // 16-bit floats accumulate in f32. Of integers, only f64 results round.
    let u = if is_float && case.dtype.size() <= 4 { 0.5f64.powi(24) } else { 0.5f64.powi(53) };
    let n = facts.count as f64;
    let depth = n.max(1.0).log2().ceil() + 1.0;
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
        // All elements are NaN and skipped.
        Op::Min | Op::Max | Op::Mean | Op::Var | Op::Std if facts.count == 0 => near(f64::NAN, 0.0, 0.0),
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
                // Near a variance of zero, the error of the root is the root of the error.
                _ if variance <= 4.0 * tree => near(root, 2.0 * tree.sqrt(), 2.0 * other.sqrt()),
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
