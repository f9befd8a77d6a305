//! The kernel of each operation for rows that a block holds whole: one, or some.
//!
//! Idea: a warp keeps up to 1024 elements in registers. Rows are cut into quarters of that, and a warp has any four
//! that follow one another, of at most two rows, so that few lanes are idle whatever a row's length. The nodes of
//! quarters meet in shared memory, where each warp joins those of all rows of its block, a group of lanes to a row.
//! Bottleneck: memory.

use super::dense;
use super::level::{Level, few};
use super::op::RowOp;
use super::read::from_memory;
use super::results::{Of, Way, mapped, written};
use super::spread::{Place, Spread};
use super::{QUARTERS, Rowwise, SLOTS, chunk};
use crate::node::{Node, get, put, select};
use crate::source::Bits;
use warpfold_simt::{ALL, Shared, Simt};

/// A warp's place among the rows of its block, in quarters of its chunk.
struct Quarters {
    /// Its first row among the block's.
    row: u32,
    /// The first quarter in that row.
    first: u32,
    /// Its quarters in that row, beyond which the next row begins.
    of_row: u32,
}

impl Rowwise {
    /// The row among the block's of a quarter, and its number there.
    #[inline(always)]
    fn quarter_at(&self, number: u32) -> (u32, u32) {
        let row = (number * self.quarter) >> 16;
        (row, number - row * self.quarters)
    }

    #[inline(always)]
    fn of_warp(&self, warp: u32) -> Quarters {
        let (row, first) = self.quarter_at(warp * QUARTERS);
        Quarters { row, first, of_row: self.quarters - first }
    }

    /// A warp's chunk of row number `row`, which its block has alone.
    #[inline(always)]
    fn of_only_row<B: Bits>(&self, row: u64, first: u32, most: u32) -> Place {
        let (at, bytes) = (self.row_there::<B>(row), first as u64 * B::SIZE as u64);
        Place {
            input: at.input.wrapping_add(bytes),
            second: at.second.wrapping_add(bytes),
            output: at.output + bytes,
            first: first as u64,
            valid: (self.len as u32).saturating_sub(first).min(most),
            ..at
        }
    }

    /// Where a warp's steps are: of its first row, and of the next one, which begins `each` elements for each quarter
    /// of the first row before its first element.
    #[inline(always)]
    fn of_quarters<S: Simt, B: Bits>(&self, s: &S, first: u64, at: &Quarters, each: u32) -> [Place; 2] {
        let one = self.place::<B>(first + at.row as u64, (at.first * each) as u64, (QUARTERS * each) as u64);
        let mut next = one;
        if s.branch(at.of_row < QUARTERS) {
            let number = if at.row + 1 < self.together { first + at.row as u64 + 1 } else { self.rows };
            let most = (QUARTERS - at.of_row) * each;
            next = self.place::<B>(number, 0, most as u64).moved::<B>(at.of_row * each);
        }
        [one, next]
    }
}

/// What a block's rows were reduced to: each lane gets the node of its group's row, from those of the warps' steps.
/// `node` is that of step `lane % N`. `slots` is read until the next barrier.
#[inline(always)]
fn together<S: Simt, L: Level, const ONE: bool, const N: usize>(
    s: &S,
    call: &Rowwise,
    level: L,
    slots: Shared<u32>,
    node: L::Node,
    [each, valid]: [u32; 2],
) -> L::Node {
    let steps = N as u32 / QUARTERS;
    let (lane, group) = (s.lane(), (1 << call.lanes) - 1);
    // A quarter of two steps is one node.
    let node = few(s, level, node, steps, lane & (steps - 1), [each / steps, valid]);
    let number = s.warp() * QUARTERS + lane / steps;
    let (row, quarter) = if ONE { (0, number) } else { call.quarter_at(number) };
    if s.branch(lane < N as u32 && lane & (steps - 1) == 0 && (ONE || row < call.together)) {
        put(s, slots, 32, (row << call.lanes) + quarter, node);
    }
    s.barrier();
    let own = lane & group;
    let row = if ONE || lane >> call.lanes >= call.together { 0 } else { lane >> call.lanes };
    let mut all = level.nothing();
    if s.branch(own < call.quarters) {
        all = get(s, slots, 32, (row << call.lanes) + own, all);
    }
    few(s, level, all, group + 1, own, [each, call.len as u32])
}

