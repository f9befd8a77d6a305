//! The library's kernels that the last rungs may launch. The emulator is compiled for no others.

use warpfold_kernels::Names;

/// The sum of a list, the greatest magnitude of points, and the update of centroids.
pub enum Launched {}

/// The names of fast folds' kernels, of those that take any elements, and others.
macro_rules! names {
    ($($fold:literal)*; $($any:literal)*; $($other:literal)*) => {
        &[
            $(
                concat!("rows_", $fold),
                concat!("runs_", $fold),
                concat!("staged_", $fold),
                concat!("columns_", $fold),
                concat!("shallow_", $fold),
                concat!("apart_", $fold),
            )*
            $(
                concat!("any_rows_", $any),
                concat!("any_columns_", $any),
            )*
            $($other,)*
        ]
    };
}

impl Names for Launched {
    const NAMES: &'static [&'static str] = names! {
        "sum_f32" "sum_b4" "max_b4";
        "sum_f32" "sum_i64" "max_f32";
        "narrow_sum_f32"
        "single_b4"
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

#[cfg(test)]
mod tests {
    use super::super::super::case::Load;
    use super::super::{centroids, sum};
    use super::*;
    use crate::plan::Sizes;
    use proptest::prelude::*;
    use warpfold_kernels::ladder::DType;

    /// A number of elements or points: few, near a power of two, or any.
    fn sizes() -> impl Strategy<Value = u64> {
        prop_oneof![0u64..70, (0u32..22, 0u64..3).prop_map(|(i, j)| (1 << i) + j), 0u64..3_000_000]
    }

    fn all_are_there(entries: &[String]) {
        entries.iter().for_each(|entry| assert!(Launched::NAMES.contains(&entry.as_str()), "{entry}"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn a_sum_launches_no_others(n in sizes(), integers in any::<bool>()) {
            let dtype = if integers { DType::I32 } else { DType::F32 };
            all_are_there(&sum::entries(Load::Elements { dtype, n }).expect("a plan"));
        }

        #[test]
        fn an_update_launches_no_others(points in sizes(), clusters in 1u32..5000, coords in 1u32..300) {
            let sizes = Sizes { points: 1 + points / u64::from(coords), clusters, coords };
            all_are_there(&centroids::entries(sizes));
            all_are_there(&centroids::scale_entries(sizes).expect("a plan"));
        }
    }
}
