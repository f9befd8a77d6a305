//! Sums and products in two launches, where the reduced axis that lies side by side is not the innermost: each element
//! of that axis is a column of whole subtrees, if the innermost axis has a multiple of a power of two of elements. One
//! launch reduces the columns, the other their nodes, in order. Every element is read once, and nothing is copied.

use std::cmp::Reverse;

use warpfold_array::problem::{Dim, Problem, merge};
use warpfold_array::request::Spec;
use warpfold_array::{Op, Ord, Precision};
use warpfold_core::DType;
use warpfold_kernels::reduce::recipe::{code, flag};
use warpfold_kernels::reduce::table::KEPT;
use warpfold_kernels::reduce::workspace::COUNTERS;

use super::choose::{Fold, fast};
use super::launch::{From, Moved, To};
use super::limits::Limits;
use super::planner::Planner;
use super::policy::{SUBTREE, SUBTREE_BYTES};
use super::transpose::{ALIGNED, Copied};

/// The dtype of a node, and the op that makes nodes; none, if nodes are not numbers or the op has no order.
fn nodes(spec: &Spec) -> Option<(DType, Op)> {
    let op = match spec.op {
        Op::Sum | Op::Mean => Op::Sum,
        Op::Prod => Op::Prod,
        Op::Norm if spec.ord != Ord::Inf => Op::Norm,
        _ => return None,
    };
    let node = if spec.input == DType::F64 { DType::F64 } else { DType::F32 };
    (spec.input.is_float() && spec.precision == Precision::Tree).then_some((node, op))
}

/// The name of the fold that reduces nodes.
fn above(op: Op, node: DType) -> String {
    let name = match op {
        Op::Prod => "prod",
        _ => "sum",
    };
    format!("{name}_{node}")
}

/// Plans both launches, of a problem whose elements no kernel reads well in one. None, if there are no columns of whole
/// subtrees.
pub(super) fn subtrees(spec: &Spec, problem: &Problem, limits: &Limits) -> Option<Copied> {
    let (node, op) = nodes(spec)?;
    let Problem { kept, reduced, count, outputs, size, .. } = problem;
    let (run, others) = reduced.split_last()?;
    let each = 1usize << run.len.trailing_zeros();
    if each < SUBTREE || others.iter().any(|axis| axis.x < 0) || run.x < 0 || kept.len() > KEPT {
        return None;
    }
    // The nodes lie in the order of the tree, row after row.
    let below = Dim { len: run.len / each, x: run.x * each as isize, ..*run };
    let mut columns: Vec<Dim> = Vec::new();
    let mut to = 1;
    for axis in kept.iter().chain(others).chain([&below]).rev().filter(|axis| axis.len != 1) {
        columns.push(Dim { out: to, ..*axis });
        to *= axis.len as isize;
    }
    columns.sort_by_key(|axis| Reverse(axis.x));
    let columns = merge(columns);
    let last = columns.last()?;
    if last.x != *size as isize || last.len * size < SUBTREE_BYTES || columns.len() > KEPT + 1 {
        return None;
    }
    let (row, bytes) = (count / each, node.size());
    let first = Problem {
        reduced: vec![Dim { len: each, ..*run }],
        count: each,
        outputs: outputs * row,
        kept: columns,
        ..problem.clone()
    };
    let mut at = row * bytes;
    let mut rows: Vec<Dim> = Vec::new();
    for axis in kept.iter().rev() {
        rows.push(Dim { x: at as isize, ..*axis });
        at *= axis.len;
    }
    rows.reverse();
    let side = Dim { len: row, x: bytes as isize, mask: 0, out: 0 };
    let second = Problem { kept: merge(rows), reduced: vec![side], count: row, size: bytes, ..problem.clone() };

    let own = Spec { op, dtype: Some(node), initial: None, ..*spec };
    let mut lower = Planner::new(&own, fast(&own)?, true, &first, limits);
    lower.recipe.flags &= !(flag::ROOT | flag::INITIAL);
    let mut upper = Planner::new(spec, Fold::of(above(op, node), false)?, true, &second, limits);
    // Nodes of squares are magnitudes, so that norms add them and take the root.
    let squared = upper.recipe.has(flag::SQUARE);
    upper.recipe.flags &= !(flag::SKIP_NAN | flag::SQUARE);
    upper.recipe.flags |= if squared { flag::MAGNITUDE } else { 0 };
    upper.recipe.count = *count as u64;
    upper.recipe.input = code(node);
    let (reduced, joined) = (lower.fast()?, upper.fast()?);
    let staged = (COUNTERS + 4 * lower.words.max(upper.words)).next_multiple_of(ALIGNED);
    Some(Copied {
        launches: vec![
            reduced.moved(Moved { from: From::Input(0), to: To::Workspace(staged) }),
            joined.moved(Moved { from: From::Workspace(staged), to: To::Output(0) }),
        ],
        workspace: staged + outputs * row * bytes,
        bytes: (2 * outputs * row * bytes) as u64,
    })
}
