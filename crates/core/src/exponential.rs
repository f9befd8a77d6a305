//! The exponential and the logarithm of logsumexp, which have the same bits on every CPU and GPU.

use crate::dtype::DType;
use crate::logarithm::{fused, log_of_f32, log_of_normal, log_parts, over_f32, over_f64};
use crate::real::DoubleWord;

/// The scaled exponential of `f32` and `f64`. It consists of additions and multiplications only, so every backend
/// computes the same bits.
pub trait Exponential: Copy {
    /// Binades in a step of the scale.
    const STEP: u32;
    /// The scale of the identity. No element has a lower scale.
    const NO_TERM: Self;
    /// Whether the element's scale is zero because the element is near zero. False for NaN.
    fn is_ordinary(self) -> bool;
    /// The exponential of an ordinary element, to about an ulp.
    fn ordinary_exp(self) -> Self;
    /// The same bits, of an element that was a `dtype`: in fewer operations where these are fused, if it had 16 bits.
    fn ordinary_exp_of(self, dtype: DType) -> Self;
    /// The same, where `fused(a, b, c)` is `a * b + c`, rounded once.
    fn fused_exp_of(self, dtype: DType, fused: impl Fn(Self, Self, Self) -> Self) -> Self;
    /// The scale of an element, and its exponential in that scale. Beyond 2^28 (f32) or 2^58 (f64), an ulp of an
    /// element is more than the logarithm of any count. Such an element is its own scale, and the term is 1.
    fn scaled_exp(self) -> (Self, Self);
    /// The factor of a node whose scale is `steps` below that of the other node: zero from two steps on.
    fn fall(steps: Self) -> Self;
    /// `self` times 2 to [`Exponential::STEP`] times `steps`, a difference of scales: rounded once, to a subnormal
    /// number too. Beyond two steps, times zero or infinity.
    fn shift(self, steps: Self) -> Self;
    /// The exponential of any number, to about two ulps.
    #[inline(always)]
    fn full_exp(self) -> Self {
        let (scale, term) = self.scaled_exp();
        term.shift(scale)
    }
    /// The natural logarithm of a node.
    fn log(scale: Self, sum: Self) -> Self;
    /// The logarithm of a node, and what its rounding left out. Of a sum that is not finite, the second word is NaN.
    fn log_words(scale: Self, sum: Self) -> (Self, Self);
    /// Whether [`Exponential::ordinary_log`] has the logarithm of this sum.
    fn has_ordinary_log(sum: Self) -> bool;
    /// The same bits as `log` of a node with scale zero, without a branch, so that many are computed at once.
    fn ordinary_log(sum: Self) -> Self;
    /// The quotient of what the rounding of the sum of 1 and a number from 0 to 1 left out, and the sum: without a
    /// branch on a GPU.
    fn rest_over(self, sum: Self) -> Self;
}

/// `x - k * c`, where the product is exact, because both words of ln 2 are short. A fused operation has the same bits.
/// On a GPU it is fused, which saves an instruction.
macro_rules! without {
    ($f:ident, $x:expr, $k:expr, $c:expr) => {{
        #[cfg(target_arch = "nvptx64")]
        let rest = core::$f::math::mul_add(-$k, $c, $x);
        #[cfg(not(target_arch = "nvptx64"))]
        let rest = $x - $k * $c;
        rest
    }};
}

