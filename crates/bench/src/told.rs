//! A case as peers are told of it: `bench/peers/README.md` has the words.

use crate::case::{Case, Measure, precision_name};
use crate::data::Kind;
use crate::keys::Keys;
use serde::{Deserialize, Serialize};

/// What every side is told of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Told {
    /// `sum`, …, or `describe`.
    pub op: String,
    /// `f32`.
    pub dtype: String,
    /// Of the array.
    pub shape: Vec<usize>,
    /// Reduced.
    pub axes: Vec<usize>,
    /// `c`, `f`, `order:AXES`, `offset:N`, `pitch:N` or `step:N`.
    pub layout: String,
    /// From the first element to the first of all, and of each axis, in elements.
    pub offset: usize,
    /// Of each axis, in elements.
    pub strides: Vec<usize>,
    /// Elements in memory, padding and offset included.
    pub room: usize,
    /// `tree` or `compensated`.
    pub precision: String,
    /// Whether NaNs are left out.
    pub skip_nan: bool,
    /// `call`, `latency`, `graph` or `first`.
    pub measure: Measure,
    /// How many threads.
    pub threads: usize,
    /// Of the data.
    pub kind: Kind,
    /// Of the data.
    pub seed: u32,
    /// `uniform:7`, …, of reductions of segments.
    pub segments: Option<String>,
    /// How many, of reductions of groups, or as elements of `unique`.
    pub groups: Option<usize>,
    /// How many, of k-means.
    pub clusters: Option<usize>,
}

impl Case {
    /// What every side is told.
    pub fn told(&self) -> Told {
        let generator = self.generator();
        let all = || std::thread::available_parallelism().map_or(1, usize::from);
        Told {
            op: self.work.name().into(),
            dtype: self.dtype.name().into(),
            shape: self.shape.clone(),
            axes: self.axes.clone(),
            layout: self.layout.to_string(),
            offset: self.offset(),
            strides: self.strides(),
            room: self.room(),
            precision: precision_name(self.precision).into(),
            skip_nan: self.skip_nan,
            measure: self.measure,
            threads: self.threads.unwrap_or_else(all),
            kind: generator.kind,
            seed: generator.seed,
            segments: match self.keys {
                Some(Keys::Segments(lengths)) => Some(lengths.to_string()),
                _ => None,
            },
            groups: self.labels().filter(|_| !matches!(self.keys, Some(Keys::Clusters(..)))),
            clusters: self.labels().filter(|_| matches!(self.keys, Some(Keys::Clusters(..)))),
        }
    }
}
