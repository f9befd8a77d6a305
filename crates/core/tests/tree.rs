//! The reference tree, spans and the arithmetic under them.

use proptest::prelude::*;
use warpfold_core::ops::{Arg, Compensated, Deviation, Exponential, IntegerSum, LogSumExp, Search, Sum, SumExp, Value};
use warpfold_core::{Accumulate, Cast, DoubleWord, Element, Live, Real, Reducer, Span, bf16, f16, tree};

fn sum() -> Sum<f32> {
    Sum::total()
}

fn bits(x: Option<f32>) -> Option<u32> {
    x.map(f32::to_bits)
}

/// The contract once more, written as differently as possible: by recursion on the canonical halves.
fn by_halves(x: &[f32]) -> f32 {
    if x.len() == 1 {
        return x[0];
    }
    let half = x.len().next_power_of_two() / 2;
    by_halves(&x[..half]) + by_halves(&x[half..])
}

#[test]
fn small_trees_by_hand() {
    let sum = sum();
    let cases: [(&[f32], f32); 5] = [
        (&[], 0.0),
        (&[-0.0], -0.0),
        (&[1e8, 1.0, -1e8], (1e8f32 + 1.0) + -1e8),
        (&[1.0, 2.0, 3.0, 4.0, 5.0], ((1.0f32 + 2.0) + (3.0 + 4.0)) + 5.0),
        (&[f32::INFINITY, f32::NEG_INFINITY], f32::NAN),
    ];
    for (x, want) in cases {
        assert_eq!(bits(tree::reduce(&sum, x.iter().copied())), Some(want.to_bits()), "{x:?}");
    }
}

#[test]
fn absent_elements_keep_their_place() {
    let live = Live(sum());
    let x = [Some(1e8f32), None, Some(1.0), Some(-1e8)];
    assert_eq!(tree::reduce(&live, x), Some(Some(1e8 + (1.0 + -1e8))));
    assert_eq!(tree::reduce(&Live(Arg::<f32> { search: Search::new(true, false) }), [None, None]), Some(None));
}

#[test]
fn the_variance_of_equal_halves_needs_no_division() {
    let var = Deviation::<f64>::new(0.0, false);
    let x: Vec<f64> = (0..1000).map(|i| (i as f64).sin() * 1e3 + 1e6).collect();
    let mean = x.iter().sum::<f64>() / 1000.0;
    let want = x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 1000.0;
    let got = tree::reduce(&var, x).unwrap();
    assert!(((got - want) / want).abs() < 1e-13, "{got} {want}");
    assert!(tree::reduce(&var, [1.0, f64::INFINITY]).unwrap().is_nan());
}

#[test]
fn logsumexp_over_the_whole_range() {
    let lse = LogSumExp::<f32>::new();
    let close = |x: &[f32]| {
        let max = x.iter().copied().fold(f32::NEG_INFINITY, f32::max) as f64;
        let want = max + x.iter().map(|&v| (v as f64 - max).exp()).sum::<f64>().ln();
        let got = tree::reduce(&lse, x.iter().copied()).unwrap() as f64;
        assert!((got - want).abs() <= 3e-7 * want.abs().max(1.0), "{x:?}: {got} {want}");
    };
    close(&[0.0]);
    close(&[1.0, 2.0, 3.0]);
    close(&[-1000.0, -1000.5]);
    close(&[88.0, 89.0, -300.0]);
    close(&[5e8, 5.1e8]);
    close(&[6e8, -7e20]);
    close(&[-3e38, -3.1e38]);
    for (x, want) in [
        (vec![], f32::NEG_INFINITY),
        (vec![f32::NEG_INFINITY; 3], f32::NEG_INFINITY),
        (vec![f32::INFINITY, 1.0], f32::INFINITY),
        (vec![f32::NEG_INFINITY, 0.0], 0.0),
    ] {
        assert_eq!(tree::reduce(&lse, x.iter().copied()), Some(want), "{x:?}");
    }
    assert!(tree::reduce(&lse, [1.0, f32::NAN]).unwrap().is_nan());
}

