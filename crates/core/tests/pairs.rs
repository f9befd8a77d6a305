//! Two elements, and two halves, in fewer operations: the bits must be those of lifting and combining.

use warpfold_core::ops::{Compensated, Deviation, Magnitude, Moments, Square, Sum, Value};
use warpfold_core::{Accumulate, DoubleWord, Element, Float, Real, Reducer, bf16};

/// Numbers that have no pattern.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

/// Zeros, ones, what is next to them, and both ends of every range.
const EDGES: [f32; 20] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    1.000_000_1,
    -0.999_999_94,
    f32::from_bits(1),
    -f32::from_bits(1),
    f32::from_bits(0x007f_ffff),
    f32::MIN_POSITIVE,
    -f32::MIN_POSITIVE,
    1e-30,
    16_777_216.0,
    -33_554_434.0,
    2e38,
    f32::MAX,
    f32::MIN,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
];

/// Every pair of an edge and a bf16 (every exponent, sign and the first bits), both ways; and pairs of bits at random,
/// often of neighbouring exponents.
fn pairs_f32(mut test: impl FnMut(f32, f32)) {
    for &a in &EDGES {
        for b in 0..=u16::MAX {
            let b = bf16::from_bits(b).to_f32();
            test(a, b);
            test(b, a);
        }
        EDGES.iter().for_each(|&b| test(a, b));
    }
    let mut random = Random(7);
    for i in 0..1_000_000u32 {
        let (a, mut b) = (random.next() as u32, random.next() as u32);
        if i % 4 != 0 {
            b = (b & 0x807f_ffff) | ((a >> 23 & 0xff).wrapping_add(b >> 23 & 31).wrapping_sub(16) & 0xff) << 23;
        }
        test(f32::from_bits(a), f32::from_bits(b));
    }
}

/// The same of f64: edges, and bits at random.
fn pairs_f64(mut test: impl FnMut(f64, f64)) {
    let edges = EDGES.map(f64::from).into_iter();
    let edges: Vec<f64> =
        edges.chain([f64::from_bits(1), f64::MIN_POSITIVE, f64::MAX, f64::MIN, 9e307, 1.0 + f64::EPSILON]).collect();
    for &a in &edges {
        edges.iter().for_each(|&b| test(a, b));
    }
    let mut random = Random(11);
    for i in 0..300_000u32 {
        let (a, mut b) = (random.next(), random.next());
        if i % 4 != 0 {
            b = (b & 0x800f_ffff_ffff_ffff)
                | ((a >> 52 & 0x7ff).wrapping_add(b >> 52 & 63).wrapping_sub(32) & 0x7ff) << 52;
        }
        test(f64::from_bits(a), f64::from_bits(b));
    }
}

/// Bits, of which a NaN has only one pattern.
trait Word: Float {
    fn word(self) -> u64;
}
impl Word for f32 {
    fn word(self) -> u64 {
        if self.is_nan() { 0x7fc0_0000 } else { self.to_bits() as u64 }
    }
}
impl Word for f64 {
    fn word(self) -> u64 {
        if self.is_nan() { 0x7ff8 << 48 } else { self.to_bits() }
    }
}

fn of_double<F: Word>(x: DoubleWord<F>) -> [u64; 2] {
    [x.hi.word(), x.lo.word()]
}

fn of_moments<F: Word>(x: Moments<F>) -> [u64; 2] {
    [x.mean.word(), x.m2.word()]
}

/// Double words of which the high one is `a`, with low words of any size: none, half an ulp, less.
fn doubles(a: f32, b: f32) -> [DoubleWord<f32>; 3] {
    let half = DoubleWord::<f32>::of_sum(a, b);
    [DoubleWord::<f32>::new(a), half, half.add(DoubleWord::<f32>::new(a * 1e-9))]
}

