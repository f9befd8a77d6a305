//! Elements as numbers, and numbers rounded to elements: one, and those of a pack.

use crate::address::array;
use crate::node::Node;
use crate::pool::number::{Elements, Of};
use crate::reduce::out::half;
use crate::reduce::recipe::code;
use crate::source::{Bits, Source};
use warpfold_core::{DType, Element, Float, Real};
use warpfold_simt::{Pack, Simt};

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

/// A function of the elements of two packs.
#[inline(always)]
pub fn all<X: Source<Value: Node>>(
    x: [X::Value; MOST],
    y: [X::Value; MOST],
    of: impl Fn(X::Value, X::Value) -> X::Value,
) -> [X::Value; MOST] {
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| if k < X::Bits::PER as usize { of(x[k], y[k]) } else { X::Value::zero() },
    )
}

/// An element of any float dtype.
#[inline(always)]
pub fn number<S: Simt, F: Real>(s: &S, dtype: u32, at: u64) -> F {
    if s.branch(dtype == code(DType::F64)) {
        return F::from_f64(s.load(array(at), 0));
    }
    if s.branch(dtype == code(DType::F32)) {
        return F::from_f64(s.load(array::<f32>(at), 0) as f64);
    }
    let bits = s.load(array::<u16>(at), 0);
    F::from_f64(if s.branch(dtype == code(DType::F16)) { s.f16_to_f32(bits) } else { s.bf16_to_f32(bits) } as f64)
}

/// Writes pack number `i` of results: rounded, or, if they are `wide`, as they are.
#[inline(always)]
pub fn write_pack<S, X>(s: &S, output: u64, i: u64, wide: bool, of: [X::Value; MOST])
where
    S: Simt,
    X: Source<Value: Node + PartialOrd>,
{
    let output = array::<Pack<u32, 4>>(output);
    if X::Bits::SIZE == 2 && s.branch(wide) {
        // Numbers of 4 bytes.
        let half = |first: usize| {
            let of = |k: usize| words(of[first + k])[0];
            Pack([of(0), of(1), of(2), of(3)])
        };
        s.store(output, 2 * i as usize, half(0));
        s.store(output, 2 * i as usize + 1, half(4));
    } else {
        s.store(output, i as usize, Pack(canonical::<S, X>(s, of)));
    }
}

/// The same of result number `i`.
#[inline(always)]
pub fn write_one<S, X>(s: &S, output: u64, i: u64, wide: bool, of: X::Value)
where
    S: Simt,
    X: Source<Value: Element + Float + Node>,
{
    if !s.branch(wide) {
        return Of::<X>::write(s, 0, output, i, of);
    }
    let [low, high] = words(of);
    if X::Value::WORDS == 1 {
        s.store(array(output), i as usize, low);
    } else {
        s.store(array(output), i as usize, (high as u64) << 32 | low as u64);
    }
}
