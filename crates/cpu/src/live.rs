//! The variance of floats that leaves NaNs out. A node counts the elements under it that are none.
//!
//! They have the bits of [`warpfold_core::Live`], whose nodes are optional. Here a node of no elements is a count of 0,
//! so that there is no branch, and loops are vectorised.

use std::mem::MaybeUninit;

use warpfold_core::ops::{Deviation, Moments};
use warpfold_core::{Accumulate, Cast, Element, Float, Real, Reducer};

use super::halves::{Wide, finish_rounded, floats};
use super::high::{fold_high, fold_high_columns};
use super::kernel::Kernel;
use super::moves::by_number;
use super::panel::{Panel, TILE};
use super::policy::{AHEAD, BLOCK, HIGH, PANEL, SHORT};
use super::simd::{Simd, inlined, prefetch, vectorize, vectors_at_level};
use super::wire::fields;

/// A float that is its own mean.
pub trait Plainly: Element<Float = Self, Mean = Self> + Float + Real {}

impl<F: Element<Float = F, Mean = F> + Float + Real> Plainly for F {}

/// A partial result, and the number of elements under it.
#[derive(Clone, Copy)]
pub struct Counted<A> {
    pub(super) value: A,
    pub(super) count: u64,
}

fields!([A] Counted<A>, value: A, count: u64,
    fn fits(self, n: u64) -> bool {
        self.count <= n
    }
);

/// [`Kernel::panel`] of groups of at most [`HIGH`] rows, whose nodes count their elements. `of` makes those of a tile's
/// columns of at most [`PANEL`] rows, a power of two.
///
/// # Safety
/// Every row is good for a group's share of `out`.
#[inline(always)]
pub(super) unsafe fn counted_columns<T: Wide<Float: Plainly>, A: Copy>(
    panel: Panel<'_, T>,
    out: &mut [MaybeUninit<A>],
    of: impl Fn(Simd, &[&[T; TILE]]) -> Level<T::Float, TILE>,
    join: impl Fn(&Level<T::Float, TILE>, &mut Level<T::Float, TILE>),
    counted: impl Fn(Three<T::Float>) -> A,
) {
    vectors_at_level(
        #[inline(always)]
        |level| {
            // SAFETY: the caller vouches for a group's share of `out` in every row.
            unsafe {
                fold_high_columns(
                    panel,
                    out,
                    #[inline(always)]
                    |rows, out| {
                        let nodes = fold_high(
                            rows,
                            #[inline(always)]
                            |_, rows| of(level, rows),
                            #[inline(always)]
                            |left, _, right, _| join(left, right),
                        );
                        for (i, out) in out.iter_mut().enumerate() {
                            out.write(counted(nodes.get(i)));
                        }
                    },
                );
            }
        },
    );
}

/// The variance, or the standard deviation, of elements that are not NaN.
#[derive(Clone)]
pub struct LiveDeviation<T: Element>(pub Deviation<T>);

impl<T: Wide<Float: Plainly>> Reducer for LiveDeviation<T> {
    type Item = T;
    type Acc = Counted<Moments<T::Float>>;
    type Output = T::Mean;

    const INDEXED: bool = false;

    fn identity(&self) -> Option<Self::Acc> {
        Some(Counted { value: Moments { mean: T::Float::ZERO, m2: T::Float::ZERO }, count: 0 })
    }

    #[inline(always)]
    fn lift(&self, x: T, _index: u64) -> Self::Acc {
        Three::of(x.float()).counted()
    }

    #[inline(always)]
    fn combine(&self, left: Self::Acc, right: Self::Acc) -> Self::Acc {
        let [a, b] = [left, right].map(
            #[inline(always)]
            |node| Three { mean: node.value.mean, m2: node.value.m2, count: T::Float::from_count(node.count) },
        );
        let Three { mean, m2, .. } = a.join::<BLOCK>(b);
        Counted { value: Moments { mean, m2 }, count: left.count + right.count }
    }

