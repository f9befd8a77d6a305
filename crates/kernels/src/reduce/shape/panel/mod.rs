//! How a warp gets the parts of some columns, each over a stretch of rows.
//!
//! - `ordered`: in the order of the tree.
//! - `free`: in any order, an element at a time.
//! - `packed`: in any order, elements of 1 or 2 bytes, a 32-bit word at a time.
//! - `read`: from memory, wherever rows begin.

mod free;
mod ordered;
mod packed;
mod read;

pub use free::Free;
pub use ordered::Ordered;
pub use packed::Packed;
pub(super) use read::{Tile, load};

use crate::params::params;
use crate::reduce::fold::Parts;
use crate::reduce::recipe::Recipe;
use crate::reduce::shape::piece::share;
use crate::reduce::shape::stack::Own;
use crate::reduce::shape::warp;
use crate::source::Bits;
use warpfold_simt::Simt;

/// The columns of one lane, and the lanes beside it.
#[derive(Clone, Copy)]
pub struct Strip<R> {
    /// The address of the lane's first column in row 0; of the panel's first, if the lane has none.
    pub x: u64,
    /// The address of its mask.
    pub mask: u64,
    /// How many of the lane's columns there are, counted in steps of `spread`.
    pub columns: u64,
    /// Whether the lane reads its columns at once.
    pub at_once: bool,
    /// Columns from one of the lane's columns to the next.
    pub spread: u32,
    /// Rows.
    pub rows: u64,
    /// Lanes side by side in a row, a power of two; the others take the next rows.
    pub lanes: u32,
    /// The address of the panel's first column in row 0.
    pub panel: u64,
    /// Columns that all those lanes have.
    pub beside: u32,
    /// How rows follow one another.
    pub reduced: R,
}

impl Strip<Pitch> {
    /// Only one of the lane's columns, or its last.
    #[inline(always)]
    fn column<B: Bits>(&self, j: u32) -> Self {
        let j = (j as u64).min(self.columns.max(1) - 1) * self.spread as u64;
        Self { x: self.x.wrapping_add(j * B::SIZE as u64), columns: 1, at_once: false, ..*self }
    }
}

params! {
    /// Rows at equal distances.
    pub struct Pitch {
        /// Bytes from row to row.
        pub bytes: i64,
        /// Whether a lane's columns can be read at once in every row.
        pub aligned: u64,
        /// Rows of the array that lie in each of these rows, which then are what one lane reads. More than one only
        /// where the array's rows follow one another without gaps, and for kernels that know of it ([`Packed`]).
        pub each: u64,
        /// Elements of the last row, if it is not whole; otherwise 0.
        pub tail: u64,
    }
}

/// The parts of `C` columns.
pub trait Panel<const C: usize>: Copy {
    /// What is computed.
    type Fold: Parts;
    /// What it must know of the rows.
    type Reduced: Copy;
    /// Whether a lane's columns lie side by side even where it cannot read them at once.
    const TOGETHER: bool = false;
    /// Whether a lane may take several rows as one: [`Pitch::each`].
    const SEVERAL: bool = false;
    /// From what a kernel is told.
    fn new(recipe: &Recipe) -> Self;
    /// What is computed.
    fn fold(&self) -> &Self::Fold;
    /// Whether a lane reads its columns at once, from this address on.
    fn at_once(reduced: &Self::Reduced, address: u64) -> bool;
    /// Over `tiles` times 8 steps of rows from `first`; every lane gets the parts of its own columns.
    fn run<S: Simt>(
        &self,
        s: &S,
        strip: &Strip<Self::Reduced>,
        own: Own,
        first: u64,
        tiles: u32,
    ) -> [<Self::Fold as Parts>::Part; C];
}

/// The parts of `C` columns of at most 8 rows.
pub trait Shallow<const C: usize>: Panel<C, Reduced = Pitch> {
    /// Bytes of an element.
    const SIZE: u32;
    /// See the trait.
    fn shallow<S: Simt>(&self, s: &S, strip: &Strip<Pitch>) -> [<Self::Fold as Parts>::Part; C];
}

/// What lanes that took rows abreast have of the same columns, all of it; in any order.
#[inline(always)]
fn meet_abreast<S: Simt, F: Parts, const C: usize>(s: &S, f: &F, mut parts: [F::Part; C], lanes: u32) -> [F::Part; C] {
    let mut bit = lanes;
    while s.again(bit < 32) {
        parts = parts.map(
            #[inline(always)]
            |part| warp::across(s, warp::Meet(f), part, bit, 1),
        );
        bit *= 2;
    }
    parts
}

/// The row of the strip that a lane starts from, and how many a step covers.
#[inline(always)]
fn abreast<S: Simt>(s: &S, first: u64, lanes: u32) -> (u64, u32) {
    (first + share(s.lane(), lanes) as u64, share(32, lanes))
}
