//! How a warp gets the part of a stretch of one output's elements, when these lie side by side.

mod counter;
mod few;
mod free;
mod nodes;
mod ordered;
mod pieces;
mod read;
mod stretch;
mod walk;

pub(in crate::reduce::shape) use counter::part as walk_part;
pub use few::FEW;
pub use free::Free;
pub(in crate::reduce::shape) use nodes::{all_ordinary, last_elements, packs, slow};
pub use ordered::Ordered;
pub use pieces::Gather;
pub(crate) use read::below;
pub use read::{Tile, hold, hold_lines, joined, loose};
pub(in crate::reduce::shape) use read::{followed, repeated};
pub use stretch::{ALONE, PACKS, Stretch, Team};
pub use walk::Walk;
pub(super) use walk::upwards;

use crate::params::{Plain, params};
use crate::reduce::call::Call;
use crate::reduce::fold::Parts;
use crate::reduce::out::Out;
use crate::reduce::recipe::Recipe;
use crate::reduce::shape::map::Map;
use crate::source::Bits;
use warpfold_simt::Simt;

params! {
    #[derive(Default)]
    /// A kept axis: its length, and its steps in bytes (in elements for the output).
    pub struct Kept {
        /// Its length.
        pub len: u64,
        /// In the input.
        pub x: i64,
        /// In the mask.
        pub mask: i64,
        /// In the output.
        pub out: i64,
    }
}

params! {
    /// The kept axes, the innermost first.
    pub struct Outputs[; const K] {
        /// All of them.
        pub total: u64,
        /// How many axes there are.
        pub axes: u64,
        /// Each.
        pub axis: [Kept; K],
    }
}

/// Where an output's elements start, and where it goes.
#[derive(Clone, Copy, Debug)]
pub struct At {
    /// Bytes from the input.
    pub x: i64,
    /// Bytes from the mask.
    pub mask: i64,
    /// Elements from the output.
    pub out: i64,
}

/// `a` over a power of two.
#[inline(always)]
pub fn share(a: u32, power: u32) -> u32 {
    a >> power.trailing_zeros()
}

/// Quotient and remainder.
#[inline(always)]
pub fn divide(a: u64, b: u64) -> (u64, u64) {
    // SAFETY: no axis has length zero; the host decides such reductions.
    let quotient = a / unsafe { core::num::NonZeroU64::new_unchecked(b) };
    (quotient, a - quotient * b)
}

/// Axes whose places [`walk`] finds one after the other; those beyond are found in a loop.
const NEAR: usize = 4;

/// Takes an index apart: `step` gets each axis, the innermost first, and the place along it. `len` is an axis's length.
#[inline(always)]
pub fn walk<A: Copy, const K: usize>(
    axis: &[A; K],
    axes: u64,
    index: u64,
    len: impl Fn(&A) -> u64,
    mut step: impl FnMut(&A, u64),
) {
    let (mut rest, mut k) = (index, 0);
    while k < NEAR {
        let last = k + 1 == K || axes <= k as u64 + 1;
        let (next, i) = if last { (0, rest) } else { divide(rest, len(&axis[k])) };
        step(&axis[k], i);
        if last {
            return;
        }
        rest = next;
        k += 1;
    }
    // Rarely needed, so it is kept short: copies of a division would be most of a kernel's code. A parameter has no
    // index at run time, so each axis is chosen from all.
    let mut k = NEAR as u64;
    loop {
        let (mut this, mut j) = (axis[NEAR], NEAR + 1);
        while j < K {
            this = if j as u64 == k { axis[j] } else { this };
            j += 1;
        }
        k += 1;
        let last = axes <= k;
        let (next, i) = if last { (0, rest) } else { divide(rest, len(&this)) };
        step(&this, i);
        if last {
            return;
        }
        rest = next;
    }
}

impl<const K: usize> Outputs<K> {
    /// Output number `row`.
    #[inline(always)]
    pub fn at(&self, row: u64) -> At {
        let mut at = At { x: 0, mask: 0, out: 0 };
        walk(
            &self.axis,
            self.axes,
            row,
            |axis| axis.len,
            #[inline(always)]
            |axis, i| {
                at.x += i as i64 * axis.x;
                at.mask += i as i64 * axis.mask;
                at.out += i as i64 * axis.out;
            },
        );
        at
    }
}

/// One output's elements.
#[derive(Clone, Copy)]
pub struct Row<R> {
    /// The address of the input.
    pub input: u64,
    /// The address of the first.
    pub x: u64,
    /// The address of the first one's mask.
    pub mask: u64,
    /// Elements.
    pub len: u64,
    /// How they go on.
    pub reduced: R,
}

impl<R: Copy> Row<R> {
    /// The row that starts at `at`.
    #[inline(always)]
    pub fn new<G>(call: &Call<G>, at: At, len: u64, reduced: R) -> Self {
        let (x, mask) = (call.at.input.wrapping_add(at.x as u64), call.at.mask.wrapping_add(at.mask as u64));
        Self { input: call.at.input, x, mask, len, reduced }
    }
}

