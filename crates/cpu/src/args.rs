//! Indices of extrema. The greatest key of a block is found as in [`super::extrema`], and in which stretch of the
//! block. Only if the key beats those of all blocks before, the stretch is searched. Down columns, a running place
//! below 128 is kept in a lane as wide as the key.

use std::mem::MaybeUninit;
use std::ops::Range;

use warpfold_core::ops::{Arg, ArgNode};
use warpfold_core::{Element, Key};

use super::extrema::greatest;
use super::kernel::{Kernel, each_row};
use super::panel::{Panel, TILE};
use super::policy::{AHEAD, FEW_DENSE_COLUMNS, MOST_ROWS, PANEL, SHORT_BYTES};
use super::search::{SEARCH, SOME, find, first_final, place};
use super::simd::{fold_lanes, prefetch, vectors};
use super::stretches::{first_stretch, greatest_of_few, is_short, most};

/// The kernel of argmin and argmax.
#[derive(Clone)]
pub struct ArgScan<T: Element>(pub Arg<T>);

#[inline(always)]
fn scan<T: Element>(arg: &Arg<T>, x: &[T], start: u64, left: Option<ArgNode<T::Key>>) -> ArgNode<T::Key> {
    let (mut found, mut from) = (left, 0);
    while from < x.len() && found.is_none_or(|node| node.key != T::Key::MAX) {
        let part = &x[from..x.len().min(from + most::<T>())];
        let (key, at) = first_stretch(arg, part);
        if found.is_none_or(|node| key > node.key) {
            found = Some(ArgNode { key, index: start + (from + at + find(arg, &part[at..], key)) as u64 });
        }
        from += part.len();
    }
    found.expect("a block has elements")
}

/// Rows of [`SEARCH`] elements, each of which fits the registers.
#[inline(always)]
fn one_piece<T: Element>(arg: &Arg<T>, x: &[T], out: &mut [MaybeUninit<ArgNode<T::Key>>]) {
    for (row, out) in x.as_chunks::<SEARCH>().0.iter().zip(out) {
        let mut keys = [T::Key::MIN; SEARCH];
        for i in 0..SEARCH {
            keys[i] = arg.key(row[i]);
        }
        let key = fold_lanes(keys, T::Key::max);
        out.write(ArgNode { key, index: place(arg, row, key).to_small() as u64 });
    }
}

impl<T: Element> Kernel for ArgScan<T> {
    type R = Arg<T>;

    const RUNS: bool = true;

    const LONG: bool = true;

    const ENDS: bool = true;

    /// Nothing beats the first NaN, or the first of the greatest number that there is.
    fn is_final(&self, node: &ArgNode<T::Key>) -> bool {
        node.key == T::Key::MAX
    }

    fn reducer(&self) -> &Self::R {
        &self.0
    }

    fn block(&self, x: &[T], start: u64) -> ArgNode<T::Key> {
        self.block_after(None, x, start)
    }

    fn block_after(&self, left: Option<ArgNode<T::Key>>, x: &[T], start: u64) -> ArgNode<T::Key> {
        if let Some(left) = left
            && self.is_final(&left)
        {
            return left;
        }
        vectors(
            #[inline(always)]
            || scan(&self.0, x, start, left),
        )
    }

    unsafe fn ends(&self, x: *const T, step: isize, len: usize, out: &mut [MaybeUninit<ArgNode<T::Key>>]) -> bool {
        vectors(
            #[inline(always)]
            || {
                for (i, out) in out.iter_mut().enumerate() {
                    // SAFETY: the caller vouches for the elements of each row.
                    let x = unsafe { std::slice::from_raw_parts(x.byte_offset(i as isize * step), len) };
                    let Some(index) = first_final(&self.0, x) else { return false };
                    out.write(ArgNode { key: T::Key::MAX, index: index as u64 });
                }
                true
            },
        )
    }

    fn apart(len: usize) -> bool {
        len * size_of::<T>() < SHORT_BYTES
    }

