//! What a planner has to know of a fold.

use crate::node::Node;
use crate::reduce::fold::{Packed, Parts, Tree};
use crate::reduce::shape::{beside, panel};
use crate::source::Bits;

/// Elements under a node, at most, whose sums are exact: what meets in pairs is then other than nodes, and large.
pub const EXACT: u64 = 4096;

/// What a planner has to know of a fold, said by the fold's types and its line of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Whether the order of elements matters.
    pub ordered: bool,
    /// Whether its result is a place, so that partial results cannot change theirs.
    pub places: bool,
    /// Words of a partial.
    pub words: usize,
    /// Columns that a lane takes.
    pub wide: u64,
    /// Whether there is a kernel for outputs of few elements.
    pub staged: bool,
    /// Whether that kernel takes outputs in several turns.
    pub turns: bool,
    /// Whether that kernel takes outputs of 2 bytes side by side in pairs.
    pub twins: bool,
    /// Whether there is a kernel for columns of few rows.
    pub shallow: bool,
    /// Whether there is a kernel for columns that are apart, or whose rows are in several runs.
    pub apart: bool,
    /// Whether there is a kernel for columns.
    pub columns: bool,
    /// Whether lanes of columns may be teams of other sizes than a warp's.
    pub teams: bool,
    /// Whether a lane may take several short rows as one.
    pub packed: bool,
    /// Whether a lane can write several results of 1 or 2 bytes at once, if results are as narrow as elements.
    pub narrow: bool,
    /// Whether the same of staged lines that have several outputs each.
    pub lines: bool,
    /// Most elements that a node has under it.
    pub most: u64,
    /// Whether there is a kernel for columns fewer than 32 lanes wide, if order matters; else `apart_` takes them.
    pub slim: bool,
    /// Whether there are kernels for segments.
    pub segments: bool,
    /// Columns of the kernel for few outputs side by side, at most.
    pub beside: u64,
}

impl Facts {
    /// Whether it is all that `describe` says: what has an order, and places.
    #[must_use]
    pub const fn describes(&self) -> bool {
        self.ordered && self.places
    }

    /// Of a fold with all kernels, in any order of elements.
    pub(crate) const fn any_order<F: Parts>(wide: u64) -> Self {
        Self {
            ordered: false,
            places: F::PLACES,
            words: F::Part::WORDS as usize,
            wide,
            staged: true,
            turns: false,
            twins: false,
            shallow: true,
            apart: true,
            columns: true,
            teams: false,
            packed: false,
            narrow: false,
            lines: false,
            most: u64::MAX,
            slim: true,
            segments: true,
            beside: 0,
        }
    }

    /// Of a fold in the order of the tree that takes long rows alone, and has parts of so many words.
    #[must_use]
    pub const fn of_rows(words: usize) -> Self {
        Self {
            ordered: true,
            places: false,
            words,
            wide: 1,
            staged: false,
            turns: false,
            twins: false,
            shallow: false,
            apart: false,
            columns: false,
            teams: false,
            packed: false,
            narrow: false,
            lines: false,
            most: u64::MAX,
            slim: false,
            segments: false,
            beside: 0,
        }
    }

    /// Of a tree with all kernels, a lane of which takes so many columns.
    pub(crate) const fn tree<F: Tree, const C: usize>() -> Self {
        let several = <panel::Ordered<F, true> as panel::Panel<C>>::SEVERAL;
        let narrow = several && F::NARROW && F::Bits::SIZE <= 2;
        let lines = F::LINES && F::Bits::SIZE <= 2;
        let teams = <panel::Ordered<F, false> as panel::Panel<C>>::TEAMS;
        Self {
            packed: several,
            narrow,
            lines,
            teams,
            turns: F::TURNS,
            twins: F::TWINS,
            ..Self::in_order::<F>(C as u64)
        }
    }

    /// With the kernel for few outputs side by side.
    pub(crate) const fn beside(self) -> Self {
        Self { beside: beside::most(self.words as u32), ..self }
    }

    /// Of a tree without those either, nor any for segments. Teams have columns of integers alone: those of floats were
    /// not measured.
    pub(crate) const fn lean<F: Tree, const C: usize>() -> Self {
        let (of, most) = (Self::tree::<F, C>(), F::MOST as u64);
        let teams = of.teams && most <= EXACT;
        Self {
            shallow: false,
            slim: false,
            segments: false,
            packed: false,
            narrow: false,
            lines: false,
            turns: false,
            twins: false,
            most,
            teams,
            ..of
        }
    }

    /// Of such a tree with the kernel for columns of few rows.
    pub(crate) const fn live<F: Tree, const C: usize>() -> Self {
        let narrow = F::NARROW && F::Bits::SIZE <= 2;
        Self { shallow: true, narrow, ..Self::lean::<F, C>() }
    }

    /// Of a tree without kernels for few columns or few rows.
    pub(crate) const fn broad<F: Tree>(wide: u64) -> Self {
        Self { shallow: false, slim: false, turns: F::TURNS, twins: F::TWINS, ..Self::in_order::<F>(wide) }
    }

    /// Of a fold that takes columns a word together, with all kernels.
    pub(crate) const fn packed<F: Packed, const C: usize>() -> Self {
        let several = <panel::Packed<F> as panel::Panel<C>>::SEVERAL;
        Self { packed: several, narrow: F::NARROW, lines: F::LINES, ..Self::any_order::<F>(C as u64) }
    }

    /// With lanes of columns in teams of any size.
    pub(crate) const fn in_teams(self) -> Self {
        Self { teams: true, ..self }
    }

    /// Without the kernel for columns of few rows.
    pub(crate) const fn tall(self) -> Self {
        Self { shallow: false, ..self }
    }

    /// Of a fold with all kernels, in the order of the tree.
    pub(crate) const fn in_order<F: Parts>(wide: u64) -> Self {
        Self { ordered: true, ..Self::any_order::<F>(wide) }
    }
}
