//! Plans in two launches: one leaves parts of whole subtrees of each row in the workspace, in the order of the tree,
//! and the other reduces them.

use warpfold_array::problem::{Dim, Problem};
use warpfold_kernels::reduce::call::CallAt;
use warpfold_kernels::reduce::shape::parts::{abreast, grouped, room, turns};
use warpfold_kernels::reduce::shape::piece::Dense;
use warpfold_kernels::reduce::shape::rows::Rows;
use warpfold_kernels::reduce::table::KEPT;
use warpfold_kernels::reduce::workspace::{COUNTERS, STATUS};

use super::Launch;
use super::choose::{Fold, tiles};
use super::limits::Limits;
use super::near::is_stepped;
use super::planner::Planner;
use super::policy::{BETWEEN_BYTES, PAIRED_BYTES, RUN_BYTES, STEPS_SECONDS, WARPS};
use super::share::has_teams;
use super::transpose::{Asked, Copied, is_brief, is_small};

/// The same problem, whose outputs are the numbers of rows in the order in which they are walked.
pub(super) fn numbered(problem: &Problem) -> Problem {
    let mut kept = problem.kept.clone();
    let mut to = 1;
    for axis in kept.iter_mut().rev() {
        axis.out = to;
        to *= axis.len as isize;
    }
    Problem { kept, ..problem.clone() }
}

/// A planner of what leaves parts of the rows of a [`numbered`] problem.
pub(super) fn parting<'p>(asked: &Asked<'_>, rows: &'p Problem, limits: &Limits) -> Planner<'p> {
    Planner { pair: 1, aligned: limits.aligned, ..asked.planner(rows, rows, 0, limits) }
}

/// The plan of a launch that leaves `parts` parts of each row, and of the launch that reduces them.
pub(super) fn joined(
    first: Launch<CallAt>,
    parts: u64,
    asked: &Asked<'_>,
    problem: &Problem,
    limits: &Limits,
) -> Option<Copied> {
    let planner = asked.planner(problem, problem, 0, limits);
    let words = planner.fold.facts.words;
    let outputs = planner.outputs::<KEPT>(&problem.kept);
    let (rows, group) = (outputs.total, grouped(words as u32));
    let groups = parts.div_ceil(group);
    if groups > 1 && rows * turns(parts, group) >= STATUS as u64 {
        return None;
    }
    let warps = parts.min(group).div_ceil(32 * abreast(words as u32)).next_power_of_two().min(WARPS);
    // Where a warp has a row to itself, and lanes to spare, it has several. (Not of large parts: that is more code.)
    let own = abreast(words as u32);
    let lanes = if own > 1 { parts.div_ceil(own).next_power_of_two() } else { u64::MAX };
    let (grid, block) = match lanes {
        1..=32 => (rows.div_ceil(32 / lanes).div_ceil(WARPS), rows.div_ceil(32 / lanes).min(WARPS)),
        _ => (rows * groups, warps),
    };
    let shape = Rows {
        outputs,
        len: 0,
        tiles: 0,
        warps: warps as u32,
        blocks: groups as u32,
        first: 0,
        all: parts as u32,
        abreast: if lanes <= 32 { lanes as u32 } else { 0 },
        reduced: Dense { end: 0 },
    };
    let second = planner.launch(format!("rows_{}", planner.fold.name), grid, block, shape);
    let room = 4 * (rows * room(parts)) as usize * words;
    Some(Copied { launches: vec![first, second], workspace: COUNTERS + room, bytes: 2 * room as u64 })
}

/// The axis between whose elements a stretch of a row has those of others, and what these are: the few columns beside
/// it, kept or reduced, that no lane can read at once. None, if there are none, or lanes do read them well.
fn between(fold: &Fold, problem: &Problem, aligned: bool) -> Option<(Dim, Dim)> {
    let Problem { kept, reduced, size, .. } = problem;
    let idles = |columns: &Dim| columns.out != 0 && idles(fold, *size, columns.len, aligned);
    let (run, columns) = match (&reduced[..], kept.last()) {
        ([run], Some(columns)) if fold.facts.ordered || idles(columns) => (run, columns),
        ([columns, run], _) if fold.facts.ordered || fold.facts.places => (run, columns),
        _ => return None,
    };
    let row = columns.len * size;
    let is_dense = columns.x == *size as isize && run.x == row as isize;
    let is_read = columns.out != 0 && is_read_at_once(fold, *size, *columns);
    // Staged logarithms of sums took as long: 297 us of f16 (44739225,3) on an H200, and 264 in columns; f32 has tiles
    // (178 us of (16,4194304) in Fortran order, 192 so). Where there are no tiles either, rows would be copied: argmax
    // f32 (9,7456540) in Fortran order took 283 us so, and 156 staged.
    let is_copied = columns.out == 0 && tiles(fold).is_none();
    let is_slow = !is_copied && (*size > 2 || fold.name.starts_with("logsumexp") && columns.out != 0);
    let is_worth = idles(columns) || !is_read && !is_slow && !is_beside(fold, columns);
    (is_dense && is_worth && row <= widest(fold)).then_some((*run, *columns))
}

