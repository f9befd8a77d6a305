//! Every output of an array has the bits of its elements by themselves, wherever these lie in memory: a list is reduced
//! as blocks, and outputs of arrays by other loops.

use warpfold_array::{ArrayRef, Op, Options, Values};
use warpfold_core::{Cast, DType, Element, bf16, f16};
use warpfold_cpu::reduce;

/// Elements of which some are zeros of either sign and, if `wild`, infinities and NaNs.
fn elements<T: Element>(n: usize, wild: bool) -> Vec<T> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64 ^ n as u64;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let x = (state >> 40) as f64 / 65536.0 - 96.0;
        let x = match state >> 8 & 255 {
            0 => f64::INFINITY,
            1 => f64::NEG_INFINITY,
            2 => f64::NAN,
            3..9 if T::DTYPE.is_float() => -0.0,
            _ => x,
        };
        let x = if wild || x.is_finite() { x } else { 1.0 };
        if T::DTYPE.is_float() { T::from_cast(Cast::Float(x)) } else { T::from_cast(Cast::Signed(x as i64)) }
    };
    (0..n).map(next).collect()
}

/// An array: its shape, its axes in the order in which they lie in memory, the slowest first, elements between the rows
/// of the fastest one, and the axes that are reduced.
#[derive(Clone, Copy, Debug)]
struct Case<'a> {
    shape: &'a [usize],
    order: &'a [usize],
    gap: usize,
    axes: &'a [usize],
}

/// A case in C order.
fn plain<'a>(shape: &'a [usize], gap: usize, axes: &'a [usize]) -> Case<'a> {
    Case { shape, order: &[0, 1, 2, 3][..shape.len()], gap, axes }
}

/// All indices of some axes, the last one the fastest, as places in memory.
fn places(dims: &[(usize, usize)]) -> Vec<usize> {
    dims.iter().fold(vec![0], |all: Vec<usize>, &(len, step)| {
        all.iter().flat_map(|at| (0..len).map(move |i| at + i * step)).collect()
    })
}

fn check<T: Element>(ops: &[Op], case: Case<'_>, wild: bool, skip_nan: bool) {
    let (mut steps, mut step) = (vec![0; case.shape.len()], 1);
    for (i, &axis) in case.order.iter().rev().enumerate() {
        steps[axis] = step;
        step *= case.shape[axis];
        if i == 0 {
            step += case.gap;
        }
    }
    let x = elements::<T>(step.max(1), wild);
    let strides: Vec<isize> = steps.iter().map(|&step| (step * size_of::<T>()) as isize).collect();
    // SAFETY: the slice has all elements that these steps reach.
    let array = unsafe { ArrayRef::from_raw(x.as_ptr().cast(), T::DTYPE, case.shape, &strides) }.expect("an array");
    let dims = |reduced: bool| -> Vec<(usize, usize)> {
        let axes = (0..steps.len()).filter(|axis| case.axes.contains(axis) == reduced);
        axes.map(|axis| (case.shape[axis], steps[axis])).collect()
    };
    let (kept, reduced) = (places(&dims(false)), places(&dims(true)));
    for &op in ops {
        let axes = case.axes.iter().map(|&axis| axis as isize).collect();
        let options = Options { axes: Some(axes), skip_nan, ..Options::default() };
        let got = match reduce(op, array, &options) {
            Ok(got) => got,
            // Nothing but NaNs, or no elements at all.
            Err(error) => {
                let all = kept.iter().map(|at| reduced.iter().map(|i| x[at + i]).collect::<Vec<T>>());
                let options = Options { skip_nan, ..Options::default() };
                let fails = all.into_iter().any(|list| reduce(op, ArrayRef::flat(&list), &options).is_err());
                assert!(fails, "{op} of {} {case:?}: {error}", T::DTYPE);
                continue;
            }
        };
        let size = got.dtype().size();
        let options = Options { skip_nan, ..Options::default() };
        assert_eq!(got.values.len(), kept.len());
        for (output, at) in kept.iter().enumerate() {
            let list: Vec<T> = reduced.iter().map(|i| x[at + i]).collect();
            let want: Values = reduce(op, ArrayRef::flat(&list), &options).expect("a result").values;
            let got = &got.values.as_bytes()[output * size..][..size];
            assert_eq!(got, want.as_bytes(), "{op} of {} {case:?}, output {output}, skip {skip_nan}", T::DTYPE);
        }
    }
}

/// The ops of a dtype that have other loops than the rest.
fn ops(dtype: DType) -> &'static [Op] {
    match dtype.is_float() {
        true => &[Op::Sum, Op::Mean, Op::Std, Op::Norm, Op::LogSumExp, Op::Min, Op::ArgMax],
        false => &[Op::Sum, Op::Mean, Op::Var, Op::Max, Op::ArgMin],
    }
}

fn of_all_dtypes(case: Case<'_>) {
    for (wild, skip) in [(false, false), (true, false), (true, true)] {
        check::<f16>(ops(DType::F16), case, wild, skip);
        check::<bf16>(ops(DType::BF16), case, wild, skip);
        check::<f32>(ops(DType::F32), case, wild, skip);
        check::<f64>(ops(DType::F64), case, wild, skip);
    }
    check::<u8>(ops(DType::U8), case, false, false);
    check::<i16>(ops(DType::I16), case, false, false);
    check::<i32>(ops(DType::I32), case, false, false);
    check::<i64>(ops(DType::I64), case, false, false);
}

