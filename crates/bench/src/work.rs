//! The computations that cases time.

use std::str::FromStr;
use warpfold::{DType, Op};

/// The computation of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// One reduction.
    Op(Op),
    /// All statistics of `warpfold describe`.
    Describe,
    /// The distinct values, ascending.
    Unique,
    /// The update step of k-means: the means of the points of each label.
    Update,
    /// An iteration of k-means: the label of each point, and the means of the points of each label.
    Iterate,
}

/// The statistics of [`Work::Describe`], in the order of a result's values.
pub const STATS: [&str; 9] = ["nan_count", "min", "argmin", "max", "argmax", "mean", "std", "sum", "norm"];

impl Work {
    /// The name in suites and records.
    pub fn name(self) -> &'static str {
        match self {
            Work::Op(op) => op.name(),
            Work::Describe => "describe",
            Work::Unique => "unique",
            Work::Update => "kmeans-update",
            Work::Iterate => "kmeans-iteration",
        }
    }

    /// The number of values per output.
    pub fn width(self) -> usize {
        match self {
            Work::Op(Op::MinMax) => 2,
            Work::Describe => STATS.len(),
            _ => 1,
        }
    }

    /// The number of bytes per output.
    pub fn result_bytes(self, dtype: DType) -> usize {
        let of = |op: Op| op.result_dtype(dtype).size();
        match self {
            Work::Op(op) => self.width() * of(op),
            Work::Unique => dtype.size(),
            Work::Update | Work::Iterate => 4,
            Work::Describe => 8 + 2 * of(Op::Min) + 16 + 3 * of(Op::Mean) + of(Op::Sum),
        }
    }
}

impl FromStr for Work {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "describe" => Ok(Work::Describe),
            "unique" => Ok(Work::Unique),
            "kmeans-update" => Ok(Work::Update),
            "kmeans-iteration" => Ok(Work::Iterate),
            "prod" => Err("prod is not measured: there is no reference value for it; take sum".into()),
            _ => name.parse().map(Work::Op).map_err(|e: warpfold::Error| e.to_string()),
        }
    }
}
