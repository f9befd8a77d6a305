//! Block kernels for the order-free reducers: extrema, logic, counts, integer sums. No tree is needed, so each lane of a
//! vector keeps its own running node.

use std::marker::PhantomData;

use warpfold_core::ops::{Arg, ArgNode, CountNan, CountNonzero, IntegerMean, Sum};
use warpfold_core::{Accumulate, Element, Reducer};

use super::kernel::Kernel;
use super::policy::AHEAD;
use super::simd::{prefetch, vectorize};

/// Lanes of one running node each; 64 fill two AVX-512 registers of i32, which hides the latency of an instruction.
const LANES: usize = 64;

/// Runs `each` on pieces of [`LANES`] elements; returns what is left over.
#[inline(always)]
fn pieces<T>(x: &[T], mut each: impl FnMut(&[T; LANES])) -> &[T] {
    let (pieces, tail) = x.as_chunks::<LANES>();
    for piece in pieces {
        let ahead = piece.as_ptr().cast::<u8>().wrapping_add(AHEAD);
        for line in 0..size_of::<[T; LANES]>().div_ceil(64) {
            prefetch(ahead.wrapping_add(64 * line));
        }
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
    /// The sum, wrapping in 64 bits only for 64-bit elements.
    fn sum(x: &[Self]) -> i64;
    /// The exact sum.
    fn sum_exact(x: &[Self]) -> i128;
}

macro_rules! block_sum {
    ($($t:ty, $lane:ty);*) => {$(
        impl BlockSum for $t {
            #[inline(always)]
            fn sum(x: &[Self]) -> i64 {
                let mut lanes = [0 as $lane; LANES];
                let tail = pieces(
                    x,
                    #[inline(always)]
                    |piece| {
                        for i in 0..LANES {
                            lanes[i] = lanes[i].wrapping_add(piece[i] as $lane);
                        }
                    },
                );
                let tail = tail.iter().fold(0i64, |a, &x| a.wrapping_add(x as i64));
                lanes.iter().fold(tail, |a, &lane| a.wrapping_add(lane as i64))
            }
            #[inline(always)]
            fn sum_exact(x: &[Self]) -> i128 {
                if size_of::<$t>() < 8 {
                    return Self::sum(x) as i128;
                }
                let mut sum = 0i128;
                let tail = pieces(
                    x,
                    #[inline(always)]
                    |piece| sum += piece.iter().map(|&x| x as i128).sum::<i128>(),
                );
                sum + tail.iter().map(|&x| x as i128).sum::<i128>()
            }
        }
    )*};
}
block_sum!(i8, i32; i16, i32; i32, i64; i64, i64; u8, u32; u16, u32; u32, i64; u64, i64);

/// Integer sums.
#[derive(Clone)]
pub struct IntegerSum<T: Element, O>(pub Sum<T, O>);

impl<T: BlockSum, O: Element<Total = T::Total>> Kernel for IntegerSum<T, O>
where
    T::Total: FromI64,
{
    type R = Sum<T, O>;

    fn reducer(&self) -> &Self::R {
        &self.0
    }

    fn block(&self, x: &[T], _start: u64) -> T::Total {
        T::Total::from_i64(vectorize(
            #[inline(always)]
            || T::sum(x),
        ))
    }
}

/// `i64` as a total, which wraps.
pub trait FromI64: Accumulate {
    /// The bits.
    fn from_i64(x: i64) -> Self;
}

impl FromI64 for i64 {
    fn from_i64(x: i64) -> i64 {
        x
    }
}

impl FromI64 for u64 {
    fn from_i64(x: i64) -> u64 {
        x as u64
    }
}

/// Exact means of integers.
#[derive(Clone)]
pub struct IntegerMeans<T>(pub IntegerMean<T>);

impl<T: BlockSum> Kernel for IntegerMeans<T> {
    type R = IntegerMean<T>;

    fn reducer(&self) -> &Self::R {
        &self.0
    }

    fn block(&self, x: &[T], _start: u64) -> i128 {
        vectorize(
            #[inline(always)]
            || T::sum_exact(x),
        )
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

/// Arg ops: the best key of the block first, then, only if the block is to be searched, its first place.
#[derive(Clone)]
pub struct ArgScan<T, const MAX: bool, const SKIP: bool>(pub Arg<T, MAX, SKIP>);

/// The key that an arg op compares, as a reducer of its own.
#[derive(Clone)]
struct BestKey<T, const MAX: bool, const SKIP: bool>(PhantomData<T>);

impl<T: Element, const MAX: bool, const SKIP: bool> Reducer for BestKey<T, MAX, SKIP> {
    type Item = T;
    type Acc = T::Key;
    type Output = T::Key;

    #[inline(always)]
    fn lift(&self, x: T, _index: u64) -> T::Key {
        Arg::<T, MAX, SKIP>::new().lift(x, 0).key
    }

    #[inline(always)]
    fn combine(&self, left: T::Key, right: T::Key) -> T::Key {
        if (right > left) == MAX { right } else { left }
    }

    fn finish(&self, acc: T::Key, _count: u64) -> T::Key {
        acc
    }
}

impl<T: Element, const MAX: bool, const SKIP: bool> Kernel for ArgScan<T, MAX, SKIP> {
    type R = Arg<T, MAX, SKIP>;

    fn reducer(&self) -> &Self::R {
        &self.0
    }

    fn block(&self, x: &[T], start: u64) -> ArgNode<T::Key> {
        let key = |x: T| self.0.lift(x, 0).key;
        let best = vectorize(
            #[inline(always)]
            || lanes_block(&BestKey::<T, MAX, SKIP>(PhantomData), x, 0),
        );
        // Whole pieces are ruled out at once; the block is in the L1 cache by now.
        let piece = x.chunks(LANES).position(|piece| {
            vectorize(
                #[inline(always)]
                || {
                    piece.iter().fold(
                        false,
                        #[inline(always)]
                        |any, &x| any | (key(x) == best),
                    )
                },
            )
        });
        let from = piece.expect("the best key is in the block") * LANES;
        let offset = x[from..].iter().position(|&x| key(x) == best).expect("and in the piece");
        ArgNode { key: best, index: start + (from + offset) as u64 }
    }
}
