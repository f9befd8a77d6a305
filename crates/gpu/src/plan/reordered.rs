//! Plans of reductions with many results, whose neighbours in the input are far apart in the output: results are
//! written side by side, in the order of memory, and then copied to their places by tiles.

use std::cmp::Reverse;

use warpfold_array::Op;
use warpfold_array::problem::{Dim, Problem, merge};
use warpfold_kernels::reduce::workspace::COUNTERS;

use super::copy::{Way, copy};
use super::launch::{From, Moved, To};
use super::limits::Limits;
use super::parts::numbered;
use super::planner::Planner;
use super::policy::{REORDERED, SECTOR, TRANSPOSED_BYTES};
use super::transpose::{ALIGNED, Asked, Copied};

/// Plans both launches. None, if results are few, or lie in the output as they do in the input.
pub(super) fn reordered(asked: &Asked<'_>, problem: &Problem, limits: &Limits) -> Option<Copied> {
    let Problem { count, outputs, size, .. } = *problem;
    let (bytes, result) = (count * outputs * size, asked.spec.result().size());
    let is_far = problem.kept.last().is_some_and(|axis| axis.out.unsigned_abs() * result >= SECTOR);
    let are_many = outputs * SECTOR * REORDERED >= bytes && bytes >= limits.multiprocessors as usize * TRANSPOSED_BYTES;
    if !is_far || !are_many || problem.reduced.is_empty() || asked.described || asked.spec.op == Op::MinMax {
        return None;
    }
    let rows = numbered(problem);
    // The copy goes upwards in the output; how far its first element is from the first result in both.
    let (mut axes, mut from, mut to) = (Vec::new(), 0, 0);
    for (axis, own) in problem.kept.iter().zip(&rows.kept) {
        let steps = [own.out, axis.out].map(|step| step * result as isize);
        let last = axis.len as isize - 1;
        let up = if steps[1] < 0 { -1 } else { 1 };
        if up < 0 {
            from += steps[0] * last;
            to += steps[1] * last;
        }
        axes.push(Dim { len: axis.len, x: up * steps[0], mask: 0, out: up * steps[1] });
    }
    axes.sort_by_key(|axis| Reverse(axis.out));
    let way = |axis: &Dim| Way { len: axis.len, from: axis.x, to: axis.out as usize };
    let axes: Vec<Way> = merge(axes).iter().map(way).collect();

    let own = Problem { kept: merge(rows.kept.clone()), ..rows };
    let mut planner = Planner::new(asked.spec, asked.fold.clone(), true, &own, limits);
    planner.aligned = limits.aligned;
    let launch = planner.fast()?;
    let staged = (COUNTERS + 4 * planner.words).next_multiple_of(ALIGNED);
    let aside = Moved { from: From::Input(0), to: To::Workspace(staged) };
    let home = Moved { from: From::Workspace(staged), to: To::Output(to) };
    Some(Copied {
        launches: vec![launch.moved(aside), copy(&axes, result, from, 0, limits).moved(home)],
        workspace: staged + outputs * result,
        bytes: 2 * (outputs * result) as u64,
    })
}
