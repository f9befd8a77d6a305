//! A group in a piece: which of its subtrees the piece has whole, and where nodes go.

use crate::address::array;
use crate::node::Node;
use crate::reduce::fold::Tree;
use crate::reduce::recipe::Recipe;
use crate::split::piece::Piece;
use crate::split::{DIGITS, Split};
use warpfold_simt::Simt;

/// A thread's group in a piece. Elements have ranks in their group.
#[derive(Clone, Copy)]
pub struct Group {
    /// Elements before the piece, up to its end, and in all.
    pub from: u32,
    pub to: u32,
    pub total: u32,
    /// Where its elements would be, were they in order.
    pub start: u32,
    pub number: u32,
}

impl Group {
    #[inline(always)]
    pub fn of<S: Simt>(s: &S, call: &Split, piece: &Piece, total: u32, start: u32) -> Self {
        let row = s.block_x() * call.each;
        let (mut from, mut to) = (0, total);
        if s.branch(piece.from < piece.to) {
            from = one(s, call.at.rows, row);
            if s.branch(!piece.is_last) {
                to = one(s, call.at.rows, row + call.each);
            }
        }
        Self { from, to, total, start, number: piece.bucket * call.digits + s.thread_x() }
    }

    /// Ranks of subtrees of `each` elements that the piece has whole.
    #[inline(always)]
    pub fn whole(&self, each: u32) -> [u32; 2] {
        [self.from.next_multiple_of(each), if self.to == self.total { self.to } else { self.to / each * each }]
    }

    /// Where the node of `each` elements of that rank is among all.
    #[inline(always)]
    pub fn index(&self, each: u32, rank: u32) -> u32 {
        self.start / each + self.number + rank / each
    }
}

/// A thread's word of a row.
#[inline(always)]
pub fn one<S: Simt>(s: &S, rows: u64, row: u32) -> u32 {
    s.load(array::<u32>(rows), (row * DIGITS + s.thread_x()) as usize)
}

/// The tree.
#[inline(always)]
pub fn tree<F: Tree>(call: &Split) -> F {
    F::new(&Recipe { count: 0, ddof: 0.0, initial: [0; 2], flags: call.flags, input: 0, output: 0, through: 0 })
}

/// Writes a node down.
#[inline(always)]
pub fn write<S: Simt, N: Node>(s: &S, to: u64, index: u32, node: N) {
    let _ = node.map(
        #[inline(always)]
        |_, word| {
            s.store(array::<u32>(to), index as usize, word);
            word
        },
    );
}
