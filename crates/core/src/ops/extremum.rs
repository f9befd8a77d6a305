//! Minimum, maximum, both, and their indices: order-free, by integer keys.

use core::marker::PhantomData;

use crate::element::Element;
use crate::key::Key;
use crate::real::Real;
use crate::reducer::Reducer;

/// The search for an extremum: the greatest of integer keys. For the least element, all bits of the keys are flipped.
///
/// Keys have the order of the elements, with -0.0 below +0.0. A NaN has the greatest key if it propagates, and the
/// least key if it is skipped. So an order-free integer maximum computes every case, and one kernel serves minimum and
/// maximum.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(bound(serialize = "K: serde::Serialize", deserialize = "K: serde::Deserialize<'de>"))
)]
pub struct Search<K> {
    flip: K,
    nan: K,
    skip_nan: bool,
}

impl<K: Key> Search<K> {
    /// A search for the greatest (`max`) or the least element. A NaN is the result unless `skip_nan`.
    pub fn new(max: bool, skip_nan: bool) -> Self {
        let flip = if max { K::ZERO } else { K::ONES };
        Self { flip, nan: if skip_nan { K::MIN } else { K::MAX }, skip_nan }
    }

    /// The same search among unsigned integers that are read as signed integers of their size.
    pub fn of_unsigned(self) -> Self {
        Self { flip: self.flip ^ K::TOP, ..self }
    }

    #[inline(always)]
    fn key(&self, nan: bool, number: K) -> K {
        // Both keys are computed first, so that the compiler emits a select and not a branch around a load.
        let (absent, number) = (self.nan, number ^ self.flip);
        if nan { absent } else { number }
    }
}

/// The least or the greatest element. If there is a NaN, the result is NaN. If NaNs are skipped, the result is NaN only
/// where every element is.
///
/// ```
/// use warpfold_core::{ops::{Extremum, Search}, tree};
///
/// let max = Extremum::<f32> { search: Search::new(true, true), initial: None };
/// assert_eq!(tree::reduce(&max, [1.0, f32::NAN, 3.0]), Some(3.0));
/// ```
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(bound(
        serialize = "T: serde::Serialize, T::Key: serde::Serialize",
        deserialize = "T: serde::Deserialize<'de>, T::Key: serde::Deserialize<'de>"
    ))
)]
pub struct Extremum<T: Element> {
    /// Minimum or maximum, and how NaNs count.
    pub search: Search<T::Key>,
    /// One more element.
    pub initial: Option<T>,
}

impl<T: Element> Reducer for Extremum<T> {
    type Item = T;
    type Acc = T::Key;
    type Output = T;

    const INDEXED: bool = false;

    #[inline(always)]
    fn lift(&self, x: T, _index: u64) -> T::Key {
        self.search.key(x.is_nan(), x.key())
    }

    #[inline(always)]
    fn combine(&self, left: T::Key, right: T::Key) -> T::Key {
        left.max(right)
    }

    #[inline(always)]
    fn finish(&self, acc: T::Key, _count: u64) -> T {
        T::from_key(self.initial.map_or(acc, |x| self.lift(x, 0).max(acc)) ^ self.search.flip)
    }

    fn finish_empty(&self) -> Option<T> {
        self.initial.map(|x| T::from_key(self.lift(x, 0) ^ self.search.flip))
    }
}

/// The least and the greatest element, with the rules of [`Extremum`].
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(bound(serialize = "T::Key: serde::Serialize", deserialize = "T::Key: serde::Deserialize<'de>"))
)]
pub struct MinMax<T: Element> {
    /// The search for the greatest element. The least is searched with the same flip.
    pub search: Search<T::Key>,
}

impl<T: Element> Reducer for MinMax<T> {
    type Item = T;
    type Acc = (T::Key, T::Key);
    type Output = (T, T);

    const INDEXED: bool = false;

    #[inline(always)]
    fn lift(&self, x: T, _index: u64) -> Self::Acc {
        let (nan, number) = (x.is_nan(), x.key() ^ self.search.flip);
        let (low, high) = if self.search.skip_nan { (T::Key::MAX, T::Key::MIN) } else { (T::Key::MIN, T::Key::MAX) };
        if nan { (low, high) } else { (number, number) }
    }

    #[inline(always)]
    fn combine(&self, left: Self::Acc, right: Self::Acc) -> Self::Acc {
        (left.0.min(right.0), left.1.max(right.1))
    }

