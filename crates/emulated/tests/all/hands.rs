//! Rows, and few columns without gaps, whose packs change hands before lanes fold them: of any length.

use super::reductions::{Axis, Case, Choices, check_all};
use crate::{Emulated, cases};
use warpfold::{DType, Op};
use warpfold_testing::golden::random;

const FLOATS: [DType; 4] = [DType::F16, DType::BF16, DType::F32, DType::F64];

fn axis(len: usize, gap: usize, reduced: bool) -> Axis {
    Axis { len, gap, reversed: false, broadcast: false, reduced }
}

#[test]
fn few_columns_without_gaps_have_the_bits_of_the_cpu() {
    let (on, mut seed, count) = (Emulated::new(), 23, cases(160));
    let case = |i: usize| {
        let mut pick = |n: usize| random(&mut seed) as usize % n;
        let (op, dtype) = ([Op::Sum, Op::Mean, Op::Norm, Op::Var, Op::Std][pick(5)], FLOATS[i % 4]);
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
    let (on, mut seed, count) = (Emulated::new(), 29, cases(160));
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
