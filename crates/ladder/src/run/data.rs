//! The numbers that rungs are run on. They depend on the seed alone.

use rayon::prelude::*;

/// The generator in words, for whoever wants the same numbers.
pub const GENERATOR: &str = "word i of seed s is the upper half of splitmix64's mix of (s * 2^40 + i + 1) * \
    0x9e3779b97f4a7c15; a float is its upper 24 bits / 2^23 - 1; a label is word * clusters / 2^32; an integer is the \
    word";

fn word(seed: u64, i: u64) -> u32 {
    let mut x = (seed << 40).wrapping_add(i).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ x >> 31) >> 32) as u32
}

fn words<T: Send>(n: u64, seed: u64, of: impl Fn(u32) -> T + Sync) -> Vec<T> {
    (0..n).into_par_iter().map(|i| of(word(seed, i))).collect()
}

/// Floats in [-1, 1), all of them multiples of 2^-23: sums of up to 2^30 of them are exact in f64.
pub fn floats(n: u64, seed: u64) -> Vec<f32> {
    words(n, seed, |w| (w >> 8) as f32 / (1 << 23) as f32 - 1.0)
}

/// Whole numbers from -4 to 4, never 0. Their sums are exact in f32, in whatever order they are added, as long as no
/// partial sum reaches 2^24; so a sum of them is either exact or wrong, down to a single element.
pub fn whole(n: u64, seed: u64) -> Vec<f32> {
    words(n, seed, |w| {
        let size = (w >> 8 & 3) as f32 + 1.0;
        if w >> 31 == 1 { -size } else { size }
    })
}

/// All integers alike, so that sums wrap.
pub fn integers(n: u64, seed: u64) -> Vec<i32> {
    words(n, seed, |w| w as i32)
}

/// Labels below `clusters`.
pub fn labels(n: u64, seed: u64, clusters: u32) -> Vec<i32> {
    words(n, seed, |w| ((u64::from(w) * u64::from(clusters)) >> 32) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_what_they_are_said_to_be() {
        let floats = floats(100_000, 3);
        assert!(floats.iter().all(|x| (-1.0..1.0).contains(x) && (x * (1 << 23) as f32).fract() == 0.0));
        let mean = floats.iter().map(|&x| f64::from(x)).sum::<f64>() / 1e5;
        assert!(mean.abs() < 0.01, "{mean}");
        assert!(whole(1000, 3).iter().all(|x| x.fract() == 0.0 && (1.0..=4.0).contains(&x.abs())));
        assert!(labels(1000, 3, 16).iter().all(|l| (0..16).contains(l)));
        assert_eq!(labels(1000, 3, 16).iter().max(), Some(&15));
        assert!(integers(1000, 3).iter().any(|&x| x < 0));
    }

    #[test]
    fn seeds_differ_and_a_longer_run_begins_as_a_shorter_one() {
        assert_ne!(integers(10, 1), integers(10, 2));
        assert_eq!(integers(1000, 1)[..10], integers(10, 1));
        // As `GENERATOR` states, so that golden files stay valid.
        assert_eq!(word(0, 0), 0xe220_a839);
    }
}
