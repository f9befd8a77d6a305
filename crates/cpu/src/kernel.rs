//! What the engines call: a reducer, with a fast way to reduce a block.

use std::mem::MaybeUninit;

use warpfold_core::Reducer;

use super::panel::{Panel, fold_columns};
use super::policy::{PANEL, SHORT};
use super::simd;
use super::tree::{combine_nodes, fold_rows, tree_block, tree_levels};
use super::uneven::{TILE, fold_ragged};

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

    /// Whether panels may be taken one after the other, into the same nodes: no tree is needed, and merging nodes is
    /// slow.
    const RUNS: bool = false;

    /// Rows of fewer elements, if their number is no power of two, are taken apart into columns. (The others are
    /// reduced one at a time, which costs the more the more instructions a block starts and ends with.)
    const SHORT: usize = PANEL;

    /// Whether rows of this length are taken apart into columns.
    fn apart(len: usize) -> bool {
        len < Self::SHORT && !len.is_power_of_two()
    }

    /// The mathematics.
    fn reducer(&self) -> &Self::R;

    /// The tree over `x`, whose first element has the index `start`. `x` is not empty and at most `BLOCK` long.
    fn block(&self, x: &[Item<Self>], start: u64) -> Acc<Self>;

    /// The same for a block that follows `left`: that node may be returned if the block would not change it.
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

    /// The trees over columns in tiles, of each over its first `lens` elements: a tile has sixteen columns, row after
    /// row, and a multiple of four rows. The node of none is the identity, or without one any node.
    fn columns(&self, x: &[Item<Self>], lens: &[u32], out: &mut [MaybeUninit<Acc<Self>>])
    where
        Self: Sized,
    {
        any_columns(self, x, lens, out);
    }

    /// The trees over each column of at most `PANEL` rows, for each group of them; there are at least as many columns
    /// as in a tile. ([`Kernel::RUNS`]: of one group of at most `MOST_ROWS` rows, of any number of columns.)
    ///
    /// # Safety
    /// Every row is good for a group's share of `out`.
    unsafe fn panel(&self, panel: Panel<'_, Item<Self>>, out: &mut [MaybeUninit<Acc<Self>>]) {
        vectorize::<Self, _>(
            #[inline(always)]
            || {
                if Self::WIDE {
                    // SAFETY: the caller vouches for a group's share of `out` in every row.
                    unsafe { fold_columns::<true, _>(self.reducer(), panel, out) };
                } else {
                    // SAFETY: the caller vouches for a group's share of `out` in every row.
                    unsafe { fold_columns::<false, _>(self.reducer(), panel, out) };
                }
            },
        );
    }

    /// The same for rows that follow those of `nodes`, which become the nodes of both; only if [`Kernel::RUNS`].
    ///
    /// # Safety
    /// Every pointer in `rows` is good for `nodes.len()` elements.
    unsafe fn panel_after(&self, _rows: &[*const Item<Self>], _start: u64, _nodes: &mut [Acc<Self>]) {
        unreachable!("this kernel needs the tree")
    }

    /// Whether [`Kernel::dense`] is this kernel's own. Else few columns are brought side by side, and are panels.
    const DENSE: bool = false;

    /// The trees over the `out.len()` columns of rows that follow one another without a gap, the first of which has the
    /// index `start`: a power of two of rows, at least [`PANEL`], and at most `BLOCK` elements.
    fn dense(&self, _x: &[Item<Self>], _start: u64, _out: &mut [MaybeUninit<Acc<Self>>]) {
        unreachable!("this kernel has no way of its own")
    }

    /// The same for rows that follow those of `nodes`, which become the nodes of both; only if [`Kernel::RUNS`].
    fn dense_after(&self, _x: &[Item<Self>], _start: u64, _nodes: &mut [Acc<Self>]) {
        unreachable!("this kernel needs the tree")
    }

    /// Results of adjacent outputs.
    fn finish(&self, nodes: &[Acc<Self>], count: u64, out: &mut [MaybeUninit<<Self::R as Reducer>::Output>]) {
        vectorize::<Self, _>(
            #[inline(always)]
            || {
                // A local copy, which `out` cannot overlap: what does not change is asked once.
                let reducer = self.reducer().clone();
                for (node, out) in nodes.iter().zip(out) {
                    out.write(reducer.finish(*node, count));
                }
            },
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

/// Compiles `f` once per level that is worth it to the kernel, and runs the one in use.
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

/// [`Kernel::rows`] of any kernel.
pub(super) fn any_rows<K: Kernel>(kernel: &K, x: &[Item<K>], len: usize, out: &mut [MaybeUninit<Acc<K>>]) {
    if len.is_power_of_two() {
        vectorize::<K, _>(
            #[inline(always)]
            || fold_rows(kernel.reducer(), x, len, out),
        );
    } else {
        each_row(kernel, x, len, out);
    }
}

/// The same, one row after the other.
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
                // SAFETY: the caller's: every row is good for all columns of every group.
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

/// [`Kernel::columns`] of any kernel.
fn any_columns<K: Kernel>(kernel: &K, x: &[Item<K>], lens: &[u32], out: &mut [MaybeUninit<Acc<K>>]) {
    let mut column = Vec::new();
    let tiles = x.chunks_exact(x.len() / (lens.len() / TILE)).zip(lens.as_chunks::<TILE>().0);
    for ((x, lens), out) in tiles.zip(out.as_chunks_mut::<TILE>().0) {
        for (i, (&len, out)) in lens.iter().zip(out).enumerate() {
            column.clear();
            // Without an identity, some node must do.
            column.extend(x[i..].iter().step_by(TILE).take(len.max(1) as usize));
            let identity = kernel.reducer().identity().filter(|_| len == 0);
            out.write(identity.unwrap_or_else(|| kernel.block(&column, 0)));
        }
    }
}

/// The tree over at most eight elements, the first of which has the index `at`.
#[inline]
pub(super) fn few<R: Reducer>(reducer: &R, x: &[R::Item], at: u64) -> R::Acc {
    match x.split_first_chunk::<4>() {
        Some((four, rest)) if !rest.is_empty() => {
            let (left, right) = (up_to_four(reducer, four, at), up_to_four(reducer, rest, at + 4));
            reducer.combine_counted(left, 4, right, rest.len() as u64)
        }
        _ => up_to_four(reducer, x, at),
    }
}

/// The same of at most four.
#[inline(never)]
fn up_to_four<R: Reducer>(reducer: &R, x: &[R::Item], at: u64) -> R::Acc {
    let pair = |i: usize| reducer.lift_pair(x[i], x[i + 1], at + i as u64);
    match x.len() {
        1 => reducer.lift(x[0], at),
        2 => pair(0),
        3 => reducer.combine_counted(pair(0), 2, reducer.lift(x[2], at + 2), 1),
        _ => reducer.combine_counted(pair(0), 2, pair(2), 2),
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

    /// Nodes of several numbers keep fewer elements in a vector anyway.
    const WIDE: bool = size_of::<R::Acc>() == align_of::<R::Acc>();

    const SHORT: usize = if size_of::<R::Item>() < 4 { PANEL } else { SHORT };

    fn reducer(&self) -> &R {
        &self.0
    }

    fn block(&self, x: &[R::Item], start: u64) -> R::Acc {
        vectorize::<Self, _>(
            #[inline(always)]
            || {
                // A node that is one number is aligned to its size.
                if size_of::<R::Acc>() == align_of::<R::Acc>() {
                    tree_block(&self.0, x, start)
                } else {
                    tree_levels(&self.0, x, start)
                }
            },
        )
    }

    fn columns(&self, x: &[R::Item], lens: &[u32], out: &mut [MaybeUninit<R::Acc>]) {
        match self.0.identity() {
            Some(identity) if size_of::<R::Acc>() == align_of::<R::Acc>() => vectorize::<Self, _>(
                #[inline(always)]
                || fold_ragged(&self.0, identity, x, lens, out),
            ),
            _ => any_columns(self, x, lens, out),
        }
    }
}

/// The plain tree, compiled for the baseline only: for reducers whose nodes branch, which no vector unit helps.
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
        // SAFETY: the contract is the same.
        unsafe { each_column(&self.0, panel, out) };
    }
}
