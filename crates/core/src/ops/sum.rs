//! Sums of floats up the tree: sum, mean, norms.

use core::marker::PhantomData;

use super::precision::{Plain, Precision};
use crate::element::Element;
use crate::real::{Accumulate, Real};
use crate::reducer::Reducer;

/// What a [`Sum`] adds up.
pub trait Term: Copy + Send + Sync + 'static {
    /// Whether it is never negative; of nothing but skipped elements, whose sum is -0.0, it is +0.0 then.
    const IS_MAGNITUDE: bool = true;
    /// The addend of an element.
    fn term<R: Real>(x: R) -> R;
    /// The sum of two elements' addends.
    #[inline(always)]
    fn pair<F, P: Precision<F>>(left: F, right: F) -> P::Real {
        Self::term(P::widen(left)).add(Self::term(P::widen(right)))
    }
}

/// The element itself.
#[derive(Clone, Copy, Debug)]
pub struct Value;
/// Its absolute value.
#[derive(Clone, Copy, Debug)]
pub struct Magnitude;
/// Its square, rounded.
#[derive(Clone, Copy, Debug)]
pub struct Square;

impl Term for Value {
    const IS_MAGNITUDE: bool = false;
    #[inline(always)]
    fn term<R: Real>(x: R) -> R {
        x
    }
    #[inline(always)]
    fn pair<F, P: Precision<F>>(left: F, right: F) -> P::Real {
        P::pair(left, right)
    }
}

impl Term for Magnitude {
    #[inline(always)]
    fn term<R: Real>(x: R) -> R {
        x.abs()
    }
}

impl Term for Square {
    #[inline(always)]
    fn term<R: Real>(x: R) -> R {
        x.square()
    }
}

/// What is made of a total.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum Finish {
    /// Itself; +0.0 for no elements.
    Total,
    /// Over the count; NaN for no elements, as NumPy.
    Mean,
    /// Its square root.
    Root,
}

/// A sum of real terms up the tree: sum, mean, 1-norm, 2-norm. `W` is the [`Term`], `P` the [`Precision`].
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(bound(serialize = "T::Float: serde::Serialize", deserialize = "T::Float: serde::Deserialize<'de>"))
)]
pub struct Sum<T: Element, W = Value, P = Plain> {
    initial: Option<T::Float>,
    skip_nan: bool,
    finish: Finish,
    kind: PhantomData<(W, P)>,
}

impl<T: Element, W, P> Sum<T, W, P> {
    /// What a mean, a 2-norm or (neither) a total makes of the sum.
    pub fn finishing(mean: bool, root: bool) -> Self {
        match (mean, root) {
            (true, _) => Self::with(Finish::Mean),
            (_, true) => Self::with(Finish::Root),
            _ => Self::with(Finish::Total),
        }
    }

    fn with(finish: Finish) -> Self {
        Self { initial: None, skip_nan: false, finish, kind: PhantomData }
    }

    /// NaNs are lifted to the identity. (A mean that skips NaNs must count what is left: see [`crate::Live`].)
    pub fn skip_nan(self, skip_nan: bool) -> Self {
        Self { skip_nan, ..self }
    }

    /// Added on the left of the total, in the accumulator's precision.
    pub fn initial(self, initial: Option<T::Float>) -> Self {
        Self { initial, ..self }
    }
}

impl<T: Element, P> Sum<T, Value, P> {
    /// The sum.
    pub fn total() -> Self {
        Self::with(Finish::Total)
    }

    /// The mean.
    pub fn mean() -> Self {
        Self::with(Finish::Mean)
    }
}

impl<T: Element, P> Sum<T, Magnitude, P> {
    /// The sum of absolute values.
    pub fn norm1() -> Self {
        Self::with(Finish::Total)
    }
}

impl<T: Element, P> Sum<T, Square, P> {
    /// The square root of the sum of squares, which are not scaled, as in NumPy.
    pub fn norm2() -> Self {
        Self::with(Finish::Root)
    }
}

impl<T: Element, W: Term, P: Precision<T::Float>> Reducer for Sum<T, W, P> {
    type Item = T;
    type Acc = P::Real;
    type Output = T::Mean;

    const INDEXED: bool = false;

    #[inline(always)]
    fn identity(&self) -> Option<P::Real> {
        Some(P::Real::NOTHING)
    }

    #[inline(always)]
    fn lift(&self, x: T, _index: u64) -> P::Real {
        let term = W::term(P::widen(x.float()));
        if self.skip_nan && x.is_nan() { P::Real::NOTHING } else { term }
    }

    #[inline(always)]
    fn lift_pair(&self, left: T, right: T, index: u64) -> P::Real {
        if self.skip_nan {
            self.lift(left, index).add(self.lift(right, index + 1))
        } else {
            W::pair::<_, P>(left.float(), right.float())
        }
    }

    #[inline(always)]
    fn combine(&self, left: P::Real, right: P::Real) -> P::Real {
        left.add(right)
    }

    #[inline(always)]
    fn finish(&self, acc: P::Real, count: u64) -> T::Mean {
        T::Mean::from_float(self.value(acc, count))
    }
}

impl<T: Element, W: Term, P: Precision<T::Float>> Sum<T, W, P> {
    /// The result of `count` elements before it is rounded to their dtype.
    #[inline(always)]
    pub fn value(&self, acc: P::Real, count: u64) -> T::Float {
        let acc = self.initial.map_or(acc, |x| P::widen(x).add(acc));
        P::round(match self.finish {
            Finish::Total if count == 0 && self.initial.is_none() => P::Real::ZERO,
            Finish::Total if W::IS_MAGNITUDE => acc.abs(),
            Finish::Total => acc,
            Finish::Mean => acc.div(P::Real::from_count(count)),
            // The empty sum is -0.0.
            Finish::Root => acc.abs().sqrt(),
        })
    }
}
