//! How far logsumexp and its exponential are from the exact values: not farther than docs/numerics.md says.

use warpfold_core::ops::{Exponential, LogSumExp};
use warpfold_core::{Element, tree};

/// A number of about 100 bits: an unevaluated sum of two f64.
#[derive(Clone, Copy)]
struct Exact(f64, f64);

impl Exact {
    fn of(x: f64) -> Self {
        Exact(x, 0.0)
    }

    /// `a + b`, without an error.
    fn sum(a: f64, b: f64) -> Self {
        let s = a + b;
        let t = s - a;
        Exact(s, (a - (s - t)) + (b - t))
    }

    /// `a * b`, without an error.
    fn product(a: f64, b: f64) -> Self {
        let p = a * b;
        Exact(p, a.mul_add(b, -p))
    }

    fn plus(self, right: Self) -> Self {
        let (high, low) = (Self::sum(self.0, right.0), Self::sum(self.1, right.1));
        let part = Self::sum(high.0, high.1 + low.0);
        Self::sum(part.0, part.1 + low.1)
    }

    fn times(self, right: Self) -> Self {
        let p = Self::product(self.0, right.0);
        Self::sum(p.0, p.1 + (self.0 * right.1 + self.1 * right.0))
    }

    fn minus(self, right: Self) -> Self {
        self.plus(Exact(-right.0, -right.1))
    }

    fn value(self) -> f64 {
        self.0 + self.1
    }

    /// The exponential without its power of two, and that power.
    fn exp(self) -> (Self, i32) {
        /// The natural logarithm of 2.
        const LN_2: [f64; 3] = [std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17, 5.707_708_438_416_212e-34];
        let k = (self.0 / LN_2[0]).round();
        let r = LN_2.iter().fold(self, |r, &part| r.minus(Self::product(k, part)));
        // exp(r / 256) - 1 by its series, and squared eight times.
        let r = Exact(r.0 / 256.0, r.1 / 256.0);
        let mut less_one = Exact::of(0.0);
        for n in (1..=12).rev() {
            let term = Exact::of(1.0).plus(less_one).times(r);
            // Divided by n: the quotient of the high words, and that of what is left.
            let q = term.0 / n as f64;
            let left = term.minus(Self::product(q, n as f64));
            less_one = Self::sum(q, left.value() / n as f64);
        }
        for _ in 0..8 {
            less_one = Exact(2.0 * less_one.0, 2.0 * less_one.1).plus(less_one.times(less_one));
        }
        (Exact::of(1.0).plus(less_one), k as i32)
    }

    /// The natural logarithm, from that of the nearest f64.
    fn ln(self) -> Self {
        let near = self.0.ln();
        let (over, k) = Exact::of(-near).exp();
        let d = self.times(over).times(Exact::of(2f64.powi(k))).minus(Exact::of(1.0));
        Exact::of(near).plus(d).minus(Exact::of(d.0 * d.0 / 2.0))
    }
}

/// xorshift64*.
struct Random(u64);

impl Random {
    /// From 0 to before 1.
    fn unit(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 * 0.5f64.powi(53)
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }
}

/// By Python's `decimal`, of 60 digits.
#[test]
fn the_reference_is_right() {
    let exponentials = [
        (1.0, std::f64::consts::E, 1.445_646_891_729_250_2e-16),
        (-100.5, 2.256_340_135_917_036e-44, 1.449_543_437_292_138_1e-60),
        (235.25, 1.471_556_250_510_427e102, 4.671_501_391_547_913e85),
        (-235.25, 6.795_526_842_097_528e-103, -8.522_364_057_108_544e-120),
    ];
    for (x, high, low) in exponentials {
        let (found, k) = Exact::of(x).exp();
        let scale = 2f64.powi(-k);
        let error = found.minus(Exact(high * scale, low * scale)).value() / found.0;
        assert!(error.abs() <= 2f64.powi(-95), "exp({x}) is off by {error:e}");
    }
    let error = Exact::of(3.0).ln().minus(Exact(1.098_612_288_668_109_8, -9.071_297_235_001_53e-17)).value();
    assert!(error.abs() <= 2f64.powi(-95), "ln(3) is off by {error:e}");
}

