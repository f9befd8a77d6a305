//! The kernels of order-free reducers: extrema of pairs and of magnitudes, logic, counts, products and sums of
//! integers. Their result does not depend on the tree, so each lane of a vector keeps a running node of its own.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use warpfold_core::ops::{AbsMax, All, Any, CountNan, CountNonzero, IntegerProduct, IntegerSum, MinMax};
use warpfold_core::{Element, Real, Reducer};

use super::kernel::{Kernel, each_row};
use super::panel::{Panel, fold_columns_by, run_tile};
use super::periods::fold_periods;
use super::policy::{AHEAD, BLOCK, FEW_DENSE_COLUMNS, MOST_ROWS, SHORT_BYTES};
use super::simd::{array, prefetch, vectorize, vectorize_256};
use super::tree::fold_rows;

/// Lanes, each of which has a running node. 64 nodes of i32 fill eight AVX2 registers, which hides the latency of an
/// instruction.
const LANES: usize = 64;

/// Calls `each` with pieces of [`LANES`] elements; returns the elements after the last whole piece.
#[inline(always)]
fn pieces<T>(x: &[T], mut each: impl FnMut(&[T; LANES])) -> &[T] {
    let (pieces, tail) = x.as_chunks::<LANES>();
    for piece in pieces {
        each(piece);
    }
    tail
}

/// An order-free reducer with small nodes: extrema, logic, counts, products of integers.
pub trait OrderFree: Reducer {
    /// The node of a block, whose first element has the index `start`.
    #[inline(always)]
    fn block(&self, x: &[Self::Item], start: u64) -> Self::Acc {
        lanes_block(self, x, start)
    }
}

impl<T: Element> OrderFree for MinMax<T> {}
impl<T: Element<Float = T> + Real> OrderFree for AbsMax<T> {}
impl<T: Element> OrderFree for IntegerProduct<T> {}
impl<T: Element> OrderFree for Any<T> {}
impl<T: Element> OrderFree for All<T> {}

impl<T: Element> OrderFree for CountNonzero<T> {
    #[inline(always)]
    fn block(&self, x: &[T], _start: u64) -> i64 {
        count_block(
            x,
            #[inline(always)]
            |x| x.truthy() & !(self.skip_nan & x.is_nan()),
        )
    }
}

impl<T: Element> OrderFree for CountNan<T> {
    #[inline(always)]
    fn block(&self, x: &[T], _start: u64) -> i64 {
        count_block(
            x,
            #[inline(always)]
            |x| x.is_nan(),
        )
    }
}

/// The kernel of an order-free reducer: in a block, each lane of a vector keeps a running node of its own.
#[derive(Clone)]
pub struct Lanes<R>(pub R);

impl<R: OrderFree> Kernel for Lanes<R> {
    type R = R;

    const FREE: bool = true;

    /// Blocks and columns have loops of their own. What else is done to a node is too little for vectors.
    const VECTORS: bool = false;

    fn reducer(&self) -> &R {
        &self.0
    }

    fn apart(len: usize) -> bool {
        len * size_of::<R::Item>() < SHORT_BYTES
    }

    fn rows(&self, x: &[R::Item], len: usize, out: &mut [MaybeUninit<R::Acc>]) {
        each_row(self, x, len, out);
    }

    unsafe fn panel(&self, panel: Panel<'_, R::Item>, out: &mut [MaybeUninit<R::Acc>]) {
        vectorize_256(
            #[inline(always)]
            || {
                // SAFETY: the caller vouches for a group's share of `out` in every row.
                unsafe {
                    fold_columns_by::<false, _, _>(
                        panel,
                        out,
                        #[inline(always)]
                        |rows, at, out| run_tile(&self.0, rows, at, out),
                    );
                }
            },
        );
    }

    fn block(&self, x: &[R::Item], start: u64) -> R::Acc {
        vectorize_256(
            #[inline(always)]
            || self.0.block(x, start),
        )
    }
}

/// The node of a block: each lane combines every [`LANES`]th element, and then lanes are combined pair by pair.
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