macro_rules! exponential {
    ($f:ident, $u:ident, $mantissa:literal, $bias:literal,
     step $step:literal, ordinary $ordinary:literal, limit $limit:expr,
     unit $inverse:literal $unit:literal $unit_low:literal, ln2 $ln2:literal $ln2_low:literal,
     poly $poly:expr, of $of:expr, fused $fused_of:path, log $log:expr, rest $rest:path,
     ordinary $ordinary_log:path, words $words:path, over $over:path) => {
        impl Exponential for $f {
            const STEP: u32 = $step;
            const NO_TERM: $f = $f::MIN;

            #[inline(always)]
            fn is_ordinary(self) -> bool {
                // A comparison of f64 keeps the arithmetic of a GPU busy; the low half of the limit is zero.
                #[cfg(target_arch = "nvptx64")]
                if $mantissa == 52 {
                    return (self.to_bits() >> 32) as u32 & 0x7fff_ffff < (($ordinary as f64).to_bits() >> 32) as u32;
                }
                $f::from_bits(self.to_bits() & ($u::MAX >> 1)) < $ordinary
            }

            #[inline(always)]
            fn ordinary_exp(self) -> $f {
                // x = k ln 2 + r. Adding 1.5 * 2^$mantissa rounds to an integer, and leaves it in the low bits.
                const WHOLE: $f = (3u64 << ($mantissa - 1)) as $f;
                let n = self * core::$f::consts::LOG2_E + WHOLE;
                let k = n - WHOLE;
                let r = without!($f, without!($f, self, k, $ln2), k, $ln2_low);
                let coefficients = $poly;
                let mut t = coefficients[coefficients.len() - 1];
                let mut i = coefficients.len() - 1;
                while i > 0 {
                    i -= 1;
                    t = t * r + coefficients[i];
                }
                $f::from_bits(t.to_bits().wrapping_add(n.to_bits() << $mantissa))
            }

            #[inline(always)]
            fn ordinary_exp_of(self, dtype: DType) -> $f {
                $of(self, dtype)
            }

            #[inline(always)]
            fn fused_exp_of(self, dtype: DType, fused: impl Fn($f, $f, $f) -> $f) -> $f {
                $fused_of(self, dtype, fused)
            }

            #[inline(always)]
            fn scaled_exp(self) -> ($f, $f) {
                let sign = self.to_bits() & !($u::MAX >> 1);
                let magnitude = $f::from_bits(self.to_bits() ^ sign);
                // A NaN is not near.
                let near = magnitude < $limit;
                let x = if near { self } else { 0.0 };
                // To the nearest integer, of either sign.
                let whole = $f::from_bits(((1u64 << $mantissa) as $f).to_bits() | sign);
                let scale = (x * $inverse + whole) - whole;
                let term = ((x - scale * $unit) - scale * $unit_low).ordinary_exp();
                let rank = if self > $f::MIN { self } else { $f::MIN };
                let rank = if self < $f::MAX { rank } else { $f::MAX };
                // The term of an infinity or a NaN is the element itself, that of minus infinity is 0.
                let own = if self < 0.0 { 0.0 } else { self };
                let far_term = if magnitude <= $f::MAX { 1.0 } else { own };
                (if near { scale } else { rank }, if near { term } else { far_term })
            }

            #[inline(always)]
            fn fall(steps: $f) -> $f {
                const ONE_STEP: $f = $f::from_bits(($bias - $step) << $mantissa);
                if steps == 0.0 {
                    1.0
                } else if steps == 1.0 {
                    ONE_STEP
                } else {
                    0.0
                }
            }

            #[inline(always)]
            fn shift(self, steps: $f) -> $f {
                const UP: $f = $f::from_bits(($bias + $step) << $mantissa);
                const DOWN: $f = $f::from_bits(($bias - $step) << $mantissa);
                let (step, far) = if steps < 0.0 { (DOWN, 0.0) } else { (UP, $f::INFINITY) };
                let count = steps.abs();
                let first = if count == 0.0 { 1.0 } else { step };
                let first = if count <= 2.0 { first } else { far };
                self * first * if count == 2.0 { step } else { 1.0 }
            }

            fn log_words(scale: $f, sum: $f) -> ($f, $f) {
                if scale == 0.0 && Self::has_ordinary_log(sum) {
                    // The same bits, from one logarithm.
                    return $words(sum);
                }
                // Where std is linked, `Self::log` is its function of a number and a base.
                let log = <Self as Exponential>::log(scale, sum);
                if sum == 0.0 {
                    (log, 0.0)
                } else if sum.is_nan() || sum > $f::MAX {
                    (log, $f::NAN)
                } else if scale.abs() >= $limit {
                    (log, log_of_normal(sum as f64) as $f)
                } else {
                    (log, $rest(scale * $unit, scale * $unit_low, sum, log))
                }
            }

            fn log(scale: $f, sum: $f) -> $f {
                if sum == 0.0 {
                    $f::NEG_INFINITY
                } else if sum.is_nan() || sum > $f::MAX {
                    sum
                } else if scale.abs() >= $limit {
                    scale
                } else {
                    // The scale's offset, rounded as in `scaled_exp`.
                    $log(scale * $unit, scale * $unit_low, sum)
                }
            }

            #[inline(always)]
            fn has_ordinary_log(sum: $f) -> bool {
                ($f::MIN_POSITIVE..=$f::MAX).contains(&sum)
            }

            #[inline(always)]
            fn ordinary_log(sum: $f) -> $f {
                // Adding the scale's two words, both of them zero, changes no logarithm.
                $ordinary_log(sum)
            }

            #[inline(always)]
            fn rest_over(self, sum: $f) -> $f {
                $over(self, sum)
            }
        }
    };
}

