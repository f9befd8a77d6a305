//! Operations on rows against their definitions, bit for bit: any shape, axes, layout, dtype and number of threads.

mod channels;
mod distribution;
mod given;
mod in_place;
mod loss;
mod norm;
mod pairs;
mod pool;
mod sample;
mod scatter;
mod select;
mod softmax;

use reference::{Random, Strided};
use warpfold::core::{Cast, Element};
use warpfold::cpu::simd::Simd;
use warpfold::{Array, DType, Scalar, Value, bf16, f16};
use warpfold_testing::reference;

const FLOATS: [DType; 4] = [DType::F16, DType::BF16, DType::F32, DType::F64];

/// An element of a dtype. Of a hundred, so many are NaN, infinite, zero of either sign or extreme.
fn float(r: &mut Random, dtype: DType, spread: f64, wild: usize) -> Scalar {
    let x = match r.chance(wild) {
        true => [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, 1e-40, -6e4, 3e38][r.below(8)],
        false => (r.below(2_000_001) as f64 * 1e-6 - 1.0) * spread,
    };
    warpfold::Values::F64(vec![x]).cast(dtype).get(0)
}

/// An array of floats in any layout. Some are near zero, some far apart, some mostly minus infinity, some wild.
fn floats(r: &mut Random, dtype: DType, shape: &[usize]) -> Strided {
    let spread = [1.0, 20.0, 100.0, 3e4][r.below(4)];
    let (wild, nothing) = ([0, 0, 2, 30][r.below(4)], [0, 0, 0, 60][r.below(4)]);
    let minus_infinity = warpfold::Values::F64(vec![f64::NEG_INFINITY]).cast(dtype).get(0);
    Strided::new(r, dtype, shape, |r| if r.chance(nothing) { minus_infinity } else { float(r, dtype, spread, wild) })
}

/// A shape with zeros and ones among its lengths, and the axes of its rows.
fn problem(r: &mut Random) -> (Vec<usize>, Vec<isize>) {
    let sizes: &[usize] = [&[0, 1, 2, 3][..], &[1, 2, 5, 8, 40], &[1, 17, 64, 100], &[1, 3, 130, 700]][r.below(4)];
    let mut shape: Vec<usize> = (0..1 + r.below(4)).map(|_| sizes[r.below(sizes.len())]).collect();
    if r.chance(10) {
        shape = vec![[1, 2, 3][r.below(3)], [4096, 4097, 9000][r.below(3)]];
        shape.rotate_left(r.below(2));
    }
    while shape.iter().filter(|&&n| n > 0).product::<usize>() > 30_000 {
        shape.pop();
    }
    let rank = shape.len();
    let some = if r.chance(60) { vec![r.below(rank)] } else { (0..rank).filter(|_| r.chance(50)).collect() };
    (
        shape,
        some.into_iter().map(|axis| if r.chance(30) { axis as isize - rank as isize } else { axis as isize }).collect(),
    )
}

/// The indices of each row's elements in the array, all in row-major order.
fn rows(shape: &[usize], axes: &[isize]) -> Vec<Vec<usize>> {
    let rank = shape.len();
    let is_row = |axis: usize| axes.contains(&(axis as isize)) || axes.contains(&(axis as isize - rank as isize));
    let count = (0..rank).filter(|&axis| !is_row(axis)).map(|axis| shape[axis]).product();
    let mut rows = vec![Vec::new(); count];
    for i in 0..shape.iter().product() {
        let (mut rest, mut row, mut step) = (i, 0, 1);
        for axis in (0..rank).rev() {
            if !is_row(axis) {
                row += rest % shape[axis] * step;
                step *= shape[axis];
            }
            rest /= shape[axis];
        }
        rows[row].push(i);
    }
    rows
}

/// The elements as floats.
fn wide<F: Value>(x: &Strided) -> Vec<F> {
    x.elements().into_iter().map(|x| F::from_cast(x.to_cast())).collect()
}

/// A result of the accumulator's float, rounded once.
fn rounded<F: Value>(x: F, dtype: DType) -> u64 {
    let x = match x.cast() {
        Cast::Float(x) => x,
        _ => unreachable!("a float"),
    };
    match dtype {
        DType::F16 => f16::from_float(x as f32).scalar(),
        DType::BF16 => bf16::from_float(x as f32).scalar(),
        DType::F32 => f32::from_float(x as f32).scalar(),
        _ => f64::from_float(x).scalar(),
    }
    .bits()
    .0
}

fn bits(array: &Array) -> Vec<u64> {
    (0..array.values.len()).map(|i| array.values.get(i).bits().0).collect()
}

/// Asserts that an array has these bits, and else names the first element that differs.
fn same(got: &Array, want: &[u64], what: &str) {
    let got = bits(got);
    let differs = got.iter().zip(want).position(|(got, want)| got != want);
    assert_eq!(got.len(), want.len(), "{what}");
    assert!(
        differs.is_none(),
        "{what}: {:#x}, not {:#x}, at {differs:?}",
        got[differs.unwrap()],
        want[differs.unwrap()]
    );
}

/// Names the float that a dtype is computed in.
macro_rules! with_float {
    ($dtype:expr, $f:ident => $of:expr) => {
        if $dtype == DType::F64 {
            type $f = f64;
            $of
        } else {
            type $f = f32;
            $of
        }
    };
}
use with_float;

/// Runs a random test many times, at every level of vector instructions.
fn many(n: u64, test: impl Fn(&mut Random, DType, &str)) {
    for simd in [Simd::Avx512, Simd::Avx2, Simd::Baseline] {
        simd.limit();
        for seed in 0..n {
            let r = &mut Random((seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (simd as u64) << 60 | 1);
            (0..4).for_each(|_| _ = r.next());
            let dtype = FLOATS[r.below(4)];
            test(r, dtype, &format!("seed {seed} {simd:?} {dtype}"));
        }
    }
}

/// The same, of a shape and an axis along which there are elements.
fn many_axes(n: u64, test: impl Fn(&mut Random, DType, &[usize], usize, &str)) {
    many(n, |r, dtype, what| {
        let (shape, _) = problem(r);
        let axis = r.below(shape.len());
        if shape[axis] > 0 {
            test(r, dtype, &shape, axis, what);
        }
    });
}
