//! Products of floats up the tree.

use core::marker::PhantomData;

use super::precision::{Plain, Precision};
use crate::element::Element;
use crate::real::Accumulate;
use crate::reducer::Reducer;

/// A product of floats up the tree.
///
/// ```
/// use warpfold_core::{ops::Product, tree};
///
/// assert_eq!(tree::reduce(&Product::<f32>::new(Some(10.0), true), [2.0, f32::NAN, 3.0]), Some(60.0));
/// ```
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(bound(serialize = "T::Float: serde::Serialize", deserialize = "T::Float: serde::Deserialize<'de>"))
)]
pub struct Product<T: Element, P = Plain> {
    /// Multiplied on the left of the product.
    pub initial: Option<T::Float>,
    /// Whether NaNs are lifted to one.
    pub skip_nan: bool,
    kind: PhantomData<P>,
}

impl<T: Element, P> Product<T, P> {
    /// The reducer.
    pub fn new(initial: Option<T::Float>, skip_nan: bool) -> Self {
        Self { initial, skip_nan, kind: PhantomData }
    }
}

impl<T: Element, P: Precision<T::Float>> Reducer for Product<T, P> {
    type Item = T;
    type Acc = P::Real;
    type Output = T::Mean;

    const INDEXED: bool = false;

    #[inline(always)]
    fn identity(&self) -> Option<P::Real> {
        Some(P::Real::ONE)
    }

    #[inline(always)]
    fn lift(&self, x: T, _index: u64) -> P::Real {
        if self.skip_nan && x.is_nan() { P::Real::ONE } else { P::widen(x.float()) }
    }

    #[inline(always)]
    fn combine(&self, left: P::Real, right: P::Real) -> P::Real {
        left.mul(right)
    }

    #[inline(always)]
    fn finish(&self, acc: P::Real, _count: u64) -> T::Mean {
        T::Mean::from_float(P::round(self.initial.map_or(acc, |x| P::widen(x).mul(acc))))
    }
}
