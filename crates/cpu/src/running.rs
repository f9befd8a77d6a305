//! Columns of order-free kernels: a tile of columns has running nodes, which stay in registers down many rows.

use super::policy::{AHEAD_COLUMNS, FEW_ROWS, MOST_ROWS};
use super::simd::prefetch;

/// A kernel whose nodes run down rows.
pub trait Running {
    /// The elements.
    type Item: Copy + 'static;
    /// The nodes.
    type Node: Copy;
    /// Whether nodes are no larger than elements, and combined in so few instructions that memory is slower: then nodes
    /// that stay in L1 are read and written for every few rows, so that rows are read in the order of memory.
    const LIGHT: bool = false;
    /// Combines the nodes of `W` columns with at most [`MOST_ROWS`] rows of them.
    fn tile<'a, const W: usize>(&self, rows: impl Iterator<Item = &'a [Self::Item; W]>, nodes: &mut [Self::Node; W]);
}

/// Combines nodes with at most [`MOST_ROWS`] rows: in wide tiles, then narrow ones. The last columns are a part of a
/// tile that overlaps the one before, or, if there is none, are combined one by one. 128 MiB, two threads of a busy
/// EPYC with AVX-512, CPU time of each, ms of the last columns one by one, and in a tile: sum of i32 (2558, 141, 3, 31)
/// over axes 0 and 2 16.2, 11.0.
///
/// # Safety
/// Every pointer in `rows` is good for `nodes.len()` elements.
#[inline(always)]
pub(super) unsafe fn run<K: Running>(kernel: &K, rows: &[*const K::Item], nodes: &mut [K::Node]) {
    debug_assert!(rows.len() <= MOST_ROWS);
    let is_near = K::LIGHT && rows.len() >= MANY && nodes.len() >= WIDE && size_of_val(nodes) <= MOST_NEAR;
    let step = rows.get(1).map_or(0, |row| row.addr().wrapping_sub(rows[0].addr()));
    for rows in rows.chunks(if is_near { FEW } else { MOST_ROWS }) {
        // The same part of the next few rows.
        let next = is_near.then_some(step.wrapping_mul(rows.len()));
        // SAFETY: the caller's.
        unsafe { run_rows(kernel, rows, nodes, next) };
    }
}

/// Rows of a light kernel that are combined at a time, where there are many, and nodes stay in L1. 128 MiB, two threads
/// of a busy EPYC with AVX-512, CPU time of each, ms of 16 rows at a time, and so: min of f32 (131072, 256) along axis
/// 0 8.4, 5.8; of f16 (262144, 256) 8.8, 6.1; max of i8 (524288, 256) 8.0, 5.0; of f64 (65536, 256) 7.6, 4.2; of f32
/// (16384, 2048) 4.6, 3.7. Of 64 columns of f32, 68 apart, 7.9, 10.1; of u8 (171800, 11, 71) along axis 1, whose rows
/// are in the cache, 11.1, 12.3.
const FEW: usize = 4;

/// The fewest rows that are not taken at a time.
const MANY: usize = FEW_ROWS;

/// The fewest columns of such rows.
const WIDE: usize = 128;

/// The most bytes of nodes that stay in L1.
const MOST_NEAR: usize = 1 << 13;

/// [`run`] of some rows. What lies `next` bytes behind them is prefetched, or, if there is no such number, what lies a
/// little behind in each row.
///
/// # Safety
/// As of [`run`].
#[inline(always)]
unsafe fn run_rows<K: Running>(kernel: &K, rows: &[*const K::Item], nodes: &mut [K::Node], next: Option<usize>) {
    let width = nodes.len();
    let (wide, last) = nodes.as_chunks_mut::<64>();
    let (narrow, last) = last.as_chunks_mut::<16>();
    let (single, _) = last.as_chunks_mut::<1>();
    let from = width - single.len();
    // SAFETY: the tiles are the columns of the nodes, one after the other, and the caller vouches for all of them.
    unsafe {
        run_tiles(kernel, rows, 0, wide, next);
        run_tiles(kernel, rows, from - 16 * narrow.len(), narrow, next);
        if !single.is_empty() {
            let n = width - from;
            match nodes.last_chunk_mut::<16>() {
                Some(last) => {
                    // The other columns of the tile have been combined with these rows already.
                    let mut tile = *last;
                    run_tiles(kernel, rows, width - 16, std::slice::from_mut(&mut tile), next);
                    last[16 - n..].copy_from_slice(&tile[16 - n..]);
                }
                None => run_tiles(kernel, rows, from, nodes[from..].as_chunks_mut::<1>().0, next),
            }
        }
    }
}

/// Combines the nodes of tiles that follow one another from column `from` on.
///
/// # Safety
/// Every pointer in `rows` is good for `from + nodes.len() * W` elements.
#[inline(always)]
unsafe fn run_tiles<K: Running, const W: usize>(
    kernel: &K,
    rows: &[*const K::Item],
    from: usize,
    nodes: &mut [[K::Node; W]],
    next: Option<usize>,
) {
    // If no rows are known to follow, no farther than the own end: another task may have what follows.
    let ahead = nodes.len().saturating_sub(AHEAD_COLUMNS / size_of::<K::Item>() / W);
    for (tile, nodes) in nodes.iter_mut().enumerate() {
        let of_row = |row: &*const K::Item| {
            let x = row.wrapping_add(from + tile * W);
            match next {
                Some(next) => prefetch(x.wrapping_byte_add(next), W),
                None if tile < ahead => prefetch(x.wrapping_byte_add(AHEAD_COLUMNS), W),
                None => {}
            }
            // SAFETY: the caller vouches for the tile's columns in every row.
            unsafe { &*x.cast::<[K::Item; W]>() }
        };
        kernel.tile(rows.iter().map(of_row), nodes);
    }
}
