//! What cases by key share on the CPU and on a GPU.

use crate::case::Case;
use warpfold::{DType, Scalar, Values};

/// Labels and means in one list.
pub fn step(labels: &[i32], means: &Values) -> Values {
    let means = (0..means.len()).map(|i| means.get(i).to_f64() as f32);
    Values::F32(labels.iter().map(|&label| label as f32).chain(means).collect())
}

/// Numbers as points of the case are computed in.
pub fn numbers(case: &Case, x: &[f64]) -> Values {
    match case.dtype {
        DType::F64 => Values::F64(x.to_vec()),
        _ => Values::F32(x.iter().map(|&x| x as f32).collect()),
    }
}

/// What a segment of no elements is filled in with, where its reduction has no result.
pub fn fill() -> Scalar {
    Scalar::I8(0)
}
