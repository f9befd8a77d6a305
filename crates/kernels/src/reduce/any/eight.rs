//! Eight elements that follow one another at equal distances, in one run or two: their bits, and numbers of these.

use crate::address::array;
use crate::reduce::recipe::{Recipe, code, log_size};
use warpfold_core::{Cast, DType, Element, bf16, f16};
use warpfold_simt::{Pack, Pod, Simt, array::from_fn};

/// How many a lane takes at once.
pub const EIGHT: usize = 8;

/// Where they are.
pub struct Eight {
    /// The logarithm of an element's bytes.
    pub size: u32,
    /// The address of the first.
    pub at: u64,
    /// Bytes from one to the next.
    pub step: i64,
    /// How many there are, from 1 to eight; the others repeat the last.
    pub count: u32,
    /// How many of these are in the first run.
    pub turn: u32,
    /// Where the first would be, if all were in the second.
    pub after: u64,
}

impl Eight {
    /// Whether all are there and side by side, where a read of so many bytes may begin.
    #[inline(always)]
    fn are_dense(&self, read: u64) -> bool {
        self.count.min(self.turn) == EIGHT as u32 && self.step == 1 << self.size && self.at & (read - 1) == 0
    }

    /// Those of one byte: by words, if they lie so.
    #[inline(always)]
    pub fn bytes<S: Simt>(&self, s: &S) -> [u64; EIGHT] {
        if s.branch(self.are_dense(4)) {
            let words = [s.load(array::<u32>(self.at), 0), s.load(array::<u32>(self.at), 1)];
            return from_fn(
                #[inline(always)]
                |k| (words[k / 4] >> (8 * (k % 4)) & 0xff) as u64,
            );
        }
        self.each::<S, u8>(s)
    }

    /// A bit for each of one byte, set if that is not zero.
    #[inline(always)]
    pub fn shown<S: Simt>(&self, s: &S) -> u32 {
        if s.branch(self.are_dense(4)) {
            let four = |i| {
                let word = s.load(array::<u32>(self.at), i);
                // The highest bit of each byte, then of all four.
                let set = (((word & 0x7f7f_7f7f) + 0x7f7f_7f7f) | word) >> 7 & 0x0101_0101;
                set.wrapping_mul(0x0102_0408) >> 24 & 0xf
            };
            return four(0) | four(1) << 4;
        }
        let bytes = self.each::<S, u8>(s);
        let (mut bits, mut k) = (0, 0);
        while k < EIGHT {
            bits |= ((bytes[k] != 0) as u32) << k;
            k += 1;
        }
        bits
    }

    /// Their bits: by reads of 16 bytes, if they lie so.
    #[inline(always)]
    pub fn bits<S: Simt>(&self, s: &S) -> [u64; EIGHT] {
        if self.size == 0 {
            return self.bytes(s);
        }
        match (s.branch(self.are_dense(16)), self.size) {
            (true, 1) => {
                let Pack(words) = s.load(array::<Pack<u32, 4>>(self.at), 0);
                from_fn(
                    #[inline(always)]
                    |k| (words[k / 2] >> (16 * (k & 1)) & 0xffff) as u64,
                )
            }
            (true, 2) => {
                let packs: [Pack<u32, 4>; 2] = self.packs(s);
                from_fn(
                    #[inline(always)]
                    |k| packs[k / 4].0[k % 4] as u64,
                )
            }
            (true, _) => {
                let packs: [Pack<u32, 4>; 4] = self.packs(s);
                from_fn(
                    #[inline(always)]
                    |k| {
                        let words = packs[k / 2].0;
                        (words[2 * (k & 1) + 1] as u64) << 32 | words[2 * (k & 1)] as u64
                    },
                )
            }
            (false, 1) => self.each::<S, u16>(s),
            (false, 2) => self.each::<S, u32>(s),
            (false, _) => self.each::<S, u64>(s),
        }
    }

    #[inline(always)]
    fn packs<S: Simt, const N: usize>(&self, s: &S) -> [Pack<u32, 4>; N] {
        from_fn(
            #[inline(always)]
            |i| s.load(array::<Pack<u32, 4>>(self.at), i),
        )
    }

    #[inline(always)]
    fn each<S: Simt, T: Pod + Into<u64>>(&self, s: &S) -> [u64; EIGHT] {
        from_fn(
            #[inline(always)]
            |k| s.load(array::<T>(self.place(k)), 0).into(),
        )
    }

    /// The address of one of them.
    #[inline(always)]
    pub fn place(&self, k: usize) -> u64 {
        let k = (k as u32).min(self.count - 1);
        let from = if k < self.turn { self.at } else { self.after };
        from.wrapping_add((k as i64 * self.step) as u64)
    }
}

/// Numbers of the recipe's dtype, from their bits; floats only if asked for.
#[inline(always)]
pub fn numbers<S: Simt, T: Copy, const N: usize>(
    s: &S,
    recipe: &Recipe,
    bits: [u64; N],
    floats: bool,
    to: impl Fn(Cast) -> T,
) -> [T; N] {
    macro_rules! arms {
        ($($is:expr => |$x:ident| $cast:expr;)*) => {
            $(if $is {
                return from_fn(
                    #[inline(always)]
                    |k| {
                        let $x = bits[k];
                        to($cast)
                    },
                );
            })*
        };
    }
    let is = |dtype: DType| recipe.input == code(dtype);
    let signed = is(DType::I8) || is(DType::I16) || is(DType::I32) || is(DType::I64);
    let unused = 64 - (8 << log_size(recipe.input));
    arms! {
        floats && is(DType::F32) => |x| Cast::Float(f32::from_bits(x as u32) as f64);
        floats && is(DType::F64) => |x| Cast::Float(f64::from_bits(x));
        floats && is(DType::F16) => |x| Cast::Float(s.f16_to_f32(x as u16) as f64);
        floats && is(DType::BF16) => |x| Cast::Float(s.bf16_to_f32(x as u16) as f64);
        signed => |x| Cast::Signed((x << unused) as i64 >> unused);
        is(DType::Bool) => |x| Cast::Unsigned((x != 0) as u64);
    }
    // Other unsigned integers are their bits.
    from_fn(
        #[inline(always)]
        |k| to(Cast::Unsigned(bits[k])),
    )
}

/// A number rounded to the 16-bit dtype of the recipe, if there is one.
#[inline(always)]
pub fn rounded(recipe: &Recipe, x: Cast) -> Cast {
    if recipe.through == recipe.input {
        x
    } else if recipe.through == code(DType::F16) {
        f16::from_cast(x).cast()
    } else if recipe.through == code(DType::BF16) {
        bf16::from_cast(x).cast()
    } else {
        x
    }
}

/// The bits of the element of the recipe's dtype there.
#[inline(always)]
pub fn bits<S: Simt>(s: &S, recipe: &Recipe, at: u64) -> u64 {
    match log_size(recipe.input) {
        0 => s.load(array::<u8>(at), 0) as u64,
        1 => s.load(array::<u16>(at), 0) as u64,
        2 => s.load(array::<u32>(at), 0) as u64,
        _ => s.load(array::<u64>(at), 0),
    }
}
