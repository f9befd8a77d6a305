//! Extremes as numbers, while packs pass.

use crate::source::{Bits, Source};
use warpfold_core::Float;
use warpfold_simt::Simt;

/// The extremes of numbers that are no NaN, and the first places of elements that equal them.
#[derive(Clone, Copy, Debug)]
pub struct Ends<V> {
    /// -0.0 is below +0.0, if the source tells them apart.
    pub least: V,
    /// The place of the least, where both zeros are equal.
    pub first: u32,
    /// As `least`.
    pub greatest: V,
    /// As `first`.
    pub last: u32,
}

impl<V: Float> Ends<V> {
    /// The extremes of a pack at one place.
    #[inline(always)]
    pub fn of<S: Simt, X: Source<Value = V>>(s: &S, w: &[u32; 4], place: u32) -> Self {
        let number = |k: usize| X::value(s, X::Bits::nth(w, k));
        let (mut least, mut greatest, mut k) = (number(0), number(0), 1);
        while k < X::Bits::PER as usize {
            (least, greatest) = (X::lesser(s, least, number(k)), X::greater(s, greatest, number(k)));
            k += 1;
        }
        Self { least, first: place, greatest, last: place }
    }

    /// With what comes later.
    #[inline(always)]
    pub fn then<S: Simt, X: Source<Value = V>>(self, s: &S, later: Self) -> Self {
        Self {
            least: X::lesser(s, self.least, later.least),
            first: if later.least < self.least { later.first } else { self.first },
            greatest: X::greater(s, self.greatest, later.greatest),
            last: if later.greatest > self.greatest { later.last } else { self.last },
        }
    }
}
