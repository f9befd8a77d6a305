//! From the outputs of a reducer to the elements of a result, some at a time, while they are in the cache. (A pass over
//! all outputs at the end would be one thread's, and would read and write as much memory again.)

use warpfold_array::{Collect, Hole};
use warpfold_core::ops::Place;
use warpfold_core::{Cast, DType, Element, bf16, f16};

use crate::engine::Convert;
use crate::load::has_bits_of;
use crate::loops::Value;
use crate::simd::vectorize;

/// How outputs become elements.
#[derive(Clone, Copy)]
pub enum Store {
    /// Their bytes are the elements.
    Same,
    /// By a function.
    By(Convert),
}

/// Outputs that become elements without being gathered first.
pub trait Stored: Collect {
    /// Elements of an output.
    const WIDTH: usize = 1;

    /// How outputs become elements of a dtype. `None`: by [`Collect`], and then by a cast.
    fn store(_dtype: DType) -> Option<Store> {
        None
    }
}

/// A [`Convert`] by a function for one output.
macro_rules! each {
    ($from:ty, $to:ty, $f:expr) => {{
        unsafe fn convert(from: *const Value, n: usize, to: *mut Value) -> Result<(), Hole> {
            let (from, to) = (from.cast::<$from>(), to.cast::<$to>());
            vectorize(
                #[inline(always)]
                || {
                    for i in 0..n {
                        // SAFETY: the caller vouches for `n` outputs and room for as many elements.
                        unsafe { to.add(i).write($f(from.add(i).read())) };
                    }
                },
            );
            Ok(())
        }
        Some(Store::By(convert))
    }};
}

macro_rules! stored {
    ($($t:ty),*) => {$(
        impl Stored for $t {
            fn store(dtype: DType) -> Option<Store> {
                has_bits_of(dtype, <$t>::DTYPE).then_some(Store::Same)
            }
        }
        pairs!($t);
    )*};
}
macro_rules! pairs {
    ($t:ty) => {
        impl Stored for ($t, $t) {
            const WIDTH: usize = 2;

            fn store(dtype: DType) -> Option<Store> {
                match <$t>::store(dtype) {
                    Some(Store::Same) => each!(($t, $t), [$t; 2], <[$t; 2]>::from),
                    _ => None,
                }
            }
        }
    };
}
stored!(bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f64);

impl Stored for f32 {
    fn store(dtype: DType) -> Option<Store> {
        match dtype {
            DType::F32 => Some(Store::Same),
            DType::F16 => each!(f32, f16, f16::from_float),
            DType::BF16 => each!(f32, bf16, bf16::from_float),
            _ => None,
        }
    }
}

impl Stored for (f32, f32) {
    const WIDTH: usize = 2;

    fn store(dtype: DType) -> Option<Store> {
        fn rounded<T: Element<Float = f32>>((a, b): (f32, f32)) -> [T; 2] {
            [T::from_float(a), T::from_float(b)]
        }
        match dtype {
            DType::F32 => each!((f32, f32), [f32; 2], <[f32; 2]>::from),
            DType::F16 => each!((f32, f32), [f16; 2], rounded::<f16>),
            DType::BF16 => each!((f32, f32), [bf16; 2], rounded::<bf16>),
            _ => None,
        }
    }
}

impl Stored for Cast {
    fn store(dtype: DType) -> Option<Store> {
        match dtype {
            DType::I64 => each!(Cast, i64, i64::from_cast),
            DType::U64 => each!(Cast, u64, u64::from_cast),
            DType::F64 => each!(Cast, f64, f64::from_cast),
            _ => None,
        }
    }
}

impl Stored for Place {
    fn store(dtype: DType) -> Option<Store> {
        unsafe fn convert(from: *const Value, n: usize, to: *mut Value) -> Result<(), Hole> {
            let (from, to) = (from.cast::<Place>(), to.cast::<i64>());
            let mut none = false;
            for i in 0..n {
                // SAFETY: the caller vouches for `n` outputs and room for as many elements.
                let place = unsafe { from.add(i).read() };
                none |= place == Place::NONE;
                // SAFETY: as above.
                unsafe { to.add(i).write(place.or_minus_one()) };
            }
            if none { Err(Hole::AllNan) } else { Ok(()) }
        }
        (dtype == DType::I64).then_some(Store::By(convert))
    }
}

impl<T: Collect> Stored for Option<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_a_result_is_a_cast() {
        fn check<T: Element<Float = f32>>() {
            for i in 0..1u32 << 20 {
                let x = f32::from_bits(i.wrapping_mul(2_654_435_769) ^ i >> 3);
                // A result has no other NaN.
                let x = if x.is_nan() { f32::NAN } else { x };
                let cast = T::from_cast(x.cast());
                assert_eq!(T::from_float(x).bits(), cast.bits(), "{x:e} as {:?}", T::DTYPE);
            }
        }
        check::<f16>();
        check::<bf16>();
    }
}
