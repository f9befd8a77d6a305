//! Runs a kernel over a problem: cuts it into tasks along subtrees, and joins their nodes.
//!
//! [`Job`] has the caller's types. All that it does is to make room for the results; [`Work`] does the rest, by
//! addresses and a table of loops (`Loops`), so it is compiled once for all kernels.

mod columns;
mod counter;
mod groups;
mod nodes;
mod panels;
mod queues;
mod rows;
mod runs;
mod segments;
mod span;
mod transposed;

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use warpfold_array::Progress;
use warpfold_array::problem::{At, Problem};
use warpfold_core::Reducer;

use crate::kernel::{Item as Elem, Kernel};
use crate::load::Load;
use crate::loops::{ALIGN, By, Facts, Fetch, Item, Loops, Node, Value};
use crate::output::Output;
use crate::parallel::{for_each, results};
use crate::policy::{BLOCK, ONE_THREAD};
use crate::route::Route;

/// A label for each element.
pub trait Labels: Sync {
    /// Those of the elements `from..from + n`, perhaps in this room. What belongs to no group has the greatest number.
    fn read<'r>(&'r self, from: usize, n: usize, room: &'r mut Vec<u32>) -> &'r [u32];
}

/// Everything that a reduction needs.
pub struct Job<'a, K, L> {
    /// The inner loops.
    pub kernel: &'a K,
    /// The way in.
    pub load: &'a L,
    /// The shape.
    pub problem: &'a Problem,
    /// The first element, and the mask's.
    pub base: At,
    /// Threads to use.
    pub threads: usize,
    /// Called after each task.
    pub progress: Option<Progress<'a>>,
}

/// The result of one output.
pub type Out<K> = <<K as Kernel>::R as Reducer>::Output;

/// The same without types: what tasks need.
pub struct Work<'a> {
    kernel: &'a dyn Loops,
    facts: Facts,
    load: &'a dyn Fetch,
    problem: &'a Problem,
    base: At,
    threads: usize,
    progress: Option<Progress<'a>>,
}