#[test]
fn finite_double_words_are_added_in_fewer_operations_and_in_any_order() {
    pairs_f32(|a, b| {
        if !(a.abs() <= 1e37 && b.abs() <= 1e37) {
            return;
        }
        let want = DoubleWord::<f32>::new(a).add(DoubleWord::<f32>::new(b));
        assert_eq!(of_double(a.add_double_finite(b)), of_double(want), "{a:e} {b:e}");
        for left in doubles(a, b) {
            for right in doubles(b, a) {
                let want = left.add(right);
                assert_eq!(of_double(<f32 as Float>::add_finite(left, right)), of_double(want), "{left:?} {right:?}");
                assert_eq!(of_double(<f32 as Float>::add_finite(right, left)), of_double(want), "{left:?} {right:?}");
            }
        }
    });
    pairs_f64(|a, b| {
        if a.abs() <= 1e307 && b.abs() <= 1e307 {
            let (left, right) = (DoubleWord::<f64>::of_sum(a, b), DoubleWord::<f64>::of_sum(b, 1.0));
            let want = left.add(right);
            assert_eq!(of_double(<f64 as Float>::add_finite(left, right)), of_double(want), "{a:e} {b:e}");
            assert_eq!(of_double(<f64 as Float>::add_finite(right, left)), of_double(want), "{a:e} {b:e}");
        }
    });
}

#[test]
fn a_fused_product_leaves_what_a_split_one_does() {
    let in_range = |x: f64, least: i32, most: i32| x == 0.0 || (x >= 2f64.powi(least) && x <= 2f64.powi(most));
    pairs_f32(|a, b| {
        for x in [a.abs(), b.abs()] {
            if in_range(x.into(), -51, 50) {
                let of = |y: f32| of_double(DoubleWord::<f32>::fused_product(x, y, f32::mul_add));
                assert_eq!(of(x), of_double(DoubleWord::<f32>::new(x).square()), "{x:e}");
                assert_eq!(of(1.0), of_double(DoubleWord::<f32>::new(x)), "{x:e}");
                assert_eq!(of_double(x.double_power(true)), of(x), "{x:e}");
                assert_eq!(of_double(x.double_power(false)), of(1.0), "{x:e}");
            }
        }
    });
    pairs_f64(|a, b| {
        for x in [a.abs(), b.abs()] {
            if in_range(x, -485, 400) {
                let of = |y: f64| of_double(DoubleWord::<f64>::fused_product(x, y, f64::mul_add));
                assert_eq!(of(x), of_double(DoubleWord::<f64>::new(x).square()), "{x:e}");
                assert_eq!(of(1.0), of_double(DoubleWord::<f64>::new(x)), "{x:e}");
            }
        }
    });
    // The square of a short significand is exact, or rounded once where it is subnormal.
    for bits in 0..=u16::MAX {
        let x = bf16::from_bits(bits).to_f32();
        let want = DoubleWord::<f32>::new(x).square();
        assert_eq!(of_double(DoubleWord::<f32>::new(x * x)), of_double(want), "{x:e}");
        let x = warpfold_core::f16::from_bits(bits).to_f32();
        let want = DoubleWord::<f32>::new(x).square();
        assert_eq!(of_double(DoubleWord::<f32>::new(x * x)), of_double(want), "{x:e}");
    }
}

#[test]
fn a_sum_of_two_words_is_that_of_double_words() {
    let test = |a: f32, b: f32| {
        let want = DoubleWord::<f32>::new(a).add(DoubleWord::<f32>::new(b));
        assert_eq!(of_double(DoubleWord::<f32>::of_sum(a, b)), of_double(want), "{a:e} {b:e}");
        for (skip, want) in [(false, want), (true, double_or_nothing(a).add(double_or_nothing(b)))] {
            let sum = Sum::<f32, Value, Compensated>::total().skip_nan(skip);
            assert_eq!(of_double(sum.lift_pair(a, b, 0)), of_double(want), "{a:e} {b:e}");
        }
    };
    pairs_f32(test);
    pairs_f64(|a, b| {
        let want = DoubleWord::<f64>::new(a).add(DoubleWord::<f64>::new(b));
        assert_eq!(of_double(DoubleWord::<f64>::of_sum(a, b)), of_double(want), "{a:e} {b:e}");
    });
}

fn double_or_nothing(x: f32) -> DoubleWord<f32> {
    if x.is_nan() { DoubleWord::<f32>::NOTHING } else { DoubleWord::<f32>::new(x) }
}

/// Addition as it was first defined, with both tests of zeros and of wildness spelled out.
macro_rules! plainly {
    ($name:ident, $f:ident) => {
        fn $name(a: DoubleWord<$f>, b: DoubleWord<$f>) -> DoubleWord<$f> {
            let two_sum = |a: $f, b: $f| {
                let s = a + b;
                let t = s - a;
                (s, (a - (s - t)) + (b - t))
            };
            let fast_two_sum = |a: $f, b: $f| {
                let s = a + b;
                (s, b - (s - a))
            };
            let (s, t) = (two_sum(a.hi, b.hi), two_sum(a.lo, b.lo));
            let v = fast_two_sum(s.0, s.1 + t.0);
            let w = fast_two_sum(v.0, v.1 + t.1);
            let hi = if s.0 == 0.0 && w.0 == 0.0 { s.0 } else { w.0 };
            if w.1 - w.1 == 0.0 { DoubleWord { hi, lo: w.1 } } else { DoubleWord { hi: s.0, lo: 0.0 } }
        }
    };
}
plainly!(plainly_f32, f32);
plainly!(plainly_f64, f64);

