use core::marker::PhantomData;

use crate::{Element, Real, Reducer};

/// The least or (`MAX`) the greatest element. -0.0 is below +0.0. A NaN is the result if there is one; with `SKIP`, only
/// if there is nothing else.
///
/// The tree is of integer keys in the order of the elements, in which a NaN is the end of the order that wins, or with
/// `SKIP` the end that loses. So it is order-free, and one integer instruction.
#[derive(Clone, Debug)]
pub struct Extremum<T, const MAX: bool, const SKIP: bool> {
    /// Takes part as one more element.
    pub initial: Option<T>,
}

/// The key of a number or NaN, for the end of the order that is looked for.
#[inline(always)]
fn key<T: Element, const MAX: bool, const SKIP: bool>(x: T, number: T::Key) -> T::Key {
    if x.is_nan() { if MAX != SKIP { T::KEY_MAX } else { T::KEY_MIN } } else { number }
}

#[inline(always)]
fn pick<K: Ord, const MAX: bool>(left: K, right: K) -> K {
    if (right > left) == MAX { right } else { left }
}

impl<T: Element, const MAX: bool, const SKIP: bool> Reducer for Extremum<T, MAX, SKIP> {
    type Item = T;
    type Acc = T::Key;
    type Output = T;

    #[inline(always)]
    fn lift(&self, x: T, _index: u64) -> T::Key {
        key::<T, MAX, SKIP>(x, x.key())
    }

    #[inline(always)]
    fn combine(&self, left: T::Key, right: T::Key) -> T::Key {
        pick::<_, MAX>(left, right)
    }

    fn finish(&self, acc: T::Key, _count: u64) -> T {
        T::from_key(self.initial.map_or(acc, |x| pick::<_, MAX>(self.lift(x, 0), acc)))
    }

    fn finish_empty(&self) -> Option<T> {
        self.initial.map(|x| T::from_key(self.lift(x, 0)))
    }
}

/// Both ends at once, with the rules of [`Extremum`].
#[derive(Clone, Debug, Default)]
pub struct MinMax<T, const SKIP: bool>(PhantomData<T>);

impl<T, const SKIP: bool> MinMax<T, SKIP> {
    /// The reducer.
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T: Element, const SKIP: bool> Reducer for MinMax<T, SKIP> {
    type Item = T;
    type Acc = (T::Key, T::Key);
    type Output = (T, T);

    #[inline(always)]
    fn lift(&self, x: T, _index: u64) -> Self::Acc {
        (key::<T, false, SKIP>(x, x.key()), key::<T, true, SKIP>(x, x.key()))
    }

    #[inline(always)]
    fn combine(&self, left: Self::Acc, right: Self::Acc) -> Self::Acc {
        (pick::<_, false>(left.0, right.0), pick::<_, true>(left.1, right.1))
    }

    fn finish(&self, acc: Self::Acc, _count: u64) -> (T, T) {
        (T::from_key(acc.0), T::from_key(acc.1))
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

/// The index that an arg op found; `None` if it skips NaNs and there was nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(pub Option<u64>);

/// Where the least or (`MAX`) the greatest element is: the first of equals, or the first NaN.
#[derive(Clone, Debug, Default)]
pub struct Arg<T, const MAX: bool, const SKIP: bool>(PhantomData<T>);

impl<T, const MAX: bool, const SKIP: bool> Arg<T, MAX, SKIP> {
    /// The reducer.
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T: Element, const MAX: bool, const SKIP: bool> Reducer for Arg<T, MAX, SKIP> {
    type Item = T;
    type Acc = ArgNode<T::Key>;
    type Output = Place;

    #[inline(always)]
    fn lift(&self, x: T, index: u64) -> Self::Acc {
        ArgNode { key: key::<T, MAX, SKIP>(x, x.key_eq()), index }
    }

    #[inline(always)]
    fn combine(&self, left: Self::Acc, right: Self::Acc) -> Self::Acc {
        let better = if MAX { right.key > left.key } else { right.key < left.key };
        if better || (right.key == left.key && right.index < left.index) { right } else { left }
    }

    fn finish(&self, acc: Self::Acc, _count: u64) -> Place {
        let nothing = if MAX { T::KEY_MIN } else { T::KEY_MAX };
        let only_nan = SKIP && T::DTYPE.is_float() && acc.key == nothing;
        Place((!only_nan).then_some(acc.index))
    }
}

/// The greatest absolute value of floats (the infinity norm), 0 if there are none. NaNs as in [`Extremum`].
#[derive(Clone, Debug, Default)]
pub struct AbsMax<T, const SKIP: bool>(PhantomData<T>);

impl<T, const SKIP: bool> AbsMax<T, SKIP> {
    /// The reducer.
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T: Element<Float = T> + Real, const SKIP: bool> Reducer for AbsMax<T, SKIP> {
    type Item = T;
    type Acc = T::Key;
    type Output = T;

    fn identity(&self) -> Option<T::Key> {
        Some(T::ZERO.key())
    }

    #[inline(always)]
    fn lift(&self, x: T, _index: u64) -> T::Key {
        let number = x.abs().key();
        if x.is_nan() && SKIP { T::ZERO.key() } else { key::<T, true, false>(x, number) }
    }

    #[inline(always)]
    fn combine(&self, left: T::Key, right: T::Key) -> T::Key {
        pick::<_, true>(left, right)
    }

    fn finish(&self, acc: T::Key, _count: u64) -> T {
        T::from_key(acc)
    }
}
