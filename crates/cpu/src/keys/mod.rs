//! Reductions by key: segments of an axis, groups of equal labels, runs of equal keys, distinct values, histograms,
//! k-means.
//!
//! Every result is the one of the plain reduction of the elements concerned, in their order: segment `i` has the bits
//! of `reduce(values[offsets[i]..offsets[i + 1]])`, group `k` those of `reduce(values[labels == k])`.

/// Runs the same code for the element type of a dtype: `by_dtype!(dtype, T => T::DTYPE)`. Bools are read as `u8`.
macro_rules! by_dtype {
    ($dtype:expr, $t:ident => $body:expr) => {
        match $dtype {
            warpfold_core::DType::Bool | warpfold_core::DType::U8 => by_dtype!(@ u8, $t => $body),
            warpfold_core::DType::I8 => by_dtype!(@ i8, $t => $body),
            warpfold_core::DType::I16 => by_dtype!(@ i16, $t => $body),
            warpfold_core::DType::I32 => by_dtype!(@ i32, $t => $body),
            warpfold_core::DType::I64 => by_dtype!(@ i64, $t => $body),
            warpfold_core::DType::U16 => by_dtype!(@ u16, $t => $body),
            warpfold_core::DType::U32 => by_dtype!(@ u32, $t => $body),
            warpfold_core::DType::U64 => by_dtype!(@ u64, $t => $body),
            warpfold_core::DType::F16 => by_dtype!(@ warpfold_core::f16, $t => $body),
            warpfold_core::DType::BF16 => by_dtype!(@ warpfold_core::bf16, $t => $body),
            warpfold_core::DType::F32 => by_dtype!(@ f32, $t => $body),
            warpfold_core::DType::F64 => by_dtype!(@ f64, $t => $body),
        }
    };
    (@ $type:ty, $t:ident => $body:expr) => {{
        type $t = $type;
        $body
    }};
}

mod bins;
mod dense;
mod groups;
mod integers;
pub mod kmeans;
mod labels;
mod rank;
mod runs;
mod segments;
mod sort;
mod unique;

pub use bins::edges;
pub use bins::{Bins, Histogram, bincount, histogram};
pub use groups::{Groups, group_by};
pub use kmeans::{
    Axes, Centroids, EmptyCluster, Fit, Init, KMeans, Points, Scale, Stage, Step, centroid_update, centroid_update_with,
};
pub use runs::{Runs, reduce_by_key};
pub use segments::filled;
pub use segments::{Descriptions, Segments, segmented};
pub use unique::{Distinct, Unique, unique};
