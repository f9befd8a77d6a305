//! What an operation on rows is.

use super::Rowwise;
use super::level::Level;
use super::spread::{At, Packs, Place};
use crate::node::Node;
use crate::source::Source;
use warpfold_simt::Simt;

/// What a warp keeps of its packs.
pub struct Held<O: RowOp, const N: usize> {
    /// What a lane keeps of each pack.
    pub kept: [O::Kept; N],
    /// The steps whose elements are all ordinary, a bit to each, where that matters.
    pub clean: u32,
    /// Whether what is kept is not what [`RowOp::map`] needs in rows that are plain.
    pub wild: bool,
}

impl<O: RowOp, const N: usize> Held<O, N> {
    /// The same, of which the compiler knows nothing, if elements are kept as they were read: numbers that it keeps for
    /// later would take twice the registers.
    #[inline(always)]
    pub fn again<S: Simt>(self, s: &S) -> Self {
        if !O::AS_READ {
            return self;
        }
        let kept = self.kept.map(
            #[inline(always)]
            |kept| {
                kept.map(
                    #[inline(always)]
                    |_, word| s.opaque(word),
                )
            },
        );
        Self { kept, ..self }
    }

    /// Of packs that need no care.
    #[inline(always)]
    pub fn new(kept: [O::Kept; N]) -> Self {
        Self { kept, clean: 0, wild: false }
    }
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
    /// What the reduction has made of what is kept of a pack, from which its results follow, if rows are
    /// [`RowOp::GIVEN`].
    type Ready: Node;
    /// Whether there are two arrays.
    const SECOND: bool = false;
    /// Whether rows are reduced with what an earlier launch has noted of each ([`RowOp::noted`]).
    const GIVEN: bool = false;
    /// Whether an earlier launch may have noted all that follows from a row.
    const NOTED: bool = false;
    /// Whether packs differ in whether [`RowOp::is_common`] is true.
    const COMMON: bool = false;
    /// Whether results follow from elements at any address: there are no weights, which come by packs of a row.
    const LINED: bool = false;
    /// Whether every row is one of those of which [`RowOp::is_plain`] is true.
    const PLAIN: bool = false;
    /// Whether results of rows that are not plain are computed of all packs at once, too: they take no more registers.
    const AT_ONCE: bool = false;
    /// Whether a block keeps turns of a longer row in shared memory: what it computes of an element takes less time
    /// than to read it twice.
    const TURNED: bool = false;
    /// Whether what is kept of a longer row's last turn, of 16-bit elements, stays in registers until the row is known,
    /// so that its results follow without reading it once more.
    const STAYS: bool = true;
    /// Whether what is kept of earlier turns stays in shared memory, too: numbers that take long to compute.
    const KEEPS: bool = false;
    /// Whether elements are kept as they were read.
    const AS_READ: bool = false;

    /// From what the kernel is told.
    fn new(call: &Rowwise) -> Self;
    /// What stands in a pack for elements that are not there, of each array.
    fn blank(&self) -> [<Self::Source as Source>::Bits; 2];
    /// What is kept of a warp's packs.
    fn hold<S, P, const N: usize>(&self, s: &S, packs: &Packs<P, N>) -> Held<Self, N>
    where
        S: Simt,
        P: Fn(u32) -> Place;
    /// For each step the node of its row, or of the row's chunk, or that of the row that the lane finds: as `steps` of
    /// `slots.rs` says, `WARP` too. `given` is what was noted of the steps' rows, if they are [`RowOp::GIVEN`].
    fn nodes<S, P, const WARP: bool, const N: usize>(
        &self,
        s: &S,
        packs: &Packs<P, N>,
        held: &Held<Self, N>,
        given: [Self::Stat; N],
    ) -> [<Self::Level as Level>::Node; N]
    where
        S: Simt,
        P: Fn(u32) -> Place;
    /// What follows from the node of row number `row`.
    fn stat<S: Simt>(&self, s: &S, node: <Self::Level as Level>::Node, row: u64) -> Self::Stat;
    /// What the reduction needs of a pack, with what is given.
    fn ready<S: Simt>(&self, _s: &S, _kept: Self::Kept, _given: Self::Stat, _at: At) -> Self::Ready {
        Self::Ready::zero()
    }
    /// The same as [`RowOp::nodes`], from what is ready.
    fn nodes_ready<S, P, const WARP: bool, const N: usize>(
        &self,
        _s: &S,
        _packs: &Packs<P, N>,
        _ready: [Self::Ready; N],
    ) -> [<Self::Level as Level>::Node; N]
    where
        S: Simt,
        P: Fn(u32) -> Place,
    {
        [Self::Level::NEW.nothing(); N]
    }
    /// The same as [`RowOp::map`], from what is ready.
    fn map_ready<S: Simt>(&self, _s: &S, _ready: Self::Ready, _stat: Self::Stat) -> [u32; 4] {
        [0; 4]
    }
    /// What an earlier launch has noted of a row: all that follows from it, or what it is reduced with.
    fn noted<S: Simt>(&self, _s: &S, _row: u64) -> Self::Stat {
        Self::Stat::zero()
    }
    /// Whether a pack of a plain row is one of those that [`RowOp::map`] computes, where packs differ in that; it may
    /// be known that its elements are all ordinary.
    #[inline(always)]
    fn is_common(&self, _kept: Self::Kept, _clean: bool, _stat: Self::Stat, _at: At) -> bool {
        true
    }
    /// Whether a pack has an element whose result is not like those of others, where packs differ.
    #[inline(always)]
    fn has_own(&self, _stat: Self::Stat, _at: At) -> bool {
        false
    }
    /// The results of such a pack, from what [`RowOp::map`] computes of it.
    #[inline(always)]
    fn with_own<S: Simt>(&self, _s: &S, results: [u32; 4], _kept: Self::Kept, _stat: Self::Stat, _at: At) -> [u32; 4] {
        results
    }
    /// Whether an earlier launch has written the results.
    #[inline(always)]
    fn is_there<S: Simt>(&self, _s: &S) -> bool {
        false
    }
    /// Writes what else is wanted of a row.
    fn note<S: Simt>(&self, _s: &S, _stat: Self::Stat, _row: u64) {}
    /// Whether the row is one of those that [`RowOp::map`] computes with fewer operations.
    fn is_plain(&self, stat: Self::Stat) -> bool;
    /// The results of a pack of a row that is plain, whose warp has nothing wild.
    fn map<S: Simt>(&self, s: &S, kept: Self::Kept, stat: Self::Stat, at: At) -> [u32; 4];
    /// The results of a pack of any row.
    fn map_any<S: Simt>(&self, s: &S, kept: Self::Kept, stat: Self::Stat, wild: bool, at: At) -> [u32; 4];
}
