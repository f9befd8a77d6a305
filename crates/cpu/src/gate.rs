//! Work that other threads may help with for as long as its owner is at it. Who comes later is not waited for.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Thread};

/// Looks at the helpers that are still within before the owner sleeps. Not measured.
const LOOKS: usize = 1 << 10;

/// Set when no helper may enter any more.
const CLOSED: usize = 1;

/// A helper that is within.
const HELPER: usize = 2;

/// What helpers do.
type Help = dyn Fn() + Sync;

/// What the owner and its helpers share.
struct Gate {
    /// [`CLOSED`], and [`HELPER`] for each helper that is within.
    state: AtomicUsize,
    /// Good until the gate is closed and nobody is within.
    help: *const Help,
    owner: Thread,
    /// What a helper has panicked with.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

// SAFETY: the function is `Sync`, so any thread may call it; all else is `Send` and `Sync`.
unsafe impl Send for Gate {}
// SAFETY: as above.
unsafe impl Sync for Gate {}

impl Gate {
    /// Helps, unless the gate is closed.
    fn enter(&self) {
        let enter = |state| (state & CLOSED == 0).then_some(state + HELPER);
        if self.state.fetch_update(Ordering::Acquire, Ordering::Relaxed, enter).is_err() {
            return;
        }
        // SAFETY: this thread is within, so the owner still waits in `close`.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| unsafe { (*self.help)() })) {
            *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
        }
        if self.state.fetch_sub(HELPER, Ordering::Release) == CLOSED + HELPER {
            self.owner.unpark();
        }
    }

    /// Waits until nobody is within, and lets nobody in.
    fn close(&self) {
        self.state.fetch_or(CLOSED, Ordering::Relaxed);
        let mut looks = 0;
        while self.state.load(Ordering::Acquire) != CLOSED {
            if looks < LOOKS {
                looks += 1;
                std::hint::spin_loop();
            } else {
                thread::park();
            }
        }
    }
}

/// Closes the gate even if the owner panics.
struct Closed<'a>(&'a Gate);

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Runs `own`. Meanwhile the threads that run what `spawn` is given, of which there are `helpers` at most, call `help`.
/// A panic on any thread goes on here.
pub fn share(helpers: usize, spawn: &dyn Fn(Box<dyn FnOnce() + Send>), help: &(dyn Fn() + Sync), own: impl FnOnce()) {
    // SAFETY: only the lifetime changes. Nobody calls the function who is not within, and `Closed` waits for those.
    let help: *const Help = unsafe { std::mem::transmute::<&(dyn Fn() + Sync), &'static Help>(help) };
    let state = AtomicUsize::new(0);
    let gate = Arc::new(Gate { state, help, owner: thread::current(), panic: Mutex::new(None) });
    let closed = Closed(&gate);
    for _ in 0..helpers {
        let gate = gate.clone();
        spawn(Box::new(move || gate.enter()));
    }
    own();
    drop(closed);
    if let Some(panic) = gate.panic.lock().unwrap_or_else(PoisonError::into_inner).take() {
        resume_unwind(panic);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helpers_that_come_late_find_the_gate_closed() {
        let late = Mutex::new(Vec::new());
        let helped = AtomicUsize::new(0);
        let help = || {
            helped.fetch_add(1, Ordering::Relaxed);
        };
        share(3, &|helper| late.lock().unwrap().push(helper), &help, || ());
        late.into_inner().unwrap().into_iter().for_each(|helper| helper());
        assert_eq!(helped.into_inner(), 0);
    }

    #[test]
    fn the_owner_waits_for_a_helper_that_is_within() {
        for _ in 0..100 {
            let (within, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let help = || {
                within.store(1, Ordering::Relaxed);
                thread::sleep(std::time::Duration::from_micros(200));
                done.store(1, Ordering::Relaxed);
            };
            let own = || {
                while within.load(Ordering::Relaxed) == 0 {
                    thread::yield_now();
                }
            };
            share(1, &|helper| drop(thread::spawn(helper)), &help, own);
            assert_eq!(done.load(Ordering::Relaxed), 1);
        }
    }

    #[test]
    fn a_panic_of_a_helper_goes_on_in_the_owner() {
        let within = AtomicUsize::new(0);
        let help = || {
            within.store(1, Ordering::Relaxed);
            resume_unwind(Box::new("helper"));
        };
        let own = || {
            while within.load(Ordering::Relaxed) == 0 {
                thread::yield_now();
            }
        };
        let said = catch_unwind(AssertUnwindSafe(|| share(1, &|helper| drop(thread::spawn(helper)), &help, own)));
        assert_eq!(*said.unwrap_err().downcast::<&str>().unwrap(), "helper");
    }
}
