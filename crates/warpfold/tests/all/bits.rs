//! Every op, dtype, option and layout against the reference tree, bit for bit.

use crate::cases::of_op;
use crate::reference::{Random, Strided, element, expected};
use warpfold::cpu::simd::Simd;
use warpfold::{DType, Op, Options, Precision, Scalar, reduce};

/// A random problem, shown in full when it fails.
fn check(seed: u64, op: Op, dtype: DType, shape: &[usize], simd: Simd) {
    let r = &mut Random(seed | 1);
    let rank = shape.len();
    let wild = [0, 0, 3, 60][r.below(4)];
    let x = Strided::new(r, dtype, shape, |r| element(r, dtype, wild));
    let mask = r.chance(25).then(|| {
        let from = r.below(rank + 1);
        let shape: Vec<usize> = shape[from..].iter().map(|&n| if r.chance(20) { 1 } else { n }).collect();
        let percent = [5, 50, 95][r.below(3)];
        Strided::new(r, DType::Bool, &shape, |r| Scalar::Bool(r.chance(percent)))
    });
    let mut o = Options { threads: Some(1 + r.below(3)), ..Options::default() };
    if rank > 0 && r.chance(80) {
        let mut axes: Vec<isize> = (0..rank as isize).filter(|_| r.chance(50)).collect();
        for axis in &mut axes {
            if r.chance(30) {
                *axis -= rank as isize;
            }
        }
        o.axes = Some(axes);
    }
    o.keepdims = r.chance(30);
    o.skip_nan = r.chance(30);
    if r.chance(20) {
        o.precision = Precision::Compensated;
    }
    of_op(r, op, dtype, &mut o);
    let want = expected(op, &x, mask.as_ref(), &Options { mask: mask.as_ref().map(|m| m.view()), ..o.clone() });
    o.mask = mask.as_ref().map(|m| m.view());
    simd.limit();
    let got = reduce(op, x.view(), &o).map(|a| (0..a.values.len()).map(|i| a.values.get(i)).collect::<Vec<_>>());
    let same = match (&got, &want) {
        (Ok(got), Ok(want)) => {
            got.len() == want.len() && got.iter().zip(want).all(|(a, b)| a.bits() == b.bits() && a.dtype() == b.dtype())
        }
        (Err(_), Err(())) => true,
        _ => false,
    };
    assert!(
        same,
        "seed {seed} {op} {dtype} {shape:?} strides {:?} mask {:?} {simd:?}\n\
         axes {:?} skip {} {:?} dtype {:?} initial {:?} ddof {:?} {:?}\n got {:?}\nwant {:?}",
        x.strides,
        mask.as_ref().map(|m| (&m.shape, &m.strides)),
        o.axes,
        o.skip_nan,
        o.precision,
        o.dtype,
        o.initial,
        o.ddof,
        o.ord,
        got.as_ref().map(|g| &g[..g.len().min(8)]),
        want.as_ref().map(|w| &w[..w.len().min(8)])
    );
}

fn shape(r: &mut Random) -> Vec<usize> {
    if r.chance(15) {
        // Many small slabs.
        let mut shape: Vec<usize> = (0..1 + r.below(3)).map(|_| 1 + r.below(9)).collect();
        shape.insert(0, 8 + r.below(1 + 3000 / shape.iter().product::<usize>()));
        return shape;
    }
    let sizes: &[usize] = match r.below(6) {
        0 => &[0, 1, 2, 3],
        1 => &[1, 2, 3, 4, 5, 7, 8],
        2 => &[1, 9, 16, 17, 33],
        3 => &[2, 64, 100],
        4 => &[3, 129, 300],
        _ => &[1, 1, 2, 5000, 4097],
    };
    let rank = r.below(if sizes.len() > 4 { 5 } else { 4 });
    let mut shape: Vec<usize> = (0..rank).map(|_| sizes[r.below(sizes.len())]).collect();
    while shape.iter().product::<usize>() > 40_000 {
        let last = shape.len() - 1;
        shape[last] = shape[last].div_ceil(7);
        if shape[last] == 1 {
            shape.pop();
        }
    }
    shape
}

fn many(simd: Simd, from: u64, n: u64) {
    for seed in from..from + n {
        let r = &mut Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let (op, dtype) = (Op::ALL[r.below(15)], DType::ALL[r.below(13)]);
        let shape = shape(r);
        check(r.next(), op, dtype, &shape, simd);
    }
}

#[test]
fn random_problems_match_the_reference() {
    for simd in [Simd::Avx512, Simd::Avx2, Simd::Baseline] {
        many(simd, simd as u64 * 1_000_000, 1200);
    }
}

#[test]
fn every_op_of_every_dtype() {
    for op in Op::ALL {
        for dtype in DType::ALL {
            for (i, shape) in [vec![], vec![1], vec![1000], vec![5, 0], vec![17, 33], vec![9, 4, 65]].iter().enumerate()
            {
                check(7919 * (i as u64 + 1) + op as u64 * 31 + dtype as u64, op, dtype, shape, Simd::Avx512);
            }
        }
    }
}

/// Sizes at which tasks are cut over threads, in every route through memory.
#[test]
fn large_problems_match_the_reference() {
    let shapes: [&[usize]; 9] = [
        &[1_000_003],
        &[3, 400_001],
        &[400_001, 3],
        &[70_001, 17],
        &[17, 70_001],
        &[50, 120, 70],
        &[10_001, 9, 4],
        &[2_001, 3, 70],
        &[1, 300_000],
    ];
    for (i, shape) in shapes.iter().enumerate() {
        for (j, op) in [Op::Sum, Op::Var, Op::ArgMax, Op::Max].into_iter().enumerate() {
            check(
                1000 + 17 * i as u64 + j as u64,
                op,
                [DType::F32, DType::F64, DType::BF16][(i + j) % 3],
                shape,
                Simd::Avx512,
            );
        }
    }
}