    #[inline(always)]
    fn finish(&self, acc: Self::Acc, _count: u64) -> T::Mean {
        T::Mean::from_float(self.value(acc))
    }
}

impl<T: Wide<Float: Plainly>> LiveDeviation<T> {
    /// The result, not rounded.
    #[inline(always)]
    fn value(&self, acc: Counted<Moments<T::Float>>) -> T::Float {
        // Of nothing it is NaN, without a branch, so that results are vectors.
        let m2 = if acc.count == 0 { T::Float::ZERO.div(T::Float::ZERO) } else { acc.value.m2 };
        Deviation::<T::Float>::new(self.0.ddof, self.0.root).finish(Moments { m2, ..acc.value }, acc.count)
    }
}

/// A node of a block's tree: its count is a float, which is exact.
#[derive(Clone, Copy)]
pub(super) struct Three<F> {
    pub(super) mean: F,
    pub(super) m2: F,
    pub(super) count: F,
}

impl<F: Plainly> Three<F> {
    #[inline(always)]
    fn of(x: F) -> Self {
        let is = !x.is_nan();
        let mean = if is { x } else { F::ZERO };
        Self { mean, m2: mean.sub(mean), count: if is { F::ONE } else { F::ZERO } }
    }

    /// [`Deviation`]'s node above two of at most `MOST` elements each. Of equal counts the share is exactly one half.
    #[inline(always)]
    fn join<const MOST: usize>(self, right: Self) -> Self {
        let count = self.count.add(right.count);
        let half = F::ONE.div(F::from_count(2));
        // If there are elements on both sides. Without a division where nodes are small: two thirds, rounded, are twice
        // as much as one third, rounded.
        let share = match MOST {
            1 => half,
            2 if count == F::from_count(3) => right.count.mul(F::ONE.div(F::from_count(3))),
            2 => half,
            _ => right.count.div(count),
        };
        let d = right.mean.sub(self.mean);
        let mean = self.mean.add(d.mul(share));
        let m2 = self.m2.add(right.m2).add(d.square().mul(self.count.mul(share)));
        // A node of no elements changes nothing.
        let other = if right.count == F::ZERO { self } else { right };
        let is_alone = right.count == F::ZERO || self.count == F::ZERO;
        Self { mean: if is_alone { other.mean } else { mean }, m2: if is_alone { other.m2 } else { m2 }, count }
    }

    #[inline(always)]
    fn counted(self) -> Counted<Moments<F>> {
        let Self { mean, m2, count } = self;
        Counted { value: Moments { mean, m2 }, count: whole(count) }
    }
}

/// The count of a block's node. (There are vectors of i32 from floats on every CPU, and those of u64 on few.)
#[inline(always)]
pub(super) fn whole<F: Float>(count: F) -> u64 {
    // SAFETY: a block has at most `BLOCK` elements. (A cast that saturates is no vector.)
    unsafe { count.to_f64().to_int_unchecked::<i32>() as u64 }
}

/// The nodes of a level: an array of each part, so that all are vectorised.
#[derive(Clone, Copy)]
pub(super) struct Level<F, const N: usize> {
    pub(super) mean: [F; N],
    pub(super) m2: [F; N],
    pub(super) count: [F; N],
}

impl<F: Plainly, const N: usize> Level<F, N> {
    #[inline(always)]
    fn new() -> Self {
        Self { mean: [F::ZERO; N], m2: [F::ZERO; N], count: [F::ZERO; N] }
    }

    #[inline(always)]
    fn get(&self, i: usize) -> Three<F> {
        Three { mean: self.mean[i], m2: self.m2[i], count: self.count[i] }
    }

    #[inline(always)]
    fn set(&mut self, i: usize, node: Three<F>) {
        (self.mean[i], self.m2[i], self.count[i]) = (node.mean, node.m2, node.count);
    }
}