/// The greatest relative error of the exponential, in units of roundoff, over arguments within `range` of zero.
fn worst_exp(u: f64, range: f64, exp: impl Fn(f64) -> (f64, f64)) -> f64 {
    let r = &mut Random(7);
    let near = (0..40_000).map(|_| r.unit()).collect::<Vec<_>>();
    // All over, near zero, and where the argument reduction changes from one power of two to the next.
    let all = near.iter().map(|x| (2.0 * x - 1.0) * range);
    let small = near.iter().map(|x| (2.0 * x - 1.0) * 0.4);
    let most = (range / std::f64::consts::LN_2) as i32 - 1;
    let seams =
        (-most..most).flat_map(|k| (-8..8).map(move |i| (k as f64 + 0.5 + i as f64 * 1e-9) * std::f64::consts::LN_2));
    all.chain(small).chain(seams).fold(0.0, |worst: f64, x| {
        let (x, found) = exp(x);
        let (want, k) = Exact::of(x).exp();
        let found = Exact::of(found * 2f64.powi(-k));
        worst.max((found.minus(want).value() / want.0).abs() / u)
    })
}

#[test]
fn an_exponential_is_off_by_less_than_1_7_units_of_roundoff() {
    let of_f32 = worst_exp(0.5f64.powi(24), 28.99, |x| (x as f32 as f64, (x as f32).ordinary_exp() as f64));
    assert!(of_f32 > 1.0 && of_f32 < 1.7, "{of_f32}");
    let of_f64 = worst_exp(0.5f64.powi(53), 234.99, |x| (x, x.ordinary_exp()));
    assert!(of_f64 > 1.0 && of_f64 < 1.7, "{of_f64}");
}

/// The exact logsumexp of finite elements.
fn exact(x: &[f64]) -> Exact {
    let greatest = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum = x.iter().fold(Exact::of(0.0), |sum, &x| {
        let (term, k) = Exact::sum(x, -greatest).exp();
        let scale = 2f64.powi(k.max(-900));
        sum.plus(Exact(term.0 * scale, term.1 * scale))
    });
    sum.ln().plus(Exact::of(greatest))
}

/// The error of a logsumexp as a share of what docs/numerics.md says that it may be. `reach` is W ln 2 / 2.
fn share<T: Element<Mean = T, Float: Exponential>>(u: f64, reach: f64, x: &[T], to_f64: impl Fn(T) -> f64) -> f64 {
    let found = to_f64(tree::reduce(&LogSumExp::<T>::new(), x.iter().copied()).expect("an identity"));
    let want = exact(&x.iter().map(|&x| to_f64(x)).collect::<Vec<_>>());
    let depth = (x.len() as f64).log2().ceil();
    let beyond = if x.iter().all(|&x| x.float().is_ordinary()) { 0.0 } else { reach };
    let bound = u * (depth + 3.0 + 2.0 * want.0.abs() + 4.0 * beyond);
    let error = Exact::of(found).minus(want).value().abs();
    // A NaN is no share that is small enough.
    error / bound
}

#[test]
fn a_logsumexp_is_within_its_bound() {
    let r = &mut Random(11);
    // Ordinary elements, sums near 1, elements around where the scale changes, several scales, one scale far away.
    let ranges = [
        (-0.375, 0.625),
        (-8.0, 8.0),
        (-29.0, 29.0),
        (-40.0, -20.0),
        (20.0, 90.0),
        (-230.0, 230.0),
        (-260.0, -220.0),
        (200.0, 700.0),
        (-3e3, 3e3),
        (1e4, 1.001e4),
        (-5e5, -5e5 + 9.0),
        (1e9, 1e9 + 1.0),
    ];
    let mut worst = [0.0f64; 2];
    for (low, high) in ranges {
        for n in [1, 2, 3, 100, 1000, 4097, 20_000] {
            // At times so low that the sum is about 1, and its logarithm near zero.
            for shift in [0.0, -(n as f64).ln()] {
                let x: Vec<f64> = (0..n).map(|_| r.between(low, high) + shift).collect();
                let of_f64 = share(0.5f64.powi(53), 235.7, &x, |x| x);
                assert!(of_f64 <= 1.0, "f64: {n} from {low} to {high}: {of_f64} of the bound");
                let x: Vec<f32> = x.into_iter().map(|x| x as f32).collect();
                let of_f32 = share(0.5f64.powi(24), 29.2, &x, f64::from);
                assert!(of_f32 <= 1.0, "f32: {n} from {low} to {high}: {of_f32} of the bound");
                worst = [worst[0].max(of_f64), worst[1].max(of_f32)];
            }
        }
    }
    // A bound that is never near would say nothing.
    assert!(worst.iter().all(|&worst| worst > 0.1), "{worst:?}");
}
