//! Runs a kernel over a problem: cuts the problem into tasks along subtrees, and joins their nodes.
//!
//! [`Job`] has the caller's types, and only makes room for the results. [`Work`] does the rest by addresses and a table
//! of loops (`Loops`), so it is compiled once for all kernels.

mod columns;
mod counter;
mod crossed;
mod cuts;
mod gapped;
mod groups;
mod lane;
mod lines;
pub(crate) mod nodes;
mod ordered;
mod outputs;
mod panels;
mod patches;
pub(crate) mod pieces;
mod queues;
mod rows;
mod runs;
mod segments;
mod sequence;
mod singles;
mod slabs;
mod span;
mod stored;
mod storing;
mod strip;
mod tiles;
mod transposed;
mod units;

pub use cuts::Cuts;
pub use patches::Patches;

use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::sync::atomic::AtomicBool;

use warpfold_array::problem::{At, Problem};
use warpfold_array::{Hole, Progress};
use warpfold_core::Reducer;

use crate::fallback::Fallback;
use crate::kernel::{Item as Elem, Kernel};
use crate::load::{By, Fetch, Load};
use crate::loops::{Facts, Item, Loops, MOST_NODE, Node, Value};
use crate::output::Output;
use crate::parallel::{for_each, results};
use crate::policy::{BLOCK, ONE_THREAD};
use crate::route::{Route, Takes};

/// A label for each element.
pub trait Labels: Sync {
    /// The labels of the elements `from..from + n`, in `room` or elsewhere. The label of an element of no group is
    /// `u32::MAX`.
    fn read<'r>(&'r self, from: usize, n: usize, room: &'r mut Vec<u32>) -> &'r [u32];
}

/// Everything that a reduction needs.
pub struct Job<'a, K, L> {
    /// The inner loops.
    pub kernel: &'a K,
    /// How elements are loaded.
    pub load: &'a L,
    /// The shape and the layout.
    pub problem: &'a Problem,
    /// The addresses of the first element and of its mask.
    pub base: At,
    /// The number of threads.
    pub threads: usize,
    /// Called after each task.
    pub progress: Option<Progress<'a>>,
}

/// The result of one output.
pub type Out<K> = <<K as Kernel>::R as Reducer>::Output;

/// A [`Job`] without its types.
pub struct Work<'a> {
    kernel: &'a dyn Loops,
    facts: Facts,
    load: &'a dyn Fetch,
    problem: &'a Problem,
    base: At,
    threads: usize,
    progress: Option<Progress<'a>>,
    storing: Option<Storing<'a>>,
    /// Whether all bytes of a result are initialised.
    numbers: bool,
}

/// Writes `n` outputs as elements; `Err` if one of them has no value.
///
/// # Safety
/// `n` outputs are readable, and `to` has room for the elements of as many.
pub type Convert = unsafe fn(from: *const Value, n: usize, to: *mut Value) -> Result<(), Hole>;

/// Writes `n` outputs where their number, that of the first, says.
///
/// # Safety
/// `n` outputs are readable, and no other task writes these.
pub type Scatter<'a> = dyn Fn(*const Value, usize, usize) + Sync + 'a;

/// How outputs are written, if not as they are.
#[derive(Clone, Copy)]
pub enum Storing<'a> {
    /// They are converted before.
    By {
        /// The conversion.
        convert: Convert,
        /// Set if an output has no value.
        hole: &'a AtomicBool,
    },
    /// By a function, which knows their places.
    Apart(&'a Scatter<'a>),
}

