//! Sums, means and products of integers. Their order is free.

use core::marker::PhantomData;

use crate::cast::Cast;
use crate::dtype::Kind;
use crate::element::Element;
use crate::reducer::Reducer;

/// The sum or the mean of integers, exact in 128 bits: order-free.
///
/// A sum is wrapped to 64 bits, signed if the elements are. A mean rounds the sum to `f64`, then divides by the count.
///
/// ```
/// use warpfold_core::{Cast, ops::IntegerSum, tree};
///
/// assert_eq!(tree::reduce(&IntegerSum::<u8>::new(false, None), [255, 255]), Some(Cast::Unsigned(510)));
/// assert_eq!(tree::reduce(&IntegerSum::<u8>::new(true, None), [1, 2]), Some(Cast::Float(1.5)));
/// ```
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(bound(serialize = "", deserialize = ""))
)]
pub struct IntegerSum<T> {
    /// The mean instead of the sum.
    pub mean: bool,
    /// One more addend.
    pub initial: Option<i128>,
    kind: PhantomData<T>,
}

impl<T> IntegerSum<T> {
    /// The reducer.
    pub fn new(mean: bool, initial: Option<i128>) -> Self {
        Self { mean, initial, kind: PhantomData }
    }
}

/// The nearest `f64`, with the bits of `x as f64`, which calls a library function that a GPU does not have.
#[inline(always)]
fn to_f64(x: i128) -> f64 {
    let magnitude = x.unsigned_abs();
    let (high, low) = ((magnitude >> 64) as u64, magnitude as u64);
    let nearest = if high == 0 {
        low as f64
    } else {
        // The top 64 bits. Their lowest bit is set if a lower bit is lost, so that the rounding to 53 bits is right.
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
            // 0 / 0 would be a NaN that depends on the CPU. The result is the canonical NaN.
            _ if self.mean && count == 0 => Cast::Float(f64::NAN),
            _ if self.mean => Cast::Float(to_f64(acc) / count as f64),
            Kind::Unsigned => Cast::Unsigned(acc as u64),
            _ => Cast::Signed(acc as i64),
        }
    }
}

/// A product of integers, wrapping in 64 bits: order-free.
///
/// ```
/// use warpfold_core::{Cast, ops::IntegerProduct, tree};
///
/// assert_eq!(tree::reduce(&IntegerProduct::<i8>::new(None), [-100, 100]), Some(Cast::Signed(-10_000)));
/// ```
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(bound(serialize = "", deserialize = ""))
)]
pub struct IntegerProduct<T> {
    /// One more factor.
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
