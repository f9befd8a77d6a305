//! Elements as integers in their order: what is compared for an extreme.

use crate::reduce::fold::key::Key;
use crate::reduce::out::Out;
use crate::reduce::recipe::{Recipe, code, flag};
use crate::source::Bits;
use core::marker::PhantomData;
use warpfold_core::DType;
use warpfold_simt::Simt;

/// How elements become keys.
#[derive(Clone, Copy)]
pub struct Keys<B, K> {
    /// Bits to keep: not a float's sign if magnitudes are compared.
    pub(super) keep: K,
    /// Flips all bits for the least, and the top one of unsigned integers.
    pub(super) flip: K,
    /// What the bits of a negative float are flipped with; 0 for integers.
    pub(super) float: K,
    /// A magnitude beyond this is NaN.
    pub(super) infinity: K,
    /// The canonical NaN.
    pub(super) quiet: u64,
    /// The key of a NaN.
    pub(super) nan: K,
    /// Whether the least is looked for.
    pub(super) least: bool,
    /// Whether -0.0 equals +0.0.
    pub(super) same_zeros: bool,
    pub(super) kind: PhantomData<B>,
}

impl<B: Bits, K: Key> Keys<B, K> {
    /// From what a kernel is told.
    #[inline(always)]
    pub fn new(recipe: &Recipe, same_zeros: bool) -> Self {
        let is = |dtype: DType| recipe.input == code(dtype);
        let infinity = match B::SIZE {
            2 if is(DType::F16) => 0x7c00,
            2 if is(DType::BF16) => 0x7f80,
            4 if is(DType::F32) => 0x7f80_0000,
            8 if is(DType::F64) => 0x7ff0_0000_0000_0000,
            _ => 0,
        };
        let spare = 64 - 8 * B::SIZE;
        let unsigned = (recipe.has(flag::UNSIGNED) as i64) << (8 * B::SIZE - 1);
        let least = -(recipe.has(flag::LEAST) as i64);
        // Sign-extended from the element's own size.
        let flip = ((least ^ unsigned) << spare) >> spare;
        let magnitude = recipe.has(flag::MAGNITUDE);
        let nan = match (recipe.has(flag::SKIP_NAN), magnitude) {
            (true, true) => 0,
            (true, false) => i64::MIN >> spare,
            (false, _) => i64::MAX >> spare,
        };
        let is_float = infinity != 0;
        Self {
            keep: K::cut(if magnitude { (i64::MAX) >> spare } else { -1 }),
            flip: K::cut(flip),
            float: K::cut(if is_float { i64::MAX >> spare } else { 0 }),
            infinity: if is_float { K::cut(infinity) } else { K::MAX },
            quiet: (infinity | (infinity & infinity.wrapping_neg()) >> 1) as u64,
            nan: K::cut(nan),
            least: recipe.has(flag::LEAST),
            same_zeros: same_zeros && is_float,
            kind: PhantomData,
        }
    }

    /// The key of an element.
    #[inline(always)]
    pub fn key(&self, bits: B) -> K {
        let spare = 64 - 8 * B::SIZE;
        let wide = ((bits.to_bits() as u64) << spare) as i64 >> spare;
        if B::SIZE == 1 {
            return K::cut(wide).flipped(self.flip);
        }
        let bits = K::cut(wide & self.keep.long());
        let negative = bits.sign();
        let key = K::cut(bits.long() ^ (negative.long() & self.float.long()));
        let magnitude = K::cut(bits.long() & i64::MAX >> spare);
        let nan = magnitude > self.infinity;
        // Of floats, -0.0 has the key -1.
        let key = if self.same_zeros && key == K::cut(-1) { K::cut(0) } else { key };
        let (nan_key, key) = (self.nan, key.flipped(self.flip));
        if nan { nan_key } else { key }
    }

    /// The key of a float that is no NaN, or beyond all of them.
    #[inline(always)]
    pub fn number(&self, bits: B) -> K {
        let spare = 64 - 8 * B::SIZE;
        let bits = K::cut(((bits.to_bits() as u64) << spare) as i64 >> spare);
        bits.flipped(K::cut(bits.sign().long() & self.float.long())).flipped(self.flip)
    }

    /// Whether a key that [`Keys::number`] made is beyond the infinities.
    #[inline(always)]
    pub fn beyond(&self, least: K, greatest: K) -> bool {
        greatest > self.infinity || least < self.infinity.flipped(K::cut(-1))
    }

    /// The bits of the lowest key, unless that is of a NaN: those are slow.
    #[inline(always)]
    pub fn lowest(&self) -> Option<B> {
        let is_float = self.float != K::cut(0);
        let magnitude = self.keep != K::cut(-1);
        let infinity = self.infinity.long() as u64 | if self.least { 0 } else { 1 << (8 * B::SIZE - 1) };
        let integer = (K::MIN.long() ^ self.flip.long()) as u64;
        let bits = if is_float { infinity } else { integer };
        let bits = if magnitude { 0 } else { bits };
        (!self.skips()).then_some(B::from_bits(bits as u128))
    }

    /// Whether these are floats, and NaN is less than any number.
    #[inline(always)]
    pub fn skips(&self) -> bool {
        self.float != K::cut(0) && self.nan != K::cut(i64::MAX >> (64 - 8 * B::SIZE))
    }

    /// The key of a NaN.
    #[inline(always)]
    pub fn nan(&self) -> K {
        self.nan
    }

    /// The bits of the element with this key.
    #[inline(always)]
    pub fn bits(&self, key: K) -> u64 {
        let spare = 64 - 8 * B::SIZE;
        let key = key.flipped(self.flip).long();
        let edge = key == i64::MIN >> spare || key == i64::MAX >> spare;
        let bits = key ^ (K::cut(key).sign().long() & self.float.long());
        // No number of a float has the first or the last key: that is the canonical NaN.
        if self.float != K::cut(0) && edge { self.quiet } else { bits as u64 }
    }

    /// Writes the bits of an element: results have the dtype of the input.
    #[inline(always)]
    pub(super) fn write<S: Simt>(&self, s: &S, recipe: &Recipe, bits: u64, out: Out) {
        match B::SIZE {
            // It may be a bool.
            1 => out.integer(s, recipe.output, bits),
            _ => s.store(out.output.cast(), out.index, B::from_bits(bits as u128)),
        }
    }

    /// Whether the key is that of a NaN.
    #[inline(always)]
    pub fn is_nan(&self, key: K) -> bool {
        self.float != K::cut(0) && key == self.nan
    }

    /// Whether the key is that of both zeros.
    #[inline(always)]
    pub fn is_any_zero(&self, key: K) -> bool {
        self.same_zeros && key == self.flip
    }

    /// Whether a key that skips NaNs is of nothing else.
    #[inline(always)]
    pub fn is_lost(&self, key: K) -> bool {
        self.float != K::cut(0) && key <= self.nan
    }

    /// The key of the initial value.
    #[inline(always)]
    pub fn initial(&self, recipe: &Recipe) -> K {
        let bits = B::from_bits(recipe.initial[0] as u128);
        if recipe.has(flag::INITIAL) { self.key(bits) } else { K::MIN }
    }
}
