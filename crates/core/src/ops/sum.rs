//! Sums of floats up the tree: sum, mean, norms.

use core::marker::PhantomData;

use super::precision::{Plain, Precision};
use crate::dtype::DType;
use crate::element::Element;
use crate::real::{Accumulate, Real};
use crate::reducer::{Addend, Reducer};

/// The addend of an element in a [`Sum`].
pub trait Term: Copy + Send + Sync + 'static {
    /// Whether no addend is negative. Then the sum of skipped elements alone is +0.0 instead of the tree's -0.0.
    const IS_MAGNITUDE: bool = true;
    /// The addend of an element.
    fn term<R: Real>(x: R) -> R;
    /// The same by name.
    fn addend(dtype: DType) -> Addend;
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
    fn addend(dtype: DType) -> Addend {
        Addend::Value(dtype)
    }
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
    fn addend(dtype: DType) -> Addend {
        Addend::Magnitude(dtype)
    }
    #[inline(always)]
    fn term<R: Real>(x: R) -> R {
        x.abs()
    }
}

impl Term for Square {
    #[inline(always)]
    fn addend(dtype: DType) -> Addend {
        Addend::Square(dtype)
    }
    #[inline(always)]
    fn term<R: Real>(x: R) -> R {
        x.square()
    }
}

/// The last step of a [`Sum`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum Finish {
    /// The total; +0.0 for no elements.
    Total,
    /// The total divided by the count; NaN for no elements, as in NumPy.
    Mean,
    /// The square root of the total.
    Root,
}

/// A sum of real terms up the tree: sum, mean, 1-norm, 2-norm. `W` is the [`Term`], `P` the [`Precision`].
///
/// ```
/// use warpfold_core::{ops::{Compensated, Square, Sum, Value}, tree};
///
/// let x = [1e8f32, 1.0, -1e8, 1.0];
/// assert_eq!(tree::reduce(&Sum::<f32>::total(), x), Some(0.0));
/// assert_eq!(tree::reduce(&Sum::<f32, Value, Compensated>::total(), x), Some(2.0));
/// assert_eq!(tree::reduce(&Sum::<f32, Square>::norm2(), [3.0, 4.0]), Some(5.0));
/// ```
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
    /// A mean (`mean`), a square root of the sum (`root`), or, if both are false, the sum itself.
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

    /// Lifts NaNs to the identity. A mean that skips NaNs must count the other elements: see [`crate::Live`].
    pub fn skip_nan(self, skip_nan: bool) -> Self {
        Self { skip_nan, ..self }
    }

    /// The same sum of elements of another type, which has the same float.
    pub fn of<U: Element<Float = T::Float>>(&self) -> Sum<U, W, P> {
        let Self { initial, skip_nan, finish, kind } = *self;
        Sum { initial, skip_nan, finish, kind }
    }

    /// Adds a value on the left of the total, in the accumulator's precision.
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
    /// The square root of the sum of squares. As in NumPy, squares are not scaled against overflow.
    pub fn norm2() -> Self {
        Self::with(Finish::Root)
    }
}

impl<T: Element, W: Term, P: Precision<T::Float>> Reducer for Sum<T, W, P> {
    type Item = T;
    type Acc = P::Real;
    type Output = T::Mean;

    const INDEXED: bool = false;

    const PADDED: bool = true;

    const BY_VECTORS: bool = size_of::<P::Real>() == size_of::<T::Float>();

    #[inline(always)]
    fn addend(&self) -> Option<Addend> {
        T::DTYPE.is_float().then(|| W::addend(T::DTYPE))
    }

    #[inline(always)]
    fn skips_nan(&self) -> bool {
        self.skip_nan
    }

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
