//! Sweeps over rows: some at a time, of which each thread has the same columns.
//!
//! Idea: a thread has a line of 16 bytes of each row. It copies those of the next rows to shared memory, to places that
//! it reads itself, while it computes with others: memory is always asked for more, and no barrier is needed for that.
//! All rows begin and end with lines, so nothing is asked of a line. In place of rows that are not there the last one
//! is read again. A step has two rows, or, of rows that are too long for that, two halves of one.
//! Bottleneck: memory.

use super::Rowwise;
use super::columns::{Sums, added};
use super::factor::{Factors, times};
use super::level::{Level, few};
use super::norm::Kind;
use super::norm_gradient::NormGradients;
use super::number::{MOST, numbers};
use super::spread::At;
use super::waiting::Waiting;
use crate::address::array;
use crate::node::{Node, get, put, select};
use crate::source::{Bits, Source};
use warpfold_core::{Accumulate, Element, Float};
use warpfold_simt::{ALL, Pack, Shared, Simt};

/// Rows of a step, or parts of one row.
pub const STEPS: usize = 2;

/// Lines of 16 bytes of a thread that are on their way: of two arrays, and of so many steps.
pub(super) const fn lines_ahead(steps: u32) -> u32 {
    steps * 2 * STEPS as u32
}

/// Warps of a block that has a row at a time, at most, by the size of elements: those of 4 bytes need half of the
/// registers of others.
#[must_use]
pub const fn most_warps(size: usize) -> u32 {
    if size == 4 { 32 } else { 16 }
}
/// Nodes of warps, of two rows.
const NODES: u32 = 64;
/// Words of shared memory for these.
pub(super) const SLOTS: usize = NODES as usize * 4;

/// An array: the address of a thread's line of the first row, and bytes from row to row.
pub(super) type Lines = (u64, i64);

/// The normalised elements of a line, and the gradients of these.
type Ready<F> = [[F; MOST]; 2];
/// What is ready of a step's lines, and their terms.
type Terms<F, const SUMS: usize> = ([Ready<F>; STEPS], [Sums<F, SUMS>; STEPS]);

/// A step that was taken.
pub(super) struct Taken<F, const SUMS: usize> {
    pub step: u32,
    /// Of each row.
    pub norms: [(F, F); STEPS],
    pub ready: [Ready<F>; STEPS],
    /// A lane's node of each line.
    pub nodes: [[F; SUMS]; STEPS],
}

/// Where the threads are that have a row at a time: a block, or a group of lanes. The lines of one step are computed
/// with, and those of `LEFT + 1` more are on their way.
#[derive(Clone, Copy)]
pub(super) struct Sweep<const LEFT: u32> {
    /// The first row.
    pub first: u64,
    /// Rows, of which there may be fewer than `turns` steps have.
    rows: u32,
    /// Steps.
    pub turns: u32,
    /// Steps are gone through in the order of their numbers after these bits have changed.
    order: u32,
    /// Whether a step has halves of a row, in place of rows.
    pub halves: bool,
    /// The thread's first column, of a row or of both halves.
    pub columns: [u64; STEPS],
    /// Whether there is such a column, and a row.
    pub has_line: [bool; STEPS],
    staged: Shared<Pack<u32, 4>>,
    threads: u32,
    thread: u32,
}

impl<const LEFT: u32> Sweep<LEFT> {
    /// Through the rows of part number `part`, in `turns` steps, a power of two, by threads of which this is number
    /// `own`. `staged` has room for [`lines_ahead`] of each thread of the block. If all parts were gone through in the
    /// same order, the same parts of memory would be asked at a time, so each has an order of its own, in which any two
    /// steps that are neighbours in the tree still follow one another. Whether steps have `halves` of a row.
    #[inline(always)]
    pub fn new<S: Simt, B: Bits>(
        s: &S,
        call: &Rowwise,
        (part, own): (u64, u32),
        halves: bool,
        staged: Shared<Pack<u32, 4>>,
    ) -> Self {
        let turns = call.turns as u32;
        let of_part = call.turns << !halves as u32;
        let first = part * of_part;
        let rows = call.rows.saturating_sub(first).min(of_part) as u32;
        let (threads, thread, order) = (s.block_dim_x(), s.thread_x(), part as u32 & (turns - 1));
        let columns = [own, if halves { own + threads } else { own }].map(
            #[inline(always)]
            |line| (line * B::PER) as u64,
        );
        let has_line = columns.map(
            #[inline(always)]
            |column| column < call.len && rows > 0,
        );
        Self { first, rows, turns, order, halves, columns, has_line, staged, threads, thread }
    }

    /// The row of line number `k` of a step, counted from the first of all.
    #[inline(always)]
    fn row(&self, step: u32, k: u32) -> u32 {
        let step = step ^ self.order;
        if self.halves { step } else { step * STEPS as u32 + k }
    }

