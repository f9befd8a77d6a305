//! The arithmetic of accumulators: integers, floats, double words.

use core::fmt::Debug;

/// A number that sums and products accumulate in: `f32`, `f64`, wrapping `i64` and `u64`, `i128`, and
/// [`DoubleWord`].
pub trait Accumulate: Copy + Send + Sync + PartialEq + Debug + 'static {
    /// The identity of addition, on either side: -0.0 for floats.
    const NOTHING: Self;
    /// Zero; +0.0 for floats.
    const ZERO: Self;
    /// The identity of multiplication.
    const ONE: Self;
    /// `self + right`; integers wrap.
    fn add(self, right: Self) -> Self;
    /// `self * right`; integers wrap.
    fn mul(self, right: Self) -> Self;
}

macro_rules! accumulate_int {
    ($($t:ty),*) => {$(
        impl Accumulate for $t {
            const NOTHING: Self = 0;
            const ZERO: Self = 0;
            const ONE: Self = 1;
            #[inline(always)]
            fn add(self, right: Self) -> Self {
                self.wrapping_add(right)
            }
            #[inline(always)]
            fn mul(self, right: Self) -> Self {
                self.wrapping_mul(right)
            }
        }
    )*};
}
accumulate_int!(i64, u64, i128);

/// A real number as the variance and the norms need it: `f32`, `f64`, or [`DoubleWord`] of either.
pub trait Real: Accumulate {
    /// `self - right`.
    fn sub(self, right: Self) -> Self;
    /// `self / right`.
    fn div(self, right: Self) -> Self;
    /// The square, rounded once (for a double word: to a double word).
    fn square(self) -> Self;
    /// The absolute value.
    fn abs(self) -> Self;
    /// The square root, correctly rounded for `f32` and `f64`.
    fn sqrt(self) -> Self;
    /// The nearest value to a count.
    fn from_count(n: u64) -> Self;
    /// The nearest value to an `f64`.
    fn from_f64(x: f64) -> Self;
    /// `0.5 * self`, exact.
    fn half(self) -> Self;
}

macro_rules! real_float {
    ($t:ident, $sqrt:path) => {
        impl Accumulate for $t {
            const NOTHING: Self = -0.0;
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            #[inline(always)]
            fn add(self, right: Self) -> Self {
                self + right
            }
            #[inline(always)]
            fn mul(self, right: Self) -> Self {
                self * right
            }
        }
        impl Real for $t {
            #[inline(always)]
            fn sub(self, right: Self) -> Self {
                self - right
            }
            #[inline(always)]
            fn div(self, right: Self) -> Self {
                self / right
            }
            #[inline(always)]
            fn square(self) -> Self {
                self * self
            }
            #[inline(always)]
            fn abs(self) -> Self {
                $t::from_bits(self.to_bits() & ($t::MAX.to_bits() | $t::INFINITY.to_bits()))
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                $sqrt(self)
            }
            #[inline(always)]
            fn from_count(n: u64) -> Self {
                n as $t
            }
            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                x as $t
            }
            #[inline(always)]
            fn half(self) -> Self {
                self * 0.5
            }
        }
    };
}
real_float!(f32, square_root::f32);
real_float!(f64, square_root::f64);

/// Correctly rounded square roots.
mod square_root {
    #[cfg(not(any(target_arch = "nvptx64", target_arch = "x86_64")))]
    pub use libm::{sqrt as f64, sqrtf as f32};

