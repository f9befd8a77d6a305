//! Panels: a few rows of a matrix, which are reduced column by column.

use std::mem::MaybeUninit;

use warpfold_core::Reducer;

pub(super) use super::moves::TILE;
use super::policy::{AHEAD, AHEAD_COLUMNS, PANEL, TALL};
use super::simd::{Simd, array, inlined, prefetch, vectors_at_level};

/// Up to [`TALL`] row addresses, on the stack.
pub struct RowList<T> {
    rows: [MaybeUninit<*const T>; TALL],
    /// The number of addresses.
    pub len: usize,
}

impl<T> RowList<T> {
    /// An empty list.
    pub fn empty() -> Self {
        Self { rows: [MaybeUninit::uninit(); TALL], len: 0 }
    }

    /// The addresses.
    pub fn as_slice(&self) -> &[*const T] {
        // SAFETY: `from_iter` alone changes `len`, and writes that many addresses.
        unsafe { self.rows[..self.len].assume_init_ref() }
    }
}

impl<T> FromIterator<*const T> for RowList<T> {
    fn from_iter<I: IntoIterator<Item = *const T>>(rows: I) -> Self {
        let mut pointers = Self::empty();
        for p in rows {
            pointers.rows[pointers.len].write(p);
            pointers.len += 1;
        }
        pointers
    }
}

/// Groups of rows: the `rows.len()` rows of each group become one row of nodes.
#[derive(Clone, Copy)]
pub struct Panel<'a, T> {
    /// The addresses of the first group's rows.
    pub rows: &'a [*const T],
    /// The index of the first row.
    pub start: u64,
    /// The number of groups.
    pub groups: usize,
    /// Bytes from a row to the same row of the next group.
    pub step: usize,
}

impl<'a, T> Panel<'a, T> {
    /// One group of rows, at any addresses.
    pub fn new(rows: &'a [*const T], start: u64) -> Self {
        Self { rows, start, groups: 1, step: 0 }
    }

    /// The same rows as rows of another type.
    pub fn cast<U>(self) -> Panel<'a, U> {
        let Self { rows, start, groups, step } = self;
        // SAFETY: addresses of all types have one layout.
        Panel { rows: unsafe { &*(std::ptr::from_ref(rows) as *const [*const U]) }, start, groups, step }
    }
}

/// [`super::kernel::Kernel::panel`] by the tree, tile by tile of columns.
///
/// # Safety
/// Every row is good for a group's share of `out`.
#[inline(always)]
pub(super) unsafe fn fold_columns<const KNOWN: bool, R: Reducer>(
    reducer: &R,
    panel: Panel<'_, R::Item>,
    out: &mut [MaybeUninit<R::Acc>],
) {
    // SAFETY: the caller vouches for a group's share of `out` in every row.
    unsafe {
        fold_columns_by::<KNOWN, _, _>(
            panel,
            out,
            #[inline(always)]
            |rows, at, out| fold_tile::<KNOWN, _, _>(reducer, rows, at, out),
        );
    }
}

/// [`fold_columns_by`], compiled for each level of vector instructions. `fold` is told the level.
///
/// # Safety
/// Every row is good for a group's share of `out`.
#[inline(always)]
pub(super) unsafe fn fold_columns_at_level<const KNOWN: bool, T: Copy, A: Copy>(
    panel: Panel<'_, T>,
    out: &mut [MaybeUninit<A>],
    fold: impl Fn(Simd, &[&[T; TILE]], u64, &mut [MaybeUninit<A>; TILE]),
) {
    vectors_at_level(
        #[inline(always)]
        |level| {
            // SAFETY: the caller vouches for a group's share of `out` in every row.
            unsafe {
                fold_columns_by::<KNOWN, _, _>(
                    panel,
                    out,
                    #[inline(always)]
                    |rows, at, out| fold(level, rows, at, out),
                );
            }
        },
    );
}

