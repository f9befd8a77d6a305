//! The elements of a pack as numbers, and numbers rounded to a pack.

use crate::node::Node;
use crate::reduce::out::half;
use crate::reduce::recipe::code;
use crate::source::{Bits, Source};
use warpfold_core::DType;
use warpfold_simt::Simt;

/// Elements of a pack, at most. A pack of fewer has them first, and nothing reads the others.
pub const MOST: usize = 8;

/// The elements of a pack.
#[inline(always)]
pub fn numbers<S: Simt, X: Source<Value: Node>>(s: &S, w: [u32; 4]) -> [X::Value; MOST] {
    let mut x = [X::Value::zero(); MOST];
    let mut i = 0;
    while i < X::Bits::PER as usize {
        x[i] = X::value(s, X::Bits::nth(&w, i));
        i += 1;
    }
    x
}

/// The words of a number.
#[inline(always)]
pub fn words<N: Node>(x: N) -> [u32; 2] {
    let mut words = [0; 2];
    let _ = x.map(|i, word| {
        words[i as usize] = word;
        word
    });
    words
}

/// The only word of an f32.
#[inline(always)]
fn single<N: Node>(x: N) -> f32 {
    f32::from_bits(words(x)[0])
}

/// Numbers, each rounded once. None is NaN.
#[inline(always)]
pub fn rounded<S: Simt, X: Source<Value: Node>>(s: &S, x: [X::Value; MOST]) -> [u32; 4] {
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |i| match X::DTYPE {
            DType::F16 => s.f32_to_f16_two([single(x[2 * i]), single(x[2 * i + 1])]),
            DType::BF16 => s.f32_to_bf16_two([single(x[2 * i]), single(x[2 * i + 1])]),
            DType::F32 => words(x[i])[0],
            _ => words(x[i / 2])[i % 2],
        },
    )
}

/// Numbers, each rounded once. NaN becomes the canonical one.
#[inline(always)]
pub fn canonical<S: Simt, X: Source<Value: Node + PartialOrd>>(s: &S, x: [X::Value; MOST]) -> [u32; 4] {
    let (mut some, mut i) = (false, 0);
    while i < X::Bits::PER as usize {
        some |= X::is_nan(x[i]);
        i += 1;
    }
    if !s.branch(some) {
        return rounded::<S, X>(s, x);
    }
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |i| match X::DTYPE {
            DType::F16 | DType::BF16 => {
                let [low, high] = [x[2 * i], x[2 * i + 1]].map(
                    #[inline(always)]
                    |x| half(s, code(X::DTYPE), single(x)),
                );
                low as u32 | (high as u32) << 16
            }
            DType::F32 => {
                if X::is_nan(x[i]) {
                    0x7fc0_0000
                } else {
                    words(x[i])[0]
                }
            }
            _ if X::is_nan(x[i / 2]) => 0x7ff8_0000 * (i % 2) as u32,
            _ => words(x[i / 2])[i % 2],
        },
    )
}
