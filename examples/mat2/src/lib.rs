//! Products of 2x2 matrices, which do not commute: elements and a reducer of one's own, on CPUs and GPUs.
//!
//! This file is all that a GPU needs. It is compiled twice: for the host as always, and by `cargo warpfold-ptx` for
//! nvptx64.

#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx))]

use warpfold_core::Reducer;

warpfold_kernels::words! {
    /// A 2x2 matrix, row by row.
    #[derive(Debug, PartialEq)]
    pub struct Mat2 {
        /// Row 0, column 0.
        pub a: f32,
        /// Row 0, column 1.
        pub b: f32,
        /// Row 1, column 0.
        pub c: f32,
        /// Row 1, column 1.
        pub d: f32,
    }
}

warpfold_kernels::words! {
    /// The product of matrices, the first on the left.
    #[derive(Debug)]
    pub struct Mat2Product;
}

impl Reducer for Mat2Product {
    type Item = Mat2;
    type Acc = Mat2;
    type Output = Mat2;

    // `lift` does not look at the index, so the fast kernels can be used.
    const INDEXED: bool = false;

    // No identity: a product with (1 0 0 1) makes 0.0 of -0.0 and NaN of infinity, and would have other bits. So the
    // product of no matrices is an error.

    #[inline(always)]
    fn lift(&self, item: Mat2, _index: u64) -> Mat2 {
        item
    }

    #[inline(always)]
    fn combine(&self, l: Mat2, r: Mat2) -> Mat2 {
        Mat2 { a: l.a * r.a + l.b * r.c, b: l.a * r.b + l.b * r.d, c: l.c * r.a + l.d * r.c, d: l.c * r.b + l.d * r.d }
    }

    #[inline(always)]
    fn finish(&self, acc: Mat2, _count: u64) -> Mat2 {
        acc
    }
}

warpfold_kernels::export_reducer!(mat2: Mat2Product);

/// The compiled kernels, as `cargo warpfold-ptx` wrote them.
#[cfg(not(target_arch = "nvptx64"))]
pub const KERNELS: &[u8] = include_bytes!("../kernels.ptxz");

/// Rotations and small shears in turn, the same on every machine. Their products neither commute nor grow.
#[cfg(not(target_arch = "nvptx64"))]
pub fn matrices(n: usize) -> Vec<Mat2> {
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 40) as f32 / (1u64 << 24) as f32 - 0.5
    };
    let one = |i: usize| match i % 2 {
        0 => {
            let t = random();
            let (cos, sin) = ((1.0 - t * t) / (1.0 + t * t), 2.0 * t / (1.0 + t * t));
            Mat2 { a: cos, b: -sin, c: sin, d: cos }
        }
        _ => Mat2 { a: 1.0, b: random() * 1e-3, c: 0.0, d: 1.0 },
    };
    (0..n).map(one).collect()
}