/// Rows of which a block has one, or some, and a warp as many quarters of its chunk as it holds, of at most two rows.
#[inline(always)]
pub fn long<S: Simt, O: RowOp, const N: usize>(s: &S, call: &Rowwise) {
    let slots = s.shared::<u32, SLOTS, 0>("slots");
    let op = O::new(call);
    if s.branch(op.is_there(s)) {
        return;
    }
    // Rows of 16-bit elements wait for instructions. An eighth of these ask which row a step is of, so a block with
    // one row has code without them.
    if Of::<O>::SIZE == 2 && s.branch(call.together == 1) {
        rows::<S, O, true, N>(s, call, &op, slots);
    } else {
        rows::<S, O, false, N>(s, call, &op, slots);
    }
}

/// The rows of a block, which has one alone if `ONE`.
#[inline(always)]
fn rows<S: Simt, O: RowOp, const ONE: bool, const N: usize>(s: &S, call: &Rowwise, op: &O, slots: Shared<u32>) {
    let chunk = const { chunk(size_of::<Of<O>>()) as u32 };
    let (each, lane, steps) = (chunk / QUARTERS, s.lane(), N as u32 / QUARTERS);
    let first = s.block_x() as u64 * call.together as u64;
    let at = call.of_warp(s.warp());
    let places = if ONE {
        [call.of_only_row::<Of<O>>(first, s.warp() * chunk, chunk); 2]
    } else {
        call.of_quarters::<S, Of<O>>(s, first, &at, each)
    };
    let place = |k: u32| if ONE || k < at.of_row * steps { places[0] } else { places[1] };
    let way = Way::Shared(dense::room::<S, N>(s, 0));
    let packs = call.packs::<S, _, O, _, true, N>(s, op.blank(), Spread::WARP, [false; 2], from_memory(s), place);
    let mut held = op.hold(s, &packs);
    // A group of lanes finds what follows from one row; groups without one do as the first.
    let group = if ONE { 0 } else { lane >> call.lanes };
    let row = first + if group < call.together { group as u64 } else { 0 };
    let is_row = ONE || row < call.rows;
    let known = if is_row { row } else { 0 };
    // Elements of the quarter that a lane has a node of.
    let own = lane % N as u32 / steps * steps;
    let valid = place(own).valid.saturating_sub(own / steps * each).min(each);
    let of_node =
        |node| op.stat(s, together::<S, _, ONE, N>(s, call, O::Level::NEW, slots, node, [each, valid]), known);
    let mut stat = if O::GIVEN || O::NOTED && s.branch(call.noted != 0) {
        op.noted(s, known)
    } else {
        of_node(op.nodes::<S, _, true, N>(s, &packs, &held, [O::Stat::zero(); N])[0])
    };
    // Of the warp's first row, and of the next one. All lanes have the same, if there is one row.
    let of_row = |own: O::Stat, row: u32| {
        if !ONE {
            return own.map(|_, word| s.shuffle_idx(ALL, word, (row << call.lanes) & 31));
        }
        own
    };
    let of_rows = |own: O::Stat| [of_row(own, at.row), of_row(own, at.row + 1)];
    let of_step = |both: [O::Stat; 2], k: u32| select(ONE || k < at.of_row * steps, both[0], both[1]);
    held = held.again(s);
    if O::GIVEN {
        let given = of_rows(stat);
        let ready = warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| op.ready(s, held.kept[k], of_step(given, k as u32), packs.at(k as u32, lane, Of::<O>::PER)),
        );
        stat = of_node(op.nodes_ready::<S, _, true, N>(s, &packs, ready)[0]);
        if s.branch(call.at.output != 0) {
            let stats = of_rows(stat);
            let results = warpfold_simt::array::from_fn(
                #[inline(always)]
                |k| op.map_ready(s, ready[k], of_step(stats, k as u32)),
            );
            written::<S, O, true, N>(s, call, Spread::WARP, results, way, place);
        }
    }
    let is_noting = s.warp() == 0 && group < call.together && lane == group << call.lanes;
    if s.branch(is_row && is_noting) {
        op.note(s, stat, row);
    }
    if !O::GIVEN && s.branch(call.at.output != 0) {
        let (plain, stats) = (O::PLAIN || s.all(ALL, op.is_plain(stat)), of_rows(stat));
        mapped(s, op, call, &held, (plain, |k: u32| of_step(stats, k)), way, place);
    }
}
