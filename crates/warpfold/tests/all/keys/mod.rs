//! Segments, groups, runs, distinct values and bins: each result has the bits of the plain reduction of its elements.

mod bins;
mod contract;
mod distinct;
mod errors;
mod groups;
mod runs;
mod segments;

use warpfold::core::Element;
use warpfold::{ArrayRef, DType, Scalar, Values};

/// Bits of a list of results.
fn bits(values: &Values) -> Vec<(u64, usize)> {
    (0..values.len()).map(|i| values.get(i).bits()).collect()
}

fn list(x: &[i64]) -> ArrayRef<'_> {
    ArrayRef::from_slice(x, &[x.len()]).unwrap()
}

/// A number in another dtype.
trait To {
    fn to(self, dtype: DType) -> Self;
}

impl To for Scalar {
    fn to(self, dtype: DType) -> Scalar {
        Values::F64(vec![f64::from_cast(self.to_cast())]).cast(dtype).get(0)
    }
}
