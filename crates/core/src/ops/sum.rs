use core::marker::PhantomData;

use crate::{Accumulate, Cast, Element, Float, Kind, Real, Reducer};

/// How real numbers are carried: [`Plain`] or [`Compensated`].
pub trait Precision<F>: Copy + Send + Sync + 'static {
    /// The number in the tree.
    type Real: Real;
    /// Exact.
    fn widen(x: F) -> Self::Real;
    /// The sum of two: that of both widened, bit for bit.
    fn pair(left: F, right: F) -> Self::Real;
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
    fn pair(left: F, right: F) -> F {
        left.add(right)
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
    fn pair(left: F, right: F) -> F::Double {
        left.add_double(right)
    }
    #[inline(always)]
    fn round(x: F::Double) -> F {
        F::from_double(x)
    }
}

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

/// A product of floats up the tree.
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

/// The sum or the mean of integers, exact in 128 bits: order-free.
///
/// A sum comes out wrapped to 64 bits, signed or not as the elements are; a mean is rounded to `f64` once, then divided by
/// the count.
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(bound(serialize = "", deserialize = ""))
)]
pub struct IntegerSum<T> {
    /// The mean instead of the sum.
    pub mean: bool,
    /// Added to the sum.
    pub initial: Option<i128>,
    kind: PhantomData<T>,
}

impl<T> IntegerSum<T> {
    /// The reducer.
    pub fn new(mean: bool, initial: Option<i128>) -> Self {
        Self { mean, initial, kind: PhantomData }
    }
}

impl Cast {
    /// An integer, exactly; a float towards zero.
    #[inline(always)]
    pub fn to_integer(self) -> i128 {
        match self {
            Cast::Signed(v) => v as i128,
            Cast::Unsigned(v) => v as i128,
            Cast::Float(v) => v as i128,
        }
    }
}

/// The nearest `f64`, as the cast has it. Written out, since a GPU has no library to call for it.
#[inline(always)]
fn to_f64(x: i128) -> f64 {
    let magnitude = x.unsigned_abs();
    let (high, low) = ((magnitude >> 64) as u64, magnitude as u64);
    let nearest = if high == 0 {
        low as f64
    } else {
        // The top 64 bits; what is cut off leaves a bit, so that rounding to 53 knows of it.
        let zeros = high.leading_zeros();
        let top = if zeros == 0 { high } else { high << zeros | low >> (64 - zeros) };
        let lost = low << zeros != 0;
        (top | lost as u64) as f64 * f64::from_bits((1023 + 64 - zeros as u64) << 52)
    };
    if x < 0 { -nearest } else { nearest }
}

impl<T: Element> Reducer for IntegerSum<T> {
    type Item = T;
    type Acc = i128;
    type Output = Cast;

    const INDEXED: bool = false;

    fn identity(&self) -> Option<i128> {
        Some(0)
    }

    #[inline(always)]
    fn lift(&self, x: T, _index: u64) -> i128 {
        x.cast().to_integer()
    }

    #[inline(always)]
    fn combine(&self, left: i128, right: i128) -> i128 {
        left + right
    }

    #[inline(always)]
    fn finish(&self, acc: i128, count: u64) -> Cast {
        let acc = acc + self.initial.unwrap_or(0);
        match T::DTYPE.kind() {
            // 0 / 0 is a NaN of the CPU's choice; the result has the canonical one.
            _ if self.mean && count == 0 => Cast::Float(f64::NAN),
            _ if self.mean => Cast::Float(to_f64(acc) / count as f64),
            Kind::Unsigned => Cast::Unsigned(acc as u64),
            _ => Cast::Signed(acc as i64),
        }
    }
}

/// A product of integers, wrapping in 64 bits: order-free.
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(bound(serialize = "", deserialize = ""))
)]
pub struct IntegerProduct<T> {
    /// Multiplied with the product.
    pub initial: Option<i64>,
    kind: PhantomData<T>,
}

impl<T> IntegerProduct<T> {
    /// The reducer.
    pub fn new(initial: Option<i64>) -> Self {
        Self { initial, kind: PhantomData }
    }
}

impl<T: Element> Reducer for IntegerProduct<T> {
    type Item = T;
    type Acc = i64;
    type Output = Cast;

    const INDEXED: bool = false;

    #[inline(always)]
    fn identity(&self) -> Option<i64> {
        Some(1)
    }

    #[inline(always)]
    fn lift(&self, x: T, _index: u64) -> i64 {
        x.cast().to_integer() as i64
    }

    #[inline(always)]
    fn combine(&self, left: i64, right: i64) -> i64 {
        left.wrapping_mul(right)
    }

    #[inline(always)]
    fn finish(&self, acc: i64, _count: u64) -> Cast {
        let acc = acc.wrapping_mul(self.initial.unwrap_or(1));
        if T::DTYPE.kind() == Kind::Unsigned { Cast::Unsigned(acc as u64) } else { Cast::Signed(acc) }
    }
}

#[cfg(test)]
mod tests {
    use super::to_f64;

    #[test]
    fn wide_integers_round_as_the_cast_does() {
        let mut x = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c834u128;
        for shift in 0..128 {
            for low in 0..64 {
                x = x.wrapping_mul(0xda94_2042_e4dd_58b5).rotate_left(29) ^ low;
                for x in [x >> shift, (1 << shift) - 1, 1 << shift, (1 << shift) + (1 << (shift / 2))] {
                    let x = x as i128;
                    assert_eq!(to_f64(x), x as f64, "{x}");
                    assert_eq!(to_f64(x.wrapping_neg()), x.wrapping_neg() as f64, "-{x}");
                }
            }
        }
    }
}
