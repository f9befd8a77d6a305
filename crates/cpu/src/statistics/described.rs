//! What the kernel of all statistics ([`super::Describe`]) needs of an element: sums that take additions. Those of
//! floats are trees ([`super::trees`]), those of integers up to 16 bits are exact ([`crate::exact`]), and of wider
//! integers the sum is exact, and the others are trees.

use warpfold_array::Value;
use warpfold_core::ops::{Deviation, IntegerSum, Moments, Square, Sum};
use warpfold_core::{Accumulate, Element, Reducer, bf16, f16};

use super::bounds::{Ahead, Bounds};
use super::trees::{self, One, Trees};
use crate::exact::{Small, exact, exact_block};
use crate::halves::Wide;
use crate::integers::Summed;
use crate::policy::PANEL;
use crate::simd::Simd;

/// An element whose sum and mean are made of one accumulator, the total.
pub trait Described: Element<Mean: Value, Sum: Value> {
    /// The exact sum of integers, the sum of floats.
    type Total: Accumulate;
    /// The total of an element.
    fn total(self) -> Self::Total;
    /// The result of a sum.
    fn sum(total: Self::Total) -> Self::Sum;
    /// The result of a mean, before it is rounded.
    fn mean(total: Self::Total, count: u64) -> Self::Float;
    /// The result of a standard deviation, before it is rounded.
    fn std(moments: Moments<Self::Float>, count: u64) -> Self::Float;
    /// The result of a norm, before it is rounded.
    fn norm(norm: Self::Float) -> Self::Float;
    /// The sums of a block.
    fn block(level: Simd, x: &[Self]) -> Sums<Self>;
    /// Calls `each` with the sums of each column of at most 128 rows, and with the bounds of all. Elements `ahead` are
    /// prefetched. Before that, `look` is called with the squared deviations and the bounds of columns of floats.
    fn columns<const W: usize>(
        level: Simd,
        rows: &[&[Self; W]],
        ahead: Ahead,
        look: impl FnOnce(&[Self::Float; W], &Bounds<Self::Key, W>),
        each: impl FnMut(usize, Sums<Self>, &Bounds<Self::Key, W>),
    );
}

/// What takes an addition: a node of the total, the sum of squares and the moments.
#[derive(Clone, Copy)]
pub struct Sums<T: Described> {
    pub total: T::Total,
    pub norm: T::Float,
    pub moments: Moments<T::Float>,
}

impl<T: Described> Sums<T> {
    #[inline(always)]
    fn new(total: T::Total, node: One<T::Float>) -> Self {
        Self { total, norm: node.norm, moments: node.moments }
    }
}

/// Results that are made of floats, whatever the elements are.
macro_rules! of_floats {
    ($t:ty) => {
        #[inline(always)]
        fn std(moments: Moments<Self::Float>, count: u64) -> Self::Float {
            Deviation::<<$t as Element>::Float>::new(0.0, true).finish(moments, count)
        }
        #[inline(always)]
        fn norm(norm: Self::Float) -> Self::Float {
            Sum::<<$t as Element>::Float, Square>::norm2().value(norm, 1)
        }
    };
}

macro_rules! described_float {
    ($($t:ty),*) => {$(impl Described for $t {
        type Total = <$t as Element>::Float;
        #[inline(always)]
        fn total(self) -> Self::Total {
            self.float()
        }
        #[inline(always)]
        fn sum(total: Self::Total) -> $t {
            <$t>::from_float(total)
        }
        #[inline(always)]
        fn mean(total: Self::Total, count: u64) -> Self::Float {
            Sum::<$t>::mean().value(total, count)
        }
        of_floats!($t);
        #[inline(always)]
        fn block(level: Simd, x: &[Self]) -> Sums<Self> {
            let node = trees::block(level, x);
            Sums::new(node.sum, node)
        }
        #[inline(always)]
        fn columns<const W: usize>(
            level: Simd,
            rows: &[&[Self; W]],
            ahead: Ahead,
            look: impl FnOnce(&[Self::Float; W], &Bounds<Self::Key, W>),
            mut each: impl FnMut(usize, Sums<Self>, &Bounds<Self::Key, W>),
        ) {
            let (nodes, bounds) = trees_and_bounds(level, rows, ahead);
            look(&nodes.m2, &bounds);
            for i in 0..W {
                each(i, Sums::new(nodes.sum[i], nodes.get(i)), &bounds);
            }
        }
    })*};
}
described_float!(f16, bf16, f32, f64);

