//! Plans for reducers of a user's own.

use warpfold_kernels::custom::{self, Exported};
use warpfold_kernels::node::Node;
use warpfold_kernels::reduce::recipe::{Recipe, flag};
use warpfold_kernels::reduce::workspace::COUNTERS;

use super::choose::Fold;
use super::planner::Planner;
use super::{GpuPlan, Limits};
use warpfold_array::problem::Problem;

impl GpuPlan {
    /// Chooses kernels for a problem that has elements and outputs. If elements are in two arrays, the second of which
    /// lies where a mask would, `first` is how many words of each are in the first.
    pub fn custom<R: Exported>(reducer: R, first: Option<u32>, problem: &Problem, limits: &Limits) -> Self {
        let fold =
            Fold { name: R::NAME.to_owned(), facts: const { custom::facts::<R>() }, narrow: false, lines: false };
        let recipe = Recipe {
            count: problem.count as u64,
            ddof: 0.0,
            initial: custom::to_initial(reducer),
            flags: if first.is_some() { flag::PAIRED } else { 0 },
            input: 0,
            output: first.unwrap_or_default(),
            through: 0,
        };
        let mut planner = Planner::of(fold, recipe, problem, limits);
        let fast = if const { custom::fast::<R>() } && first.is_none() { planner.fast() } else { None };
        let launches = vec![fast.unwrap_or_else(|| planner.any())];
        let result = 4 * <R::Output as Node>::WORDS as usize;
        let bytes = problem.outputs * (problem.count * size_of::<R::Item>() + result);
        Self { launches, workspace: COUNTERS + 4 * planner.words, bytes: bytes as u64 }
    }
}
