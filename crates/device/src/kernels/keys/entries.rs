//! The list of compiled kernels for k-means, read by the PTX build and by the emulator: the parameter and the kernel of each.

/// Calls the macro `$m` with every kernel.
macro_rules! for_each_keyed {
    ($m:ident) => {
        $m! {
            "kmeans_tile_f32": Update = tile::kernel::<_, source::F32, 4>;
            "kmeans_tile_f16": Update = tile::kernel::<_, source::F16, 8>;
            "kmeans_tile_bf16": Update = tile::kernel::<_, source::Bf16, 8>;
            "kmeans_tile_any_f32": Update = tile::kernel::<_, source::F32, 1>;
            "kmeans_tile_any_f16": Update = tile::kernel::<_, source::F16, 1>;
            "kmeans_tile_any_bf16": Update = tile::kernel::<_, source::Bf16, 1>;
            "kmeans_count": Update = sort::count::<_>;
            "kmeans_offsets": Update = sort::offsets::<_>;
            "kmeans_scatter": Update = sort::scatter::<_>;
            "kmeans_gather_f32": Update = sort::gather::<_, source::F32, 4>;
            "kmeans_gather_f16": Update = sort::gather::<_, source::F16, 8>;
            "kmeans_gather_bf16": Update = sort::gather::<_, source::Bf16, 8>;
            "kmeans_gather_any_f32": Update = sort::gather::<_, source::F32, 1>;
            "kmeans_gather_any_f16": Update = sort::gather::<_, source::F16, 1>;
            "kmeans_gather_any_bf16": Update = sort::gather::<_, source::Bf16, 1>;
            "kmeans_finish": Finish = finish::kernel::<_>;
        }
    };
}
pub(crate) use for_each_keyed;
