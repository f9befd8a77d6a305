//! Sums and means of integers. Their order is free. A node is the sum modulo 2^64: a sum wraps to that, and means of 8
//! or 16 bits need no more. The nodes of other means have 128 bits.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use warpfold_core::ops::IntegerSum;
use warpfold_core::{Cast, Element, Reducer};

use super::block::fold_rows;
use super::free::{LANES, pieces};
use super::kernel::{Kernel, each_row};
use super::moves::by_number;
use super::panel::{Panel, TILE};
use super::periods::fold_periods;
use super::policy::{AHEAD, FEW_DENSE_COLUMNS, SHORT_BYTES};
use super::running::{Running, run};
use super::simd::{Aligned, array, fold_lanes, inlined, prefetch, vectorize, vectors, vectors_at_level};
use super::totals::Total;
use super::tree::PIECE;

/// Integers that are summed to nodes of type `N`, in the narrowest lanes that cannot overflow.
pub trait Summed<N>: Element {
    /// The sum of at most `BLOCK` elements.
    fn sum(x: &[Self]) -> N;

    /// Adds the sums of the columns of dense rows to `sums`: a power of two of rows, at most `BLOCK` elements.
    fn add_dense(x: &[Self], sums: &mut [N]);

    /// The sums of the columns of at most 256 rows.
    fn tile<'a, const W: usize>(rows: impl Iterator<Item = &'a [Self; W]>) -> [N; W];
}

/// Each lane is `$lane`, which fits 256 elements, and a block's sum `$total`. (Those of 64 bits wrap, as nodes do.)
macro_rules! summed {
    ($($t:ty, $lane:ty, $total:ty, $node:ty);*) => {$(
        impl Summed<$node> for $t {
            #[inline(always)]
            fn sum(x: &[Self]) -> $node {
                let mut lanes = [0 as $lane; LANES];
                let tail = pieces(
                    x,
                    #[inline(always)]
                    |piece| {
                        if size_of::<$t>() < 4 {
                            prefetch(piece.as_ptr().wrapping_byte_add(AHEAD), LANES);
                        }
                        for i in 0..LANES {
                            lanes[i] = lanes[i].wrapping_add(piece[i] as $lane);
                        }
                    },
                );
                let sum = match x.last_chunk::<LANES>() {
                    Some(last) => {
                        // The last piece may overlap the one before, whose elements count once.
                        let fresh = LANES - tail.len();
                        for i in 0..LANES {
                            lanes[i] = lanes[i].wrapping_add(if i < fresh { 0 } else { last[i] as $lane });
                        }
                        fold_lanes(array!(LANES, i => lanes[i] as $total), <$total>::wrapping_add) as i64
                    }
                    None => tail.iter().fold(0i64, |sum, &x| sum.wrapping_add(x as i64)),
                };
                sum as $node
            }

            #[inline(always)]
            fn add_dense(x: &[Self], sums: &mut [$node]) {
                let mut room = [const { MaybeUninit::<$total>::uninit() }; FEW_DENSE_COLUMNS];
                let room = &mut room[..sums.len()];
                let join = <$lane>::wrapping_add;
                fold_periods(x, |x| x as $lane, join, |lane| lane as $total, <$total>::wrapping_add, room);
                for (sum, room) in sums.iter_mut().zip(room) {
                    // SAFETY: `fold_periods` writes the node of every column, and there are as many columns as sums.
                    *sum = sum.plus(unsafe { room.assume_init() } as $node);
                }
            }

            #[inline(always)]
            fn tile<'a, const W: usize>(rows: impl Iterator<Item = &'a [Self; W]>) -> [$node; W] {
                let mut lanes = Aligned([0 as $lane; W]);
                for row in rows {
                    for i in 0..W {
                        lanes.0[i] = lanes.0[i].wrapping_add(row[i] as $lane);
                    }
                }
                array!(W, i => lanes.0[i] as $node)
            }
        }
    )*};
}
summed!(i8, i16, i32, i64; i16, i32, i32, i64; i32, i64, i64, i64; i64, i64, i64, i64; u8, u16, i32, i64;
    u16, u32, i32, i64; u32, i64, i64, i64; u64, i64, i64, i64; i32, i64, i64, i128; u32, i64, i64, i128);

