//! Where work runs: small work on the calling thread, large work on threads of the package's own, without the lock of
//! the interpreter.
//!
//! - Threads do not survive `fork`, so a pool belongs to the process that made it. A child makes one of its own.
//!   Nothing here takes a lock that another thread could hold during a fork.
//! - Small work, and all work of a process that has asked for one thread, runs on the calling thread alone: threads of
//!   Python then do not wait for one another, and no other pool is touched.
//! - The calling thread works, too, and looks for signals between its tasks. Ctrl-C stops tasks that have not begun.
//! - A panic becomes an exception.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use warpfold::Error;
use warpfold_array::Progress;
use warpfold_cpu::parallel::{alone, beside, watched};

use crate::error;

/// The most elements that are reduced without releasing the interpreter: about as long as releasing takes.
pub const HOLD: usize = 1 << 14;
/// The fewest elements that threads are worth.
const MANY: usize = 1 << 17;
/// How long a thread works before it looks for signals.
const PATIENCE: Duration = Duration::from_millis(50);

/// A process's threads. Pools are never freed: a pool of an earlier number of threads sleeps, and that of another
/// process cannot be ended.
struct Pool {
    process: u32,
    /// With the calling one.
    threads: usize,
    rayon: rayon::ThreadPool,
    next: *const Pool,
}

static POOLS: AtomicPtr<Pool> = AtomicPtr::new(std::ptr::null_mut());
/// The number of threads that is asked for; 0: not yet.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// How the work is to be done.
#[derive(Clone, Copy)]
pub struct How<'a> {
    /// As `Options::threads`.
    pub threads: Option<usize>,
    /// As `Options::progress`.
    pub progress: Option<Progress<'a>>,
}

/// What a task ends with when the user has interrupted the work.
struct Interrupted;

/// The number of threads that large work takes.
pub fn threads() -> usize {
    match THREADS.load(Ordering::Relaxed) {
        0 => {
            let said = std::env::var("WARPFOLD_NUM_THREADS").ok().and_then(|text| text.parse().ok());
            let all = || std::thread::available_parallelism().map_or(1, usize::from);
            let threads = said.filter(|&n: &usize| n > 0).unwrap_or_else(all);
            THREADS.store(threads, Ordering::Relaxed);
            threads
        }
        threads => threads,
    }
}

/// Sets the number of threads.
pub fn set_threads(threads: usize) {
    THREADS.store(threads, Ordering::Relaxed);
}

/// This process's pool of helpers for so many threads, at least two.
fn pool(threads: usize) -> Result<&'static rayon::ThreadPool, Error> {
    let process = std::process::id();
    let first = POOLS.load(Ordering::Acquire);
    let mut at = first.cast_const();
    // SAFETY: pools in the list are never freed nor changed.
    while let Some(pool) = unsafe { at.as_ref() } {
        if (pool.process, pool.threads) == (process, threads) {
            return Ok(&pool.rayon);
        }
        at = pool.next;
    }
    let built =
        rayon::ThreadPoolBuilder::new().num_threads(threads - 1).thread_name(|i| format!("warpfold-{i}")).build();
    let rayon = built.map_err(|e| Error::Threads { threads, why: e.to_string() })?;
    let mut pool = Box::new(Pool { process, threads, rayon, next: first });
    // Two threads may each add a pool of one number of threads. Either is found from then on.
    loop {
        let next = pool.next.cast_mut();
        let raw = Box::into_raw(pool);
        match POOLS.compare_exchange(next, raw, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: the list has the pool now, and never frees it.
            Ok(_) => return Ok(unsafe { &(*raw).rayon }),
            Err(other) => {
                // SAFETY: the list does not have it, so it is still this thread's alone.
                pool = unsafe { Box::from_raw(raw) };
                pool.next = other;
            }
        }
    }
}

type Said<T> = Result<Result<T, Error>, Box<dyn Any + Send>>;

/// Runs work on `elements` elements, on this thread or on many.
pub fn run<T, F>(py: Python<'_>, elements: usize, work: F) -> PyResult<T>
where
    T: Send,
    F: FnOnce(How<'_>) -> Result<T, Error> + Send,
{
    run_on(py, threads(), elements, work)
}

/// [`run`], with one thread for a caller who has threads of its own.
pub fn run_on<T, F>(py: Python<'_>, threads: usize, elements: usize, work: F) -> PyResult<T>
where
    T: Send,
    F: FnOnce(How<'_>) -> Result<T, Error> + Send,
{
    let said = if elements <= HOLD {
        catch_unwind(AssertUnwindSafe(|| alone(|| work(How { threads: Some(1), progress: None }))))
    } else if elements < MANY || threads == 1 {
        py.detach(|| on_threads(None, work))?
    } else {
        py.detach(|| match pool(threads) {
            Ok(pool) => on_threads(Some(pool), work),
            Err(e) => Ok(Ok(Err(e))),
        })?
    };
    result(py, said)
}

/// Runs work on this thread, without the interpreter's lock: calls of a GPU's driver.
pub fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, Error> + Send) -> PyResult<T> {
    let said = py.detach(|| catch_unwind(AssertUnwindSafe(work)));
    result(py, said)
}

fn result<T>(py: Python<'_>, said: Said<T>) -> PyResult<T> {
    match said {
        Ok(said) => said.map_err(|e| error::of(py, &e)),
        Err(panic) => Err(error::panicked(panic.as_ref())),
    }
}

/// Runs work on this thread, which looks for signals now and then, and on those of a pool.
fn on_threads<T>(
    pool: Option<&rayon::ThreadPool>,
    work: impl FnOnce(How<'_>) -> Result<T, Error>,
) -> PyResult<Said<T>> {
    let (owner, stop) = (thread::current().id(), AtomicBool::new(false));
    // When to look next, and what was found. (A lock, since what looks must be `Sync`; no other thread takes it.)
    let state = Mutex::new((Instant::now() + PATIENCE, None::<PyErr>));
    let look = |_: u64| {
        if thread::current().id() == owner {
            // What a signal's handler computes looks, too, while this looks.
            let Ok(mut state) = state.try_lock() else { return };
            let now = Instant::now();
            if now < state.0 {
                return;
            }
            state.0 = now + PATIENCE;
            // `None`: the interpreter is ending, and has no use for signals.
            if let Some(Err(e)) = Python::try_attach(|py| py.check_signals()) {
                state.1 = Some(e);
                stop.store(true, Ordering::Relaxed);
            }
        }
        if stop.load(Ordering::Relaxed) {
            // Unlike a panic, this prints nothing.
            resume_unwind(Box::new(Interrupted));
        }
    };
    let said = catch_unwind(AssertUnwindSafe(|| {
        watched(&look, || match pool {
            Some(pool) => beside(pool, || work(How { threads: None, progress: Some(&look) })),
            None => alone(|| work(How { threads: Some(1), progress: Some(&look) })),
        })
    }));
    match state.into_inner().unwrap_or_else(PoisonError::into_inner).1 {
        Some(e) => Err(e),
        None => Ok(said),
    }
}