/// Whether there is a kernel for so few outputs side by side: std of f16 (33554432,4) along axis 0 took an H200 159 us
/// in stretches, and 93 so (`plans-raw.txt.xz`).
fn is_beside(fold: &Fold, columns: &Dim) -> bool {
    columns.out != 0 && columns.len.is_power_of_two() && (2..=fold.facts.beside).contains(&(columns.len as u64))
}

/// Whether elements some steps apart are read where they lie: of 8 bytes, or sums of 4, or any of at least 4 where a
/// lane has rows side by side. On an H200 (`plans-raw.txt.xz`), three steps apart, var f32 (28,798915) along axis 1
/// took 136 us in stretches and 86 so, but one such row 127 and 176; min f64 (3,3728270) 83 and 73, sum i32 (22369621)
/// 92 and 79, sum f32 86 and 124; two steps apart, var f64 (16777216) 110 and 147, sum f64 85 and 100
/// (`plans-after-raw.txt.xz`).
fn is_read_apart(fold: &Fold, problem: &Problem) -> bool {
    let facts = &fold.facts;
    let has_rows = !facts.places && problem.kept.last().is_some_and(|rows| rows.len as u64 >= facts.wide);
    let is_light = problem.size == 8 && !["var_f64", "sum_f64", "describe_f64"].contains(&&*fold.name);
    facts.apart && problem.size >= 4 && (has_rows || is_light || fold.name == "sum_b4" || is_read_singly(fold, problem))
}

/// Whether variances of elements some steps apart are read each by itself: of 22369621 f32 in steps of three they took
/// an H200 127 us in stretches and 98 so, of f64 120 and 99 (`strided-raw.txt.xz`).
pub(super) fn is_read_singly(fold: &Fold, Problem { kept, reduced, size, .. }: &Problem) -> bool {
    let is_apart = matches!(reduced[..], [run] if run.x >= 3 * *size as isize && is_stepped(run.x, *size));
    is_apart && kept.is_empty() && ["var_f32", "var_f64"].contains(&&*fold.name)
}

/// Whether columns would leave so many of their lanes idle that stretches take less, though an element is read by
/// itself there. On an H200 (`few-columns.json`, `plans-raw.txt.xz`): logsumexp of bf16 with 3, 5 and 7 columns took
/// 321, 363 and 260 us in columns and 202, 204 and 208 in stretches, with 14 250 and 206, with 26 265 and 244, but with
/// 12 208 and 243; of f32 with 2 220 and 153, with 5 195 and 163, but with 6 and 7 166 and 179, 138 and 167; argmax of
/// bf16 with 3 and 5 columns 300 and 199, and 179 and 178, of f32 with 2 164 and 120; the 2-norm of f32 with 5 142 and
/// 110, but with 7 103 and 113; var i32 with 3 212 and 150; means of f32 that skip NaN with 7 127 and 104. If the array
/// is not `aligned`, no lane reads 2, 4 or 8 columns of 16 bits at once: logsumexp of bf16 with 2 then took 424 us in
/// columns (161 if aligned), and 207 in stretches (`ends-before.json`, `ends.json`).
fn idles(fold: &Fold, size: usize, columns: usize, aligned: bool) -> bool {
    let is = |name: &str| fold.name.starts_with(name);
    let is_torn = !columns.is_multiple_of(4);
    match size {
        2 if is("logsumexp_") => !aligned && [2, 4, 8].contains(&columns) || is_torn && (3..=31).contains(&columns),
        2 if is("argmax_") => [3, 5].contains(&columns),
        4.. if is("sum_f") => [3, 5].contains(&columns),
        4 if is("logsumexp_") => [2, 5].contains(&columns),
        4 if is("argmax_") => columns == 2,
        4 if is("var_b4") => columns == 3,
        4 if is("livemean_") => is_torn && (3..=7).contains(&columns),
        _ => false,
    }
}