#[test]
fn double_words_add_as_they_were_defined_to() {
    // Sums of sums: what a tree makes, with low words of every size, and with those that cancel.
    let mut last = [DoubleWord::<f32>::NOTHING; 3];
    pairs_f32(|a, b| {
        let x = DoubleWord::<f32>::of_sum(a, b);
        let negative = DoubleWord { hi: -x.hi, lo: -x.lo };
        for y in [last[0], last[1], last[2], negative, DoubleWord::<f32>::new(-x.hi), DoubleWord::<f32>::NOTHING] {
            assert_eq!(of_double(x.add(y)), of_double(plainly_f32(x, y)), "{x:?} {y:?}");
            assert_eq!(of_double(y.add(x)), of_double(plainly_f32(y, x)), "{y:?} {x:?}");
        }
        last = [x, last[0].add(x), negative];
    });
    let mut last = [DoubleWord::<f64>::NOTHING; 2];
    pairs_f64(|a, b| {
        let x = DoubleWord::<f64>::of_sum(a, b);
        for y in [last[0], last[1], DoubleWord { hi: -x.hi, lo: -x.lo }] {
            assert_eq!(of_double(x.add(y)), of_double(plainly_f64(x, y)), "{x:?} {y:?}");
        }
        last = [x, last[0].add(x)];
    });
}

#[test]
fn other_terms_pair_as_they_are_lifted() {
    pairs_f32(|a, b| {
        let (norm1, norm2) = (Sum::<f32, Magnitude, Compensated>::norm1(), Sum::<f32, Square, Compensated>::norm2());
        assert_eq!(of_double(norm1.lift_pair(a, b, 0)), of_double(norm1.combine(norm1.lift(a, 0), norm1.lift(b, 1))));
        assert_eq!(of_double(norm2.lift_pair(a, b, 0)), of_double(norm2.combine(norm2.lift(a, 0), norm2.lift(b, 1))));
    });
}

/// As the reducer combines them.
fn combined<F: Element<Float = F> + Float>(a: F, b: F) -> Moments<F> {
    let var = Deviation::<F>::new(0.0, false);
    var.combine(var.lift(a, 0), var.lift(b, 1))
}

#[test]
fn moments_of_two_are_those_of_lifted_ones() {
    pairs_f32(|a, b| assert_eq!(of_moments(Moments::of_two(a, b)), of_moments(combined(a, b)), "{a:e} {b:e}"));
    pairs_f64(|a, b| assert_eq!(of_moments(Moments::of_two(a, b)), of_moments(combined(a, b)), "{a:e} {b:e}"));
}

#[test]
fn moments_of_halves_are_those_of_any_parts() {
    let var = Deviation::<f32>::new(0.0, false);
    let mut left = Moments { mean: 0.0f32, m2: 0.0 };
    pairs_f32(|a, b| {
        for right in [Moments { mean: a, m2: b.abs() }, Moments::of_two(a, b)] {
            for each in [2, 4, 64, 1 << 20, 1 << 31] {
                let want = var.combine_counted(left, each as u64, right, each as u64);
                assert_eq!(of_moments(Moments::of_halves(left, right, each)), of_moments(want), "{left:?} {right:?}");
                // A GPU does it in one instruction.
                let (d, half) = (right.mean - left.mean, each as f32 * 0.5);
                assert_eq!((d * d).mul_add(half, left.m2 + right.m2).word(), want.m2.word(), "{left:?} {right:?}");
            }
            left = right;
        }
    });
}

#[test]
fn what_is_spoiled_is_the_same_in_one_instruction() {
    pairs_f32(|a, x| assert_eq!(x.mul_add(0.0, a.abs()).word(), a.abs().spoiled_by(x).word(), "{a:e} {x:e}"));
    pairs_f64(|a, x| assert_eq!(x.mul_add(0.0, a.abs()).word(), a.abs().spoiled_by(x).word(), "{a:e} {x:e}"));
}
