//! Conversions of 16-bit floats that vectorise, with the rounding of the crate `half`.

use half::{bf16, f16};

/// f64 to f32, rounded to odd: a second rounding, to 16 bits, then gives what one rounding would (Boldo and Melquiond,
/// *Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to odd*, 2008).
#[inline(always)]
pub(crate) fn to_odd(x: f64) -> f32 {
    let near = x as f32;
    let wide = near as f64;
    if wide == x || x.is_nan() {
        return near;
    }
    let toward_zero = near.to_bits() - (wide.abs() > x.abs()) as u32;
    f32::from_bits(toward_zero | 1)
}

/// bf16 to f32, by shifting: exact.
#[inline(always)]
pub(crate) fn widen_bf16(x: bf16) -> f32 {
    f32::from_bits((x.to_bits() as u32) << 16)
}

/// f16 to f32 without a branch, so that it vectorises: the exponent is rebiased by a multiplication, which also
/// normalises subnormals; Inf and NaN get their exponent back by an OR.
#[inline(always)]
pub(crate) fn widen_f16(x: f16) -> f32 {
    let h = x.to_bits() as u32;
    let magnitude = f32::from_bits((h & 0x7fff) << 13) * f32::from_bits(0x7780_0000); // 2^112
    let special = if (h & 0x7c00) == 0x7c00 { 0x7f80_0000 } else { 0 };
    f32::from_bits(magnitude.to_bits() | special | ((h & 0x8000) << 16))
}

/// f32 to bf16: nearest, ties to even; every NaN becomes the canonical NaN. On a CPU it has no branch, so that it
/// vectorises.
#[inline(always)]
pub(crate) fn narrow_bf16(x: f32) -> bf16 {
    #[cfg(target_arch = "nvptx64")]
    return if x.is_nan() { bf16::NAN } else { bf16::from_f32(x) };
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let b = x.to_bits();
        let number = b.wrapping_add(0x7fff + (b >> 16 & 1)) >> 16;
        bf16::from_bits(select(x.is_nan(), bf16::NAN.to_bits() as u32, number) as u16)
    }
}

/// f32 to f16, with the same rules. Below 2^-14 the addition of 0.5 rounds, as its ulp is the least subnormal of f16.
#[inline(always)]
pub(crate) fn narrow_f16(x: f32) -> f16 {
    #[cfg(target_arch = "nvptx64")]
    return if x.is_nan() { f16::NAN } else { f16::from_f32(x) };
    #[cfg(not(target_arch = "nvptx64"))]
    {
        const LEAST_NORMAL: u32 = 0x3880_0000; // 2^-14
        let (sign, b) = (x.to_bits() >> 16 & 0x8000, x.to_bits() & 0x7fff_ffff);
        // A number that overflows gets the bits of an infinity.
        let normal = (b.wrapping_sub(112 << 23).wrapping_add(0xfff + (b >> 13 & 1)) >> 13).min(0x7c00);
        let subnormal = (f32::from_bits(b) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
        let number = sign | select(b < LEAST_NORMAL, subnormal, normal);
        f16::from_bits(select(x.is_nan(), f16::NAN.to_bits() as u32, number) as u16)
    }
}

/// A select by masks. For an `if` the compiler would emit a branch, and no vectors.
#[cfg(not(target_arch = "nvptx64"))]
#[inline(always)]
fn select(condition: bool, yes: u32, no: u32) -> u32 {
    let mask = (condition as u32).wrapping_neg();
    yes & mask | no & !mask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_bits_are_rounded_as_half_rounds_them() {
        let mut random = 0x9e37_79b9u32;
        for high in 0..1u32 << 19 {
            random = random.wrapping_mul(0x915f_77f5).wrapping_add(0x6a09_e667);
            // Ties, their neighbours, and random bits.
            for low in [0, 1, 0xfff, 0x1000, 0x1001, 0x1fff, random >> 19] {
                for bits in [high << 13 | low, high.rotate_right(8) ^ random >> 8] {
                    let x = f32::from_bits(bits);
                    let (h, b) = if x.is_nan() { (f16::NAN, bf16::NAN) } else { (f16::from_f32(x), bf16::from_f32(x)) };
                    assert_eq!(narrow_f16(x).to_bits(), h.to_bits(), "{bits:#x}");
                    assert_eq!(narrow_bf16(x).to_bits(), b.to_bits(), "{bits:#x}");
                }
            }
        }
    }
}
