//! Loops that are compiled once for each level of vector instructions, in one binary, which picks the CPU's widest
//! level at run time. Every level is compiled from the same Rust, and rustc neither contracts nor reassociates, so all
//! levels compute the same bits.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU8, Ordering};

/// `[value(0), value(1), …]` of `$n` values, by an explicit loop: `array!(N, i => 2 * i)`.
///
/// `std::array::from_fn` and `map` call their closures through functions of std that are not `inline(always)`. Without
/// LTO those stay calls, of the baseline's instructions, once for each element: a loop over vectors was seven times
/// slower.
macro_rules! array {
    ($n:expr, $i:ident => $value:expr) => {{
        let mut room = [const { ::std::mem::MaybeUninit::uninit() }; $n];
        let mut $i = 0;
        while $i < $n {
            room[$i].write($value);
            $i += 1;
        }
        // SAFETY: the loop has written each of the `$n` values.
        #[allow(unused_unsafe)]
        let array = unsafe { $crate::simd::written(room) };
        array
    }};
}
pub(crate) use array;

/// An array whose values are all written, as an array of initialised values.
///
/// # Safety
/// Every value is written.
#[inline(always)]
pub(crate) unsafe fn written<T, const N: usize>(room: [MaybeUninit<T>; N]) -> [T; N] {
    // SAFETY: `MaybeUninit<T>` has the layout of `T`, and the caller vouches that every value is written.
    unsafe { (&raw const room).cast::<[T; N]>().read() }
}

/// Lanes that begin at a cache line: where they do not stay in registers, no vector of them lies across two lines.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Aligned<T>(pub T);

/// The closure as it is. An attribute may stand before an argument, not before what a `let` binds: this is how a
/// closure with a name is `inline(always)`.
#[inline(always)]
pub(crate) fn inlined<A, B, F: Fn(A) -> B>(f: F) -> F {
    f
}

/// Joins the lanes of vectors, in any order.
///
/// Vectors are joined, and then halves of one. The compiler, where it sees all lanes, has scalar instructions for each
/// instead: so it is kept from seeing them. Least and greatest bits of rows in the cache, one thread of an EPYC with
/// AVX-512, ns a row of a fold one lane after the other, and of this: 103 of 32 bits 70, 23; 50 of 64 bits 12, 7; 150
/// of 16 bits 32, 4.5; 300 of 8 bits 35, 4.5.
#[inline(always)]
pub(crate) fn fold_lanes<A: Copy, const N: usize>(lanes: [A; N], join: impl Fn(A, A) -> A) -> A {
    match size_of::<A>() {
        1 => halve::<A, N, 64>(&lanes, join),
        2 => halve::<A, N, 32>(&lanes, join),
        4 => halve::<A, N, 16>(&lanes, join),
        _ => halve::<A, N, 8>(&lanes, join),
    }
}

/// [`fold_lanes`] by vectors of `W` lanes, a power of two of at most 64.
#[inline(always)]
fn halve<A: Copy, const N: usize, const W: usize>(lanes: &[A; N], join: impl Fn(A, A) -> A) -> A {
    let Some((&first, rest)) = lanes.split_first_chunk::<W>() else {
        return lanes[1..].iter().fold(lanes[0], |a, &b| join(a, b));
    };
    const { assert!(N < W || N.is_multiple_of(W)) };
    let mut vector = first;
    for more in rest.as_chunks::<W>().0 {
        for i in 0..W {
            vector[i] = join(vector[i], more[i]);
        }
    }
    let mut vector = std::hint::black_box(vector);
    macro_rules! halves {
        ($($n:literal)*) => {$(
            if W > $n {
                let whole = vector;
                for i in 0..$n {
                    vector[i] = join(whole[i], whole[i + $n]);
                }
            }
        )*};
    }
    halves!(32 16 8 4 2 1);
    vector[0]
}

/// A set of vector instructions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Simd {
    /// The instructions that every CPU of the target has: SSE2, or NEON.
    Baseline = 1,
    /// x86-64-v3: AVX2 and FMA.
    Avx2 = 2,
    /// x86-64-v4: AVX-512.
    Avx512 = 3,
}

/// The level in use, as a number; 0 before it is detected.
static LEVEL: AtomicU8 = AtomicU8::new(0);

impl Simd {
    /// The highest level that this CPU has.
    pub fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let all = |has: &[bool]| has.iter().all(|&has| has);
            // The features that the functions `avx2` and `avx512` enable.
            let avx2 = all(&[
                is_x86_feature_detected!("avx2"),
                is_x86_feature_detected!("bmi1"),
                is_x86_feature_detected!("bmi2"),
                is_x86_feature_detected!("f16c"),
                is_x86_feature_detected!("fma"),
                is_x86_feature_detected!("lzcnt"),
                is_x86_feature_detected!("popcnt"),
            ]);
            let avx512 = all(&[
                is_x86_feature_detected!("avx512f"),
                is_x86_feature_detected!("avx512bw"),
                is_x86_feature_detected!("avx512cd"),
                is_x86_feature_detected!("avx512dq"),
                is_x86_feature_detected!("avx512vl"),
            ]);
            match (avx2, avx512) {
                (true, true) => return Simd::Avx512,
                (true, false) => return Simd::Avx2,
                (false, _) => {}
            }
        }
        Simd::Baseline
    }

    /// The level in use: the CPU's highest, unless [`Simd::limit`] or the environment variable `WARPFOLD_SIMD`
    /// (`baseline`, `avx2`, `avx512`) names a lower one.
    #[inline]
    pub fn current() -> Self {
        match LEVEL.load(Ordering::Relaxed) {
            1 => Simd::Baseline,
            2 => Simd::Avx2,
            3 => Simd::Avx512,
            _ => Self::detect(),
        }
    }

    /// Uses no higher level from now on, in the whole process. No result depends on the level, which tests show.
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

