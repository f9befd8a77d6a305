//! Plans of reductions: kernels for a problem, for all statistics of `describe`, and for an input that comes in pieces.

use std::cmp::Reverse;

use warpfold_core::DType;
use warpfold_kernels::reduce::call::CallAt;
use warpfold_kernels::reduce::workspace::COUNTERS;

use super::Launch;
use super::abreast::abreast;
use super::choose::{self, Nodes, any, fast};
use super::chunk::{Chunk, chunks};
use super::crossed::{crossed, is_last};
use super::described::described_bytes;
use super::limits::Limits;
use super::near::{is_between, is_broad};
use super::nodes::nodes;
use super::parts::{is_read_singly, is_torn_sum, stepped};
use super::planner::Planner;
use super::policy::{LAUNCH, SINGLY, SINGLY_BLOCKS, SINGLY_SECONDS, STEPS_SECONDS};
use super::reordered::Reordered;
use super::single::single;
use super::subtrees::subtrees;
use super::tiled::tiled;
use super::transpose::{Asked, Copied, is_brief, is_scattered, is_small, transposed};
use super::truths::truths;
use super::twice::twice;
use warpfold_array::Op;
use warpfold_array::problem::{Problem, merge};
use warpfold_array::request::Spec;

/// Bytes beyond which nothing is planned: far more than the memory of any GPU.
const MOST_BYTES: u64 = 1 << 46;

/// Blocks that a grid can have.
const MOST_BLOCKS: u32 = i32::MAX as u32;

/// All launches of a reduction, in order on one stream. The addresses of input and mask are those of the first element
/// in canonical order, at `Problem::x_offset` and `Problem::mask_offset`.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuPlan<A = CallAt> {
    /// In order.
    pub launches: Vec<Launch<A>>,
    /// Bytes of workspace: [`COUNTERS`] bytes of zeros, then room for partial results.
    pub workspace: usize,
    /// Bytes read and written, once each.
    pub bytes: u64,
}

/// The same elements in the order in which they lie in memory, for reductions in any order.
fn in_memory_order(problem: &Problem) -> Problem {
    let mut reduced = problem.reduced.clone();
    reduced.sort_by_key(|axis| Reverse(axis.x.unsigned_abs()));
    Problem { reduced: merge(reduced), ..problem.clone() }
}

/// The plan by `any_` kernels, which read each element by itself, in place of an `apart_` or `narrow_` launch that is
/// slower: of small arrays, and of some variances.
fn singly(
    asked: &Asked<'_>,
    launch: &Launch<CallAt>,
    problem: &Problem,
    limits: &Limits,
    bytes: u64,
) -> Option<GpuPlan> {
    let Asked { spec, fold, described, nodes } = *asked;
    let is = |class: &str| launch.entry.starts_with(class);
    let is_stepped = matches!(problem.reduced[..], [run] if run.x.unsigned_abs() > problem.size);
    let most = if is_stepped && is("apart_") { STEPS_SECONDS } else { SINGLY_SECONDS };
    let is_small = problem.count >= SINGLY && is_brief(problem, limits, most);
    let is_plain = nodes == Nodes::None && !described && (fold.facts.ordered || fold.facts.places);
    if !is_plain || !(is("apart_") || is("narrow_")) || !(is_small || is_read_singly(fold, problem)) {
        return None;
    }
    let any = GpuPlan::any(spec, problem, limits, bytes)?;
    let are_more = any.launches.iter().any(|any| any.grid >= SINGLY_BLOCKS * launch.grid);
    (is("apart_") || !are_more).then_some(any)
}

impl GpuPlan {
    /// Chooses kernels for a problem that has elements and outputs; none, if there are too many outputs.
    pub fn new(spec: &Spec, problem: &Problem, limits: &Limits) -> Self {
        let pair = if spec.op == Op::MinMax { 2 } else { 1 };
        let mask = if spec.masked { 1 } else { 0 };
        let read = (problem.count * problem.outputs).saturating_mul(problem.size + mask);
        let bytes = read.saturating_add(problem.outputs.saturating_mul(pair * spec.result().size())) as u64;
        let none = Self { launches: Vec::new(), workspace: 0, bytes };
        if bytes > MOST_BYTES {
            return none;
        }
        let plan = Self::of(spec, problem, limits, bytes);
        if plan.launches.iter().any(|launch| launch.grid > MOST_BLOCKS) { none } else { plan }
    }

