//! Block kernels for the order-free reducers: extrema, logic, counts, integer sums. No tree is needed, so each lane of a
//! vector keeps its own running node.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use warpfold_core::ops::{Arg, ArgNode, CountNan, CountNonzero, IntegerSum};
use warpfold_core::{Element, Key, Reducer};

use super::kernel::{Kernel, fold_rows};
use super::panel::{RowList, fold_columns};
use super::policy::BLOCK;
use super::simd::vectorize;

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

    fn reducer(&self) -> &R {
        &self.0
    }

    fn block(&self, x: &[R::Item], start: u64) -> R::Acc {
        vectorize(
            #[inline(always)]
            || lanes_block(&self.0, x, start),
        )
    }
}

#[inline(always)]
fn lanes_block<R: Reducer>(reducer: &R, x: &[R::Item], start: u64) -> R::Acc {
    let fold = |acc: R::Acc, x: &R::Item| reducer.combine(acc, reducer.lift(*x, start));
    let Some((first, x)) = x.split_first_chunk::<LANES>() else {
        return x[1..].iter().fold(reducer.lift(x[0], start), fold);
    };
    let mut lanes: [R::Acc; LANES] = std::array::from_fn(
        #[inline(always)]
        |i| reducer.lift(first[i], start),
    );
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
}

macro_rules! block_sum {
    ($($t:ty, $lane:ty);*) => {$(
        impl BlockSum for $t {
            #[inline(always)]
            fn sum(x: &[Self]) -> i128 {
                let mut lanes = [0 as $lane; LANES];
                let tail = pieces(
                    x,
                    #[inline(always)]
                    |piece| {
                        for i in 0..LANES {
                            lanes[i] += piece[i] as $lane;
                        }
                    },
                );
                let lanes = lanes.iter().map(|&lane| lane as i64).sum::<i64>();
                (lanes + tail.iter().map(|&x| x as i64).sum::<i64>()) as i128
            }
        }
    )*};
}
block_sum!(i8, i16; i16, i32; i32, i64; u8, u16; u16, u32; u32, i64);

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
        }
    )*};
}
wide_block_sum!(i64, |x: i64| x >> 32; u64, |x: u64| (x >> 32) as i64);

/// Sums and means of integers.
#[derive(Clone)]
pub struct Integers<T>(pub IntegerSum<T>);

impl<T: BlockSum> Kernel for Integers<T> {
    type R = IntegerSum<T>;

    fn reducer(&self) -> &Self::R {
        &self.0
    }

    fn block(&self, x: &[T], _start: u64) -> i128 {
        vectorize(
            #[inline(always)]
            || T::sum(x),
        )
    }

    fn rows(&self, x: &[T], len: usize, out: &mut Vec<i128>) {
        if size_of::<T>() == 8 || !len.is_power_of_two() {
            return out.extend(x.chunks_exact(len).map(|row| self.block(row, 0)));
        }
        let mut sums = Vec::with_capacity(x.len() / len);
        vectorize(
            #[inline(always)]
            || fold_rows(&Narrow(PhantomData), x, len, &mut sums),
        );
        out.extend(sums.into_iter().map(|sum| sum as i128));
    }

