//! Integers that extremes and places are found by.

use crate::node::Node;

/// An integer as wide as a lane compares: i32 for elements of up to 4 bytes, i64 for 8.
pub trait Key: Node + Ord {
    /// The least.
    const MIN: Self;
    /// The greatest.
    const MAX: Self;
    /// From the low bits of a number.
    fn cut(x: i64) -> Self;
    /// Sign-extended.
    fn long(self) -> i64;
    /// `self ^ other`.
    fn flipped(self, other: Self) -> Self;
    /// All bits the highest one.
    fn sign(self) -> Self;
    /// The lesser of the two as unsigned integers.
    fn lower(self, other: Self) -> Self;
    /// The greater of the two as unsigned integers.
    fn upper(self, other: Self) -> Self;
}
macro_rules! key {
    ($($t:ty, $u:ty;)*) => {$(impl Key for $t {
        const MIN: Self = <$t>::MIN;
        const MAX: Self = <$t>::MAX;
        #[inline(always)]
        fn cut(x: i64) -> Self {
            x as $t
        }
        #[inline(always)]
        fn long(self) -> i64 {
            self as i64
        }
        #[inline(always)]
        fn flipped(self, other: Self) -> Self {
            self ^ other
        }
        #[inline(always)]
        fn sign(self) -> Self {
            self >> (<$t>::BITS - 1)
        }
        #[inline(always)]
        fn lower(self, other: Self) -> Self {
            (self as $u).min(other as $u) as $t
        }
        #[inline(always)]
        fn upper(self, other: Self) -> Self {
            (self as $u).max(other as $u) as $t
        }
    })*};
}
key!(i32, u32; i64, u64;);
