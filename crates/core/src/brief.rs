//! The logarithm and the exponential in few operations of f32: near enough for results of 16 bits.

use crate::float::Float;
use crate::logarithm::fused;

/// The error of [`brief_log`], relative to the logarithm: four units in its last place. A test looks for more.
pub const BRIEF_LOG_ERROR: f32 = 1.0 / (1 << 21) as f32;

/// The natural logarithm of a normal number, in few operations of f32: to [`BRIEF_LOG_ERROR`], which tells most results
/// of 16 bits. As libm does for f64, but by a polynomial in f, fitted to log(1 + f) so that the greatest relative error
/// is least (3.2e-8 before rounding).
#[inline(always)]
pub fn brief_log(x: f32) -> f32 {
    const ROOT: u32 = 0x3f35_04f3;
    // The exponent, as an integer in the low bits of 1.5 * 2^23.
    const WHOLE: u32 = 0x4b40_0000;
    let bits = x.to_bits().wrapping_sub(ROOT);
    let k = f32::from_bits(WHOLE.wrapping_add(((bits as i32) >> 23) as u32)) - f32::from_bits(WHOLE);
    let f = f32::from_bits((bits & 0x7f_ffff) + ROOT) - 1.0;
    let coefficients = [0.333_339_1, -0.250_013_35, 0.199_631_4, -0.165_776_45, 0.149_141_04, -0.142_668_8];
    let (mut t, mut i) = (0.087_014_38, coefficients.len());
    while i > 0 {
        i -= 1;
        t = fused(t, f, coefficients[i]);
    }
    let square = f * f;
    let rest = fused(square * f, t, fused(k, 0.000_001_428_606_8, -0.5 * square));
    fused(k, 0.693_145_75, f + rest)
}

/// The error of [`brief_exp`], relative to the exponential. A test looks for more.
pub const BRIEF_EXP_ERROR: f32 = 3.5e-6;

/// The exponential of an ordinary element of f32 to [`BRIEF_EXP_ERROR`]; of f64 as `ordinary_exp`. A polynomial of
/// degree 4 in the distance of x / ln 2 from an integer, whose greatest relative error is least (2.6e-6 before
/// rounding). On a GPU 9 instructions; `ordinary_exp` takes 15. See
/// [`Exponential::is_ordinary`](crate::ops::Exponential::is_ordinary).
#[expect(clippy::redundant_closure, reason = "a closure is inlined wherever it is called")]
#[inline(always)]
pub fn brief_exp<F: Float>(x: F) -> F {
    brief_exp_by(
        x,
        #[inline(always)]
        |a, b, c| fused(a, b, c),
    )
}

/// [`brief_exp`], where `fused(a, b, c)` is `a * b + c`, rounded once.
#[inline(always)]
pub fn brief_exp_by<F: Float>(x: F, fused: impl Fn(f32, f32, f32) -> f32) -> F {
    const WHOLE: f32 = 12_582_912.0;
    if size_of::<F>() != size_of::<f32>() {
        return x.ordinary_exp();
    }
    let x = x.to_f64() as f32;
    let n = fused(x, core::f32::consts::LOG2_E, WHOLE);
    let r = fused(x, core::f32::consts::LOG2_E, WHOLE - n);
    let coefficients = [0.999_999_3, 0.693_121_8, 0.240_247_44, 0.055_917_863];
    let (mut t, mut i) = (0.009_570_102, coefficients.len());
    while i > 0 {
        i -= 1;
        t = fused(t, r, coefficients[i]);
    }
    F::from_f64(f32::from_bits(t.to_bits().wrapping_add(n.to_bits() << 23)) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bf16;
    use crate::exponential::Exponential;
    use crate::logarithm::log_of_normal;

    #[test]
    fn brief_logarithms_are_near() {
        let all = (f32::MIN_POSITIVE.to_bits()..=f32::MAX.to_bits()).step_by(1009);
        let near_one = (-200_000..200_000).map(|i| 1f32.to_bits().wrapping_add_signed(i));
        let mut most = 0f64;
        for x in all.chain(near_one).map(f32::from_bits) {
            let log = log_of_normal(x as f64);
            let error = (brief_log(x) as f64 - log).abs();
            assert!(error <= (BRIEF_LOG_ERROR * brief_log(x).abs()) as f64, "{x:e} {error:e}");
            most = most.max(if log == 0.0 { 0.0 } else { error / log.abs() });
        }
        // The bound is no more than it has to be.
        assert!(most > BRIEF_LOG_ERROR as f64 / 8.0, "{most:e}");
    }

    #[test]
    fn brief_exponentials_are_near() {
        let mut most = 0f64;
        for x in (0..=u16::MAX).map(|bits| bf16::from_bits(bits).to_f32()).filter(|x| x.is_ordinary()) {
            let exact = libm::exp(x as f64);
            let error = (brief_exp(x) as f64 / exact - 1.0).abs();
            assert!(error <= BRIEF_EXP_ERROR as f64, "{x:e} {error:e}");
            most = most.max(error);
            assert_eq!(brief_exp(x as f64).to_bits(), (x as f64).ordinary_exp().to_bits());
        }
        // The bound is no more than it has to be.
        assert!(most > 0.7 * BRIEF_EXP_ERROR as f64, "{most:e}");
    }
}
