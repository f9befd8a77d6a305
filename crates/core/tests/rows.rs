//! Rows against exact references: the bounds of `docs/numerics.md`, section *Rows*.

use warpfold_core::ops::{Deviation, Exponential, LogSumExp, Powers, Sum};
use warpfold_core::rows::{BinaryEntropy, LogSoftmax, Loss, Norm, Softmax};
use warpfold_core::{Float, Reducer, Zip, tree};

/// Numbers in [-1, 1).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

fn node<F: Float + warpfold_core::Element<Float = F>>(row: &[F]) -> Powers<F, F> {
    let reducer = LogSumExp::<F>::new();
    tree::tree(&reducer, row.iter().map(|&x| reducer.lift(x, 0))).unwrap()
}

const U: f64 = 1.0 / (1u64 << 24) as f64;

/// Rows of f32 by their spread and offset, with the softmax of each element in f64, and the logarithm.
fn rows(mut check: impl FnMut(&[f32], &[f64], &[f64])) {
    let mut r = Random(1);
    for (spread, offset) in [(1.0, 0.0), (20.0, 0.0), (100.0, 0.0), (5.0, 28.0), (60.0, 300.0), (300.0, -9000.0)] {
        for n in [1usize, 2, 7, 100, 1000] {
            let row: Vec<f32> = (0..n).map(|_| (spread * r.next() + offset) as f32).collect();
            let most = row.iter().fold(f64::NEG_INFINITY, |most, &x| most.max(x as f64));
            let sum: f64 = row.iter().map(|&x| (x as f64 - most).exp()).sum();
            let log: Vec<f64> = row.iter().map(|&x| x as f64 - most - sum.ln()).collect();
            let softmax: Vec<f64> = row.iter().map(|&x| (x as f64 - most).exp() / sum).collect();
            check(&row, &softmax, &log);
        }
    }
}

/// Half a step in ulps if an element is not ordinary.
fn wide(row: &[f32]) -> f64 {
    if row.iter().all(|x| x.is_ordinary()) { 0.0 } else { 30.0 }
}

#[test]
fn softmax_is_within_its_bound() {
    rows(|row, want, _| {
        let of = Softmax::of(node(row));
        let depth = (row.len() as f64).log2().ceil();
        for (&x, &p) in row.iter().zip(want) {
            let error = (of.probability(x) as f64 - p).abs();
            let bound = U * (depth + 6.0 + 2.0 * wide(row)) * p + 2f64.powi(-150);
            assert!(error <= bound, "{x} of {}: {error:e}, not {bound:e} of {p:e}", row.len());
        }
    });
}

#[test]
fn log_softmax_is_within_its_bound() {
    rows(|row, _, want| {
        let of = LogSoftmax::of(node(row));
        assert_eq!(of.log.to_bits(), LogSumExp::<f32>::new().finish(node(row), 1).to_bits());
        let depth = (row.len() as f64).log2().ceil();
        for (&x, &log) in row.iter().zip(want) {
            let error = (of.log_probability(x) as f64 - log).abs();
            let bound = U * (depth + 3.0 + 2.0 * log.abs() + 2.0 * wide(row));
            assert!(error <= bound, "{x} of {}: {error:e}, not {bound:e} of {log}", row.len());
        }
    });
}

/// In f64 there is no wider reference. Of equal elements the logarithm is known.
#[test]
fn log_softmax_of_f64_keeps_the_digits_of_large_elements() {
    for x in [0.0f64, 1.5, 200.0, -234.0, 500.0, 1e6, -1e9] {
        for n in [2usize, 5, 1000] {
            let got = LogSoftmax::of(node(&vec![x; n])).log_probability(x);
            let want = -(n as f64).ln();
            let error = (got - want).abs();
            // The arguments of the exponentials are rounded to ulps of half a step. Theirs is the greatest error.
            let bound = 2f64.powi(-53) * ((n as f64).log2().ceil() + 3.0 + 2.0 * want.abs() + 3.0 * x.abs().min(236.0));
            assert!(error <= bound, "{x} {n}: {error:e}, not {bound:e}");
        }
    }
    // Ordinary elements lose nothing by their size: the error of the first word, 2e-14, is in the second.
    let got = LogSoftmax::of(node(&[200.0f64, 199.0])).log_probability(199.0);
    let want = -1.0 - (-1f64).exp().ln_1p();
    assert!((got - want).abs() <= 1e-15, "{got} {want}");
}

#[test]
fn exponentials_of_all_numbers() {
    let mut r = Random(2);
    for _ in 0..100_000 {
        let x = (180.0 * r.next()) as f32;
        let (got, want) = (x.full_exp() as f64, (x as f64).exp());
        let far = if x.is_ordinary() { 0.0 } else { 30.0 };
        let bound = U * (2.0 + far) * want + 2f64.powi(-150);
        let overflow = want > f32::MAX as f64 * (1.0 - 40.0 * U);
        assert!(overflow || (got - want).abs() <= bound, "{x}: {got:e}, not {want:e}");
    }
    assert_eq!(
        [f32::NEG_INFINITY, -1e30, -0.0, 0.0, 200.0, 1e30].map(f32::full_exp).map(f32::to_bits),
        [0f32, 0.0, 1.0, 1.0, f32::INFINITY, f32::INFINITY].map(f32::to_bits)
    );
    assert!(f32::NAN.full_exp().is_nan() && f64::NAN.full_exp().is_nan());
    assert_eq!([-1e4f64, 1e4].map(f64::full_exp), [0.0, f64::INFINITY]);
}

