//! The two kernels of each operation: for long rows, of which a warp has a chunk, and for short rows, of which a warp
//! has several.
//!
//! Idea: `long` keeps a chunk of a row, up to 1024 elements, in the registers of a warp; up to eight warps of a block
//! have a row together, or each a row of its own. Rows beyond a block are reduced in a launch of their own, whose parts
//! a later launch takes; then elements are read a second time. `short` has groups of 8 lanes or more, whose lanes have
//! 1 to 8 packs of a row; each lane finds what follows from one of its group's rows, and all get it.
//! Bottleneck: memory.

use super::level::{parts, pick, warps};
use super::op::{Reduced, RowOp};
use super::read::read;
use super::spread::{Packs, Place, Spread};
use super::write::write;
use super::{MAP, MEET, PARTS, REDUCE, Rowwise, WARPS, chunk};
use crate::address::array;
use crate::node::{Node, publish};
use crate::reduce::shape::piece::{divide, share};
use crate::reduce::shape::split::next;
use crate::source::{Bits, Source};
use warpfold_simt::{ALL, Simt};

/// Words of shared memory for a node of each warp.
const SLOTS: usize = 32 * 4;

/// The elements of an operation.
type Of<O> = <<O as RowOp>::Source as Source>::Bits;

impl Rowwise {
    /// Of row number `row` the elements from `first` on, at most `most`; none, if there is no such row.
    #[inline(always)]
    fn place<B: Bits>(&self, row: u64, first: u64, most: u64) -> Place {
        let valid = if row < self.rows { self.len.saturating_sub(first).min(most) as u32 } else { 0 };
        let row = if row < self.rows { row } else { 0 };
        let [x, second, mask] = self.places(row);
        let size = B::SIZE as u64;
        Place {
            input: self.at.input.wrapping_add(x as u64).wrapping_add(first * size),
            second: self.at.second.wrapping_add(second as u64).wrapping_add(first * size),
            output: self.at.output + (row * self.len + first) * size,
            mask: self.at.mask.wrapping_add(mask as u64),
            first,
            valid,
        }
    }

    /// Whether all results begin with lines of 16 bytes.
    #[inline(always)]
    fn aligned_out<B: Bits>(&self) -> bool {
        (self.at.output | (self.len * B::SIZE as u64)) & 15 == 0
    }

    /// A warp's packs of both arrays, or of the only one.
    #[inline(always)]
    fn packs<S, O, P, const N: usize>(&self, s: &S, op: &O, spread: Spread<N>, place: P) -> Packs<P, N>
    where
        S: Simt,
        O: RowOp,
        P: Fn(u32) -> Place,
    {
        let ([first, second], at) = (op.blank(), &self.at);
        let aligned = (at.input | self.along as u64 | self.outer as u64) & 15 == 0;
        let w = read(s, spread, at.input.wrapping_add(self.end), aligned, first, &place);
        if !O::SECOND {
            return Packs { spread, w: [w, [[0; 4]; N]], place };
        }
        let aligned = (at.second | self.second_along as u64 | self.second_outer as u64) & 15 == 0;
        let end = at.second.wrapping_add(self.second_end);
        let second = read(s, spread, end, aligned, second, |k| place(k).of_second());
        Packs { spread, w: [w, second], place }
    }
}

