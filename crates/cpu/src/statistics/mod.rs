//! The kernel of every statistic of [`crate::describe()`] at once. Sums, norms and moments share one pass over a block
//! in the L1 cache ([`trees`]), and extrema another. A place is searched for only if the block's extremum beats
//! those of the blocks before, and NaNs are counted only if an extremum is one. Columns take up to 128 rows at a time,
//! so that few nodes, which are large, leave the cache.

mod bounds;
mod dense;
pub mod described;
mod places;
pub mod results;
mod trees;

use std::mem::MaybeUninit;

use warpfold_core::ops::{Arg, Deviation, Extremum, Search, Square, Sum};
use warpfold_core::{Accumulate, DType, Element, Key, Real, Reducer};

use bounds::{Ahead, Bounds};
use described::{Described, Sums};
use places::{find, nans};

use crate::extrema::{ends, ends_in};
use crate::kernel::{Item, Kernel, each_row};
use crate::panel::{Panel, TILE};
use crate::policy::{ALONE, BLOCK, PANEL, TALL};
use crate::simd::{Simd, array, vectors_at_level};

/// The columns of a narrow tile.
const FEW: usize = 32;

/// The most bytes of dense rows, where elements have at least two.
const DENSE_BYTES: usize = 16 * BLOCK;

/// The kernel of all statistics.
#[derive(Clone)]
pub struct Describe<T: Described> {
    deviation: Deviation<T>,
    norm: Sum<T, Square>,
    min: Extremum<T>,
    max: Extremum<T>,
    argmin: Arg<T>,
    argmax: Arg<T>,
}

/// A node of each statistic.
#[derive(Clone, Copy)]
pub struct Node<T: Described> {
    sums: Sums<T>,
    /// The keys of the extrema, by which [`Extremum`] and [`Arg`] compare.
    min: T::Key,
    max: T::Key,
    argmin: u64,
    argmax: u64,
    nans: u64,
}

/// What the statistics of one slice are computed from ([`results`]).
pub struct Row<T: Described> {
    node: Node<T>,
    /// Elements of the slice.
    pub count: u64,
}

/// The key by which places are searched for: zeros are equal.
#[inline(always)]
fn equal_zeros<T: Element>(key: T::Key, flip: T::Key) -> T::Key {
    // Of the keys that are not flipped, -0.0 has the one with all bits set, and +0.0 the one with none.
    if T::DTYPE.is_float() && key ^ flip == T::Key::ONES { flip } else { key }
}

impl<T: Described> Describe<T> {
    pub fn new() -> Self {
        let (least, greatest) = (Search::new(false, false), Search::new(true, false));
        Self {
            deviation: Deviation::new(0.0, true),
            norm: Sum::norm2(),
            min: Extremum { search: least, initial: None },
            max: Extremum { search: greatest, initial: None },
            argmin: Arg { search: least },
            argmax: Arg { search: greatest },
        }
    }

    /// The node of a block. What `left`, the node before, has found already is not searched for again.
    #[inline(always)]
    fn fold(&self, level: Simd, left: Option<Node<T>>, x: &[T], start: u64) -> Node<T> {
        let sums = T::block(level, x);
        let Some((least, greatest)) = ends(x).or_else(|| ends_in::<T, 16>(x)) else {
            return Node { sums, ..self.extremes_of_few(x, start) };
        };
        let (min, max) = (self.min.lift(least, 0), self.max.lift(greatest, 0));
        if least.is_nan() {
            let (nans, first) = nans(x);
            let first = start + first as u64;
            let node = Node { sums, min, max, argmin: first, argmax: first, nans };
            return left.map_or(node, |left| Node { nans, ..self.extremes(sums, left, node) });
        }
        let (flip, none) = (T::Key::ONES, T::Key::ZERO);
        let mut node = left.unwrap_or(Node { sums, min, max, argmin: u64::MAX, argmax: u64::MAX, nans: 0 });
        (node.sums, node.nans) = (sums, 0);
        if node.argmin == u64::MAX || equal_zeros::<T>(min, flip) > equal_zeros::<T>(node.min, flip) {
            node.argmin = start + find(&self.argmin, x, least) as u64;
        }
        if node.argmax == u64::MAX || equal_zeros::<T>(max, none) > equal_zeros::<T>(node.max, none) {
            node.argmax = start + find(&self.argmax, x, greatest) as u64;
        }
        (node.min, node.max) = (node.min.max(min), node.max.max(max));
        node
    }

    /// The node of fewer elements than a vector has, but for the sums.
    #[inline(never)]
    fn extremes_of_few(&self, x: &[T], start: u64) -> Node<T> {
        let nodes = x.iter().zip(start..).map(|(&x, at)| self.lift(x, at));
        nodes.reduce(|a, b| self.extremes(a.sums, a, b)).expect("a block is not empty")
    }

