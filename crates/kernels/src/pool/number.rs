//! Elements in memory as the arithmetic has them, and back: f32 of 16 bits, too.

use crate::address::array;
use crate::reduce::out::half;
use crate::reduce::recipe::code;
use warpfold_core::{DType, Element, Float};
use warpfold_simt::Simt;

/// f32 or f64.
pub trait Number: Float + Element {
    /// The elements at some addresses, of a dtype that becomes this one.
    fn read<S: Simt, const P: usize>(s: &S, dtype: u32, at: [u64; P]) -> [Self; P];
    /// Writes an element of a dtype, rounded once. NaN becomes the canonical one. `at` counts elements.
    fn write<S: Simt>(self, s: &S, dtype: u32, output: u64, at: u64);
}

impl Number for f32 {
    #[inline(always)]
    fn read<S: Simt, const P: usize>(s: &S, dtype: u32, at: [u64; P]) -> [f32; P] {
        if s.branch(dtype == code(DType::F32)) {
            return at.map(
                #[inline(always)]
                |at| s.load(array::<f32>(at), 0),
            );
        }
        let bits = at.map(
            #[inline(always)]
            |at| s.load(array::<u16>(at), 0),
        );
        if s.branch(dtype == code(DType::F16)) {
            return bits.map(
                #[inline(always)]
                |x| s.f16_to_f32(x),
            );
        }
        bits.map(
            #[inline(always)]
            |x| s.bf16_to_f32(x),
        )
    }

    #[inline(always)]
    fn write<S: Simt>(self, s: &S, dtype: u32, output: u64, at: u64) {
        if s.branch(dtype == code(DType::F32)) {
            s.store(array(output), at as usize, if self.is_nan() { f32::NAN } else { self });
        } else {
            s.store(array(output), at as usize, half(s, dtype, self));
        }
    }
}

impl Number for f64 {
    #[inline(always)]
    fn read<S: Simt, const P: usize>(s: &S, _dtype: u32, at: [u64; P]) -> [f64; P] {
        at.map(
            #[inline(always)]
            |at| s.load(array::<f64>(at), 0),
        )
    }

    #[inline(always)]
    fn write<S: Simt>(self, s: &S, _dtype: u32, output: u64, at: u64) {
        s.store(array(output), at as usize, if self.is_nan() { f64::NAN } else { self });
    }
}
