//! Problems of which lanes, or warps, would have little, and which are reduced in another way.

use super::crossed::{FLOATS, axis, checked, of};
use super::reductions::{Axis, BACKWARDS, Case, Choices, check_all};
use crate::{Emulated, cases, pick};
use warpfold::{DType, Op};

/// An axis with some elements between its own.
fn gapped(len: usize, reduced: bool, gap: usize) -> Axis {
    Axis { gap, ..axis(len, reduced) }
}

/// A case with this number of columns of few rows, some steps apart.
fn stepped(i: usize, seed: &mut u64) -> Case {
    let mut axes = vec![axis(2 + pick(8, seed), true), gapped(120 + pick(1500, seed), false, 1 + pick(4, seed))];
    if pick(3, seed) != 0 {
        axes.insert(0, gapped(1 + pick(5, seed), false, pick(9, seed) / 4));
    }
    let turn = if pick(3, seed) == 0 { BACKWARDS } else { 0 };
    axes[0].reversed = !axes[0].reduced && pick(4, seed) == 0;
    of(i, &Op::ALL, &DType::ALL, axes, turn, seed)
}

#[test]
fn columns_of_few_rows_some_steps_apart_have_the_bits_of_the_cpu_and_no_fault() {
    let (count, ran) = checked(120, 101, stepped);
    assert!(ran["shallow"] as usize > count / 10 && ran["transpose"] as usize > count / 6, "{ran:?}");
}

/// A case with this number of outputs of few elements in several runs, which begin with words of 8 bytes or elsewhere.
fn sparse(i: usize, seed: &mut u64) -> Case {
    let dtype = DType::ALL[pick(DType::ALL.len(), seed)];
    let words = 8 / dtype.size();
    let run = words * (8 + pick(16, seed)) + if pick(5, seed) == 0 { pick(3, seed) } else { 0 };
    let gap = if pick(4, seed) == 0 { words * (1 + pick(2, seed)) } else { 0 };
    let mut axes = vec![axis(2 + pick(5, seed), true), gapped(8 + pick(60, seed), false, gap), axis(run, true)];
    if pick(3, seed) == 0 {
        axes.insert(pick(2, seed), axis(2 + pick(3, seed), pick(2, seed) == 0));
    }
    of(i, &Op::ALL, &[dtype], axes, 0, seed)
}

#[test]
fn few_elements_in_several_runs_have_the_bits_of_the_cpu_and_no_fault() {
    let (count, ran) = checked(120, 102, sparse);
    assert!(ran["transpose"] as usize > count / 16, "{ran:?}");
}

/// A case with this number of one output, or few, whose sequence goes along the few elements of each row last.
fn between(i: usize, seed: &mut u64) -> Case {
    const OPS: [Op; 6] = [Op::ArgMax, Op::Prod, Op::ArgMin, Op::Var, Op::Mean, Op::MinMax];
    let few = 2 + pick(15, seed);
    let mut axes = vec![axis(40_000 / few + pick(3000, seed), true), axis(few, true)];
    if pick(3, seed) == 0 {
        axes.insert(pick(2, seed), axis(2 + pick(3, seed), false));
    }
    of(i, &OPS, &DType::ALL, axes, BACKWARDS, seed)
}

#[test]
fn places_among_few_elements_of_each_row_have_the_bits_of_the_cpu_and_no_fault() {
    // Blocks of a small device would have a row each.
    let (count, mut seed) = (cases(60), 103);
    let ran = check_all(&Emulated::of(4), (0..count).map(|i| between(i, &mut seed)));
    assert!(ran["staged"] as usize > count / 8, "{ran:?}");
}

