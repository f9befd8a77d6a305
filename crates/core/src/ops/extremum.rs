use core::marker::PhantomData;

use crate::element::Element;
use crate::key::Key;
use crate::real::Real;
use crate::reducer::Reducer;

/// How an extremum is looked for: as the greatest of integer keys, with all bits flipped to find the least.
///
/// Keys are in the order of the elements, -0.0 below +0.0, and a NaN is one end of the order: the one that wins, so
/// that it propagates, or the one that loses, so that it is skipped. So one order-free integer instruction does all of
/// it, and one kernel serves minimum and maximum.
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
    /// For the greatest (or the least) element; a NaN wins, or is skipped.
    pub fn new(max: bool, skip_nan: bool) -> Self {
        let flip = if max { K::ZERO } else { K::ONES };
        Self { flip, nan: if skip_nan { K::MIN } else { K::MAX }, skip_nan }
    }

    /// The same for unsigned integers that are read as signed ones of their size.
    pub fn of_unsigned(self) -> Self {
        Self { flip: self.flip ^ K::TOP, ..self }
    }

    #[inline(always)]
    fn key(&self, nan: bool, number: K) -> K {
        // Both are read beforehand, so that this is a select in a register and not a branch around a load.
        let (absent, number) = (self.nan, number ^ self.flip);
        if nan { absent } else { number }
    }
}

/// The least or the greatest element. A NaN is the result if there is one; if NaNs are skipped, only if there is
/// nothing else.
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
    /// Which.
    pub search: Search<T::Key>,
    /// Takes part as one more element.
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
    /// For the greatest.
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

/// A candidate of an arg op: its key, and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ArgNode<K> {
    /// The key, in which -0.0 equals +0.0.
    pub key: K,
    /// The index in the reduced sequence.
    pub index: u64,
}

/// The index that an arg op found, if it found one: it may skip NaNs, and there may be nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Place(i64);

impl Place {
    /// Nowhere. Not an `Option`, which would be twice as large: there may be as many places as bytes of input.
    pub const NONE: Self = Self(-1);

    /// At this index.
    #[inline(always)]
    pub fn at(index: u64) -> Self {
        Self(index as i64)
    }

    /// The index, or -1.
    #[inline(always)]
    pub fn or_minus_one(self) -> i64 {
        self.0
    }

    /// The index.
    #[inline(always)]
    pub fn index(self) -> Option<u64> {
        u64::try_from(self.0).ok()
    }
}

/// Where the least or the greatest element is: the first of equals (`==`, so -0.0 equals +0.0), or the first NaN.
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(bound(serialize = "T::Key: serde::Serialize", deserialize = "T::Key: serde::Deserialize<'de>"))
)]
pub struct Arg<T: Element> {
    /// Which.
    pub search: Search<T::Key>,
}

impl<T: Element> Arg<T> {
    /// What candidates are compared by; the greatest wins.
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

/// The greatest absolute value of floats (the infinity norm), 0 if there are none. NaNs as in [`Extremum`], but skipped
/// ones leave 0.
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
