//! Logarithms of normal numbers; and, for f32, as a GPU takes them: by fused operations and without a branch, so that
//! many are computed at once, with the same bits.

/// `a * b + c`, rounded once.
#[inline(always)]
pub fn fused(a: f32, b: f32, c: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    let sum = core::f32::math::mul_add(a, b, c);
    #[cfg(not(target_arch = "nvptx64"))]
    let sum = libm::fmaf(a, b, c);
    sum
}

/// [`libm::log`] of a finite positive number that is not subnormal: its operations in its order, without its branches.
/// The logarithm is that of the mantissa in [sqrt(1/2), sqrt(2)], by a polynomial in f / (2 + f), and the exponent's.
#[inline(always)]
pub fn log_of_normal(x: f64) -> f64 {
    let (whole, rest) = log_parts(x);
    rest + whole
}

/// The logarithm of a normal number in two parts: most of the exponent's, exact, and the rest.
#[inline(always)]
pub fn log_parts(x: f64) -> (f64, f64) {
    const ROOT: u64 = 0x3fe6_a09e << 32;
    const ONE: u64 = 0x3ff0_0000 << 32;
    let bits = x.to_bits().wrapping_add(ONE - ROOT);
    let k = ((bits >> 52) as i32 - 0x3ff) as f64;
    let f = f64::from_bits((bits & ((1 << 52) - 1)).wrapping_add(ROOT)) - 1.0;
    let half = 0.5 * f * f;
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let even = w * (0.399_999_999_994_094_2 + w * (0.222_221_984_321_497_84 + w * 0.153_138_376_992_093_73));
    let odd = z
        * (0.666_666_666_666_673_5
            + w * (0.285_714_287_436_623_9 + w * (0.181_835_721_616_180_5 + w * 0.147_981_986_051_165_86)));
    let rest = s * (half + (odd + even)) + k * 1.908_214_929_270_587_7e-10 - half + f;
    (k * 0.693_147_180_369_123_8, rest)
}

/// `ordinary_log` for `f32`.
#[inline(always)]
pub fn log_of_f32(x: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    let log = fused_log(x, |a, b, c| fused(a, b, c), |a, b, c| core::f64::math::mul_add(a, b, c));
    #[cfg(not(target_arch = "nvptx64"))]
    let log = log_of_normal(x as f64) as f32;
    log
}

/// The inverse of a number from sqrt(1/2) + 1 to sqrt(2) + 1, to about an ulp: a line, of which each step squares the
/// error.
#[cfg(any(test, target_arch = "nvptx64"))]
#[inline(always)]
fn inverse_near_two(d: f32, fused: &impl Fn(f32, f32, f32) -> f32) -> f32 {
    let r = fused(-d, 0.239_02, 0.985_06);
    let r = fused(r, fused(-d, r, 1.0), r);
    fused(r, fused(-d, r, 1.0), r)
}

/// The logarithm of a positive normal number, as [`log_of_normal`] has it, where operations of f64 are dear and fused
/// ones are none: the quotient has no branch, and its operations and the polynomial's are fused. Before the last
/// rounding it is as near to the logarithm, so the result is the same: a test compares mantissas and exponents.
#[cfg(any(test, target_arch = "nvptx64"))]
#[inline(always)]
fn fused_log(x: f32, fused: impl Fn(f32, f32, f32) -> f32, fused64: impl Fn(f64, f64, f64) -> f64) -> f32 {
    const ROOT: u32 = 0x3f35_04f3;
    const ONE: u32 = 0x3f80_0000;
    let bits = x.to_bits().wrapping_add(ONE - ROOT);
    let m = f32::from_bits((bits & 0x007f_ffff).wrapping_add(ROOT));
    // The low bits of 2^52 are an integer.
    let k = f64::from_bits(0x4330_0000_0000_0000 | (bits >> 23) as u64) - (4_503_599_627_370_496.0 + 127.0);
    let inverse = inverse_near_two(1.0 + m, &fused) as f64;
    let f = (m - 1.0) as f64;
    let d = 2.0 + f;
    let s = f * inverse;
    let s = fused64(fused64(-d, s, f), inverse, s);
    let s = fused64(fused64(-d, s, f), inverse, s);
    let (half, z) = (0.5 * f * f, s * s);
    let w = z * z;
    let even = fused64(w, fused64(w, 0.153_138_376_992_093_73, 0.222_221_984_321_497_84), 0.399_999_999_994_094_2);
    let odd = fused64(w, 0.147_981_986_051_165_86, 0.181_835_721_616_180_5);
    let odd = fused64(w, fused64(w, odd, 0.285_714_287_436_623_9), 0.666_666_666_666_673_5);
    let sum = fused64(z, odd, fused64(w, even, half));
    let rest = fused64(s, sum, k * 1.908_214_929_270_587_7e-10) - half + f;
    fused64(k, 0.693_147_180_369_123_8, rest) as f32
}

/// What the rounding of `d`, the sum of 1 and a number from 0 to 1, left out, over `d`: rounded once, without a branch.
/// Not so of any numbers: 1 over the number before 2 is an ulp off.
#[cfg(any(test, target_arch = "nvptx64"))]
#[inline(always)]
fn fused_over(x: f32, d: f32, fused: impl Fn(f32, f32, f32) -> f32) -> f32 {
    // Errors of 0.03, its square, and so on.
    let r = fused(-d, 0.470_588_25, 1.411_764_7);
    let r = fused(r, fused(-d, r, 1.0), r);
    let r = fused(r, fused(-d, r, 1.0), r);
    let r = fused(r, fused(-d, r, 1.0), r);
    let q = x * r;
    let quotient = fused(fused(-d, q, x), r, q);
    // Of the least of these numbers products are subnormal; the sum is 1.
    if d == 1.0 { x } else { quotient }
}

/// `rest_over` for `f32`.
#[inline(always)]
pub fn over_f32(x: f32, d: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    let quotient = fused_over(x, d, |a, b, c| fused(a, b, c));
    #[cfg(not(target_arch = "nvptx64"))]
    let quotient = x / d;
    quotient
}

/// The same for `f64`.
#[inline(always)]
pub fn over_f64(x: f64, d: f64) -> f64 {
    x / d
}

#[cfg(test)]
mod tests {
    use super::{fused_log, fused_over, log_of_normal};

    /// All mantissas of normal numbers, in debug builds some, each with some exponents.
    #[test]
    fn fused_logarithms_are_logarithms() {
        let step = if cfg!(debug_assertions) { 17 } else { 1 };
        let mut exponent = 1u32;
        for mantissa in (0..1u32 << 23).step_by(step) {
            exponent = exponent % 254 + 1;
            for exponent in [exponent, 125, 126, 127, 128] {
                let x = f32::from_bits(exponent << 23 | mantissa);
                assert_eq!(
                    fused_log(x, libm::fmaf, libm::fma).to_bits(),
                    (log_of_normal(x as f64) as f32).to_bits(),
                    "{x:e}"
                );
            }
        }
    }

    /// Each number from 0 to 1; in debug builds some of them.
    #[test]
    fn fused_quotients_are_quotients() {
        let step = if cfg!(debug_assertions) { 211 } else { 1 };
        for bits in (0..=127u32 << 23).step_by(step) {
            let small = f32::from_bits(bits);
            let sum = 1.0 + small;
            let rest = small - (sum - 1.0);
            assert_eq!(fused_over(rest, sum, libm::fmaf).to_bits(), (rest / sum).to_bits(), "{small:e}");
        }
    }
}
