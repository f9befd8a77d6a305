//! Units of columns that do not begin in the same row.
//!
//! Where the sequence goes on from one column to the next, and the length of a column is no multiple of [`PANEL`],
//! subtrees of [`PANEL`] elements begin in another row of each column. Rows are read once for all columns: of each,
//! the subtrees from every row on are computed that a column of the tile may begin in, and each column takes its own.
//! The largest power of two that divides the length of a column divides all of these rows, so a length of 8 k + 4 has
//! two of them, and an odd one eight.

use std::mem::MaybeUninit;

use warpfold_core::Reducer;

use super::panel::{TILE, copy_out};
use super::policy::PANEL;
use super::simd::{array, inlined, vectors};

/// Names the number of rows as a constant.
macro_rules! with_rows {
    ($rows:ident, $n:ident => $of:expr) => {
        with_rows!($rows, $n in 8 12 14 15 => $of)
    };
    ($rows:ident, $n:ident in $($number:literal)* => $of:expr) => {
        match $rows.len() {
            $($number => {
                const $n: usize = $number;
                let $rows = $rows.first_chunk::<$n>().expect("as many rows");
                $of
            })*
            _ => unreachable!("units begin at multiples of a power of two"),
        }
    };
}
pub(super) use with_rows;

/// Rows of a tile of columns, and the first row of each column's unit.
#[derive(Clone, Copy)]
pub struct Staggered<'a, T> {
    /// The addresses of the rows: 8, or, if units begin at multiples of 4, 2 or 1, 12, 14 or 15 of them.
    pub rows: &'a [*const T],
    /// The first row of each column's unit.
    pub firsts: &'a [u32],
}

impl<'a, T> Staggered<'a, T> {
    /// The same rows as rows of another type.
    pub fn cast<U>(self) -> Staggered<'a, U> {
        // SAFETY: addresses of all types have one layout.
        Staggered { rows: unsafe { &*(std::ptr::from_ref(self.rows) as *const [*const U]) }, firsts: self.firsts }
    }
}

/// [`super::kernel::Kernel::staggered`] by the tree.
///
/// # Safety
/// Every row is good for `out.len()` elements, at least [`TILE`].
#[inline(always)]
pub(super) unsafe fn fold_staggered<R: Reducer>(
    reducer: &R,
    rows: Staggered<'_, R::Item>,
    out: &mut [MaybeUninit<R::Acc>],
) {
    vectors(
        #[inline(always)]
        || {
            // SAFETY: the caller's.
            unsafe {
                by_tiles(
                    rows,
                    out,
                    #[inline(always)]
                    |rows, firsts, nodes| with_rows!(rows, N => units::<R, N>(reducer, item_of(rows), firsts, nodes)),
                );
            }
        },
    );
}