/// As `ordinary_exp`, with the first `FUSED` steps of the polynomial fused, and the rounding to an integer. Elements of
/// 16 bits are few, so a test compares all. The last coefficients are those with which all are the same.
#[inline(always)]
fn short_exp<const FUSED: usize>(x: f32, [e, f, g]: [f32; 3], fused: impl Fn(f32, f32, f32) -> f32) -> f32 {
    const WHOLE: f32 = 12_582_912.0;
    let n = fused(x, core::f32::consts::LOG2_E, WHOLE);
    let k = n - WHOLE;
    let r = fused(-k, 0.000_001_428_605_2, fused(-k, 0.693_145_75, x));
    let coefficients = [1.0, 1.0, 0.499_999_94, 0.166_665_21, e, f];
    let (mut t, mut i) = (g, coefficients.len());
    while i > 0 {
        i -= 1;
        t = if i + FUSED >= coefficients.len() { fused(t, r, coefficients[i]) } else { t * r + coefficients[i] };
    }
    f32::from_bits(t.to_bits().wrapping_add(n.to_bits() << 23))
}

/// `fused_exp_of` for `f32`.
#[inline(always)]
fn fused_exp(x: f32, dtype: DType, fused: impl Fn(f32, f32, f32) -> f32) -> f32 {
    match dtype {
        DType::BF16 => short_exp::<4>(x, [0.041_668_274, 0.008_368_621, 0.001_382_135_9], fused),
        DType::F16 => short_exp::<3>(x, [0.041_668_26, 0.008_368_669, 0.001_382_158_5], fused),
        _ => x.ordinary_exp(),
    }
}

/// `ordinary_exp_of` for `f32`.
#[expect(clippy::redundant_closure, reason = "a closure is inlined wherever it is called")]
#[inline(always)]
fn exp_of(x: f32, dtype: DType) -> f32 {
    fused_exp(
        x,
        dtype,
        #[inline(always)]
        |a, b, c| fused(a, b, c),
    )
}

/// `fused_exp_of` for `f64`.
#[inline(always)]
fn exp_of_f64(x: f64, _dtype: DType, _fused: impl Fn(f64, f64, f64) -> f64) -> f64 {
    x.ordinary_exp()
}

/// What rounding left out of the logarithm of an f32's node, from the words of its scale's offset.
fn rest_of_f32(high: f32, low: f32, sum: f32, log: f32) -> f32 {
    ((high as f64 + (low as f64 + log_of_normal(sum as f64))) - log as f64) as f32
}

/// What rounding left out of the logarithm of an f64's node.
fn rest_of_f64(high: f64, low: f64, sum: f64, log: f64) -> f64 {
    let (whole, rest) = log_parts(sum);
    let words = DoubleWord::<f64>::of_sum(high, whole);
    (words.hi - log) + (words.lo + (low + rest))
}

/// `log_words` of a normal f32 in scale zero.
#[inline(always)]
fn words_of_f32(sum: f32) -> (f32, f32) {
    let whole = log_of_normal(sum as f64);
    let log = whole as f32;
    (log, (whole - log as f64) as f32)
}

/// `log_words` of a normal f64 in scale zero.
#[inline(always)]
fn words_of_f64(sum: f64) -> (f64, f64) {
    let (whole, rest) = log_parts(sum);
    let log = rest + whole;
    (log, (whole - log) + rest)
}

