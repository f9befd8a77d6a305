//! A kernel: a reducer and the loops that reduce blocks, rows and columns with it.

use std::mem::MaybeUninit;

use warpfold_core::Reducer;

use super::block::{fold_rows, tree_block};
use super::panel::{Panel, fold_columns};
use super::policy::{BLOCK, MOST_ROWS, PANEL, SHORT};
use super::simd::{self, Simd, vectors_256, vectors_at_level};
use super::staggered::{Staggered, fold_staggered};
use super::tree::{NODES, combine_many, combine_nodes, tree_levels};
use super::uneven::fold_ragged;

/// A reducer and its inner loops.
///
/// * `block`: up to `BLOCK` neighbours, from the leaves to one node;
/// * `rows`: many short rows of one length;
/// * `panel`: up to `PANEL` rows of a matrix, column by column;
/// * `merge`: two rows of nodes into one.
pub trait Kernel: Sync {
    /// The mathematics.
    type R: Reducer;

    /// Whether loops are compiled for more than the baseline.
    const VECTORS: bool = true;

    /// Whether they are compiled for AVX-512, too.
    const WIDE: bool = true;

    /// Whether the result does not depend on the order of elements, so that they may be read as they lie in memory.
    const FREE: bool = false;

    /// Whether panels may be reduced one after the other into the same nodes. Set for reducers that do not need the
    /// tree and whose nodes are slow to merge.
    const RUNS: bool = false;

    /// The most rows of a panel, a power of two.
    const ROWS: usize = if Self::RUNS { MOST_ROWS } else { PANEL };

    /// Rows of fewer elements than this are transposed and reduced as columns, if their length is no power of two.
    /// (Longer rows are reduced one at a time. That is slow for kernels whose blocks begin and end with many
    /// instructions.)
    const SHORT: usize = PANEL;

    /// Whether rows of this length are transposed and reduced as columns.
    fn apart(len: usize) -> bool {
        len < Self::SHORT && !len.is_power_of_two()
    }

    /// The mathematics.
    fn reducer(&self) -> &Self::R;

    /// The tree over `x`, whose first element has the index `start`. `x` is not empty and at most `BLOCK` long.
    fn block(&self, x: &[Item<Self>], start: u64) -> Acc<Self>;

    /// Whether [`Kernel::block_after`] takes up to [`super::policy::LONG_BLOCK`] elements.
    const LONG: bool = false;

    /// Whether [`Kernel::is_final`] holds for any node.
    const ENDS: bool = false;

    /// Whether the result is this node's, whatever follows it, if no node before it is final: then what follows need
    /// not be read.
    fn is_final(&self, _node: &Acc<Self>) -> bool {
        false
    }

    /// The nodes of the first `len` elements of rows that are `step` bytes apart. False if one of them is not final.
    ///
    /// # Safety
    /// The rows, as many as nodes, have these elements.
    unsafe fn ends(&self, x: *const Item<Self>, step: isize, len: usize, out: &mut [MaybeUninit<Acc<Self>>]) -> bool {
        out.iter_mut().enumerate().all(|(i, out)| {
            // SAFETY: the caller vouches for the elements of each row.
            let x = unsafe { std::slice::from_raw_parts(x.byte_offset(i as isize * step), len) };
            self.is_final(out.write(self.block(x, 0)))
        })
    }

    /// [`Kernel::block`] for a block that follows the node `left`. `left` may be returned if combining it with the
    /// block would not change it.
    fn block_after(&self, _left: Option<Acc<Self>>, x: &[Item<Self>], start: u64) -> Acc<Self> {
        self.block(x, start)
    }

    /// The trees over the `out.len()` rows of `len` elements each; `x` holds at most `BLOCK` elements.
    fn rows(&self, x: &[Item<Self>], len: usize, out: &mut [MaybeUninit<Acc<Self>>])
    where
        Self: Sized,
    {
        any_rows(self, x, len, out);
    }

