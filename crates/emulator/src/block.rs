//! One block: its threads are coroutines on one OS thread, scheduled warp by warp.

use super::counters::Counters;
use super::fault::{Fault, Kind, Log, Op};
use super::lane::Lane;
use super::requests::Table;
use super::state::{Array, Block, Context, Copies, State, Warp};
use super::sync::learn;
use super::wait::Wait;
use core::cell::{Cell, RefCell};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use std::panic::{AssertUnwindSafe, catch_unwind};
use warpfold_simt::Dim;

/// What one OS thread gathers over the blocks that it runs.
#[derive(Default)]
pub(super) struct Gathered {
    pub(super) table: Table,
    pub(super) log: Log,
    pub(super) shared_bytes: u64,
}

/// Host stack per GPU thread; pages that are not touched cost nothing.
const STACK: usize = 1 << 20;

/// What the last block on this OS thread leaves to the next: to map a stack takes longer than a short kernel, and what
/// a warp notes grows to some hundred KiB, as do the cells of shared arrays.
#[derive(Default)]
struct Spare {
    stacks: Vec<DefaultStack>,
    warps: Vec<Warp>,
    arrays: Vec<Option<Box<Array>>>,
}

thread_local! {
    static SPARE: Cell<Spare> =
        const { Cell::new(Spare { stacks: Vec::new(), warps: Vec::new(), arrays: Vec::new() }) };
}

/// Runs block number `number`.
pub(super) fn run(context: &Context<'_>, number: u32, kernel: &dyn Fn(&Lane<'_>), gathered: &mut Gathered) {
    let threads = context.block.count() as usize;
    let Spare { stacks: mut pool, mut warps, arrays: spare } = SPARE.take();
    pool.resize_with(threads.max(pool.len()), || DefaultStack::new(STACK).expect("address space for a stack"));
    warps.truncate(threads.div_ceil(32));
    warps.iter_mut().for_each(Warp::renew);
    warps.resize_with(threads.div_ceil(32), Warp::new);
    let block = Block {
        context,
        index: Dim { x: number % context.grid.x, y: number / context.grid.x },
        state: RefCell::new(State {
            table: std::mem::take(&mut gathered.table),
            log: std::mem::take(&mut gathered.log),
            epoch: 0,
            warps,
            arrays: Vec::new(),
            spare,
            waits: vec![Wait::Ready; threads],
            answers: vec![0; threads],
            copies: vec![Copies::default(); threads],
            acquired: Vec::new(),
        }),
    };
    let block_ref = &block;
    let mut coroutines: Vec<Coroutine<(), (), (), DefaultStack>> = (0..threads as u32)
        .map(|thread| {
            let body = move |yielder: &corosensei::Yielder<(), ()>, ()| kernel(&Lane::new(block_ref, thread, yielder));
            // SAFETY: the closure borrows `block` and `kernel`. `coroutines` is declared after both, so it is dropped
            // first, and the coroutines never leave this function.
            unsafe { Coroutine::with_stack_unchecked(pool.pop().expect("one stack per thread"), body) }
        })
        .collect();
    schedule(&block, &mut coroutines);
    pool.extend(coroutines.into_iter().map(Coroutine::into_stack));
    let state = block.state.into_inner();
    let bytes: usize = state.arrays.iter().flatten().map(|a| a.data.len()).sum();
    let shared_bytes = gathered.shared_bytes.max(bytes as u64);
    SPARE.set(Spare { stacks: pool, warps: state.warps, arrays: state.arrays });
    *gathered = Gathered { table: state.table, log: state.log, shared_bytes };
}

fn schedule(block: &Block<'_>, coroutines: &mut [Coroutine<(), (), (), DefaultStack>]) {
    loop {
        for (w, lanes) in coroutines.chunks_mut(32).enumerate() {
            loop {
                for (l, coroutine) in lanes.iter_mut().enumerate() {
                    let thread = w * 32 + l;
                    if matches!(block.state.borrow().waits[thread], Wait::Ready) {
                        resume(block, thread, coroutine);
                    }
                }
                if !block.answer_warp(w) {
                    break;
                }
            }
        }
        if !block.release() {
            return;
        }
    }
}

fn resume(block: &Block<'_>, thread: usize, coroutine: &mut Coroutine<(), (), (), DefaultStack>) {
    let result = catch_unwind(AssertUnwindSafe(|| coroutine.resume(())));
    if matches!(result, Ok(CoroutineResult::Yield(()))) {
        return;
    }
    let mut state = block.state.borrow_mut();
    state.waits[thread] = Wait::Returned;
    if let Err(panic) = result {
        let message = panic.downcast_ref::<String>().cloned();
        let message = message.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string())).unwrap_or_default();
        let act = block.act(thread, Op::Return, None);
        state.log.push(Fault { kind: Kind::Panic(message), act, other: None, place: None, occurrences: 1 });
    }
}

impl Block<'_> {
    /// When no thread can run: opens the block barrier, or reports why it can never open. False when all have returned.
    fn release(&self) -> bool {
        let mut guard = self.state.borrow_mut();
        let state = &mut *guard;
        for warp in &mut state.warps {
            warp.requests.flush(&mut state.table);
        }
        if state.waits.iter().any(|w| matches!(w, Wait::Warp { .. })) {
            drop(guard);
            self.force_warps();
            return true;
        }
        let Some(first) = state.waits.iter().position(|w| matches!(w, Wait::Barrier(_))) else {
            return false;
        };
        let Wait::Barrier(site) = state.waits[first] else { unreachable!("just found") };
        let elsewhere = state.waits.iter().position(|w| !matches!(w, Wait::Barrier(s) if *s == site));
        if let Some(other) = elsewhere {
            let (act, other) = (self.waiting(state, first), self.waiting(state, other));
            let kind = Kind::BarrierDivergence;
            state.log.push(Fault { kind, act, other: Some(other), place: None, occurrences: 1 });
        }
        state.table.add(site, None, &Counters { barriers: 1, ..Counters::default() });
        state.epoch += 1;
        for warp in &mut state.warps {
            for acquired in &mut warp.acquired {
                learn(&mut state.acquired, acquired);
                acquired.clear();
            }
        }
        for wait in &mut state.waits {
            if matches!(wait, Wait::Barrier(_)) {
                *wait = Wait::Ready;
            }
        }
        true
    }
}
