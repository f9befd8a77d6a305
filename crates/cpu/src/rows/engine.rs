//! Reduces rows, and computes each of their elements from what they were reduced to, while they are in the cache.
//!
//! A task has some rows, and takes a batch of them at a time: rows of a block together, or one longer row, or a few
//! rows that are transposed. Rows beyond a chunk are cut over tasks, along subtrees. Then all chunks are reduced before
//! the first element is computed.

use std::marker::PhantomData;

use warpfold_core::Reducer;

use crate::output::Output;
use crate::parallel::{for_each, results};
use crate::policy::{BLOCK, CHUNK, ONE_THREAD};
use crate::tree::combine_nodes;

use super::aligned::Aligned;
use super::columns::Columns;
use super::lines::{Lines, Part, RowFloat, with_one_nan};
pub use super::op::{Block, INPUTS, Input, Node, RowOp};
use super::op::{blocks, pieces, slice};

/// An operation on the rows of arrays.
pub struct Work<'a, F: RowFloat, O: RowOp<F>> {
    /// The operation.
    pub op: &'a O,
    /// At most [`INPUTS`].
    pub inputs: &'a [Input<F>],
    /// The mask.
    pub mask: Option<&'a Input<u8>>,
    /// Where results go, if they are asked for.
    pub output: Option<&'a Lines>,
    /// Whether results may go where the first input is. Then its elements are copied before one is written.
    pub overwrites: bool,
    /// Where the elements of the first input go after they were prepared, if they are asked for.
    pub prepared: Option<&'a Lines>,
    /// Where it goes what rows are reduced to, if that is asked for.
    pub stats: Option<&'a Output<O::Stat>>,
    /// The number of rows.
    pub rows: usize,
    /// Elements of a row, at least one.
    pub len: usize,
    /// Threads to use.
    pub threads: usize,
}

/// Elements of rows that are transposed together.
const ACROSS: usize = 1 << 17;
/// Rows that are transposed together: a cache line of the smallest elements.
const LANES: usize = 32;
/// Elements of short rows that are computed together, or of any rows if nothing is reduced: those of two inputs, as
/// floats, and what is kept of them, stay in L1. (Gradients of losses of bf16 (65536,128) and (128,32000), two threads
/// of a Xeon with AVX-512, a block at a time, and so: mse 1986 to 1634 µs and 1681 to 1462, kl_div 2264 to 1929 and
/// 1765 to 1568, bce 3677 to 3357 and 2441 to 2258. There is no record.)
const BATCH: usize = BLOCK / 2;
/// Elements of a row that are loaded at once.
const WHOLE: usize = 1 << 16;
/// Tasks of a thread.
const TASKS: usize = 8;

/// Memory for a batch.
struct Room<F> {
    x: [Aligned<F>; INPUTS],
    mask: Vec<u8>,
    terms: Aligned<F>,
    out: Aligned<F>,
}

/// A part that is loaded, and what was kept of it.
struct Loaded<'a, F> {
    x: [&'a [F]; INPUTS],
    mask: Option<&'a [u8]>,
    terms: &'a mut [F],
    fresh: bool,
}

/// [`RowOp::join`] as a reducer of nodes.
struct Joined<'a, F, O>(&'a O, usize, PhantomData<F>);

impl<F, O> Clone for Joined<'_, F, O> {
    fn clone(&self) -> Self {
        Self(self.0, self.1, PhantomData)
    }
}

impl<F: RowFloat, O: RowOp<F>> Reducer for Joined<'_, F, O> {
    type Item = Node<F>;
    type Acc = Node<F>;
    type Output = Node<F>;

    fn lift(&self, node: Node<F>, _index: u64) -> Node<F> {
        node
    }

    fn combine(&self, left: Node<F>, right: Node<F>) -> Node<F> {
        self.combine_counted(left, 1, right, 1)
    }

    fn combine_counted(&self, left: Node<F>, n_left: u64, right: Node<F>, n_right: u64) -> Node<F> {
        self.0.join(self.1, (left, n_left), (right, n_right))
    }

    fn finish(&self, node: Node<F>, _count: u64) -> Node<F> {
        node
    }
}