    /// Whether the kernel implements [`Kernel::columns`], if its reducer has an identity.
    const RAGGED: bool = false;

    /// The trees over the first `lens[i]` elements of each column i, in tiles. A tile has sixteen columns, row after
    /// row, and a multiple of four rows. The node of no elements is the identity.
    fn columns(&self, _x: &[Item<Self>], _lens: &[u32], _out: &mut [MaybeUninit<Acc<Self>>]) {
        unreachable!("this kernel has no columns of unequal lengths")
    }

    /// The trees over each column of each group of at most [`Kernel::ROWS`] rows. There are at least as many columns as
    /// in a tile. (With [`Kernel::RUNS`] there is one group, of any number of columns.)
    ///
    /// # Safety
    /// Every row is good for a group's share of `out`.
    unsafe fn panel(&self, panel: Panel<'_, Item<Self>>, out: &mut [MaybeUninit<Acc<Self>>]) {
        if Self::VECTORS && Self::WIDE {
            return vectors_at_level(
                #[inline(always)]
                // SAFETY: the caller vouches for a group's share of `out` in every row.
                |_| unsafe { fold_columns::<true, _>(self.reducer(), panel, out) },
            );
        }
        leveled::<Self, _>(
            #[inline(always)]
            // SAFETY: as above.
            |_| unsafe { fold_columns::<false, _>(self.reducer(), panel, out) },
        );
    }

    /// Whether the kernel implements [`Kernel::staggered`].
    const STAGGERED: bool = false;

    /// The nodes of a unit of each column, [`PANEL`] elements, which begins in a row of its own.
    ///
    /// # Safety
    /// Every row is good for `out.len()` elements, at least as many as in a tile.
    unsafe fn staggered(&self, _rows: Staggered<'_, Item<Self>>, _out: &mut [MaybeUninit<Acc<Self>>]) {
        unreachable!("this kernel has no staggered columns")
    }

    /// Combines `nodes`, the nodes of the rows before, with rows. Called only if [`Kernel::RUNS`].
    ///
    /// # Safety
    /// Every pointer in `rows` is good for `nodes.len()` elements.
    unsafe fn panel_after(&self, _rows: &[*const Item<Self>], _start: u64, _nodes: &mut [Acc<Self>]) {
        unreachable!("this kernel needs the tree")
    }

    /// Moves the places of `nodes`, which have some: that of node i, p, to `to(i, p)`. Called only if [`Kernel::RUNS`]
    /// and [`Reducer::INDEXED`].
    fn move_places(&self, _nodes: &mut [Acc<Self>], _to: &dyn Fn(usize, u64) -> u64) {
        unreachable!("these nodes have no places")
    }

    /// Whether the kernel implements [`Kernel::dense`]. For other kernels, few columns are brought side by side, and
    /// each is a block.
    const DENSE: bool = false;

    /// Whether it does for rows of this width.
    fn takes_dense(_width: usize) -> bool {
        Self::DENSE
    }

    /// The most elements of dense rows that are taken at a time.
    const DENSE_ITEMS: usize = BLOCK;

    /// The trees over the `out.len()` columns of dense rows, whose first row has the index `start`. The number of rows
    /// is a power of two and at least [`PANEL`]; there are at most [`Kernel::DENSE_ITEMS`] elements.
    fn dense(&self, _x: &[Item<Self>], _start: u64, _out: &mut [MaybeUninit<Acc<Self>>]) {
        unreachable!("this kernel has no way of its own")
    }

    /// Combines `nodes`, the nodes of the rows before, with dense rows. Called only if [`Kernel::RUNS`].
    fn dense_after(&self, _x: &[Item<Self>], _start: u64, _nodes: &mut [Acc<Self>]) {
        unreachable!("this kernel needs the tree")
    }

    /// Results of adjacent outputs.
    fn finish(&self, nodes: &[Acc<Self>], count: u64, out: &mut [MaybeUninit<<Self::R as Reducer>::Output>]) {
        if !Self::VECTORS {
            return finish_each(self.reducer(), nodes, count, out);
        }
        // Wider vectors divide no faster.
        simd::vectorize_256(
            #[inline(always)]
            || finish_each(self.reducer(), nodes, count, out),
        );
    }

