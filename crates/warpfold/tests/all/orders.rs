//! Arrays in another order of memory than that of their indices, and lengths that fill no tile: the reference's bits.

use crate::reference::{Random, Strided, element, expected};
use warpfold::{DType, Op, Options, Values, describe, reduce};

/// Shape, reduced axes, and axes from the outermost in memory to the innermost.
type Case = (&'static [usize], &'static [isize], &'static [usize]);

const CASES: [Case; 42] = [
    // Short rows, whose outputs have another order.
    (&[23, 7, 13, 11], &[0], &[3, 2, 1, 0]),
    (&[188, 7, 5, 3], &[0], &[3, 2, 1, 0]),
    (&[2, 700, 12], &[2], &[1, 0, 2]),
    (&[3, 41, 30, 8], &[3], &[1, 2, 0, 3]),
    // Short rows, and rows that end with a part of a piece.
    (&[5000, 3], &[1], &[0, 1]),
    (&[2000, 2], &[1], &[0, 1]),
    (&[700, 23], &[1], &[0, 1]),
    (&[9, 356], &[1], &[0, 1]),
    (&[7, 301], &[1], &[0, 1]),
    // Columns.
    (&[300, 100], &[0], &[0, 1]),
    (&[5, 1083], &[0], &[0, 1]),
    (&[333, 130], &[0], &[0, 1]),
    (&[37, 70, 46], &[0, 2], &[0, 1, 2]),
    (&[4, 16, 200], &[1], &[0, 1, 2]),
    // Few columns in several stretches.
    (&[3, 2, 600, 13], &[0, 2], &[0, 1, 2, 3]),
    (&[5, 2, 1030, 4], &[0, 2], &[0, 1, 2, 3]),
    (&[2, 3, 513, 40], &[0, 2], &[0, 1, 2, 3]),
    // Few columns far apart, between other columns.
    (&[3, 130, 5, 9], &[2, 3], &[3, 1, 2, 0]),
    (&[2, 67, 3, 70], &[2, 3], &[3, 1, 2, 0]),
    // Slabs.
    (&[3, 245, 91], &[1], &[2, 1, 0]),
    // Lines of a few outputs far apart.
    (&[400, 28, 10], &[0, 1], &[1, 0, 2]),
    (&[1200, 9, 3], &[0, 1], &[1, 0, 2]),
    // Transposed.
    (&[20_000, 2], &[0, 1], &[1, 0]),
    (&[79, 7, 143], &[0, 1, 2], &[2, 1, 0]),
    (&[2, 300, 31], &[0, 1, 2], &[2, 0, 1]),
    (&[300, 40], &[0, 1], &[1, 0]),
    // Transposed, with lanes of whole units: of two, of an axis of two, of four, of eight, of several outputs.
    (&[700, 46], &[0, 1], &[1, 0]),
    (&[257, 23, 2], &[0, 1, 2], &[2, 1, 0]),
    (&[530, 3, 20], &[0, 1, 2], &[2, 1, 0]),
    (&[66, 7, 24], &[0, 1, 2], &[2, 1, 0]),
    (&[3, 130, 72], &[1, 2], &[0, 2, 1]),
    // Short runs, the next of which in memory is not the next of the index.
    (&[3, 149, 29, 2], &[0, 1, 2, 3], &[0, 2, 1, 3]),
    (&[2, 97, 61, 3], &[0, 1, 2, 3], &[0, 2, 1, 3]),
    (&[130, 64, 4], &[0, 1, 2], &[1, 0, 2]),
    (&[130, 9, 41], &[0, 1, 2], &[1, 0, 2]),
    (&[3, 70, 33, 20], &[1, 2, 3], &[0, 2, 1, 3]),
    // Reduced axes that follow one another in memory, in the order of no index.
    (&[9, 11, 45, 7], &[0, 1, 2, 3], &[3, 0, 2, 1]),
    (&[4, 9, 6, 130], &[0, 1, 2, 3], &[2, 0, 3, 1]),
    // Many runs of outputs side by side.
    (&[24, 5, 9, 70], &[0, 1, 3], &[0, 1, 2, 3]),
    // Slabs of a few outputs side by side.
    (&[300, 4, 8, 16], &[2], &[0, 1, 2, 3]),
    (&[170, 5, 6], &[1], &[0, 1, 2]),
    (&[90, 5, 4, 12], &[1, 2], &[0, 2, 1, 3]),
];

pub fn bits(values: &Values) -> Vec<(u64, usize)> {
    (0..values.len()).map(|i| values.get(i).bits()).collect()
}

/// Compares a reduction with the reference.
pub fn compare(op: Op, x: &Strided, options: &Options<'_>, what: &str) {
    match (reduce(op, x.view(), options), expected(op, x, None, options)) {
        (Ok(got), Ok(want)) => {
            let want: Vec<_> = want.iter().map(|x| x.bits()).collect();
            assert_eq!(bits(&got.values), want, "{op} of {what}");
        }
        (got, want) => assert!(got.is_err() && want.is_err(), "{op} of {what}: {got:?}, not {want:?}"),
    }
}

/// Each case in turn with one of these dtypes; elements `apart` elements from their neighbours.
fn arrays(dtypes: &[DType], each: impl Fn(&Strided, &Options<'_>, &str)) {
    for (i, (shape, axes, order)) in CASES.into_iter().enumerate() {
        for (j, &dtype) in dtypes.iter().enumerate() {
            let (r, apart) = (&mut Random((64 * i + j) as u64 + 1), if (i + j) % 4 == 3 { 3 } else { 1 });
            let (mut strides, mut bytes) = (vec![0; shape.len()], (dtype.size() * apart) as isize);
            for &axis in order.iter().rev() {
                strides[axis] = bytes;
                bytes *= shape[axis] as isize;
            }
            let x = Strided::place(r, dtype, shape, strides, 0, |r| element(r, dtype, (i + j) % 2));
            let axes = Some(axes.to_vec());
            for skip_nan in [false, true] {
                let options = Options { axes: axes.clone(), threads: Some(1 + j % 2), skip_nan, ..Options::default() };
                each(
                    &x,
                    &options,
                    &format!("{dtype} {shape:?} in order {order:?}, {apart} apart, skip_nan {skip_nan}"),
                );
            }
        }
    }
}

#[test]
fn arrays_in_any_order_match_the_reference() {
    let dtypes = [DType::F16, DType::BF16, DType::F32, DType::F64, DType::I8, DType::U16, DType::I64, DType::Bool];
    arrays(&dtypes, |x, options, what| {
        let floats = [Op::Sum, Op::Mean, Op::Var, Op::Max, Op::ArgMin, Op::Norm, Op::LogSumExp];
        let ops: &[Op] = match x.dtype {
            DType::Bool => &[Op::Any, Op::CountNonzero],
            dtype if dtype.is_float() => &floats,
            _ if options.skip_nan => &[],
            _ => &[Op::Sum, Op::Mean, Op::Std, Op::Min, Op::ArgMax],
        };
        for &op in ops {
            compare(op, x, options, what);
        }
    });
}

#[test]
fn arrays_in_any_order_are_described_as_by_the_single_ops() {
    arrays(&[DType::F16, DType::F32, DType::I8], |x, options, what| {
        let options = Options { skip_nan: false, ..options.clone() };
        let all = describe(x.view(), &options).unwrap();
        for op in [Op::Min, Op::ArgMin, Op::Max, Op::ArgMax, Op::Mean, Op::Std, Op::Sum, Op::Norm] {
            let want = reduce(op, x.view(), &options).unwrap();
            assert_eq!(bits(all.get(op.name()).unwrap()), bits(&want.values), "{op} of {what}");
        }
    });
}
