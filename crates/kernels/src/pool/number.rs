//! Elements in memory as the arithmetic has them, and back.

use crate::address::array;
use crate::reduce::out::half;
use crate::reduce::recipe::code;
use crate::source::{Bf16, F16, F32, Source};
use core::marker::PhantomData;
use warpfold_core::{Accumulate, DType, Element, Float, Real};
use warpfold_simt::Simt;

/// What elements are, and the f32 or f64 that arithmetic is done in. `dtype` is their dtype, as a call has it.
pub trait Elements: Copy {
    /// The number.
    type Number: Float + Element;
    /// The elements at some addresses.
    fn read<S: Simt, const P: usize>(s: &S, dtype: u32, at: [u64; P]) -> [Self::Number; P];
    /// The greater of two numbers: +0.0 of zeros of both signs, and the other one, if one is NaN.
    fn greater<S: Simt>(s: &S, a: Self::Number, b: Self::Number) -> Self::Number;
    /// Writes an element, rounded once. NaN becomes the canonical one. `at` counts elements.
    fn write<S: Simt>(s: &S, dtype: u32, output: u64, at: u64, x: Self::Number);
}

/// A dtype of floats.
pub trait Floats: Source<Value: Float + Element> {}

impl<X: Source<Value: Float + Element>> Floats for X {}

/// Elements of one dtype.
#[derive(Clone, Copy)]
pub struct Of<X>(PhantomData<X>);

/// Elements of any dtype that becomes f32.
#[derive(Clone, Copy)]
pub struct Any;

impl<X: Source<Value: Float>> Elements for Of<X> {
    type Number = X::Value;

    #[inline(always)]
    fn read<S: Simt, const P: usize>(s: &S, _dtype: u32, at: [u64; P]) -> [X::Value; P] {
        at.map(
            #[inline(always)]
            |at| X::value(s, s.load(array::<X::Bits>(at), 0)),
        )
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

impl<X: Source<Value: Float>> Of<X> {
    /// a · b + c, rounded once.
    #[inline(always)]
    pub fn fused<S: Simt>(s: &S, a: X::Value, b: X::Value, c: X::Value) -> X::Value {
        if X::DTYPE == DType::F64 {
            return X::Value::from_f64(s.fma_f64(a.to_f64(), b.to_f64(), c.to_f64()));
        }
        X::Value::from_f64(s.fma_f32(a.to_f64() as f32, b.to_f64() as f32, c.to_f64() as f32) as f64)
    }
}

impl Elements for Any {
    type Number = f32;

    #[inline(always)]
    fn read<S: Simt, const P: usize>(s: &S, dtype: u32, at: [u64; P]) -> [f32; P] {
        // One question for all of them.
        if s.branch(dtype == code(DType::F32)) {
            return Of::<F32>::read(s, dtype, at);
        }
        if s.branch(dtype == code(DType::F16)) {
            return Of::<F16>::read(s, dtype, at);
        }
        Of::<Bf16>::read(s, dtype, at)
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
