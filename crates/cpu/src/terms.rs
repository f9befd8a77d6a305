//! The terms of logsumexp: exponentials of ordinary elements, whose nodes are sums.

use std::marker::PhantomData;

use warpfold_core::ops::Exponential;
use warpfold_core::{Accumulate, Element, Float, Reducer};

use super::halves::Wide;

/// A float with an operation that is fused.
pub trait Fused: Element<Float = Self> + Float {
    /// `a * b + c`, rounded once.
    fn fused(a: Self, b: Self, c: Self) -> Self;
}

impl Fused for f32 {
    #[inline(always)]
    fn fused(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
}

impl Fused for f64 {
    #[inline(always)]
    fn fused(a: f64, b: f64, c: f64) -> f64 {
        a.mul_add(b, c)
    }
}

/// A float that is widened to one with fused operations.
pub trait Exponent: Wide<Float: Fused + Wide> {}

impl<T: Wide<Float: Fused + Wide>> Exponent for T {}

/// [`warpfold_core::ops::SumExp`] of elements that have been rounded to the dtype of `D`, with the same bits: of 16-bit
/// floats by fused operations.
#[derive(Clone)]
pub(super) struct Terms<T, D>(pub PhantomData<(T, D)>);

impl<T: Exponent, D: Element> Reducer for Terms<T, D> {
    type Item = T;
    type Acc = T::Float;
    type Output = T::Float;

    const INDEXED: bool = false;

    const PADDED: bool = true;

    const BY_VECTORS: bool = size_of::<D>() == 2;

    fn identity(&self) -> Option<T::Float> {
        Some(T::Float::NOTHING)
    }

    #[inline(always)]
    fn finish(&self, acc: T::Float, _count: u64) -> T::Float {
        acc
    }

    #[inline(always)]
    #[expect(clippy::redundant_closure, reason = "a closure is inlined wherever it is called")]
    fn lift(&self, x: T, _index: u64) -> T::Float {
        if D::DTYPE == <T::Float as Element>::DTYPE {
            return x.float().ordinary_exp();
        }
        x.float().fused_exp_of(
            D::DTYPE,
            #[inline(always)]
            |a, b, c| T::Float::fused(a, b, c),
        )
    }

    #[inline(always)]
    fn combine(&self, left: T::Float, right: T::Float) -> T::Float {
        left.add(right)
    }
}

/// Names a reducer that sums exponentials of elements of a dtype, in the fewest operations of a level.
macro_rules! with_terms {
    ($level:expr, $dtype:expr, $f:ty, $terms:ident => $of:expr) => {
        // Without its instruction, a fused operation is a call.
        match $dtype {
            DType::BF16 if $level != Simd::Baseline && size_of::<$f>() == 4 => {
                let $terms = Terms::<$f, bf16>(PhantomData);
                $of
            }
            DType::F16 if $level != Simd::Baseline && size_of::<$f>() == 4 => {
                let $terms = Terms::<$f, f16>(PhantomData);
                $of
            }
            _ => {
                let $terms = Terms::<$f, $f>(PhantomData);
                $of
            }
        }
    };
}
pub(super) use with_terms;
