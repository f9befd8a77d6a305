//! Few columns whose rows follow one another without a gap: what the interleaved route does with each block of rows.
//!
//! Eight rows at a time become one row of nodes, which lie as the elements did, so the same is done to them until one row is
//! left. The compiler knows how many columns there are if they are fewer than a vector has lanes.

use std::mem::MaybeUninit;

use warpfold_core::Reducer;

use super::kernel::{Acc, Item, Kernel};
use super::panel::{RowList, TILE, copy_row, fold_columns_by, fold_tile};
use super::policy::{AHEAD, BLOCK, PANEL};
use super::simd::prefetch;

/// Nodes as elements: of `.1` elements each.
#[derive(Clone)]
struct Above<'a, R>(&'a R, u64);

impl<R: Reducer> Reducer for Above<'_, R> {
    type Item = R::Acc;
    type Acc = R::Acc;
    type Output = R::Output;

    const INDEXED: bool = false;

    #[inline(always)]
    fn lift(&self, node: R::Acc, _index: u64) -> R::Acc {
        node
    }

    #[inline(always)]
    fn combine(&self, left: R::Acc, right: R::Acc) -> R::Acc {
        self.combine_counted(left, 1, right, 1)
    }

    #[inline(always)]
    fn combine_counted(&self, left: R::Acc, m: u64, right: R::Acc, n: u64) -> R::Acc {
        self.0.combine_counted(left, m * self.1, right, n * self.1)
    }

    fn finish(&self, acc: R::Acc, count: u64) -> R::Output {
        self.0.finish(acc, count * self.1)
    }
}

/// See [`Kernel::dense`].
#[inline(always)]
pub(super) fn fold_dense<R: Reducer>(reducer: &R, x: &[R::Item], start: u64, out: &mut [MaybeUninit<R::Acc>]) {
    fold_dense_by(
        reducer,
        x,
        start,
        out,
        #[inline(always)]
        |rows, at, out| fold_tile(reducer, rows, at, out),
    );
}

/// The same, where `lowest` makes the nodes of a tile of rows, the first of which has an index.
#[inline(always)]
pub(super) fn fold_dense_by<R: Reducer, T: Copy>(
    reducer: &R,
    x: &[T],
    start: u64,
    out: &mut [MaybeUninit<R::Acc>],
    lowest: impl Fn(&[&[T; TILE]], u64, &mut [MaybeUninit<R::Acc>; TILE]),
) {
    let width = out.len();
    let mut a = [const { MaybeUninit::uninit() }; BLOCK / PANEL];
    let mut b = [const { MaybeUninit::uninit() }; BLOCK / PANEL / 2];
    let (mut from, mut to): (&mut [_], &mut [_]) = (&mut a, &mut b);
    let mut rows = x.len() / width;
    debug_assert!(x.len() <= BLOCK && rows >= PANEL && rows.is_power_of_two());
    rows /= PANEL;
    let groups = if R::INDEXED { 1 } else { (TILE / width).max(1) };
    step(
        x,
        PANEL,
        width,
        groups,
        true,
        &mut from[..rows * width],
        #[inline(always)]
        |rows, at, out| lowest(rows, start + at, out),
    );
    let mut weight = PANEL as u64;
    while rows > 1 {
        let n = rows.min(PANEL);
        // SAFETY: each step writes all of its nodes.
        let nodes = unsafe { from[..rows * width].assume_init_ref() };
        rows /= n;
        let above = Above(reducer, weight);
        let groups = (TILE / width).max(1);
        step(
            nodes,
            n,
            width,
            groups,
            false,
            &mut to[..rows * width],
            #[inline(always)]
            |rows, _, out| fold_tile(&above, rows, 0, out),
        );
        weight *= n as u64;
        std::mem::swap(&mut from, &mut to);
    }
    out.copy_from_slice(&from[..width]);
}