    fn rows(&self, x: &[T], len: usize, out: &mut [MaybeUninit<ArgNode<T::Key>>]) {
        if !is_short::<T>(len) {
            return each_row(self, x, len, out);
        }
        vectors(
            #[inline(always)]
            || match len {
                SEARCH => one_piece(&self.0, x, out),
                _ => {
                    // Where a row had such a key, the next one is likely to have one among its first pieces.
                    let (mut ends, ahead) = (false, AHEAD.div_ceil(len * size_of::<T>()) * len);
                    for (row, out) in x.chunks_exact(len).zip(out) {
                        if ends {
                            // The first piece of a later row: the CPU, which sees no stream, waited for it.
                            prefetch(row.as_ptr().wrapping_add(ahead), SOME);
                        }
                        let node = match first_final(&self.0, if ends { row } else { &[] }) {
                            Some(index) => ArgNode { key: T::Key::MAX, index: index as u64 },
                            None => {
                                let key = greatest_of_few(&self.0, row);
                                ArgNode { key, index: find(&self.0, row, key) as u64 }
                            }
                        };
                        ends = self.is_final(&node);
                        out.write(node);
                    }
                }
            },
        );
    }

    unsafe fn panel(&self, panel: Panel<'_, T>, out: &mut [MaybeUninit<ArgNode<T::Key>>]) {
        // SAFETY: the caller vouches for an element of each node in every row. The nodes are the first.
        unsafe { self.rows_of_columns(true, panel.rows, panel.start, out) };
    }

    unsafe fn panel_after(&self, rows: &[*const T], start: u64, nodes: &mut [ArgNode<T::Key>]) {
        // SAFETY: as above. Only nodes are written to the places of nodes.
        unsafe {
            let nodes = &mut *(std::ptr::from_mut(nodes) as *mut [MaybeUninit<ArgNode<T::Key>>]);
            self.rows_of_columns(false, rows, start, nodes);
        }
    }

    fn move_places(&self, nodes: &mut [ArgNode<T::Key>], to: &dyn Fn(usize, u64) -> u64) {
        for (i, node) in nodes.iter_mut().enumerate() {
            node.index = to(i, node.index);
        }
    }

    const DENSE: bool = true;

    fn dense(&self, x: &[T], start: u64, out: &mut [MaybeUninit<ArgNode<T::Key>>]) {
        least(start, out);
        // SAFETY: `least` has written all of `out`.
        self.dense_after(x, start, unsafe { out.assume_init_mut() });
    }

    #[inline(never)]
    fn dense_after(&self, x: &[T], start: u64, nodes: &mut [ArgNode<T::Key>]) {
        vectors(
            #[inline(always)]
            || {
                let (arg, width) = (&self.0, nodes.len());
                let mut room = [MaybeUninit::uninit(); FEW_DENSE_COLUMNS];
                greatest(
                    x,
                    #[inline(always)]
                    |x| arg.key(x),
                    &mut room[..width],
                );
                // SAFETY: `greatest` writes the key of every column, and there are `width` columns.
                let keys = unsafe { room[..width].assume_init_ref() };
                for (column, (&key, node)) in keys.iter().zip(nodes).enumerate() {
                    if key > node.key {
                        *node = ArgNode { key, index: start + find_in_column(arg, x, width, column, key) };
                    }
                }
            },
        );
    }
}

impl<T: Element> ArgScan<T> {
    /// [`columns`], compiled for each level of vector instructions.
    ///
    /// # Safety
    /// As of [`columns`].
    #[inline(never)]
    unsafe fn rows_of_columns(
        &self,
        first: bool,
        rows: &[*const T],
        start: u64,
        nodes: &mut [MaybeUninit<ArgNode<T::Key>>],
    ) {
        vectors(
            #[inline(always)]
            // SAFETY: the caller's.
            || unsafe { columns(&self.0, first, rows, start, nodes) },
        );
    }
}

/// Sets nodes to the least key and the index of the first element, which is right for columns whose keys are all least.
#[inline(always)]
fn least<K: Key>(start: u64, nodes: &mut [MaybeUninit<ArgNode<K>>]) {
    nodes.fill(MaybeUninit::new(ArgNode { key: K::MIN, index: start }));
}

/// The first row in which a column of dense rows has a key, which some row must have.
#[inline(always)]
fn find_in_column<T: Element>(arg: &Arg<T>, x: &[T], width: usize, column: usize, key: T::Key) -> u64 {
    let mut row = 0;
    while arg.key(x[row * width + column]) != key {
        row += 1;
    }
    row as u64
}

