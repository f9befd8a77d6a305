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
use super::limits::Limits;
use super::near::is_stepped;
use super::planner::Planner;
use super::policy::{TRANSPOSED_BYTES, WARPS};
use super::transpose::{Asked, Copied};

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
    Planner { pair: 1, ..asked.planner(rows, rows, 0, limits) }
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
    if groups > 1 && rows * turns(parts) >= STATUS as u64 {
        return None;
    }
    let warps = parts.min(group).div_ceil(32 * abreast(words as u32)).next_power_of_two().min(WARPS);
    let shape = Rows {
        outputs,
        len: 0,
        tiles: 0,
        warps: warps as u32,
        blocks: groups as u32,
        first: 0,
        all: parts as u32,
        abreast: 0,
        reduced: Dense { end: 0 },
    };
    let second = planner.launch(format!("rows_{}", planner.fold.name), rows * groups, warps, shape);
    let room = 4 * (rows * room(parts)) as usize * words;
    Some(Copied { launches: vec![first, second], workspace: COUNTERS + room, bytes: 2 * room as u64 })
}

/// Plans long rows whose elements are a few steps apart.
pub(super) fn stepped(asked: &Asked<'_>, problem: &Problem, limits: &Limits) -> Option<Copied> {
    let Problem { kept, reduced, size, outputs, count, .. } = problem;
    let [run] = reduced[..] else { return None };
    let few = count * outputs * size < limits.multiprocessors as usize * TRANSPOSED_BYTES;
    let inner = kept.last().is_none_or(|axis: &Dim| axis.x >= run.x);
    // Blocks that have a row each find places faster; so does what describes one.
    let placed = asked.fold.facts.places && (asked.described || *outputs >= limits.multiprocessors as usize);
    if few || placed || !inner || !is_stepped(run.x, *size) || kept.len() > KEPT || !asked.fold.facts.staged {
        return None;
    }
    let rows = numbered(problem);
    let planner = parting(asked, &rows, limits);
    if planner.staged(&rows.kept, run).is_some() {
        return None;
    }
    let (first, parts) = planner.stretches(run)?;
    joined(first, parts, asked, problem, limits)
}