    unsafe fn panel(&self, rows: &[*const T], start: u64, out: &mut [MaybeUninit<i128>]) {
        const TILE: usize = 256;
        vectorize(
            #[inline(always)]
            || {
                if size_of::<T>() == 8 {
                    // SAFETY: the caller's.
                    return unsafe { fold_columns(&self.0, rows, start, out) };
                }
                let shift = |rows: &[*const T], by| rows.iter().map(|p| p.wrapping_add(by)).collect::<RowList<T>>();
                for (tile, out) in out.chunks_mut(TILE).enumerate() {
                    let mut sums = [const { MaybeUninit::<i64>::uninit() }; TILE];
                    let rows = shift(rows, tile * TILE);
                    let sums = &mut sums[..out.len()];
                    // SAFETY: the caller's; every sum is written.
                    unsafe {
                        fold_columns(&Narrow(PhantomData), rows.as_slice(), start, sums);
                        for (out, sum) in out.iter_mut().zip(sums) {
                            out.write(sum.assume_init() as i128);
                        }
                    }
                }
            },
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

    fn reducer(&self) -> &R {
        &self.0
    }

    fn block(&self, x: &[R::Item], _start: u64) -> i64 {
        vectorize(
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

/// Arg ops: each lane keeps its best key and the step at which it came.
#[derive(Clone)]
pub struct ArgScan<T: Element>(pub Arg<T>);

// A step must be a small number: see [`Key::from_small`].
const _: () = assert!(BLOCK / LANES <= 128);

#[inline(always)]
fn arg_block<T: Element>(arg: &Arg<T>, x: &[T], start: u64) -> ArgNode<T::Key> {
    let mut best = arg.lift(x[0], start);
    let (pieces, tail) = x.as_chunks::<LANES>();
    if let Some((first, pieces)) = pieces.split_first() {
        let mut keys: [T::Key; LANES] = std::array::from_fn(
            #[inline(always)]
            |i| arg.key(first[i]),
        );
        let mut steps = [T::Key::ZERO; LANES];
        for (step, piece) in pieces.iter().enumerate() {
            let step = T::Key::from_small(step as u8 + 1);
            for i in 0..LANES {
                let key = arg.key(piece[i]);
                steps[i] = if key > keys[i] { step } else { steps[i] };
                keys[i] = keys[i].max(key);
            }
        }
        let key = keys.iter().fold(T::Key::MIN, |best, &key| best.max(key));
        let mut first = u32::MAX;
        for (i, (&lane, step)) in keys.iter().zip(steps).enumerate() {
            let place = step.to_small() as u32 * LANES as u32 + i as u32;
            first = if lane == key { first.min(place) } else { first };
        }
        best = ArgNode { key, index: start + first as u64 };
    }
    let from = start + (x.len() - tail.len()) as u64;
    (from..).zip(tail).fold(best, |best, (i, &x)| arg.combine(best, arg.lift(x, i)))
}

impl<T: Element> Kernel for ArgScan<T> {
    type R = Arg<T>;

    fn reducer(&self) -> &Self::R {
        &self.0
    }

    fn block(&self, x: &[T], start: u64) -> ArgNode<T::Key> {
        vectorize(
            #[inline(always)]
            || arg_block(&self.0, x, start),
        )
    }

    fn rows(&self, x: &[T], len: usize, out: &mut Vec<ArgNode<T::Key>>) {
        if len > LANES {
            return out.extend(x.chunks_exact(len).map(|row| self.block(row, 0)));
        }
        out.extend(x.chunks_exact(len).map(|row| {
            let mut best = self.0.lift(row[0], 0);
            for (i, &x) in row.iter().enumerate().skip(1) {
                let key = self.0.key(x);
                let better = key > best.key;
                best.index = if better { i as u64 } else { best.index };
                best.key = best.key.max(key);
            }
            best
        }));
    }

    unsafe fn panel(&self, rows: &[*const T], start: u64, out: &mut [MaybeUninit<ArgNode<T::Key>>]) {
        const TILE: usize = 64;
        vectorize(
            #[inline(always)]
            || {
                for (tile, out) in out.chunks_mut(TILE).enumerate() {
                    let column = tile * TILE;
                    // SAFETY: the caller's.
                    let row = |i: usize| unsafe { std::slice::from_raw_parts(rows[i].add(column), out.len()) };
                    // Keys and places apart, so that both are vectors.
                    let (mut keys, mut places) = ([T::Key::MIN; TILE], [0u32; TILE]);
                    for (key, &x) in keys.iter_mut().zip(row(0)) {
                        *key = self.0.key(x);
                    }
                    for place in 1..rows.len() {
                        let row = row(place);
                        for i in 0..row.len() {
                            let key = self.0.key(row[i]);
                            places[i] = if key > keys[i] { place as u32 } else { places[i] };
                            keys[i] = keys[i].max(key);
                        }
                    }
                    for (i, out) in out.iter_mut().enumerate() {
                        out.write(ArgNode { key: keys[i], index: start + places[i] as u64 });
                    }
                }
            },
        );
    }
}
