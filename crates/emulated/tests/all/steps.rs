//! Elements a few steps apart, in rows of some tiles, or in several runs, of an array that ends with the last of them.

use super::reductions::{Axis, Case, Choices, check_all};
use crate::{Emulated, cases};
use warpfold::{DType, Op};
use warpfold_testing::golden::random;

#[test]
fn elements_a_few_steps_apart_have_the_bits_of_the_cpu() {
    let (on, mut seed, count) = (Emulated::new(), 41, cases(120));
    let case = |i: usize| {
        let mut pick = |n: usize| random(&mut seed) as usize % n;
        let dtype = [DType::BF16, DType::F32, DType::F16, DType::U8, DType::F16, DType::I8, DType::F64][i % 7];
        let ops = [Op::Sum, Op::Var, Op::Max, Op::ArgMin, Op::Mean, Op::Norm, Op::Any, Op::LogSumExp];
        let op = ops[pick(if dtype.is_float() { 8 } else { 5 })];
        // Rows longer than a warp stages, which are cut into stretches: of less than a tile, of a few, or in runs.
        let tile = (4 << 10) / dtype.size();
        let axis =
            |len: usize, gap: usize, reduced: bool| Axis { len, gap, reversed: false, broadcast: false, reduced };
        let inner = axis(tile / 2 + 1 + pick([tile, 5 * tile][i / 7 % 2]), 1 + pick(3), true);
        let mut axes = vec![inner];
        if pick(2) == 0 {
            axes.insert(0, axis(1 + pick(5), pick(5), false));
        }
        if pick(3) == 0 {
            axes.insert(0, axis(2 + pick(3), 1 + pick(9), true));
        }
        let options = Choices {
            skip_nan: dtype.is_float() && pick(4) == 0,
            specials: pick(3) == 0,
            ord: pick(3) as u8,
            ..Choices::default()
        };
        Case { op, dtype, axes, turn: 0, offset: pick(9), options, seed: random(&mut seed) }
    };
    let ran = check_all(&on, (0..count).map(case));
    // Of 8 bytes, and of 4 where there are rows enough, they are read where they lie.
    assert!(ran["staged"] as usize > count / 6 && ran["apart"] as usize > count / 4, "{ran:?}");
}
