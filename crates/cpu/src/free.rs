//! Block kernels for the order-free reducers: extrema of integers, logic, counts, integer sums. No tree is needed, so
//! each lane of a vector keeps its own running node.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use warpfold_core::ops::{CountNan, CountNonzero, IntegerSum};
use warpfold_core::{Element, Reducer};

use super::kernel::{Kernel, each_row};
use super::panel::{Panel, fold_columns_by, run_tile};
use super::periods::fold_periods;
use super::policy::{AHEAD, BLOCK, FEW_DENSE_COLUMNS, MOST_ROWS, SHORT};
use super::simd::{array, prefetch, vectorize, vectorize_256};
use super::tree::fold_rows;

/// Lanes of one running node each; 64 fill two AVX-512 registers of i32, which hides the latency of an instruction.
const LANES: usize = 64;

/// Runs `each` on pieces of [`LANES`] elements; returns what is left over.
#[inline(always)]
fn pieces<T>(x: &[T], mut each: impl FnMut(&[T; LANES])) -> &[T] {
    let (pieces, tail) = x.as_chunks::<LANES>();
    for piece in pieces {
        each(piece);
    }
    tail
}

/// An order-free reducer with small nodes.
#[derive(Clone)]
pub struct Lanes<R>(pub R);

impl<R: Reducer> Kernel for Lanes<R> {
    type R = R;

    /// But for blocks and columns: what is done to single nodes is little.
    const VECTORS: bool = false;

    fn reducer(&self) -> &R {
        &self.0
    }

    fn apart(len: usize) -> bool {
        len < SHORT
    }

    fn rows(&self, x: &[R::Item], len: usize, out: &mut [MaybeUninit<R::Acc>]) {
        each_row(self, x, len, out);
    }

    unsafe fn panel(&self, panel: Panel<'_, R::Item>, out: &mut [MaybeUninit<R::Acc>]) {
        // SAFETY: the contract is the same.
        unsafe { run_columns(&self.0, panel, out) };
    }

    fn block(&self, x: &[R::Item], start: u64) -> R::Acc {
        vectorize_256(
            #[inline(always)]
            || lanes_block(&self.0, x, start),
        )
    }
}

/// The nodes of columns, in any order.
///
/// # Safety
/// As [`Kernel::panel`].
unsafe fn run_columns<R: Reducer>(reducer: &R, panel: Panel<'_, R::Item>, out: &mut [MaybeUninit<R::Acc>]) {
    vectorize_256(
        #[inline(always)]
        || {
            // SAFETY: the caller vouches for a group's share of `out` in every row.
            unsafe {
                fold_columns_by::<false, _, _>(
                    panel,
                    out,
                    #[inline(always)]
                    |rows, at, out| run_tile(reducer, rows, at, out),
                );
            }
        },
    );
}

#[inline(always)]
pub(super) fn lanes_block<R: Reducer>(reducer: &R, x: &[R::Item], start: u64) -> R::Acc {
    let fold = |acc: R::Acc, x: &R::Item| reducer.combine(acc, reducer.lift(*x, start));
    let Some((first, x)) = x.split_first_chunk::<LANES>() else {
        return x[1..].iter().fold(reducer.lift(x[0], start), fold);
    };
    let mut lanes: [R::Acc; LANES] = array!(LANES, i => reducer.lift(first[i], start));
    let tail = pieces(
        x,
        #[inline(always)]
        |piece| {
            for i in 0..LANES {
                lanes[i] = reducer.combine(lanes[i], reducer.lift(piece[i], start));
            }
        },
    );
    let mut width = LANES;
    while width > 1 {
        width /= 2;
        for i in 0..width {
            lanes[i] = reducer.combine(lanes[i], lanes[i + width]);
        }
    }
    tail.iter().fold(lanes[0], fold)
}

/// How integers add up within a block of at most 4096, in the narrowest lanes that cannot overflow.
pub trait BlockSum: Element {
    /// The exact sum.
    fn sum(x: &[Self]) -> i128;

    /// The exact sums of the columns of a power of two of dense rows, added to `sums`.
    fn add_dense(x: &[Self], sums: &mut [i128]);

    /// The exact sums of the columns of at most [`MOST_ROWS`] rows, added to `sums`.
    ///
    /// # Safety
    /// Every pointer in `rows` is good for `sums.len()` elements.
    unsafe fn add_rows(rows: &[*const Self], sums: &mut [i128]);
}

