//! Rows, and few columns without gaps, whose packs change hands before lanes fold them: of any length.

use super::reductions::{Axis, Case, Choices, check_all};
use crate::{Emulated, cases};
use warpfold::cuda::{self, describe as describe_there};
use warpfold::{ArrayRef, DType, Op, Options, Values, describe};
use warpfold_testing::golden::random;

const FLOATS: [DType; 4] = [DType::F16, DType::BF16, DType::F32, DType::F64];

fn axis(len: usize, gap: usize, reduced: bool) -> Axis {
    Axis { len, gap, reversed: false, broadcast: false, reduced }
}

#[test]
fn few_columns_without_gaps_have_the_bits_of_the_cpu() {
    let (on, mut seed, count) = (Emulated::new(), 23, cases(96));
    let case = |i: usize| {
        let mut pick = |n: usize| random(&mut seed) as usize % n;
        let (op, dtype) = ([Op::Sum, Op::Mean, Op::Norm, Op::Var, Op::Std][pick(5)], FLOATS[i / 4 % 4]);
        let width = [2, 4, 8][pick(3)];
        // More than is staged, up to some tiles, or to several blocks.
        let rows = (4 << 10) / dtype.size() / width + 1 + pick([6000, 6000, 100_000][i % 3] / width);
        let mut axes = vec![axis(rows, 0, true), axis(width, 0, false)];
        if pick(3) == 0 {
            axes.insert(0, axis(2, pick(3), false));
        }
        let options =
            Choices { skip_nan: pick(3) == 0, specials: pick(3) == 0, ord: pick(3) as u8, ..Choices::default() };
        Case { op, dtype, axes, turn: 0, offset: pick(4), options, seed: random(&mut seed) }
    };
    let ran = check_all(&on, (0..count).map(case));
    assert!(ran["beside"] as usize > count / 4, "{ran:?}");
}

#[test]
fn rows_of_any_length_have_the_bits_of_the_cpu() {
    let (on, mut seed, count) = (Emulated::new(), 29, cases(96));
    let case = |i: usize| {
        let mut pick = |n: usize| random(&mut seed) as usize % n;
        let (op, dtype) = ([Op::Var, Op::LogSumExp, Op::Sum, Op::Std][pick(4)], FLOATS[i / 4 % 4]);
        // A tile and less than another, or some tiles.
        let tile = (4 << 10) / dtype.size();
        let most = [tile / 2, 3 * tile][pick(2)];
        let len = tile / 2 + 1 + pick(most);
        let axes = vec![axis(1 + pick(20), pick(4), false), axis(len, 0, true)];
        let options =
            Choices { skip_nan: pick(4) == 0, specials: pick(3) == 0, compensated: pick(4) == 0, ..Choices::default() };
        Case { op, dtype, axes, turn: 0, offset: pick(4), options, seed: random(&mut seed) }
    };
    let ran = check_all(&on, (0..count).map(case));
    assert!(ran["rows"] as usize > count / 2, "{ran:?}");
}

/// The least of zeros is -0.0 and the greatest +0.0, wherever they are; the place of both is that of the first zero.
#[test]
fn zeros_of_either_sign_are_told_apart_in_different_stretches_and_lanes() {
    let (on, mut seed) = (Emulated::new(), 37);
    // Three tiles of 512 elements, and less than one.
    let (rows, len) = (6, 3 * 512 + 77);
    for sign in [1.0, -1.0, 0.0] {
        let mut x: Vec<f64> = (0..rows * len).map(|_| sign * (random(&mut seed) % 90 + 1) as f64).collect();
        for row in x.chunks_mut(len) {
            for _ in 0..3 {
                let [plus, minus] = [0, 1].map(|_| random(&mut seed) as usize % len);
                (row[plus], row[minus]) = (0.0, -0.0);
            }
        }
        let bytes: Vec<u8> = x.iter().flat_map(|x| x.to_ne_bytes()).collect();
        let (shape, strides, axes) = ([rows, len], [8 * len as isize, 8], Some(vec![1]));
        let array = ArrayRef::from_slice(&x, &shape).expect("an array");
        let want = describe(array, &Options { axes: axes.clone(), ..Options::default() }).expect("statistics");
        let input = on.upload(&bytes);
        let view = on.view(&input, 0, DType::F64, &shape, &strides).expect("a view");
        let options = cuda::Options { axes, ..cuda::Options::default() };
        let found = describe_there(view, &options, &on.stream).expect("statistics");
        assert!(on.entries().contains("rows_describe_f64"));
        for (name, _) in &want.stats {
            let [want, found] = [&want, &found].map(|all| all.get(name).map(Values::as_bytes));
            assert_eq!(found, want, "{name} of numbers times {sign}");
        }
    }
}
