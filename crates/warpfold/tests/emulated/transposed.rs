//! Arrays whose elements do not lie in the order in which they are reduced.

use super::reductions::{Axis, BACKWARDS, Case, Choices, check_all};
use super::{Emulated, cases, pick};
use warpfold::{DType, Op};

const LENS: [usize; 18] = [1, 2, 3, 4, 5, 7, 8, 16, 17, 31, 32, 33, 64, 65, 127, 128, 300, 1021];

/// The case with this number, of at most so many elements.
fn case(i: usize, most: usize, seed: &mut u64) -> Case {
    let (rank, kept) = (2 + pick(3, seed), pick(4, seed));
    let mut axes: Vec<Axis> = Vec::new();
    for k in 0..rank {
        let room = most / axes.iter().map(|axis| axis.len).product::<usize>();
        let last = k + 1 == rank;
        let len = if last && pick(2, seed) == 0 { room } else { LENS[pick(LENS.len(), seed)] };
        let gap = if pick(6, seed) == 0 { 1 + pick(3, seed) } else { 0 };
        let reduced = kept != 0 && pick(3, seed) != 0;
        let reversed = pick(8, seed) == 0;
        axes.push(Axis {
            len: len.clamp(1, room.max(1)),
            gap,
            reversed,
            broadcast: false,
            reduced: reduced || kept == 0,
        });
    }
    let turn = pick(rank, seed) + if pick(2, seed) == 0 { BACKWARDS } else { 0 };
    let options = Choices { specials: pick(3, seed) == 0, ord: pick(3, seed) as u8, ..Choices::default() };
    let (op, dtype) = (Op::ALL[i % Op::ALL.len()], DType::ALL[pick(DType::ALL.len(), seed)]);
    Case { op, dtype, axes, turn, offset: pick(4, seed), options, seed: pick(1 << 30, seed) as u64 }
}

#[test]
fn axes_in_any_order_have_the_bits_of_the_cpu_and_no_fault() {
    let (on, mut seed) = (Emulated::new(), 31);
    let count = cases(400);
    let ran = check_all(&on, (0..count).map(|i| case(i, 30_000, &mut seed)));
    assert!(ran["transpose"] as usize > count / 5, "{ran:?}");
}

#[test]
fn copies_in_pieces_have_the_bits_of_the_cpu_and_no_fault() {
    // More than 2 MiB, which is what one multiprocessor copies at once.
    let axis = |len, reduced| Axis { len, gap: 0, reversed: false, broadcast: false, reduced };
    let shapes = [
        vec![axis(1000, true), axis(700, true)],
        vec![axis(9, true), axis(80_000, true)],
        vec![axis(80_001, true), axis(3, true), axis(3, true)],
        vec![axis(210, true), axis(1009, false), axis(3, true)],
        vec![axis(320_000, true), axis(2, false), axis(2, true)],
    ];
    let ops = [(Op::Sum, DType::F32), (Op::ArgMax, DType::F64), (Op::Var, DType::F64), (Op::LogSumExp, DType::F32)];
    let on = Emulated::new();
    let cases = shapes.into_iter().enumerate().map(|(i, axes)| {
        let (op, dtype) = ops[i % ops.len()];
        Case { op, dtype, axes, turn: BACKWARDS, offset: 1, options: Choices::default(), seed: i as u64 }
    });
    let ran = check_all(&on, cases);
    assert!(ran["transpose"] > ran["rows"], "{ran:?}");
}

/// A case with this number whose innermost reduced axis has whole subtrees, and whose first one lies side by side.
fn subtrees(i: usize, seed: &mut u64) -> Case {
    let axis = |len, reduced| Axis { len, gap: 0, reversed: false, broadcast: false, reduced };
    let (op, dtype) = (
        [Op::Sum, Op::Norm, Op::Mean, Op::Prod][i % 4],
        [DType::F32, DType::BF16, DType::F64, DType::F16][pick(4, seed)],
    );
    let mut axes = vec![axis(32 * (1 + pick(5, seed)), true), axis(64 + pick(80, seed), true)];
    // Kept axes outside, between and inside, and a reduced one between.
    for _ in 0..pick(3, seed) {
        axes.insert(pick(2, seed), axis(2 + pick(3, seed), pick(4, seed) == 0));
    }
    let options = Choices {
        specials: pick(3, seed) == 0,
        skip_nan: pick(3, seed) == 0,
        initial: pick(3, seed) == 0,
        ord: pick(2, seed) as u8,
        dtype: (pick(3, seed) == 0).then_some(DType::F32),
        ..Choices::default()
    };
    Case { op, dtype, axes, turn: BACKWARDS, offset: pick(4, seed), options, seed: pick(1 << 30, seed) as u64 }
}

#[test]
fn columns_of_subtrees_have_the_bits_of_the_cpu_and_no_fault() {
    let (on, mut seed) = (Emulated::new(), 5);
    let ran = check_all(&on, (0..cases(150)).map(|i| subtrees(i, &mut seed)));
    assert!(ran["columns"] > 20, "{ran:?}");
}
