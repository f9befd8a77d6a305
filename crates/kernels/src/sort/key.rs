//! From elements to integers that are ordered as they are, and back.
//!
//! All NaNs are one key, the greatest; zeros of both signs are one. What is lost, the sign of the first zero,
//! [`crate::sort::count`] finds.

use crate::address::array;
use crate::params::params;
use warpfold_simt::{Pod, Simt, Word};

params! {
    /// What elements are.
    pub struct Elements {
        /// Of floats, the bits of infinity; of labels, how many groups there are.
        pub bound: u64,
        /// One of [`kind`].
        pub kind: u32,
        /// Bytes: 1, 2, 4 or 8.
        pub size: u32,
    }
}

/// Values of [`Elements::kind`].
pub mod kind {
    /// Unsigned integers.
    pub const UNSIGNED: u32 = 0;
    /// Signed integers.
    pub const SIGNED: u32 = 1;
    /// Floats.
    pub const FLOAT: u32 = 2;
    /// Bools.
    pub const TRUTH: u32 = 3;
    /// Unsigned labels. Those of no group have one more than the greatest as their key.
    pub const LABEL: u32 = 4;
    /// Signed labels: -1 is no fault.
    pub const SIGNED_LABEL: u32 = 5;
}

/// What is sorted: `u32` or `u64`.
pub trait Key: Pod + Word + PartialEq {
    /// Digits of 8 bits.
    const PLACES: usize;
    /// The low bits.
    fn of(bits: u64) -> Self;
    /// The bits.
    fn bits(self) -> u64;
    /// The digit of `bits` bits from bit `at`.
    fn digit(self, at: u32, bits: u32) -> u32;
    /// The key of an element.
    fn ranked(self, of: &Elements) -> Self;
    /// The element of a key; NaN is the canonical one, and a zero is positive.
    fn element(self, of: &Elements) -> Self;
    /// Whether it is the key of a float's zeros.
    fn is_zero(self, of: &Elements) -> bool;
}

macro_rules! key {
    ($t:ty) => {
        impl Key for $t {
            const PLACES: usize = size_of::<$t>();
            #[inline(always)]
            fn of(bits: u64) -> Self {
                bits as $t
            }
            #[inline(always)]
            fn bits(self) -> u64 {
                self as u64
            }
            #[inline(always)]
            fn digit(self, at: u32, bits: u32) -> u32 {
                (self >> (at & (<$t>::BITS - 1))) as u32 & ((1 << bits) - 1)
            }
            #[inline(always)]
            fn ranked(self, of: &Elements) -> Self {
                let sign: $t = sign(of);
                if of.kind == kind::UNSIGNED {
                    self
                } else if of.kind == kind::SIGNED {
                    self ^ sign
                } else if of.kind == kind::FLOAT {
                    let magnitude = self & (sign - 1);
                    let is_negative = self & sign != 0 && magnitude != 0;
                    let key = if is_negative { !self & (sign - 1) } else { magnitude | sign };
                    if magnitude > of.bound as $t { (sign - 1) | sign } else { key }
                } else if of.kind == kind::TRUTH {
                    (self != 0) as $t
                } else {
                    self.min(of.bound as $t)
                }
            }
            #[inline(always)]
            fn element(self, of: &Elements) -> Self {
                let sign: $t = sign(of);
                if of.kind == kind::SIGNED {
                    self ^ sign
                } else if of.kind == kind::FLOAT {
                    // One bit below infinity's: the quiet one.
                    let nan = of.bound as $t | (of.bound as $t & (of.bound as $t).wrapping_neg()) >> 1;
                    let element = if self & sign != 0 { self ^ sign } else { !self & ((sign - 1) | sign) };
                    if self == (sign - 1) | sign { nan } else { element }
                } else {
                    self
                }
            }
            #[inline(always)]
            fn is_zero(self, of: &Elements) -> bool {
                of.kind == kind::FLOAT && self == sign::<$t>(of)
            }
        }
    };
}
key!(u32);
key!(u64);

/// The highest bit of an element.
#[inline(always)]
fn sign<K: Key>(of: &Elements) -> K {
    K::of(1 << ((8 * of.size - 1) & 63))
}

/// A label's key, and whether it is the label of no group, nor -1.
#[inline(always)]
pub fn label(raw: u64, of: &Elements) -> (u32, bool) {
    let away = (64 - 8 * of.size) & 63;
    let is_signed = of.kind == kind::SIGNED_LABEL;
    let x = if is_signed { ((raw << away) as i64 >> away) as u64 } else { raw };
    if x < of.bound { (x as u32, false) } else { (of.bound as u32, !(is_signed && x == u64::MAX)) }
}

/// Reads `N` elements, each `step` after the other; zero from `n` on.
#[inline(always)]
pub fn read<S: Simt, const N: usize>(s: &S, address: u64, size: u32, first: u64, step: u64, n: u64) -> [u64; N] {
    if s.branch(size == 4) {
        of::<S, u32, N>(s, address, first, step, n)
    } else if s.branch(size == 8) {
        of::<S, u64, N>(s, address, first, step, n)
    } else if s.branch(size == 2) {
        of::<S, u16, N>(s, address, first, step, n)
    } else {
        of::<S, u8, N>(s, address, first, step, n)
    }
}

/// The same of elements of a type.
#[inline(always)]
pub fn of<S: Simt, T: Pod + Into<u64>, const N: usize>(s: &S, address: u64, first: u64, step: u64, n: u64) -> [u64; N] {
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |i| {
            let at = first + i as u64 * step;
            if s.branch(at < n) { s.load_stream(array::<T>(address), at as usize).into() } else { 0 }
        },
    )
}

/// Writes the low bytes of `bits` as element number `at`.
#[inline(always)]
pub fn write<S: Simt>(s: &S, address: u64, size: u32, at: usize, bits: u64) {
    if s.branch(size == 4) {
        s.store(array::<u32>(address), at, bits as u32);
    } else if s.branch(size == 8) {
        s.store(array::<u64>(address), at, bits);
    } else if s.branch(size == 2) {
        s.store(array::<u16>(address), at, bits as u16);
    } else {
        s.store(array::<u8>(address), at, bits as u8);
    }
}
