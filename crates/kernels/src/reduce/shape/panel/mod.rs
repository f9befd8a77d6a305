//! How a warp gets the parts of some columns, each over a stretch of rows.
//!
//! - `ordered`: in the order of the tree.
//! - `near`: the same where few columns are side by side.
//! - `few`: the same of at most 8 rows.
//! - `free`: in any order, an element at a time.
//! - `packed`: in any order, elements of 1 or 2 bytes, a 32-bit word at a time.
//! - `read`: from memory.
//! - `shift`: the same, wherever rows begin.
//! - `tile`: where a lane's rows are.

mod few;
mod free;
mod near;
mod ordered;
mod packed;
mod read;
mod shift;
mod tile;

pub use free::Free;
pub use ordered::Ordered;
pub use packed::Packed;
pub(super) use read::{load, load_first, together};
pub(super) use tile::Tile;

use crate::params::{Plain, params};
use crate::reduce::fold::{Parts, Tree};
use crate::reduce::recipe::Recipe;
use crate::reduce::shape::map::Map;
use crate::reduce::shape::piece::share;
use crate::reduce::shape::split::STEPS;
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
    /// Bytes from column to column.
    pub across: i64,
    /// Rows.
    pub rows: u64,
    /// Lanes side by side in a row, a power of two; the others take the next rows.
    pub lanes: u32,
    /// The address of the panel's first column in row 0.
    pub panel: u64,
    /// Columns that all those lanes have side by side; none if lanes have those of several units.
    pub beside: u32,
    /// The address of the input.
    pub input: u64,
    /// How rows follow one another.
    pub reduced: R,
}

impl<L: Lines> Strip<L> {
    /// Only one of the lane's columns, or its last.
    #[inline(always)]
    fn column<B: Bits>(&self, j: u32) -> Self {
        let j = (j as u64).min(self.columns.max(1) - 1);
        Self { x: self.x.wrapping_add(self.beside::<B>(j) as u64), columns: 1, at_once: false, ..*self }
    }

    /// Bytes from the lane's first column to column `j`.
    #[inline(always)]
    fn beside<B: Bits>(&self, j: u64) -> usize {
        let across = if L::SEVERAL { self.across } else { B::SIZE as i64 };
        (j as i64 * self.spread as i64).wrapping_mul(across) as usize
    }

    /// The number of the last row.
    #[inline(always)]
    fn last(&self) -> u64 {
        self.rows.max(1) - 1
    }

    /// The address of the first column in a row.
    #[inline(always)]
    fn at(&self, row: u64) -> u64 {
        self.x.wrapping_add(self.reduced.find(row).0 as u64)
    }
}

params! {
    /// Rows at equal distances, of columns side by side.
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
        /// Bytes from the input to the end of the array.
        pub end: u64,
    }

    /// Rows in several runs, of columns at any distance.
    pub struct Apart {
        /// Where the rows are.
        pub map: Map,
        /// Whether a lane's columns can be read at once in every row.
        pub aligned: u64,
    }
}

/// How rows follow one another.
pub trait Lines: Plain {
    /// Whether they may be in several runs, and columns apart.
    const SEVERAL: bool;
    /// Whether a lane's columns can be read at once in every row.
    fn aligned(&self) -> bool;
    /// See [`Pitch::each`].
    fn each(&self) -> u64;
    /// See [`Pitch::tail`].
    fn tail(&self) -> u64;
    /// See [`Pitch::end`]; of no matter where rows are in several runs.
    fn end(&self) -> u64;
    /// Bytes from row to row in a run.
    fn bytes(&self) -> i64;
    /// Bytes from the first row to row number `row`, and how many there are from it on at equal distances.
    fn find(&self, row: u64) -> (i64, u64);
}

impl Lines for Pitch {
    const SEVERAL: bool = false;
    #[inline(always)]
    fn aligned(&self) -> bool {
        self.aligned != 0
    }
    #[inline(always)]
    fn each(&self) -> u64 {
        self.each
    }
    #[inline(always)]
    fn tail(&self) -> u64 {
        self.tail
    }
    #[inline(always)]
    fn end(&self) -> u64 {
        self.end
    }
    #[inline(always)]
    fn bytes(&self) -> i64 {
        self.bytes
    }
    #[inline(always)]
    fn find(&self, row: u64) -> (i64, u64) {
        (row as i64 * self.bytes, u64::MAX)
    }
}

impl Lines for Apart {
    const SEVERAL: bool = true;
    #[inline(always)]
    fn aligned(&self) -> bool {
        self.aligned != 0
    }
    #[inline(always)]
    fn each(&self) -> u64 {
        1
    }
    #[inline(always)]
    fn tail(&self) -> u64 {
        0
    }
    #[inline(always)]
    fn end(&self) -> u64 {
        0
    }
    #[inline(always)]
    fn bytes(&self) -> i64 {
        self.map.near
    }
    #[inline(always)]
    fn find(&self, row: u64) -> (i64, u64) {
        self.map.find(row)
    }
}

/// The parts of `C` columns.
pub trait Panel<const C: usize>: Copy {
    /// What is computed.
    type Fold: Parts;
    /// What it must know of the rows.
    type Reduced: Copy;
    /// Whether a lane may take several rows as one: [`Pitch::each`].
    const SEVERAL: bool = false;
    /// From what a kernel is told.
    fn new(recipe: &Recipe) -> Self;
    /// What is computed.
    fn fold(&self) -> &Self::Fold;
    /// Whether a lane's columns lie side by side even where it cannot read them at once.
    const TOGETHER: bool = false;
    /// Whether lanes of a row may have the columns of several units.
    const UNITS: bool = false;
    /// Whether teams need not be warps: no lane needs another.
    const TEAMS: bool = false;
    /// Bytes of a result that a lane writes with those beside it, if they are as narrow as elements of 1 or 2 bytes.
    const WRITES: Option<u32> = None;
    /// Whether lanes may have columns dealt out to write their results themselves: of elements of 4 bytes and more, and
    /// of what describes.
    const DEALS: bool = false;
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

/// Elements with all bits set in the place of the rows that are not there.
#[inline(always)]
fn filled_up<B: Bits, const C: usize>(bits: &[[B; C]; STEPS], there: impl Fn(usize) -> bool) -> [[B; C]; STEPS] {
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| if there(k) { bits[k] } else { [B::from_bits(u128::MAX); C] },
    )
}

/// The nodes of `width` columns of each step, whose rows lie side by side: the nearest join first.
#[inline(always)]
fn side_by_side<S: Simt, F: Tree, const C: usize>(
    s: &S,
    f: &F,
    mut nodes: [[F::Node; C]; STEPS],
    width: u32,
) -> [[F::Node; C]; STEPS] {
    let (mut step, mut under) = (1, 1);
    while step < C {
        if s.branch(step as u32 >= width) {
            let mut k = 0;
            while k < STEPS {
                let mut j = 0;
                while j + step < C {
                    nodes[k][j] = f.join(nodes[k][j], nodes[k][j + step], under);
                    j += if (j + 1) % step == 0 { step + 1 } else { 1 };
                }
                k += 1;
            }
            under *= 2;
        }
        step *= 2;
    }
    nodes
}
