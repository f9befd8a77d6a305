//! Arrays whose axes lie in memory in another order than in the sequence, or than in the result.

use super::reductions::{Axis, BACKWARDS, Case, Choices, check_all};
use crate::{Emulated, cases, pick};
use std::collections::BTreeMap;
use warpfold::{DType, Op};

pub const FLOATS: [DType; 4] = [DType::F16, DType::BF16, DType::F32, DType::F64];

pub fn axis(len: usize, reduced: bool) -> Axis {
    Axis { len, gap: 0, reversed: false, broadcast: false, reduced }
}

fn options(seed: &mut u64) -> Choices {
    Choices {
        specials: pick(3, seed) == 0,
        skip_nan: pick(3, seed) == 0,
        initial: pick(4, seed) == 0,
        compensated: pick(6, seed) == 0,
        ord: pick(3, seed) as u8,
        ..Choices::default()
    }
}

/// Checks so many cases, or as many as asked for; how many these were, and how many ran which kernels.
pub fn checked(usual: usize, mut seed: u64, case: impl Fn(usize, &mut u64) -> Case) -> (usize, BTreeMap<String, u32>) {
    let count = cases(usual);
    (count, check_all(&Emulated::new(), (0..count).map(|i| case(i, &mut seed))))
}

/// Of these axes, the op, and the dtype of several, with this number.
pub fn of(i: usize, ops: &[Op], dtypes: &[DType], axes: Vec<Axis>, turn: usize, seed: &mut u64) -> Case {
    let (op, dtype) = (ops[i % ops.len()], dtypes[pick(dtypes.len(), seed)]);
    Case { op, dtype, axes, turn, offset: pick(4, seed), options: options(seed), seed: pick(1 << 30, seed) as u64 }
}

/// A case with this number whose innermost reduced axis has elements of an outer one between its own, or of none.
fn crossed(i: usize, seed: &mut u64) -> Case {
    const OPS: [Op; 7] = [Op::Sum, Op::Mean, Op::Var, Op::Norm, Op::LogSumExp, Op::Prod, Op::Std];
    let (between, outer) = (1 + pick(9, seed), 2 + pick(4, seed));
    let run = if pick(4, seed) == 0 { 3 + pick(200, seed) } else { (16 << pick(4, seed)) * (1 + pick(4, seed)) };
    let rest = (40_000 / (between * run * outer)).max(2) + pick(3, seed);
    let gap = if pick(4, seed) == 0 { 1 + pick(2, seed) } else { 0 };
    let last = Axis { gap, ..axis(between, pick(6, seed) != 0) };
    let mut axes = vec![axis(rest, true), axis(run, true), last];
    let mut turn = 1 + BACKWARDS;
    if pick(2, seed) == 0 {
        axes.insert(pick(2, seed), axis(outer, pick(3, seed) == 0));
        turn = 2 + BACKWARDS;
    }
    // Mostly those of 2 bytes.
    let dtypes = if pick(3, seed) == 0 { &FLOATS[..] } else { &FLOATS[..2] };
    of(i, &OPS, dtypes, axes, turn, seed)
}

#[test]
fn stretches_that_cross_others_have_the_bits_of_the_cpu_and_no_fault() {
    let (count, ran) = checked(100, 91, crossed);
    assert!(ran["staged"] as usize > count / 12 && ran["tiled"] as usize > count / 20, "{ran:?}");
}

/// A case with this number of outputs of few elements, whose inner axis has the longer steps.
fn woven(i: usize, seed: &mut u64) -> Case {
    const OPS: [Op; 7] = [Op::Norm, Op::Sum, Op::Var, Op::LogSumExp, Op::Mean, Op::Prod, Op::Std];
    let [run, far, columns] = [9, 9, 4].map(|most| 2 + pick(most, seed));
    let along = (16_000 / (run * far * columns)).max(2) + pick(9, seed);
    let mut axes = vec![axis(along, false), axis(run, true), axis(far, true)];
    if pick(2, seed) == 0 {
        axes.insert(1 + pick(3, seed), axis(columns, false));
    }
    axes[0].gap = pick(6, seed) / 5;
    if pick(3, seed) == 0 {
        axes.insert(0, axis(2 + pick(3, seed), false));
    }
    of(i, &OPS, &FLOATS, axes, BACKWARDS, seed)
}

#[test]
fn outputs_whose_axes_are_woven_have_the_bits_of_the_cpu_and_no_fault() {
    let (count, ran) = checked(90, 92, woven);
    assert!(ran["staged"] as usize > count / 2, "{ran:?}");
}

