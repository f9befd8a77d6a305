//! The list of compiled kernels: one line per entry, read by the PTX build and by the emulator.
//!
//! `reduce` entries take (input, output, n); `centroid` entries take (points, labels, sums, counts, n, clusters, coords);
//! `read` takes (input, output, n, never). Lengths are 64-bit; clusters, coords and `never` are 32-bit.

/// Calls the macro `$m` with every entry.
macro_rules! for_each_entry {
    ($m:ident) => {
        $m! {
            reduce a0_f32: f32 = a::a0::kernel::<_, f32>;
            reduce a0_i32: i32 = a::a0::kernel::<_, i32>;
            reduce a1_f32: f32 = a::a1::kernel::<_, f32>;
            reduce a1_i32: i32 = a::a1::kernel::<_, i32>;
            reduce a2_f32: f32 = a::a2::kernel::<_, f32>;
            reduce a2_i32: i32 = a::a2::kernel::<_, i32>;
            reduce a3_f32: f32 = a::a3::kernel::<_, f32>;
            reduce a3_i32: i32 = a::a3::kernel::<_, i32>;
            reduce a4_f32: f32 = a::a4::kernel::<_, f32>;
            reduce a4_i32: i32 = a::a4::kernel::<_, i32>;
            reduce a5_f32_b64: f32 = a::a5::kernel::<_, f32, 64>;
            reduce a5_f32_b128: f32 = a::a5::kernel::<_, f32, 128>;
            reduce a5_f32_b256: f32 = a::a5::kernel::<_, f32, 256>;
            reduce a5_f32_b512: f32 = a::a5::kernel::<_, f32, 512>;
            reduce a5_f32_b1024: f32 = a::a5::kernel::<_, f32, 1024>;
            reduce a5_i32_b64: i32 = a::a5::kernel::<_, i32, 64>;
            reduce a5_i32_b128: i32 = a::a5::kernel::<_, i32, 128>;
            reduce a5_i32_b256: i32 = a::a5::kernel::<_, i32, 256>;
            reduce a5_i32_b512: i32 = a::a5::kernel::<_, i32, 512>;
            reduce a5_i32_b1024: i32 = a::a5::kernel::<_, i32, 1024>;
            reduce a6_f32_b64: f32 = a::a6::kernel::<_, f32, 64>;
            reduce a6_f32_b128: f32 = a::a6::kernel::<_, f32, 128>;
            reduce a6_f32_b256: f32 = a::a6::kernel::<_, f32, 256>;
            reduce a6_f32_b512: f32 = a::a6::kernel::<_, f32, 512>;
            reduce a6_f32_b1024: f32 = a::a6::kernel::<_, f32, 1024>;
            reduce a6_i32_b64: i32 = a::a6::kernel::<_, i32, 64>;
            reduce a6_i32_b128: i32 = a::a6::kernel::<_, i32, 128>;
            reduce a6_i32_b256: i32 = a::a6::kernel::<_, i32, 256>;
            reduce a6_i32_b512: i32 = a::a6::kernel::<_, i32, 512>;
            reduce a6_i32_b1024: i32 = a::a6::kernel::<_, i32, 1024>;
            reduce a7_f32_b64: f32 = a::a7::kernel::<_, f32, 64>;
            reduce a7_f32_b128: f32 = a::a7::kernel::<_, f32, 128>;
            reduce a7_f32_b256: f32 = a::a7::kernel::<_, f32, 256>;
            reduce a7_f32_b512: f32 = a::a7::kernel::<_, f32, 512>;
            reduce a7_f32_b1024: f32 = a::a7::kernel::<_, f32, 1024>;
            reduce a7_i32_b64: i32 = a::a7::kernel::<_, i32, 64>;
            reduce a7_i32_b128: i32 = a::a7::kernel::<_, i32, 128>;
            reduce a7_i32_b256: i32 = a::a7::kernel::<_, i32, 256>;
            reduce a7_i32_b512: i32 = a::a7::kernel::<_, i32, 512>;
            reduce a7_i32_b1024: i32 = a::a7::kernel::<_, i32, 1024>;
            reduce a8_f32_b64: f32 = a::a8::kernel::<_, f32, 64>;
            reduce a8_f32_b128: f32 = a::a8::kernel::<_, f32, 128>;
            reduce a8_f32_b256: f32 = a::a8::kernel::<_, f32, 256>;
            reduce a8_f32_b512: f32 = a::a8::kernel::<_, f32, 512>;
            reduce a8_f32_b1024: f32 = a::a8::kernel::<_, f32, 1024>;
            reduce a8_i32_b64: i32 = a::a8::kernel::<_, i32, 64>;
            reduce a8_i32_b128: i32 = a::a8::kernel::<_, i32, 128>;
            reduce a8_i32_b256: i32 = a::a8::kernel::<_, i32, 256>;
            reduce a8_i32_b512: i32 = a::a8::kernel::<_, i32, 512>;
            reduce a8_i32_b1024: i32 = a::a8::kernel::<_, i32, 1024>;
            reduce b0_f32: f32 = b::b0::kernel::<_, f32>;
            reduce b0_i32: i32 = b::b0::kernel::<_, i32>;
            reduce b1_f32: f32 = b::b1::kernel::<_, f32>;
            reduce b1_i32: i32 = b::b1::kernel::<_, i32>;
            reduce b2_f32: f32 = b::b2::kernel::<_, f32>;
            reduce b2_i32: i32 = b::b2::kernel::<_, i32>;
            reduce b3_f32: f32 = b::b3::kernel::<_, f32>;
            reduce b3_i32: i32 = b::b3::kernel::<_, i32>;
            reduce b4_f32_x2: f32 = b::b4::kernel::<_, f32, 2>;
            reduce b4_f32_x4: f32 = b::b4::kernel::<_, f32, 4>;
            reduce b4_f32_x8: f32 = b::b4::kernel::<_, f32, 8>;
            reduce b4_i32_x2: i32 = b::b4::kernel::<_, i32, 2>;
            reduce b4_i32_x4: i32 = b::b4::kernel::<_, i32, 4>;
            reduce b4_i32_x8: i32 = b::b4::kernel::<_, i32, 8>;
            centroid c1: f32 = c::c1::kernel;
            centroid c2: f32 = c::c2::kernel;
            centroid c3_u1: f32 = c::c3::kernel::<_, 1>;
            centroid c3_u4: f32 = c::c3::kernel::<_, 4>;
            centroid c4_b128_u1: f32 = c::c4::kernel::<_, 128, 1>;
            centroid c4_b128_u4: f32 = c::c4::kernel::<_, 128, 4>;
            centroid c4_b256_u1: f32 = c::c4::kernel::<_, 256, 1>;
            centroid c4_b256_u4: f32 = c::c4::kernel::<_, 256, 4>;
            centroid c5_b128_u1: f32 = c::c5::kernel::<_, 128, 1>;
            centroid c5_b128_u4: f32 = c::c5::kernel::<_, 128, 4>;
            centroid c5_b256_u1: f32 = c::c5::kernel::<_, 256, 1>;
            centroid c5_b256_u4: f32 = c::c5::kernel::<_, 256, 4>;
            centroid c6_b128_u1: f32 = c::c6::kernel::<_, 128, 1>;
            centroid c6_b128_u4: f32 = c::c6::kernel::<_, 128, 4>;
            centroid c6_b256_u1: f32 = c::c6::kernel::<_, 256, 1>;
            centroid c6_b256_u4: f32 = c::c6::kernel::<_, 256, 4>;
            centroid c7_b128_u1: f32 = c::c7::kernel::<_, 128, 1>;
            centroid c7_b128_u4: f32 = c::c7::kernel::<_, 128, 4>;
            centroid c7_b256_u1: f32 = c::c7::kernel::<_, 256, 1>;
            centroid c7_b256_u4: f32 = c::c7::kernel::<_, 256, 4>;
        }
    };
}
#[cfg(target_arch = "nvptx64")]
pub(crate) use for_each_entry;