/// [`super::kernel::Kernel::panel`], where `fold` makes the nodes of a tile of columns. `fold` is given the tile's part
/// of each row, the index of the first row, and room for the nodes. `KNOWN` compiles it once more for [`PANEL`] rows.
///
/// # Safety
/// Every row is good for a group's share of `out`.
#[inline(always)]
pub(super) unsafe fn fold_columns_by<const KNOWN: bool, T: Copy, A: Copy>(
    panel: Panel<'_, T>,
    out: &mut [MaybeUninit<A>],
    fold: impl Fn(&[&[T; TILE]], u64, &mut [MaybeUninit<A>; TILE]),
) {
    let Panel { rows, start, groups, step } = panel;
    let (n, width) = (rows.len(), out.len() / groups);
    for (group, out) in out.chunks_exact_mut(width).enumerate() {
        let mut column = 0;
        while column < width {
            if groups > 1 {
                // A tile's share of the rows of a later group.
                prefetch(rows[0].wrapping_byte_add(group * step + AHEAD).wrapping_add(column * n), n * TILE);
            }
            // No farther than the rows' own end: another task may have what follows.
            if groups == 1 && column + TILE + AHEAD_COLUMNS / size_of::<T>() <= width {
                for row in rows {
                    prefetch(row.wrapping_add(column).wrapping_byte_add(AHEAD_COLUMNS), TILE);
                }
            }
            // The last tile may overlap the one before.
            column = column.min(width - TILE);
            // SAFETY: the caller vouches for all columns of every group's rows, and the tile ends at the last column.
            let tile: [&[T; TILE]; PANEL] = array!(PANEL, r => unsafe {
                &*rows[r.min(n - 1)].byte_add(group * step).add(column).cast::<[T; TILE]>()
            });
            let out = out[column..].first_chunk_mut().expect("a tile");
            let at = start + (group * n) as u64;
            if KNOWN && n == PANEL {
                // A number that the compiler knows.
                fold(&tile, at, out);
            } else {
                fold(&tile[..n], at, out);
            }
            column += TILE;
        }
    }
}

/// One tile of columns, level by level.
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "several rows are indexed alike, and the vectoriser sees it")]
pub(super) fn fold_tile<const KNOWN: bool, R: Reducer, const W: usize>(
    reducer: &R,
    rows: &[&[R::Item; W]],
    start: u64,
    out: &mut [MaybeUninit<R::Acc>; W],
) {
    // A local array, which cannot overlap the rows: the vectoriser needs no proof of that.
    let mut nodes = [[const { MaybeUninit::<R::Acc>::uninit() }; W]; PANEL / 2];
    if KNOWN && let Ok(x) = <&[&[R::Item; W]; PANEL]>::try_from(rows) {
        fold_eight(reducer, x, PANEL, None, start, &mut nodes[0]);
        return copy_out(&nodes[0], out);
    }
    if KNOWN
        && R::PADDED
        && rows.len() > PANEL / 2
        && let Some(absent) = reducer.identity()
    {
        let n = rows.len();
        return fold_padded(reducer, &array!(PANEL, r => rows[r.min(n - 1)]), n, absent, start, out);
    }
    if KNOWN {
        macro_rules! known {
            ($($n:literal)*) => {$(
                if let Ok(x) = <&[&[R::Item; W]; $n]>::try_from(rows) {
                    fold_few(reducer, x, start, &mut nodes[0]);
                    return copy_out(&nodes[0], out);
                }
            )*};
        }
        known!(1 2 3 4 5 6 7);
        unreachable!("a panel has at most eight rows");
    }
    let mut weights = [2u64; PANEL / 2];
    let mut n = rows.len().div_ceil(2);
    for (pair, nodes) in nodes[..n].iter_mut().enumerate() {
        let (left, at) = (rows[2 * pair], start + 2 * pair as u64);
        if let Some(right) = rows.get(2 * pair + 1) {
            for i in 0..W {
                nodes[i].write(reducer.combine_counted(
                    reducer.lift(left[i], at),
                    1,
                    reducer.lift(right[i], at + 1),
                    1,
                ));
            }
        } else {
            weights[pair] = 1;
            for i in 0..W {
                nodes[i].write(reducer.lift(left[i], at));
            }
        }
    }
    while n > 1 {
        for pair in 0..n / 2 {
            let (m, k) = (weights[2 * pair], weights[2 * pair + 1]);
            for i in 0..W {
                // SAFETY: the `n` nodes of a level are written, by the loops above or by the last turn of this one.
                let (a, b) = unsafe { (nodes[2 * pair][i].assume_init(), nodes[2 * pair + 1][i].assume_init()) };
                nodes[pair][i].write(reducer.combine_counted(a, m, b, k));
            }
            weights[pair] = m + k;
        }
        if n % 2 == 1 {
            nodes[n / 2] = nodes[n - 1];
            weights[n / 2] = weights[n - 1];
        }
        n = n.div_ceil(2);
    }
    copy_out(&nodes[0], out);
}

