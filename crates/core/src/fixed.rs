//! Sums of floats that do not depend on the order of addition: each element as a whole number of units, a power of two,
//! and the units added as integers.
//!
//! [`Fixed::unit`] chooses the unit from the greatest magnitude, [`Fixed::quantize`] rounds an element to it, and
//! [`Fixed::mean`] rounds the quotient of the sum and the count once. `docs/numerics.md` says how far that is from the
//! exact mean.

use crate::element::Element;
use crate::real::Accumulate;

/// `f32` or `f64`, as what points and their means are computed in.
pub trait Fixed: crate::float::Float + Element<Float = Self> {
    /// An element in units: 31 or 62 bits and a sign.
    type Units: Copy + Send + Sync + core::fmt::Debug;
    /// A sum of them: of fewer than 2^32 elements, it does not overflow.
    type Total: Accumulate;

    /// The unit for finite elements of magnitudes up to `greatest`: the exponent of a power of two.
    fn unit(greatest: Self) -> i32;

    /// What an element is multiplied by to have it in units of 2^`unit`. It is finite and normal.
    fn scale(unit: i32) -> Self;

    /// An element in units, rounded to nearest, halves to even. `scale` is that of a unit for its magnitude or a
    /// greater one.
    fn quantize(self, scale: Self) -> Self::Units;

    /// The units of an element that is not negative, in 31 bits: f64 leaves out the low ones.
    fn weight(units: Self::Units) -> u64;

    /// `total + units`.
    fn plus(total: Self::Total, units: Self::Units) -> Self::Total;

    /// `total / count` in units of 2^`unit`, rounded to nearest even once; `count` is neither 0 nor above 2^32.
    fn mean(total: Self::Total, count: u64, unit: i32) -> Self;
}

/// The exponent of the greatest power of two that is not above |x|, of a finite x; of zero and subnormals, -1023.
fn exponent(x: f64) -> i32 {
    (x.to_bits() >> 52 & 0x7ff) as i32 - 1023
}

/// 2^e as f64; e is that of a normal number.
fn power(e: i32) -> f64 {
    f64::from_bits(((e + 1023) as u64) << 52)
}

/// `digits · 2^e` to nearest even, in a format of `precision` bits whose least step is 2^`least`: again digits and
/// exponent. If the digits are longer than that, and the last one is set whenever any digit that was cut off is, that
/// is one rounding.
#[inline]
fn round(digits: u128, e: i32, precision: i32, least: i32) -> (u64, i32) {
    let length = 128 - digits.leading_zeros() as i32;
    let drop = (length - precision).max(least - e);
    if drop <= 0 {
        return (digits as u64, e);
    }
    if drop > 127 {
        return (0, least);
    }
    let (kept, rest, half) = (digits >> drop, digits & ((1 << drop) - 1), 1 << (drop - 1));
    let up = rest > half || (rest == half && kept & 1 == 1);
    (kept as u64 + up as u64, e + drop)
}

/// Quotient and remainder of a divisor of at most 2^32, in digits of 32 bits: GPUs have no longer division.
#[inline]
fn divide(x: u128, by: u64) -> (u128, u64) {
    let (high, low) = ((x >> 64) as u64, x as u64);
    let middle = (high % by) << 32 | low >> 32;
    let last = (middle % by) << 32 | low & 0xffff_ffff;
    (((high / by) as u128) << 64 | (((middle / by) << 32) | (last / by)) as u128, last % by)
}

/// Added to a number below 2^51, it leaves the nearest whole number, halves to even, in the low bits.
const WHOLE: f64 = 1.5 * (1u64 << 52) as f64;

impl Fixed for f32 {
    type Units = i32;
    type Total = i64;

    #[inline]
    fn unit(greatest: f32) -> i32 {
        // So that scales are normal numbers.
        (exponent(greatest as f64) - 30).max(-126)
    }

    #[inline]
    fn scale(unit: i32) -> f32 {
        power(-unit) as f32
    }

    #[inline(always)]
    fn quantize(self, scale: f32) -> i32 {
        // The product is exact, but for one so far below a half that it is nothing in any case.
        ((self * scale) as f64 + WHOLE).to_bits() as i32
    }