/// Each lane is `$lane`, which fits 256 elements, and a block's sum `$total`.
macro_rules! block_sum {
    ($($t:ty, $lane:ty, $total:ty);*) => {$(
        impl BlockSum for $t {
            #[inline(always)]
            fn sum(x: &[Self]) -> i128 {
                let mut lanes = [0 as $lane; LANES];
                let tail = pieces(
                    x,
                    #[inline(always)]
                    |piece| {
                        if size_of::<$t>() < 4 {
                            prefetch(piece.as_ptr().wrapping_byte_add(AHEAD), LANES);
                        }
                        for i in 0..LANES {
                            lanes[i] += piece[i] as $lane;
                        }
                    },
                );
                let lanes = lanes.iter().map(|&lane| lane as i64).sum::<i64>();
                (lanes + tail.iter().map(|&x| x as i64).sum::<i64>()) as i128
            }

            #[inline(always)]
            fn add_dense(x: &[Self], sums: &mut [i128]) {
                let mut room = [const { MaybeUninit::<$total>::uninit() }; FEW_DENSE_COLUMNS];
                let room = &mut room[..sums.len()];
                fold_periods(x, |x| x as $lane, |a, b| a + b, |lane| lane as $total, |a, b| a + b, room);
                for (sum, room) in sums.iter_mut().zip(room) {
                    // SAFETY: all of them are written.
                    *sum += unsafe { room.assume_init() } as i128;
                }
            }

            #[inline(always)]
            unsafe fn add_rows(rows: &[*const Self], sums: &mut [i128]) {
                const { assert!(MOST_ROWS <= 256) };
                let mut lanes = vec![0 as $lane; sums.len()];
                for (i, &row) in rows.iter().enumerate() {
                    // SAFETY: the caller vouches for as many elements in every row as there are sums.
                    let x = unsafe { std::slice::from_raw_parts(row, lanes.len()) };
                    let next = rows.get(i + 1).copied().unwrap_or(row);
                    for (i, (x, lanes)) in x.chunks(LANES).zip(lanes.chunks_mut(LANES)).enumerate() {
                        prefetch(next.wrapping_add(i * LANES), LANES);
                        for (x, lane) in x.iter().zip(lanes) {
                            *lane += *x as $lane;
                        }
                    }
                }
                for (sum, lane) in sums.iter_mut().zip(lanes) {
                    *sum += lane as i128;
                }
            }
        }
    )*};
}
block_sum!(i8, i16, i32; i16, i32, i32; i32, i64, i64; u8, u16, i32; u16, u32, i32; u32, i64, i64);

macro_rules! wide_block_sum {
    ($($t:ty, $high:expr);*) => {$(
        /// In two halves of 32 bits, neither of which can overflow.
        impl BlockSum for $t {
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
                    // SAFETY: all of them are written.
                    *sum += unsafe { room.assume_init() } as i128;
                }
                fold_periods(x, $high, |a, b| a + b, |lane| lane, |a, b| a + b, room);
                for (sum, room) in sums.iter_mut().zip(&*room) {
                    // SAFETY: as above.
                    *sum += (unsafe { room.assume_init() } as i128) << 32;
                }
            }

            #[inline(always)]
            unsafe fn add_rows(rows: &[*const Self], sums: &mut [i128]) {
                for &row in rows {
                    // SAFETY: the caller vouches for as many elements in every row as there are sums.
                    let x = unsafe { std::slice::from_raw_parts(row, sums.len()) };
                    for (sum, &x) in sums.iter_mut().zip(x) {
                        *sum += x as i128;
                    }
                }
            }
        }
    )*};
}
wide_block_sum!(i64, |x: i64| x >> 32; u64, |x: u64| (x >> 32) as i64);

/// Sums and means of integers.
#[derive(Clone)]
pub struct Integers<T>(pub IntegerSum<T>);

impl<T: BlockSum> Kernel for Integers<T> {
    type R = IntegerSum<T>;

    const RUNS: bool = true;

    fn reducer(&self) -> &Self::R {
        &self.0
    }

    fn block(&self, x: &[T], _start: u64) -> i128 {
        vectorize(
            #[inline(always)]
            || T::sum(x),
        )
    }