/// Computes every output. `None` if there are no elements to reduce and the reducer has no identity.
///
/// # Safety
/// Every element that the problem reaches from `job.base` is readable.
pub unsafe fn run<K: Kernel, L: Load<Elem<K>>>(job: &Job<'_, K, L>) -> Option<Vec<Out<K>>>
where
    Out<K>: Send,
{
    // SAFETY: the caller vouches for the elements; `outputs` writes every output or returns false.
    unsafe { job.written(job.problem.outputs, &|work, out| work.outputs(out)) }
}

impl<K: Kernel, L: Load<Elem<K>>> Job<'_, K, L>
where
    Out<K>: Send,
{
    /// Computes every output, and calls `scatter` with them. Returns false if there are no elements to reduce and the
    /// reducer has no identity.
    ///
    /// # Safety
    /// Every element that the problem reaches from `base` is readable.
    pub unsafe fn scattered(&self, scatter: &Scatter<'_>) -> bool {
        let Self { kernel, load, problem, base, threads, progress } = *self;
        let load = By::<Elem<K>, L>(load, PhantomData);
        let fallback = Fallback(kernel);
        let work =
            Work::new(fallback.or_own(), &load, problem, base, threads, progress).storing(Storing::Apart(scatter));
        // Places of no bytes, which nothing is written to.
        let out = Output::at_address(std::ptr::dangling_mut(), problem.outputs, 0);
        // SAFETY: the caller vouches for the elements, and `scatter` has a place for each output.
        unsafe { work.outputs(&out) }
    }

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
        // SAFETY: the caller vouches for the elements and the axis; `Work::segments` writes every output of every
        // segment or returns false.
        unsafe { self.written(total, &|work, out| work.segments(Cuts::at(offsets), out)) }
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
        // SAFETY: the caller vouches for the elements and their number; `Work::groups` writes every group or returns
        // false.
        unsafe { self.written(groups, &|work, out| work.groups(labels, groups, out)) }
    }

    /// `n` values, which `write` writes; `None` if it returns false.
    ///
    /// # Safety
    /// `write` writes all values or returns false.
    unsafe fn written(&self, n: usize, write: &dyn Fn(&Work<'_>, &Output<Value>) -> bool) -> Option<Vec<Out<K>>> {
        let Self { kernel, load, problem, base, threads, progress } = *self;
        let mut values: Vec<Out<K>> = Vec::with_capacity(n);
        let load = By::<Elem<K>, L>(load, PhantomData);
        let fallback = Fallback(kernel);
        let work = Work::new(fallback.or_own(), &load, problem, base, threads, progress);
        let out = Output::large(&mut values.spare_capacity_mut()[..n]);
        // SAFETY: `write` has returned true, so it has written all `n` values, as the caller vouches.
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
    /// The work of a kernel on a problem.
    pub fn new(
        kernel: &'a dyn Loops,
        load: &'a dyn Fetch,
        problem: &'a Problem,
        base: At,
        threads: usize,
        progress: Option<Progress<'a>>,
    ) -> Self {
        Self { kernel, facts: kernel.facts(), load, problem, base, threads, progress, storing: None, numbers: false }
    }

    /// The same work, whose outputs are converted before they are written.
    pub fn storing(self, storing: Storing<'a>) -> Self {
        Self { storing: Some(storing), ..self }
    }

    /// The same work, whose results are numbers.
    pub fn of_numbers(self) -> Self {
        Self { numbers: true, ..self }
    }

    /// Computes every output. Returns false if there are no elements to reduce and the reducer has no identity.
    ///
    /// # Safety
    /// Every element that the problem reaches from `base` is readable; `out` has a place for each output.
    pub unsafe fn outputs(&self, out: &Output<Value>) -> bool {
        if self.problem.count == 0 {
            // SAFETY: the caller vouches for a place for each output, which only this thread writes.
            return (0..self.problem.outputs).all(|i| unsafe {
                let is_some = Cell::new(false);
                self.store(1, out, i as isize, &|to, _| is_some.set(self.kernel.finish_empty(to)));
                is_some.get()
            });
        }
        let sorted = if self.facts.free { self.problem.in_memory_order() } else { None };
        let problem = sorted.as_ref().unwrap_or(self.problem);
        let (x, mask) = (problem.x_offset - self.problem.x_offset, problem.mask_offset - self.problem.mask_offset);
        let work = Work { problem, base: self.base.offset(x, mask), ..*self };
        // SAFETY: the caller vouches for the elements, which are the same in any order, and for a place for each
        // output.
        unsafe { work.run(out) };
        true
    }

    /// Computes every output. There are elements.
    ///
    /// # Safety
    /// Every element that the problem reaches from `base` is readable; `out` has a place for each output.
    unsafe fn run(&self, out: &Output<Value>) {
        // SAFETY: the caller's.
        unsafe {
            if !self.patches(out) {
                self.run_as_it_lies(out);
            }
        }
    }

    /// [`Work::run`] by a route of all outputs.
    ///
    /// # Safety
    /// As of [`Work::run`].
    unsafe fn run_as_it_lies(&self, out: &Output<Value>) {
        if self.problem.outputs == 0 {
            return;
        }
        // SAFETY: the caller vouches for the elements and the places. Those of a block are in place, as `is_block` has
        // checked.
        unsafe {
            if self.is_block() {
                let (x, n) = (self.base.x.cast(), self.problem.count);
                self.store(1, out, self.problem.out_offset, &|to, _| one_block(self.kernel, x, n, to));
                return self.tell(n);
            }
            if self.decided(out) {
                return self.tell(self.problem.count * self.problem.outputs);
            }
            let is_read = self.load.direct() && self.base.x.addr().is_multiple_of(self.facts.align);
            let Facts { free, staggered, number, .. } = self.facts;
            match Route::of(self.problem, Takes { free, staggered: staggered && is_read, number }) {
                Route::Crossed { inner } => self.crossed(inner, out),
                Route::Rows => self.rows(out),
                Route::Singles { lane } => self.singles(lane, out),
                Route::Columns { lane } => self.columns(lane, false, out),
                Route::Interleaved { lane } => self.columns(lane, true, out),
                Route::Transposed { lane } => self.transposed(lane, out),
                Route::Runs => self.runs(out),
                Route::Slabs { slab } => self.slabs(slab, out),
                Route::Tiles { lane, within, beside } => self.tiles(lane, within, beside, out),
            }
        }
    }

    /// Whether all elements are one block, which the kernel can read in place.
    fn is_block(&self) -> bool {
        let problem = self.problem;
        let dense = problem.reduced.len() == 1 && problem.inner().x == self.facts.item as isize;
        let few = problem.outputs == 1 && problem.count <= BLOCK;
        few && dense && self.load.direct() && self.base.x.addr().is_multiple_of(self.facts.align)
    }

    /// Runs tasks, on this thread if there is little to do, and reports the progress of each.
    fn tasks(&self, n: usize, task: &(dyn Fn(usize) + Sync)) {
        let work = self.problem.count.saturating_mul(self.problem.outputs);
        let threads = if work < ONE_THREAD { 1 } else { self.threads };
        run_tasks(n, threads, (work / n).max(1) * self.problem.size, self.progress, task);
    }

    /// Runs tasks that report their progress themselves.
    fn quiet_tasks(&self, n: usize, task: &(dyn Fn(usize) + Sync)) {
        let work = self.problem.count.saturating_mul(self.problem.outputs);
        run_tasks(n, if work < ONE_THREAD { 1 } else { self.threads }, 0, self.progress, task);
    }

    /// Reports that `elements` more elements have been read.
    fn tell(&self, elements: usize) {
        if let Some(progress) = self.progress {
            progress((elements * self.problem.size) as u64);
        }
    }

    /// Runs tasks, reports the progress of each, and collects their results.
    fn results<T: Send>(&self, n: usize, task: impl Fn(usize) -> T + Sync) -> Vec<T> {
        results(n, |run| self.tasks(n, run), task)
    }

    /// Runs tasks that report their progress themselves, and collects their results.
    fn quiet_results<T: Send>(&self, n: usize, task: impl Fn(usize) -> T + Sync) -> Vec<T> {
        results(n, |run| self.quiet_tasks(n, run), task)
    }
}

/// The value of `n` elements, at most a block and at least one, without an allocation.
///
/// # Safety
/// The elements are readable, aligned, and of the kernel's type; `to` has room for a value.
pub unsafe fn one_block(kernel: &dyn Loops, x: *const Item, n: usize, to: *mut Value) {
    /// Room for any node.
    #[repr(C, align(64))]
    struct Room([MaybeUninit<u8>; MOST_NODE]);
    let mut room = Room([MaybeUninit::uninit(); MOST_NODE]);
    assert!(kernel.facts().node <= size_of::<Room>());
    let node: *mut Node = (&raw mut room.0).cast();
    // SAFETY: the caller vouches for the elements and room for a value; a node fits the room, as asserted, which is
    // aligned for every node.
    unsafe {
        kernel.block(std::ptr::null(), x, n, 0, node);
        kernel.finish(node, 1, n as u64, to);
    }
}