    #[inline(always)]
    fn weight(units: i32) -> u64 {
        units as u64
    }

    #[inline(always)]
    fn plus(total: i64, units: i32) -> i64 {
        total.wrapping_add(units as i64)
    }

    #[inline]
    fn mean(total: i64, count: u64, unit: i32) -> f32 {
        if count <= 1 << 20 {
            // A total of at most 51 bits is exact as f64. Its quotient by so small a count is halfway between two
            // numbers of f32, or further from there than f64 rounds: so rounding to f64 first changes nothing.
            return (total as f64 / count as f64 * power(unit)) as f32;
        }
        let magnitude = total.unsigned_abs();
        if magnitude == 0 {
            return 0.0;
        }
        // 64 bits over at most 32: a quotient of 32 or more.
        let shift = magnitude.leading_zeros();
        let (quotient, rest) = ((magnitude << shift) / count, (magnitude << shift) % count);
        let (digits, e) = round((quotient | (rest != 0) as u64) as u128, unit - shift as i32, 24, -149);
        let mean = (digits as f64 * power(e)) as f32;
        if total < 0 { -mean } else { mean }
    }
}

impl Fixed for f64 {
    type Units = i64;
    type Total = i128;

    #[inline]
    fn unit(greatest: f64) -> i32 {
        (exponent(greatest) - 61).max(-1022)
    }

    #[inline]
    fn scale(unit: i32) -> f64 {
        power(-unit)
    }

    #[inline(always)]
    fn quantize(self, scale: f64) -> i64 {
        let x = self * scale;
        let near = (x + WHOLE) - WHOLE;
        // From 2^52 on, all numbers are whole.
        (if x.abs() < (1u64 << 51) as f64 { near } else { x }) as i64
    }

    #[inline(always)]
    fn weight(units: i64) -> u64 {
        (units >> 31) as u64
    }

    #[inline(always)]
    fn plus(total: i128, units: i64) -> i128 {
        total.wrapping_add(units as i128)
    }

    #[inline]
    fn mean(total: i128, count: u64, unit: i32) -> f64 {
        let magnitude = total.unsigned_abs();
        if magnitude == 0 {
            return 0.0;
        }
        // 128 bits over at most 33.
        let shift = magnitude.leading_zeros();
        let (quotient, rest) = divide(magnitude << shift, count);
        let (digits, e) = round(quotient | (rest != 0) as u128, unit - shift as i32, 53, -1074);
        // In two steps, of which the second may leave the normal numbers; both are exact.
        let mean = if e < -1022 { digits as f64 * power(e + 200) * power(-200) } else { digits as f64 * power(e) };
        if total < 0 { -mean } else { mean }
    }
}

#[cfg(test)]
mod tests {
    use super::{Fixed, divide};

    #[test]
    fn long_division_is_division() {
        let mut x = 1u128;
        for i in 0..10_000 {
            x = x.wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645).wrapping_add(0x5851_f42d_4c95_7f2d);
            let by = [((x >> 64) as u64 >> 32 >> (i % 32)).max(1), 1, 1 << 32, (1 << 32) - 1][i % 4];
            for x in [x, x >> (i % 128), u128::MAX] {
                assert_eq!(divide(x, by), (x / by as u128, (x % by as u128) as u64), "{x} / {by}");
            }
        }
    }

    #[test]
    fn means_of_few_have_the_bits_of_means_of_many() {
        let mut x = 1u64;
        for i in 0..200_000 {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let count = (1 << 9) + (x >> 33) % ((1 << 20) - (1 << 9));
            // Half of them lie next to where rounding changes: 25 bits times the count.
            let near = (1 << 24 | x >> 40 | 1) * count + (x >> 20) % 3 - 1;
            let total = if i % 2 == 0 { (x >> 13) % (count << 31) } else { near } as i64;
            let unit = (x >> 7) as i32 % 90;
            for total in [total, -total] {
                let [few, many] = [(total, count), (total << 12, count << 12)].map(|(t, n)| f32::mean(t, n, unit));
                assert_eq!(few.to_bits(), many.to_bits(), "{total} / {count}, {unit}");
            }
        }
    }
}
