//! The route on which the fastest axis in memory is reduced, and so is a slower one than those that are kept: axes 0 and 2
//! of three.
//!
//! Each output's elements lie in short runs far apart. So runs are reduced in memory order, all outputs' one after the other,
//! and their nodes along the slower axes as columns are. A run must be a subtree: its length is a power of two.

use super::columns::rows_per_task;
use super::counter::Counter;
use super::engine::{Job, Out, Output, Scratch};
use super::kernel::{Acc, Item, Kernel};
use super::load::Load;
use super::tree::combine_nodes;
use warpfold_array::problem::Walk;

impl<K: Kernel, L: Load<Item<K>>> Job<'_, K, L>
where
    Out<K>: Send,
{
    /// See the module.
    pub(super) unsafe fn runs(&self, out: &Output<Out<K>>) {
        let run = self.problem.inner().len;
        let runs = self.problem.count / run;
        let per_task = rows_per_task(runs, 1, self.threads, 8);
        let tasks = runs.div_ceil(per_task);
        // SAFETY: the caller's.
        let nodes = self
            .results(tasks, |task| unsafe { self.some_runs(task * per_task, runs.min((task + 1) * per_task), run) });
        let last = ((runs - (tasks - 1) * per_task) * run) as u64;
        let mut walk = Walk::new(&self.problem.kept, self.base, 0);
        let mut list = Vec::with_capacity(tasks);
        for output in 0..self.problem.outputs {
            list.clear();
            list.extend(nodes.iter().map(|nodes| nodes[output]));
            let root = combine_nodes(self.kernel.reducer(), &mut list, (per_task * run) as u64, last);
            // SAFETY: one writer per output.
            unsafe { self.finish(out, walk.out(), root.expect("at least one task")) };
            walk.advance();
        }
    }

    /// The nodes of all outputs over the runs `from..to` of each.
    unsafe fn some_runs(&self, from: usize, to: usize, run: usize) -> Vec<Acc<K>> {
        let outputs = self.problem.outputs;
        let (_, outer) = self.problem.reduced.split_last().expect("two reduced axes");
        let mut scratch = Scratch::new();
        let mut counter = Counter::new(self.kernel, run as u64);
        let mut slow = Walk::new(outer, self.base, from);
        for i in from..to {
            let mut nodes = counter.room(outputs);
            let mut walk = Walk::new(&self.problem.kept, slow.at(), 0);
            for _ in 0..outputs {
                // SAFETY: the caller's.
                nodes.push(unsafe { self.run_at(walk.at(), i * run, run, &mut scratch) });
                walk.advance();
            }
            counter.push(nodes);
            slow.advance();
        }
        counter.finish(None).expect("at least one run")
    }
}