    /// Results of elements, each of which is an output by itself.
    fn single(&self, x: &[Item<Self>], out: &mut [MaybeUninit<<Self::R as Reducer>::Output>]) {
        vectors_256(
            #[inline(always)]
            || {
                // As in `finish_each`.
                let reducer = self.reducer().clone();
                for (&x, out) in x.iter().zip(out) {
                    out.write(reducer.finish(reducer.lift(x, 0), 1));
                }
            },
        );
    }

    /// The tree over nodes of `weight` elements each, except for the last, which has `last`. The root replaces the
    /// first node.
    fn root(&self, nodes: &mut [Acc<Self>], weight: u64, last: u64) {
        let is_number = size_of::<Acc<Self>>() == align_of::<Acc<Self>>();
        if !is_number || Self::FREE || Self::RUNS || nodes.len() < 4 * NODES {
            return combine_nodes(self.reducer(), nodes, weight, last);
        }
        vectorize::<Self, _>(
            #[inline(always)]
            || combine_many(self.reducer(), nodes, weight, last),
        );
    }

    /// `right[i] = left[i] ⊕ right[i]`.
    fn merge(&self, left: &[Acc<Self>], n_left: u64, right: &mut [Acc<Self>], n_right: u64) {
        vectorize::<Self, _>(
            #[inline(always)]
            || {
                let reducer = self.reducer();
                for (a, b) in left.iter().zip(right) {
                    *b = reducer.combine_counted(*a, n_left, *b, n_right);
                }
            },
        );
    }
}

/// The results of nodes, one after the other.
#[inline(always)]
fn finish_each<R: Reducer>(reducer: &R, nodes: &[R::Acc], count: u64, out: &mut [MaybeUninit<R::Output>]) {
    // A local copy, which `out` cannot overlap, so that its fields are loaded once.
    let reducer = reducer.clone();
    for (node, out) in nodes.iter().zip(out) {
        out.write(reducer.finish(*node, count));
    }
}

/// Compiles `f` once for each level that the kernel uses, and runs the code of the level in use.
#[inline(always)]
pub(super) fn vectorize<K: Kernel + ?Sized, T>(f: impl FnOnce() -> T) -> T {
    if !K::VECTORS {
        f()
    } else if K::WIDE {
        simd::vectorize(f)
    } else {
        simd::vectorize_256(f)
    }
}

/// [`vectors_at_level`] for the levels that the kernel uses. Below AVX-512 a kernel that is not wide has the baseline's
/// code.
#[inline(always)]
fn leveled<K: Kernel + ?Sized, T>(f: impl FnOnce(Simd) -> T) -> T {
    if !K::VECTORS {
        f(Simd::Baseline)
    } else if K::WIDE {
        vectors_at_level(f)
    } else {
        vectors_256(
            #[inline(always)]
            || f(Simd::Baseline),
        )
    }
}

/// [`Kernel::rows`] of any kernel.
pub(super) fn any_rows<K: Kernel>(kernel: &K, x: &[Item<K>], len: usize, out: &mut [MaybeUninit<Acc<K>>]) {
    if len.is_power_of_two() {
        leveled::<K, _>(
            #[inline(always)]
            |level| fold_rows(level, kernel.reducer(), x, len, out),
        );
    } else {
        each_row(kernel, x, len, out);
    }
}

/// [`Kernel::rows`], one row after the other.
pub(super) fn each_row<K: Kernel>(kernel: &K, x: &[Item<K>], len: usize, out: &mut [MaybeUninit<Acc<K>>]) {
    for (row, out) in x.chunks_exact(len).zip(out) {
        out.write(kernel.block(row, 0));
    }
}