// exp on [-ln(2)/2, ln(2)/2]: nearest in relative error, 3.1e-9 and 3.8e-18 before rounding.
exponential!(f32, u32, 23, 127, step 84, ordinary 29.0, limit 268_435_456.0,
    unit 0.017_174_94 58.218_75 0.005_613_167, ln2 0.693_145_75 0.000_001_428_605_2,
    poly [1.0, 1.0, 0.499_999_94, 0.166_665_21, 0.041_668_26, 0.008_368_669, 0.001_382_135_9],
    of exp_of, fused fused_exp,
    log |high: f32, low: f32, sum: f32| (high as f64 + (low as f64 + libm::log(sum as f64))) as f32,
    rest rest_of_f32, ordinary log_of_f32, words words_of_f32, over over_f32);
exponential!(f64, u64, 52, 1023, step 680, ordinary 235.0, limit 288_230_376_151_711_744.0,
    unit 0.002_121_610_354_248_475_5 471.339_843_75 0.000_239_030_762_810_403_73,
    ln2 0.693_147_180_559_890_3 5.497_923_018_708_502_4e-14,
    poly [
        1.0, 1.0, 0.500_000_000_000_001_1, 0.166_666_666_666_664_3, 0.041_666_666_666_527, 0.008_333_333_333_483_552,
        0.001_388_888_894_432_845_7, 0.000_198_412_695_298_984_78, 2.480_149_246_891_439e-5, 2.755_756_578_831_829e-6,
        2.763_044_847_386_771e-7, 2.500_650_674_627_367e-8,
    ],
    of |x: f64, _| x.ordinary_exp(), fused exp_of_f64,
    log |high: f64, low: f64, sum: f64| high + (low + libm::log(sum)),
    rest rest_of_f64, ordinary log_of_normal, words words_of_f64, over over_f64);

#[cfg(test)]
mod tests {
    use super::*;

    /// Both words, exactly: -0.0 is not 0.0.
    fn bits<F: Into<f64>>((log, rest): (F, F)) -> [u64; 2] {
        [log.into().to_bits(), rest.into().to_bits()]
    }

    #[test]
    fn ordinary_logarithms_are_logarithms() {
        let mut seed = 1u64;
        let edges = [f64::MIN_POSITIVE, 1.0, 1.0f64.next_up(), 1.0f64.next_down(), f64::MAX, 2.0, 0.5, 1.5];
        let random = (0..1_000_000).map(|_| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            f64::from_bits(seed)
        });
        let near_one = (0..100_000).map(|i| 1.0 + (i as f64 - 50_000.0) * 1e-7);
        let mut tested = 0;
        for x in edges.into_iter().chain(random).chain(near_one).filter(|&x| f64::has_ordinary_log(x)) {
            tested += 1;
            let log = <f64 as Exponential>::log(0.0, x);
            assert_eq!(f64::ordinary_log(x).to_bits(), log.to_bits(), "{x:e}");
            let words = (log, rest_of_f64(0.0, 0.0, x, log));
            assert_eq!(bits(f64::log_words(0.0, x)), bits(words), "{x:e}");
            let x = x as f32;
            if f32::has_ordinary_log(x) {
                let log = <f32 as Exponential>::log(0.0, x);
                assert_eq!(f32::ordinary_log(x).to_bits(), log.to_bits(), "{x:e}");
                let words = (log, rest_of_f32(0.0, 0.0, x, log));
                assert_eq!(bits(f32::log_words(0.0, x)), bits(words), "{x:e}");
            }
        }
        assert!(tested > 500_000, "{tested}");
    }

    #[test]
    fn every_ordinary_element_of_16_bits_has_the_same_exponential() {
        let of = |dtype: DType, number: fn(u16) -> f32| {
            let mut ordinary = 0;
            for x in (0..=u16::MAX).map(number).filter(|x| x.is_ordinary()) {
                ordinary += 1;
                assert_eq!(x.ordinary_exp_of(dtype).to_bits(), x.ordinary_exp().to_bits(), "{dtype:?} {x:e}");
            }
            ordinary
        };
        assert_eq!(of(DType::BF16, |bits| half::bf16::from_bits(bits).to_f32()), 33_744);
        assert_eq!(of(DType::F16, |bits| half::f16::from_bits(bits).to_f32()), 40_576);
    }
}
