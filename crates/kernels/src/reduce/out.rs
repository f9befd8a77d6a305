//! Where a result goes, and in which dtype.

use crate::reduce::recipe::{SIZES, code};
use crate::reduce::workspace::STATUS;
use warpfold_core::{Cast, DType, Element, bf16, f16};
use warpfold_simt::{Global, Simt};

/// Why there is no value: the byte of [`STATUS`] that is set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Hole {
    /// No element was left.
    Empty,
    /// Only NaN.
    AllNan,
}

/// Where an output goes.
#[derive(Clone, Copy)]
pub struct Out {
    /// The first output.
    pub output: Global<u8>,
    /// Counters.
    pub counters: Global<u32>,
    /// Which output, counted in elements of the output's dtype.
    pub index: usize,
}

impl Out {
    /// Writes a number that `A` has as `dtype`: as f64 if that is `A`, as f32 or one of 16 bits otherwise.
    #[inline(always)]
    pub fn float<S: Simt, A: Element>(&self, s: &S, dtype: u32, x: Cast) {
        let at = self.index;
        if A::DTYPE == DType::F64 {
            return s.store(self.output.cast(), at, f64::from_cast(x));
        }
        let x = f32::from_cast(x);
        if dtype == code(DType::F32) {
            s.store(self.output.cast(), at, x);
        } else {
            s.store(self.output.cast(), at, half(s, dtype, x));
        }
    }

    /// Writes a number as `dtype`.
    #[inline(always)]
    pub fn number<S: Simt>(&self, s: &S, dtype: u32, x: Cast) {
        let at = self.index;
        match dtype {
            _ if dtype == code(DType::F32) => s.store(self.output.cast(), at, f32::from_cast(x)),
            _ if dtype == code(DType::F64) => s.store(self.output.cast(), at, f64::from_cast(x)),
            _ if dtype == code(DType::F16) => s.store(self.output.cast(), at, f16::from_cast(x).to_bits()),
            _ if dtype == code(DType::BF16) => s.store(self.output.cast(), at, bf16::from_cast(x).to_bits()),
            _ => self.integer(s, dtype, i64::from_cast(x) as u64),
        }
    }

    /// Writes the low bytes of an integer, as many as `dtype` has.
    #[inline(always)]
    pub fn integer<S: Simt>(&self, s: &S, dtype: u32, bits: u64) {
        let (at, size) = (self.index, SIZES >> (2 * dtype));
        let bits = if dtype == code(DType::Bool) { (bits != 0) as u64 } else { bits };
        // Bit by bit: of a comparison with each size the compiler would make a table of jumps.
        if size & 2 != 0 {
            if size & 1 != 0 {
                s.store(self.output.cast(), at, bits);
            } else {
                s.store(self.output.cast(), at, bits as u32);
            }
        } else if size & 1 != 0 {
            s.store(self.output.cast(), at, bits as u16);
        } else {
            s.store(self.output, at, bits as u8);
        }
    }

    /// Says that there is no value. Each reason has a byte of its own, so that who comes last does not matter.
    #[inline(always)]
    pub fn hole<S: Simt>(&self, s: &S, why: Hole) {
        s.store_volatile(self.counters.cast::<u8>(), 4 * STATUS + why as usize, 1);
    }
}

/// The bits of a number as f16, if that is `dtype`, or as bf16.
#[inline(always)]
pub fn half<S: Simt>(s: &S, dtype: u32, x: f32) -> u16 {
    if dtype == code(DType::F16) {
        if x.is_nan() { f16::NAN.to_bits() } else { s.f32_to_f16(x) }
    } else if x.is_nan() {
        bf16::NAN.to_bits()
    } else {
        s.f32_to_bf16(x)
    }
}