macro_rules! described_int {
    ($($t:ty: $total:ty, $block:ident, $columns:ident);*) => {$(impl Described for $t {
        type Total = $total;
        #[inline(always)]
        fn total(self) -> $total {
            self as $total
        }
        #[inline(always)]
        fn sum(total: $total) -> Self::Sum {
            total as Self::Sum
        }
        #[inline(always)]
        fn mean(total: $total, count: u64) -> f64 {
            f64::from_cast(IntegerSum::<$t>::new(true, None).finish(total as i128, count))
        }
        of_floats!($t);
        #[inline(always)]
        fn block(level: Simd, x: &[Self]) -> Sums<Self> {
            $block(level, x)
        }
        #[inline(always)]
        fn columns<const W: usize>(
            level: Simd,
            rows: &[&[Self; W]],
            ahead: Ahead,
            _: impl FnOnce(&[Self::Float; W], &Bounds<Self::Key, W>),
            each: impl FnMut(usize, Sums<Self>, &Bounds<Self::Key, W>),
        ) {
            $columns(level, rows, ahead, each);
        }
    })*};
}
described_int!(
    i8: i64, small_block, small_columns; i16: i64, small_block, small_columns; u8: i64, small_block, small_columns;
    u16: i64, small_block, small_columns; i32: i128, wide_block, wide_columns; i64: i128, wide_block, wide_columns;
    u32: i128, wide_block, wide_columns; u64: i128, wide_block, wide_columns
);

#[inline(always)]
fn trees_and_bounds<T: Wide, const W: usize>(
    level: Simd,
    rows: &[&[T; W]],
    ahead: Ahead,
) -> (Trees<T::Float, W>, Bounds<T::Key, W>) {
    let mut bounds = Bounds::NONE;
    let nodes = trees::columns(
        level,
        rows,
        #[inline(always)]
        |from| bounds.add(rows, from, ahead),
    );
    (nodes, bounds)
}

#[inline(always)]
fn wide_block<T: Described<Total = i128> + Summed<i128> + Wide>(level: Simd, x: &[T]) -> Sums<T> {
    let node = trees::block(level, x);
    Sums::new(Summed::<i128>::sum(x), node)
}

#[inline(always)]
fn wide_columns<T, const W: usize>(
    level: Simd,
    rows: &[&[T; W]],
    ahead: Ahead,
    mut each: impl FnMut(usize, Sums<T>, &Bounds<T::Key, W>),
) where
    T: Described<Total = i128> + Summed<i128> + Wide,
{
    let (nodes, bounds) = trees_and_bounds(level, rows, ahead);
    // The sums of the low and of the high 32 bits, neither of which can overflow.
    let (mut low, mut high) = ([0u64; W], [0i64; W]);
    for row in rows {
        for i in 0..W {
            let x = row[i].total();
            (low[i], high[i]) = (low[i] + x as u32 as u64, high[i] + (x >> 32) as i64);
        }
    }
    for i in 0..W {
        each(i, Sums::new(low[i] as i128 + ((high[i] as i128) << 32), nodes.get(i)), &bounds);
    }
}

/// The sum of squares of small integers is exact, as their sum is.
#[inline(always)]
fn small_block<T: Described<Total = i64, Float = f64> + Small>(_: Simd, x: &[T]) -> Sums<T> {
    let sums = exact_block(&Deviation::new(0.0, true), x);
    Sums { total: sums.sum, norm: sums.squares as f64, moments: sums.moments }
}

#[inline(always)]
fn small_columns<T, const W: usize>(
    _: Simd,
    rows: &[&[T; W]],
    ahead: Ahead,
    mut each: impl FnMut(usize, Sums<T>, &Bounds<T::Key, W>),
) where
    T: Described<Total = i64, Float = f64> + Small,
{
    let mut bounds = Bounds::NONE;
    for from in (0..rows.len()).step_by(PANEL) {
        bounds.add(rows, from, ahead);
    }
    let reducer = Deviation::<T>::new(0.0, true);
    let (mut totals, mut norms, mut moments) = ([0.0; W], [0.0; W], [Moments { mean: 0.0, m2: 0.0 }; W]);
    let mut rest = rows;
    while !rest.is_empty() {
        // The lowest set bit of the number of rows: a subtree of that many at the end.
        let n = 1 << rest.len().trailing_zeros();
        let (before, last) = rest.split_at(rest.len() - n);
        let (sums, squares) = T::sums_tile(last);
        let after = (rows.len() - rest.len()) as u64;
        for i in 0..W {
            let node = exact(sums[i] as i64, squares[i] as i64, n);
            moments[i] = if after == 0 { node } else { reducer.combine_counted(node, n as u64, moments[i], after) };
            (totals[i], norms[i]) = (totals[i] + sums[i], norms[i] + squares[i]);
        }
        rest = before;
    }
    for (i, (sum, (norm, moments))) in totals.into_iter().zip(norms.into_iter().zip(moments)).enumerate() {
        each(i, Sums { total: sum as i64, norm, moments }, &bounds);
    }
}