impl<F: Plainly, const N: usize> Level<F, N> {
    /// Sets the nodes of a piece.
    #[inline(always)]
    fn put(&mut self, piece: usize, nodes: &Level<F, { PIECE / LEAF }>) {
        self.mean.as_chunks_mut().0[piece] = nodes.mean;
        self.m2.as_chunks_mut().0[piece] = nodes.m2;
        self.count.as_chunks_mut().0[piece] = nodes.count;
    }
}

/// The level above `2 * n` nodes of at most `MOST` elements.
#[inline(always)]
fn above<F: Plainly, const MOST: usize, const M: usize, const N: usize>(level: &Level<F, M>, n: usize) -> Level<F, N> {
    const { assert!(M == 2 * N) };
    let mut above = Level::new();
    for i in 0..n.min(N) {
        above.set(i, level.get(2 * i).join::<MOST>(level.get(2 * i + 1)));
    }
    above
}

/// Elements of a block whose first levels are reduced in registers.
const PIECE: usize = 128;

/// Elements under each node that a piece leaves.
const LEAF: usize = 8;

/// Nodes that the pieces of a block leave.
const LEAVES: usize = BLOCK / LEAF;

/// The nodes over each [`LEAF`] elements.
#[inline(always)]
fn piece<F: Plainly>(x: &[F; PIECE]) -> Level<F, { PIECE / LEAF }> {
    // Pairs at once: nodes of one element each would be arrays of their own.
    let mut level = Level::<F, { PIECE / 2 }>::new();
    for i in 0..PIECE / 2 {
        level.set(i, Three::of(x[2 * i]).join::<1>(Three::of(x[2 * i + 1])));
    }
    let level = above::<F, 2, 64, 32>(&level, 32);
    above::<F, 4, 32, 16>(&level, 16)
}

/// The nodes that the pieces of a block leave. Those after them are of no elements.
#[inline(always)]
fn leaves<T: Wide<Float: Plainly>, const N: usize>(level: Simd, x: &[T]) -> Level<T::Float, N> {
    let mut leaves = Level::<T::Float, N>::new();
    let (pieces, rest) = x.as_chunks::<PIECE>();
    for (at, x) in pieces.iter().enumerate() {
        prefetch(x.as_ptr().wrapping_byte_add(AHEAD), PIECE);
        leaves.put(at, &piece(&T::widen(level, x)));
    }
    if !rest.is_empty() {
        // What follows the last element is absent, too.
        prefetch(rest.as_ptr().wrapping_byte_add(AHEAD), rest.len());
        let mut last = [T::from_cast(Cast::Float(f64::NAN)); PIECE];
        last[..rest.len()].copy_from_slice(rest);
        leaves.put(pieces.len(), &piece(&T::widen(level, &last)));
    }
    leaves
}

/// The root over the first `n` nodes that pieces have left.
#[inline(always)]
fn root<F: Plainly>(level: &Level<F, LEAVES>, n: usize) -> Three<F> {
    const { assert!(LEAVES == 512 && FEW == 32) };
    let up = |levels: u32| n.div_ceil(1 << levels);
    let level = above::<F, BLOCK, 512, 256>(level, up(1));
    let level = above::<F, BLOCK, 256, 128>(&level, up(2));
    let level = above::<F, BLOCK, 128, 64>(&level, up(3));
    root_of_few(&above::<F, BLOCK, 64, 32>(&level, up(4)))
}

/// The elements of a block with few leaves.
const LONGEST: usize = FEW * LEAF;

/// The nodes of few leaves: of short blocks there are so many that the wide levels would take longer than the blocks.
const FEW: usize = 32;

/// The root over few nodes.
#[inline(always)]
fn root_of_few<F: Plainly>(level: &Level<F, FEW>) -> Three<F> {
    let level = above::<F, BLOCK, 32, 16>(level, 16);
    let level = above::<F, BLOCK, 16, 8>(&level, 8);
    let level = above::<F, BLOCK, 8, 4>(&level, 4);
    let level = above::<F, BLOCK, 4, 2>(&level, 2);
    above::<F, BLOCK, 2, 1>(&level, 1).get(0)
}