    /// By an intrinsic, which the compiler vectorises. (libm has assembly.)
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub fn f32(x: core::primitive::f32) -> core::primitive::f32 {
        use core::arch::x86_64::{_mm_cvtss_f32, _mm_set_ss, _mm_sqrt_ss};
        // SAFETY: every x86-64 CPU has SSE.
        unsafe { _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x))) }
    }

    /// See [`f32`].
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub fn f64(x: core::primitive::f64) -> core::primitive::f64 {
        use core::arch::x86_64::{_mm_cvtsd_f64, _mm_set_sd, _mm_setzero_pd, _mm_sqrt_sd};
        // SAFETY: every x86-64 CPU has SSE2.
        unsafe { _mm_cvtsd_f64(_mm_sqrt_sd(_mm_setzero_pd(), _mm_set_sd(x))) }
    }

    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    pub fn f32(x: f32) -> f32 {
        let root: f32;
        // SAFETY: arithmetic on registers.
        unsafe {
            core::arch::asm!(
                "sqrt.rn.f32 {r}, {x};",
                r = out(reg32) root,
                x = in(reg32) x,
                options(pure, nomem, nostack)
            )
        };
        root
    }

    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    pub fn f64(x: f64) -> f64 {
        let root: f64;
        // SAFETY: arithmetic on registers.
        unsafe {
            core::arch::asm!(
                "sqrt.rn.f64 {r}, {x};",
                r = out(reg64) root,
                x = in(reg64) x,
                options(pure, nomem, nostack)
            )
        };
        root
    }
}

/// An unevaluated sum `hi + lo` with `|lo| <= ulp(hi) / 2`: about 48 bits for `f32`, 106 for `f64`.
///
/// Sums are Knuth's TwoSum followed by a renormalisation (the "accurate" algorithm of Joldes, Muller and
/// Popescu, *Tight and rigorous error bounds for basic building blocks of double-word arithmetic*, 2017);
/// products split each factor (Dekker, 1971), since not every CPU has a fused multiply-add. Once a value is
/// infinite or NaN, the low word is zero, so that infinities behave as in plain arithmetic.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DoubleWord<F> {
    /// The value rounded to `F`.
    pub hi: F,
    /// What that rounding left out.
    pub lo: F,
}

