//! The description of a case that peers get: `bench/peers/README.md` specifies it.

use crate::case::{Case, Measure, precision_name};
use crate::data::Kind;
use crate::keys::Keys;
use serde::{Deserialize, Serialize};

/// The description of a case that every side gets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Told {
    /// The work: `sum`, …, or `describe`.
    pub op: String,
    /// The dtype, such as `f32`.
    pub dtype: String,
    /// The shape of the array.
    pub shape: Vec<usize>,
    /// The reduced axes.
    pub axes: Vec<usize>,
    /// The layout: `c`, `f`, `order:AXES`, `offset:N`, `pitch:N` or `step:N`.
    pub layout: String,
    /// The number of elements of memory before the first element.
    pub offset: usize,
    /// The stride of each axis in elements.
    pub strides: Vec<usize>,
    /// The number of elements of memory, padding and offset included.
    pub room: usize,
    /// The precision: `tree` or `compensated`.
    pub precision: String,
    /// Whether NaNs are left out.
    pub skip_nan: bool,
    /// What is timed: `call`, `latency`, `graph` or `first`.
    pub measure: Measure,
    /// The number of threads.
    pub threads: usize,
    /// The distribution of the data.
    pub kind: Kind,
    /// The seed of the data.
    pub seed: u32,
    /// The lengths of segments, such as `uniform:7`, for reductions of segments.
    pub segments: Option<String>,
    /// The number of groups, for reductions of groups; the number of distinct elements, for `unique`.
    pub groups: Option<usize>,
    /// The number of clusters, for k-means.
    pub clusters: Option<usize>,
}

impl Case {
    /// The description of this case.
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
