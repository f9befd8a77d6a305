//! Panels of more rows, for kernels whose nodes take long to merge: nodes of the lower levels stay in registers.

use std::mem::MaybeUninit;

use super::panel::{Panel, TILE};
use super::policy::{AHEAD_COLUMNS, HIGH, PANEL, TALL};
use super::simd::prefetch;

/// [`super::kernel::Kernel::panel`] of groups of at most [`HIGH`] rows. `fold` makes the nodes of a tile of columns.
///
/// # Safety
/// Every row is good for a group's share of `out`.
#[inline(always)]
pub(super) unsafe fn fold_high_columns<T: Copy, A: Copy>(
    panel: Panel<'_, T>,
    out: &mut [MaybeUninit<A>],
    fold: impl Fn(&[&[T; TILE]], &mut [MaybeUninit<A>; TILE]),
) {
    let Panel { rows, groups, step, .. } = panel;
    let (width, ahead) = (out.len() / groups, AHEAD_COLUMNS / 4 / size_of::<T>());
    let mut tile = [const { MaybeUninit::<&[T; TILE]>::uninit() }; HIGH];
    for (group, out) in out.chunks_exact_mut(width).enumerate() {
        let mut column = 0;
        while column < width {
            // The last tile may overlap the one before.
            column = column.min(width - TILE);
            // No farther than the rows' own end: another task may have what follows.
            let has_ahead = column + TILE + ahead <= width;
            for (to, row) in tile.iter_mut().zip(rows) {
                let row = row.wrapping_byte_add(group * step).wrapping_add(column);
                if has_ahead {
                    prefetch(row.wrapping_add(ahead), TILE);
                }
                // SAFETY: the caller vouches for all columns of each row, and the tile ends at the last column.
                to.write(unsafe { &*row.cast::<[T; TILE]>() });
            }
            // SAFETY: the loop has written a place for each row.
            let rows = unsafe { tile[..rows.len()].assume_init_ref() };
            fold(rows, out[column..].first_chunk_mut().expect("a tile"));
            column += TILE;
        }
    }
}

/// The nodes of a tile's columns of at most [`TALL`] rows. `of` makes those of 1, 2, 4 or [`PANEL`] rows, and is told
/// the number of the first one. `join` puts those of two ranges, of so many rows each, in place of the right ones.
/// Nodes are joined as a binary counter carries.
#[inline(always)]
pub(super) fn fold_high<T, N: Copy, const W: usize>(
    rows: &[&[T; W]],
    mut of: impl FnMut(usize, &[&[T; W]]) -> N,
    join: impl Fn(&N, u64, &mut N, u64),
) -> N {
    let mut levels = [const { MaybeUninit::<N>::uninit() }; (TALL / PANEL).ilog2() as usize + 1];
    let mut pushed = 0usize;
    let (groups, mut rest) = rows.as_chunks::<PANEL>();
    for group in groups {
        // Where the carry ends, the level is free, and takes the sum.
        let (low, high) = levels.split_at_mut(pushed.trailing_ones() as usize);
        let nodes = high[0].write(of(pushed * PANEL, group));
        for (at, left) in low.iter().enumerate() {
            let weight = (PANEL << at) as u64;
            // SAFETY: bit `at` of `pushed` is set, so the level has been written.
            join(unsafe { left.assume_init_ref() }, weight, nodes, weight);
        }
        pushed += 1;
    }
    let mut tail: Option<(N, u64)> = None;
    let mut prepend = |left: &N, m: u64| match &mut tail {
        Some((right, n)) => {
            join(left, m, right, *n);
            *n += m;
        }
        None => tail = Some((*left, m)),
    };
    // Powers of two of rows, the fewest, at the right end, first.
    while !rest.is_empty() {
        let n = 1 << rest.len().trailing_zeros();
        let (before, last) = rest.split_at(rest.len() - n);
        prepend(&of(groups.len() * PANEL + before.len(), last), n as u64);
        rest = before;
    }
    for (at, left) in levels.iter().enumerate().filter(|(at, _)| pushed >> at & 1 == 1) {
        // SAFETY: bit `at` of `pushed` is set, so the level has been written.
        prepend(unsafe { left.assume_init_ref() }, (PANEL << at) as u64);
    }
    tail.expect("at least one row").0
}
