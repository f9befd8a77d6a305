//! From the bits in memory to numbers.

use crate::node::Node;
use crate::reduce::fold::key::Key;
use warpfold_core::{DType, Element};
use warpfold_simt::{Global, Pack, Pod, Simt};

/// An element as it lies in memory.
pub trait Bits: Pod + Node {
    /// Bytes.
    const SIZE: u32 = size_of::<Self>() as u32;
    /// How many fit 16 bytes.
    const PER: u32 = 16 / Self::SIZE;
    /// What a place below 2^16 takes beside a key: a word, or nothing where both fit one.
    type Beside: Node;
    /// The `k`-th of the elements in these words.
    fn nth(words: &[u32; 4], k: usize) -> Self;
    /// No bit set.
    const ZERO: Self;
}

impl Bits for u8 {
    type Beside = [u32; 0];
    const ZERO: u8 = 0;
    #[inline(always)]
    fn nth(words: &[u32; 4], k: usize) -> u8 {
        (words[k / 4] >> (8 * (k % 4))) as u8
    }
}
impl Bits for u16 {
    type Beside = [u32; 0];
    const ZERO: u16 = 0;
    #[inline(always)]
    fn nth(words: &[u32; 4], k: usize) -> u16 {
        (words[k / 2] >> (16 * (k % 2))) as u16
    }
}
impl Bits for u32 {
    type Beside = [u32; 1];
    const ZERO: u32 = 0;
    #[inline(always)]
    fn nth(words: &[u32; 4], k: usize) -> u32 {
        words[k]
    }
}
impl Bits for u64 {
    type Beside = [u32; 1];
    const ZERO: u64 = 0;
    #[inline(always)]
    fn nth(words: &[u32; 4], k: usize) -> u64 {
        (words[2 * k + 1] as u64) << 32 | words[2 * k] as u64
    }
}

impl Bits for Pack<u32, 4> {
    type Beside = [u32; 1];
    const ZERO: Self = Pack([0; 4]);
    #[inline(always)]
    fn nth(words: &[u32; 4], _k: usize) -> Self {
        Pack(*words)
    }
}

/// Reads `bytes` (a power of two, at most 16) at once.
#[inline(always)]
pub fn words<S: Simt>(s: &S, at: Global<u8>, bytes: u32) -> [u32; 4] {
    read::<S, false>(s, at, bytes)
}

/// The same of what neighbours read, too.
#[inline(always)]
pub fn kept<S: Simt>(s: &S, at: Global<u8>, bytes: u32) -> [u32; 4] {
    read::<S, true>(s, at, bytes)
}

#[inline(always)]
fn read<S: Simt, const KEEP: bool>(s: &S, at: Global<u8>, bytes: u32) -> [u32; 4] {
    match bytes {
        16 => one::<S, Pack<u32, 4>, KEEP>(s, at).0,
        8 => {
            let w = one::<S, u64, KEEP>(s, at);
            [w as u32, (w >> 32) as u32, 0, 0]
        }
        4 => [one::<S, u32, KEEP>(s, at), 0, 0, 0],
        2 => [one::<S, u16, KEEP>(s, at) as u32, 0, 0, 0],
        _ => [one::<S, u8, KEEP>(s, at) as u32, 0, 0, 0],
    }
}

#[inline(always)]
fn one<S: Simt, T: Pod, const KEEP: bool>(s: &S, at: Global<u8>) -> T {
    if KEEP { s.load(at.cast(), 0) } else { s.load_stream(at.cast(), 0) }
}

/// What the bits mean, and the number that reducers get.
pub trait Source: Copy {
    /// In memory.
    type Bits: Bits;
    /// In arithmetic.
    type Value: Element;
    /// What is compared for an extreme.
    type Key: Key;
    /// What the bits are.
    const DTYPE: DType;
    /// The number.
    fn value<S: Simt>(s: &S, bits: Self::Bits) -> Self::Value;
    /// Whether [`Source::lesser`] and [`Source::greater`] tell -0.0 from +0.0.
    const TELLS_ZEROS: bool;
    /// The lesser of two numbers; either, if one is NaN.
    fn lesser<S: Simt>(s: &S, a: Self::Value, b: Self::Value) -> Self::Value;
    /// The greater.
    fn greater<S: Simt>(s: &S, a: Self::Value, b: Self::Value) -> Self::Value;
    /// Whether the number is NaN: by one comparison, where [`Element::is_nan`] looks at bits.
    #[inline(always)]
    fn is_nan(number: Self::Value) -> bool
    where
        Self::Value: PartialOrd,
    {
        number.partial_cmp(&number).is_none()
    }
    /// The bits of an element with this number.
    fn bits<S: Simt>(s: &S, number: Self::Value) -> Self::Bits;
}

macro_rules! source {
    ($($(#[$doc:meta])* $name:ident, $dtype:ident, $key:ty: $bits:ty => $value:ty, $f:expr, $back:expr,
        $ends:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
        impl Source for $name {
            type Bits = $bits;
            type Value = $value;
            type Key = $key;
            const DTYPE: DType = DType::$dtype;
            #[inline(always)]
            fn value<S: Simt>(s: &S, bits: $bits) -> $value {
                $f(s, bits)
            }
            #[inline(always)]
            fn bits<S: Simt>(s: &S, number: $value) -> $bits {
                $back(s, number)
            }
            source!($ends);
        }
    )*};
    // There is an instruction for it.
    (instruction) => {
        const TELLS_ZEROS: bool = true;
        #[inline(always)]
        fn lesser<S: Simt>(s: &S, a: f32, b: f32) -> f32 {
            s.lesser(a, b)
        }
        #[inline(always)]
        fn greater<S: Simt>(s: &S, a: f32, b: f32) -> f32 {
            s.greater(a, b)
        }
    };
    // One comparison finds both.
    (comparison) => {
        const TELLS_ZEROS: bool = false;
        #[inline(always)]
        fn lesser<S: Simt>(_s: &S, a: f64, b: f64) -> f64 {
            if b < a { b } else { a }
        }
        #[inline(always)]
        fn greater<S: Simt>(_s: &S, a: f64, b: f64) -> f64 {
            if b < a { a } else { b }
        }
    };
}
source! {
    /// IEEE half precision, as f32.
    F16, F16, i32: u16 => f32, |s: &S, bits| s.f16_to_f32(bits), |s: &S, x| s.f32_to_f16(x), instruction;
    /// bfloat16, as f32.
    Bf16, BF16, i32: u16 => f32, |s: &S, bits| s.bf16_to_f32(bits), |_: &S, x: f32| (x.to_bits() >> 16) as u16,
        instruction;
    /// Single precision.
    F32, F32, i32: u32 => f32, |_: &S, bits| f32::from_bits(bits), |_: &S, x: f32| x.to_bits(), instruction;
    /// Double precision.
    F64, F64, i64: u64 => f64, |_: &S, bits| f64::from_bits(bits), |_: &S, x: f64| x.to_bits(), comparison;
}