/// Compiles `f` once for each level, and runs the code of the level in use.
#[inline(always)]
pub fn vectorize<R>(f: impl FnOnce() -> R) -> R {
    at_level(
        #[inline(always)]
        |_| f(),
    )
}

/// [`vectorize`] without AVX-512: for loops that wider vectors do not make faster.
#[inline(always)]
pub fn vectorize_256<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    match Simd::current() {
        // SAFETY: a level is in use only if the CPU has it, and a CPU with AVX-512 has AVX2.
        Simd::Avx512 | Simd::Avx2 => unsafe {
            avx2(
                #[inline(always)]
                |_| f(),
            )
        },
        Simd::Baseline => f(),
    }
    #[cfg(not(target_arch = "x86_64"))]
    f()
}

/// [`vectorize`] for code that differs between levels: `f` is told the level that it is compiled for.
#[inline(always)]
pub fn at_level<R>(f: impl FnOnce(Simd) -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    match Simd::current() {
        // SAFETY: a level is in use only if the CPU has it: `limit` takes the minimum with `best`.
        Simd::Avx512 => unsafe { avx512(f) },
        // SAFETY: the level is in use, so the CPU has AVX2.
        Simd::Avx2 => unsafe { avx2(f) },
        Simd::Baseline => f(Simd::Baseline),
    }
    #[cfg(not(target_arch = "x86_64"))]
    f(Simd::Baseline)
}

/// [`at_level`] for the loops of kernels. They are not compiled for the baseline of x86-64, at which few CPUs are:
/// there `fallback.rs` stands in for them.
///
/// # Panics
/// If the CPU lacks AVX2, and its baseline is that of x86-64.
#[inline(always)]
pub fn vectors_at_level<R>(f: impl FnOnce(Simd) -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if Simd::current() == Simd::Avx512 {
        // SAFETY: as in `at_level`.
        unsafe { avx512(f) }
    } else {
        has_avx2();
        // SAFETY: the CPU has AVX2.
        unsafe { avx2(f) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    f(Simd::Baseline)
}

/// [`vectors_at_level`] for code that is the same at all levels.
#[inline(always)]
pub fn vectors<R>(f: impl FnOnce() -> R) -> R {
    vectors_at_level(
        #[inline(always)]
        |_| f(),
    )
}

/// [`vectors`] without AVX-512.
#[inline(always)]
pub fn vectors_256<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        has_avx2();
        // SAFETY: the CPU has AVX2.
        unsafe {
            avx2(
                #[inline(always)]
                |_| f(),
            )
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    f()
}

/// Checks that the CPU has AVX2. The level in use may still be the baseline, if it was lowered in the midst of a
/// reduction.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn has_avx2() {
    #[cold]
    #[inline(never)]
    fn has_best() {
        assert!(Simd::best() >= Simd::Avx2, "a kernel's loops on a CPU that has no vectors for them");
    }
    if Simd::current() == Simd::Baseline {
        has_best();
    }
}

/// `f`, and all that is inlined into it, with AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,f16c,fma,lzcnt,popcnt")]
fn avx512<R>(f: impl FnOnce(Simd) -> R) -> R {
    f(Simd::Avx512)
}

/// `f`, and all that is inlined into it, with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,f16c,fma,lzcnt,popcnt")]
fn avx2<R>(f: impl FnOnce(Simd) -> R) -> R {
    f(Simd::Avx2)
}

/// Prefetches the cache lines of `n` elements to the L2 cache. The address need not be valid.
///
/// Not to L1, whose few requests a kernel that computes needs for itself: of 128 MiB, two threads of an EPYC with
/// AVX-512, ms without a prefetch, to L1 and to L2 (a read takes 3.5): var of f32 10.1, 7.3, 4.9; of f64 9.9, 7.1, 5.5;
/// logsumexp of f32 9.6, 8.9, 6.9; describe of f32 7.4, 7.5, 5.9; sum of rows of 100 f32 14.2, 11.2, 8.4, down 8192
/// columns 5.4, 5.8, 4.4; max of f32 3.4, 4.7, 3.7.
#[inline(always)]
pub fn prefetch<T>(x: *const T, n: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..n * size_of::<T>()).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: a prefetch is a hint, which faults at no address.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(x.wrapping_byte_add(line).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (x, n);
}
