//! Plans in two launches, where the reduced axis that lies side by side is not the innermost: each element of that axis
//! is a column of whole subtrees, if the innermost axis has a multiple of a power of two of elements, or if the order
//! does not matter. One launch leaves a part of each column, the other reduces these in order. Every element is read
//! once, and nothing is copied.

use std::cmp::Reverse;

use warpfold_array::problem::{Dim, Problem, merge};
use warpfold_kernels::reduce::shape::parts::room;
use warpfold_kernels::reduce::table::KEPT;

use super::limits::Limits;
use super::parts::{joined, numbered, parting};
use super::policy::{COLUMN_ROWS, PART_BYTES, SUBTREE_BYTES};
use super::transpose::{Asked, Copied};

/// Elements of a column, of an axis of so many: a divisor, at most [`COLUMN_ROWS`], and a power of two if parts must be
/// whole subtrees.
pub(super) fn each(len: usize, ordered: bool) -> usize {
    if ordered {
        return COLUMN_ROWS.min(1 << len.trailing_zeros());
    }
    (1..=COLUMN_ROWS.min(len)).rev().find(|each| len.is_multiple_of(*each)).unwrap_or(1)
}

/// Plans both launches, of a problem whose elements no kernel reads well in one. None, if there are no such columns.
pub(super) fn subtrees(asked: &Asked<'_>, problem: &Problem, limits: &Limits) -> Option<Copied> {
    let Problem { kept, reduced, count, size, .. } = problem;
    let (run, others) = reduced.split_last()?;
    let facts = &asked.fold.facts;
    let each = each(run.len, facts.ordered);
    let is_worth = each * size >= PART_BYTES * facts.words;
    if !facts.columns || !is_worth || reduced.iter().any(|axis| axis.x < 0) || kept.len() > KEPT {
        return None;
    }
    // Parts lie in the order of the tree, row after row.
    let parts = (count / each) as u64;
    let below = Dim { len: run.len / each, x: run.x * each as isize, ..*run };
    let mut to = 1;
    let mut columns: Vec<Dim> = Vec::new();
    for axis in others.iter().chain([&below]).rev().filter(|axis| axis.len != 1) {
        columns.push(Dim { out: to, ..*axis });
        to *= axis.len as isize;
    }
    let places = room(parts);
    columns.extend(numbered(problem).kept.iter().map(|axis| Dim { out: axis.out * places as isize, ..*axis }));
    columns.sort_by_key(|axis| Reverse(axis.x));
    let columns = merge(columns);
    let (side, outer) = columns.split_last()?;
    if side.x != *size as isize || side.len * size < SUBTREE_BYTES || outer.len() > KEPT {
        return None;
    }
    let rows = Dim { len: each, ..*run };
    let outputs = columns.iter().map(|axis| axis.len).product();
    let own = Problem { reduced: vec![rows], count: each, outputs, kept: columns.clone(), ..problem.clone() };
    let mut planner = parting(asked, &own, limits);
    planner.parts = Some((places, each as u64));
    let first = match planner.units_abreast(&columns, rows) {
        None => planner.columns(outer, *side, rows),
        units => units,
    };
    // Blocks that share columns would leave their own parts where those of rows are.
    joined(first.filter(|_| planner.words == 0)?, parts, asked, problem, limits)
}

#[cfg(test)]
mod tests {
    use super::{COLUMN_ROWS, each};

    #[test]
    fn columns_are_whole_parts_of_an_axis() {
        for len in (1..3000).chain([1 << 22, 1_009_155, 65_537]) {
            let (of_tree, any) = (each(len, true), each(len, false));
            assert!(of_tree.is_power_of_two() && len % of_tree == 0 && len % any == 0, "{len}: {of_tree}, {any}");
            assert!(of_tree <= any && any <= COLUMN_ROWS, "{len}: {of_tree}, {any}");
        }
    }
}
