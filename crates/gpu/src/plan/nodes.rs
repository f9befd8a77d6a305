//! Plans of sums and products in two reductions. A node of theirs is a number, so nodes are an array like any other:
//! columns of whole subtrees are reduced first, and leave their nodes side by side, in the order of memory; what
//! reduces these is planned anew. Where neighbours in memory are far apart in the sequence, parts in the order of the
//! tree would take a sector of memory each: sum f32 (51,32896,40) in Fortran order took an H200 408 us so, and 117 as
//! here.

use std::cmp::Reverse;

use warpfold_array::problem::{Dim, Problem, merge};
use warpfold_array::request::Spec;
use warpfold_core::DType;
use warpfold_kernels::reduce::call::CallAt;
use warpfold_kernels::reduce::table::KEPT;
use warpfold_kernels::reduce::workspace::COUNTERS;

use super::choose::{Fold, Nodes};
use super::launch::{From, Launch, Moved, To};
use super::limits::Limits;
use super::policy::{APART, NODE_BYTES, NODE_ROWS, PART_BYTES, SECTOR, SUBTREE_BYTES};
use super::subtrees::each;
use super::transpose::{ALIGNED, Asked, Copied};

/// Both reductions: the launch of the first, and what the second is asked.
pub(super) struct Twofold {
    launch: Launch<CallAt>,
    /// Words of the first one's parts.
    words: usize,
    /// Bytes of all nodes.
    room: usize,
    spec: Spec,
    fold: Fold,
    nodes: Nodes,
    /// Of nodes.
    pub(super) problem: Problem,
    /// Nodes begin with a line.
    pub(super) limits: Limits,
}

impl Twofold {
    /// What the second is asked.
    pub(super) fn again(&self) -> Asked<'_> {
        Asked { spec: &self.spec, fold: &self.fold, described: false, nodes: self.nodes }
    }

    /// With the plan of the second.
    pub(super) fn plan(self, second: Copied) -> Copied {
        let staged = second.workspace.max(COUNTERS + 4 * self.words).next_multiple_of(ALIGNED);
        let first = self.launch.moved(Moved { from: From::Input(0), to: To::Workspace(staged) });
        let again = second.launches.into_iter().map(|launch| launch.with_elements_at(staged));
        let launches = [first].into_iter().chain(again).collect();
        Copied { launches, workspace: staged + self.room, bytes: 2 * self.room as u64 + second.bytes }
    }
}

/// Plans the first. None, if nodes are no numbers, or would lie in the order of the tree as well, or be too many.
pub(super) fn nodes(asked: &Asked<'_>, problem: &Problem, limits: &Limits) -> Option<Twofold> {
    let Problem { kept, reduced, count, size, .. } = problem;
    let (name, input) = asked.fold.name.split_once('_')?;
    let facts = &asked.fold.facts;
    let (run, others) = reduced.split_last()?;
    let each = each(run.len, true);
    let few = each * size < PART_BYTES || each * size > NODE_BYTES;
    // What nodes of nodes are is not told.
    let is_again = asked.nodes != Nodes::None;
    if !["sum", "prod"].contains(&name) || is_again || !facts.ordered || few || kept.iter().any(|axis| axis.x <= 0) {
        return None;
    }
    let node = if input == "f64" { DType::F64 } else { DType::F32 };
    let below = Dim { len: run.len / each, x: run.x * each as isize, ..*run };
    let inner: Vec<Dim> = others.iter().chain([&below]).copied().filter(|axis| axis.len != 1).collect();
    let mut columns = [&inner[..], kept].concat();
    columns.sort_by_key(|axis| Reverse(axis.x));
    let (side, outer) = columns.split_last()?;
    // How many nodes that follow one another are left at about the same time.
    let beside = inner.iter().rev().take_while(|axis| axis.x.unsigned_abs() < APART * limits.multiprocessors as usize);
    let together: usize = beside.map(|axis| axis.len).product();
    // Axes are told apart by their steps.
    let is_up = columns.windows(2).all(|axes| axes[0].x > axes[1].x) && side.x > 0 && run.x > 0;
    let is_worth = together * node.size() < SECTOR || facts.shallow && each <= NODE_ROWS;
    if !is_up || !is_worth || side.x != *size as isize || outer.len() > KEPT {
        return None;
    }
    let mut to = 1;
    for axis in columns.iter_mut().rev() {
        axis.out = to;
        to *= axis.len as isize;
    }
    let there = |axis: &Dim| {
        let to = columns.iter().find(|own| own.x == axis.x).map_or(0, |own| own.out);
        Dim { x: to * node.size() as isize, mask: 0, ..*axis }
    };
    let again = Problem {
        kept: kept.iter().map(there).collect(),
        reduced: merge(inner.iter().map(there).collect()),
        count: count / each,
        size: node.size(),
        x_offset: 0,
        mask_offset: 0,
        ..problem.clone()
    };
    let columns = merge(columns);
    if columns.last()?.len * size < SUBTREE_BYTES {
        return None;
    }
    let rows = vec![Dim { len: each, ..*run }];
    let own =
        Problem { kept: columns, reduced: rows, count: each, outputs: to as usize, out_offset: 0, ..problem.clone() };
    let fold = Fold { narrow: false, lines: false, ..asked.fold.clone() };
    let first = Asked { fold: &fold, nodes: Nodes::Left(node), ..*asked };
    let mut planner = first.planner(&own, &own, 0, limits);
    planner.aligned = limits.aligned;
    let launch = planner.fast()?;

    let spec = Spec { input: node, dtype: Some(asked.spec.result()), ..*asked.spec };
    let fold = Fold::of(format!("{name}_{node}"), false)?;
    let nodes = Nodes::Taken(each as u64);
    let limits = Limits { aligned: true, ..*limits };
    let room = to as usize * node.size();
    Some(Twofold { launch, words: planner.words, room, spec, fold, nodes, problem: again, limits })
}
