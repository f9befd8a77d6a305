//! Arrays whose elements do not lie in the order in which they are reduced.

use super::reductions::{Axis, BACKWARDS, Case, Choices, check_all, run};
use crate::{Emulated, Outcome, cases, pick};
use warpfold::{ArrayRef, DType, Op, Options, reduce};

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
    let count = cases(200);
    let ran = check_all(&on, (0..count).map(|i| case(i, 30_000, &mut seed)));
    assert!(ran["transpose"] as usize > count / 9 && ran["tiled"] as usize > count / 80, "{ran:?}");
}

/// A case with this number whose order matters, of outputs of many elements that lie in another one.
fn tiled(i: usize, seed: &mut u64) -> Case {
    const LENS: [usize; 14] = [1, 2, 3, 5, 7, 16, 31, 32, 33, 64, 127, 300, 512, 1021];
    const FLOATS: [DType; 4] = [DType::F16, DType::BF16, DType::F32, DType::F64];
    const OPS: [Op; 7] = [Op::Sum, Op::Var, Op::LogSumExp, Op::Norm, Op::Mean, Op::Prod, Op::Std];
    let (rank, kept) = (2 + pick(3, seed), pick(2, seed));
    let mut axes: Vec<Axis> = Vec::new();
    for k in 0..rank {
        let room = 40_000 / axes.iter().map(|axis| axis.len).product::<usize>();
        let len = if k + 1 == rank { room - pick(room / 4 + 1, seed) } else { LENS[pick(LENS.len(), seed)].min(room) };
        let gap = if pick(5, seed) == 0 { pick(4, seed) } else { 0 };
        axes.push(Axis { len: len.max(1), gap, reversed: pick(9, seed) == 0, broadcast: false, reduced: true });
    }
    // Any of the axes is the long one, and the fastest in memory.
    let places = [pick(rank, seed), pick(rank, seed)];
    axes.swap(places[0], places[1]);
    if kept == 1 {
        let place = pick(rank, seed);
        let broadcast = pick(9, seed) == 0;
        axes.insert(place, Axis { len: 2 + pick(2, seed), gap: 0, reversed: false, broadcast, reduced: false });
    }
    if pick(20, seed) == 0 {
        let place = pick(rank, seed);
        axes.insert(place, Axis { len: 3, gap: 0, reversed: false, broadcast: true, reduced: true });
    }
    let options = Choices {
        specials: pick(4, seed) == 0,
        skip_nan: pick(3, seed) == 0,
        initial: pick(3, seed) == 0,
        compensated: pick(6, seed) == 0,
        ord: pick(2, seed) as u8,
        dtype: (pick(9, seed) == 0).then_some(DType::F32),
        ..Choices::default()
    };
    let turn = pick(rank, seed) + if pick(2, seed) == 0 { BACKWARDS } else { 0 };
    let (op, dtype) = (OPS[i % OPS.len()], FLOATS[pick(FLOATS.len(), seed)]);
    Case { op, dtype, axes, turn, offset: pick(4, seed), options, seed: pick(1 << 30, seed) as u64 }
}

#[test]
fn tiles_have_the_bits_of_the_cpu_and_no_fault() {
    let (on, mut seed) = (Emulated::new(), 12);
    let count = cases(110);
    let ran = check_all(&on, (0..count).map(|i| tiled(i, &mut seed)));
    assert!(ran["tiled"] as usize > count / 8, "{ran:?}");
}

#[test]
fn short_runs_that_are_copied_several_elements_at_once_have_the_bits_of_the_cpu_and_no_fault() {
    let (on, mut seed) = (Emulated::new(), 3);
    let axis = |len, reduced| Axis { len, gap: 0, reversed: false, broadcast: false, reduced };
    let count = cases(60);
    let mut case = |i: usize| {
        let dtype = [DType::I8, DType::U8, DType::I16, DType::U16, DType::BF16, DType::F16][i % 6];
        let run = (8 << pick(2, &mut seed)) / dtype.size();
        let axes = vec![axis(2 + pick(4, &mut seed), true), axis(400 + pick(300, &mut seed), false), axis(run, true)];
        let op = [Op::Var, Op::Mean, Op::Std][pick(3, &mut seed)];
        let (specials, skip_nan) = (pick(3, &mut seed) == 0, dtype.is_float());
        let options = Choices { specials, skip_nan, ..Choices::default() };
        let offset = [0, 0, 1, 3][pick(4, &mut seed)];
        Case { op, dtype, axes, turn: 0, offset, options, seed: pick(1 << 30, &mut seed) as u64 }
    };
    let all: Vec<Case> = (0..count).map(&mut case).collect();
    let ran = check_all(&on, all.into_iter());
    assert!(ran["transpose"] as usize > count / 3, "{ran:?}");
}

