//! What one node has of the elements of two, without a division.

use warpfold_core::Float;
use warpfold_simt::{share_f32, share_f64};

/// A float in which the weights of two nodes are computed.
pub trait Share: Float {
    /// The nearest number to `n / all`, of counts; NaN if both are zero.
    fn share(n: f32, all: f32) -> Self;
    /// A count, which is exact.
    fn of_count(n: f32) -> Self;
}

impl Share for f32 {
    #[inline(always)]
    fn share(n: f32, all: f32) -> f32 {
        share_f32(n, all)
    }
    #[inline(always)]
    fn of_count(n: f32) -> f32 {
        n
    }
}

impl Share for f64 {
    #[inline(always)]
    fn share(n: f32, all: f32) -> f64 {
        share_f64(n, all)
    }
    #[inline(always)]
    fn of_count(n: f32) -> f64 {
        n as f64
    }
}
