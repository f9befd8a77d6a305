//! 16-bit floats in software, rounded as the hardware's `cvt.rn` rounds.

/// The value of a bfloat16: the upper half of an f32.
#[inline(always)]
pub const fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits((bits as u32) << 16)
}

/// The nearest bfloat16, ties to even; a NaN stays a (quiet) NaN.
#[inline(always)]
pub const fn f32_to_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    if value.is_nan() {
        return (bits >> 16) as u16 | 0x40;
    }
    ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

/// The value of an IEEE half; always exact.
#[inline(always)]
pub const fn f16_to_f32(bits: u16) -> f32 {
    let sign = (bits as u32 & 0x8000) << 16;
    let rest = bits as u32 & 0x7fff;
    let magnitude = if rest >= 0x7c00 {
        0x7f80_0000 | (rest & 0x3ff) << 13
    } else if rest >= 0x400 {
        (rest << 13) + ((127 - 15) << 23)
    } else {
        // A subnormal is a multiple of 2^-24.
        (rest as f32 * f32::from_bits((127 - 24) << 23)).to_bits()
    };
    f32::from_bits(sign | magnitude)
}

/// The nearest IEEE half, ties to even; a NaN stays a (quiet) NaN.
#[inline(always)]
pub const fn f32_to_f16(value: f32) -> u16 {
    let sign = (value.to_bits() >> 16) as u16 & 0x8000;
    let magnitude = value.to_bits() & 0x7fff_ffff;
    let half = if magnitude > 0x7f80_0000 {
        0x7e00
    } else if magnitude >= 0x4780_0000 {
        0x7c00
    } else if magnitude >= 0x3880_0000 {
        let rebased = magnitude - ((127 - 15) << 23);
        (rebased + 0xfff + (rebased >> 13 & 1)) >> 13
    } else {
        // Adding 0.5 leaves the multiple of 2^-24 in the low bits, rounded to nearest even by the addition itself.
        (f32::from_bits(magnitude) + 0.5).to_bits() - 0.5f32.to_bits()
    };
    sign | half as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_survives_the_round_trip() {
        for bits in 0..=u16::MAX {
            let f = f16_to_f32(bits);
            if f.is_nan() {
                assert_eq!(f32_to_f16(f) & 0x7e00, 0x7e00);
            } else {
                assert_eq!(f32_to_f16(f), bits);
            }
            let b = bf16_to_f32(bits);
            if !b.is_nan() {
                assert_eq!(f32_to_bf16(b), bits);
            }
        }
    }

    #[test]
    fn halfway_goes_to_even_and_past_the_largest_to_infinity() {
        for bits in (0..0x7bffu16).step_by(3) {
            let (lo, hi) = (f16_to_f32(bits), f16_to_f32(bits + 1));
            let middle = (lo + hi) / 2.0;
            assert_eq!(f32_to_f16(middle), bits + (bits & 1), "{bits:#x}");
            assert_eq!(f32_to_f16(f32::from_bits(middle.to_bits() + 1)), bits + 1);
            assert_eq!(f32_to_f16(f32::from_bits(middle.to_bits() - 1)), bits);
        }
        assert_eq!(f32_to_f16(65519.0), 0x7bff);
        assert_eq!(f32_to_f16(65520.0), 0x7c00);
        assert_eq!(f32_to_bf16(f32::from_bits(0x3f80_8000)), 0x3f80);
        assert_eq!(f32_to_bf16(f32::from_bits(0x3f81_8000)), 0x3f82);
        assert_eq!(f32_to_bf16(f32::MAX), 0x7f80);
    }
}