#[test]
fn few_columns_with_gaps_between_rows() {
    for (rows, columns) in [(1, 1), (3, 2), (4099, 1), (517, 3), (2050, 5), (1025, 16), (300, 17), (133, 64), (77, 130)]
    {
        of_all_dtypes(plain(&[rows, columns], 1, &[0]));
    }
    of_all_dtypes(plain(&[5, 67, 9], 3, &[0, 1]));
    of_all_dtypes(plain(&[5, 67, 9], 3, &[1]));
    // Other rows lie between those of an output, and the index runs across them.
    of_all_dtypes(plain(&[131, 3, 18], 0, &[0]));
    of_all_dtypes(Case { shape: &[9, 70, 12], order: &[1, 0, 2], gap: 2, axes: &[0, 1] });
    of_all_dtypes(Case { shape: &[3, 2, 70, 12], order: &[2, 0, 1, 3], gap: 0, axes: &[0, 2] });
}

#[test]
fn slabs_of_rows_of_any_width() {
    for (count, width) in
        [(2, 2), (16, 2), (3, 3), (4, 4), (19, 9), (6, 9), (2, 16), (11, 71), (40, 7), (5, 100), (1, 6)]
    {
        of_all_dtypes(plain(&[37, count, width], 0, &[1]));
        of_all_dtypes(plain(&[4, 9, count, width], 0, &[2]));
    }
    of_all_dtypes(plain(&[20, 3, 5, 4], 0, &[1, 2]));
    for (count, width) in [(2, 1), (3, 16), (9, 5), (30, 7), (2, 300)] {
        of_all_dtypes(plain(&[37, count, width], 1, &[1]));
        of_all_dtypes(plain(&[3, 11, count, width], 5, &[2]));
    }
    of_all_dtypes(Case { shape: &[50, 4, 6, 3], order: &[0, 2, 1, 3], gap: 0, axes: &[1] });
}

#[test]
fn many_short_rows() {
    for len in [1, 2, 3, 4, 8, 16, 32, 33, 64, 128, 256] {
        of_all_dtypes(plain(&[150, len], 0, &[1]));
        of_all_dtypes(plain(&[40, len], 3, &[1]));
    }
}

#[test]
fn rows_of_many_columns() {
    for (rows, columns) in [(16, 128), (35, 129), (64, 300), (100, 257), (33, 64), (2, 700), (9, 1100)] {
        of_all_dtypes(plain(&[rows, columns], 0, &[0]));
    }
}

#[test]
fn no_elements_and_one() {
    for (shape, axis) in [([0, 5], 0), ([5, 0], 0), ([1, 300], 0), ([300, 1], 1), ([0, 0], 1)] {
        of_all_dtypes(plain(&shape, 2, &[axis]));
    }
}

#[test]
fn rows_of_many_lanes_whose_units_begin_anywhere() {
    // Lengths of lanes with each power of two, and numbers of lanes around a tile.
    for (lanes, depth) in [(1024, 16), (1000, 17), (830, 20), (800, 22), (127, 131), (64, 260), (65, 257), (129, 134)] {
        of_all_dtypes(Case { shape: &[lanes, depth], order: &[1, 0], gap: 0, axes: &[0, 1] });
    }
    // Few elements, or few rows, or few columns.
    for (lanes, depth) in [(65, 17), (2000, 9), (63, 300), (64, 1), (1, 300)] {
        of_all_dtypes(Case { shape: &[lanes, depth], order: &[1, 0], gap: 0, axes: &[0, 1] });
    }
    // Columns, rows and lanes of several axes; other lanes, and other outputs, behind the last one and between.
    of_all_dtypes(Case { shape: &[470, 9, 5], order: &[2, 1, 0], gap: 0, axes: &[0, 1, 2] });
    of_all_dtypes(Case { shape: &[3, 70, 101], order: &[2, 1, 0], gap: 0, axes: &[0, 1, 2] });
    of_all_dtypes(Case { shape: &[3, 67, 99], order: &[0, 2, 1], gap: 0, axes: &[0, 1, 2] });
    of_all_dtypes(Case { shape: &[4, 66, 3, 50], order: &[0, 3, 2, 1], gap: 0, axes: &[0, 1, 2, 3] });
    of_all_dtypes(Case { shape: &[2, 40, 3, 75], order: &[3, 1, 0, 2], gap: 0, axes: &[0, 1, 2, 3] });
    of_all_dtypes(Case { shape: &[3, 67, 4, 23], order: &[3, 0, 2, 1], gap: 0, axes: &[0, 1, 2, 3] });
    of_all_dtypes(Case { shape: &[2, 50, 9001], order: &[2, 1, 0], gap: 0, axes: &[0, 2] });
    of_all_dtypes(Case { shape: &[5, 40, 500], order: &[2, 1, 0], gap: 0, axes: &[1, 2] });
    of_all_dtypes(Case { shape: &[3, 64, 260], order: &[0, 2, 1], gap: 0, axes: &[1, 2] });
    of_all_dtypes(Case { shape: &[3, 64, 1, 258], order: &[3, 0, 2, 1], gap: 3, axes: &[1, 3] });
    of_all_dtypes(Case { shape: &[64, 0, 300], order: &[2, 1, 0], gap: 0, axes: &[0, 2] });
    of_all_dtypes(Case { shape: &[64, 300, 0], order: &[2, 1, 0], gap: 0, axes: &[0, 1] });
    // Many lanes, and parts of lanes.
    check::<bf16>(&[Op::Sum], Case { shape: &[20011, 21], order: &[1, 0], gap: 0, axes: &[0, 1] }, true, false);
    for (wild, op) in [(false, Op::Sum), (false, Op::Var), (true, Op::Norm)] {
        check::<bf16>(&[op], Case { shape: &[3, 83, 60_006], order: &[0, 2, 1], gap: 0, axes: &[1, 2] }, wild, false);
        check::<f32>(&[op], Case { shape: &[2, 83, 60_003], order: &[0, 2, 1], gap: 0, axes: &[0, 1, 2] }, wild, true);
    }
}