impl<F: RowFloat, O: RowOp<F>> Work<'_, F, O> {
    /// Computes all that is asked for, and returns the sums down the rows.
    ///
    /// # Safety
    /// The rows of inputs and mask are readable, as many as there are, and so long. Those of the outputs are writable,
    /// and nobody else uses them, nor the places of the stats, of which there is one for each row.
    pub unsafe fn run(&self) -> Vec<Vec<F>> {
        let across = self.inputs.iter().any(|input| input.lines.across());
        let (batch, chunk) = match across {
            true => (LANES.min(self.rows), ACROSS / LANES),
            false => ((BATCH / self.len).max(1), CHUNK),
        };
        let mut each = self.rows.div_ceil(TASKS * self.threads).max(batch);
        if self.op.columns() > 0 {
            each = each.next_power_of_two();
        }
        let work = self.rows.saturating_mul(self.len);
        let threads = if work < ONE_THREAD { 1 } else { self.threads };
        let cuts = self.len.div_ceil(chunk);
        let tasks = |each: usize| self.rows.div_ceil(each) * cuts;
        let task = |i: usize, each: usize| {
            let (rows, cut) = (i / cuts * each, i % cuts * chunk);
            Part { rows: rows..self.rows.min(rows + each), from: cut, n: chunk.min(self.len - cut) }
        };
        let run = |n: usize, task: &(dyn Fn(usize) + Sync)| match threads {
            1 => (0..n).for_each(task),
            _ => for_each(n, task),
        };
        // Elements of rows about which all is known are computed a few at a time: what is kept of them stays in L1.
        let converts = self.inputs.iter().any(|input| input.lines.size() < size_of::<F>());
        let width = match self.op.rounds() {
            0 if converts && !across => BATCH,
            0 if !across => BLOCK,
            _ if cuts == 1 || across => chunk,
            _ => BLOCK,
        };
        let mut stats = Vec::new();
        if cuts > 1 {
            stats = vec![O::Stat::default(); self.rows];
            for round in 0..self.op.rounds() {
                let nodes = results(
                    tasks(batch),
                    |task| run(tasks(batch), task),
                    |i| {
                        let (part, mut room) = (task(i, batch), self.room());
                        let width = if part.rows.len() > 1 { part.n } else { BLOCK };
                        let stats = &stats[part.rows.clone()];
                        self.of_pieces(round, &part, width, |piece| {
                            // SAFETY: the caller's.
                            let (x, mask) = unsafe { self.load(piece, &mut room.x, &mut room.mask) };
                            let terms = room.terms.room(piece.rows.len() * piece.n);
                            self.nodes(round, piece, x, mask, terms, stats)
                        })
                    },
                );
                for (row, stat) in stats.iter_mut().enumerate() {
                    let of_cut = |cut: usize| nodes[row / batch * cuts + cut][row % batch];
                    let mut nodes: Vec<Node<F>> = (0..cuts).map(of_cut).collect();
                    let last = self.len - (cuts - 1) * chunk;
                    combine_nodes(&Joined(self.op, round, PhantomData), &mut nodes, chunk as u64, last as u64);
                    self.op.finish(round, row, nodes[0], stat);
                }
            }
        }
        let columns = results(
            tasks(each),
            |task| run(tasks(each), task),
            |i| {
                let (part, mut room) = (task(i, each), self.room());
                let mut sums: Vec<Columns<F>> = (0..self.op.columns()).map(|_| Columns::new(part.n)).collect();
                for from in part.rows.clone().step_by(batch) {
                    let rows = from..part.rows.end.min(from + batch);
                    for batch in pieces(&Part { rows, ..part }, width) {
                        // SAFETY: the caller's; tasks have parts of their own.
                        unsafe { self.batch(&batch, [part.rows.start, part.from], &mut room, &stats, &mut sums) };
                    }
                }
                sums
            },
        );
        self.joined(columns, cuts, chunk)
    }

    /// The sums of all tasks, in the order of rows and elements.
    fn joined(&self, tasks: Vec<Vec<Columns<F>>>, cuts: usize, chunk: usize) -> Vec<Vec<F>> {
        let of_cuts = |_| (0..cuts).map(|_| Vec::new()).collect();
        let mut parts: Vec<Vec<Vec<Columns<F>>>> = (0..self.op.columns()).map(of_cuts).collect();
        for (i, sums) in tasks.into_iter().enumerate() {
            sums.into_iter().zip(&mut parts).for_each(|(sum, parts)| parts[i % cuts].push(sum));
        }
        let join = |(cut, parts): (usize, Vec<_>)| Columns::join(parts, chunk.min(self.len - cut * chunk));
        parts.into_iter().map(|parts| parts.into_iter().enumerate().flat_map(join).collect()).collect()
    }

    fn room(&self) -> Room<F> {
        Room { x: [const { Aligned::new() }; INPUTS], mask: Vec::new(), terms: Aligned::new(), out: Aligned::new() }
    }

    /// How many elements of each row of a part are loaded at a time. Of a long row floats would fill L2, so a block is
    /// read again where its results are computed; what is kept of it stays.
    fn width(&self, part: &Part) -> usize {
        if part.n <= WHOLE || part.rows.len() > 1 || self.op.prepares() { part.n } else { BLOCK }
    }

    /// The nodes of a part, from those of its pieces. If there are several, it has one row.
    fn of_pieces(
        &self,
        round: usize,
        part: &Part,
        width: usize,
        mut of_piece: impl FnMut(&Part) -> Vec<Node<F>>,
    ) -> Vec<Node<F>> {
        if width >= part.n {
            return of_piece(part);
        }
        let mut nodes: Vec<Node<F>> = pieces(part, width).map(|piece| of_piece(&piece)[0]).collect();
        let last = (part.n - 1) % width + 1;
        combine_nodes(&Joined(self.op, round, PhantomData), &mut nodes, width as u64, last as u64);
        vec![nodes[0]]
    }

    /// The nodes of a part, which is loaded.
    fn nodes(
        &self,
        round: usize,
        part: &Part,
        x: [&[F]; INPUTS],
        mask: Option<&[u8]>,
        terms: &mut [F],
        stats: &[O::Stat],
    ) -> Vec<Node<F>> {
        let mut nodes = vec![[F::ZERO; 2]; part.rows.len()];
        let mut of_row = Vec::new();
        blocks(part, |block, place, rows| {
            let (from, n) = (block.from - part.from, block.n);
            let mut block = slice(block, place, x, mask, terms);
            nodes[rows.clone()].fill([F::ZERO; 2]);
            self.op.reduce(round, &mut block, &stats[rows.clone()], &mut nodes[rows.clone()]);
            if n == part.n {
                return;
            }
            // A block of a longer row.
            of_row.push(nodes[rows.start]);
            if from + n == part.n {
                combine_nodes(&Joined(self.op, round, PhantomData), &mut of_row, BLOCK as u64, n as u64);
                nodes[rows.start] = of_row[0];
                of_row.clear();
            }
        });
        nodes
    }

    /// Computes the results of a batch, whose rows are whole or have been reduced, in a task with this first row and
    /// element.
    ///
    /// # Safety
    /// As [`Work::run`].
    unsafe fn batch(
        &self,
        part: &Part,
        [first, from]: [usize; 2],
        room: &mut Room<F>,
        stats: &[O::Stat],
        sums: &mut [Columns<F>],
    ) {
        let Room { x, mask, terms, out } = room;
        let terms = terms.room(part.rows.len() * part.n);
        let out = out.room((part.rows.len() * part.n).min(BLOCK));
        let (fresh, width) = (stats.is_empty(), self.width(part));
        if width >= part.n {
            // SAFETY: the caller's.
            let (x, mask) = unsafe { self.load(part, x, mask) };
            if let Some(prepared) = self.prepared {
                // SAFETY: the caller vouches for this output, too, and this part of it is this task's.
                unsafe { prepared.store(part, x[0]) };
            }
            let own = self.own(part, fresh, |round, own| self.nodes(round, part, x, mask, terms, own));
            let stats = if fresh { &own[..] } else { &stats[part.rows.clone()] };
            // SAFETY: the caller's.
            return unsafe { self.mapped(part, [first, from], Loaded { x, mask, terms, fresh }, out, stats, sums) };
        }
        let own = self.own(part, fresh, |round, own| {
            self.of_pieces(round, part, width, |piece| {
                // SAFETY: the caller's.
                let (x, mask) = unsafe { self.load(piece, x, mask) };
                self.nodes(round, piece, x, mask, &mut terms[piece.from - part.from..][..piece.n], own)
            })
        });
        let stats = if fresh { &own[..] } else { &stats[part.rows.clone()] };
        for piece in pieces(part, width) {
            let terms = &mut terms[piece.from - part.from..][..piece.n];
            // SAFETY: the caller's.
            unsafe {
                let (x, mask) = self.load(&piece, x, mask);
                self.mapped(&piece, [first, from], Loaded { x, mask, terms, fresh }, out, stats, sums);
            }
        }
    }

    /// What the rows of a part are reduced to by `nodes` of each round, unless that is known.
    fn own(&self, part: &Part, fresh: bool, mut nodes: impl FnMut(usize, &[O::Stat]) -> Vec<Node<F>>) -> Vec<O::Stat> {
        let mut own = vec![O::Stat::default(); if fresh { part.rows.len() } else { 0 }];
        for round in (0..self.op.rounds()).filter(|_| fresh) {
            let nodes = nodes(round, &own);
            for ((row, stat), node) in part.rows.clone().zip(&mut own).zip(nodes) {
                self.op.finish(round, row, node, stat);
            }
        }
        own
    }

    /// Computes the results of a part that is loaded.
    ///
    /// # Safety
    /// As [`Work::run`].
    unsafe fn mapped(
        &self,
        part: &Part,
        [first, from]: [usize; 2],
        Loaded { x, mask, terms, fresh }: Loaded<'_, F>,
        out: &mut [F],
        stats: &[O::Stat],
        sums: &mut [Columns<F>],
    ) {
        if let Some(places) = self.stats.filter(|_| part.from == 0) {
            for (row, stat) in part.rows.clone().zip(stats) {
                // SAFETY: the caller vouches for a place for each row, and the row's first part is this task's.
                unsafe { places.write(row as isize, *stat) };
            }
        }
        blocks(part, |block, place, rows| {
            let stats = &stats[rows];
            let mut block = Block { fresh, ..slice(block, place, x, mask, terms) };
            let n = block.part.n;
            let out = &mut out[..block.part.rows.len() * n];
            if let Some(output) = self.output {
                // SAFETY: the caller vouches for the output, and this part of it is this task's; of what may lie there
                // the elements were copied.
                match unsafe { output.out_in_place(&block.part) } {
                    Some(out) => {
                        self.op.map(&mut block, stats, out);
                        with_one_nan(out);
                    }
                    None => {
                        self.op.map(&mut block, stats, out);
                        // SAFETY: as above.
                        unsafe { output.store(&block.part, out) };
                    }
                }
            }
            for (which, sum) in sums.iter_mut().enumerate() {
                self.op.column(which, &block, stats, out);
                sum.add(block.part.rows.start - first, block.part.from - from, n, out);
            }
        });
    }

    /// The elements of a part, in place or loaded, and their mask.
    ///
    /// # Safety
    /// As [`Work::run`].
    unsafe fn load<'r>(
        &self,
        part: &Part,
        room: &'r mut [Aligned<F>; INPUTS],
        mask_room: &'r mut Vec<u8>,
    ) -> ([&'r [F]; INPUTS], Option<&'r [u8]>) {
        let n = part.rows.len() * part.n;
        let mask = self.mask.map(|mask| {
            mask_room.resize(n, 0);
            // SAFETY: the caller vouches for the mask, and there is room for the part.
            unsafe { mask.lines.load(mask.gather, part, mask_room.as_mut_ptr()) };
            &mask_room[..n]
        });
        let mut x: [&[F]; INPUTS] = [&[]; INPUTS];
        // The first input last: it may be changed by the second.
        for (i, (input, room)) in self.inputs.iter().zip(room).enumerate().rev() {
            let prepares = i == 0 && self.op.prepares();
            let copied = prepares || (i == 0 && self.overwrites);
            // SAFETY: the caller vouches for the rows.
            let in_place = if copied { None } else { unsafe { input.lines.in_place(part) } };
            x[i] = in_place.unwrap_or_else(|| {
                let room = room.room(n);
                // SAFETY: the caller vouches for the rows, and there is room for the part.
                unsafe { input.lines.load(input.gather, part, room.as_mut_ptr()) };
                if prepares {
                    self.op.prepare(room, x[1], mask);
                }
                &*room
            });
        }
        (x, mask)
    }
}
