//! The list of compiled kernels: one line per entry, read by the PTX build and by the emulator.
//!
//! `reduce` entries take (input, output, n); `centroid` entries take (points, labels, sums, counts, n, clusters,
//! coords); `read` takes (input, output, n, never). Lengths are 64-bit; clusters, coords and `never` are 32-bit.

/// Calls the macro `$m` with every entry.
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_rung {
    ($m:ident) => {
        $m! {
            reduce a0_f32: f32 = $crate::ladder::a::a0::kernel::<_, f32>;
            reduce a0_i32: i32 = $crate::ladder::a::a0::kernel::<_, i32>;
            reduce a1_f32: f32 = $crate::ladder::a::a1::kernel::<_, f32>;
            reduce a1_i32: i32 = $crate::ladder::a::a1::kernel::<_, i32>;
            reduce a2_f32: f32 = $crate::ladder::a::a2::kernel::<_, f32>;
            reduce a2_i32: i32 = $crate::ladder::a::a2::kernel::<_, i32>;
            reduce a3_f32: f32 = $crate::ladder::a::a3::kernel::<_, f32>;
            reduce a3_i32: i32 = $crate::ladder::a::a3::kernel::<_, i32>;
            reduce a4_f32: f32 = $crate::ladder::a::a4::kernel::<_, f32>;
            reduce a4_i32: i32 = $crate::ladder::a::a4::kernel::<_, i32>;
            reduce a5_f32_b64: f32 = $crate::ladder::a::a5::kernel::<_, f32, 64>;
            reduce a5_f32_b128: f32 = $crate::ladder::a::a5::kernel::<_, f32, 128>;
            reduce a5_f32_b256: f32 = $crate::ladder::a::a5::kernel::<_, f32, 256>;
            reduce a5_f32_b512: f32 = $crate::ladder::a::a5::kernel::<_, f32, 512>;
            reduce a5_f32_b1024: f32 = $crate::ladder::a::a5::kernel::<_, f32, 1024>;
            reduce a5_i32_b64: i32 = $crate::ladder::a::a5::kernel::<_, i32, 64>;
            reduce a5_i32_b128: i32 = $crate::ladder::a::a5::kernel::<_, i32, 128>;
            reduce a5_i32_b256: i32 = $crate::ladder::a::a5::kernel::<_, i32, 256>;
            reduce a5_i32_b512: i32 = $crate::ladder::a::a5::kernel::<_, i32, 512>;
            reduce a5_i32_b1024: i32 = $crate::ladder::a::a5::kernel::<_, i32, 1024>;
            reduce a6_f32_b64: f32 = $crate::ladder::a::a6::kernel::<_, f32, 64>;
            reduce a6_f32_b128: f32 = $crate::ladder::a::a6::kernel::<_, f32, 128>;
            reduce a6_f32_b256: f32 = $crate::ladder::a::a6::kernel::<_, f32, 256>;
            reduce a6_f32_b512: f32 = $crate::ladder::a::a6::kernel::<_, f32, 512>;
            reduce a6_f32_b1024: f32 = $crate::ladder::a::a6::kernel::<_, f32, 1024>;
            reduce a6_i32_b64: i32 = $crate::ladder::a::a6::kernel::<_, i32, 64>;
            reduce a6_i32_b128: i32 = $crate::ladder::a::a6::kernel::<_, i32, 128>;
            reduce a6_i32_b256: i32 = $crate::ladder::a::a6::kernel::<_, i32, 256>;
            reduce a6_i32_b512: i32 = $crate::ladder::a::a6::kernel::<_, i32, 512>;
            reduce a6_i32_b1024: i32 = $crate::ladder::a::a6::kernel::<_, i32, 1024>;
            reduce a7_f32_b64: f32 = $crate::ladder::a::a7::kernel::<_, f32, 64>;
            reduce a7_f32_b128: f32 = $crate::ladder::a::a7::kernel::<_, f32, 128>;
            reduce a7_f32_b256: f32 = $crate::ladder::a::a7::kernel::<_, f32, 256>;
            reduce a7_f32_b512: f32 = $crate::ladder::a::a7::kernel::<_, f32, 512>;
            reduce a7_f32_b1024: f32 = $crate::ladder::a::a7::kernel::<_, f32, 1024>;
            reduce a7_i32_b64: i32 = $crate::ladder::a::a7::kernel::<_, i32, 64>;
            reduce a7_i32_b128: i32 = $crate::ladder::a::a7::kernel::<_, i32, 128>;
            reduce a7_i32_b256: i32 = $crate::ladder::a::a7::kernel::<_, i32, 256>;
            reduce a7_i32_b512: i32 = $crate::ladder::a::a7::kernel::<_, i32, 512>;
            reduce a7_i32_b1024: i32 = $crate::ladder::a::a7::kernel::<_, i32, 1024>;
            reduce a8_f32_b64: f32 = $crate::ladder::a::a8::kernel::<_, f32, 64>;
            reduce a8_f32_b128: f32 = $crate::ladder::a::a8::kernel::<_, f32, 128>;
            reduce a8_f32_b256: f32 = $crate::ladder::a::a8::kernel::<_, f32, 256>;
            reduce a8_f32_b512: f32 = $crate::ladder::a::a8::kernel::<_, f32, 512>;
            reduce a8_f32_b1024: f32 = $crate::ladder::a::a8::kernel::<_, f32, 1024>;
            reduce a8_i32_b64: i32 = $crate::ladder::a::a8::kernel::<_, i32, 64>;
            reduce a8_i32_b128: i32 = $crate::ladder::a::a8::kernel::<_, i32, 128>;
            reduce a8_i32_b256: i32 = $crate::ladder::a::a8::kernel::<_, i32, 256>;
            reduce a8_i32_b512: i32 = $crate::ladder::a::a8::kernel::<_, i32, 512>;
            reduce a8_i32_b1024: i32 = $crate::ladder::a::a8::kernel::<_, i32, 1024>;
            reduce b0_f32: f32 = $crate::ladder::b::b0::kernel::<_, f32>;
            reduce b0_i32: i32 = $crate::ladder::b::b0::kernel::<_, i32>;
            reduce b1_f32: f32 = $crate::ladder::b::b1::kernel::<_, f32>;
            reduce b1_i32: i32 = $crate::ladder::b::b1::kernel::<_, i32>;
            reduce b2_f32: f32 = $crate::ladder::b::b2::kernel::<_, f32>;
            reduce b2_i32: i32 = $crate::ladder::b::b2::kernel::<_, i32>;
            reduce b3_f32: f32 = $crate::ladder::b::b3::kernel::<_, f32>;
            reduce b3_i32: i32 = $crate::ladder::b::b3::kernel::<_, i32>;
            reduce b4_f32_x2: f32 = $crate::ladder::b::b4::kernel::<_, f32, 2>;
            reduce b4_f32_x4: f32 = $crate::ladder::b::b4::kernel::<_, f32, 4>;
            reduce b4_f32_x8: f32 = $crate::ladder::b::b4::kernel::<_, f32, 8>;
            reduce b4_i32_x2: i32 = $crate::ladder::b::b4::kernel::<_, i32, 2>;
            reduce b4_i32_x4: i32 = $crate::ladder::b::b4::kernel::<_, i32, 4>;
            reduce b4_i32_x8: i32 = $crate::ladder::b::b4::kernel::<_, i32, 8>;
            centroid c1: f32 = $crate::ladder::c::c1::kernel;
            centroid c2: f32 = $crate::ladder::c::c2::kernel;
            centroid c3_u1: f32 = $crate::ladder::c::c3::kernel::<_, 1>;
            centroid c3_u4: f32 = $crate::ladder::c::c3::kernel::<_, 4>;
            centroid c4_b128_u1: f32 = $crate::ladder::c::c4::kernel::<_, 128, 1>;
            centroid c4_b128_u4: f32 = $crate::ladder::c::c4::kernel::<_, 128, 4>;
            centroid c4_b256_u1: f32 = $crate::ladder::c::c4::kernel::<_, 256, 1>;
            centroid c4_b256_u4: f32 = $crate::ladder::c::c4::kernel::<_, 256, 4>;
            centroid c5_b128_u1: f32 = $crate::ladder::c::c5::kernel::<_, 128, 1>;
            centroid c5_b128_u4: f32 = $crate::ladder::c::c5::kernel::<_, 128, 4>;
            centroid c5_b256_u1: f32 = $crate::ladder::c::c5::kernel::<_, 256, 1>;
            centroid c5_b256_u4: f32 = $crate::ladder::c::c5::kernel::<_, 256, 4>;
            centroid c6_b128_u1: f32 = $crate::ladder::c::c6::kernel::<_, 128, 1>;
            centroid c6_b128_u4: f32 = $crate::ladder::c::c6::kernel::<_, 128, 4>;
            centroid c6_b256_u1: f32 = $crate::ladder::c::c6::kernel::<_, 256, 1>;
            centroid c6_b256_u4: f32 = $crate::ladder::c::c6::kernel::<_, 256, 4>;
            centroid c7_b128_u1: f32 = $crate::ladder::c::c7::kernel::<_, 128, 1>;
            centroid c7_b128_u4: f32 = $crate::ladder::c::c7::kernel::<_, 128, 4>;
            centroid c7_b256_u1: f32 = $crate::ladder::c::c7::kernel::<_, 256, 1>;
            centroid c7_b256_u4: f32 = $crate::ladder::c::c7::kernel::<_, 256, 4>;
        }
    };
}