/// Every `n` rows become one, by `fold`, which is given the place of the first of them; up to `groups` of them at a time.
#[inline(always)]
fn step<T: Copy, A: Copy>(
    x: &[T],
    n: usize,
    width: usize,
    groups: usize,
    ahead: bool,
    out: &mut [MaybeUninit<A>],
    fold: impl Fn(&[&[T; TILE]], u64, &mut [MaybeUninit<A>; TILE]),
) {
    let mut at = 0;
    if width >= TILE {
        for (x, out) in x.chunks_exact(n * width).zip(out.chunks_exact_mut(width)) {
            if ahead {
                prefetch(x.as_ptr().wrapping_byte_add(AHEAD), x.len());
            }
            let rows: RowList<T> = x.chunks_exact(width).map(<[_]>::as_ptr).collect();
            // SAFETY: rows are as wide as `out`.
            unsafe {
                fold_columns_by(
                    rows.as_slice(),
                    out,
                    #[inline(always)]
                    |rows, out| fold(rows, at, out),
                );
            }
            at += n as u64;
        }
        return;
    }
    // As many groups of rows side by side as there is room for.
    let mut tile = [[x[0]; TILE]; PANEL];
    for (x, out) in x.chunks(groups * n * width).zip(out.chunks_mut(groups * width)) {
        if ahead {
            prefetch(x.as_ptr().wrapping_byte_add(AHEAD), x.len());
        }
        side_by_side(x, n, width, &mut tile);
        let mut nodes = [const { MaybeUninit::uninit() }; TILE];
        let rows = tile.each_ref();
        if n == PANEL {
            fold(&rows, at, &mut nodes)
        } else {
            fold(&rows[..n], at, &mut nodes)
        }
        out.copy_from_slice(&nodes[..out.len()]);
        at += (groups * n) as u64;
    }
}

/// Row r of every group of `n` rows becomes row r of the tile, one group after the other.
#[inline(always)]
fn side_by_side<T: Copy>(x: &[T], n: usize, width: usize, tile: &mut [[T; TILE]; PANEL]) {
    #[inline(always)]
    fn copy<T: Copy>(x: &[T], n: usize, width: usize, tile: &mut [[T; TILE]; PANEL]) {
        debug_assert!(x.len() / n <= TILE && n <= PANEL);
        for (group, x) in x.chunks_exact(n * width).enumerate() {
            for (row, tile) in x.chunks_exact(width).zip(&mut *tile) {
                // SAFETY: the row is as wide as said, and all groups fit a row of the tile.
                unsafe { copy_row(row.as_ptr(), width, tile.as_mut_ptr().add(group * width)) };
            }
        }
    }
    // A loop for each of the frequent widths.
    match width {
        2 => copy(x, n, 2, tile),
        3 => copy(x, n, 3, tile),
        4 => copy(x, n, 4, tile),
        8 => copy(x, n, 8, tile),
        16 => copy(x, n, 16, tile),
        _ => copy(x, n, width, tile),
    }
}

/// The nodes of dense rows, of any number, in `nodes`, which is empty.
pub(super) fn dense_rows<K: Kernel>(
    kernel: &K,
    x: &[Item<K>],
    width: usize,
    start: u64,
    mut nodes: Vec<Acc<K>>,
) -> Vec<Acc<K>> {
    nodes.reserve(width);
    let room = &mut nodes.spare_capacity_mut()[..width];
    let rows = x.len() / width;
    let first = if rows < PANEL { rows } else { 1 << rows.ilog2() };
    let (x, rest) = x.split_at(first * width);
    // SAFETY: rows are as wide as the room, all of which is written.
    unsafe {
        if rows < PANEL {
            let rows: RowList<Item<K>> = x.chunks_exact(width).map(<[_]>::as_ptr).collect();
            kernel.panel(rows.as_slice(), start, room);
        } else {
            kernel.dense(x, start, room);
        }
        nodes.set_len(width);
    }
    if rest.is_empty() {
        return nodes;
    }
    let mut right = dense_rows(kernel, rest, width, start + first as u64, Vec::new());
    kernel.merge(&nodes, first as u64, &mut right, (rows - first) as u64);
    right
}