/// The loops of [`LiveDeviation`].
#[derive(Clone)]
pub struct Deviations<T: Element>(pub LiveDeviation<T>);

impl<T: Wide<Float: Plainly>> Kernel for Deviations<T> {
    type R = LiveDeviation<T>;

    fn apart(len: usize) -> bool {
        len < SHORT
    }

    fn reducer(&self) -> &Self::R {
        &self.0
    }

    fn block(&self, x: &[T], _start: u64) -> Counted<Moments<T::Float>> {
        vectors_at_level(
            #[inline(always)]
            |level| {
                let root = match x.len() {
                    ..=LONGEST => root_of_few(&leaves(level, x)),
                    _ => root(&leaves(level, x), x.len().div_ceil(LEAF)),
                };
                root.counted()
            },
        )
    }

    /// Only AVX-512 has vectors of floats from counts of 64 bits.
    fn finish(&self, nodes: &[Counted<Moments<T::Float>>], _count: u64, out: &mut [MaybeUninit<T::Mean>]) {
        let reducer = self.0.clone();
        vectorize(
            #[inline(always)]
            || {
                finish_rounded(
                    nodes,
                    out,
                    #[inline(always)]
                    |node| reducer.value(node),
                );
            },
        );
    }

    const ROWS: usize = HIGH;

    unsafe fn panel(&self, panel: Panel<'_, T>, out: &mut [MaybeUninit<Counted<Moments<T::Float>>>]) {
        // SAFETY: the caller vouches for a group's share of `out` in every row.
        unsafe {
            counted_columns(
                panel,
                out,
                #[inline(always)]
                |level, rows| moments_of_rows(level, rows),
                #[inline(always)]
                |left: &Level<_, TILE>, right| {
                    for i in 0..TILE {
                        right.set(i, left.get(i).join::<BLOCK>(right.get(i)));
                    }
                },
                #[inline(always)]
                |node| node.counted(),
            );
        }
    }
}

/// The nodes of the columns of at most [`PANEL`] rows, a power of two.
#[inline(always)]
fn moments_of_rows<T: Wide<Float: Plainly>>(level: Simd, rows: &[&[T; TILE]]) -> Level<T::Float, TILE> {
    by_number!(rows.len(), N in [1 2 4] => moments_of::<T, N>(level, rows), else moments_of::<T, PANEL>(level, rows))
}

/// The same, of a number of rows that the compiler knows: the nodes of a column stay in registers.
#[inline(always)]
fn moments_of<T: Wide<Float: Plainly>, const N: usize>(level: Simd, rows: &[&[T; TILE]]) -> Level<T::Float, TILE> {
    let (mut room, mut nodes) = ([const { MaybeUninit::uninit() }; N], Level::new());
    let x = floats(level, rows.first_chunk().expect("as many rows"), &mut room);
    for i in 0..TILE {
        let node = of_column::<_, N>(
            #[inline(always)]
            |r| Three::of(x((r, i))),
            #[inline(always)]
            |most, left, right| match most {
                1 => left.join::<1>(right),
                2 => left.join::<2>(right),
                _ => left.join::<PANEL>(right),
            },
        );
        nodes.set(i, node);
    }
    nodes
}

/// The node of N elements, which are 1, 2, 4 or [`PANEL`]. `join` is told how many elements either of its nodes has.
#[inline(always)]
pub(super) fn of_column<A, const N: usize>(leaf: impl Fn(usize) -> A, join: impl Fn(usize, A, A) -> A) -> A {
    let pair = inlined(
        #[inline(always)]
        |r: usize| join(1, leaf(r), leaf(r + 1)),
    );
    let four = inlined(
        #[inline(always)]
        |r: usize| join(2, pair(r), pair(r + 2)),
    );
    match N {
        1 => leaf(0),
        2 => pair(0),
        4 => four(0),
        _ => join(4, four(0), four(4)),
    }
}
