//! What is computed.

use std::str::FromStr;
use warpfold::{DType, Op};

/// What is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// One reduction.
    Op(Op),
    /// All that `warpfold describe` computes.
    Describe,
}

/// The statistics of [`Work::Describe`], in the order of a result's values.
pub const STATS: [&str; 9] = ["nan_count", "min", "argmin", "max", "argmax", "mean", "std", "sum", "norm"];

impl Work {
    /// The name in suites and records.
    pub fn name(self) -> &'static str {
        match self {
            Work::Op(op) => op.name(),
            Work::Describe => "describe",
        }
    }

    /// Values per output.
    pub fn width(self) -> usize {
        match self {
            Work::Op(Op::MinMax) => 2,
            Work::Op(_) => 1,
            Work::Describe => STATS.len(),
        }
    }

    /// Bytes per output.
    pub fn result_bytes(self, dtype: DType) -> usize {
        let of = |op: Op| op.result_dtype(dtype).size();
        match self {
            Work::Op(op) => self.width() * of(op),
            Work::Describe => 8 + 2 * of(Op::Min) + 16 + 3 * of(Op::Mean) + of(Op::Sum),
        }
    }
}

impl FromStr for Work {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "describe" => Ok(Work::Describe),
            "prod" => Err("prod is not measured: there is no reference value for it; take sum".into()),
            _ => name.parse().map(Work::Op).map_err(|e: warpfold::Error| e.to_string()),
        }
    }
}
