//! One binary, the widest vectors that this CPU has. The code is the same Rust at every level, and rustc neither contracts
//! nor reassociates, so the bits are too.

use std::sync::atomic::{AtomicU8, Ordering};

/// A set of vector instructions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Simd {
    /// What the target always has: SSE2, or NEON.
    Baseline = 1,
    /// x86-64-v3: AVX2.
    Avx2 = 2,
    /// x86-64-v4: AVX-512.
    Avx512 = 3,
}

/// 0: not yet asked.
static LEVEL: AtomicU8 = AtomicU8::new(0);

impl Simd {
    /// The best that this CPU has.
    pub fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if pulp::x86::V4::try_new().is_some() {
                return Simd::Avx512;
            }
            if pulp::x86::V3::try_new().is_some() {
                return Simd::Avx2;
            }
        }
        Simd::Baseline
    }

    /// What is in use: the best, unless [`Simd::limit`] or the environment variable `WARPFOLD_SIMD` (`baseline`, `avx2`,
    /// `avx512`) says less.
    #[inline]
    pub fn current() -> Self {
        match LEVEL.load(Ordering::Relaxed) {
            1 => Simd::Baseline,
            2 => Simd::Avx2,
            3 => Simd::Avx512,
            _ => Self::detect(),
        }
    }

    /// Uses no more than this from now on, in the whole process. Results do not depend on it; tests show that.
    pub fn limit(self) {
        LEVEL.store(self.min(Self::best()) as u8, Ordering::Relaxed);
    }

    #[cold]
    fn detect() -> Self {
        let wish = match std::env::var("WARPFOLD_SIMD").as_deref() {
            Ok("baseline") => Simd::Baseline,
            Ok("avx2") => Simd::Avx2,
            _ => Simd::Avx512,
        };
        wish.limit();
        wish.min(Self::best())
    }

    /// The name, as `WARPFOLD_SIMD` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Simd::Baseline => "baseline",
            Simd::Avx2 => "avx2",
            Simd::Avx512 => "avx512",
        }
    }
}

/// Compiles `f` once per level, and runs the one in use.
#[inline(always)]
pub fn vectorize<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    match Simd::current() {
        // SAFETY: a level is in use only if the CPU has it: `limit` takes the minimum with `best`.
        Simd::Avx512 => unsafe { pulp::x86::V4::new_unchecked() }.vectorize(Run(f)),
        // SAFETY: as above.
        Simd::Avx2 => unsafe { pulp::x86::V3::new_unchecked() }.vectorize(Run(f)),
        Simd::Baseline => f(),
    }
    #[cfg(not(target_arch = "x86_64"))]
    f()
}

#[cfg(target_arch = "x86_64")]
struct Run<F>(F);

#[cfg(target_arch = "x86_64")]
impl<R, F: FnOnce() -> R> pulp::NullaryFnOnce for Run<F> {
    type Output = R;
    #[inline(always)]
    fn call(self) -> R {
        (self.0)()
    }
}