    /// The node above two, but for the sums, which are given.
    #[inline(always)]
    fn extremes(&self, sums: Sums<T>, a: Node<T>, b: Node<T>) -> Node<T> {
        let beats = |a: T::Key, b: T::Key, flip: T::Key| equal_zeros::<T>(b, flip) > equal_zeros::<T>(a, flip);
        Node {
            sums,
            min: a.min.max(b.min),
            max: a.max.max(b.max),
            argmin: if beats(a.min, b.min, T::Key::ONES) { b.argmin } else { a.argmin },
            argmax: if beats(a.max, b.max, T::Key::ZERO) { b.argmax } else { a.argmax },
            nans: a.nans + b.nans,
        }
    }

    /// The nodes of a tile of columns.
    #[inline(always)]
    fn tile<const W: usize>(
        &self,
        level: Simd,
        rows: &[&[T; W]],
        start: u64,
        ahead: Ahead,
        out: &mut [MaybeUninit<Node<T>>; W],
    ) {
        let mut odd = false;
        T::columns(
            level,
            rows,
            ahead,
            #[inline(always)]
            |m2, bounds| odd = are_odd::<T, W>(m2, bounds),
            #[inline(always)]
            |i, sums, bounds| {
                let (argmin, argmax) = (bounds.least_at[i].to_small(), bounds.greatest_at[i].to_small());
                let (argmin, argmax) = (start + argmin as u64, start + argmax as u64);
                out[i].write(Node { sums, min: bounds.least[i], max: bounds.greatest[i], argmin, argmax, nans: 0 });
            },
        );
        if odd {
            self.odd_columns(rows, start, out);
        }
    }

    /// The nodes of a tile's columns with a NaN, an infinity, or zeros of both signs.
    #[cold]
    #[inline(never)]
    fn odd_columns<const W: usize>(&self, rows: &[&[T; W]], start: u64, out: &mut [MaybeUninit<Node<T>>; W]) {
        for (i, out) in out.iter_mut().enumerate() {
            // SAFETY: `tile` has written the node of every column.
            let node = unsafe { out.assume_init_ref() };
            if is_odd::<T>(node.sums.moments.m2, node.min, node.max) {
                let column: [T; TALL] = array!(TALL, row => rows[row.min(rows.len() - 1)][i]);
                out.write(self.block(&column[..rows.len()], start));
            }
        }
    }

    /// The nodes of the columns of rows, tile by tile. The rows after them begin `next` bytes from them.
    ///
    /// # Safety
    /// Every row has `out.len()` elements, at least `W`.
    #[inline(never)]
    unsafe fn tiles<const W: usize>(
        &self,
        rows: &[*const T],
        start: u64,
        next: isize,
        out: &mut [MaybeUninit<Node<T>>],
    ) {
        vectors_at_level(
            #[inline(always)]
            // SAFETY: the caller vouches for the elements of every row.
            |level| unsafe { self.tiles_at::<W>(level, rows, start, next, out) },
        );
    }

    /// [`Describe::tiles`] by the instructions of a level.
    ///
    /// # Safety
    /// As of [`Describe::tiles`].
    #[inline(always)]
    unsafe fn tiles_at<const W: usize>(
        &self,
        level: Simd,
        rows: &[*const T],
        start: u64,
        next: isize,
        out: &mut [MaybeUninit<Node<T>>],
    ) {
        let mut tile = [const { MaybeUninit::<&[T; W]>::uninit() }; TALL];
        // Rows a large power of two of bytes apart have one place in the cache for few of them.
        let step = rows.get(1).map_or(0, |second| second.addr().wrapping_sub(rows[0].addr()));
        let ahead = if step.is_multiple_of(4096) { 2 * PANEL } else { rows.len() };
        let width = out.len();
        let mut column = 0;
        while column < width {
            // The last tile may overlap the one before.
            column = column.min(width - W);
            for (to, row) in tile.iter_mut().zip(rows) {
                let row = row.wrapping_add(column);
                // SAFETY: the caller vouches for all columns of each row, and the tile ends at the last column.
                to.write(unsafe { &*row.cast::<[T; W]>() });
            }
            // SAFETY: the loop has written a place for each row.
            let tile = unsafe { tile[..rows.len()].assume_init_ref() };
            let out = out[column..].first_chunk_mut().expect("a tile");
            let (size, is_last) = (size_of::<T>() as isize, column + W >= width);
            let next = if is_last { next - column as isize * size } else { W as isize * size };
            self.tile(level, tile, start, Ahead { rows: ahead, next }, out);
            column += W;
        }
    }
}

/// Whether a column's node has no meaning: a column has a NaN, an infinity, or zeros of both signs, whose place is that
/// of the first one.
#[inline(always)]
fn is_odd<T: Described>(m2: T::Float, min: T::Key, max: T::Key) -> bool {
    has_zeros::<T>(min, max) | (m2.sub(m2) != T::Float::ZERO)
}

