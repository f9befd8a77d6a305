//! The library's kernels that the last rungs may launch. The emulator is compiled for no others.

use warpfold_kernels::Names;

/// The sum of a list, the greatest magnitude of points, and the update of centroids.
pub enum Launched {}

/// The names of a fold's kernels, and others.
macro_rules! names {
    ($($fold:literal)*; $($other:literal)*) => {
        &[
            $(
                concat!("rows_", $fold),
                concat!("short_", $fold),
                concat!("tiny_", $fold),
                concat!("columns_", $fold),
                concat!("shallow_", $fold),
                concat!("parts_", $fold),
            )*
            $($other,)*
        ]
    };
}

impl Names for Launched {
    const NAMES: &'static [&'static str] = names! {
        "sum_f32" "sum_b4" "max_b4";
        "narrow_sum_f32"
        "kmeans_tile_f32"
        "kmeans_tile_any_f32"
        "kmeans_column_f32"
        "kmeans_count"
        "kmeans_offsets"
        "kmeans_scatter"
        "kmeans_gather_f32"
        "kmeans_gather_any_f32"
        "kmeans_finish"
    };
}
