//! The mean of floats that leaves NaNs out, with the nodes of [`crate::live`].

use std::mem::MaybeUninit;

use warpfold_core::ops::{CountNan, Plain, Sum, Value};
use warpfold_core::{Accumulate, Element, Real, Reducer};

use super::free::Lanes;
use super::halves::{Wide, block_of_sum};
use super::kernel::Kernel;
use super::live::{Counted, Level, Plainly, counted_columns, whole};
use super::panel::{Panel, TILE};
use super::policy::{HIGH, PANEL, SHORT};
use super::simd::Simd;

/// The mean of elements that are not NaN.
#[derive(Clone)]
pub struct LiveMean<T: Element>(Sum<T, Value, Plain>);

impl<T: Wide<Float: Plainly>> LiveMean<T> {
    pub fn new() -> Self {
        Self(Sum::mean().skip_nan(true))
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
        // Of nothing: 0 / 0. (By hand, since the finish of a sum has branches, which keep results from being vectors.)
        let sum = if acc.count == 0 { T::Float::ZERO } else { acc.value };
        T::Mean::from_float(sum.div(T::Float::from_count(acc.count)))
    }
}

/// The loops of [`LiveMean`]: a block is read twice, for the sum and for the count.
#[derive(Clone)]
pub struct Means<T: Element>(pub LiveMean<T>);

impl<T: Wide<Float: Plainly>> Kernel for Means<T> {
    type R = LiveMean<T>;

    const SHORT: usize = SHORT;

    fn reducer(&self) -> &Self::R {
        &self.0
    }

    fn block(&self, x: &[T], start: u64) -> Counted<T::Float> {
        let nans = Lanes(CountNan::new(false)).block(x, start);
        Counted { value: block_of_sum(&self.0.0, x, start), count: x.len() as u64 - nans as u64 }
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
    let (zero, one) = (T::Float::ZERO, T::Float::ONE);
    // Memory that is not used is not set: zeros for all rows would take longer than a single row.
    let (mut values, mut count) = ([const { MaybeUninit::<[T::Float; TILE]>::uninit() }; PANEL], [zero; TILE]);
    for (row, values) in rows.iter().zip(&mut values) {
        let row = T::widen(level, row);
        let values = values.write([zero; TILE]);
        for i in 0..TILE {
            values[i] = if row[i].is_nan() { T::Float::NOTHING } else { row[i] };
            count[i] = count[i].add(if row[i].is_nan() { zero } else { one });
        }
    }
    // SAFETY: the loop has written the values of each row, of which there are at most as many as there is room for.
    let values = unsafe { values[..rows.len()].assume_init_mut() };
    let mut n = rows.len();
    while n > 1 {
        n /= 2;
        for pair in 0..n {
            let (left, right) = (values[2 * pair], values[2 * pair + 1]);
            for i in 0..TILE {
                values[pair][i] = left[i].add(right[i]);
            }
        }
    }
    Level { mean: values[0], m2: [zero; TILE], count }
}
