//! Reductions that any order serves, in two launches: elements side by side in memory are columns, whether their axes
//! are kept or reduced, and the results of these are reduced again. A row of columns may be several rows of the array,
//! so that rows begin where lines do and no lane is without columns. Every element is read once, where it lies.

use std::cmp::Reverse;

use warpfold_array::problem::{Dim, Problem, merge};
use warpfold_array::request::Spec;
use warpfold_array::{Op, Ord};
use warpfold_core::DType;
use warpfold_kernels::reduce::call::CallAt;
use warpfold_kernels::reduce::workspace::COUNTERS;

use super::choose::fast;
use super::launch::{From, Launch, Moved, To};
use super::limits::Limits;
use super::near::is_nested;
use super::planner::Planner;
use super::policy::{AGAIN, AGAIN_SECONDS, ALONE_BYTES, ALONG, RUN_BYTES, TOGETHER_BYTES};
use super::transpose::{ALIGNED, Copied, is_brief};

/// What reduces elements, and what reduces the results of that; none, if a result is not an element of the same kind
/// of reduction.
fn both(spec: &Spec, count: usize) -> Option<(Spec, Spec)> {
    let plain = spec.initial.is_none() && !spec.masked && !spec.swapped;
    let of = |op: Op, input: DType| Spec { op, dtype: None, ..Spec::without_options(Op::Sum, input) };
    let integer = !spec.input.is_float();
    let (first, second) = match spec.op {
        // Sums of at most 32 bits do not leave 64.
        Op::Mean if integer && (spec.input.size() > 4 || count >= 1 << 31) => return None,
        Op::Sum | Op::Mean if integer => {
            let first = of(Op::Sum, spec.input);
            let dtype = (spec.op == Op::Sum).then_some(spec.result());
            (first, Spec { dtype, ..of(spec.op, first.result()) })
        }
        Op::Min | Op::Max if !spec.skip_nan => (*spec, *spec),
        Op::Norm if !spec.skip_nan && spec.ord == Ord::Inf => (*spec, *spec),
        Op::Any | Op::All => (*spec, Spec { skip_nan: false, input: DType::Bool, ..*spec }),
        Op::CountNonzero => (*spec, of(Op::Sum, spec.result())),
        _ => return None,
    };
    plain.then_some((first, second))
}

/// How many rows of the array, which follow one another, are one row of columns: so that these begin where lines do,
/// and are many, of small elements at most `most` rows, or as few as will do.
fn abreast(row: usize, size: usize, most: usize) -> usize {
    let each = 16 >> row.trailing_zeros().min(4);
    // Lanes take several short rows of small elements as one.
    let is_even = row.is_power_of_two() && size <= 2;
    if each == 1 || is_even {
        return 1;
    }
    let wide = TOGETHER_BYTES.div_ceil(row * each);
    each * if size <= 2 { wide.min(most / each).max(1) } else { wide }
}

/// Whether rows of so many bytes are worth a launch more to be taken together.
fn is_together(first: &Spec, row: usize) -> bool {
    let counts = matches!(first.op, Op::Any | Op::All | Op::CountNonzero);
    let is_small = first.input.size() == 1;
    match (counts, first.op) {
        (true, _) => is_small && row < ALONE_BYTES[1],
        (false, Op::Sum) if is_small => row < ALONE_BYTES[1],
        _ if first.input.size() == 4 => row < ALONE_BYTES[2],
        _ => first.input.size() < 8 || row < ALONE_BYTES[0],
    }
}

/// Axes in the order in which they lie in memory, with their steps among results in the same order; and how many
/// results there are, if that axis has so many.
fn numbered(axes: impl Iterator<Item = Dim>, longer: (isize, usize)) -> (Vec<Dim>, usize) {
    let mut axes: Vec<Dim> = axes.filter(|axis| axis.len != 1).collect();
    axes.sort_by_key(|axis| Reverse(axis.x));
    let mut to = 1;
    for axis in axes.iter_mut().rev() {
        axis.out = to as isize;
        to *= if axis.x == longer.0 { longer.1 } else { axis.len };
    }
    (axes, to)
}

/// Plans the launches. None, if one launch does as well, or if there were too many results.
pub(super) fn twice(spec: &Spec, problem: &Problem, limits: &Limits) -> Option<Copied> {
    let both = both(spec, problem.count)?;
    if is_brief(problem, limits, AGAIN_SECONDS) || problem.reduced.iter().any(|axis| axis.x <= 0) {
        return None;
    }
    down_first(both, problem, limits).or_else(|| along_first(both, problem, limits))
}

