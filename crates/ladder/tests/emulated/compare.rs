//! The one comparator for sums, and the data that they are of.

/// Half the spacing of f32 at 1.
const UNIT: f64 = 5.960_464_477_539_063e-8;

/// Whether `actual` can be the f32 sum of `x`, by additions of which at most `depth` lie between an element and the
/// result. Each rounds by at most `UNIT`, relative to a partial sum that Σ|x| bounds.
pub fn is_sum(actual: f32, x: &[f32], depth: u64) -> Result<(), String> {
    let exact: f64 = x.iter().map(|&x| f64::from(x)).sum();
    let size: f64 = x.iter().map(|&x| f64::from(x.abs())).sum();
    let tolerance = depth as f64 * UNIT / (1.0 - depth as f64 * UNIT) * size;
    let error = (f64::from(actual) - exact).abs();
    // Not `error > tolerance`: a NaN must fail.
    if error <= tolerance {
        Ok(())
    } else {
        Err(format!("{actual} is not {exact}: off by {error:e}, not {tolerance:e}"))
    }
}

/// The same numbers each time, evenly spread, no two runs of them alike.
pub fn noise(n: usize, seed: u64) -> impl Iterator<Item = u32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u32
    })
    .take(n)
}

/// Floats in [-1, 1).
pub fn floats(n: usize) -> Vec<f32> {
    noise(n, n as u64 + 1).map(|bits| (bits >> 8) as f32 / (1 << 23) as f32 - 1.0).collect()
}

/// All integers alike, so that sums wrap.
pub fn integers(n: usize) -> Vec<i32> {
    noise(n, n as u64 + 2).map(|bits| bits as i32).collect()
}

/// The sum in 64 bits, cut to 32.
pub fn integer_sum(x: &[i32]) -> i32 {
    x.iter().map(|&x| i64::from(x)).sum::<i64>() as i32
}

#[test]
fn a_sum_passes_and_its_last_bit_may_differ() {
    let x = floats(4097);
    let sum: f64 = x.iter().map(|&x| f64::from(x)).sum();
    assert!(is_sum(sum as f32, &x, 12).is_ok());
    assert!(is_sum((sum as f32).next_up(), &x, 12).is_ok());
}

#[test]
fn zero_nan_infinity_and_a_dropped_element_fail() {
    let x = floats(4097);
    let sum: f64 = x.iter().map(|&x| f64::from(x)).sum();
    for wrong in [0.0, f32::NAN, f32::INFINITY, (sum - f64::from(x[7])) as f32, (sum + f64::from(x[7])) as f32] {
        assert!(is_sum(wrong, &x, 40).is_err(), "{wrong}");
    }
    assert!(is_sum(1.0, &[f32::NAN], 1).is_err());
    assert!(is_sum(-0.0, &[], 0).is_ok());
}
