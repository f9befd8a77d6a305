//! One block: its threads are coroutines on one OS thread, scheduled warp by warp.

use super::collective::{Ask, Wait};
use super::counters::Counters;
use super::fault::{Act, Fault, Kind, Log, Op};
use super::lane::Lane;
use super::memory::Memory;
use super::race::{Cell, Known};
use super::requests::{Loops, Requests, Table};
use super::sync::{Acquired, Releases, learn};
use core::cell::RefCell;
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use rustc_hash::FxHashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use warpfold_simt::Dim;

/// What all blocks of a launch share.
pub(super) struct Context<'m> {
    pub(super) memory: &'m Memory,
    pub(super) releases: Releases,
    pub(super) launch: u32,
    pub(super) grid: Dim,
    pub(super) block: Dim,
}

/// What one OS thread gathers over the blocks that it runs.
#[derive(Default)]
pub(super) struct Gathered {
    pub(super) table: Table,
    pub(super) log: Log,
    pub(super) shared_bytes: u64,
    stacks: Vec<DefaultStack>,
}

/// A block while it runs.
pub(super) struct Block<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) index: Dim,
    pub(super) state: RefCell<State>,
}

pub(super) struct State {
    pub(super) table: Table,
    pub(super) log: Log,
    pub(super) epoch: u32,
    pub(super) warps: Vec<Warp>,
    pub(super) arrays: FxHashMap<u32, Array>,
    /// Per thread: what it waits for.
    pub(super) waits: Vec<Wait>,
    /// Per thread: the answer to the shuffle or vote that it waited for.
    pub(super) answers: Vec<u32>,
    /// What every thread has acquired from other blocks.
    pub(super) acquired: Vec<Acquired>,
}

pub(super) struct Warp {
    /// Per lane, its vector clock.
    pub(super) clocks: Vec<[u32; 32]>,
    /// Per lane, what it alone has acquired since the last block barrier.
    pub(super) acquired: Vec<Vec<Acquired>>,
    pub(super) loops: Vec<Loops>,
    pub(super) requests: Requests,
}

/// A shared array.
pub(super) struct Array {
    pub(super) name: &'static str,
    pub(super) element: u32,
    pub(super) data: Vec<u8>,
    pub(super) cells: Vec<Cell>,
}

/// Host stack per GPU thread; pages that are not touched cost nothing.
const STACK: usize = 128 << 10;

/// Runs block number `number`.
pub(super) fn run(context: &Context<'_>, number: u32, kernel: &dyn Fn(&Lane<'_>), gathered: &mut Gathered) {
    let threads = context.block.count() as usize;
    let mut pool = std::mem::take(&mut gathered.stacks);
    pool.resize_with(threads.max(pool.len()), || DefaultStack::new(STACK).expect("address space for a stack"));
    let block = Block {
        context,
        index: Dim { x: number % context.grid.x, y: number / context.grid.x },
        state: RefCell::new(State {
            table: std::mem::take(&mut gathered.table),
            log: std::mem::take(&mut gathered.log),
            epoch: 0,
            warps: (0..threads.div_ceil(32)).map(|_| Warp::new()).collect(),
            arrays: FxHashMap::default(),
            waits: vec![Wait::Ready; threads],
            answers: vec![0; threads],
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
    let bytes: usize = state.arrays.values().map(|a| a.data.len()).sum();
    let shared_bytes = gathered.shared_bytes.max(bytes as u64);
    *gathered = Gathered { table: state.table, log: state.log, shared_bytes, stacks: pool };
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
    pub(super) fn thread(&self, linear: usize) -> Dim {
        let x = self.context.block.x as usize;
        Dim { x: (linear % x) as u32, y: (linear / x) as u32 }
    }

    /// The block's index as one number.
    pub(super) fn number(&self) -> u32 {
        self.index.y * self.context.grid.x + self.index.x
    }

    pub(super) fn act(&self, thread: usize, op: Op, site: Option<super::fault::Site>) -> Act {
        Act { block: self.index, thread: self.thread(thread), op, site }
    }

    /// What a thread waits for, as an act.
    pub(super) fn waiting(&self, state: &State, thread: usize) -> Act {
        match &state.waits[thread] {
            Wait::Barrier(site) => self.act(thread, Op::Barrier, Some((*site).into())),
            Wait::Warp { ask, site, .. } => self.act(thread, ask.op(), Some((*site).into())),
            Wait::Ready | Wait::Returned => self.act(thread, Op::Return, None),
        }
    }

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

impl State {
    /// What a thread knows to have happened in its own block.
    pub(super) fn known(&self, block: u32, thread: u32) -> Known<'_> {
        let lanes = &self.warps[thread as usize / 32].clocks[thread as usize % 32];
        Known { block, thread, epoch: self.epoch, lanes }
    }
}

impl Warp {
    fn new() -> Warp {
        let clock = |lane: usize| core::array::from_fn(|other| u32::from(lane == other));
        Warp {
            clocks: (0..32).map(clock).collect(),
            acquired: vec![Vec::new(); 32],
            loops: std::iter::repeat_with(Loops::default).take(32).collect(),
            requests: Requests::default(),
        }
    }

    /// Orders everything that the lanes of `mask` did before everything that they do next.
    pub(super) fn join(&mut self, mask: u32) {
        let members = || (0..32).filter(|l| mask >> l & 1 == 1);
        let joined: [u32; 32] =
            core::array::from_fn(|other| members().map(|l: usize| self.clocks[l][other]).max().unwrap_or(0));
        let mut acquired = Vec::new();
        members().for_each(|l| learn(&mut acquired, &self.acquired[l]));
        for l in members() {
            self.clocks[l] = joined;
            self.clocks[l][l] += 1;
            learn(&mut self.acquired[l], &acquired);
        }
    }
}

impl Ask {
    fn op(&self) -> Op {
        match self {
            Ask::Barrier => Op::WarpBarrier,
            Ask::Shuffle { .. } => Op::Shuffle,
            Ask::Vote { .. } => Op::Vote,
        }
    }
}
