//! Elements in memory as the arithmetic has them, and back.

use crate::address::array;
use crate::reduce::out::half;
use crate::reduce::recipe::code;
use crate::source::Source;
use core::marker::PhantomData;
use warpfold_core::{Accumulate, DType, Element, Float, Real};
use warpfold_simt::Simt;

/// What elements are, and the f32 or f64 that arithmetic is done in. `dtype` is their dtype, as a call has it.
pub trait Elements: Copy {
    /// The number.
    type Number: Float + Element;
    /// The element at an address.
    fn read<S: Simt>(s: &S, dtype: u32, at: u64) -> Self::Number;
    /// The greater of two numbers: +0.0 of zeros of both signs, and the other one, if one is NaN.
    fn greater<S: Simt>(s: &S, a: Self::Number, b: Self::Number) -> Self::Number;
    /// Writes an element, rounded once. NaN becomes the canonical one. `at` counts elements.
    fn write<S: Simt>(s: &S, dtype: u32, output: u64, at: u64, x: Self::Number);
}

/// Elements of one dtype.
#[derive(Clone, Copy)]
pub struct Of<X>(PhantomData<X>);

/// Elements of any dtype that becomes f32.
#[derive(Clone, Copy)]
pub struct Any;

impl<X: Source<Value: Float>> Elements for Of<X> {
    type Number = X::Value;

    #[inline(always)]
    fn read<S: Simt>(s: &S, _dtype: u32, at: u64) -> X::Value {
        X::value(s, s.load(array::<X::Bits>(at), 0))
    }

    #[inline(always)]
    fn greater<S: Simt>(s: &S, a: X::Value, b: X::Value) -> X::Value {
        let greater = X::greater(s, a, b);
        if X::TELLS_ZEROS {
            return greater;
        }
        let zero = X::Value::ZERO;
        // Either, if one was NaN.
        let number = if X::is_nan(b) { a } else { greater };
        if a == zero && b == zero { a.add(b) } else { number }
    }

    #[inline(always)]
    fn write<S: Simt>(s: &S, _dtype: u32, output: u64, at: u64, x: X::Value) {
        match X::DTYPE {
            DType::F16 | DType::BF16 => {
                s.store(array(output), at as usize, half(s, code(X::DTYPE), x.to_f64() as f32));
            }
            _ => {
                let x = if x.is_nan() { X::Value::from_f64(f64::NAN) } else { x };
                s.store(array::<X::Bits>(output), at as usize, X::bits(s, x));
            }
        }
    }
}

impl Elements for Any {
    type Number = f32;

    #[inline(always)]
    fn read<S: Simt>(s: &S, dtype: u32, at: u64) -> f32 {
        if s.branch(dtype == code(DType::F32)) {
            return s.load(array::<f32>(at), 0);
        }
        let bits = s.load(array::<u16>(at), 0);
        if s.branch(dtype == code(DType::F16)) { s.f16_to_f32(bits) } else { s.bf16_to_f32(bits) }
    }

    #[inline(always)]
    fn greater<S: Simt>(s: &S, a: f32, b: f32) -> f32 {
        s.greater(a, b)
    }

    #[inline(always)]
    fn write<S: Simt>(s: &S, dtype: u32, output: u64, at: u64, x: f32) {
        if s.branch(dtype == code(DType::F32)) {
            s.store(array(output), at as usize, if x.is_nan() { f32::NAN } else { x });
        } else {
            s.store(array(output), at as usize, half(s, dtype, x));
        }
    }
}
