//! Blocks of the kernels that have a way of their own, beside those of the plain tree: the same bits.

use warpfold::cpu::args::ArgScan;
use warpfold::cpu::copied::Copied;
use warpfold::cpu::engine::{self, Job};
use warpfold::cpu::exact::Exact;
use warpfold::cpu::exponentials::Exponentials;
use warpfold::cpu::extrema::Peak;
use warpfold::cpu::halves::{Halves, widen_halves};
use warpfold::cpu::kernel::{Acc, Item, Kernel, Tree};
use warpfold::cpu::moments::Spread;
use warpfold::cpu::simd::{Simd, at_level};
use warpfold::{DType, Element, bf16, f16};
use warpfold_array::problem::{At, Problem};
use warpfold_core::ops::{Arg, Deviation, Extremum, LogSumExp, Search, Sum};
use warpfold_core::{Reducer, tree};

const LENGTHS: [usize; 21] =
    [1, 2, 7, 8, 9, 31, 32, 95, 127, 128, 129, 255, 256, 257, 300, 356, 1000, 2048, 3840, 4095, 4096];
const LEVELS: [Simd; 3] = [Simd::Baseline, Simd::Avx2, Simd::Avx512];

/// Elements in [-2, 2), some of them something else.
fn data(n: usize, kind: usize) -> Vec<f64> {
    let mut state = 1 + n as u64;
    let mut x: Vec<f64> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f64 / (1 << 22) as f64 - 2.0
    })
    .take(n)
    .collect();
    let odd = [
        &[][..],
        &[f64::INFINITY],
        &[f64::NEG_INFINITY, f64::INFINITY],
        &[f64::NAN],
        &[6e4],
        &[1e30, -1e30],
        &[-700.0],
    ];
    for (i, &value) in odd[kind].iter().enumerate() {
        x[(n * 2 / 3 + 5 * i) % n] = value;
    }
    x
}

const KINDS: usize = 7;

/// `fast` and the plain tree over the same elements, at every level.
fn agree<K: Kernel>(fast: &K, x: &[Item<K>], what: &str)
where
    K::R: Clone,
    <K::R as Reducer>::Output: Element,
    Acc<K>: std::fmt::Debug,
{
    let plain = Tree(fast.reducer().clone());
    let finish = |acc| fast.reducer().finish(acc, x.len() as u64).bits();
    for level in LEVELS {
        level.limit();
        let (a, b) = (fast.block(x, 0), plain.block(x, 0));
        assert_eq!(finish(a), finish(b), "{what}, {} elements, {}: {a:?}, not {b:?}", x.len(), level.name());
    }
}

#[test]
fn a_block_is_the_plain_trees() {
    for (n, kind) in LENGTHS.into_iter().flat_map(|n| (0..KINDS).map(move |kind| (n, kind))) {
        let f64s = data(n, kind);
        let f32s: Vec<f32> = f64s.iter().map(|&x| x as f32).collect();
        let halves: Vec<f16> = f64s.iter().map(|&x| f16::from_f64(x)).collect();
        agree(&Spread(Deviation::new(0.0, false)), &f64s, &format!("var of f64, kind {kind}"));
        agree(&Spread(Deviation::new(0.0, false)), &f32s, &format!("var of f32, kind {kind}"));
        agree(&Spread(Deviation::new(0.0, false)), &halves, &format!("var of f16, kind {kind}"));
        let bf16s: Vec<bf16> = f64s.iter().map(|&x| bf16::from_f64(x)).collect();
        agree(&Spread(Deviation::new(0.0, false)), &bf16s, &format!("var of bf16, kind {kind}"));
        let integers: Vec<i32> = f64s.iter().map(|&x| (x * 1e9) as i32).collect();
        agree(&Spread(Deviation::new(0.0, false)), &integers, &format!("var of i32, kind {kind}"));
        let kernel = Exponentials { reducer: LogSumExp::new(), dtype: DType::F64 };
        agree(&kernel, &f64s, &format!("logsumexp of f64, kind {kind}"));
        let kernel = Exponentials { reducer: LogSumExp::new(), dtype: DType::F32 };
        agree(&kernel, &f32s, &format!("logsumexp of f32, kind {kind}"));
        for (dtype, rounded) in [
            (DType::BF16, bf16s.iter().map(|x| x.to_f32()).collect::<Vec<f32>>()),
            (DType::F16, halves.iter().map(|x| x.to_f32()).collect()),
        ] {
            let kernel = Exponentials { reducer: LogSumExp::new(), dtype };
            agree(&kernel, &rounded, &format!("logsumexp of {dtype}, kind {kind}"));
        }
        let kernel = Exponentials { reducer: LogSumExp::new(), dtype: DType::BF16 };
        agree(&kernel, &bf16s, &format!("logsumexp of bf16 as they are, kind {kind}"));
        let kernel = Exponentials { reducer: LogSumExp::new(), dtype: DType::F16 };
        agree(&kernel, &halves, &format!("logsumexp of f16 as they are, kind {kind}"));
        agree(&Halves(Sum::total()), &halves, &format!("sum of f16, kind {kind}"));
    }
}