/// Rows of which a warp has a chunk.
#[inline(always)]
pub fn long<S: Simt, O: RowOp, const N: usize>(s: &S, call: &Rowwise) {
    let slots = s.shared::<u32, SLOTS, 0>("slots");
    let (op, memory) = (O::new(call), array::<u32>(call.at.parts));
    let chunk = const { chunk(size_of::<Of<O>>()) };
    let under = WARPS as u64 * chunk;
    // The row, the block's number among those of the row, and the warp's among those of the row in this block.
    let (warp, index) = (s.warp(), s.block_x() as u64);
    let per_block = share(WARPS, call.warps) as u64;
    let (mut number, mut block) = (index * per_block + share(warp, call.warps) as u64, 0);
    let mine = warp & (call.warps - 1);
    if s.branch(call.blocks > 1) {
        (number, block) = divide(index, call.blocks);
    }
    number += call.skip;
    if s.branch(call.phase == MEET) {
        let from = block * PARTS;
        let count = (call.parts - from).min(PARTS);
        let valid = (call.len - from * call.under).min(count * call.under);
        let at = [call.from + number * call.parts + from, count];
        let node = parts(s, op.level(), slots, memory, at, [call.under, valid]);
        if s.branch(s.thread_x() == 0) {
            publish(s, memory, (call.to + number * call.blocks + block) as usize, node);
        }
        return;
    }
    let first = block * under;
    let place = call.place::<Of<O>>(number, first + mine as u64 * chunk, chunk);
    let (spread, aligned_out) = (Spread::<N>::WARP, call.aligned_out::<Of<O>>());
    let packs = call.packs(s, &op, spread, |_| place);
    let Reduced { nodes, kept, wild } = op.reduce::<S, _, true, N>(s, packs);
    let node = if s.branch(call.phase == MAP) {
        let at = [call.from + number * call.parts, call.parts];
        parts(s, op.level(), slots, memory, at, [call.under, call.len])
    } else {
        let valid = if number < call.rows { call.len.saturating_sub(first).min(under) } else { 0 };
        warps(s, op.level(), slots, nodes[0], call.warps, chunk, valid)
    };
    if s.branch(call.phase == REDUCE) {
        if s.branch(s.thread_x() == 0) {
            publish(s, memory, (call.to + number * call.blocks + block) as usize, node);
        }
        return;
    }
    let stat = op.stat(node);
    let plain = op.is_plain(stat) && !wild;
    let results = map(s, &op, spread, (kept, [stat; N]), [plain, wild], |_| place);
    let whole = aligned_out && place.valid.is_multiple_of(Of::<O>::PER);
    write::<S, Of<O>, N>(s, spread, [aligned_out, whole], results, |_| place);
}

/// Rows of which a warp has several.
#[inline(always)]
pub fn short<S: Simt, O: RowOp, const N: usize>(s: &S, call: &Rowwise) {
    let op = O::new(call);
    let (spread, lane) = (Spread::<N>::new(call.lanes, call.deep), s.lane());
    let first = (s.block_x() as u64 * WARPS as u64 + s.warp() as u64) * spread.rows() as u64;
    let place = |k: u32| call.place::<Of<O>>(first + spread.row(k, lane) as u64, 0, u32::MAX as u64);
    let aligned_out = call.aligned_out::<Of<O>>();
    let packs = call.packs(s, &op, spread, place);
    let Reduced { nodes, kept, wild } = op.reduce::<S, _, false, N>(s, packs);
    // A lane finds what follows from the row of one step, and all lanes of its group get it.
    let own = op.stat(pick(nodes, lane % N as u32));
    let stats = warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| own.map(|_, word| s.shuffle_idx(ALL, word, spread.lane(lane, k as u32))),
    );
    let (mut plain, mut k) = (!wild, 0);
    while k < N {
        plain &= op.is_plain(stats[k]);
        k += 1;
    }
    let results = map(s, &op, spread, (kept, stats), [s.all(ALL, plain), wild], place);
    let whole = aligned_out && call.len.is_multiple_of(Of::<O>::PER as u64);
    write::<S, Of<O>, N>(s, spread, [aligned_out, whole], results, place);
}

/// The results of a lane's packs, from what was kept of them and what their rows were reduced to. Whether all rows are
/// plain, and whether something is wild.
#[inline(always)]
fn map<S: Simt, O: RowOp, const N: usize>(
    s: &S,
    op: &O,
    spread: Spread<N>,
    (kept, stats): ([O::Kept; N], [O::Stat; N]),
    [plain, wild]: [bool; 2],
    place: impl Fn(u32) -> Place,
) -> [[u32; 4]; N] {
    let (lane, per) = (s.lane(), Of::<O>::PER);
    let at = |k: u32| place(k).at(spread.pack(k, lane), per);
    if s.branch(plain) {
        return warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| op.map(s, kept[k], stats[k], at(k as u32)),
        );
    }
    let (mut results, mut k, all) = ([[0; 4]; N], 0, s.opaque(N as u32));
    while s.again(k < all) {
        results = next(results, op.map_any(s, pick(kept, k), pick(stats, k), wild, at(k)));
        k += 1;
    }
    results
}
