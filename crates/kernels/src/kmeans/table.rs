//! The list of compiled kernels for k-means, read by the PTX build and by the emulator: the parameter and the kernel of
//! each.

#[cfg(all(target_arch = "nvptx64", feature = "entries"))]
use crate::kernel::export;
#[cfg(not(target_arch = "nvptx64"))]
use crate::kernel::visit;
use crate::kernel::{each_row, tabled};
use crate::kmeans::{
    Assign, Distance, Update, assign, column, direct, distance, finish, hopper, image, nearest, sort, tile,
};
use crate::source;

/// Calls `$each` with `$with` and every kernel.
macro_rules! table {
    ($each:ident $with:tt) => {
        each_row! { $each $with
            "kmeans_tile_f32"; Update = tile::kernel::<_, source::F32, 4, { tile::ROOM }>;
            "kmeans_tile_f16"; Update = tile::kernel::<_, source::F16, 8, { tile::ROOM }>;
            "kmeans_tile_bf16"; Update = tile::kernel::<_, source::Bf16, 8, { tile::ROOM }>;
            "kmeans_tile_f64"; Update = tile::kernel::<_, source::F64, 2, { tile::ROOM / 2 }>;
            "kmeans_tile_any_f32"; Update = tile::kernel::<_, source::F32, 1, { tile::ROOM }>;
            "kmeans_tile_any_f16"; Update = tile::kernel::<_, source::F16, 1, { tile::ROOM }>;
            "kmeans_tile_any_bf16"; Update = tile::kernel::<_, source::Bf16, 1, { tile::ROOM }>;
            "kmeans_tile_any_f64"; Update = tile::kernel::<_, source::F64, 1, { tile::ROOM / 2 }>;
            "kmeans_column_f32"; Update = column::kernel::<_, source::F32>;
            "kmeans_column_f16"; Update = column::kernel::<_, source::F16>;
            "kmeans_column_bf16"; Update = column::kernel::<_, source::Bf16>;
            "kmeans_count"; Update = sort::count::<_>;
            "kmeans_offsets"; Update = sort::offsets::<_>;
            "kmeans_scatter"; Update = sort::scatter::<_>;
            "kmeans_gather_f32"; Update = sort::gather::<_, source::F32, 4>;
            "kmeans_gather_f16"; Update = sort::gather::<_, source::F16, 8>;
            "kmeans_gather_bf16"; Update = sort::gather::<_, source::Bf16, 8>;
            "kmeans_gather_f64"; Update = sort::gather::<_, source::F64, 2>;
            "kmeans_gather_any_f32"; Update = sort::gather::<_, source::F32, 1>;
            "kmeans_gather_any_f16"; Update = sort::gather::<_, source::F16, 1>;
            "kmeans_gather_any_bf16"; Update = sort::gather::<_, source::Bf16, 1>;
            "kmeans_gather_any_f64"; Update = sort::gather::<_, source::F64, 1>;
            "kmeans_centroids"; Assign = image::centroids::<_>;
            "kmeans_rough_8_f32"; Assign = nearest::kernel::<_, source::F32, 8, false, { nearest::LISTS }>;
            "kmeans_rough_8_f16"; Assign = nearest::kernel::<_, source::F16, 8, false, { nearest::LISTS }>;
            "kmeans_rough_8_bf16"; Assign = nearest::kernel::<_, source::Bf16, 8, false, { nearest::LISTS }>;
            "kmeans_rough_16_f32"; Assign = nearest::kernel::<_, source::F32, 16, false, { nearest::LISTS }>;
            "kmeans_rough_16_f16"; Assign = nearest::kernel::<_, source::F16, 16, false, { nearest::LISTS }>;
            "kmeans_rough_16_bf16"; Assign = nearest::kernel::<_, source::Bf16, 16, false, { nearest::LISTS }>;
            "kmeans_rough_32_f32"; Assign = nearest::kernel::<_, source::F32, 32, false, { nearest::LISTS }>;
            "kmeans_rough_32_f16"; Assign = nearest::kernel::<_, source::F16, 32, false, { nearest::LISTS }>;
            "kmeans_rough_32_bf16"; Assign = nearest::kernel::<_, source::Bf16, 32, false, { nearest::LISTS }>;
            "kmeans_rough_64_f32"; Assign = nearest::kernel::<_, source::F32, 64, false, { nearest::LISTS }>;
            "kmeans_rough_64_f16"; Assign = nearest::kernel::<_, source::F16, 64, false, { nearest::LISTS }>;
            "kmeans_rough_64_bf16"; Assign = nearest::kernel::<_, source::Bf16, 64, false, { nearest::LISTS }>;
            "kmeans_rough_128_f32"; Assign = nearest::kernel::<_, source::F32, 128, false, { nearest::LISTS }>;
            "kmeans_rough_128_f16"; Assign = nearest::kernel::<_, source::F16, 128, false, { nearest::LISTS }>;
            "kmeans_rough_128_bf16"; Assign = nearest::kernel::<_, source::Bf16, 128, false, { nearest::LISTS }>;
            "kmeans_fine_8_f32"; Assign = nearest::kernel::<_, source::F32, 8, true, { nearest::LISTS }>;
            "kmeans_fine_8_f16"; Assign = nearest::kernel::<_, source::F16, 8, true, { nearest::LISTS }>;
            "kmeans_fine_8_bf16"; Assign = nearest::kernel::<_, source::Bf16, 8, true, { nearest::LISTS }>;
            "kmeans_fine_16_f32"; Assign = nearest::kernel::<_, source::F32, 16, true, { nearest::LISTS }>;
            "kmeans_fine_16_f16"; Assign = nearest::kernel::<_, source::F16, 16, true, { nearest::LISTS }>;
            "kmeans_fine_16_bf16"; Assign = nearest::kernel::<_, source::Bf16, 16, true, { nearest::LISTS }>;
            "kmeans_fine_32_f32"; Assign = nearest::kernel::<_, source::F32, 32, true, { nearest::LISTS }>;
            "kmeans_fine_32_f16"; Assign = nearest::kernel::<_, source::F16, 32, true, { nearest::LISTS }>;
            "kmeans_fine_32_bf16"; Assign = nearest::kernel::<_, source::Bf16, 32, true, { nearest::LISTS }>;
            "kmeans_fine_64_f32"; Assign = nearest::kernel::<_, source::F32, 64, true, { nearest::LISTS }>;
            "kmeans_fine_64_f16"; Assign = nearest::kernel::<_, source::F16, 64, true, { nearest::LISTS }>;
            "kmeans_fine_64_bf16"; Assign = nearest::kernel::<_, source::Bf16, 64, true, { nearest::LISTS }>;
            "kmeans_fine_128_f32"; Assign = nearest::kernel::<_, source::F32, 128, true, { nearest::LISTS }>;
            "kmeans_fine_128_f16"; Assign = nearest::kernel::<_, source::F16, 128, true, { nearest::LISTS }>;
            "kmeans_fine_128_bf16"; Assign = nearest::kernel::<_, source::Bf16, 128, true, { nearest::LISTS }>;
            "kmeans_hopper_64_f32"; Assign = hopper::kernel::<_, source::F32, 64, 1>;
            "kmeans_hopper_64_f16"; Assign = hopper::kernel::<_, source::F16, 64, 1>;
            "kmeans_hopper_64_bf16"; Assign = hopper::kernel::<_, source::Bf16, 64, 1>;
            "kmeans_hopper_128_f32"; Assign = hopper::kernel::<_, source::F32, 128, 2>;
            "kmeans_hopper_128_f16"; Assign = hopper::kernel::<_, source::F16, 128, 2>;
            "kmeans_hopper_128_bf16"; Assign = hopper::kernel::<_, source::Bf16, 128, 2>;
            "kmeans_near_8_f32"; Assign = nearest::kernel::<_, source::F32, 8, false, { nearest::ALONE }>;
            "kmeans_near_8_f16"; Assign = nearest::kernel::<_, source::F16, 8, false, { nearest::ALONE }>;
            "kmeans_near_8_bf16"; Assign = nearest::kernel::<_, source::Bf16, 8, false, { nearest::ALONE }>;
            "kmeans_near_16_f32"; Assign = nearest::kernel::<_, source::F32, 16, false, { nearest::ALONE }>;
            "kmeans_near_16_f16"; Assign = nearest::kernel::<_, source::F16, 16, false, { nearest::ALONE }>;
            "kmeans_near_16_bf16"; Assign = nearest::kernel::<_, source::Bf16, 16, false, { nearest::ALONE }>;
            "kmeans_direct_f32"; Assign = direct::kernel::<_, source::F32>;
            "kmeans_direct_f16"; Assign = direct::kernel::<_, source::F16>;
            "kmeans_direct_bf16"; Assign = direct::kernel::<_, source::Bf16>;
            "kmeans_halves"; Assign = assign::halves::<_, f32>;
            "kmeans_halves_f64"; Assign = assign::halves::<_, f64>;
            "kmeans_assign_f32"; Assign = assign::kernel::<_, source::F32, _>;
            "kmeans_assign_f16"; Assign = assign::kernel::<_, source::F16, _>;
            "kmeans_assign_bf16"; Assign = assign::kernel::<_, source::Bf16, _>;
            "kmeans_assign_f64"; Assign = assign::kernel::<_, source::F64, _>;
            "kmeans_settle_f32"; Assign = assign::settle::<_, source::F32, _>;
            "kmeans_settle_f16"; Assign = assign::settle::<_, source::F16, _>;
            "kmeans_settle_bf16"; Assign = assign::settle::<_, source::Bf16, _>;
            "kmeans_distance_f32"; Distance = distance::kernel::<_, source::F32, _>;
            "kmeans_distance_f16"; Distance = distance::kernel::<_, source::F16, _>;
            "kmeans_distance_bf16"; Distance = distance::kernel::<_, source::Bf16, _>;
            "kmeans_distance_f64"; Distance = distance::kernel::<_, source::F64, _>;
            "kmeans_finish"; Update = finish::kernel::<_, f32>;
            "kmeans_finish_f64"; Update = finish::kernel::<_, f64>;
        }
    };
}

tabled!(table);