    fn rows(&self, x: &[T], len: usize, out: &mut [MaybeUninit<i128>]) {
        if size_of::<T>() == 8 || !len.is_power_of_two() {
            return each_row(self, x, len, out);
        }
        vectorize(
            #[inline(always)]
            || {
                let mut sums = [const { MaybeUninit::<i64>::uninit() }; BLOCK];
                let sums = &mut sums[..out.len()];
                fold_rows(&Narrow(PhantomData), x, len, sums);
                for (sum, out) in sums.iter().zip(out) {
                    // SAFETY: all sums are written.
                    out.write(unsafe { sum.assume_init() } as i128);
                }
            },
        );
    }

    unsafe fn panel(&self, panel: Panel<'_, T>, out: &mut [MaybeUninit<i128>]) {
        out.fill(MaybeUninit::new(0));
        // SAFETY: the caller's; they are all written.
        unsafe { self.panel_after(panel.rows, panel.start, out.assume_init_mut()) };
    }

    #[inline(never)]
    unsafe fn panel_after(&self, rows: &[*const T], _start: u64, nodes: &mut [i128]) {
        vectorize(
            #[inline(always)]
            // SAFETY: the contract is the same: every row has an element for each node.
            || unsafe { T::add_rows(rows, nodes) },
        );
    }

    const DENSE: bool = true;

    fn dense(&self, x: &[T], start: u64, out: &mut [MaybeUninit<i128>]) {
        out.fill(MaybeUninit::new(0));
        // SAFETY: they are all written.
        self.dense_after(x, start, unsafe { out.assume_init_mut() });
    }

    #[inline(never)]
    fn dense_after(&self, x: &[T], _start: u64, nodes: &mut [i128]) {
        vectorize(
            #[inline(always)]
            || T::add_dense(x, nodes),
        );
    }
}

/// Sums of a few integers of at most 32 bits, which fit 64.
#[derive(Clone)]
struct Narrow<T>(PhantomData<T>);

impl<T: Element> Reducer for Narrow<T> {
    type Item = T;
    type Acc = i64;
    type Output = i64;

    const INDEXED: bool = false;

    #[inline(always)]
    fn lift(&self, x: T, _index: u64) -> i64 {
        x.cast().to_integer() as i64
    }

    #[inline(always)]
    fn combine(&self, left: i64, right: i64) -> i64 {
        left + right
    }

    fn finish(&self, acc: i64, _count: u64) -> i64 {
        acc
    }
}

/// Counts, in lanes as narrow as the elements.
#[derive(Clone)]
pub struct Counting<R>(pub R);

/// What is counted.
pub trait Test: Reducer<Acc = i64> {
    /// Whether this element counts.
    fn test(&self, x: Self::Item) -> bool;
}

impl<T: Element> Test for CountNonzero<T> {
    #[inline(always)]
    fn test(&self, x: T) -> bool {
        x.truthy() & !(self.skip_nan & x.is_nan())
    }
}

impl<T: Element> Test for CountNan<T> {
    #[inline(always)]
    fn test(&self, x: T) -> bool {
        x.is_nan()
    }
}

impl<R: Test> Kernel for Counting<R> {
    type R = R;

    /// But for blocks and columns: what is done to single nodes is little.
    const VECTORS: bool = false;

    fn reducer(&self) -> &R {
        &self.0
    }

    fn apart(len: usize) -> bool {
        len < SHORT
    }

    fn rows(&self, x: &[R::Item], len: usize, out: &mut [MaybeUninit<R::Acc>]) {
        each_row(self, x, len, out);
    }

    unsafe fn panel(&self, panel: Panel<'_, R::Item>, out: &mut [MaybeUninit<R::Acc>]) {
        // SAFETY: the contract is the same.
        unsafe { run_columns(&self.0, panel, out) };
    }

    fn block(&self, x: &[R::Item], _start: u64) -> i64 {
        vectorize_256(
            #[inline(always)]
            || {
                let mut lanes = [0u16; LANES];
                let tail = pieces(
                    x,
                    #[inline(always)]
                    |piece| {
                        for i in 0..LANES {
                            lanes[i] += self.0.test(piece[i]) as u16;
                        }
                    },
                );
                let tail = tail.iter().filter(|&&x| self.0.test(x)).count() as i64;
                lanes.iter().fold(tail, |a, &n| a + n as i64)
            },
        )
    }
}