/// Elements by row and column.
#[inline(always)]
pub(super) fn item_of<'t, T: Copy, const N: usize>(rows: &'t [&'t [T; TILE]; N]) -> impl Fn((usize, usize)) -> T + 't {
    inlined(
        #[inline(always)]
        |(r, i): (usize, usize)| rows[r][i],
    )
}

/// Calls `fold` with the rows of a tile of columns, and with the first rows of their units, and writes its nodes.
///
/// # Safety
/// Every row is good for `out.len()` elements, at least [`TILE`].
#[inline(always)]
pub(super) unsafe fn by_tiles<T, A: Copy>(
    Staggered { rows, firsts }: Staggered<'_, T>,
    out: &mut [MaybeUninit<A>],
    fold: impl Fn(&[&[T; TILE]], &[u32; TILE], &mut [MaybeUninit<A>; TILE]),
) {
    let (width, n) = (out.len(), rows.len());
    // A local array, which cannot overlap the rows: the vectoriser needs no proof of that.
    let mut nodes = [const { MaybeUninit::uninit() }; TILE];
    let mut column = 0;
    while column < width {
        // The last tile may overlap the one before.
        column = column.min(width - TILE);
        // SAFETY: the caller vouches for all columns of each row, and the tile ends at the last column.
        let tile: [&[T; TILE]; 2 * PANEL] = array!(2 * PANEL, r => unsafe {
            &*rows[r.min(n - 1)].add(column).cast::<[T; TILE]>()
        });
        let firsts = firsts[column..].first_chunk().expect("a first row of each column");
        fold(&tile[..n], firsts, &mut nodes);
        copy_out(&nodes, out[column..].first_chunk_mut().expect("a tile"));
        column += TILE;
    }
}

/// The nodes of a tile's units, of a number of rows that the compiler knows. `item` is given a row and a column.
#[inline(always)]
pub(super) fn units<R: Reducer, const ROWS: usize>(
    reducer: &R,
    item: impl Fn((usize, usize)) -> R::Item,
    firsts: &[u32; TILE],
    nodes: &mut [MaybeUninit<R::Acc>; TILE],
) {
    for (i, node) in nodes.iter_mut().enumerate() {
        let leaf = inlined(
            #[inline(always)]
            |r: usize| reducer.lift(item((r, i)), 0),
        );
        let pair = inlined(
            #[inline(always)]
            |r: usize| reducer.combine_counted(leaf(r), 1, leaf(r + 1), 1),
        );
        let four = inlined(
            #[inline(always)]
            |r: usize| reducer.combine_counted(pair(r), 2, pair(r + 2), 2),
        );
        let eight = inlined(
            #[inline(always)]
            |r: usize| reducer.combine_counted(four(r), 4, four(r + 4), 4),
        );
        let mut own = eight(0);
        // Every unit is computed, whether or not the column takes it: so columns share instructions.
        macro_rules! others {
            ($($r:literal)*) => {$(
                if ROWS - PANEL >= $r && $r % (2 * PANEL - ROWS) == 0 {
                    let other = eight($r);
                    own = if firsts[i] == $r { other } else { own };
                }
            )*};
        }
        others!(1 2 3 4 5 6 7);
        node.write(own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::halves::Halves;
    use crate::kernel::{Kernel, Tree};
    use crate::moments::Spread;
    use warpfold_core::ops::{Deviation, Square, Sum};
    use warpfold_core::{bf16, f16};

    /// Units of 64 to 140 columns, whose lengths have each power of two in them, against blocks of eight elements.
    fn check<K: Kernel>(kernel: &K, of: impl Fn(usize) -> <K::R as Reducer>::Item)
    where
        <K::R as Reducer>::Acc: std::fmt::Debug,
    {
        for (width, length, start) in [(64, 9, 0), (65, 12, 5), (128, 14, 2), (140, 16, 8), (77, 8, 3), (100, 27, 1)] {
            let step = 1 << usize::min((length | start | PANEL).trailing_zeros() as usize, 3);
            let n = 2 * PANEL - step;
            let x: Vec<Vec<_>> = (0..n).map(|r| (0..width).map(|c| of(r * width + c)).collect()).collect();
            let rows: Vec<_> = x.iter().map(Vec::as_ptr).collect();
            let first = |c: usize| ((start + c * length) as u32).wrapping_neg() % PANEL as u32;
            let firsts: Vec<u32> = (0..width).map(first).collect();
            let mut out = vec![MaybeUninit::uninit(); width];
            // SAFETY: every row has `width` elements.
            unsafe { kernel.staggered(Staggered { rows: &rows, firsts: &firsts }, &mut out) };
            for (c, out) in out.iter().enumerate() {
                let column: Vec<_> = (0..PANEL).map(|r| x[first(c) as usize + r][c]).collect();
                // SAFETY: the call has written a node for each column.
                let (got, want) = (unsafe { out.assume_init() }, kernel.block(&column, 0));
                assert_eq!(format!("{got:?}"), format!("{want:?}"), "column {c} of {width}, lengths of {length}");
            }
        }
    }

    #[test]
    fn each_column_has_the_unit_that_begins_in_its_row() {
        // Every 37th element is NaN, an infinity, or a zero without a number on its left.
        let of = |i: usize| match i % 37 {
            3 => f32::NAN,
            10 => f32::INFINITY,
            20 => -0.0,
            _ => (i as f32 * 0.37).sin() * 100.0,
        };
        let numbers = |i: usize| (i as f32 * 0.37).sin() * 100.0;
        check(&Tree(Sum::<f32>::total()), numbers);
        check(&Tree(Sum::<f32>::total()), of);
        check(&Tree(Sum::<f64>::mean()), |i| of(i) as f64);
        check(&Halves(Sum::<bf16>::total()), |i| bf16::from_f32(of(i)));
        check(&Halves(Sum::<f16, Square>::norm2()), |i| f16::from_f32(numbers(i)));
        check(&Spread(Deviation::<f32>::new(0.0, false)), numbers);
        check(&Spread(Deviation::<f16>::new(0.0, true)), |i| f16::from_f32(numbers(i)));
        check(&Spread(Deviation::<bf16>::new(0.0, true)), |i| bf16::from_f32(of(i)));
    }
}
