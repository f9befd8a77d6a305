//! The mean of floats that leaves NaNs out, with the nodes of [`crate::live`].

use std::mem::MaybeUninit;

use warpfold_core::ops::{CountNan, Plain, Sum, Value};
use warpfold_core::{Accumulate, Element, Real, Reducer};

use super::free::Lanes;
use super::halves::{Wide, block_of_sum, finish_rounded, floats};
use super::kernel::Kernel;
use super::live::{Counted, Level, Plainly, counted_columns, of_column, whole};
use super::moves::by_number;
use super::panel::{Panel, TILE};
use super::policy::{HIGH, PANEL, SHORT};
use super::simd::{Simd, vectorize};

/// The mean of elements that are not NaN.
#[derive(Clone)]
pub struct LiveMean<T: Element>(Sum<T, Value, Plain>);

impl<T: Wide<Float: Plainly>> LiveMean<T> {
    pub fn new() -> Self {
        Self(Sum::mean().skip_nan(true))
    }

    /// The mean, not rounded. Of nothing it is 0 / 0. (By hand, since the finish of a sum has branches, which keep
    /// results from being vectors.)
    #[inline(always)]
    fn value(acc: Counted<T::Float>) -> T::Float {
        let sum = if acc.count == 0 { T::Float::ZERO } else { acc.value };
        sum.div(T::Float::from_count(acc.count))
    }
}

impl<T: Wide<Float: Plainly>> Reducer for LiveMean<T> {
    type Item = T;
    type Acc = Counted<T::Float>;
    type Output = T::Mean;

    const INDEXED: bool = false;

    fn identity(&self) -> Option<Self::Acc> {
        Some(Counted { value: T::Float::NOTHING, count: 0 })
    }

    #[inline(always)]
    fn lift(&self, x: T, index: u64) -> Self::Acc {
        Counted { value: self.0.lift(x, index), count: !x.is_nan() as u64 }
    }

    #[inline(always)]
    fn combine(&self, left: Self::Acc, right: Self::Acc) -> Self::Acc {
        Counted { value: self.0.combine(left.value, right.value), count: left.count + right.count }
    }

    #[inline(always)]
    fn finish(&self, acc: Self::Acc, _count: u64) -> T::Mean {
        T::Mean::from_float(Self::value(acc))
    }
}

/// The loops of [`LiveMean`]: a block is read twice, for the sum and for the count.
#[derive(Clone)]
pub struct Means<T: Element>(pub LiveMean<T>);

impl<T: Wide<Float: Plainly>> Kernel for Means<T> {
    type R = LiveMean<T>;

    fn apart(len: usize) -> bool {
        len < SHORT
    }

    fn reducer(&self) -> &Self::R {
        &self.0
    }

    fn block(&self, x: &[T], start: u64) -> Counted<T::Float> {
        let nans = Lanes(CountNan::new(false)).block(x, start);
        Counted { value: block_of_sum(&self.0.0, x, start), count: x.len() as u64 - nans as u64 }
    }

    /// As of [`crate::live::Deviations`].
    fn finish(&self, nodes: &[Counted<T::Float>], _count: u64, out: &mut [MaybeUninit<T::Mean>]) {
        vectorize(
            #[inline(always)]
            || finish_rounded(nodes, out, LiveMean::<T>::value),
        );
    }

    const ROWS: usize = HIGH;

    unsafe fn panel(&self, panel: Panel<'_, T>, out: &mut [MaybeUninit<Counted<T::Float>>]) {
        // SAFETY: the caller vouches for a group's share of `out` in every row.
        unsafe {
            counted_columns(
                panel,
                out,
                #[inline(always)]
                |level, rows| means_of_rows(level, rows),
                #[inline(always)]
                |left: &Level<_, TILE>, right| {
                    for i in 0..TILE {
                        right.mean[i] = left.mean[i].add(right.mean[i]);
                        right.count[i] = left.count[i].add(right.count[i]);
                    }
                },
                #[inline(always)]
                |node| Counted { value: node.mean, count: whole(node.count) },
            );
        }
    }
}

/// Sums, in place of means, and counts of the columns of at most [`PANEL`] rows, a power of two.
#[inline(always)]
fn means_of_rows<T: Wide<Float: Plainly>>(level: Simd, rows: &[&[T; TILE]]) -> Level<T::Float, TILE> {
    by_number!(rows.len(), N in [1 2 4] => means_of::<T, N>(level, rows), else means_of::<T, PANEL>(level, rows))
}

/// The same, of a number of rows that the compiler knows.
#[inline(always)]
fn means_of<T: Wide<Float: Plainly>, const N: usize>(level: Simd, rows: &[&[T; TILE]]) -> Level<T::Float, TILE> {
    let (zero, one) = (T::Float::ZERO, T::Float::ONE);
    let (mut mean, mut count, mut room) = ([zero; TILE], [zero; TILE], [const { MaybeUninit::uninit() }; N]);
    let x = floats(level, rows.first_chunk().expect("as many rows"), &mut room);
    for i in 0..TILE {
        (mean[i], count[i]) = of_column::<_, N>(
            #[inline(always)]
            |r| if x((r, i)).is_nan() { (T::Float::NOTHING, zero) } else { (x((r, i)), one) },
            #[inline(always)]
            |_, left, right| (left.0.add(right.0), left.1.add(right.1)),
        );
    }
    Level { mean, m2: [zero; TILE], count }
}