#[test]
fn columns_of_few_rows_that_begin_with_lines_have_the_bits_of_the_cpu_and_no_fault() {
    const FLOATS: [DType; 4] = [DType::F16, DType::BF16, DType::F32, DType::F64];
    const OPS: [Op; 5] = [Op::Sum, Op::Var, Op::LogSumExp, Op::Norm, Op::Mean];
    let (on, mut seed) = (Emulated::new(), 5);
    let axis = |len, reduced| Axis { len, gap: 0, reversed: false, broadcast: false, reduced };
    let mut case = |op, dtype| {
        // The last tile has fewer columns, or windows that are not whole.
        let (rows, columns) = (2 << pick(3, &mut seed), 4096 + 16 * pick(500, &mut seed));
        let mut axes = vec![axis(columns, true), axis(rows, true)];
        if pick(3, &mut seed) == 0 {
            axes.push(axis(2, false));
        }
        let (specials, skip_nan) = (pick(3, &mut seed) == 0, pick(3, &mut seed) == 0);
        let options = Choices { specials, skip_nan, ..Choices::default() };
        Case { op, dtype, axes, turn: BACKWARDS, offset: 0, options, seed: pick(1 << 30, &mut seed) as u64 }
    };
    let all: Vec<Case> =
        OPS.iter().flat_map(|op| FLOATS.iter().map(|dtype| (*op, *dtype))).map(|(o, d)| case(o, d)).collect();
    let count = all.len() as u32;
    let ran = check_all(&on, all.into_iter());
    assert!(ran["tiled"] > count / 2, "{ran:?}");
}

#[test]
fn equal_steps_and_many_kept_axes_have_the_bits_of_the_cpu_and_no_fault() {
    // Shape, steps in elements, and reduced axes: windows over one axis, the same downwards, copies of one element, and
    // more kept axes than a launch has.
    let far = [0, 1, 2, 3].map(|k| 65_552 << k);
    let views: [(&[usize], &[isize], &[isize]); 6] = [
        (&[5, 5, 4096], &[1, 1, 8], &[1, 2]),
        (&[7, 7, 2048], &[1, -1, 32], &[1, 2]),
        (&[5, 5, 4096], &[0, 0, 3], &[1, 2]),
        (&[100, 4096], &[0, 4], &[0, 1]),
        (&[5, 100, 500], &[0, 2048, 4], &[1, 2]),
        (&[2, 2, 2, 2, 8, 8, 512], &[far[3], far[2], far[1], far[0], 1, 8, 128], &[5, 6]),
    ];
    let (on, mut tiled) = (Emulated::new(), 0);
    for (shape, steps, axes) in views {
        let reach = |up: bool| {
            let all = shape.iter().zip(steps).filter(|(_, step)| (**step > 0) == up);
            all.map(|(len, step)| (len - 1) * step.unsigned_abs()).sum::<usize>()
        };
        let first = reach(false);
        let x: Vec<f32> = (0..=first + reach(true)).map(|i| (i * 7919 % 1009) as f32 / 64.0 - 7.0).collect();
        let bytes: Vec<u8> = x.iter().flat_map(|x| x.to_ne_bytes()).collect();
        let strides: Vec<isize> = steps.iter().map(|step| 4 * step).collect();
        // SAFETY: the elements that the steps reach from the first are there.
        let array = unsafe { ArrayRef::from_raw(bytes.as_ptr().add(4 * first), DType::F32, shape, &strides) };
        let array = array.expect("an array");
        let options = Options { axes: Some(axes.to_vec()), ..Options::default() };
        for op in [Op::Sum, Op::Var] {
            let expected = Outcome::of(reduce(op, array, &options)).expect("a result");
            let (found, entries) = run(&on, op, &array, (&bytes, 4 * first), &options).expect("no fault");
            assert!(found == expected, "{op:?} of {shape:?} by {steps:?}: {entries}");
            tiled += entries.contains("tiled") as usize;
        }
    }
    assert!(tiled >= 4, "{tiled}");
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
        vec![axis(1000, true), axis(400, true), axis(2, false)],
        vec![axis(1001, true), axis(300, true), axis(3, false)],
    ];
    let ops = [
        (Op::ArgMin, DType::F32),
        (Op::ArgMax, DType::F64),
        (Op::ArgMax, DType::I64),
        (Op::ArgMin, DType::I32),
        (Op::ArgMax, DType::F32),
        (Op::Var, DType::F64),
        (Op::LogSumExp, DType::F32),
    ];
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
    const OPS: [Op; 8] = [Op::Sum, Op::Norm, Op::Var, Op::ArgMax, Op::Mean, Op::Prod, Op::LogSumExp, Op::ArgMin];
    let (op, dtype) = (OPS[i % OPS.len()], [DType::F32, DType::BF16, DType::F64, DType::F16][pick(4, seed)]);
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
    let ran = check_all(&on, (0..cases(100)).map(|i| subtrees(i, &mut seed)));
    assert!(ran["columns"] > 20, "{ran:?}");
}