params! {
    /// Reduced elements that lie side by side.
    pub struct Dense {
        /// Bytes from the input to the end of the array: all before may be read.
        pub end: u64,
    }

    /// Reduced elements in several runs, in each of which they lie side by side.
    pub struct Runs {
        /// Where they are.
        pub map: Map,
        /// Whether runs begin and end at multiples of 16 bytes from the row's first element.
        pub aligned: u64,
        /// As in [`Dense`].
        pub end: u64,
    }
}

/// How the elements of a row follow one another.
pub trait Sequence: Plain {
    /// Whether they may be in several runs.
    const SEVERAL: bool;
    /// Bytes from the input to the end of the array.
    fn end(&self) -> u64;
    /// Bytes from the first element to element `i`, and how many of its run there are from it on.
    fn find<B: Bits>(&self, i: u64) -> (i64, u64);
}

impl Sequence for Dense {
    const SEVERAL: bool = false;
    #[inline(always)]
    fn end(&self) -> u64 {
        self.end
    }
    #[inline(always)]
    fn find<B: Bits>(&self, i: u64) -> (i64, u64) {
        ((i * B::SIZE as u64) as i64, u64::MAX)
    }
}

impl Sequence for Runs {
    const SEVERAL: bool = true;
    #[inline(always)]
    fn end(&self) -> u64 {
        self.end
    }
    #[inline(always)]
    fn find<B: Bits>(&self, i: u64) -> (i64, u64) {
        self.map.find(i)
    }
}

impl<Q: Sequence> Row<Q> {
    /// The address of the array's end.
    #[inline(always)]
    pub fn end(&self) -> u64 {
        self.input.wrapping_add(self.reduced.end())
    }

    /// The address of element `i`, and how many of its run there are from it on.
    #[inline(always)]
    pub fn find<B: Bits>(&self, i: u64) -> (u64, u64) {
        let (at, left) = self.reduced.find::<B>(i);
        (self.x.wrapping_add(at as u64), left)
    }
}

/// The part of a stretch of a row.
pub trait Piece: Copy {
    /// What is computed.
    type Fold: Parts;
    /// What it must know of a row.
    type Reduced: Copy;
    /// Elements in 16 bytes.
    const PER: u32;
    /// Whether all lanes of a warp settle a part, that of the first.
    const TOGETHER: bool = false;
    /// From what a kernel is told.
    fn new(recipe: &Recipe) -> Self;
    /// What is computed.
    fn fold(&self) -> &Self::Fold;
    /// The part of `tiles` tiles from number `tile`; every lane gets it.
    fn run<S: Simt>(&self, s: &S, row: &Row<Self::Reduced>, tile: u32, tiles: u32) -> <Self::Fold as Parts>::Part;
    /// The final part: where an arg op's pack is looked through.
    #[inline(always)]
    fn settle<S: Simt>(
        &self,
        _s: &S,
        _row: &Row<Self::Reduced>,
        part: <Self::Fold as Parts>::Part,
    ) -> <Self::Fold as Parts>::Part {
        part
    }
    /// Writes the results.
    #[inline(always)]
    fn finish<S: Simt>(
        &self,
        s: &S,
        recipe: &Recipe,
        _row: &Row<Self::Reduced>,
        part: <Self::Fold as Parts>::Part,
        out: Out,
    ) {
        self.fold().finish(s, recipe, part, out);
    }
}

/// The parts of outputs of a few packs of 16 bytes, two to a lane.
pub trait Held: Piece {
    /// An element in memory.
    type Bits: Bits;
    /// What may be read instead of elements that there are not: best what changes nothing.
    #[inline(always)]
    fn blank(&self) -> Self::Bits {
        Self::Bits::ZERO
    }
    /// Whether the parts of several turns may meet before those of lanes do.
    const FREE: bool;
    /// The part of one element.
    fn single<S: Simt>(&self, s: &S, bits: Self::Bits) -> <Self::Fold as Parts>::Part;
    /// The part of two packs of a lane, which are `lanes` packs apart: of the first `count` elements of each, and
    /// [`Held::blank`]s after them if elements have 4 bytes or more. The first one is number `before` of the output's.
    /// If order matters, it is that of all of the `lanes` lanes.
    fn held<S: Simt>(
        &self,
        s: &S,
        w: &[[u32; 4]; 2],
        count: [u32; 2],
        before: u32,
        lanes: u32,
    ) -> <Self::Fold as Parts>::Part;
    /// The part of `lanes` lanes, a power of two, of what is held; each of them gets it.
    #[inline(always)]
    fn together<S: Simt>(&self, _s: &S, part: <Self::Fold as Parts>::Part, _lanes: u32) -> <Self::Fold as Parts>::Part {
        part
    }
}

/// How many of `per` elements from `first` there are.
#[inline(always)]
pub fn valid(len: u64, first: u64, per: u32) -> u32 {
    if first >= len { 0 } else { (len - first).min(per as u64) as u32 }
}
