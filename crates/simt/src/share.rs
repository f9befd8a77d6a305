//! The quotient of two counts, correctly rounded, without a division: from an approximate reciprocal and its error.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// Most elements that [`share_f32`] and [`share_f64`] may be told of.
pub const MOST_COUNTED: u32 = 1 << 18;

/// The nearest f32 to `n / all`, of whole numbers of which `all` is at most [`MOST_COUNTED`] and not below `n`. NaN if
/// both are zero.
///
/// Let r be 1 / `all`, off by a factor of 1 + e, where e < 2^-22. The product q = n * r is off by a factor of
/// 1 + e + 2^-24, so the rest n - q * all is fewer than 2^24 ulps of q, and exact. What is rounded last is off by a
/// factor of 1 + e * (e + 2^-24), below 1 + 1.25 * 2^-44. The quotient n / all is no tie, since `all` has fewer than 24
/// bits. From a tie it is off by a factor of 1 + 2^-25 / all, at least 1 + 2^-43. So both are rounded to the same
/// number.
#[inline(always)]
#[must_use]
pub fn share_f32(n: f32, all: f32) -> f32 {
    let near = reciprocal(all);
    let q = n * near;
    fma_f32(fma_f32(-q, all, n), near, q)
}

/// The same in f64, where one of Newton's steps brings e below 2^-43.
#[inline(always)]
#[must_use]
pub fn share_f64(n: f32, all: f32) -> f64 {
    let (near, n, all) = (reciprocal(all) as f64, n as f64, all as f64);
    let near = fma_f64(near, fma_f64(-near, all, 1.0), near);
    let q = n * near;
    fma_f64(fma_f64(-q, all, n), near, q)
}

/// About `1 / x`: off by less than a factor of 1 + 2^-22.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
fn reciprocal(x: f32) -> f32 {
    let r: f32;
    // SAFETY: arithmetic on registers.
    unsafe { asm!("rcp.approx.ftz.f32 {r}, {x};", r = out(reg32) r, x = in(reg32) x, options(pure, nomem, nostack)) };
    r
}

/// The same, as far off as it may be, so that no result can depend on it.
#[cfg(not(target_arch = "nvptx64"))]
fn reciprocal(x: f32) -> f32 {
    let near = 1.0 / x;
    let ulps = if x.to_bits().count_ones().is_multiple_of(2) { near.to_bits() + 1 } else { near.to_bits() - 1 };
    if near.is_finite() { f32::from_bits(ulps) } else { near }
}

#[cfg(target_arch = "nvptx64")]
#[inline(always)]
fn fma_f32(a: f32, b: f32, c: f32) -> f32 {
    let r: f32;
    // SAFETY: arithmetic on registers.
    unsafe {
        asm!("fma.rn.f32 {r}, {a}, {b}, {c};", r = out(reg32) r, a = in(reg32) a, b = in(reg32) b, c = in(reg32) c,
            options(pure, nomem, nostack))
    };
    r
}

#[cfg(target_arch = "nvptx64")]
#[inline(always)]
fn fma_f64(a: f64, b: f64, c: f64) -> f64 {
    let r: f64;
    // SAFETY: arithmetic on registers.
    unsafe {
        asm!("fma.rn.f64 {r}, {a}, {b}, {c};", r = out(reg64) r, a = in(reg64) a, b = in(reg64) b, c = in(reg64) c,
            options(pure, nomem, nostack))
    };
    r
}

#[cfg(not(target_arch = "nvptx64"))]
fn fma_f32(a: f32, b: f32, c: f32) -> f32 {
    a.mul_add(b, c)
}

#[cfg(not(target_arch = "nvptx64"))]
fn fma_f64(a: f64, b: f64, c: f64) -> f64 {
    a.mul_add(b, c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_correctly_rounded_quotients() {
        let few = (0..600).flat_map(|all| (0..=all).map(move |n| (n, all)));
        let many = (1..200_000u32).map(|i| {
            let all = i.wrapping_mul(0x9e37_79b1) % MOST_COUNTED + 1;
            (i.wrapping_mul(0x85eb_ca6b) % (all + 1), all)
        });
        for (n, all) in few.chain(many) {
            let (n, all) = (n as f32, all as f32);
            let (narrow, wide) = (share_f32(n, all), share_f64(n, all));
            if all == 0.0 {
                assert!(narrow.is_nan() && wide.is_nan());
                continue;
            }
            assert_eq!(narrow.to_bits(), (n / all).to_bits(), "{n} / {all}");
            assert_eq!(wide.to_bits(), (n as f64 / all as f64).to_bits(), "{n} / {all}");
        }
    }
}
