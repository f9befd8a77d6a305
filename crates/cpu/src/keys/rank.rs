//! Ranks: elements as unsigned integers in the order of the elements, so that distinct values can be sorted and
//! counted.

use warpfold_core::{Element, Key};

/// The ranks of some elements, a block at a time.
pub(super) trait Ranks: Sync {
    /// The number of elements.
    fn len(&self) -> usize;

    /// Writes the ranks of the elements from `from` on.
    fn read(&self, from: usize, to: &mut [u64]);
}

impl<T: Element<Key: Rank>> Ranks for &[T] {
    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    fn read(&self, from: usize, to: &mut [u64]) {
        for (to, &x) in to.iter_mut().zip(&self[from..]) {
            *to = key(x).rank();
        }
    }
}

/// The integer by which keys are compared: zeros of both signs are one key, and all NaNs are one, the greatest.
#[inline(always)]
pub(super) fn key<T: Element>(x: T) -> T::Key {
    if x.is_nan() { T::Key::MAX } else { x.key_eq() }
}

/// A key whose rank is its number among all keys of its type.
pub(super) trait Rank: Key {
    fn rank(self) -> u64;
    fn of_rank(rank: u64) -> Self;
}

macro_rules! rank {
    ($($t:ty, $unsigned:ty, $least:expr);*) => {$(impl Rank for $t {
        #[inline(always)]
        fn rank(self) -> u64 {
            (self as $unsigned ^ $least as $unsigned) as u64
        }
        #[inline(always)]
        fn of_rank(rank: u64) -> Self {
            (rank as $unsigned ^ $least as $unsigned) as $t
        }
    })*};
}
rank!(i8, u8, i8::MIN; i16, u16, i16::MIN; i32, u32, i32::MIN; i64, u64, i64::MIN; u8, u8, 0; u16, u16, 0; u32, u32, 0;
    u64, u64, 0);