/// [`Kernel::panel`], one column after the other.
///
/// # Safety
/// Every row is good for a group's share of `out`.
pub(super) unsafe fn each_column<R: Reducer>(reducer: &R, panel: Panel<'_, R::Item>, out: &mut [MaybeUninit<R::Acc>]) {
    let Panel { rows, start, groups, step } = panel;
    let width = out.len() / groups;
    let mut nodes = [const { MaybeUninit::uninit() }; PANEL];
    for (group, out) in out.chunks_exact_mut(width).enumerate() {
        let at = start + (group * rows.len()) as u64;
        for (column, out) in out.iter_mut().enumerate() {
            for (row, (x, node)) in rows.iter().zip(&mut nodes).enumerate() {
                // SAFETY: the caller vouches for all columns of every group in every row.
                let x = unsafe { *x.byte_add(group * step).add(column) };
                node.write(reducer.lift(x, at + row as u64));
            }
            // SAFETY: there is a node for each row, of which there are at least one and at most PANEL.
            let nodes = unsafe { nodes[..rows.len()].assume_init_mut() };
            combine_nodes(reducer, nodes, 1, 1);
            out.write(nodes[0]);
        }
    }
}

/// An element, as the kernel reads it.
pub type Item<K> = <<K as Kernel>::R as Reducer>::Item;
/// A node of the tree.
pub type Acc<K> = <<K as Kernel>::R as Reducer>::Acc;

/// The plain tree, level by level, vectorised: any reducer, and the fastest for floating-point ones.
#[derive(Clone)]
pub struct Tree<R>(pub R);

impl<R: Reducer> Kernel for Tree<R> {
    type R = R;

    /// A vector holds few nodes that are several numbers, so wider ones do not pay.
    const WIDE: bool = size_of::<R::Acc>() == align_of::<R::Acc>();

    const SHORT: usize = SHORT;

    fn reducer(&self) -> &R {
        &self.0
    }

    fn block(&self, x: &[R::Item], start: u64) -> R::Acc {
        leveled::<Self, _>(
            #[inline(always)]
            |level| {
                // A node that is one number is aligned to its size.
                if size_of::<R::Acc>() == align_of::<R::Acc>() {
                    tree_block(level, &self.0, x, start)
                } else {
                    tree_levels(&self.0, x, start)
                }
            },
        )
    }

    const RAGGED: bool = Self::WIDE;

    fn columns(&self, x: &[R::Item], lens: &[u32], out: &mut [MaybeUninit<R::Acc>]) {
        if Self::RAGGED
            && let Some(identity) = self.0.identity()
        {
            leveled::<Self, _>(
                #[inline(always)]
                |_| fold_ragged(&self.0, identity, x, lens, out),
            );
        }
    }

    const STAGGERED: bool = Self::WIDE && !R::INDEXED;

    unsafe fn staggered(&self, rows: Staggered<'_, R::Item>, out: &mut [MaybeUninit<R::Acc>]) {
        if Self::STAGGERED {
            // SAFETY: the caller vouches for the elements of every row.
            unsafe { fold_staggered(&self.0, rows, out) };
        }
    }
}

/// The plain tree, compiled for the baseline only: for reducers with branches, which are not vectorised.
#[derive(Clone)]
pub struct Scalar<R>(pub R);

impl<R: Reducer> Kernel for Scalar<R> {
    type R = R;

    const VECTORS: bool = false;

    fn reducer(&self) -> &R {
        &self.0
    }

    fn block(&self, x: &[R::Item], start: u64) -> R::Acc {
        tree_levels(&self.0, x, start)
    }

    const SHORT: usize = 0;

    fn rows(&self, x: &[R::Item], len: usize, out: &mut [MaybeUninit<R::Acc>]) {
        each_row(self, x, len, out);
    }

    unsafe fn panel(&self, panel: Panel<'_, R::Item>, out: &mut [MaybeUninit<R::Acc>]) {
        // SAFETY: the caller vouches for a group's share of `out` in every row.
        unsafe { each_column(&self.0, panel, out) };
    }
}