/// A case with this number whose nodes are neighbours in the sequence, or are nodes of nodes.
fn nodes(i: usize, seed: &mut u64) -> Case {
    const OPS: [Op; 5] = [Op::Sum, Op::Mean, Op::Norm, Op::Prod, Op::Mean];
    let dtype = FLOATS[pick(FLOATS.len(), seed)];
    // Of f64 so many that lanes do not walk down them abreast.
    let each = if dtype == DType::F64 { 8 } else { 32 / dtype.size() };
    let side = axis(100 + pick(150, seed), true);
    let (axes, turn) = if pick(2, seed) == 0 {
        let run = each * (1 + 2 * pick(3, seed));
        (vec![axis(2 + pick(1 + 40_000 / (run * side.len), seed), true), axis(run, true), side], 1 + BACKWARDS)
    } else {
        let run = |seed: &mut u64| axis(each >> 1 << pick(3, seed), true);
        let (inner, outer) = (run(seed), run(seed));
        // Neighbours in the sequence are far apart in memory, too.
        if pick(6, seed) == 0 {
            let far = vec![axis(4, true), axis(4, true), axis(3, true), axis(4096 + pick(60, seed), true)];
            return of(i, &OPS[..3], &[DType::F64], far, BACKWARDS, seed);
        }
        let rest = axis(3 + pick(1 + 60_000 / (inner.len * outer.len * side.len), seed), true);
        (vec![inner, outer, rest, side], if pick(2, seed) == 0 { BACKWARDS } else { 1 + BACKWARDS })
    };
    let case = of(i, &OPS, &[dtype], axes, turn, seed);
    Case { options: Choices { compensated: false, ..case.options }, ..case }
}

#[test]
fn nodes_of_few_elements_have_the_bits_of_the_cpu_and_no_fault() {
    let (count, ran) = checked(44, 105, nodes);
    let walked = (ran["tiled"] + ran["abreast"]) as usize;
    assert!(ran["columns"] as usize > count / 16 && walked > count / 8, "{ran:?}");
}

/// A case with this number of odd columns of small elements, of some hundred rows.
fn odd(i: usize, seed: &mut u64) -> Case {
    const DTYPES: [DType; 7] = [DType::I8, DType::U8, DType::F16, DType::BF16, DType::I16, DType::U16, DType::Bool];
    let columns = 9 + pick(140, seed);
    let axes = vec![axis(2 + pick(3, seed), false), axis(40 + pick(700, seed), true), axis(columns, false)];
    of(i, &Op::ALL, &DTYPES, axes, 0, seed)
}

#[test]
fn rows_of_odd_columns_have_the_bits_of_the_cpu_and_no_fault() {
    let (count, ran) = checked(60, 106, odd);
    assert!(ran["columns"] as usize > count / 2, "{ran:?}");
}

/// A case with this number of exponentials none of which outweighs the others, so that each counts in the result: of
/// stretches of rows, and of short rows, which often leave lanes without elements.
fn exponentials(i: usize, seed: &mut u64) -> Case {
    let axes = match pick(3, seed) {
        0 => vec![axis(1 + pick(300, seed), false), axis(9 + pick(300, seed), true)],
        1 => vec![axis(1 + pick(3, seed), false), axis(1000 + pick(9000, seed), true), axis(2 + pick(5, seed), false)],
        _ => vec![axis(1 + pick(3, seed), false), gapped(3000 + pick(9000, seed), true, 1 + pick(2, seed))],
    };
    let case = of(i, &[Op::LogSumExp], &FLOATS, axes, 0, seed);
    Case { options: Choices::default(), seed: 3 * case.seed, ..case }
}

#[test]
fn each_of_many_exponentials_counts() {
    let (count, ran) = checked(90, 107, exponentials);
    assert!(ran["staged"] as usize > count / 2, "{ran:?}");
}

/// A case with this number of few elements, in columns, rows or steps, for which launches are to be few.
fn small(i: usize, seed: &mut u64) -> Case {
    let (rows, columns) = (20 + pick(600, seed), 1 + pick(24, seed));
    let axes = match pick(4, seed) {
        0 => vec![axis(rows, true), axis(columns, false)],
        1 => vec![axis(rows, true), axis(columns, true)],
        2 => vec![gapped(rows, true, pick(3, seed))],
        _ => vec![axis(2 + pick(3, seed), true), axis(columns, false), axis(2 + rows / 4, true)],
    };
    let turn = [0, 1, BACKWARDS, 1 + BACKWARDS][pick(4, seed)];
    of(i, &Op::ALL, &DType::ALL, axes, turn, seed)
}

#[test]
fn small_arrays_have_the_bits_of_the_cpu_and_no_fault() {
    // Of so many multiprocessors memory is fast enough for such arrays to be small.
    let (count, mut seed) = (cases(200), 108);
    let ran = check_all(&Emulated::of(24), (0..count).map(|i| small(i, &mut seed)));
    assert!(ran["any"] as usize > count / 6, "{ran:?}");
}