/// The nodes of a tile's columns of fewer than [`PANEL`] rows, for which rows of no elements stand in.
#[inline(always)]
pub(super) fn fold_padded<R: Reducer, const W: usize>(
    reducer: &R,
    rows: &[&[R::Item; W]; PANEL],
    n: usize,
    absent: R::Acc,
    start: u64,
    out: &mut [MaybeUninit<R::Acc>; W],
) {
    // As in `fold_tile`.
    let mut nodes = [const { MaybeUninit::<R::Acc>::uninit() }; W];
    fold_eight(reducer, rows, n, Some(absent), start, &mut nodes);
    copy_out(&nodes, out);
}

/// The nodes of a tile's columns of one to seven rows.
#[inline(always)]
fn fold_few<R: Reducer, const N: usize, const W: usize>(
    reducer: &R,
    rows: &[&[R::Item; W]; N],
    start: u64,
    nodes: &mut [MaybeUninit<R::Acc>; W],
) {
    const { assert!(1 <= N && N < PANEL) };
    for (i, node) in nodes.iter_mut().enumerate() {
        let leaf = inlined(
            #[inline(always)]
            |r: usize| reducer.lift(rows[r][i], start + r as u64),
        );
        // One to three rows.
        let few = inlined(
            #[inline(always)]
            |(r, n): (usize, usize)| match n {
                1 => leaf(r),
                2 => reducer.combine_counted(leaf(r), 1, leaf(r + 1), 1),
                _ => reducer.combine_counted(reducer.combine_counted(leaf(r), 1, leaf(r + 1), 1), 2, leaf(r + 2), 1),
            },
        );
        node.write(match N {
            1..=3 => few((0, N)),
            4 => reducer.combine_counted(few((0, 2)), 2, few((2, 2)), 2),
            _ => {
                let four = reducer.combine_counted(few((0, 2)), 2, few((2, 2)), 2);
                reducer.combine_counted(four, 4, few((4, N - 4)), (N - 4) as u64)
            }
        });
    }
}

/// The nodes of a tile's columns of [`PANEL`] rows. From row `n` on, `absent` stands for them.
#[inline(always)]
fn fold_eight<R: Reducer, const W: usize>(
    reducer: &R,
    rows: &[&[R::Item; W]; PANEL],
    n: usize,
    absent: Option<R::Acc>,
    start: u64,
    nodes: &mut [MaybeUninit<R::Acc>; W],
) {
    for (i, node) in nodes.iter_mut().enumerate() {
        let leaf = inlined(
            #[inline(always)]
            |r: usize| match absent {
                Some(absent) if r >= n => absent,
                _ => reducer.lift(rows[r][i], start + r as u64),
            },
        );
        let pair = inlined(
            #[inline(always)]
            |r: usize| reducer.combine_counted(leaf(r), 1, leaf(r + 1), 1),
        );
        let low = reducer.combine_counted(pair(0), 2, pair(2), 2);
        let high = reducer.combine_counted(pair(4), 2, pair(6), 2);
        node.write(reducer.combine_counted(low, 4, high, 4));
    }
}

/// One tile of columns of an order-free reducer: nodes run down the rows.
#[inline(always)]
pub(super) fn run_tile<R: Reducer, const W: usize>(
    reducer: &R,
    rows: &[&[R::Item; W]],
    start: u64,
    out: &mut [MaybeUninit<R::Acc>; W],
) {
    let mut nodes: [R::Acc; W] = array!(W, i => reducer.lift(rows[0][i], start));
    for row in &rows[1..] {
        for i in 0..W {
            nodes[i] = reducer.combine(nodes[i], reducer.lift(row[i], start));
        }
    }
    copy_out(&array!(W, i => MaybeUninit::new(nodes[i])), out);
}

/// Copies a tile's nodes, a few at a time: all at once would be a call.
#[inline(always)]
pub(super) fn copy_out<A: Copy, const W: usize>(nodes: &[MaybeUninit<A>; W], out: &mut [MaybeUninit<A>; W]) {
    const FEW: usize = 8;
    for (out, nodes) in out.as_chunks_mut::<FEW>().0.iter_mut().zip(nodes.as_chunks::<FEW>().0) {
        *out = *nodes;
    }
    const { assert!(W.is_multiple_of(FEW)) };
}