/// Elements side by side are columns, which the outermost reduced axis goes down.
fn down_first((first, second): (Spec, Spec), problem: &Problem, limits: &Limits) -> Option<Copied> {
    let Problem { kept, reduced, size, count, outputs, .. } = problem;
    let (down, beside) = reduced.split_first()?;
    let bytes = count * outputs * size;
    let both_sides = || kept.iter().chain(beside).copied();
    let row = merge(numbered(both_sides(), (0, 0)).0).last().filter(|axis| axis.x == *size as isize)?.len * size;
    let is_dense = down.x as usize == row;
    // So many rows have results few enough, those that are left over too: max f16 (4491,360,83) along axis 1, one
    // element behind a line, took an H200 206 us in rows of 83, and 142 so.
    let node = first.result().size();
    let most = (down.len * size / (AGAIN * node)).saturating_sub(1);
    let each = if is_dense && (!beside.is_empty() || is_together(&first, row)) { abreast(row, *size, most) } else { 1 };
    let is_short = is_short(problem);
    if (beside.is_empty() && each == 1) || in_lines(problem) || !(is_dense || is_short) {
        return None;
    }

    // Rows that are left over are one row more of results.
    let (turns, left) = (down.len / each, down.len % each);
    let slots = each + (left > 0) as usize;
    let more = Dim { len: each, ..*down };
    let (columns, results) = numbered(both_sides().chain([more]), (more.x, slots));
    if turns < AGAIN || results * node > bytes / AGAIN {
        return None;
    }
    let to = |axis: &Dim| columns.iter().find(|own| own.x == axis.x).map_or(0, |own| own.out as usize);
    let rest = columns.iter().filter(|axis| axis.x != more.x).copied().collect();
    let upper = Dim { len: turns, x: down.x * each as isize, ..*down };
    let lower = Dim { len: left, ..*down };
    let ways = [(columns.clone(), upper, 0, 0), (rest, lower, turns * each * down.x as usize, each * to(&more))];
    let (mut launches, mut words) = (Vec::new(), 0);
    for (columns, down, from, to) in ways.into_iter().filter(|way| way.1.len > 0) {
        let kept = merge(columns);
        let outputs = kept.iter().map(|axis| axis.len).product();
        let reduced = if down.len == 1 { Vec::new() } else { vec![down] };
        let own = Problem { kept, reduced, count: down.len, outputs, ..problem.clone() };
        let mut planner = Planner::new(&first, fast(&first)?, true, &own, limits);
        launches.push((planner.fast()?, From::Input(from), to * node));
        words = words.max(planner.words);
    }
    let slots = Dim { len: slots, ..more };
    let again = beside.iter().chain([&slots]).map(|axis| Dim { x: to(axis) as isize, ..*axis });
    let kept = kept.iter().map(|axis| Dim { x: to(axis) as isize, ..*axis });
    joined(launches, words, second, problem, limits, [kept.collect(), again.collect()], results)
}

/// Whether the innermost reduced axis is no run, or a short one.
fn is_short(Problem { reduced, size, .. }: &Problem) -> bool {
    reduced.last().is_none_or(|run| run.x != *size as isize || run.len * size < RUN_BYTES)
}

/// Whether runs are long and begin where lines do, so that many of them are read as well in one launch.
fn in_lines(problem: &Problem) -> bool {
    let run = problem.reduced.last().map_or(0, |run| run.len * problem.size);
    !is_short(problem) && run.is_multiple_of(16) && problem.reduced.len() <= 3
}

/// Runs of the innermost axis are rows, where the outer axes are too short to go down, or outputs take turns.
fn along_first((first, second): (Spec, Spec), problem: &Problem, limits: &Limits) -> Option<Copied> {
    let Problem { kept, reduced, size, .. } = problem;
    let (run, outer) = reduced.split_last()?;
    let node = first.result().size();
    let [bytes, turns] = [run.len * size, problem.count / run.len];
    let is_long = bytes >= ALONG * node || is_nested(problem);
    let is_run = run.x == *size as isize && is_long && bytes < TOGETHER_BYTES;
    if outer.is_empty() || !is_run || (turns >= AGAIN && in_lines(problem)) {
        return None;
    }
    let (columns, results) = numbered(kept.iter().chain(outer).copied(), (0, 0));
    let to = |axis: &Dim| columns.iter().find(|own| own.x == axis.x).map_or(0, |own| own.out);
    let kept_too = merge(columns.clone());
    let own = Problem { kept: kept_too, reduced: vec![*run], count: run.len, outputs: results, ..problem.clone() };
    let mut planner = Planner::new(&first, fast(&first)?, true, &own, limits);
    let launches = vec![(planner.fast()?, From::Input(0), 0)];
    let axes = [&kept[..], outer].map(|axes| axes.iter().map(|axis| Dim { x: to(axis), ..*axis }).collect());
    joined(launches, planner.words, second, problem, limits, axes, results)
}

/// The launches, and the one that reduces their `results`: of kept and of reduced axes, which have steps in results.
fn joined(
    launches: Vec<(Launch<CallAt>, From, usize)>,
    words: usize,
    second: Spec,
    problem: &Problem,
    limits: &Limits,
    axes: [Vec<Dim>; 2],
    results: usize,
) -> Option<Copied> {
    let node = second.input.size();
    let [kept, mut reduced] = axes.map(|axes| {
        let axes = axes.into_iter().filter(|axis| axis.len != 1);
        axes.map(|axis| Dim { x: axis.x * node as isize, ..axis }).collect::<Vec<_>>()
    });
    reduced.sort_by_key(|axis| Reverse(axis.x));
    let own = Problem {
        kept: merge(kept),
        count: reduced.iter().map(|axis| axis.len).product(),
        reduced: merge(reduced),
        size: node,
        ..problem.clone()
    };
    let mut planner = Planner::new(&second, fast(&second)?, true, &own, limits);
    if second.op == Op::Mean {
        planner.recipe.count = problem.count as u64;
    }
    let last = planner.fast()?;
    let staged = (COUNTERS + 4 * words.max(planner.words)).next_multiple_of(ALIGNED);
    let moved =
        launches.into_iter().map(|(launch, from, to)| launch.moved(Moved { from, to: To::Workspace(staged + to) }));
    let last = last.moved(Moved { from: From::Workspace(staged), to: To::Output(0) });
    let (launches, room) = (moved.chain([last]).collect(), results * node);
    Some(Copied { launches, workspace: staged + room, bytes: 2 * room as u64 })
}
