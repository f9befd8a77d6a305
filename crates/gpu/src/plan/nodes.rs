//! Plans of sums and products in two reductions. A node of theirs is a number, so nodes are an array like any other:
//! columns of whole subtrees are reduced first, and leave their nodes side by side, in the order of memory; what
//! reduces these is planned anew. Where neighbours in memory are far apart in the sequence, parts in the order of the
//! tree would take a sector of memory each: sum f32 (51,32896,40) in Fortran order took an H200 404 us so.

use std::cmp::Reverse;

use warpfold_array::problem::{Dim, Problem, merge};
use warpfold_array::request::Spec;
use warpfold_core::DType;
use warpfold_kernels::reduce::recipe::{Recipe, code, flag};
use warpfold_kernels::reduce::table::KEPT;
use warpfold_kernels::reduce::workspace::COUNTERS;

use super::choose::Fold;
use super::launch::{From, Moved, To};
use super::limits::Limits;
use super::policy::{APART, NODE_BYTES, PART_BYTES, SECTOR, SUBTREE_BYTES};
use super::reduce::GpuPlan;
use super::subtrees::each;
use super::transpose::{ALIGNED, Asked, Copied};

/// Which of the two reductions this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nodes {
    /// Neither: elements become results.
    None,
    /// Elements become nodes, of this dtype.
    Left(DType),
    /// Nodes, each of so many elements, become results.
    Taken(u64),
}

impl Nodes {
    /// What the fold is told.
    pub(super) fn recipe(self, recipe: Recipe) -> Recipe {
        let mut flags = recipe.flags;
        match self {
            Self::None => recipe,
            Self::Left(dtype) => {
                flags &= !(flag::MEAN | flag::ROOT | flag::INITIAL);
                Recipe { flags, output: code(dtype), through: code(dtype), ..recipe }
            }
            Self::Taken(each) => {
                // NaNs are left out already. Sums of squares are added as their own magnitudes: roots are of norms.
                if flags & flag::SQUARE != 0 {
                    flags = flags & !flag::SQUARE | flag::MAGNITUDE;
                }
                Recipe { flags: flags & !flag::SKIP_NAN, count: recipe.count * each, ..recipe }
            }
        }
    }
}

/// Plans both. None, if nodes are no numbers, or would lie in the order of the tree as well, or be too many.
pub(super) fn nodes(asked: &Asked<'_>, problem: &Problem, limits: &Limits) -> Option<Copied> {
    let Problem { kept, reduced, count, size, .. } = problem;
    let (name, input) = asked.fold.name.split_once('_')?;
    let (run, others) = reduced.split_last()?;
    let each = each(run.len, true);
    let few = each * size < PART_BYTES || each * size > NODE_BYTES;
    if !["sum", "prod"].contains(&name) || !asked.fold.facts.ordered || few || kept.iter().any(|axis| axis.x <= 0) {
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
    let is_far = together * node.size() < SECTOR;
    if !is_up || !is_far || side.x != *size as isize || outer.len() > KEPT {
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
    let fold = Fold { narrow: false, ..asked.fold.clone() };
    let first = Asked { fold: &fold, nodes: Nodes::Left(node), ..*asked };
    let mut planner = first.planner(&own, &own, 0, limits);
    planner.aligned = limits.aligned;
    let launch = planner.fast()?;

    let spec = Spec { input: node, dtype: Some(asked.spec.result()), ..*asked.spec };
    let fold = Fold::of(format!("{name}_{node}"), false)?;
    let second = Asked { spec: &spec, fold: &fold, described: false, nodes: Nodes::Taken(each as u64) };
    // Nodes begin with a line.
    let lined = Limits { aligned: true, ..*limits };
    let second = GpuPlan::asked(&second, &again, &lined, 0)?;
    let staged = second.workspace.max(COUNTERS + 4 * planner.words).next_multiple_of(ALIGNED);
    let launch = launch.moved(Moved { from: From::Input(0), to: To::Workspace(staged) });
    let again = second.launches.into_iter().map(|launch| launch.with_elements_at(staged));
    let room = to as usize * node.size();
    let bytes = 2 * room as u64 + second.bytes;
    Some(Copied { launches: [launch].into_iter().chain(again).collect(), workspace: staged + room, bytes })
}