    /// Whether there is this row.
    #[inline(always)]
    fn has(&self, step: u32, k: u32) -> bool {
        self.row(step, k) < self.rows
    }

    /// The arrays of a call, and where its results belong.
    #[inline(always)]
    pub fn arrays<B: Bits>(&self, call: &Rowwise) -> ([Lines; 2], Lines) {
        let array = |of: u64, along: i64| {
            let first = of.wrapping_add(self.first.wrapping_mul(along as u64));
            (first.wrapping_add(self.columns[0] * B::SIZE as u64), along)
        };
        let arrays = [array(call.at.input, call.along), array(call.at.second, call.second_along)];
        (arrays, array(call.at.output, (call.len * B::SIZE as u64) as i64))
    }

    /// The address of the thread's line number `k`, of row number `row`.
    #[inline(always)]
    fn line(&self, (of, along): Lines, row: u32, k: u32) -> u64 {
        let half = if self.halves { k * self.threads * 16 } else { 0 };
        of.wrapping_add((row as u64).wrapping_mul(along as u64)).wrapping_add(half as u64)
    }

    /// Where the thread's line number `k` of array number `which` waits.
    #[inline(always)]
    fn at(&self, step: u32, which: u32, k: u32) -> u32 {
        ((step % (LEFT + 1) * 2 + which) * STEPS as u32 + k) * self.threads + self.thread
    }

    /// The weights of the thread's columns; 1, if there are none.
    #[inline(always)]
    pub fn weights<S, X>(&self, s: &S, factors: &Factors<X::Value>) -> [[X::Value; MOST]; STEPS]
    where
        S: Simt,
        X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
    {
        let of = |k: usize| {
            let at = At { first: self.columns[k], count: if self.has_line[k] { X::Bits::PER } else { 0 }, mask: 0 };
            factors.weights::<S, X>(s, at).unwrap_or([X::Value::ONE; MOST])
        };
        let mut weights = [of(0); STEPS];
        if s.branch(self.halves) {
            weights[1] = of(1);
        }
        weights
    }

    /// Begins to copy the lines of a step's rows.
    #[inline(always)]
    fn fill<S: Simt>(&self, s: &S, arrays: [Lines; 2], step: u32) {
        let mut k = 0;
        while k < STEPS as u32 {
            if s.branch(self.has_line[k as usize] && step < self.turns) {
                let row = self.row(step, k).min(self.rows - 1);
                let mut which = 0;
                while which < 2 {
                    let from = self.line(arrays[which as usize], row, k);
                    s.copy(self.staged, self.at(step, which, k), array(from), 0);
                    which += 1;
                }
            }
            k += 1;
        }
        s.end_copies();
    }

    /// The same of the first steps.
    #[inline(always)]
    pub fn begin<S: Simt>(&self, s: &S, arrays: [Lines; 2]) {
        let mut step = 0;
        while step < LEFT + 1 {
            self.fill(s, arrays, step);
            step += 1;
        }
    }

    /// The thread's lines of a step: of both arrays, both rows. Zeros, if it has none. Begins to copy those of a later
    /// step to their places.
    #[inline(always)]
    fn next<S: Simt>(&self, s: &S, arrays: [Lines; 2], step: u32) -> [[[u32; 4]; STEPS]; 2] {
        s.copied_but::<LEFT>();
        let (mut lines, mut k) = ([[[0; 4]; STEPS]; 2], 0);
        while k < STEPS {
            if s.branch(self.has_line[k]) {
                lines[0][k] = s.get(self.staged, self.at(step, 0, k as u32)).0;
                lines[1][k] = s.get(self.staged, self.at(step, 1, k as u32)).0;
            }
            k += 1;
        }
        self.fill(s, arrays, step + LEFT + 1);
        lines
    }