/// A case with this number whose elements are a few steps apart, in rows or columns of any length.
fn stepped(i: usize, seed: &mut u64) -> Case {
    let axis = |len, reduced| Axis { len, gap: 0, reversed: false, broadcast: false, reduced };
    let (rank, most) = (1 + pick(3, seed), 20_000);
    let mut axes: Vec<Axis> = Vec::new();
    for k in 0..rank {
        let room = most / axes.iter().map(|axis| axis.len).product::<usize>();
        let len = if k + 1 == rank { room / (1 + pick(9, seed)) } else { LENS[pick(LENS.len(), seed)].min(room) };
        axes.push(axis(len.max(1), pick(3, seed) != 0));
    }
    axes.last_mut().expect("an axis").gap = 1 + pick(3, seed);
    let dtype = DType::ALL[pick(DType::ALL.len(), seed)];
    any_op(i, dtype, axes, seed)
}

/// The case with this number of such axes.
fn any_op(i: usize, dtype: DType, axes: Vec<Axis>, seed: &mut u64) -> Case {
    let options = Choices { specials: pick(3, seed) == 0, skip_nan: pick(4, seed) == 0, ..Choices::default() };
    let seed = pick(1 << 30, seed) as u64;
    Case { op: Op::ALL[i % Op::ALL.len()], dtype, axes, turn: 0, offset: seed as usize % 4, options, seed }
}

#[test]
fn elements_some_steps_apart_have_the_bits_of_the_cpu_and_no_fault() {
    let (on, mut seed) = (Emulated::new(), 77);
    let count = cases(150);
    let ran = check_all(&on, (0..count).map(|i| stepped(i, &mut seed)));
    assert!(ran["staged"] as usize > count / 3, "{ran:?}");
}

/// A case with this number of outputs in several turns, few elements each or many: runs of outputs, or of columns, that
/// lie side by side.
fn turned(i: usize, seed: &mut u64) -> Case {
    const LENS: [usize; 12] = [2, 3, 4, 5, 7, 8, 10, 13, 16, 27, 33, 64];
    const DTYPES: [DType; 5] = [DType::F16, DType::BF16, DType::F32, DType::F64, DType::I16];
    const OPS: [Op; 8] = [Op::Sum, Op::Mean, Op::Var, Op::Std, Op::Norm, Op::LogSumExp, Op::Prod, Op::Max];
    let dtype = DTYPES[pick(DTYPES.len(), seed)];
    let axis = |len, gap, reduced| Axis { len, gap, reversed: false, broadcast: false, reduced };
    let (columns, most) = (1 + pick(3, seed) * pick(6, seed), 4096 / dtype.size());
    let run = LENS[pick(LENS.len(), seed)].min(most / 2);
    let all = 30_000 / (columns * run);
    let (turns, along) = if pick(2, seed) == 0 {
        let turns = (2 + pick(1 << (1 + pick(6, seed)), seed)).min(most / run).max(2);
        (turns, (all / turns).clamp(1, 400))
    } else {
        let along = 1 + pick(1 << (1 + pick(4, seed)), seed);
        ((all / along).max(2), along)
    };
    let mut gap = || pick(6, seed) / 5;
    let mut axes = vec![axis(turns, gap(), true), axis(along, gap(), false), axis(run, 0, true)];
    if columns > 1 {
        axes.push(axis(columns, 0, false));
    }
    if pick(3, seed) == 0 {
        axes.insert(pick(2, seed), axis(2, 0, false));
    }
    let compensated = pick(6, seed) == 0;
    let case = any_op(i, dtype, axes, seed);
    Case { op: OPS[i % OPS.len()], options: Choices { compensated, ..case.options }, ..case }
}