/// The cross-entropy of a logit keeps the digits of the smallest losses.
#[test]
fn bce_with_logits_is_within_its_bound() {
    let mut r = Random(3);
    for i in 0..200_000 {
        let x = ([1.0, 10.0, 80.0][i % 3] * r.next()) as f32;
        let y = [0.0, 1.0, (0.5 + 0.5 * r.next()) as f32][i / 3 % 3];
        let (wide, target) = (x as f64, y as f64);
        let far = if x.is_ordinary() { 0.0 } else { 30.0 };
        let small = (-wide.abs()).exp();
        let (log, rest) = (small.ln_1p(), wide.max(0.0) - wide * target);
        let (got, want) = (BinaryEntropy.zip(x, y) as f64, rest + log);
        let bound = U * ((wide * target).abs() + rest.abs() + want.abs() + (5.0 + far) * log);
        // Products of targets that are not whole are rounded, and so are differences.
        let bound = if y == 0.0 || y == 1.0 { U * (2.0 * want.abs() + (5.0 + far) * log) } else { bound };
        assert!((got - want).abs() <= bound + 2f64.powi(-149), "{x} {y}: {got:e}, not {want:e}");
        let (a, b) = if x < 0.0 { (small, 1.0) } else { (1.0, small) };
        let want = ((1.0 - target) * a - target * b) / (1.0 + small);
        let bound = U * (6.0 + far) * ((1.0 - target) * a + target * b) / (1.0 + small);
        let got = BinaryEntropy.derivative(x, y) as f64;
        assert!((got - want).abs() <= bound + 2f64.powi(-149), "{x} {y}: {got:e}, not {want:e}");
    }
}

#[test]
fn rows_without_a_distribution_are_nan() {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    for row in [[1.0, inf], [nan, 1.0], [inf, -inf], [-inf, -inf]] {
        let node = node(&row);
        for x in row {
            assert!(Softmax::of(node).probability(x).is_nan(), "{row:?} {x}");
            assert!(LogSoftmax::of(node).log_probability(x).is_nan(), "{row:?} {x}");
        }
    }
    // Elements so large that an ulp is more than any logarithm of a count: the greatest share all.
    let row = [1e30f32, -1e30, 3.0, 1e30, -inf];
    assert_eq!(row.map(|x| Softmax::of(node(&row)).probability(x)), [0.5, 0.0, 0.0, 0.5, 0.0]);
    assert_eq!(LogSoftmax::of(node(&row)).log_probability(1e30), -(2f32.ln()));
}

/// A row, its exact mean, and one over its exact deviation from that mean, or from zero.
fn exact(row: &[f32], centred: bool) -> (f64, f64) {
    let n = row.len() as f64;
    let mean = if centred { row.iter().map(|&x| x as f64).sum::<f64>() / n } else { 0.0 };
    let square = row.iter().map(|&x| (x as f64 - mean) * (x as f64 - mean)).sum::<f64>() / n;
    (mean, 1.0 / (square + EPSILON as f64).sqrt())
}

const EPSILON: f32 = 1e-5;

#[test]
fn norms_are_within_their_bounds() {
    let mut tested = 0;
    rows(|row, _, _| {
        let (n, k) = (row.len() as u64, (row.len() as f64).log2().ceil());
        let squares = tree::tree(&Sum::<f32>::total(), row.iter().map(|x| x * x)).unwrap();
        let rms = Norm::rms(squares, n, EPSILON);
        let (_, inverse) = exact(row, false);
        for &x in row {
            let want = x as f64 * inverse;
            let error = (rms.normalised(x) as f64 - want).abs();
            assert!(error <= U * (k / 2.0 + 4.0) * want.abs(), "{x} of {n}: {error:e} of {want:e}");
        }
        let deviation = Deviation::<f32>::new(0.0, false);
        let node = tree::tree(&deviation, row.iter().map(|&x| deviation.lift(x, 0))).unwrap();
        let layer = Norm::layer(node, n, EPSILON);
        let ((mean, inverse), most) = (exact(row, true), row.iter().fold(0f32, |most, x| most.max(x.abs())) as f64);
        let spread = 3.0 * k.powf(1.5) * most * inverse;
        for &x in row {
            let want = (x as f64 - mean) * inverse;
            let error = (layer.normalised(x) as f64 - want).abs();
            let bound = U * (2.0 * k * most * inverse + want.abs() * (k + 7.0 + spread));
            assert!(error <= bound, "{x} of {n}: {error:e}, not {bound:e} of {want:e}");
            tested += 1;
        }
    });
    assert!(tested > 5000);
}