/// How many elements of a block `test` accepts. Counters are 16 bits wide, so that they are not much wider than the
/// elements; a lane of a block has at most 64.
#[inline(always)]
pub(super) fn count_block<T: Copy>(x: &[T], test: impl Fn(T) -> bool) -> i64 {
    const { assert!(BLOCK / LANES <= u16::MAX as usize) };
    let mut lanes = [0u16; LANES];
    let tail = pieces(
        x,
        #[inline(always)]
        |piece| {
            for i in 0..LANES {
                lanes[i] += test(piece[i]) as u16;
            }
        },
    );
    let tail = tail.iter().filter(|&&x| test(x)).count() as i64;
    lanes.iter().fold(tail, |a, &n| a + n as i64)
}

/// The exact sums of integers of a block, in the narrowest lanes that cannot overflow.
pub trait BlockSum: Element {
    /// The sum of at most `BLOCK` elements.
    fn sum(x: &[Self]) -> i128;

    /// Adds the sums of the columns of dense rows to `sums`: a power of two of rows, at most `BLOCK` elements.
    fn add_dense(x: &[Self], sums: &mut [i128]);

    /// Adds the sums of the columns of at most [`MOST_ROWS`] rows to `sums`.
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
                    // SAFETY: `fold_periods` writes the node of every column, and there are as many columns as sums.
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
        /// The sums of the low and of the high 32 bits of elements, neither of which can overflow.
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
            unsafe fn add_rows(rows: &[*const Self], sums: &mut [i128]) {
                const { assert!(MOST_ROWS <= 256) };
                // The low and the high halves of all columns, as in `sum`.
                let (mut low, mut high) = (vec![0u64; sums.len()], vec![0i64; sums.len()]);
                for (i, &row) in rows.iter().enumerate() {
                    // SAFETY: the caller vouches for as many elements in every row as there are sums.
                    let x = unsafe { std::slice::from_raw_parts(row, sums.len()) };
                    let next = rows.get(i + 1).copied().unwrap_or(row);
                    let halves = low.chunks_mut(LANES).zip(high.chunks_mut(LANES));
                    for (i, (x, (low, high))) in x.chunks(LANES).zip(halves).enumerate() {
                        prefetch(next.wrapping_add(i * LANES), LANES);
                        for ((&x, low), high) in x.iter().zip(low).zip(high) {
                            *low += x as u32 as u64;
                            *high += $high(x);
                        }
                    }
                }
                for ((sum, low), high) in sums.iter_mut().zip(low).zip(high) {
                    *sum += low as i128 + ((high as i128) << 32);
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

    const FREE: bool = true;

    const RUNS: bool = true;

    fn reducer(&self) -> &Self::R {
        &self.0
    }

    fn apart(len: usize) -> bool {
        len * size_of::<T>() < SHORT_BYTES && !len.is_power_of_two()
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
                    // SAFETY: `fold_rows` writes a node for each row, and there are as many rows as places in `out`.
                    out.write(unsafe { sum.assume_init() } as i128);
                }
            },
        );
    }

    unsafe fn panel(&self, panel: Panel<'_, T>, out: &mut [MaybeUninit<i128>]) {
        out.fill(MaybeUninit::new(0));
        // SAFETY: the caller vouches for an element of each node in every row; all nodes have just been written.
        unsafe { self.panel_after(panel.rows, panel.start, out.assume_init_mut()) };
    }

    #[inline(never)]
    unsafe fn panel_after(&self, rows: &[*const T], _start: u64, nodes: &mut [i128]) {
        vectorize(
            #[inline(always)]
            // SAFETY: the caller vouches for an element of each node in every row.
            || unsafe { T::add_rows(rows, nodes) },
        );
    }

    const DENSE: bool = true;

    fn dense(&self, x: &[T], start: u64, out: &mut [MaybeUninit<i128>]) {
        out.fill(MaybeUninit::new(0));
        // SAFETY: all of `out` has just been written.
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

/// Sums of at most a block of integers of at most 32 bits, which fit 64 bits.
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