    /// A step: the norms of its lines, what is ready of them, and the node of each. Their terms are added to what
    /// waits.
    #[inline(always)]
    pub fn take<S, X, K, const SUMS: usize>(
        &self,
        s: &S,
        waiting: &mut Waiting<'_>,
        arrays: [Lines; 2],
        norm: impl Fn(u32) -> (X::Value, X::Value),
        weights: [[X::Value; MOST]; STEPS],
    ) -> Taken<X::Value, SUMS>
    where
        S: Simt,
        X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
        K: Kind<X>,
    {
        let step = waiting.step;
        let lines = self.next(s, arrays, step);
        let norms = warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| norm(self.row(step, k as u32)),
        );
        let (ready, terms) = terms::<S, X, K, SUMS>(s, lines, norms, weights);
        self.meet::<S, X, SUMS>(s, waiting, terms);
        let nodes = warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| {
                let node = NormGradients::<X, K, SUMS>::sums(ready[k]);
                select(self.has_line[k], node, [X::Value::NOTHING; SUMS])
            },
        );
        Taken { step, norms, ready, nodes }
    }

    /// Adds up the terms of a step; rows that are not there have none.
    #[inline(always)]
    fn meet<S, X, const SUMS: usize>(&self, s: &S, waiting: &mut Waiting<'_>, terms: [Sums<X::Value, SUMS>; STEPS])
    where
        S: Simt,
        X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
    {
        let (step, nothing) = (waiting.step, [[X::Value::NOTHING; MOST]; SUMS]);
        if s.branch(self.halves) {
            let mut k = 0;
            while k < STEPS {
                let sums = if self.has(step, 0) { terms[k] } else { nothing };
                waiting.meet::<S, X, SUMS>(s, sums, [k as u32, STEPS as u32], self.columns[k]);
                k += 1;
            }
        } else {
            let mut sums = added(terms[0], terms[1]);
            if s.branch(!self.has(step, 1)) {
                sums = if self.has(step, 0) { terms[0] } else { nothing };
            }
            waiting.meet::<S, X, SUMS>(s, sums, [0, 1], self.columns[0]);
        }
        waiting.step += 1;
    }

    /// Writes the results of a step's rows.
    #[inline(always)]
    pub fn write<S: Simt>(&self, s: &S, to: Lines, step: u32, results: [[u32; 4]; STEPS]) {
        let mut k = 0;
        while k < STEPS as u32 {
            if s.branch(self.has_line[k as usize] && self.has(step, k)) {
                s.store_stream(array(self.line(to, self.row(step, k), k)), 0, Pack(results[k as usize]));
            }
            k += 1;
        }
    }
}

/// What two rows, or both `halves` of one, were reduced to, from a node of each warp, of which lane `l` has that of
/// number `l % 2`: the first half of the lanes gets the first row's, or all get the only one's. Each warp has `each`
/// elements of a row of `len`. `slots` is read until the next barrier.
#[inline(always)]
pub(super) fn over_warps<S: Simt, B: Bits, L: Level>(
    s: &S,
    level: L,
    slots: Shared<u32>,
    node: L::Node,
    [each, len]: [u32; 2],
    halves: bool,
) -> L::Node {
    // Lanes of a row, and nodes of each of these lanes.
    let (lanes, most) = const { (32 / STEPS as u32, most_warps(B::SIZE as usize)) };
    let own = most / lanes;
    let (lane, warps) = (s.lane(), s.block_dim_x() / 32);
    if s.branch(lane < STEPS as u32) {
        put(s, slots, NODES, lane * most + s.warp(), node);
    }
    s.barrier();
    let number = lane % lanes;
    let from = lane / lanes * most;
    let node = |warp: u32| {
        let mut node = level.nothing();
        if s.branch(warp < warps) {
            node = get(s, slots, NODES, from + warp, node);
        }
        node
    };
    let (mut all, mut under) = (node(number * own), each);
    if own == 2 {
        all = level.join(all, node(number * 2 + 1), each);
        under = 2 * each;
    }
    if s.branch(halves) {
        return few(s, level, all, 32, lane, [under, len]);
    }
    few(s, level, all, warps.div_ceil(own).next_power_of_two(), number, [under, len])
}

/// Words that all lanes get from those that have row number `k` of two.
#[inline(always)]
pub(super) fn of_row<S: Simt, N: Node>(s: &S, node: N, k: usize) -> N {
    node.map(
        #[inline(always)]
        |_, word| s.shuffle_idx(ALL, word, k as u32 * (32 / STEPS as u32)),
    )
}

/// What is ready of the lines of a norm's input and of the gradients, and the terms of each column: the products, and,
/// if there are two sums, the gradients.
#[inline(always)]
fn terms<S, X, K, const SUMS: usize>(
    s: &S,
    [x, gradients]: [[[u32; 4]; STEPS]; 2],
    norms: [(X::Value, X::Value); STEPS],
    weights: [[X::Value; MOST]; STEPS],
) -> Terms<X::Value, SUMS>
where
    S: Simt,
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
    K: Kind<X>,
{
    let per = X::Bits::PER;
    let each = gradients.map(
        #[inline(always)]
        |line| numbers::<S, X>(s, line),
    );
    let ready: [_; STEPS] = warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| {
            let whole = At { first: 0, count: per, mask: 0 };
            let weighed = times::<X>(each[k], Some(weights[k]));
            NormGradients::<X, K, SUMS>::ready_with(s, x[k], norms[k], whole, weighed)
        },
    );
    let terms = warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| {
            let (mut sums, mut i) = ([each[k]; SUMS], 0);
            while i < per as usize {
                sums[0][i] = each[k][i].mul(ready[k][0][i]);
                i += 1;
            }
            sums
        },
    );
    (ready, terms)
}