macro_rules! summed_wide {
    ($($t:ty, $high:expr);*) => {$(
        /// The sums of the low and of the high 32 bits of elements, neither of which can overflow.
        impl Summed<i128> for $t {
            #[inline(always)]
            fn sum(x: &[Self]) -> i128 {
                let (mut low, mut high) = ([0u64; LANES], [0i64; LANES]);
                let tail = pieces(
                    x,
                    #[inline(always)]
                    |piece| {
                        for i in 0..LANES {
                            low[i] += piece[i] as u32 as u64;
                            high[i] += $high(piece[i]);
                        }
                    },
                );
                let (low, high) = (low.iter().sum::<u64>(), high.iter().sum::<i64>());
                low as i128 + ((high as i128) << 32) + tail.iter().map(|&x| x as i128).sum::<i128>()
            }

            #[inline(always)]
            fn add_dense(x: &[Self], sums: &mut [i128]) {
                let mut room = [const { MaybeUninit::<i64>::uninit() }; FEW_DENSE_COLUMNS];
                let room = &mut room[..sums.len()];
                fold_periods(x, |x| x as u32 as i64, |a, b| a + b, |lane| lane, |a, b| a + b, room);
                for (sum, room) in sums.iter_mut().zip(&*room) {
                    // SAFETY: `fold_periods` writes the node of every column, and there are as many columns as sums.
                    *sum += unsafe { room.assume_init() } as i128;
                }
                fold_periods(x, $high, |a, b| a + b, |lane| lane, |a, b| a + b, room);
                for (sum, room) in sums.iter_mut().zip(&*room) {
                    // SAFETY: `fold_periods` has written every column's node again.
                    *sum += (unsafe { room.assume_init() } as i128) << 32;
                }
            }

            #[inline(always)]
            fn tile<'a, const W: usize>(rows: impl Iterator<Item = &'a [Self; W]>) -> [i128; W] {
                let (mut low, mut high) = ([0u64; W], [0i64; W]);
                for row in rows {
                    for i in 0..W {
                        low[i] += row[i] as u32 as u64;
                        high[i] += $high(row[i]);
                    }
                }
                array!(W, i => low[i] as i128 + ((high[i] as i128) << 32))
            }
        }
    )*};
}
summed_wide!(i64, |x: i64| x >> 32; u64, |x: u64| (x >> 32) as i64);

/// The sum or the mean of integers, with nodes of type `N`. Results are the bits of an i64, a u64 or an f64, so that
/// sums and means share their loops.
#[derive(Clone)]
pub struct Summing<T, N> {
    sum: IntegerSum<T>,
    nodes: PhantomData<N>,
}

impl<T: Element, N: Total> Reducer for Summing<T, N> {
    type Item = T;
    type Acc = N;
    type Output = u64;

    const INDEXED: bool = false;

    fn identity(&self) -> Option<N> {
        Some(N::ZERO)
    }

    #[inline(always)]
    fn lift(&self, x: T, _index: u64) -> N {
        N::of(x.cast().to_integer())
    }

    #[inline(always)]
    fn combine(&self, left: N, right: N) -> N {
        left.plus(right)
    }

    #[inline(always)]
    fn finish(&self, acc: N, count: u64) -> u64 {
        match acc.finish(&self.sum, count) {
            Cast::Float(mean) => mean.to_bits(),
            Cast::Signed(sum) => sum as u64,
            Cast::Unsigned(sum) => sum,
        }
    }
}

/// The kernel of [`Summing`].
#[derive(Clone)]
pub struct Integers<T, N>(Summing<T, N>);

impl<T, N> Integers<T, N> {
    /// The kernel of a sum or a mean.
    pub fn new(sum: IntegerSum<T>) -> Self {
        Self(Summing { sum, nodes: PhantomData })
    }
}

/// The most elements of a row that are summed one by one, where nodes have 128 bits: an addition and its carry for
/// each. 128 MiB, two threads of a busy EPYC with AVX-512, CPU time of each, ms of a block for each row, and of this:
/// mean of i64 (4194304, 4) along axis 1 66.2, 10.2; (1048576, 16) 23.7, 6.9. Other values have no record.
const FEW: usize = 64;

impl<T: Summed<N>, N: Total> Integers<T, N> {
    /// The sums of short rows.
    #[inline(never)]
    fn few(&self, x: &[T], len: usize, out: &mut [MaybeUninit<N>]) {
        let sum = inlined(
            #[inline(always)]
            |row: &[T]| row.iter().fold(N::ZERO, |sum, &x| sum.plus(self.0.lift(x, 0))),
        );
        by_number!(len, L in [2 3 4 5 6 7 8] => for (row, out) in x.as_chunks::<L>().0.iter().zip(out) {
            prefetch(row.as_ptr().wrapping_byte_add(AHEAD), 1);
            out.write(sum(row));
        }, else for (row, out) in x.chunks_exact(len).zip(out) {
            prefetch(row.as_ptr().wrapping_byte_add(AHEAD), len);
            out.write(sum(row));
        });
    }
}