/// Groups of sixteen have levels of known lengths, or are absent: of every length that a few of them can have.
#[test]
fn a_few_groups_are_the_plain_trees() {
    for n in 1..=300 {
        let f64s = data(n, n % KINDS);
        let f32s: Vec<f32> = f64s.iter().map(|&x| x as f32).collect();
        let (narrow, wide) = (Sum::<f32>::total(), Sum::<f64>::total());
        for level in LEVELS {
            level.limit();
            let found = narrow.finish(Tree(narrow.clone()).block(&f32s, 0), n as u64);
            let want = tree::reduce(&narrow, f32s.clone()).expect("elements");
            assert_eq!(found.to_bits(), want.to_bits(), "{n} f32, {}", level.name());
            let found = wide.finish(Tree(wide.clone()).block(&f64s, 0), n as u64);
            let want = tree::reduce(&wide, f64s.clone()).expect("elements");
            assert_eq!(found.to_bits(), want.to_bits(), "{n} f64, {}", level.name());
        }
    }
}

/// Zeros of both signs, which are equal, infinities, and NaNs alone, at the ends of the order.
#[test]
fn an_extremum_that_skips_nans_is_the_plain_trees() {
    let all = [f64::NAN, -f64::NAN, 0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY];
    for (n, one) in LENGTHS.into_iter().flat_map(|n| (0..all.len()).map(move |one| (n, one))) {
        for other in 0..all.len() {
            // Mostly one of them, NaNs, and one of another kind.
            let mut x: Vec<f64> = (0..n).map(|i| if i % 3 == 0 { f64::NAN } else { all[one] }).collect();
            x[n * 2 / 3] = all[other];
            let f32s: Vec<f32> = x.iter().map(|&x| x as f32).collect();
            for max in [true, false] {
                let what = format!("{} and {}, max {max}", all[one], all[other]);
                agree(&Peak(Extremum { search: Search::new(max, true), initial: None }), &x, &what);
                agree(&Peak(Extremum { search: Search::new(max, true), initial: None }), &f32s, &what);
                let arg = Arg::<f32> { search: Search::new(max, true) };
                assert_eq!(ArgScan(arg.clone()).block(&f32s, 3), Tree(arg).block(&f32s, 3), "arg, {what}");
            }
        }
    }
}

/// The columns of dense rows, all at once, and each by the plain tree, at every level.
fn columns_agree<K: Kernel>(fast: &K, x: &[Item<K>], width: usize, what: &str)
where
    K::R: Clone,
    <K::R as Reducer>::Output: Element,
{
    let plain = Tree(fast.reducer().clone());
    let (rows, size) = (x.len() / width, size_of::<Item<K>>());
    let problem = Problem::of(&[rows, width], &[(width * size) as isize, size as isize], &[0, 0], &[0], size);
    let base = At { x: x.as_ptr().cast(), mask: std::ptr::null() };
    let job = Job { kernel: fast, load: &Copied, problem: &problem, base, threads: 1, progress: None };
    for level in LEVELS {
        level.limit();
        // SAFETY: all elements of all rows are there.
        let found = unsafe { engine::run(&job) }.expect("there are elements");
        for (column, found) in found.into_iter().enumerate() {
            let x: Vec<Item<K>> = x[column..].iter().step_by(width).copied().collect();
            let (a, b) = (found.bits(), fast.reducer().finish(plain.block(&x, 0), rows as u64).bits());
            assert_eq!(a, b, "{what}, column {column} of {width}, {rows} rows, {}", level.name());
        }
    }
}

