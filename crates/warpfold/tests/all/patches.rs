//! Outputs that lie in another order than their elements do in memory, and are reduced in patches: the bits of the same
//! array in the order of its indices.

use crate::reference::{Random, element};
use warpfold::core::{Cast, Element};
use warpfold::cpu::explain;
use warpfold::{ArrayRef, DType, Description, Op, Options, Values, bf16, describe, f16, reduce};

fn bits(values: &Values) -> Vec<u128> {
    (0..values.len()).map(|i| values.get(i).bits().0.into()).collect()
}

/// Reduces an array whose axes lie in memory as `order` says, from the outermost to the innermost, and its copy.
fn check<T: Element>(x: &[f64], shape: &[usize], axis: usize, order: &[usize], ops: &[Op]) {
    let x: Vec<T> = x.iter().map(|&x| T::from_cast(Cast::Float(x))).collect();
    let (mut steps, mut bytes) = (vec![0; shape.len()], size_of::<T>() as isize);
    for &axis in order.iter().rev() {
        steps[axis] = bytes;
        bytes *= shape[axis] as isize;
    }
    let place = |i: usize| {
        let (mut rest, mut at) = (i, 0);
        for axis in (0..shape.len()).rev() {
            at += rest % shape[axis] * steps[axis] as usize / size_of::<T>();
            rest /= shape[axis];
        }
        at
    };
    let copy: Vec<T> = (0..x.len()).map(|i| x[place(i)]).collect();
    // SAFETY: the steps reach the elements of `x`.
    let view = unsafe { ArrayRef::from_raw(x.as_ptr().cast(), T::DTYPE, shape, &steps) }.unwrap();
    let copy = ArrayRef::from_slice(&copy, shape).unwrap();
    for threads in [0, 1, 2] {
        let options = Options { axes: Some(vec![axis as isize]), threads: Some(threads), ..Options::default() };
        for &op in ops {
            let what = format!("{op} of {} {shape:?} {steps:?}", T::DTYPE);
            assert!(explain(op, view, &options).unwrap().patch.is_some(), "{what}");
            assert!(explain(op, copy, &options).unwrap().patch.is_none(), "{what}");
            let (got, want) = (reduce(op, view, &options).unwrap(), reduce(op, copy, &options).unwrap());
            assert!(bits(&got.values) == bits(&want.values), "{what}");
        }
        let (got, want) = (describe(view, &options).unwrap(), describe(copy, &options).unwrap());
        for name in Description::NAMES {
            let [got, want] = [&got, &want].map(|all| bits(all.get(name).unwrap()));
            assert!(got == want, "{name} of {} {shape:?} {steps:?}", T::DTYPE);
        }
    }
}

#[test]
fn patches_of_outputs_change_no_bit() {
    let cases: [(&[usize], usize, &[usize]); 9] = [
        (&[512, 2, 64], 1, &[1, 2, 0]),
        (&[5003, 2, 9], 1, &[1, 2, 0]),
        (&[70, 3, 513], 1, &[2, 1, 0]),
        (&[4, 300, 57, 3], 0, &[2, 0, 1, 3]),
        (&[1, 3, 20_000], 0, &[2, 1, 0]),
        (&[1, 301, 300], 0, &[2, 1, 0]),
        (&[12, 4, 9000], 0, &[2, 1, 0]),
        (&[7, 5, 11, 200, 3], 1, &[3, 1, 0, 4, 2]),
        (&[16, 3, 8, 20, 16], 1, &[1, 4, 3, 2, 0]),
    ];
    for (i, (shape, axis, order)) in cases.into_iter().enumerate() {
        let (n, r) = (shape.iter().product(), &mut Random(2 * i as u64 + 1));
        let x: Vec<f64> = (0..n).map(|_| element(r, DType::F16, i % 2).to_f64()).collect();
        let ops = [Op::Sum, Op::Var, Op::Max, Op::MinMax, Op::ArgMin, Op::LogSumExp];
        check::<f32>(&x, shape, axis, order, &ops);
        check::<f16>(&x, shape, axis, order, &ops);
        check::<bf16>(&x, shape, axis, order, &[Op::Min, Op::Mean]);
        check::<f64>(&x, shape, axis, order, &[Op::Sum, Op::MinMax]);
        check::<i8>(&x, shape, axis, order, &[Op::Sum, Op::Max, Op::ArgMax, Op::Any, Op::Var]);
    }
}