#[test]
fn exponentials_are_right_to_an_ulp() {
    for i in -20_000..20_000 {
        let x = i as f64 * 0.043;
        let (scale, term) = x.scaled_exp();
        let step = f64::STEP as f64 * core::f64::consts::LN_2;
        let off = (term.ln() + scale * step - x).abs();
        assert!(off < 3e-16 * x.abs().max(1.0), "{x}: {scale} {term} {off}");
        let y = (i as f64 * 0.001_449) as f32;
        assert!(y.is_ordinary());
        let (scale, term) = y.scaled_exp();
        assert_eq!((scale, term.to_bits()), (0.0, y.ordinary_exp().to_bits()));
        let off = (term as f64 / (y as f64).exp() - 1.0).abs();
        assert!(off < 1.0e-7, "{y}: {off}");
        if (x * 0.271).is_ordinary() {
            let off = ((x * 0.271).ordinary_exp() / (x * 0.271).exp() - 1.0).abs();
            assert!(off < 3e-16, "{x}: {off}");
        }
    }
}

#[test]
fn f16_widens_as_the_half_crate_does() {
    for b in 0..=u16::MAX {
        let x = f16::from_bits(b);
        let (ours, theirs) = (x.float(), x.to_f32());
        assert!(ours.to_bits() == theirs.to_bits() || (ours.is_nan() && theirs.is_nan()), "{b:04x}");
    }
}

#[test]
fn f64_rounds_to_16_bits_once() {
    // Halfway between two neighbours, and a little more: rounding to f32 first would lose the little.
    let half = f16::from_cast(Cast::Float(1.0 + 2f64.powi(-11) + 2f64.powi(-40)));
    assert_eq!(half.to_bits(), f16::ONE.to_bits() + 1);
    let bhalf = bf16::from_cast(Cast::Float(1.0 + 2f64.powi(-8) + 2f64.powi(-40)));
    assert_eq!(bhalf.to_bits(), bf16::ONE.to_bits() + 1);
    assert_eq!(bf16::from_cast(Cast::Float(-1e300)), bf16::NEG_INFINITY);
    for b in 0..=u16::MAX {
        let x = bf16::from_bits(b);
        assert!(x.is_nan() || bf16::from_cast(x.cast()).to_bits() == b);
    }
}

#[test]
fn keys_order_as_numbers_do() {
    let x = [f32::NEG_INFINITY, -1.0, -1e-45, -0.0, 0.0, 1e-45, 2.0, f32::INFINITY];
    for w in x.windows(2) {
        assert!(w[0].key() < w[1].key());
    }
    for v in x {
        assert_eq!(f32::from_key(v.key()).to_bits(), v.to_bits());
    }
    assert_eq!((-0.0f32).key_eq(), 0.0f32.key_eq());
    assert!(f32::from_key(i32::MAX).is_nan() && f32::from_key(i32::MIN).is_nan());
}

fn special() -> impl Strategy<Value = f32> {
    prop_oneof![
        8 => any::<f32>(),
        1 => Just(-0.0f32),
        1 => Just(f32::INFINITY),
        1 => Just(f32::NAN),
        4 => -1.0f32..1.0,
    ]
}

