//! Columns whose neighbours lie side by side, and that follow one another in the order of the tree.

use super::reductions::{Axis, BACKWARDS, Case, Choices, check_all};
use crate::{Emulated, cases, pick};
use warpfold::{DType, Op};

/// The case with this number: few rows or many, of one axis or two; columns of one or two; whole subtrees or not.
fn case(i: usize, seed: &mut u64) -> Case {
    const RUNS: [usize; 10] = [16, 16, 96, 97, 100, 127, 128, 131, 160, 257];
    const ROWS: [usize; 10] = [1, 2, 3, 5, 7, 16, 31, 32, 33, 48];
    const FLOATS: [DType; 4] = [DType::F16, DType::BF16, DType::F32, DType::F64];
    const OPS: [Op; 6] = [Op::Sum, Op::Var, Op::Mean, Op::Std, Op::Norm, Op::Var];
    let axis = |len| Axis { len, gap: 0, reversed: false, broadcast: false, reduced: true };
    let run = RUNS[pick(RUNS.len(), seed)];
    let mut axes = vec![axis(run)];
    // Now and then tiles of as many rows as there is room for.
    let rest = (20_000 + if pick(20, seed) == 0 { 200_000 } else { pick(60_000, seed) }) / run;
    // The outer axes of rows and of columns, if there are any.
    let [rows, columns] =
        [pick(2, seed), pick(3, seed) / 2].map(|is| if is == 1 { ROWS[pick(ROWS.len(), seed)] } else { 1 });
    let long = (rest / rows / columns).max(1);
    axes.insert(0, axis(long));
    if rows > 1 {
        axes.insert(pick(2, seed), axis(rows));
    }
    if columns > 1 {
        axes.insert(pick(axes.len(), seed), axis(columns));
    }
    let rank = axes.len();
    for (k, axis) in axes.iter_mut().enumerate() {
        axis.gap = if k + 1 < rank && pick(5, seed) == 0 { 1 + pick(3, seed) } else { 0 };
        axis.reversed = pick(9, seed) == 0;
    }
    if pick(5, seed) == 0 {
        axes[pick(rank, seed)].reduced = false;
    }
    if pick(9, seed) == 0 {
        axes[rank - 1].broadcast = pick(2, seed) == 0;
    }
    let turn = BACKWARDS + if pick(3, seed) == 0 { pick(rank, seed) } else { 0 };
    let options = Choices {
        specials: pick(4, seed) == 0,
        skip_nan: pick(4, seed) == 0,
        initial: pick(4, seed) == 0,
        ord: pick(2, seed) as u8,
        dtype: (pick(9, seed) == 0).then_some(DType::F32),
        ..Choices::default()
    };
    let dtype = FLOATS[pick(FLOATS.len(), seed)];
    Case { op: OPS[i % OPS.len()], dtype, axes, turn, offset: pick(4, seed), options, seed: pick(1 << 30, seed) as u64 }
}

#[test]
fn columns_abreast_have_the_bits_of_the_cpu_and_no_fault() {
    let (on, mut seed) = (Emulated::new(), 77);
    let count = cases(100);
    let ran = check_all(&on, (0..count).map(|i| case(i, &mut seed)));
    assert!(ran["abreast"] as usize > count / 5, "{ran:?}");
}