    /// What becomes of its launches.
    fn then(self, with: impl FnOnce(Copied) -> Copied) -> Self {
        let Copied { launches, workspace, bytes } =
            with(Copied { launches: self.launches, workspace: self.workspace, bytes: self.bytes });
        Self { launches, workspace, bytes }
    }

    fn of(spec: &Spec, problem: &Problem, limits: &Limits, bytes: u64) -> Self {
        if let Some(fold) = fast(spec) {
            let sorted = in_memory_order(problem);
            let problem = if fold.facts.ordered || fold.facts.places { problem } else { &sorted };
            let asked = Asked { spec, fold: &fold, described: false, nodes: Nodes::None };
            if let Some(plan) = Self::asked(&asked, problem, limits, bytes) {
                return plan;
            }
        }
        Self::any(spec, problem, limits, bytes).unwrap_or(Self { launches: Vec::new(), workspace: 0, bytes })
    }

    /// By the kernels that read any elements, each by itself; none, if these do not write what is asked.
    fn any(spec: &Spec, problem: &Problem, limits: &Limits, bytes: u64) -> Option<Self> {
        // They write no means.
        let fold = any(spec).filter(|_| spec.means == 0)?;
        let mut planner = Planner::new(spec, fold, false, problem, limits);
        let launches = vec![planner.any()];
        Some(Self { launches, workspace: COUNTERS + 4 * planner.words, bytes })
    }

    /// By the kernels of a fold; none, if none of them reads such elements.
    pub(super) fn asked(asked: &Asked<'_>, problem: &Problem, limits: &Limits, bytes: u64) -> Option<Self> {
        let Asked { spec, fold, .. } = *asked;
        if problem.reduced.is_empty()
            && let Some(launch) = single(spec, &asked.planner(problem, problem, 0, limits))
        {
            return Some(Self { launches: vec![launch], workspace: COUNTERS, bytes });
        }
        let reordered = Reordered::of(asked, problem, limits);
        if let Some(torn) = reordered.as_ref().filter(|reordered| reordered.is_torn) {
            let own = Self::asked(asked, &torn.own, limits, bytes)?;
            return Some(own.then(|own| torn.plan(asked, own, limits)));
        }
        let is_scattered = is_scattered(asked, problem, limits);
        let any_order = !fold.facts.ordered && !fold.facts.places;
        let mut plan = if any_order { truths(spec, problem, limits) } else { None };
        plan = plan.or_else(|| if any_order { twice(spec, problem, limits) } else { None });
        let is_tiled = is_between(fold, problem) || is_torn_sum(asked, problem, limits);
        if plan.is_none() && (is_scattered || is_tiled) && !is_small(problem, limits) {
            plan = abreast(asked, problem, limits);
        }
        if plan.is_none() && is_scattered {
            plan = Self::of_nodes(asked, problem, limits).or_else(|| subtrees(asked, problem, limits));
        }
        if plan.is_none() && !is_scattered && is_broad(fold, problem) {
            plan = subtrees(asked, problem, limits);
        }
        if plan.is_none() && is_tiled && !is_small(problem, limits) {
            plan = tiled(asked, problem, limits);
        }
        plan = plan.or_else(|| stepped(asked, problem, limits));
        if plan.is_none() && is_scattered && is_last(fold, problem.size) {
            plan = tiled(asked, problem, limits);
        }
        plan = plan.or_else(|| crossed(asked, problem, limits));
        if plan.is_none() && is_scattered {
            plan = tiled(asked, problem, limits).or_else(|| transposed(asked, problem, limits));
        }
        Self::planned(asked, plan, reordered, problem, limits, bytes)
    }