#[cfg(all(target_arch = "nvptx64", feature = "entries"))]
mod export {
    //! The exported kernels.

    use crate::ladder::c::Centroids;
    use crate::ladder::read;
    use crate::probe;
    use warpfold_simt::Global;
    use warpfold_simt::hardware::Hardware;

    macro_rules! export {
        ($($class:ident $name:ident: $t:ty = $kernel:expr;)*) => {
            $(export_one!($class $name $t, $kernel);)*
        };
    }

    macro_rules! export_one {
        (reduce $name:ident $t:ty, $kernel:expr) => {
            /// # Safety
            /// As `Global::from_raw`; `input` has `n` elements, `output` what the plan says.
            #[unsafe(no_mangle)]
            pub unsafe extern "ptx-kernel" fn $name(input: *mut $t, output: *mut $t, n: usize) {
                // SAFETY: the caller's promise.
                let (input, output) = unsafe { (Global::from_raw(input), Global::from_raw(output)) };
                $kernel(&Hardware, input, output, n)
            }
        };
        (centroid $name:ident $t:ty, $kernel:expr) => {
            /// # Safety
            /// As `Global::from_raw`; the sizes are those of `Centroids`, and labels are below `clusters`.
            #[unsafe(no_mangle)]
            pub unsafe extern "ptx-kernel" fn $name(
                points: *mut $t,
                labels: *mut i32,
                sums: *mut $t,
                counts: *mut u32,
                n: usize,
                clusters: u32,
                coords: u32,
            ) {
                // SAFETY: the caller's promise.
                let at = unsafe {
                    Centroids {
                        points: Global::from_raw(points),
                        labels: Global::from_raw(labels),
                        sums: Global::from_raw(sums),
                        counts: Global::from_raw(counts),
                        n,
                        clusters,
                        coords,
                    }
                };
                $kernel(&Hardware, at)
            }
        };
    }

    for_each_rung!(export);

    /// # Safety
    /// As `Global::from_raw`; `input` has `n` words and is aligned to 16 bytes, `output` one word per block.
    #[unsafe(no_mangle)]
    pub unsafe extern "ptx-kernel" fn read_u32(input: *mut u32, output: *mut u32, n: usize, never: u32) {
        // SAFETY: the caller's promise.
        let (input, output) = unsafe { (Global::from_raw(input), Global::from_raw(output)) };
        read::kernel(&Hardware, input, output, n, never)
    }

    /// # Safety
    /// As `Global::from_raw`, with the sizes that `probe::kernel` says.
    #[unsafe(no_mangle)]
    pub unsafe extern "ptx-kernel" fn probe(input: *mut u32, totals: *mut u32, output: *mut u32) {
        // SAFETY: the caller's promise.
        let (input, totals, output) =
            unsafe { (Global::from_raw(input), Global::from_raw(totals), Global::from_raw(output)) };
        probe::kernel(&Hardware, input, totals, output)
    }
}