/// Whether lanes read so few outputs side by side at once, or teams of lanes do.
pub(super) fn is_read_at_once(fold: &Fold, size: usize, columns: Dim) -> bool {
    let row = columns.len * size;
    let by_lanes = (row.is_multiple_of(16) || (fold.facts.packed && columns.len.is_power_of_two())) && fold.facts.slim;
    by_lanes || has_teams(&fold.facts, size, columns.len as u64)
}

/// Bytes that the elements of a stretch may have from one to the next.
pub(super) fn widest(fold: &Fold) -> usize {
    if fold.facts.twins { PAIRED_BYTES } else { BETWEEN_BYTES }
}

/// Whether two reduced axes are better read in stretches than where elements lie: of 2 bytes or 1, in short runs, or in
/// columns that no lane reads at once. On an H200, norm f16 (4,8148,1029,4) of axes 0 and 2 took 388 us so and 1077
/// where they lie; but var f32 (182,46091,8) 234 and 180, logsumexp f16 (6,46073,69,7) 976 and 485.
fn is_torn(fold: &Fold, problem: &Problem) -> bool {
    let [far, run] = problem.reduced[..] else { return false };
    let (size, read) = (problem.size, problem.size * fold.facts.wide as usize);
    let is_run = run.x == size as isize && run.len * size >= RUN_BYTES;
    let columns = problem.kept.last().map_or(1, |columns| columns.len);
    let at_once = run.x != size as isize
        && columns.is_multiple_of(fold.facts.wide as usize)
        && [far, run].iter().all(|axis| axis.x % read as isize == 0);
    size <= 2 && !is_run && !at_once && !fold.name.starts_with("logsumexp")
}

/// The axis along which stretches of one row lie, and what has columns between its elements.
fn way(asked: &Asked<'_>, problem: &Problem, limits: &Limits) -> Option<(Dim, Option<Dim>)> {
    let inner = |run: &Dim| problem.kept.last().is_none_or(|axis: &Dim| axis.x >= run.x);
    match problem.reduced[..] {
        [run] if is_stepped(run.x, problem.size) && inner(&run) => {
            (!is_read_apart(asked.fold, problem)).then_some((run, None))
        }
        _ => between(asked.fold, problem, limits.aligned).map(|(run, columns)| (run, Some(columns))),
    }
}

/// Whether tiles take sums of two reduced axes faster than stretches do ([`is_torn`]). On an H200 (`plans-raw.txt.xz`),
/// norm bf16 (131072,512,2) of axes 0 and 2 took 322 us in stretches and 148 in tiles, but var bf16 (128,128,2048,4) of
/// axes 0 and 2 224 and 236.
pub(super) fn is_torn_sum(asked: &Asked<'_>, problem: &Problem, limits: &Limits) -> bool {
    let is_torn = asked.fold.name.starts_with("sum_") && is_torn(asked.fold, problem);
    is_torn && way(asked, problem, limits).is_none() && asked.planner(problem, problem, 0, limits).turned().is_none()
}

/// Plans long rows whose elements are a few steps apart, or have few columns between them.
pub(super) fn stepped(asked: &Asked<'_>, problem: &Problem, limits: &Limits) -> Option<Copied> {
    let Problem { kept, reduced, outputs, .. } = problem;
    let way = way(asked, problem, limits);
    let is_alone = way.is_some_and(|(_, beside)| beside.is_none());
    let few = is_small(problem, limits) || is_alone && is_brief(problem, limits, STEPS_SECONDS);
    // Blocks that have a row each find places faster; so does what describes one.
    let placed = asked.fold.facts.places && (asked.described || *outputs >= limits.multiprocessors as usize);
    if few || placed || kept.len() > KEPT || !asked.fold.facts.staged {
        return None;
    }
    let rows = numbered(problem);
    let planner = parting(asked, &rows, limits);
    if planner.turned().is_some() || matches!(reduced[..], [run] if planner.staged(&rows.kept, run).is_some()) {
        return None;
    }
    let (first, parts) = if let Some((run, beside)) = way {
        let beside = beside.map(|columns| if columns.out == 0 { columns } else { rows.kept[kept.len() - 1] });
        planner.stretches(run, beside)?
    } else {
        planner.turned_stretches().filter(|_| is_torn(asked.fold, problem))?
    };
    joined(first, parts, asked, problem, limits)
}
