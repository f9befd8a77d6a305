//! Runs a kernel over a problem: cuts it into tasks along subtrees, and joins their nodes.

use std::mem::MaybeUninit;

use rayon::prelude::*;
use warpfold_core::Reducer;

use super::kernel::{Acc, Item, Kernel};
use super::load::Load;
use super::policy::{BLOCK, CHUNK, ONE_THREAD};
use super::route::Route;
use super::tree::combine_nodes;
use warpfold_array::Progress;
use warpfold_array::problem::{At, Dim, Problem, Walk};

/// Everything that a task needs.
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

/// The output, written by several tasks, each place once.
pub struct Output<T> {
    first: *mut MaybeUninit<T>,
    len: usize,
}

// SAFETY: tasks write disjoint places.
unsafe impl<T: Send> Sync for Output<T> {}

impl<T> Output<T> {
    /// The places of `room`, which outlive it.
    pub fn new(room: &mut [MaybeUninit<T>]) -> Self {
        Self { first: room.as_mut_ptr(), len: room.len() }
    }

    /// # Safety
    /// Nobody else writes the place.
    pub unsafe fn write(&self, index: isize, value: T) {
        assert!((index as usize) < self.len);
        // SAFETY: in bounds; the caller's.
        unsafe { (*self.first.offset(index)).write(value) };
    }
}

impl<T> Output<T> {
    /// # Safety
    /// Nobody else writes the places.
    #[expect(clippy::mut_from_ref, reason = "disjoint places, by the contract")]
    pub(super) unsafe fn range(&self, from: isize, n: usize) -> &mut [MaybeUninit<T>] {
        assert!((from as usize).checked_add(n).is_some_and(|end| end <= self.len));
        // SAFETY: in bounds; the caller's.
        unsafe { std::slice::from_raw_parts_mut(self.first.offset(from), n) }
    }
}

/// The result of one output.
pub type Out<K> = <<K as Kernel>::R as Reducer>::Output;

