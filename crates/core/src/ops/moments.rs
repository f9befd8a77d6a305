//! Variance and standard deviation: a tree of means and squared deviations.

use core::marker::PhantomData;

use super::{Plain, Precision};
use crate::element::Element;
use crate::float::Float;
use crate::real::{Accumulate, Real};
use crate::reducer::Reducer;

/// The mean of the elements under a node, and the sum of their squared distances from it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Moments<R> {
    /// The mean.
    pub mean: R,
    /// The sum of squared deviations from the mean.
    pub m2: R,
}

/// Special cases of [`Deviation`]'s nodes of plain floats. They have the same bits, and take fewer operations.
impl<F: Float> Moments<F> {
    /// The node above two elements, if both are finite. Otherwise its `m2` is not finite, but may be infinite where
    /// that of [`Moments::of_two`] is NaN.
    #[inline(always)]
    pub fn of_finite(left: F, right: F) -> Self {
        let d = right.sub(left);
        Self { mean: left.add(d.half()), m2: d.square().half() }
    }

    /// The node above two elements.
    #[inline(always)]
    pub fn of_two(left: F, right: F) -> Self {
        let Self { mean, m2 } = Self::of_finite(left, right);
        Self { mean, m2: m2.spoiled_by(left).spoiled_by(right) }
    }

    /// The node above two nodes of `each` elements, where `each` is a power of two above 1. The weight of the squared
    /// difference is `each / 2`, a power of two of at least 1, so the product is exact.
    #[inline(always)]
    pub fn of_halves(left: Self, right: Self, each: u32) -> Self {
        debug_assert!(each > 1 && each.is_power_of_two());
        let d = right.mean.sub(left.mean);
        let m2 = left.m2.add(right.m2).add_exact(d.square(), F::from_count(each as u64 / 2));
        Self { mean: left.mean.add(d.half()), m2 }
    }
}

/// The variance, or its square root: a tree of [`Moments`].
///
/// Two nodes of m and n elements are combined as in Chan, Golub and LeVeque, *Updating formulae and a pairwise
/// algorithm for computing sample variances* (1979), arranged so that equal halves need no division: the weight n/(m+n)
/// is then exactly one half.
///
/// ```
/// use warpfold_core::{ops::Deviation, tree};
///
/// assert_eq!(tree::reduce(&Deviation::<f64>::new(0.0, false), [1.0, 2.0, 3.0, 4.0]), Some(1.25));
/// ```
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(bound(serialize = "", deserialize = ""))
)]
pub struct Deviation<T, P = Plain> {
    /// Subtracted from the count in the divisor: 0 for a population, 1 for a sample.
    pub ddof: f64,
    /// Whether to take the square root (the standard deviation).
    pub root: bool,
    kind: PhantomData<(T, P)>,
}

impl<T, P> Deviation<T, P> {
    /// A variance, or (`root`) a standard deviation.
    pub fn new(ddof: f64, root: bool) -> Self {
        Self { ddof, root, kind: PhantomData }
    }
}

impl<T: Element, P: Precision<T::Float>> Reducer for Deviation<T, P> {
    type Item = T;
    type Acc = Moments<P::Real>;
    type Output = T::Mean;

    const INDEXED: bool = false;

    #[inline(always)]
    fn lift(&self, x: T, _index: u64) -> Self::Acc {
        let mean = P::widen(x.float());
        // 0 for a finite element, NaN for an infinity or a NaN.
        Moments { mean, m2: mean.sub(mean) }
    }

    #[inline(always)]
    fn combine(&self, left: Self::Acc, right: Self::Acc) -> Self::Acc {
        self.combine_counted(left, 1, right, 1)
    }

    #[inline(always)]
    fn combine_counted(&self, left: Self::Acc, m: u64, right: Self::Acc, n: u64) -> Self::Acc {
        let d = right.mean.sub(left.mean);
        let m = P::Real::from_count(m);
        let (step, weight) = if m == P::Real::from_count(n) {
            (d.half(), m.half())
        } else {
            let share = P::Real::from_count(n).div(m.add(P::Real::from_count(n)));
            (d.mul(share), m.mul(share))
        };
        Moments { mean: left.mean.add(step), m2: left.m2.add(right.m2).add(d.square().mul(weight)) }
    }

    #[inline(always)]
    fn finish(&self, acc: Self::Acc, count: u64) -> T::Mean {
        let divisor = (count as f64 - self.ddof).max(0.0);
        let variance = acc.m2.div(P::Real::from_f64(divisor));
        T::Mean::from_float(P::round(if self.root { variance.sqrt() } else { variance }))
    }

    fn finish_empty(&self) -> Option<T::Mean> {
        Some(T::Mean::from_float(P::round(P::Real::ZERO.div(P::Real::ZERO))))
    }
}