impl<T: Summed<N>, N: Total> Running for Integers<T, N> {
    type Item = T;
    type Node = N;

    #[inline(always)]
    fn tile<'a, const W: usize>(&self, rows: impl Iterator<Item = &'a [T; W]>, nodes: &mut [N; W]) {
        let sums = T::tile(rows);
        for i in 0..W {
            nodes[i] = nodes[i].plus(sums[i]);
        }
    }
}

impl<T: Summed<N>, N: Total> Kernel for Integers<T, N> {
    type R = Summing<T, N>;

    const FREE: bool = true;

    const RUNS: bool = true;

    fn reducer(&self) -> &Self::R {
        &self.0
    }

    /// Nodes of 128 bits are no vectors, so rows of any length are columns to them, unless elements have 64 bits. 64
    /// MiB, CPU time as above: mean of i32 (2097152, 8) along axis 1 12.1, 4.2. Of longer rows lanes are sums: 128 MiB,
    /// as columns, and so, sum of u8 (95189, 6, 235) along axis 2 22.0, 9.2; (1000000, 130) 16.9, 10.8; but of i16
    /// (1000000, 67) 10.5, 11.9.
    fn apart(len: usize) -> bool {
        let takes_rows = if size_of::<N>() > 8 { size_of::<T>() == 8 } else { len.is_power_of_two() };
        len * size_of::<T>() < SHORT_BYTES && len < 2 * LANES && !takes_rows
    }

    fn block(&self, x: &[T], _start: u64) -> N {
        vectors(
            #[inline(always)]
            || T::sum(x),
        )
    }

    fn rows(&self, x: &[T], len: usize, out: &mut [MaybeUninit<N>]) {
        if size_of::<N>() > 8 && size_of::<T>() == 8 && len <= FEW {
            return self.few(x, len, out);
        }
        if size_of::<N>() > 8 || !len.is_power_of_two() {
            return each_row(self, x, len, out);
        }
        vectors_at_level(
            #[inline(always)]
            |level| fold_rows(level, &self.0, x, len, out),
        );
    }

    unsafe fn panel(&self, panel: Panel<'_, T>, out: &mut [MaybeUninit<N>]) {
        out.fill(MaybeUninit::new(N::ZERO));
        // SAFETY: the caller vouches for an element of each node in every row; all nodes have just been written.
        unsafe { self.panel_after(panel.rows, panel.start, out.assume_init_mut()) };
    }

    #[inline(never)]
    unsafe fn panel_after(&self, rows: &[*const T], _start: u64, nodes: &mut [N]) {
        vectors(
            #[inline(always)]
            // SAFETY: the caller vouches for an element of each node in every row.
            || unsafe { run(self, rows, nodes) },
        );
    }

    fn finish(&self, nodes: &[N], count: u64, out: &mut [MaybeUninit<u64>]) {
        vectorize(
            #[inline(always)]
            || {
                for (nodes, out) in nodes.chunks(PIECE).zip(out.chunks_mut(PIECE)) {
                    if N::results(nodes, &self.0.sum, count, out) {
                        continue;
                    }
                    for (node, out) in nodes.iter().zip(out) {
                        out.write(self.0.finish(*node, count));
                    }
                }
            },
        );
    }

    const DENSE: bool = true;

    /// A period of whole rows and whole vectors is long for other widths than powers of two. 128 MiB, two threads, ms
    /// of periods, and of columns that become blocks (a read takes 4.2): 41 columns of i32 12.3, 6.4; of i8 12.4, 8.2;
    /// of i64, mean, 17 columns 8.3, 10.1.
    fn takes_dense(width: usize) -> bool {
        size_of::<T>() == 8 || width >= TILE || width.is_power_of_two()
    }

    fn dense(&self, x: &[T], start: u64, out: &mut [MaybeUninit<N>]) {
        out.fill(MaybeUninit::new(N::ZERO));
        // SAFETY: all of `out` has just been written.
        self.dense_after(x, start, unsafe { out.assume_init_mut() });
    }

    #[inline(never)]
    fn dense_after(&self, x: &[T], _start: u64, nodes: &mut [N]) {
        vectors(
            #[inline(always)]
            || T::add_dense(x, nodes),
        );
    }
}