/// The same of arg ops: with many equals, zeros of both signs, and one column of NaN.
fn arg_columns_agree(x: &[f32], width: usize) {
    let odd = |(i, x): (usize, &f32)| if i % width == 1 { f32::NAN } else { x.trunc() };
    let x: Vec<f32> = x.iter().enumerate().map(odd).collect();
    for (level, max, skip_nan) in LEVELS.into_iter().flat_map(|l| [(l, true, false), (l, false, true)]) {
        level.limit();
        let arg = Arg { search: Search::new(max, skip_nan) };
        let mut nodes = Vec::with_capacity(width);
        ArgScan(arg.clone()).dense(&x, 7, &mut nodes.spare_capacity_mut()[..width]);
        // SAFETY: there is a node for each column.
        unsafe { nodes.set_len(width) };
        for (column, node) in nodes.into_iter().enumerate() {
            let x: Vec<f32> = x[column..].iter().step_by(width).copied().collect();
            assert_eq!(node, Tree(arg.clone()).block(&x, 7), "column {column} of {width}, {}", level.name());
        }
    }
}

#[test]
fn dense_columns_are_the_plain_trees() {
    for width in [2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 128, 255, 512] {
        let most = (4096usize / width).ilog2();
        for (rows, kind) in (3..=most).map(|k| 1 << k).zip((0..KINDS).cycle()) {
            let f64s = data(rows * width, kind);
            let f32s: Vec<f32> = f64s.iter().map(|&x| x as f32).collect();
            let halves: Vec<f16> = f64s.iter().map(|&x| f16::from_f64(x)).collect();
            let bytes: Vec<i8> = f64s.iter().map(|&x| (x * 60.0) as i8).collect();
            let of = |what: &str| format!("{what}, kind {kind}");
            arg_columns_agree(&f32s, width);
            columns_agree(&Tree(Sum::<f32>::total()), &f32s, width, &of("sum of f32"));
            columns_agree(&Halves(Sum::total()), &halves, width, &of("sum of f16"));
            columns_agree(&Spread(Deviation::new(0.0, false)), &f64s, width, &of("var of f64"));
            columns_agree(&Spread(Deviation::new(0.0, false)), &f32s, width, &of("var of f32"));
            let kernel = Exponentials { reducer: LogSumExp::new(), dtype: DType::F32 };
            columns_agree(&kernel, &f32s, width, &of("logsumexp of f32"));
            let kernel = Exponentials { reducer: LogSumExp::new(), dtype: DType::F16 };
            columns_agree(&kernel, &halves, width, &of("logsumexp of f16"));
            columns_agree(&Exact(Deviation::new(0.0, false)), &bytes, width, &of("var of i8"));
            columns_agree(
                &Peak(Extremum { search: Search::new(true, false), initial: None }),
                &f32s,
                width,
                &of("max"),
            );
            columns_agree(
                &Peak(Extremum { search: Search::new(false, true), initial: None }),
                &f32s,
                width,
                &of("min"),
            );
        }
    }
}

#[test]
fn every_half_is_widened_alike() {
    // One more in front, so that vectors are not aligned.
    let x: Vec<f16> = std::iter::once(0).chain(0..=u16::MAX).map(f16::from_bits).collect();
    for level in LEVELS {
        level.limit();
        for n in [1usize << 16, (1 << 16) - 3, 15, 7] {
            let mut wide = vec![0f32; n];
            // SAFETY: both have as many elements; the level is the one in use.
            at_level(|level| unsafe { widen_halves(level, x[1..].as_ptr(), n, wide.as_mut_ptr()) });
            for (x, wide) in x[1..].iter().zip(&wide) {
                let want = x.float();
                assert!(want.to_bits() == wide.to_bits() || (want.is_nan() && wide.is_nan()), "{x:?}: {wide:?}");
            }
        }
    }
}