proptest! {
    #[test]
    fn the_tree_is_the_recursion_on_canonical_halves(x in prop::collection::vec(-1e3f32..1e3, 1..300)) {
        prop_assert_eq!(bits(tree::reduce(&sum(), x.iter().copied())), Some(by_halves(&x).to_bits()));
    }

    #[test]
    fn padding_with_the_identity_changes_nothing(x in prop::collection::vec(special(), 1..100), pad in 0usize..70) {
        let sum = sum();
        let padded = x.iter().copied().chain(std::iter::repeat_n(-0.0, pad));
        prop_assert_eq!(bits(tree::reduce(&sum, padded)), bits(tree::reduce(&sum, x.iter().copied())));
    }

    #[test]
    fn ordinary_elements_need_no_scale(x in prop::collection::vec(-29.0f32..29.0, 1..300), wide in 0usize..2) {
        fn node<R: Reducer<Item: Copy>>(reducer: &R, x: &[R::Item]) -> Option<R::Acc> {
            tree::tree(reducer, x.iter().map(|&x| reducer.lift(x, 0)))
        }
        let sum = node(&SumExp::<f32>::new(), &x);
        prop_assert_eq!(node(&LogSumExp::<f32>::new(), &x), sum.map(SumExp::<f32>::raise));
        let x: Vec<f64> = x.iter().map(|&x| x as f64 * [1.0, 8.1][wide]).collect();
        let sum = node(&SumExp::<f64>::new(), &x);
        prop_assert_eq!(node(&LogSumExp::<f64>::new(), &x), sum.map(SumExp::<f64>::raise));
    }

    #[test]
    fn logsumexp_meets_across_scales(x in prop::collection::vec(-300f32..300.0, 1..200), at in -1e5f32..1e5) {
        let x: Vec<f32> = x.iter().map(|x| x + at).collect();
        let max = x.iter().copied().fold(f32::NEG_INFINITY, f32::max) as f64;
        let want = max + x.iter().map(|&v| (v as f64 - max).exp()).sum::<f64>().ln();
        let got = tree::reduce(&LogSumExp::<f32>::new(), x.iter().copied()).unwrap() as f64;
        prop_assert!((got - want).abs() <= 1.3e-7 * want.abs().max(8.0), "{} {}", got, want);
    }

    #[test]
    fn spans_join_to_the_whole(
        x in prop::collection::vec(special(), 1..300),
        cuts in prop::collection::vec(0usize..300, 0..6),
    ) {
        let var = Deviation::<f32>::new(1.0, false);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c % (x.len() + 1)).collect();
        cuts.extend([0, x.len()]);
        cuts.sort();
        let mut whole = Span::new(0);
        for w in cuts.windows(2) {
            let mut part = Span::new(w[0] as u64);
            for (i, &v) in x.iter().enumerate().take(w[1]).skip(w[0]) {
                part.push(&var, 0, var.lift(v, i as u64));
            }
            prop_assert!(part.nodes().count() <= 20);
            whole.join(&var, &part).unwrap();
        }
        let root = whole.root(&var).unwrap();
        let got = var.finish(root, x.len() as u64);
        prop_assert_eq!(bits(Some(got)), bits(tree::reduce(&var, x.iter().copied())));
    }

    #[test]
    fn double_words_keep_what_a_float_loses(a in -1e6f64..1e6, b in -1e-12f64..1e-12, n in 1u64..1_000_000) {
        let sum = DoubleWord::<f64>::new(a).add(DoubleWord::<f64>::new(b)).add(DoubleWord::<f64>::new(-a));
        prop_assert_eq!(sum.hi, b);
        let x = DoubleWord::<f32>::new(a as f32);
        prop_assert_eq!(x.add(DoubleWord::<f32>::NOTHING), x);
        let third = DoubleWord::<f64>::ONE.div(DoubleWord::<f64>::from_count(n));
        let one = third.mul(DoubleWord::<f64>::from_count(n));
        prop_assert!(((one.hi - 1.0) + one.lo).abs() < 1e-30);
        let root = DoubleWord::<f64>::from_count(n).sqrt().square();
        prop_assert!(((root.hi - n as f64) + root.lo).abs() < 1e-28 * n as f64);
    }

    #[test]
    fn infinities_and_nan_survive_compensation(x in prop::collection::vec(special(), 1..40)) {
        let plain = tree::reduce(&sum(), x.iter().copied()).unwrap();
        let double = tree::reduce(&Sum::<f32, Value, Compensated>::total(), x.iter().copied()).unwrap();
        if x.iter().any(|v| v.is_nan() || v.is_infinite()) {
            prop_assert_eq!(plain.to_bits(), double.to_bits());
        }
    }
}

#[test]
fn a_span_joins_only_its_neighbour() {
    let mut a = Span::<f32>::new(0);
    let e = a.join(&sum(), &Span::new(3)).unwrap_err();
    assert!(e.to_string().contains("ends at 0"));
}

#[test]
fn the_mean_of_no_integers_is_the_canonical_nan() {
    let Some(Cast::Float(mean)) = tree::reduce(&IntegerSum::<i8>::new(true, None), []) else { panic!("a float") };
    assert_eq!(mean.to_bits(), 0x7ff8 << 48);
}
