//! Two inputs in front of a reduction.

use core::marker::PhantomData;

use crate::reducer::Reducer;

/// What becomes of an element of each of two inputs, before it is reduced. Functions of two elements are such.
pub trait Zip<L, R>: Clone + Send + Sync {
    /// What is reduced.
    type Item: Copy + Send + Sync;
    /// The item of two elements.
    fn zip(&self, left: L, right: R) -> Self::Item;
}

impl<L, R, I: Copy + Send + Sync, F: Fn(L, R) -> I + Clone + Send + Sync> Zip<L, R> for F {
    type Item = I;
    #[inline(always)]
    fn zip(&self, left: L, right: R) -> I {
        self(left, right)
    }
}

/// The two elements as they are.
#[derive(Clone, Copy, Debug)]
pub struct Pair;

impl<L: Copy + Send + Sync, R: Copy + Send + Sync> Zip<L, R> for Pair {
    type Item = (L, R);
    #[inline(always)]
    fn zip(&self, left: L, right: R) -> (L, R) {
        (left, right)
    }
}

/// A reducer of pairs: any reducer of what a [`Zip`] makes of them.
///
/// ```
/// use warpfold_core::{Zipped, ops::Sum, tree};
///
/// let distance = Zipped::new(|x: f32, y: f32| (x - y).abs(), Sum::<f32>::mean());
/// assert_eq!(tree::reduce(&distance, [(1.0, 2.0), (5.0, 2.0)]), Some(2.0));
/// ```
#[derive(Debug)]
pub struct Zipped<L, R, Z, T> {
    zip: Z,
    reducer: T,
    kind: PhantomData<fn(L, R)>,
}

impl<L, R, Z: Zip<L, R>, T: Reducer<Item = Z::Item>> Zipped<L, R, Z, T> {
    /// A reducer of what `zip` makes of two elements.
    pub fn new(zip: Z, reducer: T) -> Self {
        Self { zip, reducer, kind: PhantomData }
    }
}

impl<L, R, Z: Clone, T: Clone> Clone for Zipped<L, R, Z, T> {
    fn clone(&self) -> Self {
        Self { zip: self.zip.clone(), reducer: self.reducer.clone(), kind: PhantomData }
    }
}

impl<L, R, Z, T> Reducer for Zipped<L, R, Z, T>
where
    L: Copy + Send + Sync,
    R: Copy + Send + Sync,
    Z: Zip<L, R>,
    T: Reducer<Item = Z::Item>,
{
    type Item = (L, R);
    type Acc = T::Acc;
    type Output = T::Output;

    const INDEXED: bool = T::INDEXED;
    const PADDED: bool = T::PADDED;

    fn identity(&self) -> Option<T::Acc> {
        self.reducer.identity()
    }

    #[inline(always)]
    fn lift(&self, (left, right): (L, R), index: u64) -> T::Acc {
        self.reducer.lift(self.zip.zip(left, right), index)
    }

    #[inline(always)]
    fn lift_pair(&self, a: (L, R), b: (L, R), index: u64) -> T::Acc {
        self.reducer.lift_pair(self.zip.zip(a.0, a.1), self.zip.zip(b.0, b.1), index)
    }

    #[inline(always)]
    fn combine(&self, left: T::Acc, right: T::Acc) -> T::Acc {
        self.reducer.combine(left, right)
    }

    #[inline(always)]
    fn combine_counted(&self, left: T::Acc, n_left: u64, right: T::Acc, n_right: u64) -> T::Acc {
        self.reducer.combine_counted(left, n_left, right, n_right)
    }

    #[inline(always)]
    fn finish(&self, acc: T::Acc, count: u64) -> T::Output {
        self.reducer.finish(acc, count)
    }

    fn finish_empty(&self) -> Option<T::Output> {
        self.reducer.finish_empty()
    }
}
