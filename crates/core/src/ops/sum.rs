use core::marker::PhantomData;

use crate::{Accumulate, Element, Float, Real, Reducer};

/// How real numbers are carried: [`Plain`] or [`Compensated`].
pub trait Precision<F>: Copy + Send + Sync + 'static {
    /// The number in the tree.
    type Real: Real;
    /// Exact.
    fn widen(x: F) -> Self::Real;
    /// Rounds once.
    fn round(x: Self::Real) -> F;
}

/// Plain floats.
#[derive(Clone, Copy, Debug)]
pub struct Plain;

impl<F: Float> Precision<F> for Plain {
    type Real = F;
    #[inline(always)]
    fn widen(x: F) -> F {
        x
    }
    #[inline(always)]
    fn round(x: F) -> F {
        x
    }
}

/// Double words: the same tree, with about twice the bits.
#[derive(Clone, Copy, Debug)]
pub struct Compensated;

impl<F: Float> Precision<F> for Compensated {
    type Real = F::Double;
    #[inline(always)]
    fn widen(x: F) -> F::Double {
        x.double()
    }
    #[inline(always)]
    fn round(x: F::Double) -> F {
        F::from_double(x)
    }
}

/// What a [`RealSum`] adds up, and what it makes of the total.
pub trait Term: Copy + Send + Sync + 'static {
    /// The addend of an element.
    fn term<R: Real>(x: R) -> R;
    /// The result of a total over `count` elements.
    fn finish<R: Real>(total: R, count: u64) -> R;
}

/// The sum itself.
#[derive(Clone, Copy, Debug)]
pub struct Total;
/// The sum over the count; NaN for no elements, as NumPy.
#[derive(Clone, Copy, Debug)]
pub struct Mean;
/// The sum of absolute values.
#[derive(Clone, Copy, Debug)]
pub struct Norm1;
/// The square root of the sum of squares; the squares are not scaled, as in NumPy.
#[derive(Clone, Copy, Debug)]
pub struct Norm2;

impl Term for Total {
    #[inline(always)]
    fn term<R: Real>(x: R) -> R {
        x
    }
    #[inline(always)]
    fn finish<R: Real>(total: R, count: u64) -> R {
        if count == 0 { R::ZERO } else { total }
    }
}

impl Term for Mean {
    #[inline(always)]
    fn term<R: Real>(x: R) -> R {
        x
    }
    #[inline(always)]
    fn finish<R: Real>(total: R, count: u64) -> R {
        total.div(R::from_count(count))
    }
}

impl Term for Norm1 {
    #[inline(always)]
    fn term<R: Real>(x: R) -> R {
        x.abs()
    }
    #[inline(always)]
    fn finish<R: Real>(total: R, _count: u64) -> R {
        total.abs()
    }
}

impl Term for Norm2 {
    #[inline(always)]
    fn term<R: Real>(x: R) -> R {
        x.square()
    }
    #[inline(always)]
    fn finish<R: Real>(total: R, _count: u64) -> R {
        total.abs().sqrt()
    }
}

/// A sum of real terms: sum, mean, 1-norm, 2-norm; `T` is the element, `W` the [`Term`], `P` the [`Precision`].
#[derive(Clone, Debug)]
pub struct RealSum<T: Element, W, P = Plain> {
    /// Added on the left of the total, in the accumulator's precision.
    pub initial: Option<T::Float>,
    /// Whether absent elements and NaNs are to be skipped by lifting them to the identity.
    pub skip_nan: bool,
    kind: PhantomData<(W, P)>,
}

impl<T: Element, W, P> RealSum<T, W, P> {
    /// With no initial value.
    pub fn new() -> Self {
        Self { initial: None, skip_nan: false, kind: PhantomData }
    }

    /// With an initial value.
    pub fn with(initial: Option<T::Float>, skip_nan: bool) -> Self {
        Self { initial, skip_nan, kind: PhantomData }
    }
}

impl<T: Element, W, P> Default for RealSum<T, W, P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, W, P> Reducer for RealSum<T, W, P>
where
    T: Element,
    W: Term,
    P: Precision<T::Float>,
{
    type Item = T;
    type Acc = P::Real;
    type Output = T::Mean;

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
    fn combine(&self, left: P::Real, right: P::Real) -> P::Real {
        left.add(right)
    }

    fn finish(&self, acc: P::Real, count: u64) -> T::Mean {
        let (acc, count) = match self.initial {
            Some(x) => (P::widen(x).add(acc), count.max(1)),
            None => (acc, count),
        };
        T::Mean::from_float(P::round(W::finish(acc, count)))
    }
}

