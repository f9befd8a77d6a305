//! Tasks on the threads of rayon's current pool.
//!
//! Rayon's iterators are compiled for every closure. Here all tasks go through one function, which is compiled once.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use crate::output::Output;

/// Runs the tasks 0 to `n`. After a panic the tasks that have not begun are left out, and the panic goes on: so a
/// caller's `progress` that panics ends the work.
pub fn for_each(n: usize, task: &(dyn Fn(usize) + Sync)) {
    if n == 1 {
        return task(0);
    }
    let ended = AtomicBool::new(false);
    (0..n).into_par_iter().for_each(|i| {
        if !ended.load(Ordering::Relaxed) {
            let end = End(&ended);
            task(i);
            std::mem::forget(end);
        }
    });
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
