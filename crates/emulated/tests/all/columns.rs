//! Columns of elements of 1 and 2 bytes, which lanes take a word at a time: every width, pitch and start.

use std::collections::BTreeMap;

use super::reductions::{Axis, Case, Choices, check, check_all};
use crate::{Emulated, brief, cases};
use warpfold::{DType, Op};
use warpfold_testing::golden::random;

const SMALL: [DType; 7] = [DType::Bool, DType::I8, DType::U8, DType::I16, DType::U16, DType::F16, DType::BF16];
const OPS: [Op; 12] = [
    Op::ArgMax,
    Op::ArgMin,
    Op::Max,
    Op::Min,
    Op::MinMax,
    Op::Sum,
    Op::Mean,
    Op::CountNonzero,
    Op::All,
    Op::Norm,
    Op::Var,
    Op::LogSumExp,
];
/// Fewer columns than a lane takes, one lane's, a panel's, more, and all but multiples of these.
const WIDTHS: [usize; 20] = [2, 3, 4, 5, 7, 8, 9, 16, 24, 31, 50, 64, 83, 100, 128, 150, 209, 256, 257, 521];

/// The case with this number.
fn case(i: usize, seed: &mut u64) -> Case {
    let mut pick = |n: usize| random(seed) as usize % n;
    let width = WIDTHS[pick(WIDTHS.len())];
    let rows = match pick(4) {
        0 => 1 + pick(8),
        1 => 9 + pick(60),
        2 => 8 * (1 + pick(30)),
        _ => 2 + pick(24_000 / width).min(1500),
    };
    let axis = |len, gap, reversed, reduced| Axis { len, gap, reversed, broadcast: false, reduced };
    let gap = [0, 0, 0, 1, 3, 8][pick(6)];
    let mut axes = vec![axis(rows, gap, pick(12) == 0, true), axis(width, 0, false, false)];
    if pick(5) == 0 {
        axes.insert(0, axis(2 + pick(2), pick(2), false, false));
    }
    let choices = Choices {
        skip_nan: pick(3) == 0,
        initial: pick(6) == 0,
        ord: pick(3) as u8,
        specials: pick(2) == 0,
        ..Choices::default()
    };
    let offset = [0, 0, 1, 2, 3, 5][pick(6)];
    let (op, dtype) = (OPS[i % OPS.len()], SMALL[i / OPS.len() % SMALL.len()]);
    // Of integers, these are none of the kernels that this is about.
    let of_floats = matches!(op, Op::Norm | Op::Var | Op::LogSumExp);
    let op = if of_floats && !dtype.is_float() { Op::Any } else { op };
    let choices = Choices { skip_nan: choices.skip_nan && op != Op::Mean, ..choices };
    Case { op, dtype, axes, turn: 0, offset, options: choices, seed: random(seed) }
}

#[test]
fn variances_of_integers_in_columns_that_teams_have_are_the_cpus_without_a_fault() {
    const INTEGERS: [DType; 5] = [DType::I8, DType::U8, DType::I16, DType::U16, DType::Bool];
    let (on, mut seed) = (Emulated::new(), 17);
    let mut case = |i: usize| {
        let mut pick = |n: usize| random(&mut seed) as usize % n;
        let (width, rows) = (10 + pick(75), [1, 9, 64, 130, 517, 1100][pick(6)] + pick(9));
        let axis = |len, reduced| Axis { len, gap: 0, reversed: false, broadcast: false, reduced };
        let mut axes = vec![axis(rows, true), axis(width, false)];
        if pick(4) == 0 {
            axes.insert(0, axis(2, false));
        }
        let (op, offset) = ([Op::Var, Op::Std][pick(2)], pick(4));
        let options = Choices { specials: pick(2) == 0, ..Choices::default() };
        Case { op, dtype: INTEGERS[i % 5], axes, turn: 0, offset, options, seed: random(&mut seed) }
    };
    let all: Vec<Case> = (0..cases(80)).map(&mut case).collect();
    let count = all.len();
    let ran = check_all(&on, all.into_iter());
    assert!(ran["columns"] as usize > count / 4, "{ran:?}");
}

