//! Vectors of x86-64 as decks of cards, 16 bytes each, which are shuffled side by side: see [`super::transpose`].

use std::arch::x86_64::*;

use super::simd::inlined;

/// A vector of one, two or four decks.
pub(super) trait Decks: Copy {
    /// The number of decks.
    const DECKS: usize;

    /// The decks that are so many bytes apart.
    ///
    /// # Safety
    /// Each deck is readable, and the CPU has the vector's instructions.
    unsafe fn load(x: *const __m128i, apart: usize) -> Self;

    /// The cards of two vectors in turn, in every deck: those of the first halves, and those of the second.
    ///
    /// # Safety
    /// The CPU has the vector's instructions.
    ///
    /// # Panics
    /// If there is no shuffle of elements of this size: wide vectors have that of 8 bytes alone.
    unsafe fn zip<T>(a: Self, b: Self) -> [Self; 2];

    /// Writes the decks one after the other.
    ///
    /// # Safety
    /// There is room for all, and the CPU has the vector's instructions.
    unsafe fn store(self, to: *mut __m128i);
}

macro_rules! decks {
    ($v:ty, $decks:literal, $deck:ident => $load:expr, $store:ident, $($bytes:literal: $low:ident $high:ident),*) => {
        impl Decks for $v {
            const DECKS: usize = $decks;

            #[inline(always)]
            unsafe fn load(x: *const __m128i, apart: usize) -> Self {
                // SAFETY: the caller vouches for every deck and for the instructions.
                unsafe {
                    let $deck = inlined(
                        #[inline(always)]
                        |deck: usize| _mm_loadu_si128(x.wrapping_byte_add(deck * apart)),
                    );
                    $load
                }
            }

            #[inline(always)]
            unsafe fn zip<T>(a: Self, b: Self) -> [Self; 2] {
                // SAFETY: the caller vouches for the instructions.
                unsafe {
                    match size_of::<T>() {
                        $($bytes => [$low(a, b), $high(a, b)],)*
                        _ => unreachable!("a vector for elements of this size"),
                    }
                }
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut __m128i) {
                // SAFETY: the caller vouches for the room and for the instructions.
                unsafe { $store(to.cast(), self) }
            }
        }
    };
}

decks!(__m128i, 1, deck => deck(0), _mm_storeu_si128,
    1: _mm_unpacklo_epi8 _mm_unpackhi_epi8, 2: _mm_unpacklo_epi16 _mm_unpackhi_epi16,
    4: _mm_unpacklo_epi32 _mm_unpackhi_epi32, 8: _mm_unpacklo_epi64 _mm_unpackhi_epi64);
decks!(__m256i, 2, deck => _mm256_set_m128i(deck(1), deck(0)), _mm256_storeu_si256,
    8: _mm256_unpacklo_epi64 _mm256_unpackhi_epi64);
decks!(__m512i, 4, deck => _mm512_inserti64x4::<1>(
        _mm512_castsi256_si512(_mm256_set_m128i(deck(1), deck(0))),
        _mm256_set_m128i(deck(3), deck(2)),
    ), _mm512_storeu_si512, 8: _mm512_unpacklo_epi64 _mm512_unpackhi_epi64);
