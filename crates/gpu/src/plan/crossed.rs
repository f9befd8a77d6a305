//! Plans in two launches, where the elements of the innermost reduced axis have others between them, of a reduced axis
//! or of few outputs, and more axes are reduced: a warp stages stretches of that axis, whole subtrees, each of which
//! leaves a part for the other launch. Every element is read once, and nothing is copied.

use std::cmp::Reverse;

use warpfold_array::problem::{Dim, Problem};
use warpfold_kernels::reduce::shape::parts::room;
use warpfold_kernels::reduce::table::KEPT;

use super::choose::Fold;
use super::limits::Limits;
use super::near::is_stepped;
use super::parts::{is_read_at_once, joined, numbered, parting, widest};
use super::transpose::{Asked, Copied, is_small};
use super::units::{FIT, SUBTREES, Units};

/// Whether other ways are tried first: tiles took less than stretches of 4 bytes and more, and of logarithms, whose
/// elements have few others between them (see [`is_between`](super::near::is_between)).
pub(super) fn is_last(fold: &Fold, size: usize) -> bool {
    size > 2 || fold.name.starts_with("logsumexp")
}

/// Plans both launches. None, if stretches would have little of the memory that they lie in, or are no whole subtrees.
pub(super) fn crossed(asked: &Asked<'_>, problem: &Problem, limits: &Limits) -> Option<Copied> {
    let Problem { kept, reduced, size, count, .. } = problem;
    let (fold, facts) = (asked.fold, &asked.fold.facts);
    let (&run, far) = reduced.split_last()?;
    let is_read = !facts.ordered || !facts.staged || facts.places || far.is_empty() || kept.len() > KEPT;
    let is_up = run.x > *size as isize && far.iter().chain(kept).all(|axis| axis.x > 0);
    if is_read || !is_up || is_small(problem, limits) {
        return None;
    }
    let rows = numbered(problem);
    let planner = parting(asked, &rows, limits);
    if planner.turned().is_some() {
        return None;
    }
    let of_len = |bits: u32| {
        let (len, each) = (1usize << bits, run.len >> bits);
        // Parts lie in the order of the tree, row after row.
        let parts = (count >> bits) as u64;
        let mut to = each as isize;
        let mut axes: Vec<Dim> = Vec::new();
        for axis in far.iter().rev() {
            axes.push(Dim { out: to, ..*axis });
            to *= axis.len as isize;
        }
        axes.extend(rows.kept.iter().map(|axis| Dim { out: axis.out * room(parts) as isize, ..*axis }));
        axes.sort_by_key(|axis| Reverse(axis.x));
        // What lies between the elements of a stretch.
        let (mut columns, mut between) = (Dim { len: 1, x: 0, mask: 0, out: 0 }, 1);
        if axes.last().is_some_and(|axis| axis.x == *size as isize) {
            columns = axes.pop()?;
            between = columns.len;
            let is_kept = kept.last().is_some_and(|axis| axis.x == columns.x);
            if is_kept && (is_last(fold, *size) || is_read_at_once(fold, *size, columns)) {
                return None;
            }
        }
        let row = between * size;
        let is_dense = row <= widest(fold) && row as isize <= run.x && run.x <= 2 * row as isize;
        if !(is_dense || between == 1 && is_stepped(run.x, *size)) {
            return None;
        }
        let bytes = (len - 1) * run.x as usize + row;
        let along = if each > 1 { Dim { len: each, x: run.x << bits, mask: 0, out: 1 } } else { axes.pop()? };
        let units = Units::of(along, columns, bytes, FIT).filter(|units| units.lines.is_none())?;
        (along.x as usize >= bytes && axes.len() <= KEPT).then_some((len, axes, units, parts))
    };
    // Stretches are whole subtrees.
    let least = if facts.twins { 4 } else { SUBTREES.start };
    let ways = (least..SUBTREES.end).filter(|bits| run.len.is_multiple_of(1 << bits)).filter_map(of_len);
    let cost = |(len, _, units, _): &(usize, Vec<Dim>, Units, u64)| planner.stretch(*len, units, run);
    let (len, outer, units, parts) = ways.min_by(|a, b| cost(a).total_cmp(&cost(b)))?;
    let all = units.along.len * len;
    let first = planner.units(&outer, units, Dim { len, ..run }, [all, 0]);
    joined(first, parts, asked, problem, limits)
}