#[test]
fn few_columns_of_many_units_have_the_bits_of_the_cpu_side_by_side() {
    let (on, mut seed, mut wrong, mut abreast) = (Emulated::new(), 9, Vec::new(), 0);
    let all = OPS.iter().flat_map(|op| DType::ALL.iter().map(move |dtype| (*op, *dtype)));
    for (i, (op, dtype)) in all.enumerate() {
        let mut pick = |n: usize| random(&mut seed) as usize % n;
        let axis = |len, gap, reduced| Axis { len, gap, reversed: false, broadcast: false, reduced };
        // Whole sectors, and columns that are not all of a lane's.
        let width = [32, 64, 96][pick(3)] / dtype.size() - if pick(3) == 0 { pick(2) } else { 0 };
        let rows = [8, 16, 24, 41][pick(4)];
        let mut axes = vec![axis(130 + pick(60), pick(2) * width, false), axis(rows, 0, true), axis(width, 0, false)];
        if pick(4) == 0 {
            axes.insert(0, axis(2, 0, false));
        }
        let choices = Choices { specials: pick(2) == 0, ord: pick(3) as u8, ..Choices::default() };
        let case = Case { op, dtype, axes, turn: 0, offset: [0, 0, 1][pick(3)], options: choices, seed: i as u64 };
        match check(&on, &case) {
            Ok(entries) => abreast += entries.contains("columns_") as usize,
            Err(why) => wrong.push(format!("{case:?}\n{}", brief(&why))),
        }
    }
    assert!(wrong.is_empty(), "{} wrong: {}", wrong.len(), wrong[..wrong.len().min(6)].join("\n\n"));
    assert!(abreast > OPS.len() * DType::ALL.len() / 3, "{abreast}");
}

#[test]
fn columns_a_few_steps_apart_have_the_bits_of_the_cpu() {
    let (on, mut seed) = (Emulated::new(), 17);
    let axis = |len, gap, reduced| Axis { len, gap, reversed: false, broadcast: false, reduced };
    let case = |(op, dtype)| {
        let mut pick = |n: usize| random(&mut seed) as usize % n;
        let axes = vec![
            axis(1 + pick(5), 0, false),
            axis(2 + pick(40), pick(3), true),
            axis(2 + pick(300), 1 + pick(3), false),
        ];
        let options = Choices { specials: pick(2) == 0, ord: pick(3) as u8, ..Choices::default() };
        Case { op, dtype, axes, turn: 0, offset: pick(3), options, seed: random(&mut seed) }
    };
    let all = OPS.iter().flat_map(|op| DType::ALL.iter().map(move |dtype| (*op, *dtype)));
    let ran = check_all(&on, all.map(case));
    assert!(ran["columns"] as usize > OPS.len() * DType::ALL.len() / 4, "{ran:?}");
}

#[test]
fn columns_of_small_elements_have_the_bits_of_the_cpu_wherever_rows_begin() {
    let (on, count) = (Emulated::new(), cases(280));
    let (mut seed, mut wrong, mut of) = (5, Vec::new(), BTreeMap::<String, u32>::new());
    for i in 0..count {
        let case = case(i, &mut seed);
        match check(&on, &case) {
            Ok(entries) => *of.entry(entries.split('_').next().unwrap_or_default().trim().into()).or_default() += 1,
            Err(why) => wrong.push(format!("{case:?}\n{}", brief(&why))),
        }
        if wrong.len() == 8 {
            break;
        }
    }
    println!("{of:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    let at_least = |class: &str, share: usize| of[class] as usize > count / share;
    assert!(at_least("columns", 2) && at_least("staged", 20) && at_least("narrow", 60), "{of:?}");
}

#[test]
fn outputs_of_one_element_each_have_the_bits_of_the_cpu() {
    let (on, mut seed, mut wrong, mut single) = (Emulated::new(), 31, Vec::new(), 0);
    let all = [Op::Std, Op::Prod, Op::Norm]
        .iter()
        .chain(&OPS)
        .flat_map(|op| DType::ALL.iter().map(move |dtype| (*op, *dtype)));
    for (i, (op, dtype)) in all.enumerate() {
        let mut pick = |n: usize| random(&mut seed) as usize % n;
        let axis = |len, gap, reduced| Axis { len, gap, reversed: false, broadcast: false, reduced };
        // Rows that begin with lines and elsewhere, shorter and longer than what a warp takes.
        let width = [128, 1031, 2048, 3000][pick(4)];
        let gap = [0, 0, 1, 8][pick(4)];
        let mut axes = vec![axis(1 + pick(3), gap, false), axis(width, 0, false)];
        axes.insert(pick(3), axis(1, 0, true));
        if pick(4) == 0 {
            axes[0].reversed = true;
        }
        let choices =
            Choices { specials: pick(3) > 0, ord: pick(3) as u8, skip_nan: pick(6) == 0, ..Choices::default() };
        let case = Case { op, dtype, axes, turn: 0, offset: [0, 0, 1, 5][pick(4)], options: choices, seed: i as u64 };
        match check(&on, &case) {
            Ok(entries) => single += entries.contains("single_") as usize,
            Err(why) => wrong.push(format!("{case:?}\n{}", brief(&why))),
        }
    }
    assert!(wrong.is_empty(), "{} wrong: {}", wrong.len(), wrong[..wrong.len().min(6)].join("\n\n"));
    assert!(single > 30, "{single}");
}
