//! A coordinate in units, as two numbers of 16 bits, by four floating-point operations and no conversion.
//!
//! `x · scale` is a whole number of 31 bits to be rounded, halves to even. Adding 1.5·2²³ rounds to a whole number and
//! leaves it in the low bits: first that of 2¹⁶ units, then that of the rest, which a fused multiply-add finds exactly.
//! The first is even in units, so halves go where they should. Bits are added up as they are, and 1.5·2²³ is subtracted
//! as often as it was added, modulo 2³².

use warpfold_simt::Simt;

const ROUND: f32 = 12_582_912.0;

/// So many points can be added up: 2¹⁵ for each, below 2³¹.
pub const MOST: u32 = (1 << 16) - 1;

/// What is subtracted for each point.
pub const EACH: u32 = ROUND.to_bits();

/// A scale as [`limbs`] wants it; exact, as it is at least 2⁻⁹⁷.
#[inline(always)]
pub fn scale(scale: f32) -> f32 {
    scale * (1.0 / 65536.0)
}

/// The bits of both, high and low.
#[inline(always)]
pub fn limbs<S: Simt>(s: &S, x: f32, scale: f32) -> [u32; 2] {
    let high = s.fma_f32(x, scale, ROUND);
    let rest = s.fma_f32(x, scale, ROUND - high);
    [high.to_bits(), s.fma_f32(rest, 65536.0, ROUND).to_bits()]
}

/// The sum that both are.
#[inline(always)]
pub fn total(high: u32, low: u32) -> u64 {
    ((high as i32 as i64) * 65536 + low as i32 as i64) as u64
}