#[test]
fn outputs_in_turns_have_the_bits_of_the_cpu_and_no_fault() {
    let (mut seed, count) = (8, cases(180));
    let ran = check_all(&Emulated::new(), (0..count).map(|i| turned(i, &mut seed)));
    assert!(4 * ran["staged"] as usize > count, "{ran:?}");
}

/// A case with this number whose order does not matter, of short rows that follow one another, or short runs.
fn again(i: usize, seed: &mut u64) -> Case {
    const OPS: [Op; 9] =
        [Op::Sum, Op::Min, Op::Max, Op::Mean, Op::Any, Op::All, Op::CountNonzero, Op::Norm, Op::MinMax];
    let axis = |len, reduced| Axis { len, gap: 0, reversed: false, broadcast: false, reduced };
    let dtype = DType::ALL[pick(DType::ALL.len(), seed)];
    let mut row = vec![axis(1 + pick(40, seed), false)];
    for k in 0..pick(3, seed) {
        row.insert(pick(2, seed), axis(1 + pick(9, seed), k == 0));
    }
    let wide: usize = row.iter().map(|axis| axis.len).product();
    let rows = (280_000 / wide / dtype.size()).max(1) + pick(50, seed);
    let mut axes = vec![axis(rows, true)];
    if pick(4, seed) == 0 {
        axes = vec![axis(2, pick(2, seed) == 0), axis(rows / 2 + 1, true)];
    }
    axes.extend(row);
    let options = Choices {
        specials: pick(4, seed) == 0,
        skip_nan: pick(4, seed) == 0,
        initial: pick(8, seed) == 0,
        ord: 2,
        dtype: (i.is_multiple_of(9) && pick(2, seed) == 0 && !dtype.is_float()).then_some(DType::I16),
        ..Choices::default()
    };
    let offset = pick(4, seed) / 3;
    Case { op: OPS[i % OPS.len()], dtype, axes, turn: 0, offset, options, seed: pick(1 << 30, seed) as u64 }
}

#[test]
fn results_reduced_again_have_the_bits_of_the_cpu_and_no_fault() {
    let (on, mut seed) = (Emulated::new(), 40);
    let ran = check_all(&on, (0..cases(45)).map(|i| again(i, &mut seed)));
    assert!(ran["columns"] > 30, "{ran:?}");
}

/// A case with this number of long rows that have a few columns between their elements: kept ones, or reduced ones,
/// each of which has a stretch of the sequence.
fn between(i: usize, seed: &mut u64) -> Case {
    const DTYPES: [DType; 6] = [DType::F16, DType::BF16, DType::F32, DType::F64, DType::I8, DType::U16];
    const OPS: [Op; 8] = [Op::Sum, Op::Mean, Op::Var, Op::Norm, Op::LogSumExp, Op::ArgMin, Op::ArgMax, Op::Prod];
    let axis = |len, reduced| Axis { len, gap: 0, reversed: false, broadcast: false, reduced };
    let dtype = DTYPES[pick(DTYPES.len(), seed)];
    let columns = 2 + pick((127 / dtype.size()).min(62) - 1, seed);
    let (kept, rows) = (pick(2, seed) == 0, 20_000 / columns);
    let rows = if kept { rows + pick(100, seed) } else { rows.next_multiple_of(32 << pick(4, seed)) };
    let mut axes = vec![axis(rows, true), axis(columns, !kept)];
    if pick(3, seed) == 0 {
        axes.insert(0, axis(2, false));
    }
    let options = Choices {
        specials: pick(3, seed) == 0,
        skip_nan: pick(3, seed) == 0,
        initial: pick(4, seed) == 0,
        ord: pick(3, seed) as u8,
        ..Choices::default()
    };
    let turn = if kept { 0 } else { BACKWARDS };
    let (op, offset) = (OPS[i % OPS.len()], pick(4, seed));
    Case { op, dtype, axes, turn, offset, options, seed: pick(1 << 30, seed) as u64 }
}

#[test]
fn columns_between_elements_have_the_bits_of_the_cpu_and_no_fault() {
    let (on, mut seed) = (Emulated::new(), 90);
    let count = cases(100);
    let ran = check_all(&on, (0..count).map(|i| between(i, &mut seed)));
    assert!(ran["staged"] as usize > count / 16, "{ran:?}");
}
