//! What an operation on rows is.

use super::Rowwise;
use super::level::Level;
use super::spread::{At, Packs, Place};
use crate::node::Node;
use crate::source::Source;
use warpfold_simt::Simt;

/// What became of a warp's packs.
pub struct Reduced<O: RowOp, const N: usize> {
    /// For each step the node of its row, or of the row's chunk; every lane has it.
    pub nodes: [<O::Level as Level>::Node; N],
    /// What a lane keeps of each pack.
    pub kept: [O::Kept; N],
    /// Whether what is kept is not what [`RowOp::map`] needs in rows that are plain.
    pub wild: bool,
}

/// An operation on rows.
pub trait RowOp: Copy {
    /// The elements.
    type Source: Source;
    /// How nodes meet.
    type Level: Level;
    /// What is kept of a pack.
    type Kept: Node;
    /// What a row was reduced to.
    type Stat: Node;
    /// Whether there are two arrays.
    const SECOND: bool = false;

    /// From what the kernel is told.
    fn new(call: &Rowwise) -> Self;
    /// How nodes meet.
    fn level(&self) -> Self::Level;
    /// What stands in a pack for elements that are not there, of each array.
    fn blank(&self) -> [<Self::Source as Source>::Bits; 2];
    /// Reduces a warp's packs. `WARP` is as in [`super::level::steps`].
    fn reduce<S, P, const WARP: bool, const N: usize>(&self, s: &S, packs: Packs<P, N>) -> Reduced<Self, N>
    where
        S: Simt,
        P: Fn(u32) -> Place;
    /// What follows from the node of a row.
    fn stat(&self, node: <Self::Level as Level>::Node) -> Self::Stat;
    /// Whether the row is one of those that [`RowOp::map`] computes with fewer operations.
    fn is_plain(&self, stat: Self::Stat) -> bool;
    /// The results of a pack of a row that is plain, whose warp has nothing wild.
    fn map<S: Simt>(&self, s: &S, kept: Self::Kept, stat: Self::Stat, at: At) -> [u32; 4];
    /// The results of a pack of any row.
    fn map_any<S: Simt>(&self, s: &S, kept: Self::Kept, stat: Self::Stat, wild: bool, at: At) -> [u32; 4];
}
