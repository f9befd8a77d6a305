//! Integers as keys: the elements' bits, in an order that the CPU and the GPU compare in one instruction.

use core::fmt::Debug;

/// The integers that order elements.
pub trait Key: Ord + Copy + Send + Sync + Debug + core::ops::BitXor<Output = Self> + 'static {
    /// The least.
    const MIN: Self;
    /// The greatest.
    const MAX: Self;
    /// No bit set.
    const ZERO: Self;
    /// Every bit set.
    const ONES: Self;
    /// The highest bit.
    const TOP: Self;
    /// Converts a number below 128.
    fn from_small(n: u8) -> Self;
    /// Converts a number below 128 back.
    fn to_small(self) -> u8;
    /// An unsigned integer of the same order, of no more bits than the key.
    fn to_ordered(self) -> u64;
    /// The inverse of [`Key::to_ordered`].
    fn from_ordered(n: u64) -> Self;
    /// The greater of both, as unsigned integers.
    fn max_unsigned(self, other: Self) -> Self;
    /// The lesser of both, as unsigned integers.
    fn min_unsigned(self, other: Self) -> Self;
}

macro_rules! key {
    ($($t:ty, $unsigned:ty);*) => {$(impl Key for $t {
        const MIN: Self = <$t>::MIN;
        const MAX: Self = <$t>::MAX;
        const ZERO: Self = 0;
        const ONES: Self = !0;
        const TOP: Self = 1 << (<$t>::BITS - 1);
        #[inline(always)]
        fn from_small(n: u8) -> Self {
            n as $t
        }
        #[inline(always)]
        fn to_small(self) -> u8 {
            self as u8
        }
        #[inline(always)]
        fn to_ordered(self) -> u64 {
            (self ^ <$t>::MIN) as $unsigned as u64
        }
        #[inline(always)]
        fn from_ordered(n: u64) -> Self {
            n as $t ^ <$t>::MIN
        }
        #[inline(always)]
        fn max_unsigned(self, other: Self) -> Self {
            (self as $unsigned).max(other as $unsigned) as $t
        }
        #[inline(always)]
        fn min_unsigned(self, other: Self) -> Self {
            (self as $unsigned).min(other as $unsigned) as $t
        }
    })*};
}
key!(i8, u8; i16, u16; i32, u32; i64, u64; u8, u8; u16, u16; u32, u32; u64, u64);