/// Whether one of the extrema is a zero, and the other one is not the same.
#[inline(always)]
fn has_zeros<T: Described>(min: T::Key, max: T::Key) -> bool {
    let (zero, ones) = (T::Key::ZERO, T::Key::ONES);
    ((max == zero) & (min != ones)) | ((min == zero) & (max != ones))
}

/// Whether the node of any of a tile's columns is odd.
#[inline(always)]
fn are_odd<T: Described, const W: usize>(m2: &[T::Float; W], bounds: &Bounds<T::Key, W>) -> bool {
    let zeros = bounds.least.iter().zip(&bounds.greatest).fold(
        false,
        #[inline(always)]
        |any, (&min, &max)| any | has_zeros::<T>(min, max),
    );
    let finite = m2.iter().fold(
        true,
        #[inline(always)]
        |all, m2| all & (m2.sub(*m2) == T::Float::ZERO),
    );
    zeros | !finite
}

impl<T: Described> Reducer for Describe<T> {
    type Item = T;
    type Acc = Node<T>;
    type Output = Row<T>;

    #[inline(always)]
    fn lift(&self, x: T, i: u64) -> Node<T> {
        Node {
            sums: Sums { total: x.total(), norm: self.norm.lift(x, i), moments: self.deviation.lift(x, i) },
            min: self.min.lift(x, i),
            max: self.max.lift(x, i),
            argmin: i,
            argmax: i,
            nans: x.is_nan() as u64,
        }
    }

    fn combine(&self, left: Node<T>, right: Node<T>) -> Node<T> {
        self.combine_counted(left, 1, right, 1)
    }

    #[inline(always)]
    fn combine_counted(&self, a: Node<T>, m: u64, b: Node<T>, n: u64) -> Node<T> {
        let sums = Sums {
            total: a.sums.total.add(b.sums.total),
            norm: self.norm.combine(a.sums.norm, b.sums.norm),
            moments: self.deviation.combine_counted(a.sums.moments, m, b.sums.moments, n),
        };
        self.extremes(sums, a, b)
    }

    #[inline(always)]
    fn finish(&self, node: Node<T>, count: u64) -> Row<T> {
        Row { node, count }
    }
}

impl<T: Described> Kernel for Describe<T> {
    type R = Self;

    const SHORT: usize = ALONE;

    /// A tile and the one that is prefetched stay in L1.
    const ROWS: usize = if size_of::<T>() > 2 { TALL / 2 } else { TALL };

    fn reducer(&self) -> &Self {
        self
    }

    /// A block ends with nodes of unequal lengths and with two searches for places. 128 MiB, two threads of a Xeon with
    /// AVX-512, ms of rows as blocks, and as columns: bf16, rows of 700 23.7, 19.6; 1000 19.3, 19.1; f16, rows of 1000
    /// 23.2, 17.4; 1500 19.9, 18.5; f32, rows of 300 23.0, 13.8; 400 15.6, 13.5. Other types have no record.
    fn apart(len: usize) -> bool {
        // Rows so many bytes long compete for few cache sets.
        let compete = (len * size_of::<T>()).is_multiple_of(512);
        let most = match T::DTYPE {
            _ if compete => ALONE,
            DType::F16 => 1536,
            DType::BF16 => 1024,
            DType::F32 => 512,
            _ => ALONE,
        };
        len < most
    }

    fn rows(&self, x: &[T], len: usize, out: &mut [MaybeUninit<Node<T>>]) {
        each_row(self, x, len, out);
    }

    unsafe fn panel(&self, panel: Panel<'_, T>, out: &mut [MaybeUninit<Node<T>>]) {
        let Panel { rows, start, groups, step } = panel;
        debug_assert!(groups == 1 && step == 0, "dense rows are not cut into groups");
        let step = rows.get(1).map_or(0, |second| second.addr().wrapping_sub(rows[0].addr()) as isize);
        let next = step.wrapping_mul(rows.len() as isize);
        // SAFETY: the caller vouches for an element of each node in every row, and for a tile of nodes.
        unsafe {
            match size_of::<T>() {
                8 => self.tiles::<FEW>(rows, start, next, out),
                _ => self.tiles::<TILE>(rows, start, next, out),
            }
        }
    }

    const DENSE: bool = true;

    /// As many stretches of few columns as fill a few tiles: the rows, and the rows of stretches, fit L2.
    const DENSE_ITEMS: usize = DENSE_BYTES / if size_of::<T>() > 2 { size_of::<T>() } else { 2 };

    fn dense(&self, x: &[T], start: u64, out: &mut [MaybeUninit<Node<T>>]) {
        self.dense_rows(x, start, out);
    }

    fn block(&self, x: &[Item<Self>], start: u64) -> Node<T> {
        self.block_after(None, x, start)
    }

    fn block_after(&self, left: Option<Node<T>>, x: &[T], start: u64) -> Node<T> {
        vectors_at_level(
            #[inline(always)]
            |level| self.fold(level, left, x, start),
        )
    }
}