    #[inline(always)]
    fn finish(&self, acc: Self::Acc, _count: u64) -> (T, T) {
        (T::from_key(acc.0 ^ self.search.flip), T::from_key(acc.1 ^ self.search.flip))
    }
}

/// A candidate of an arg op: key and index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ArgNode<K> {
    /// The key, which is the same for -0.0 and +0.0.
    pub key: K,
    /// The index in the reduced sequence.
    pub index: u64,
}

/// The result of an arg op: an index, or none if NaNs are skipped and every element is NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Place(i64);

impl Place {
    /// No index. An `Option<u64>` would be twice as large, and there may be as many results as bytes of input.
    pub const NONE: Self = Self(-1);

    /// An index.
    #[inline(always)]
    pub fn at(index: u64) -> Self {
        Self(index as i64)
    }

    /// The index, or -1 if there is none.
    #[inline(always)]
    pub fn or_minus_one(self) -> i64 {
        self.0
    }

    /// The index, if there is one.
    #[inline(always)]
    pub fn index(self) -> Option<u64> {
        u64::try_from(self.0).ok()
    }
}

/// The index of the least or the greatest element. Of equal elements (`==`, so -0.0 equals +0.0) it is the first. If
/// there is a NaN that is not skipped, it is the index of the first NaN.
///
/// ```
/// use warpfold_core::{ops::{Arg, Search}, tree};
///
/// let argmin = Arg::<f32> { search: Search::new(false, false) };
/// assert_eq!(tree::reduce(&argmin, [2.0, 0.0, -0.0]).and_then(|place| place.index()), Some(1));
/// ```
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(bound(serialize = "T::Key: serde::Serialize", deserialize = "T::Key: serde::Deserialize<'de>"))
)]
pub struct Arg<T: Element> {
    /// Minimum or maximum, and how NaNs count.
    pub search: Search<T::Key>,
}

impl<T: Element> Arg<T> {
    /// The key of an element. The candidate with the greatest key wins.
    #[inline(always)]
    pub fn key(&self, x: T) -> T::Key {
        self.search.key(x.is_nan(), x.key_eq())
    }
}

impl<T: Element> Reducer for Arg<T> {
    type Item = T;
    type Acc = ArgNode<T::Key>;
    type Output = Place;

    #[inline(always)]
    fn lift(&self, x: T, index: u64) -> Self::Acc {
        ArgNode { key: self.key(x), index }
    }

    #[inline(always)]
    fn combine(&self, left: Self::Acc, right: Self::Acc) -> Self::Acc {
        let better = right.key > left.key || (right.key == left.key && right.index < left.index);
        if better { right } else { left }
    }

    #[inline(always)]
    fn finish(&self, acc: Self::Acc, _count: u64) -> Place {
        let only_nan = self.search.skip_nan && T::DTYPE.is_float() && acc.key == T::Key::MIN;
        if only_nan { Place::NONE } else { Place::at(acc.index) }
    }
}

/// The greatest absolute value of floats (the infinity norm); 0 for no elements. NaNs count as in [`Extremum`], but if
/// every element is a skipped NaN, the result is 0.
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(bound(serialize = "", deserialize = ""))
)]
pub struct AbsMax<T> {
    /// Whether NaNs are left out.
    pub skip_nan: bool,
    kind: PhantomData<T>,
}

impl<T> AbsMax<T> {
    /// The reducer.
    pub fn new(skip_nan: bool) -> Self {
        Self { skip_nan, kind: PhantomData }
    }
}

impl<T: Element<Float = T> + Real> Reducer for AbsMax<T> {
    type Item = T;
    type Acc = T::Key;
    type Output = T;

    const INDEXED: bool = false;

    fn identity(&self) -> Option<T::Key> {
        Some(T::ZERO.key())
    }

    #[inline(always)]
    fn lift(&self, x: T, _index: u64) -> T::Key {
        let nan = if self.skip_nan { T::ZERO.key() } else { T::Key::MAX };
        if x.is_nan() { nan } else { x.abs().key() }
    }

    #[inline(always)]
    fn combine(&self, left: T::Key, right: T::Key) -> T::Key {
        left.max(right)
    }

    #[inline(always)]
    fn finish(&self, acc: T::Key, _count: u64) -> T {
        T::from_key(acc)
    }
}