/// Computes every output. `None` if there are no elements to reduce and the reducer has no identity.
///
/// # Safety
/// Every element that the problem reaches from `job.base` is readable.
pub unsafe fn run<K: Kernel, L: Load<Item<K>>>(job: &Job<'_, K, L>) -> Option<Vec<Out<K>>>
where
    Out<K>: Send,
{
    let Problem { count, outputs, .. } = *job.problem;
    if count == 0 {
        return (0..outputs).map(|_| job.kernel.reducer().finish_empty()).collect();
    }
    let mut values: Vec<Out<K>> = Vec::with_capacity(outputs);
    large_pages(values.spare_capacity_mut());
    if outputs > 0 {
        let out = Output { first: values.spare_capacity_mut().as_mut_ptr(), len: outputs };
        // SAFETY: the caller's.
        unsafe {
            match Route::of(job.problem) {
                Route::Rows => job.rows(&out),
                Route::Columns { lane } => job.columns(lane, false, &out),
                Route::Interleaved { lane } => job.columns(lane, true, &out),
                Route::Transposed { lane } => job.transposed(lane, &out),
                Route::Runs => job.runs(&out),
            }
        }
    }
    // SAFETY: every route writes every output.
    unsafe { values.set_len(outputs) };
    Some(values)
}

/// Asks for large pages under a large result: it is written once, and small pages cost more than the writes.
pub fn large_pages<T>(memory: &mut [MaybeUninit<T>]) {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 2 << 20;
        let start = memory.as_mut_ptr().addr().next_multiple_of(PAGE);
        let end = (memory.as_mut_ptr().addr() + size_of_val(memory)) / PAGE * PAGE;
        if end > start + PAGE {
            // SAFETY: whole pages of memory of ours; advice changes no contents. Its failure is no matter.
            unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}

/// Not generic, so that the machinery of threads is compiled once.
pub fn run_tasks(
    n: usize,
    threads: usize,
    bytes: usize,
    progress: Option<Progress<'_>>,
    task: &(dyn Fn(usize) + Sync),
) {
    let run = |i| {
        task(i);
        if let Some(progress) = progress {
            progress(bytes as u64);
        }
    };
    if threads == 1 || n == 1 {
        (0..n).for_each(run);
    } else {
        (0..n).into_par_iter().for_each(run);
    }
}

impl<K: Kernel, L: Load<Item<K>>> Job<'_, K, L>
where
    Out<K>: Send,
{
    /// Runs tasks, on this thread if there is little to do.
    pub(super) fn tasks(&self, n: usize, task: &(dyn Fn(usize) + Sync)) {
        let Problem { count, outputs, size, .. } = *self.problem;
        let work = count.saturating_mul(outputs);
        let threads = if work < ONE_THREAD { 1 } else { self.threads };
        let tells = matches!(Route::of(self.problem), Route::Columns { .. } | Route::Transposed { .. });
        let bytes = if tells { 0 } else { (work / n).max(1) * size };
        run_tasks(n, threads, bytes, self.progress, task);
    }

    /// Tells how many more elements have been read: for tasks that touch many more pages than they read bytes.
    pub(super) fn tell(&self, elements: usize) {
        if let Some(progress) = self.progress {
            progress((elements * self.problem.size) as u64);
        }
    }

    /// Runs tasks, and keeps their results.
    pub(super) fn results<T: Send>(&self, n: usize, task: impl Fn(usize) -> T + Sync) -> Vec<T> {
        let mut results: Vec<T> = Vec::with_capacity(n);
        let slots = Output { first: results.spare_capacity_mut().as_mut_ptr(), len: n };
        // SAFETY: each task writes its own slot; if one panics, the results are forgotten, not dropped.
        self.tasks(n, &|i| unsafe { slots.write(i as isize, task(i)) });
        // SAFETY: every slot is written.
        unsafe { results.set_len(n) };
        results
    }

    /// Finishes outputs that are adjacent along a kept axis.
    ///
    /// # Safety
    /// Nobody else writes the places.
    pub(super) unsafe fn finish_along(&self, out: &Output<Out<K>>, at: isize, lane: &Dim, nodes: &[Acc<K>]) {
        if lane.out == 1 {
            // SAFETY: the caller's.
            let places = unsafe { out.range(at + self.problem.out_offset, nodes.len()) };
            return self.kernel.finish(nodes, self.problem.count as u64, places);
        }
        for (i, &acc) in nodes.iter().enumerate() {
            // SAFETY: the caller's.
            unsafe { self.finish(out, at + i as isize * lane.out, acc) };
        }
    }

    /// Finishes one output.
    ///
    /// # Safety
    /// Nobody else writes the place.
    pub(super) unsafe fn finish(&self, out: &Output<Out<K>>, at: isize, acc: Acc<K>) {
        let value = self.kernel.reducer().finish(acc, self.problem.count as u64);
        // SAFETY: the caller's.
        unsafe { out.write(at + self.problem.out_offset, value) };
    }

    /// Each output's elements one after the other.
    unsafe fn rows(&self, out: &Output<Out<K>>) {
        let Problem { count, outputs, .. } = *self.problem;
        if count > CHUNK {
            let chunks = count.div_ceil(CHUNK);
            let nodes = self.results(outputs * chunks, |task| {
                let base = Walk::new(&self.problem.kept, self.base, task / chunks).at();
                let from = task % chunks * CHUNK;
                // SAFETY: the caller's.
                unsafe { self.chunk(base, from, CHUNK.min(count - from), &mut Scratch::new()) }
            });
            let last = (count - (chunks - 1) * CHUNK) as u64;
            let mut walk = Walk::new(&self.problem.kept, self.base, 0);
            let mut list = Vec::with_capacity(chunks);
            for nodes in nodes.chunks(chunks) {
                list.clear();
                list.extend_from_slice(nodes);
                let root = combine_nodes(self.kernel.reducer(), &mut list, CHUNK as u64, last);
                // SAFETY: one writer per output.
                unsafe { self.finish(out, walk.out(), root.expect("at least one chunk")) };
                walk.advance();
            }
            return;
        }
        let group = (CHUNK / count).clamp(1, outputs.div_ceil(self.threads * 4).max(BLOCK.div_ceil(count)));
        self.tasks(outputs.div_ceil(group), &|task| {
            let (from, to) = (task * group, outputs.min((task + 1) * group));
            // SAFETY: the caller's; groups are disjoint.
            unsafe {
                match self.short_rows() {
                    Some(lane) => self.many_rows(lane, from, to, out),
                    None => self.few_rows(from, to, out),
                }
            }
        });
    }

    /// The kept axis along which rows follow one another without a gap, if rows are short enough to take many at once.
    fn short_rows(&self) -> Option<Dim> {
        let (inner, lane) = (self.problem.inner(), *self.problem.kept.last()?);
        let len = self.problem.count as isize;
        let dense = self.problem.reduced.len() <= 1 && inner.x == self.problem.size as isize;
        let adjacent =
            lane.x == inner.x * len && (lane.mask == inner.mask * len || (lane.mask == 0 && inner.mask == 0));
        (len as usize <= BLOCK / 2 && dense && adjacent).then_some(lane)
    }

    /// Outputs `from..to`, row by row.
    unsafe fn few_rows(&self, from: usize, to: usize, out: &Output<Out<K>>) {
        let mut scratch = Scratch::new();
        let mut walk = Walk::new(&self.problem.kept, self.base, from);
        for _ in from..to {
            // SAFETY: the caller's.
            unsafe {
                let acc = self.chunk(walk.at(), 0, self.problem.count, &mut scratch);
                self.finish(out, walk.out(), acc);
            }
            walk.advance();
        }
    }

    /// Outputs `from..to`, a block of rows at a time.
    unsafe fn many_rows(&self, lane: Dim, from: usize, to: usize, out: &Output<Out<K>>) {
        let mut scratch = Scratch::<K>::new();
        let mut nodes = Vec::new();
        let len = self.problem.count;
        let along = Dim { len: lane.len * len, ..self.problem.inner() };
        let mut row = from;
        while row < to {
            let walk = Walk::new(&self.problem.kept, self.base, row);
            let batch = (BLOCK / len).min(to - row).min(lane.len - row % lane.len);
            nodes.clear();
            // SAFETY: the rows are adjacent; one writer per output.
            unsafe {
                let x = self.run_of(walk.at(), &along, batch * len, &mut scratch.items);
                self.kernel.rows(x, len, &mut nodes);
                self.finish_along(out, walk.out(), &lane, &nodes);
            }
            row += batch;
        }
    }

    /// The tree over `len` elements of one output, from the index `from` (a multiple of `CHUNK`).
    pub(super) unsafe fn chunk(&self, base: At, from: usize, len: usize, scratch: &mut Scratch<K>) -> Acc<K> {
        scratch.nodes.clear();
        for start in (from..from + len).step_by(BLOCK) {
            let n = BLOCK.min(from + len - start);
            // SAFETY: the caller's.
            let x = unsafe { self.sequence(base, start, n, &mut scratch.items) };
            let node = self.kernel.block_after(scratch.nodes.last().copied(), x, start as u64);
            scratch.nodes.push(node);
        }
        let last = (len - 1) % BLOCK + 1;
        combine_nodes(self.kernel.reducer(), &mut scratch.nodes, BLOCK as u64, last as u64).expect("len is not 0")
    }

    /// The tree over a run of `n` elements along the innermost axis, from the index `start`; `n` is at most [`BLOCK`].
    pub(super) unsafe fn run_at(&self, at: At, start: usize, n: usize, scratch: &mut Scratch<K>) -> Acc<K> {
        // SAFETY: the caller's.
        let x = unsafe { self.run_of(at, &self.problem.inner(), n, &mut scratch.items) };
        self.kernel.block(x, start as u64)
    }

    /// `n` elements along one axis: lent if memory has them so, else copied.
    pub(super) unsafe fn run_of<'s>(
        &self,
        at: At,
        dim: &Dim,
        n: usize,
        scratch: &'s mut Vec<Item<K>>,
    ) -> &'s [Item<K>] {
        let p = at.x.cast::<Item<K>>();
        // SAFETY: the caller's.
        unsafe {
            if self.load.direct() && dim.x == size_of::<Item<K>>() as isize && p.is_aligned() {
                return std::slice::from_raw_parts(p, n);
            }
            scratch.clear();
            scratch.reserve(n);
            self.load.gather(at, dim, n, scratch.as_mut_ptr());
            scratch.set_len(n);
        }
        scratch
    }

    /// `n` elements of one output's sequence, from the index `start`.
    pub(super) unsafe fn sequence<'s>(
        &self,
        base: At,
        start: usize,
        n: usize,
        scratch: &'s mut Vec<Item<K>>,
    ) -> &'s [Item<K>] {
        let inner = self.problem.inner();
        let outer = self.problem.reduced.split_last().map_or(&[][..], |(_, outer)| outer);
        let mut walk = Walk::new(outer, base, start / inner.len);
        let mut at = start % inner.len;
        // SAFETY: the caller's.
        unsafe {
            if at + n <= inner.len {
                return self.run_of(walk.at().step(&inner, at), &inner, n, scratch);
            }
            scratch.clear();
            scratch.reserve(n);
            let mut done = 0;
            while done < n {
                let run = (inner.len - at).min(n - done);
                self.load.gather(walk.at().step(&inner, at), &inner, run, scratch.as_mut_ptr().add(done));
                done += run;
                at = 0;
                walk.advance();
            }
            scratch.set_len(n);
        }
        scratch
    }
}

/// Room that a task uses again and again.
pub(super) struct Scratch<K: Kernel> {
    /// A tile of elements.
    pub items: Vec<Item<K>>,
    /// The nodes of blocks.
    pub nodes: Vec<Acc<K>>,
}

impl<K: Kernel> Scratch<K> {
    pub fn new() -> Self {
        Self { items: Vec::new(), nodes: Vec::new() }
    }
}
