//! Arrays where a few outputs lie between the elements of each, which are reduced tile by tile: the bits of each
//! output's elements copied together.

use crate::reference::{Random, element};
use warpfold::core::{Cast, Element};
use warpfold::cpu::route::{Route, Takes};
use warpfold::{ArrayRef, DType, Op, Options, bf16, f16, reduce};
use warpfold_array::Values;
use warpfold_array::problem::Problem;

fn bits(values: &Values) -> Vec<u128> {
    (0..values.len()).map(|i| values.get(i).bits().0.into()).collect()
}

/// Reduces `x`, which lies by `steps`, and its elements in logical order, one output after the other.
fn check<T: Element>(x: &[f64], shape: &[usize], steps: &[isize], options: &Options<'_>) {
    let x: Vec<T> = x.iter().map(|&x| T::from_cast(Cast::Float(x))).collect();
    let axes = options.axes.as_ref().expect("axes");
    let (reduced, kept): (Vec<usize>, Vec<usize>) = (0..shape.len()).partition(|&axis| axes.contains(&(axis as isize)));
    let place = |i: usize| {
        let (mut rest, mut at) = (i, 0);
        for &axis in reduced.iter().rev().chain(kept.iter().rev()) {
            at += rest % shape[axis] * steps[axis] as usize / size_of::<T>();
            rest /= shape[axis];
        }
        at
    };
    let flat: Vec<T> = (0..x.len()).map(|i| x[place(i)]).collect();
    let count: usize = reduced.iter().map(|&axis| shape[axis]).product();
    for op in [Op::Sum, Op::Var, Op::Mean, Op::Max, Op::ArgMin, Op::LogSumExp, Op::Norm] {
        // SAFETY: the steps reach the elements of `x`.
        let view = unsafe { ArrayRef::from_raw(x.as_ptr().cast(), T::DTYPE, shape, steps) }.unwrap();
        let got = reduce(op, view, options);
        let apart = Options { axes: Some(vec![1]), skip_nan: options.skip_nan, ..Options::default() };
        let want = reduce(op, ArrayRef::from_slice(&flat, &[flat.len() / count, count]).unwrap(), &apart);
        let what = format!("{op} of {} {shape:?} {steps:?}", T::DTYPE);
        match (got, want) {
            (Ok(got), Ok(want)) => assert_eq!(bits(&got.values), bits(&want.values), "{what}"),
            (got, want) => assert_eq!(got.is_err(), want.is_err(), "{what}"),
        }
    }
}

#[test]
fn tiles_of_a_few_outputs_change_no_bit() {
    let cases: [(&[usize], &[usize], &[usize]); 14] = [
        (&[600, 8, 39], &[0, 2], &[0, 1, 2]),
        (&[1000, 2, 3, 17], &[0, 3], &[0, 1, 2, 3]),
        (&[5, 700, 3, 64], &[1, 3], &[0, 1, 2, 3]),
        (&[3, 300, 2, 5, 6], &[0, 1, 3], &[0, 1, 2, 3, 4]),
        (&[2000, 28, 10], &[0, 1], &[1, 0, 2]),
        (&[3, 2000, 28, 6], &[1, 2], &[0, 2, 1, 3]),
        (&[5, 500, 40, 7], &[0, 1, 2], &[2, 0, 1, 3]),
        (&[60, 33, 9, 14], &[0, 1, 2], &[2, 1, 0, 3]),
        (&[16, 2000, 4], &[0, 1, 2], &[1, 0, 2]),
        (&[900, 10, 4], &[0, 1, 2], &[0, 2, 1]),
        (&[3, 5, 1901], &[0, 2], &[1, 2, 0]),
        (&[3, 5, 333, 3], &[0, 1, 2, 3], &[0, 2, 1, 3]),
        (&[4, 2, 777, 2, 3], &[1, 2, 3, 4], &[0, 2, 4, 1, 3]),
        (&[20_000, 2], &[0, 1], &[1, 0]),
    ];
    let mut tiles = 0;
    for (i, (shape, axes, order)) in cases.into_iter().enumerate() {
        let (n, r) = (shape.iter().product(), &mut Random(2 * i as u64 + 1));
        let x: Vec<f64> = (0..n).map(|_| element(r, DType::F16, i % 2).to_f64()).collect();
        let places = |size: usize| {
            let (mut steps, mut bytes) = (vec![0; shape.len()], size as isize);
            for &axis in order.iter().rev() {
                steps[axis] = bytes;
                bytes *= shape[axis] as isize;
            }
            steps
        };
        let options = |skip_nan| {
            let axes = Some(axes.iter().map(|&axis| axis as isize).collect());
            Options { axes, threads: Some(1 + i % 2), skip_nan, ..Options::default() }
        };
        for skip_nan in [false, true] {
            check::<f32>(&x, shape, &places(4), &options(skip_nan));
            check::<f64>(&x, shape, &places(8), &options(skip_nan));
            check::<bf16>(&x, shape, &places(2), &options(skip_nan));
            check::<f16>(&x, shape, &places(2), &options(skip_nan));
        }
        let problem = Problem::of(shape, &places(4), &vec![0; shape.len()], axes, 4);
        // Kernels that are `staggered` reduce some of them where they lie.
        let takes = Takes { free: false, staggered: false, number: true };
        tiles += matches!(Route::of(&problem, takes), Route::Tiles { .. }) as usize;
    }
    assert!(tiles >= 11, "{tiles} of these problems go by tiles");
}
