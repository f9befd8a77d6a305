//! Plans of whether any or all of a few integers are true: of columns side by side, the greatest or least are found
//! first, whose kernels write results by lines; whether these are true is said of each by another launch.

use warpfold_array::Op;
use warpfold_array::problem::{Dim, Problem};
use warpfold_array::request::Spec;
use warpfold_core::DType;
use warpfold_kernels::reduce::workspace::COUNTERS;

use super::choose::fast;
use super::launch::{From, Moved, To};
use super::limits::Limits;
use super::near::is_stepped;
use super::parts::numbered;
use super::planner::Planner;
use super::policy::{AGAIN_SECONDS, SHALLOW, TRUTH_ROWS};
use super::transpose::{ALIGNED, Copied, is_brief};

/// Plans both launches. None, if columns have many elements, or none lie side by side.
pub(super) fn truths(spec: &Spec, problem: &Problem, limits: &Limits) -> Option<Copied> {
    let Problem { kept, reduced, size, outputs, .. } = problem;
    let op = match spec.op {
        Op::Any => Op::Max,
        Op::All => Op::Min,
        _ => return None,
    };
    let input = match size {
        1 => DType::U8,
        2 => DType::U16,
        4 => DType::U32,
        _ => DType::U64,
    };
    let ([rows], columns) = (&reduced[..], kept.last()?) else { return None };
    let is_plain = !spec.input.is_float() && !spec.masked && !spec.swapped && spec.initial.is_none();
    let is_beside = columns.x == *size as isize || is_stepped(columns.x, *size);
    let is_beside = is_beside && rows.x.unsigned_abs() >= columns.len * columns.x as usize;
    let few = rows.len <= TRUTH_ROWS && columns.len >= SHALLOW;
    if !is_plain || !is_beside || !few || is_brief(problem, limits, AGAIN_SECONDS) {
        return None;
    }
    // Of numbers without a sign only zero is not true. What lies between columns some steps apart is looked at, too.
    let steps = columns.x as usize / size;
    let mut all = problem.clone();
    let wide = (columns.len - 1) * steps + 1;
    *all.kept.last_mut()? = Dim { len: wide, x: *size as isize, ..*columns };
    all.outputs = outputs / columns.len * wide;
    let found = numbered(&all);
    let first = Spec::without_options(op, input);
    let mut planner = Planner::new(&first, fast(&first)?, true, &found, limits);
    planner.aligned = limits.aligned;
    let launch = planner.fast()?;
    let staged = (COUNTERS + 4 * planner.words).next_multiple_of(ALIGNED);
    let second = Spec::without_options(spec.op, input);
    let there = |(axis, own): (&Dim, &Dim)| Dim { x: own.out * *size as isize, ..*axis };
    let mut kept: Vec<Dim> = kept.iter().zip(&found.kept).map(there).collect();
    kept.last_mut()?.x *= steps as isize;
    let own = Problem { kept, reduced: Vec::new(), count: 1, ..problem.clone() };
    let mut planner = Planner::new(&second, fast(&second)?, true, &own, limits);
    let last = planner.fast()?;
    let aside = Moved { from: From::Input(0), to: To::Workspace(staged) };
    let home = Moved { from: From::Workspace(staged), to: To::Output(0) };
    let room = all.outputs * size;
    Some(Copied {
        launches: vec![launch.moved(aside), last.moved(home)],
        workspace: staged + room,
        bytes: 2 * room as u64,
    })
}