    /// The same by nodes that are reduced again.
    fn of_nodes(asked: &Asked<'_>, problem: &Problem, limits: &Limits) -> Option<Copied> {
        let both = nodes(asked, problem, limits)?;
        let Self { launches, workspace, bytes } = Self::asked(&both.again(), &both.problem, &both.limits, 0)?;
        Some(both.plan(Copied { launches, workspace, bytes }))
    }

    /// By several launches, if those are planned, or with results in another order, or by one.
    fn planned(
        asked: &Asked<'_>,
        plan: Option<Copied>,
        reordered: Option<Reordered>,
        problem: &Problem,
        limits: &Limits,
        bytes: u64,
    ) -> Option<Self> {
        if let Some(Copied { launches, workspace, bytes: more }) = plan {
            return Some(Self { launches, workspace, bytes: bytes + more });
        }
        if let Some(far) = reordered {
            let again = if asked.described { Self::described } else { Self::asked };
            let own = again(asked, &far.own, limits, bytes)?;
            return Some(own.then(|own| far.plan(asked, own, limits)));
        }
        let mut planner = asked.planner(problem, problem, 0, limits);
        planner.aligned = limits.aligned;
        let launch = planner.fast()?;
        if let Some(singly) = singly(asked, &launch, problem, limits, bytes) {
            return Some(singly);
        }
        Some(Self { launches: vec![launch], workspace: COUNTERS + 4 * planner.words, bytes })
    }

    /// Everything that `describe` says, in one launch: an array of outputs for each statistic, as
    /// [`DESCRIBED`](super::DESCRIBED) has them. None if no kernel reads such elements so.
    pub fn describe(dtype: DType, is_swapped: bool, problem: &Problem, limits: &Limits) -> Option<Self> {
        let fold = choose::describe(dtype).filter(|_| !is_swapped)?;
        let spec = Spec::without_options(Op::Std, dtype);
        let Problem { outputs, count, size, .. } = *problem;
        let bytes = (outputs * (count * size + described_bytes(dtype))) as u64;
        // A place is at first the number of a pack of 16 bytes, or of a stretch of eight, in 32 bits.
        if count * size / 16 >= u32::MAX as usize {
            return None;
        }
        let asked = Asked { spec: &spec, fold: &fold, described: true, nodes: Nodes::None };
        let plan = Self::described(&asked, problem, limits, bytes)?;
        (plan.launches.iter().all(|launch| launch.grid <= MOST_BLOCKS)).then_some(plan)
    }

    fn described(asked: &Asked<'_>, problem: &Problem, limits: &Limits, bytes: u64) -> Option<Self> {
        let reordered = Reordered::of(asked, problem, limits);
        if let Some(torn) = reordered.as_ref().filter(|reordered| reordered.is_torn) {
            let own = Self::described(asked, &torn.own, limits, bytes)?;
            return Some(own.then(|own| torn.plan(asked, own, limits)));
        }
        let is_scattered = is_scattered(asked, problem, limits);
        let mut plan = if is_scattered { subtrees(asked, problem, limits) } else { None };
        plan = plan.or_else(|| stepped(asked, problem, limits));
        if plan.is_none() && is_scattered {
            plan = Some(transposed(asked, problem, limits)?);
        }
        Self::planned(asked, plan, reordered, problem, limits, bytes)
    }

    /// Seconds that this should take.
    pub fn predicted(&self, limits: &Limits) -> f64 {
        LAUNCH * self.launches.len() as f64 + self.bytes as f64 / limits.bandwidth
    }

    /// The same for one row of elements that lie side by side and come in chunks of at most `chunk_bytes`, to be
    /// launched in order. None, if the reduction cannot be taken apart so.
    pub fn chunked(spec: &Spec, problem: &Problem, limits: &Limits, chunk_bytes: usize) -> Vec<Chunk> {
        let dense = matches!(problem.reduced[..], [axis] if axis.x == problem.size as isize);
        let Some(fold) = fast(spec).filter(|_| dense && problem.outputs == 1) else { return Vec::new() };
        chunks(&Planner::new(spec, fold, true, problem, limits), chunk_bytes)
    }
}
