//! Short rows with gaps between them, few columns, and lanes of many small outputs: the reference's bits, at random
//! shapes with lengths 0 and 1 among them.

use crate::orders::{bits, compare};
use crate::reference::{Random, Strided, element};
use warpfold::{DType, Error, Op, Options, describe, reduce};

/// Every op, and all statistics, of an array.
fn check(x: &Strided, options: &Options<'_>, what: &str) {
    let ops: &[Op] = match x.dtype {
        dtype if dtype.is_float() => &[Op::Sum, Op::Mean, Op::Var, Op::Max, Op::ArgMin, Op::Norm, Op::LogSumExp],
        _ => &[Op::Sum, Op::Mean, Op::Std, Op::Min, Op::ArgMax],
    };
    ops.iter().for_each(|&op| compare(op, x, options, what));
    if options.skip_nan {
        return;
    }
    let all = describe(x.view(), options).unwrap();
    for op in [Op::Min, Op::ArgMin, Op::Max, Op::ArgMax, Op::Mean, Op::Std, Op::Sum, Op::Norm] {
        match (all.get(op.name()), reduce(op, x.view(), options)) {
            (Some(got), Ok(want)) => assert_eq!(bits(got), bits(&want.values), "{op} described, of {what}"),
            (got, want) => assert!(got.is_none() && matches!(want, Err(Error::Empty { .. })), "{op}, of {what}"),
        }
    }
}

const DTYPES: [DType; 9] =
    [DType::F16, DType::BF16, DType::F32, DType::F64, DType::I8, DType::I32, DType::I64, DType::U32, DType::U64];

/// Random arrays of about so many elements at most, axes from the outermost in memory to the innermost, and gaps after
/// the innermost one. `lengths` draws the length of each axis.
fn random(seeds: u64, axes: &[isize], order: &[usize], lengths: impl Fn(&mut Random, usize) -> usize) {
    for seed in 0..seeds {
        let r = &mut Random(2 * seed + 1);
        let dtype = DTYPES[r.below(DTYPES.len())];
        let shape: Vec<usize> = (0..order.len()).map(|axis| lengths(r, axis)).collect();
        let (gap, apart) = ([0, 1, 3, 16][r.below(4)], if r.chance(20) { 2 } else { 1 });
        let (mut strides, mut step) = (vec![0; shape.len()], 1);
        for (i, &axis) in order.iter().rev().enumerate() {
            strides[axis] = (step * apart * dtype.size()) as isize;
            step *= shape[axis].max(1);
            step += if i == 0 { gap } else { 0 };
        }
        let (wild, slack) = (r.below(2), if r.chance(20) { 1 } else { 0 });
        let x = Strided::place(r, dtype, &shape, strides.clone(), slack, |r| element(r, dtype, wild));
        let threads = Some(1 + r.below(2));
        let skip_nan = dtype.is_float() && r.chance(20);
        let options = Options { axes: Some(axes.to_vec()), threads, skip_nan, ..Options::default() };
        check(&x, &options, &format!("{dtype} {shape:?} axes {axes:?} strides {strides:?} skip_nan {skip_nan}"));
    }
}

#[test]
fn short_rows_with_gaps_match_the_reference() {
    random(150, &[1], &[0, 1], |r, axis| match axis {
        0 => [0, 1, 3, 64, 70, 200, 333][r.below(7)],
        _ => [0, 1, 2, 3, 4, 5, 7, 8, 16, 23, 32, 41, 64, 100, 129, 137, 255, 260][r.below(18)],
    });
}

#[test]
fn long_rows_with_gaps_match_the_reference() {
    random(60, &[1], &[0, 1], |r, axis| match axis {
        0 => [1, 3, 65, 130][r.below(4)],
        _ => [128, 235, 305, 511, 512, 640, 767, 769, 1000, 2049, 4096, 4097][r.below(12)],
    });
}

#[test]
fn short_rows_of_two_axes_with_gaps_match_the_reference() {
    random(60, &[2], &[1, 0, 2], |r, axis| match axis {
        0 | 1 => [0, 1, 2, 9, 70][r.below(5)],
        _ => [1, 2, 3, 8, 12, 33, 64][r.below(7)],
    });
}

#[test]
fn few_columns_match_the_reference() {
    random(100, &[0], &[0, 1], |r, axis| match axis {
        0 => [0, 1, 2, 3, 5, 100, 511, 512, 1024, 1500, 2600][r.below(11)],
        _ => [0, 1, 2, 3, 4, 7, 8, 11, 16, 20, 32, 41, 63][r.below(13)],
    });
}

#[test]
fn lanes_of_many_small_outputs_match_the_reference() {
    random(80, &[1, 2], &[2, 0, 1], |r, axis| match axis {
        0 => [1, 2, 20, 33][r.below(4)],
        1 => [1, 2, 64, 70, 130][r.below(5)],
        _ => [0, 1, 3, 8, 16][r.below(5)],
    });
}
