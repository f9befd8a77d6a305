//! A block while it runs: what its threads wait for, what they have seen, what is counted.

use super::fault::{Act, Log, Op, Site};
use super::memory::Memory;
use super::race::{Cell, Known};
use super::requests::{Loops, Requests, Table};
use super::sync::{Acquired, Releases, learn};
use super::wait::Wait;
use core::cell::RefCell;
use core::panic::Location;
use std::collections::{BTreeSet, VecDeque};
use warpfold_simt::Dim;

/// What all blocks of a launch share.
pub(super) struct Context<'m> {
    pub(super) memory: &'m Memory,
    pub(super) releases: Releases,
    pub(super) launch: u32,
    pub(super) grid: Dim,
    pub(super) block: Dim,
    /// Bytes for a large shared array of any size; none: as many as it takes.
    pub(super) room: Option<u32>,
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
    /// By the number in their addresses.
    pub(super) arrays: Vec<Option<Box<Array>>>,
    /// Those of the last block on this OS thread, for new ones of the same size.
    pub(super) spare: Vec<Option<Box<Array>>>,
    /// Per thread: what it waits for.
    pub(super) waits: Vec<Wait>,
    /// Per thread: the answer to the shuffle or vote that it waited for.
    pub(super) answers: Vec<u32>,
    /// Per thread: what it has begun to copy to shared memory.
    pub(super) copies: Vec<Copies>,
    /// What every thread has acquired from other blocks.
    pub(super) acquired: Vec<Acquired>,
}

/// What is being copied to shared memory: where, what, and at which line.
pub(super) type Coming = (u32, u128, &'static Location<'static>);

/// What a thread has begun to copy to shared memory.
#[derive(Clone, Default)]
pub(super) struct Copies {
    /// In groups that it has ended.
    pub(super) groups: VecDeque<Vec<Coming>>,
    /// In no group yet.
    pub(super) begun: Vec<Coming>,
}

pub(super) struct Warp {
    /// Per lane, its vector clock.
    pub(super) clocks: Vec<[u32; 32]>,
    /// Per lane, what it alone has acquired since the last block barrier.
    pub(super) acquired: Vec<Vec<Acquired>>,
    pub(super) loops: Vec<Loops>,
    pub(super) requests: Requests,
    /// Per lane, what it brought to the last product of matrices.
    pub(super) words: [[u32; 3]; 32],
}

/// A shared array.
pub(super) struct Array {
    pub(super) name: &'static str,
    pub(super) element: u32,
    pub(super) data: Vec<u8>,
    pub(super) cells: Vec<Cell>,
    /// The threads that have written to it and not published that: a bit of each.
    pub(super) writers: [u32; 32],
    /// The addresses, in units of 16 bytes, to which something is being copied.
    pub(super) coming: BTreeSet<u32>,
}

/// The clocks of a warp's lanes at the start of a block: each has done one thing, and heard of no other.
const START: [[u32; 32]; 32] = {
    let (mut clocks, mut lane) = ([[0; 32]; 32], 0);
    while lane < 32 {
        clocks[lane][lane] = 1;
        lane += 1;
    }
    clocks
};

impl Block<'_> {
    pub(super) fn thread(&self, linear: usize) -> Dim {
        let x = self.context.block.x as usize;
        Dim { x: (linear % x) as u32, y: (linear / x) as u32 }
    }

    /// The block's index as one number.
    pub(super) fn number(&self) -> u32 {
        self.index.y * self.context.grid.x + self.index.x
    }

    pub(super) fn act(&self, thread: usize, op: Op, site: Option<Site>) -> Act {
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
}

impl State {
    /// What a thread knows to have happened in its own block.
    pub(super) fn known(&self, block: u32, thread: u32) -> Known<'_> {
        let lanes = &self.warps[thread as usize / 32].clocks[thread as usize % 32];
        Known { block, thread, epoch: self.epoch, lanes }
    }
}

impl Warp {
    pub(super) fn new() -> Warp {
        Warp {
            clocks: START.to_vec(),
            acquired: vec![Vec::new(); 32],
            loops: std::iter::repeat_with(Loops::default).take(32).collect(),
            requests: Requests::default(),
            words: [[0; 3]; 32],
        }
    }

    /// As new, for another block, with the memory that it has.
    pub(super) fn renew(&mut self) {
        self.clocks.copy_from_slice(&START);
        self.acquired.iter_mut().for_each(Vec::clear);
        self.loops.iter_mut().for_each(Loops::clear);
        self.requests.clear();
        self.words = [[0; 3]; 32];
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