/// A case with this number of outputs that are neighbours in memory, and far apart in the result.
fn torn(i: usize, seed: &mut u64) -> Case {
    let few = 1 + pick(7, seed);
    let mut axes = vec![axis(2 + pick(9, seed), false), axis(2 + pick(12, seed), false), axis(few, false)];
    let own: usize = axes.iter().map(|axis| axis.len).product();
    let most = 20_000 / own + 2;
    let place = pick(3, seed);
    axes.insert(place, axis(2 + pick(if pick(2, seed) == 0 { 7 } else { most }, seed), true));
    for axis in &mut axes {
        axis.reversed = !axis.reduced && pick(6, seed) == 0;
    }
    let turn = pick(4, seed) + if pick(3, seed) != 0 { BACKWARDS } else { 0 };
    // Every fourth is described, if it is of floats.
    of(i, &Op::ALL, if i.is_multiple_of(4) { &FLOATS[..] } else { &DType::ALL[..] }, axes, turn, seed)
}

#[test]
fn results_in_another_order_have_the_bits_of_the_cpu_and_no_fault() {
    let (count, ran) = checked(180, 93, torn);
    assert!(ran["transpose"] as usize > count / 5, "{ran:?}");
}

/// A case with this number of whether any or all of few integers are true, or of what has no such way.
fn truths(i: usize, seed: &mut u64) -> Case {
    const OPS: [Op; 3] = [Op::Any, Op::All, Op::CountNonzero];
    let (rows, columns) = (2 + pick(26, seed), 120 + pick(1000, seed));
    let mut axes = vec![axis(rows, true), axis(columns, false)];
    if pick(2, seed) == 0 {
        axes.insert(0, axis(2 + pick(6, seed), false));
    }
    axes[0].gap = pick(5, seed) / 3;
    if let Some(columns) = axes.last_mut().filter(|_| pick(4, seed) == 0) {
        columns.gap = 1 + pick(4, seed);
    }
    let turn = if pick(3, seed) == 0 { BACKWARDS } else { 0 };
    let case = of(i, &OPS, &DType::ALL, axes, turn, seed);
    Case { options: Choices { specials: case.options.specials, ..Choices::default() }, ..case }
}

#[test]
fn truths_of_few_integers_have_the_bits_of_the_cpu_and_no_fault() {
    let (count, ran) = checked(100, 94, truths);
    assert!((ran["columns"] + ran["shallow"]) as usize > count / 3, "{ran:?}");
}

#[test]
fn nodes_that_are_reduced_again_have_the_bits_of_the_cpu_and_no_fault() {
    const OPS: [Op; 4] = [Op::Sum, Op::Norm, Op::Mean, Op::Prod];
    const LENS: [usize; 8] = [2, 3, 5, 16, 17, 40, 64, 101];
    let (on, mut seed) = (Emulated::new(), 8);
    let count = cases(40);
    let case = |i: usize, seed: &mut u64| {
        let dtype = FLOATS[pick(FLOATS.len(), seed)];
        let gapped = |len, seed: &mut u64| Axis {
            gap: if pick(6, seed) == 0 { 1 + pick(3, seed) } else { 0 },
            ..axis(len, true)
        };
        // The innermost axis is a multiple of whole subtrees, and lies outside; another is the innermost in memory.
        let each = (32 / dtype.size()) << pick(3, seed);
        let run = each * (3 + 2 * pick(2, seed));
        let side = 40 + pick(120, seed);
        let mut axes = vec![gapped(run, seed)];
        if pick(2, seed) == 0 {
            axes.push(gapped(LENS[pick(LENS.len(), seed)].min(1 + 60_000 / (run * side)), seed));
        }
        let rest = axes.iter().map(|axis| axis.len).product::<usize>() * side;
        axes.push(gapped((60_000 / rest).max(2), seed));
        axes.push(axis(side, true));
        if pick(3, seed) == 0 {
            let place = pick(axes.len(), seed);
            axes.insert(place, axis(2 + pick(3, seed), false));
        }
        let options =
            Choices { compensated: false, dtype: (pick(5, seed) == 0).then_some(DType::F32), ..options(seed) };
        let op = OPS[i % OPS.len()];
        Case { op, dtype, axes, turn: BACKWARDS, offset: pick(4, seed), options, seed: pick(1 << 30, seed) as u64 }
    };
    let ran = check_all(&on, (0..count).map(|i| case(i, &mut seed)));
    let nodes = ["shallow", "columns"].map(|class| ran.get(class).copied().unwrap_or(0)).iter().sum::<u32>();
    assert!(nodes as usize > count / 8, "{ran:?}");
}
