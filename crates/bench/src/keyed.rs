//! Parts of keyed cases that the CPU and GPUs share.

use crate::case::Case;
use warpfold::{DType, Scalar, Values};

/// Labels, followed by means, in one list.
pub fn step(labels: &[i32], means: &Values) -> Values {
    let means = (0..means.len()).map(|i| means.get(i).to_f64() as f32);
    Values::F32(labels.iter().map(|&label| label as f32).chain(means).collect())
}

/// Numbers in the compute dtype of the case's points.
pub fn numbers(case: &Case, x: &[f64]) -> Values {
    match case.dtype {
        DType::F64 => Values::F64(x.to_vec()),
        _ => Values::F32(x.iter().map(|&x| x as f32).collect()),
    }
}

/// The result of an empty segment, where the reduction of no elements has none.
pub fn fill() -> Scalar {
    Scalar::I8(0)
}