/// Writes the node of each column of at most [`MOST_ROWS`] rows, if these are the `first`, or else combines the nodes
/// of the rows before with it.
///
/// # Safety
/// Every pointer in `rows` is good for `nodes.len()` elements. Nodes are written, unless the rows are the first.
#[inline(always)]
unsafe fn columns<T: Element>(
    arg: &Arg<T>,
    first: bool,
    rows: &[*const T],
    start: u64,
    nodes: &mut [MaybeUninit<ArgNode<T::Key>>],
) {
    const { assert!(MOST_ROWS <= 128) };
    let merge = |nodes: &mut [MaybeUninit<ArgNode<T::Key>>], keys: &[T::Key], places: &[T::Key]| {
        let found =
            keys.iter().zip(places).map(|(&key, place)| ArgNode { key, index: start + place.to_small() as u64 });
        for (node, found) in nodes.iter_mut().zip(found) {
            // SAFETY: the caller vouches for the nodes of the rows before.
            if first || found.key > unsafe { node.assume_init_ref() }.key {
                node.write(found);
            }
        }
    };
    // Running keys begin at the least key and running places at the first row, and ties keep the earlier place.
    let all = nodes.len();
    let (tiles, last) = nodes.as_chunks_mut::<TILE>();
    let width = tiles.len() * TILE;
    if rows.len() <= PANEL {
        for (i, out) in tiles.iter_mut().enumerate() {
            let (mut keys, mut places) = ([T::Key::MIN; TILE], [T::Key::ZERO; TILE]);
            // SAFETY: the caller vouches for a column of each node in every row, so for the tile's.
            unsafe { raise_tile(arg, rows, 0..rows.len(), i * TILE, &mut keys, &mut places) };
            merge(out, &keys, &places);
        }
    } else {
        for (strip, tiles) in tiles.chunks_mut(TILES).enumerate() {
            let (mut keys, mut places) = ([[T::Key::MIN; TILE]; TILES], [[T::Key::ZERO; TILE]; TILES]);
            for from in (0..rows.len()).step_by(PANEL) {
                let group = from..rows.len().min(from + PANEL);
                for (i, (keys, places)) in keys.iter_mut().zip(&mut places).take(tiles.len()).enumerate() {
                    let at = (strip * TILES + i) * TILE;
                    // SAFETY: the caller vouches for a column of each node in every row, so for the tile's.
                    unsafe { raise_tile(arg, rows, group.clone(), at, keys, places) };
                }
            }
            for (out, (keys, places)) in tiles.iter_mut().zip(keys.iter().zip(&places)) {
                merge(out, keys, places);
            }
        }
    }
    if !last.is_empty()
        && let Some(at) = all.checked_sub(TILE)
    {
        // A tile that overlaps the one before. To see an element twice changes no extremum.
        let (mut keys, mut places) = ([T::Key::MIN; TILE], [T::Key::ZERO; TILE]);
        // SAFETY: the caller vouches for a column of each node in every row, so for the tile's.
        unsafe { raise_tile(arg, rows, 0..rows.len(), at, &mut keys, &mut places) };
        return merge(&mut nodes[at..], &keys, &places);
    }
    for (i, out) in last.iter_mut().enumerate() {
        // SAFETY: the caller vouches for this column in every row.
        let key = |row: usize| unsafe { arg.key(*rows[row].add(width + i)) };
        let (mut best, mut place) = (key(0), 0);
        for row in 1..rows.len() {
            place = if key(row) > best { row } else { place };
            best = best.max(key(row));
        }
        merge(std::slice::from_mut(out), &[best], &[T::Key::from_small(place as u8)]);
    }
}

/// Tiles of columns whose running keys and places stay in L1 while many rows are read.
const TILES: usize = 16;

/// Combines the running keys and places of a tile of columns, which begins at column `at`, with the rows of `group`.
///
/// # Safety
/// Every pointer in `rows` is good for the tile's columns.
#[inline(always)]
unsafe fn raise_tile<T: Element>(
    arg: &Arg<T>,
    rows: &[*const T],
    group: Range<usize>,
    at: usize,
    keys: &mut [T::Key; TILE],
    places: &mut [T::Key; TILE],
) {
    let (mut best, mut best_places) = (*keys, *places);
    for place in group {
        if let Some(later) = rows.get(place + PANEL) {
            prefetch(later.wrapping_add(at), TILE);
        }
        // SAFETY: the caller vouches for the tile's columns in every row.
        let x = unsafe { &*rows[place].add(at).cast::<[T; TILE]>() };
        let place = T::Key::from_small(place as u8);
        for i in 0..TILE {
            let key = arg.key(x[i]);
            best_places[i] = if key > best[i] { place } else { best_places[i] };
            best[i] = key.max(best[i]);
        }
    }
    (*keys, *places) = (best, best_places);
}
