//! logsumexp in one read.

use core::fmt::Debug;
use core::marker::PhantomData;

use super::precision::{Plain, Precision};
use crate::element::Element;
use crate::exponential::Exponential;
use crate::real::{Accumulate, Real};
use crate::reducer::Reducer;

/// A sum of exponentials: `sum` times 2 to [`Exponential::STEP`] times `scale`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Powers<E, R> {
    /// The scale, in steps: the greatest of the elements under the node. For elements so large that they are their own
    /// scale ([`Exponential::scaled_exp`]), the greatest element.
    pub scale: E,
    /// The sum of the exponentials in that scale.
    pub sum: R,
}

/// `log(sum(exp(x)))` in one read.
///
/// Every element is a term in a scale of its own. Two nodes are combined in the greater scale: the other node is
/// multiplied by a power of two, which is exact. So the maximum need not be known beforehand. Scales are coarse: all
/// ordinary elements have scale zero, where a node is a plain sum. The logsumexp of no elements is minus infinity.
///
/// ```
/// use warpfold_core::{ops::LogSumExp, tree};
///
/// assert_eq!(tree::reduce(&LogSumExp::<f64>::new(), [1000.0, 1000.0]), Some(1000.0 + 2f64.ln()));
/// ```
#[derive(Clone, Debug, Default)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(bound(serialize = "", deserialize = ""))
)]
pub struct LogSumExp<T, P = Plain>(PhantomData<(T, P)>);

impl<T, P> LogSumExp<T, P> {
    /// The reducer.
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T: Element, P: Precision<T::Float>> Reducer for LogSumExp<T, P> {
    type Item = T;
    type Acc = Powers<T::Float, P::Real>;
    type Output = T::Mean;

    const INDEXED: bool = false;

    #[inline(always)]
    fn identity(&self) -> Option<Self::Acc> {
        Some(Powers { scale: T::Float::NO_TERM, sum: P::Real::ZERO })
    }

    #[inline(always)]
    fn lift(&self, x: T, _index: u64) -> Self::Acc {
        let (scale, term) = x.float().scaled_exp();
        Powers { scale, sum: P::widen(term) }
    }

    #[inline(always)]
    fn combine(&self, left: Self::Acc, right: Self::Acc) -> Self::Acc {
        let scale = if left.scale > right.scale { left.scale } else { right.scale };
        let down = |node: Self::Acc| node.sum.mul(P::widen(T::Float::fall(scale.sub(node.scale))));
        Powers { scale, sum: down(left).add(down(right)) }
    }

    #[inline(always)]
    fn finish(&self, acc: Self::Acc, _count: u64) -> T::Mean {
        T::Mean::from_float(T::Float::log(acc.scale, P::round(acc.sum)))
    }
}

/// The sum of the exponentials of ordinary elements ([`Exponential::is_ordinary`]). Its nodes are the sums of the nodes
/// of [`LogSumExp`] with scale zero.
#[derive(Clone, Copy, Debug)]
pub struct SumExp<T>(PhantomData<T>);

impl<T: Element> SumExp<T> {
    /// The reducer.
    #[inline(always)]
    pub fn new() -> Self {
        Self(PhantomData)
    }

    /// Converts a node to a node of [`LogSumExp`], with scale 0.
    #[inline(always)]
    pub fn raise<R>(sum: R) -> Powers<T::Float, R> {
        Powers { scale: T::Float::ZERO, sum }
    }
}

impl<T: Element> Default for SumExp<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Element> Reducer for SumExp<T> {
    type Item = T;
    type Acc = T::Float;
    type Output = T::Float;

    const INDEXED: bool = false;

    #[inline(always)]
    fn lift(&self, x: T, _index: u64) -> T::Float {
        x.float().ordinary_exp()
    }

    #[inline(always)]
    fn combine(&self, left: T::Float, right: T::Float) -> T::Float {
        left.add(right)
    }

    #[inline(always)]
    fn finish(&self, acc: T::Float, _count: u64) -> T::Float {
        acc
    }
}