/// A sum of integers (and of bools), wrapping in 64 bits: order-free. `O` is the dtype of the result.
#[derive(Clone, Debug)]
pub struct Sum<T: Element, O = <T as Element>::Sum> {
    /// Added to the total.
    pub initial: Option<T::Total>,
    kind: PhantomData<O>,
}

/// A product of integers, wrapping in 64 bits: order-free. `O` is the dtype of the result.
#[derive(Clone, Debug)]
pub struct Prod<T: Element, O = <T as Element>::Sum> {
    /// Multiplied with the product.
    pub initial: Option<T::Total>,
    kind: PhantomData<O>,
}

impl<T: Element, O> Sum<T, O> {
    /// With no initial value.
    pub fn new(initial: Option<T::Total>) -> Self {
        Self { initial, kind: PhantomData }
    }
}

impl<T: Element, O> Prod<T, O> {
    /// With no initial value.
    pub fn new(initial: Option<T::Total>) -> Self {
        Self { initial, kind: PhantomData }
    }
}

impl<T: Element, O: Element<Total = T::Total>> Reducer for Sum<T, O> {
    type Item = T;
    type Acc = T::Total;
    type Output = O;

    #[inline(always)]
    fn identity(&self) -> Option<T::Total> {
        Some(T::Total::NOTHING)
    }

    #[inline(always)]
    fn lift(&self, x: T, _index: u64) -> T::Total {
        x.total()
    }

    #[inline(always)]
    fn combine(&self, left: T::Total, right: T::Total) -> T::Total {
        left.add(right)
    }

    fn finish(&self, acc: T::Total, count: u64) -> O {
        let acc = if count == 0 { T::Total::ZERO } else { acc };
        O::from_total(self.initial.map_or(acc, |x| x.add(acc)))
    }
}

impl<T: Element, O: Element<Total = T::Total>> Reducer for Prod<T, O> {
    type Item = T;
    type Acc = T::Total;
    type Output = O;

    #[inline(always)]
    fn identity(&self) -> Option<T::Total> {
        Some(T::Total::ONE)
    }

    #[inline(always)]
    fn lift(&self, x: T, _index: u64) -> T::Total {
        x.total()
    }

    #[inline(always)]
    fn combine(&self, left: T::Total, right: T::Total) -> T::Total {
        left.mul(right)
    }

    fn finish(&self, acc: T::Total, _count: u64) -> O {
        O::from_total(self.initial.map_or(acc, |x| x.mul(acc)))
    }
}

/// A product of floats up the tree.
#[derive(Clone, Debug)]
pub struct RealProd<T: Element, P = Plain> {
    /// Multiplied on the left of the product.
    pub initial: Option<T::Float>,
    /// Whether NaNs are lifted to one.
    pub skip_nan: bool,
    kind: PhantomData<P>,
}

impl<T: Element, P> RealProd<T, P> {
    /// The reducer.
    pub fn with(initial: Option<T::Float>, skip_nan: bool) -> Self {
        Self { initial, skip_nan, kind: PhantomData }
    }
}

impl<T: Element, P: Precision<T::Float>> Reducer for RealProd<T, P> {
    type Item = T;
    type Acc = P::Real;
    type Output = T::Mean;

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

    fn finish(&self, acc: P::Real, _count: u64) -> T::Mean {
        T::Mean::from_float(P::round(self.initial.map_or(acc, |x| P::widen(x).mul(acc))))
    }
}

/// The mean of integers: their exact sum in 128 bits, rounded to `f64` once and divided by the count.
#[derive(Clone, Debug, Default)]
pub struct IntegerMean<T>(PhantomData<T>);

impl<T> IntegerMean<T> {
    /// The reducer.
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T: Element> Reducer for IntegerMean<T> {
    type Item = T;
    type Acc = i128;
    type Output = f64;

    fn identity(&self) -> Option<i128> {
        Some(0)
    }

    #[inline(always)]
    fn lift(&self, x: T, _index: u64) -> i128 {
        match x.cast() {
            crate::Cast::Signed(v) => v as i128,
            crate::Cast::Unsigned(v) => v as i128,
            crate::Cast::Float(v) => v as i128,
        }
    }

    #[inline(always)]
    fn combine(&self, left: i128, right: i128) -> i128 {
        left + right
    }

    fn finish(&self, acc: i128, count: u64) -> f64 {
        acc as f64 / count as f64
    }
}
