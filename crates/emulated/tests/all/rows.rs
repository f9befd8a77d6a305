//! Rows at pitches and offsets that random problems seldom have.

use super::reductions::{Axis, Case, Choices, check, check_all};
use crate::{Emulated, brief, pick};
use warpfold::{DType, Op};

fn plain(len: usize, reduced: bool) -> Axis {
    Axis { len, gap: 0, reversed: false, broadcast: false, reduced }
}

/// Checks problems of every op and dtype, `most` elements of which fill 16 bytes; how many were by `kernel`.
fn each(kernel: &str, problems: impl Fn(usize, &mut u64) -> Vec<Vec<Axis>>) -> usize {
    let on = Emulated::new();
    let (mut seed, mut wrong, mut by) = (5, Vec::new(), 0);
    let all = Op::ALL.iter().flat_map(|op| DType::ALL.iter().map(move |dtype| (*op, *dtype)));
    for (i, (op, dtype)) in all.enumerate() {
        for axes in problems(16 / dtype.size(), &mut seed) {
            let options = Choices { specials: i % 2 == 0, skip_nan: i % 5 == 0, ord: i as u8, ..Choices::default() };
            let case = Case { op, dtype, axes, turn: 0, offset: pick(4, &mut seed), options, seed };
            match check(&on, &case) {
                Ok(entries) => by += entries.contains(kernel) as usize,
                Err(why) => wrong.push(format!("{case:?}\n{}", brief(&why))),
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong: {}", wrong.len(), wrong[..wrong.len().min(6)].join("\n\n"));
    by
}

/// Checks `two(most, seed)` lengths of rows.
fn run(kernel: &str, rows: impl Fn(&mut u64) -> usize, two: impl Fn(usize, &mut u64) -> [usize; 2]) -> usize {
    each(kernel, |most, seed| {
        let of = |len: usize, seed: &mut u64| {
            let mut axes = vec![plain(rows(seed), false), plain(len, true)];
            axes[0].gap = if pick(3, seed) == 0 { 1 + pick(4, seed) } else { 0 };
            axes[0].reversed = pick(8, seed) == 0;
            if pick(6, seed) == 0 {
                axes.insert(0, Axis { gap: 3, ..plain(3, pick(2, seed) == 0) });
            }
            axes
        };
        two(most, seed).map(|len| of(len, seed)).into()
    })
}

#[test]
fn runs_that_take_turns_have_the_bits_of_the_cpu() {
    let staged = each(" staged_", |_, seed| {
        let lens = [20 + pick(30, seed), 2 + pick(14, seed), 2 + pick(5, seed), 1 + pick(5, seed)];
        let mut axes = vec![plain(lens[0], false), plain(lens[1], true), plain(lens[2], false), plain(lens[3], true)];
        axes[0].gap = if pick(3, seed) == 0 { 1 + pick(4, seed) } else { 0 };
        vec![axes]
    });
    assert!(staged > 60, "{staged}");
}

#[test]
fn few_rows_have_the_bits_of_the_cpu_wherever_their_results_begin() {
    let shallow = each(" shallow_", |_, seed| {
        vec![vec![plain(1 + pick(4, seed), false), plain(1 + pick(8, seed), true), plain(128 + pick(600, seed), false)]]
    });
    assert!(shallow > 60, "{shallow}");
}

#[test]
fn rows_of_a_few_bytes_have_the_bits_of_the_cpu_wherever_they_lie() {
    // Some warps have all of their 256 rows, and one has not.
    let tiny = run(" staged_", |seed| 256 + pick(300, seed), |most, seed| [most, 2 + pick(most - 1, seed)]);
    assert!(tiny > 200, "{tiny}");
}

#[test]
fn rows_of_a_few_elements_have_the_bits_of_the_cpu_wherever_they_lie() {
    // Whole lines, lines in part, and from any address.
    let few = run(" staged_", |seed| 200 + pick(200, seed), |_, seed| [2 + pick(7, seed), [4, 8][pick(2, seed)]]);
    assert!(few > 200, "{few}");
}

#[test]
fn rows_of_up_to_four_kilobytes_have_the_bits_of_the_cpu_wherever_they_lie() {
    // A lane to itself, and lanes that share an output.
    let shared = run(
        " staged_",
        |seed| 33 + pick(30, seed),
        |most, seed| [most + pick(14 * most, seed), 16 * most + pick(110 * most, seed)],
    );
    assert!(shared > 200, "{shared}");
}

#[test]
fn long_rows_have_the_bits_of_the_cpu_wherever_they_start() {
    // Some of less than a tile, some of more.
    let long = run(
        " rows_",
        |seed| 2 + pick(3, seed),
        |most, seed| [128, 256].map(|packs| packs * most + pick(130 * most, seed)),
    );
    assert!(long > 200, "{long}");
}

#[test]
fn lines_of_whole_outputs_have_the_bits_of_the_cpu_however_many_there_are() {
    let (on, mut seed) = (Emulated::new(), 23);
    let cases = [
        (Op::Sum, DType::F16),
        (Op::Mean, DType::BF16),
        (Op::Norm, DType::F16),
        (Op::Max, DType::BF16),
        (Op::Max, DType::U8),
        (Op::Min, DType::I16),
    ];
    let all = (0..60).map(|i| {
        let (op, dtype) = cases[i % cases.len()];
        let len = 2 << pick(4 / dtype.size(), &mut seed);
        // Multiples of a line of outputs, of which a tile has any number.
        let axes = vec![plain(8 * (1 + pick(300, &mut seed)), false), plain(len, true)];
        Case { op, dtype, axes, turn: 0, offset: 0, options: Choices::default(), seed: pick(1 << 30, &mut seed) as u64 }
    });
    let ran = check_all(&on, all);
    assert!(ran["staged"] > 30, "{ran:?}");
}

#[test]
fn outputs_of_few_elements_have_the_bits_of_the_cpu_side_by_side_and_alone() {
    let (on, mut seed, mut wrong, mut by) = (Emulated::new(), 11, Vec::new(), 0);
    let all = Op::ALL.iter().flat_map(|op| DType::ALL.iter().map(move |dtype| (*op, *dtype)));
    for (i, (op, dtype)) in all.enumerate() {
        for kind in 0..2 {
            // Few columns of rows that follow one another, and elements of which nothing is reduced.
            let (rows, width) = if kind == 0 { (2 + pick(40, &mut seed), 2 + pick(9, &mut seed)) } else { (1, 1) };
            let mut axes = vec![plain(1 + pick(50, &mut seed), false), plain(rows, true), plain(width, false)];
            axes[0].gap = if pick(3, &mut seed) == 0 { pick(4, &mut seed) } else { 0 };
            if pick(4, &mut seed) == 0 {
                axes.insert(0, Axis { gap: 2, ..plain(3, false) });
            }
            let options = Choices { specials: i % 2 == 0, skip_nan: i % 7 == 0, ord: i as u8, ..Choices::default() };
            let case = Case { op, dtype, axes, turn: 0, offset: pick(4, &mut seed), options, seed };
            match check(&on, &case) {
                Ok(entries) => by += entries.contains(" staged_") as usize,
                Err(why) => wrong.push(format!("{case:?}\n{}", brief(&why))),
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong: {}", wrong.len(), wrong[..wrong.len().min(6)].join("\n\n"));
    assert!(by > 150, "{by}");
}
