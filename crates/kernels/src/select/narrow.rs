//! Which candidates can be among the first k: a radix select that ends early.
//!
//! Each thread has a few candidates in registers. The team counts the highest digits, finds the one with the k-th
//! candidate, and looks at the next digit of those that have it, until few enough candidates are left that are not
//! below the digits found.

use super::candidate::Candidate;
use super::team::{FOUND, Team, Words};
use warpfold_simt::{Order, Simt};

/// What is left.
pub struct Narrowed<C> {
    /// A bit for each of this thread's candidates that is left.
    pub kept: u32,
    /// No candidate that is left is below.
    pub floor: C,
}

/// Leaves at least `k` of the candidates of all threads, if there are as many, otherwise all; at most `limit`, which is
/// not below `k`. Their keys are below 2^`bits`. The team has met before, and counts nothing else meanwhile.
#[inline(always)]
pub fn narrow<S: Simt, T: Team, C: Candidate, const N: usize>(
    s: &S,
    words: Words,
    own: &[C; N],
    [k, limit]: [u32; 2],
    bits: u32,
) -> Narrowed<C> {
    // A thread has a digit, the highest first.
    let bin = words.bins + T::THREADS - 1 - T::rank(s);
    let (mut sure, mut open, mut i) = (0, 0, 0);
    while i < N {
        open |= (own[i].is_above(C::NOTHING) as u32) << i;
        i += 1;
    }
    let (mut need, mut floor, mut shift) = (k, C::NOTHING, bits + u32::BITS);
    loop {
        // Digits do not go from a key into an index.
        let end = if shift > u32::BITS { u32::BITS } else { 0 };
        let width = (shift - end).min(T::DIGIT);
        shift -= width;
        s.put(words.of, bin, 0);
        T::meet(s);
        let mut digits = [0; N];
        i = 0;
        while i < N {
            digits[i] = own[i].digit(shift, width);
            if s.branch(open >> i & 1 != 0) {
                s.atomic_add_shared(words.of, words.bins + digits[i], 1u32, Order::Relaxed);
            }
            i += 1;
        }
        T::meet(s);
        let count = s.get(words.of, bin);
        let (before, all) = T::scan(s, words, count);
        if !s.branch(all >= need) {
            return Narrowed { kept: open, floor };
        }
        if s.branch(before < need && before + count >= need) {
            s.put(words.of, words.found, bin - words.bins);
            s.put(words.of, words.found + 1, before);
            s.put(words.of, words.found + 2, count);
        }
        T::meet(s);
        let [digit, before, count]: [u32; FOUND as usize] = warpfold_simt::array::from_fn(
            #[inline(always)]
            |i| s.get(words.of, words.found + i as u32),
        );
        let mut same = 0;
        i = 0;
        while i < N {
            let is_open = open >> i & 1;
            sure |= (is_open & (digits[i] > digit) as u32) << i;
            same |= (is_open & (digits[i] == digit) as u32) << i;
            i += 1;
        }
        open = same;
        need -= before;
        floor = floor.with(digit, shift);
        if !s.branch(k - need + count > limit && shift > 0) {
            return Narrowed { kept: sure | open, floor };
        }
    }
}