/// Computes every output. `None` if there are no elements to reduce and the reducer has no identity.
///
/// # Safety
/// Every element that the problem reaches from `job.base` is readable.
pub unsafe fn run<K: Kernel, L: Load<Elem<K>>>(job: &Job<'_, K, L>) -> Option<Vec<Out<K>>>
where
    Out<K>: Send,
{
    // SAFETY: the caller's; every output is written, or false returned.
    unsafe { job.written(job.problem.outputs, &|work, out| work.outputs(out)) }
}

impl<K: Kernel, L: Load<Elem<K>>> Job<'_, K, L>
where
    Out<K>: Send,
{
    /// The result of each segment `offsets[i]..offsets[i + 1]` of the reduced axis, for each kept index: in C order of
    /// \[segment\]\[kept axes\]. `None` if a segment is empty and the reducer has no identity.
    ///
    /// # Safety
    /// Every element that the problem reaches from `base` is readable. Its only reduced axis is the one that is cut.
    ///
    /// # Panics
    /// If the offsets decrease, or go beyond the axis.
    pub unsafe fn segments(&self, offsets: &[usize]) -> Option<Vec<Out<K>>> {
        let total = (offsets.len() - 1) * self.problem.outputs;
        // SAFETY: the caller's; every output of every segment is written, or false returned.
        unsafe { self.written(total, &|work, out| work.segments(offsets, out)) }
    }

    /// The result of the elements of each label below `groups`, in their order. `None` if there are no elements at all,
    /// or a group is empty and the reducer has no identity.
    ///
    /// # Safety
    /// Every element that the problem reaches from `base` is readable. It has one axis, of fewer than 2^32 elements,
    /// and reduces it.
    pub unsafe fn groups(&self, labels: &dyn Labels, groups: usize) -> Option<Vec<Out<K>>> {
        if self.problem.count == 0 {
            return None;
        }
        // SAFETY: the caller's; then every group is written, or false returned.
        unsafe { self.written(groups, &|work, out| work.groups(labels, groups, out)) }
    }

    /// `n` values, written by `write`; none, if it says that some have no value.
    ///
    /// # Safety
    /// It writes all of them, or returns false.
    unsafe fn written(&self, n: usize, write: &dyn Fn(&Work<'_>, &Output<Value>) -> bool) -> Option<Vec<Out<K>>> {
        let Self { kernel, load, problem, base, threads, progress } = *self;
        let mut values: Vec<Out<K>> = Vec::with_capacity(n);
        let load = By::<Elem<K>, L>(load, PhantomData);
        let work = Work::new(kernel, &load, problem, base, threads, progress);
        let out = Output::large(&mut values.spare_capacity_mut()[..n]);
        // SAFETY: the caller's.
        write(&work, &out).then(|| unsafe {
            values.set_len(n);
            values
        })
    }
}

fn run_tasks(n: usize, threads: usize, bytes: usize, progress: Option<Progress<'_>>, task: &(dyn Fn(usize) + Sync)) {
    let run = |i| {
        task(i);
        if let Some(progress) = progress {
            progress(bytes as u64);
        }
    };
    if threads == 1 || n == 1 {
        (0..n).for_each(run);
    } else {
        for_each(n, &run);
    }
}

impl<'a> Work<'a> {
    /// What is needed.
    pub fn new(
        kernel: &'a dyn Loops,
        load: &'a dyn Fetch,
        problem: &'a Problem,
        base: At,
        threads: usize,
        progress: Option<Progress<'a>>,
    ) -> Self {
        Self { kernel, facts: kernel.facts(), load, problem, base, threads, progress }
    }

    /// Computes every output; whether there are values. There are none without elements and an identity.
    ///
    /// # Safety
    /// Every element that the problem reaches from `base` is readable; `out` has a place for each output.
    pub unsafe fn outputs(&self, out: &Output<Value>) -> bool {
        if self.problem.count == 0 {
            // SAFETY: the caller's: each place is of a value.
            return (0..self.problem.outputs).all(|i| unsafe { self.kernel.finish_empty(out.at(i as isize, 1)) });
        }
        // SAFETY: the caller's; every route writes every output.
        unsafe { self.run(out) };
        true
    }

    /// The same. There are elements.
    ///
    /// # Safety
    /// Every element that the problem reaches from `base` is readable; `out` has a place for each output.
    unsafe fn run(&self, out: &Output<Value>) {
        if self.problem.outputs == 0 {
            return;
        }
        // SAFETY: the caller's.
        unsafe {
            if self.is_block() {
                let (x, n) = (self.base.x.cast(), self.problem.count);
                one_block(self.kernel, x, n, out.at(self.problem.out_offset, 1));
                return self.tell(n);
            }
            match Route::of(self.problem) {
                Route::Rows => self.rows(out),
                Route::Columns { lane } => self.columns(lane, false, out),
                Route::Interleaved { lane } => self.columns(lane, true, out),
                Route::Transposed { lane } => self.transposed(lane, out),
                Route::Runs => self.runs(out),
            }
        }
    }

    /// Whether all is one block, which the loops can read where it is.
    fn is_block(&self) -> bool {
        let problem = self.problem;
        let dense = problem.reduced.len() == 1 && problem.inner().x == self.facts.item as isize;
        let few = problem.outputs == 1 && problem.count <= BLOCK;
        few && dense && self.load.direct() && self.base.x.addr().is_multiple_of(self.facts.align)
    }

    /// Runs tasks, on this thread if there is little to do.
    fn tasks(&self, n: usize, task: &(dyn Fn(usize) + Sync)) {
        let Problem { count, outputs, size, .. } = *self.problem;
        let work = count.saturating_mul(outputs);
        let threads = if work < ONE_THREAD { 1 } else { self.threads };
        let tells = matches!(Route::of(self.problem), Route::Columns { .. } | Route::Transposed { .. });
        let bytes = if tells { 0 } else { (work / n).max(1) * size };
        run_tasks(n, threads, bytes, self.progress, task);
    }

    /// Runs tasks; they tell themselves what they have read.
    fn quiet_tasks(&self, n: usize, task: &(dyn Fn(usize) + Sync)) {
        let work = self.problem.count.saturating_mul(self.problem.outputs);
        run_tasks(n, if work < ONE_THREAD { 1 } else { self.threads }, 0, self.progress, task);
    }

    /// Tells how many more elements have been read: for tasks that touch many more pages than they read bytes.
    fn tell(&self, elements: usize) {
        if let Some(progress) = self.progress {
            progress((elements * self.problem.size) as u64);
        }
    }

    /// Runs tasks, and keeps their results.
    fn results<T: Send>(&self, n: usize, task: impl Fn(usize) -> T + Sync) -> Vec<T> {
        results(n, |run| self.tasks(n, run), task)
    }

    /// The same of tasks that tell themselves what they have read.
    fn quiet_results<T: Send>(&self, n: usize, task: impl Fn(usize) -> T + Sync) -> Vec<T> {
        results(n, |run| self.quiet_tasks(n, run), task)
    }

    /// Finishes `n` nodes of one number of elements each, whose outputs are neighbours.
    ///
    /// # Safety
    /// They are nodes of this kernel; nobody else writes the places.
    unsafe fn finish(&self, out: &Output<Value>, at: isize, nodes: *const Node, n: usize, count: usize) {
        let to = out.at(at + self.problem.out_offset, n);
        // SAFETY: the caller's.
        unsafe { self.kernel.finish(nodes, n, count as u64, to) };
    }
}

/// The value of `n` elements, at most a block and at least one, without an allocation.
///
/// # Safety
/// They are readable, aligned, and as the kernel reads them; `to` has room for a value.
pub unsafe fn one_block(kernel: &dyn Loops, x: *const Item, n: usize, to: *mut Value) {
    /// Room for any node.
    #[repr(C, align(64))]
    struct Room([MaybeUninit<u8>; 4 * ALIGN]);
    let mut room = Room([MaybeUninit::uninit(); 4 * ALIGN]);
    assert!(kernel.facts().node <= size_of::<Room>());
    let node: *mut Node = (&raw mut room.0).cast();
    // SAFETY: the caller's; there is room for a node.
    unsafe {
        kernel.block(std::ptr::null(), x, n, 0, node);
        kernel.finish(node, 1, n as u64, to);
    }
}
