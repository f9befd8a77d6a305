//! The kernel of every statistic of [`crate::describe()`] at once: each block is in the L1 cache while every reducer
//! takes its turn.

use std::mem::MaybeUninit;

use warpfold_array::Value;
use warpfold_core::ops::{Arg, ArgNode, CountNan, Deviation, Extremum, IntegerSum, Moments, Search, Square, Sum};
use warpfold_core::{Element, Reducer};

use crate::args::ArgScan;
use crate::exact::Exact;
use crate::extrema::Peak;
use crate::free::{Integers, Lanes};
use crate::kernel::{Acc, Item, Kernel, Tree, each_column, each_row};
use crate::moments::Spread;
use crate::panel::Panel;

/// An element whose sum and mean are made of one accumulator, the total.
pub trait Described: Element<Mean: Value, Sum: Value> {
    /// The kernel of the total.
    type Totals: Kernel<R: Reducer<Item = Self>> + Clone + Send;
    /// The kernel of the standard deviation.
    type Spread: Kernel<R = Deviation<Self>> + Clone + Send;
    fn totals() -> Self::Totals;
    fn spread() -> Self::Spread;
    fn sum(acc: Acc<Self::Totals>) -> Self::Sum;
    fn mean(acc: Acc<Self::Totals>, count: u64) -> Self::Mean;
}

macro_rules! described_float {
    ($($t:ty),*) => {$(impl Described for $t {
        type Totals = Tree<Sum<$t>>;
        type Spread = Spread<$t>;
        fn spread() -> Self::Spread {
            Spread(Deviation::new(0.0, true))
        }
        fn totals() -> Self::Totals {
            Tree(Sum::total())
        }
        fn sum(acc: $t) -> $t {
            <$t>::from_float(acc)
        }
        fn mean(acc: $t, count: u64) -> $t {
            Sum::<$t>::mean().finish(acc, count)
        }
    })*};
}
described_float!(f32, f64);

macro_rules! described_int {
    ($($t:ty: $spread:ident),*) => {$(impl Described for $t {
        type Totals = Integers<$t>;
        type Spread = $spread<$t>;
        fn spread() -> Self::Spread {
            $spread(Deviation::new(0.0, true))
        }
        fn totals() -> Self::Totals {
            Integers(IntegerSum::new(false, None))
        }
        fn sum(acc: i128) -> Self::Sum {
            acc as Self::Sum
        }
        fn mean(acc: i128, count: u64) -> f64 {
            f64::from_cast(IntegerSum::<$t>::new(true, None).finish(acc, count))
        }
    })*};
}
described_int!(i8: Exact, i16: Exact, i32: Spread, i64: Spread, u8: Exact, u16: Exact, u32: Spread, u64: Spread);

/// The kernels of all statistics. Together they are one reducer.
#[derive(Clone)]
pub struct Describe<T: Described> {
    totals: T::Totals,
    deviation: T::Spread,
    norm: Tree<Sum<T, Square>>,
    min: Peak<T>,
    max: Peak<T>,
    argmin: ArgScan<T>,
    argmax: ArgScan<T>,
    nans: Lanes<CountNan<T>>,
}

/// A node of each statistic.
pub struct Node<T: Described> {
    total: Acc<T::Totals>,
    moments: Moments<T::Float>,
    norm: T::Float,
    min: T::Key,
    max: T::Key,
    argmin: ArgNode<T::Key>,
    argmax: ArgNode<T::Key>,
    nans: i64,
}

impl<T: Described> Clone for Node<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Described> Copy for Node<T> {}

/// The statistics of one slice.
pub struct Row<T: Described> {
    pub nan_count: i64,
    pub min: T,
    pub argmin: i64,
    pub max: T,
    pub argmax: i64,
    pub mean: T::Mean,
    pub std: T::Mean,
    pub sum: T::Sum,
    pub norm: T::Mean,
}

impl<T: Described> Describe<T> {
    pub fn new() -> Self {
        let (least, greatest) = (Search::new(false, false), Search::new(true, false));
        Self {
            totals: T::totals(),
            deviation: T::spread(),
            norm: Tree(Sum::norm2()),
            min: Peak(Extremum { search: least, initial: None }),
            max: Peak(Extremum { search: greatest, initial: None }),
            argmin: ArgScan(Arg { search: least }),
            argmax: ArgScan(Arg { search: greatest }),
            nans: Lanes(CountNan::new(false)),
        }
    }
}

impl<T: Described> Reducer for Describe<T> {
    type Item = T;
    type Acc = Node<T>;
    type Output = Row<T>;

    #[inline(always)]
    fn lift(&self, x: T, i: u64) -> Node<T> {
        Node {
            total: self.totals.reducer().lift(x, i),
            moments: self.deviation.reducer().lift(x, i),
            norm: self.norm.0.lift(x, i),
            min: self.min.0.lift(x, i),
            max: self.max.0.lift(x, i),
            argmin: self.argmin.0.lift(x, i),
            argmax: self.argmax.0.lift(x, i),
            nans: self.nans.0.lift(x, i),
        }
    }

    fn combine(&self, left: Node<T>, right: Node<T>) -> Node<T> {
        self.combine_counted(left, 1, right, 1)
    }

    #[inline(always)]
    fn combine_counted(&self, a: Node<T>, m: u64, b: Node<T>, n: u64) -> Node<T> {
        Node {
            total: self.totals.reducer().combine(a.total, b.total),
            moments: self.deviation.reducer().combine_counted(a.moments, m, b.moments, n),
            norm: self.norm.0.combine(a.norm, b.norm),
            min: self.min.0.combine(a.min, b.min),
            max: self.max.0.combine(a.max, b.max),
            argmin: self.argmin.0.combine(a.argmin, b.argmin),
            argmax: self.argmax.0.combine(a.argmax, b.argmax),
            nans: self.nans.0.combine(a.nans, b.nans),
        }
    }

    fn finish(&self, acc: Node<T>, count: u64) -> Row<T> {
        Row {
            nan_count: acc.nans,
            min: self.min.0.finish(acc.min, count),
            argmin: acc.argmin.index as i64,
            max: self.max.0.finish(acc.max, count),
            argmax: acc.argmax.index as i64,
            mean: T::mean(acc.total, count),
            std: self.deviation.reducer().finish(acc.moments, count),
            sum: T::sum(acc.total),
            norm: self.norm.0.finish(acc.norm, count),
        }
    }
}

impl<T: Described> Kernel for Describe<T> {
    type R = Self;

    /// A block is reduced by each statistic's own kernel. A node of all statistics is too large for vectors.
    const VECTORS: bool = false;

    const SHORT: usize = 0;

    fn reducer(&self) -> &Self {
        self
    }

    fn rows(&self, x: &[T], len: usize, out: &mut [MaybeUninit<Node<T>>]) {
        each_row(self, x, len, out);
    }

    unsafe fn panel(&self, panel: Panel<'_, T>, out: &mut [MaybeUninit<Node<T>>]) {
        // SAFETY: the caller vouches for a group's share of `out` in every row.
        unsafe { each_column(self, panel, out) };
    }

    fn block(&self, x: &[Item<Self>], start: u64) -> Node<T> {
        Node {
            total: self.totals.block(x, start),
            moments: self.deviation.block(x, start),
            norm: self.norm.block(x, start),
            min: self.min.block(x, start),
            max: self.max.block(x, start),
            argmin: self.argmin.block(x, start),
            argmax: self.argmax.block(x, start),
            nans: self.nans.block(x, start),
        }
    }
}