macro_rules! double_word {
    ($t:ident, $split:expr) => {
        impl DoubleWord<$t> {
            /// `x`, exactly.
            #[inline(always)]
            pub const fn new(x: $t) -> Self {
                Self { hi: x, lo: 0.0 }
            }

            #[inline(always)]
            fn two_sum(a: $t, b: $t) -> Self {
                let s = a + b;
                let t = s - a;
                Self { hi: s, lo: (a - (s - t)) + (b - t) }
            }

            /// Needs `|a| >= |b|` or `a == 0`.
            #[inline(always)]
            fn fast_two_sum(a: $t, b: $t) -> Self {
                let s = a + b;
                Self { hi: s, lo: b - (s - a) }
            }

            #[inline(always)]
            fn split(a: $t) -> ($t, $t) {
                let c = $split * a;
                let hi = c - (c - a);
                (hi, a - hi)
            }

            #[inline(always)]
            fn two_prod(a: $t, b: $t) -> Self {
                let p = a * b;
                let (ah, al) = Self::split(a);
                let (bh, bl) = Self::split(b);
                Self { hi: p, lo: ((ah * bh - p) + ah * bl + al * bh) + al * bl }
            }

            /// `a + b`: what [`Accumulate::add`] makes of both as double words, in a third of the operations. There,
            /// what follows TwoSum only adds zeros: the high word is already the sum rounded, and a zero keeps its
            /// sign.
            #[inline(always)]
            pub fn of_sum(a: $t, b: $t) -> Self {
                let s = Self::two_sum(a, b);
                s.tame(s.hi)
            }

            /// What [`DoubleWord::of_sum`] is, of numbers whose sum does not overflow.
            #[inline(always)]
            pub fn of_finite(a: $t, b: $t) -> Self {
                Self::two_sum(a, b)
            }

            /// What [`Accumulate::add`] is, of finite double words whose sum does not overflow. Their order does not
            /// matter: the errors of both TwoSums are exact.
            #[inline(always)]
            pub fn add_finite(self, right: Self) -> Self {
                let s = Self::two_sum(self.hi, right.hi);
                let t = Self::two_sum(self.lo, right.lo);
                let v = Self::fast_two_sum(s.hi, s.lo + t.hi);
                let w = Self::fast_two_sum(v.hi, v.lo + t.lo);
                // -0.0 + -0.0 must stay -0.0, and the low words' +0.0 would make it +0.0. Any other sum of negative
                // numbers is negative without this.
                let negative = self.hi.to_bits() & right.hi.to_bits() & (-0.0 as $t).to_bits();
                Self { hi: $t::from_bits(w.hi.to_bits() | negative), lo: w.lo }
            }

            /// The product of a number with itself or with one, of magnitudes that are 0 or in a range where no part
            /// of Dekker's product overflows or vanishes (2^-51 to 2^50 for `f32`, 2^-485 to 2^400 for `f64`). So what
            /// a fused multiply-add (`fused(a, b, c)`: `a * b + c`, rounded once) leaves has the same bits.
            #[inline(always)]
            pub fn fused_product(a: $t, b: $t, fused: impl Fn($t, $t, $t) -> $t) -> Self {
                let p = a * b;
                Self { hi: p, lo: fused(a, b, -p) }
            }

            /// Zeroes a low word that is not finite: overflow and infinities leave `inf - inf` there.
            #[inline(always)]
            fn tame(self, sum: $t) -> Self {
                let finite = self.lo.is_finite();
                Self { hi: if finite { self.hi } else { sum }, lo: if finite { self.lo } else { 0.0 } }
            }
        }

        impl Accumulate for DoubleWord<$t> {
            const NOTHING: Self = Self { hi: -0.0, lo: 0.0 };
            const ZERO: Self = Self { hi: 0.0, lo: 0.0 };
            const ONE: Self = Self { hi: 1.0, lo: 0.0 };
            #[inline(always)]
            fn add(self, right: Self) -> Self {
                self.add_finite(right).tame(self.hi + right.hi)
            }
            #[inline(always)]
            fn mul(self, right: Self) -> Self {
                let p = Self::two_prod(self.hi, right.hi);
                let c = p.lo + (self.hi * right.lo + self.lo * right.hi);
                let r = Self::fast_two_sum(p.hi, c);
                let hi = if p.hi == 0.0 && r.hi == 0.0 { p.hi } else { r.hi };
                Self { hi, lo: r.lo }.tame(p.hi)
            }
        }

        impl Real for DoubleWord<$t> {
            #[inline(always)]
            fn sub(self, right: Self) -> Self {
                self.add(Self { hi: -right.hi, lo: -right.lo })
            }
            #[inline(always)]
            fn div(self, right: Self) -> Self {
                let q = self.hi / right.hi;
                let r = self.sub(Self::new(q).mul(right));
                Self::fast_two_sum(q, r.hi / right.hi).tame(q)
            }
            #[inline(always)]
            fn square(self) -> Self {
                self.mul(self)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                let negative = self.hi.is_sign_negative();
                Self { hi: Real::abs(self.hi), lo: if negative { -self.lo } else { self.lo } }
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                let s = Real::sqrt(self.hi);
                let r = self.sub(Self::two_prod(s, s).tame(s * s));
                let fix = r.hi / (s + s);
                if s == 0.0 { Self::new(s) } else { Self::fast_two_sum(s, fix).tame(s) }
            }
            #[inline(always)]
            fn from_count(n: u64) -> Self {
                let hi = n as $t;
                // Modulo 2^64, so that a high word of 2^64 is no exception.
                let whole = if hi >= 18_446_744_073_709_551_616.0 { 0 } else { hi as u64 };
                Self { hi, lo: n.wrapping_sub(whole) as i64 as $t }
            }
            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                let hi = x as $t;
                Self { hi, lo: (x - hi as f64) as $t }.tame(hi)
            }
            #[inline(always)]
            fn half(self) -> Self {
                Self { hi: self.hi * 0.5, lo: self.lo * 0.5 }
            }
        }
    };
}
double_word!(f32, 4097.0f32);
double_word!(f64, 134217729.0f64);
