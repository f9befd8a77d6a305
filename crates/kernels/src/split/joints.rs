//! What several chunks have of eight elements of a group, or of eight eights, each by the chunk in which it begins.
//!
//! Chunks have left the elements, or the eights, where they would be, were they in order. A block has a chunk, a thread
//! a group. Bottleneck: the latency of few loads.

use crate::address::array;
use crate::node::Node;
use crate::reduce::fold::Tree;
use crate::source::Bits;
use crate::split::group::{Group, one, tree, write};
use crate::split::nodes::EIGHT;
use crate::split::piece::Pieces;
use crate::split::{Split, WIDE};
use warpfold_simt::Simt;

/// The only one.
#[inline(always)]
pub fn kernel<S: Simt, F: Tree<Bits: Bits>>(s: &S, call: &Split) {
    let sums = s.shared::<u32, { WIDE as usize / 32 }, 0>("sums of warps");
    let (f, each, part): (F, u32, u32) = (tree(call), 1 << call.size, 1 << (call.size - EIGHT.ilog2()));
    let mut pieces = Pieces::of(s, call, s.block_x());
    while let Some(piece) = pieces.next(s, call) {
        if s.branch(piece.is_last || piece.from >= piece.to) {
            continue;
        }
        let total = one(s, call.at.totals, piece.bucket);
        let (before, _) = crate::block::scan_of(s, sums, total, WIDE / 32);
        let group = Group::of(s, call, &piece, total, piece.start + before);
        let first = group.to / each * each;
        if s.branch(first < group.to && group.to < total && first >= group.from) {
            let count = (total - first).min(each).div_ceil(part);
            let lift = |i: u32| {
                if s.branch(i >= count) {
                    f.neutral()
                } else if s.branch(part == 1) {
                    f.lift(s, s.load(array::<F::Bits>(call.at.moved), (group.start + first + i) as usize))
                } else {
                    let index = (group.index(part, first) + i) as usize;
                    f.neutral().map(
                        #[inline(always)]
                        |_, _| s.load(array::<u32>(call.at.eights), index),
                    )
                }
            };
            let two = |i: u32| f.join(lift(i), lift(i + 1), part);
            let four = |i: u32| f.join(two(i), two(i + 2), 2 * part);
            let to = if part == 1 { call.at.eights } else { call.at.nodes };
            write(s, to, group.index(each, first), f.join(four(0), four(4), 4 * part));
        }
        s.barrier();
    }
}
