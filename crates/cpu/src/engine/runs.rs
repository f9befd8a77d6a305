//! The route for reductions over the fastest axis in memory and over another one, slower than all kept axes: say, over
//! axes 0 and 2 of three.
//!
//! The elements of an output lie in short runs, far apart. So runs are reduced in memory order, output after output,
//! and then the nodes of runs are reduced as columns are. A run must be a subtree, so its length is a power of two.

use warpfold_array::problem::Walk;

use super::Work;
use super::columns::rows_per_task;
use super::counter::Counter;
use super::nodes::{Items, Nodes};
use crate::loops::Value;
use crate::output::Output;

impl Work<'_> {
    /// See the module.
    pub(super) unsafe fn runs(&self, out: &Output<Value>) {
        let run = self.problem.inner().len;
        let runs = self.problem.count / run;
        let per_task = rows_per_task(runs, 1, self.threads, 8);
        let tasks = runs.div_ceil(per_task);
        // SAFETY: the caller vouches for all elements of the problem, and the ranges are within the runs of an output.
        let nodes = self
            .results(tasks, |task| unsafe { self.some_runs(task * per_task, runs.min((task + 1) * per_task), run) });
        let last = ((runs - (tasks - 1) * per_task) * run) as u64;
        let mut walk = Walk::new(&self.problem.kept, self.base, 0);
        let mut list = Nodes::with_capacity(self.facts.node, tasks);
        for output in 0..self.problem.outputs {
            list.clear();
            // SAFETY: `some_runs` has written a node of this kernel for each output; this thread alone writes results.
            unsafe {
                nodes.iter().for_each(|nodes| list.push(nodes.at(output)));
                self.kernel.root(list.first_mut(), tasks, (per_task * run) as u64, last);
                self.finish(out, walk.out(), list.first(), 1, self.problem.count);
            }
            walk.advance();
        }
    }

    /// The nodes of all outputs over the runs `from..to` of each.
    unsafe fn some_runs(&self, from: usize, to: usize, run: usize) -> Nodes {
        let (inner, outputs) = (self.problem.inner(), self.problem.outputs);
        let (_, outer) = self.problem.reduced.split_last().expect("two reduced axes");
        let mut items = Items::new();
        let mut counter = Counter::new(self.kernel, run as u64);
        let mut slow = Walk::new(outer, self.base, from);
        for i in from..to {
            let mut nodes = counter.room();
            nodes.clear();
            let mut walk = Walk::new(&self.problem.kept, slow.at(), 0);
            for _ in 0..outputs {
                // SAFETY: the run lies within what the caller vouches for.
                unsafe {
                    let x = self.run_of(walk.at(), &inner, run, &mut items);
                    nodes.push_with(|to| self.kernel.block(std::ptr::null(), x, run, (i * run) as u64, to));
                }
                walk.advance();
            }
            counter.push(nodes);
            slow.advance();
        }
        counter.finish(None).expect("at least one run")
    }
}
