//! Tasks on the calling thread and on those of a pool, on the threads of rayon's current pool, or on the calling thread
//! alone.
//!
//! Rayon's iterators are compiled for every closure. Here all tasks go through one function, which is compiled once.
//! What holds for a call ([`watched`], [`alone`], [`beside`]) holds for all of its tasks, on whatever thread they run.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rayon::ThreadPool;
use rayon::prelude::*;
use warpfold_array::Progress;

use crate::gate::share;
use crate::output::Output;

/// What holds for a call.
#[derive(Clone, Copy)]
struct Call {
    /// Whether all tasks run on the calling thread.
    alone: bool,
    /// The caller's function. It is there as long as the call: [`Entered`] takes it away.
    watch: Option<*const (dyn Fn(u64) + Sync)>,
    /// The pool whose threads help the calling one. As long there.
    crew: Option<*const ThreadPool>,
}

// SAFETY: the function and the pool are `Sync`, so any thread may use them.
unsafe impl Sync for Call {}

thread_local! {
    static CALL: Cell<Call> = const { Cell::new(Call { alone: false, watch: None, crew: None }) };
}

impl Call {
    /// Calls the caller's function.
    fn look(&self) {
        if let Some(watch) = self.watch {
            // SAFETY: the address is of a reference that `watched` was given. This runs within that call: a task ends
            // before the `for_each` that has begun it returns, and `Entered` takes the address from the thread.
            unsafe { (*watch)(0) };
        }
    }

    /// Holds on this thread until the value is dropped.
    fn enter(self) -> Entered {
        Entered(CALL.replace(self))
    }
}

/// What held on this thread before.
struct Entered(Call);

impl Drop for Entered {
    fn drop(&mut self) {
        CALL.set(self.0);
    }
}

/// Runs `work`, and calls `watch(0)` before each of its tasks. If `watch` panics, tasks that have not begun are left
/// out, and the panic goes on.
pub fn watched<T>(watch: Progress<'_>, work: impl FnOnce() -> T) -> T {
    // SAFETY: only the lifetime changes; the address is taken away when this function returns.
    let watch: *const (dyn Fn(u64) + Sync) = unsafe { std::mem::transmute::<Progress<'_>, Progress<'static>>(watch) };
    let _entered = Call { watch: Some(watch), ..CALL.get() }.enter();
    work()
}

/// Runs `work` with all of its tasks on this thread: no thread of a pool is waited for.
pub fn alone<T>(work: impl FnOnce() -> T) -> T {
    let _entered = Call { alone: true, ..CALL.get() }.enter();
    work()
}

/// Runs `work` with its tasks on this thread and on those of the pool. A thread of the pool that comes late is not
/// waited for.
pub fn beside<T>(pool: &ThreadPool, work: impl FnOnce() -> T) -> T {
    let _entered = Call { crew: Some(pool), ..CALL.get() }.enter();
    work()
}

/// Lets the caller's function look, in a long task.
pub fn look() {
    CALL.get().look();
}

/// The threads that tasks run on.
pub fn threads() -> usize {
    match CALL.get() {
        Call { alone: true, .. } => 1,
        // SAFETY: `Entered` takes the address from the thread before `beside` returns.
        Call { crew: Some(crew), .. } => unsafe { (*crew).current_num_threads() + 1 },
        Call { crew: None, .. } => rayon::current_num_threads(),
    }
}

/// Runs the tasks 0 to `n`. After a panic the tasks that have not begun are left out, and the panic goes on: so a
/// caller's `progress` that panics ends the work.
pub fn for_each(n: usize, task: &(dyn Fn(usize) + Sync)) {
    let call = &CALL.get();
    let run = |i| {
        call.look();
        task(i);
    };
    if n <= 1 || call.alone {
        return (0..n).for_each(run);
    }
    let ended = AtomicBool::new(false);
    let run = |i| {
        if !ended.load(Ordering::Relaxed) {
            let end = End(&ended);
            run(i);
            std::mem::forget(end);
        }
    };
    if call.crew.is_some() || rayon::current_thread_index().is_none() {
        return helped(call, n, &run);
    }
    (0..n).into_par_iter().for_each(|i| {
        let _entered = call.enter();
        run(i);
    });
}

/// Runs the tasks 0 to `n` on this thread, which is no worker of a pool, or has a crew, and on helpers. Each takes the
/// next task.
///
/// (Work that goes to a pool as a whole waits for two threads to wake, and then for the calling one. Max of 40 MB of
/// f32 from Python, two threads of a busy EPYC, medians of two pairs of runs in ms: 1.33, and so 0.81; 1.14, and so
/// 0.97. There is no record.)
fn helped(call: &Call, n: usize, run: &(dyn Fn(usize) + Sync)) {
    let next = AtomicUsize::new(0);
    let take = || {
        let tasks = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        tasks.take_while(|&i| i < n).for_each(run);
    };
    let help = || {
        let _entered = Call { crew: None, ..*call }.enter();
        take();
    };
    let spawn = |helper: Box<dyn FnOnce() + Send>| match call.crew {
        // SAFETY: as in `threads`.
        Some(crew) => unsafe { (*crew).spawn(helper) },
        None => rayon::spawn(helper),
    };
    share(threads().min(n) - 1, &spawn, &help, take);
}

/// Tells the other tasks when it is dropped, which only a panic does.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The results of the tasks 0 to `n`, in order.
pub fn map<T: Send>(n: usize, task: impl Fn(usize) -> T + Sync) -> Vec<T> {
    results(n, |run| for_each(n, run), task)
}

/// [`map`], where `run` runs all tasks.
pub fn results<T: Send>(n: usize, run: impl Fn(&(dyn Fn(usize) + Sync)), task: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let mut results: Vec<T> = Vec::with_capacity(n);
    let slots = Output::new(&mut results.spare_capacity_mut()[..n]);
    // SAFETY: each task writes its own slot. If one panics, the length is still 0, so no slot is dropped.
    run(&|i| unsafe { slots.write(i as isize, task(i)) });
    // SAFETY: `run` has run all tasks, so every slot is written.
    unsafe { results.set_len(n) };
    results
}

/// Calls `task` with the number of each chunk of `size` values, and the chunk; the last may be shorter.
#[cfg(feature = "reductions")]
pub fn chunks<T: Send>(x: &mut [T], size: usize, task: impl Fn(usize, &mut [T]) + Sync) {
    let n = x.len();
    // SAFETY: `MaybeUninit<T>` has the layout of `T`, and only initialised values are written to the places.
    let places = Output::new(unsafe { &mut *(std::ptr::from_mut(x) as *mut [std::mem::MaybeUninit<T>]) });
    for_each(n.div_ceil(size), &|i| {
        let len = size.min(n - i * size);
        // SAFETY: `x` is borrowed for the whole call; chunks are disjoint, and each has one task.
        task(i, unsafe { std::slice::from_raw_parts_mut(places.at((i * size) as isize, len), len) });
    });
}

/// [`chunks`] of two lists of one length.
#[cfg(feature = "reductions")]
pub fn pairs<A: Send, B: Send>(a: &mut [A], b: &mut [B], size: usize, task: impl Fn(usize, &mut [A], &mut [B]) + Sync) {
    let mut both: Vec<(&mut [A], &mut [B])> = a.chunks_mut(size).zip(b.chunks_mut(size)).collect();
    chunks(&mut both, 1, |i, both| both.iter_mut().for_each(|(a, b)| task(i, a, b)));
}
