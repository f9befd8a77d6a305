//! Sweeps over rows: some at a time, of which each thread has the same columns.
//!
//! Idea: a thread has a line of 16 bytes of each row. It copies those of the next rows to shared memory, to places that
//! it reads itself, while it computes with others: memory is always asked for more, and no barrier is needed for that.
//! All rows begin and end with lines, so nothing is asked of a line. In place of rows that are not there the last one is
//! read again.
//! Bottleneck: memory.

use super::Rowwise;
use super::columns::{Sums, added};
use super::factor::times;
use super::level::{Level, few};
use super::norm::Kind;
use super::norm_gradient::NormGradients;
use super::number::{MOST, numbers};
use super::spread::At;
use crate::address::array;
use crate::node::{Node, get, put};
use crate::source::{Bits, Source};
use warpfold_core::{Accumulate, Element, Float};
use warpfold_simt::{ALL, Pack, Shared, Simt};

/// Rows of a step.
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
    /// The thread's first column.
    pub column: u64,
    /// Whether there is such a column, and a row.
    pub has_line: bool,
    staged: Shared<Pack<u32, 4>>,
    threads: u32,
    thread: u32,
}

impl<const LEFT: u32> Sweep<LEFT> {
    /// Through the rows of part number `part`, in `turns` steps, a power of two, by threads of which this is number
    /// `own`. `staged` has room for [`lines_ahead`] of each thread of the block. If all parts were gone through in the
    /// same order, the same parts of memory would be asked at a time, so each has an order of its own, in which any two
    /// steps that are neighbours in the tree still follow one another.
    #[inline(always)]
    pub fn new<S: Simt, B: Bits>(s: &S, call: &Rowwise, part: u64, own: u32, staged: Shared<Pack<u32, 4>>) -> Self {
        let (turns, of_part) = (call.turns as u32, call.turns * STEPS as u64);
        let first = part * of_part;
        let rows = call.rows.saturating_sub(first).min(of_part) as u32;
        let (threads, thread, column) = (s.block_dim_x(), s.thread_x(), (own * B::PER) as u64);
        let (order, has_line) = (part as u32 & (turns - 1), column < call.len && rows > 0);
        Self { first, rows, turns, order, column, has_line, staged, threads, thread }
    }

    /// Row number `k` of a step, counted from the first of all.
    #[inline(always)]
    pub fn row(&self, step: u32, k: u32) -> u32 {
        (step ^ self.order) * STEPS as u32 + k
    }

    /// Whether there is this row.
    #[inline(always)]
    pub fn has(&self, step: u32, k: u32) -> bool {
        self.row(step, k) < self.rows
    }

    /// An array whose first element is at an address.
    #[inline(always)]
    pub fn array<B: Bits>(&self, of: u64, along: i64) -> Lines {
        let first = of.wrapping_add(self.first.wrapping_mul(along as u64));
        (first.wrapping_add(self.column * B::SIZE as u64), along)
    }

    /// Where the thread's line of row number `k` of array number `which` waits.
    #[inline(always)]
    fn at(&self, step: u32, which: u32, k: u32) -> u32 {
        ((step % (LEFT + 1) * 2 + which) * STEPS as u32 + k) * self.threads + self.thread
    }

    /// Begins to copy the lines of a step's rows.
    #[inline(always)]
    pub fn fill<S: Simt>(&self, s: &S, arrays: [Lines; 2], step: u32) {
        if s.branch(self.has_line && step < self.turns) {
            let mut which = 0;
            while which < 2 {
                let ((of, along), mut k) = (arrays[which], 0);
                while k < STEPS as u32 {
                    let row = self.row(step, k).min(self.rows - 1);
                    let from = of.wrapping_add((row as u64).wrapping_mul(along as u64));
                    s.copy(self.staged, self.at(step, which as u32, k), array(from), 0);
                    k += 1;
                }
                which += 1;
            }
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
    pub fn next<S: Simt>(&self, s: &S, arrays: [Lines; 2], step: u32) -> [[[u32; 4]; STEPS]; 2] {
        s.copied_but::<LEFT>();
        let mut lines = [[[0; 4]; STEPS]; 2];
        if s.branch(self.has_line) {
            lines = warpfold_simt::array::from_fn(
                #[inline(always)]
                |which| {
                    warpfold_simt::array::from_fn(
                        #[inline(always)]
                        |k| s.get(self.staged, self.at(step, which as u32, k as u32)).0,
                    )
                },
            );
        }
        self.fill(s, arrays, step + LEFT + 1);
        lines
    }

    /// The terms of a step's rows, added; of rows that are not there, nothing.
    #[inline(always)]
    pub fn added<S: Simt, F: Float, const SUMS: usize>(
        &self,
        s: &S,
        step: u32,
        terms: [Sums<F, SUMS>; STEPS],
    ) -> Sums<F, SUMS> {
        let mut sums = added(terms[0], terms[1]);
        if s.branch(!self.has(step, 1)) {
            sums = if self.has(step, 0) { terms[0] } else { [[F::NOTHING; MOST]; SUMS] };
        }
        sums
    }

    /// Writes the results of a step's rows.
    #[inline(always)]
    pub fn write<S: Simt>(&self, s: &S, (to, along): Lines, step: u32, results: [[u32; 4]; STEPS]) {
        let mut k = 0;
        while k < STEPS {
            if s.branch(self.has_line && self.has(step, k as u32)) {
                let further = (self.row(step, k as u32) as u64).wrapping_mul(along as u64);
                s.store_stream(array(to.wrapping_add(further)), 0, Pack(results[k]));
            }
            k += 1;
        }
    }
}

/// What two rows were reduced to, from a node of each warp, of which lane `l` has that of row `l % 2`: the first half
/// of the lanes gets the first row's. Each warp has `each` elements of a row of `len`. `slots` is read until the next
/// barrier.
#[inline(always)]
pub(super) fn over_warps<S: Simt, B: Bits, L: Level>(
    s: &S,
    level: L,
    slots: Shared<u32>,
    node: L::Node,
    [each, len]: [u32; 2],
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
pub(super) fn terms<S, X, K, const SUMS: usize>(
    s: &S,
    [x, gradients]: [[[u32; 4]; STEPS]; 2],
    norms: [(X::Value, X::Value); STEPS],
    weights: [X::Value; MOST],
) -> ([[[X::Value; MOST]; 2]; STEPS], [Sums<X::Value, SUMS>; STEPS])
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
            let weighed = times::<X>(each[k], Some(weights));
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
