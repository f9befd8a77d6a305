//! Where a sort has left its keys, and what they carry: that depends on how many passes have run.

use crate::address::array;
use crate::sort::buffer;
use crate::sort::key::{Elements, Key, read};
use crate::sort::state::{FIRST, State, of_special};
use warpfold_simt::Simt;

/// Keys in order.
pub struct Sorted {
    keys: u64,
    positions: u64,
    /// Whether keys are the elements still.
    raw: bool,
}

impl Sorted {
    /// Of a sort with this state, by its addresses.
    #[inline(always)]
    pub fn of<S: Simt>(s: &S, state: u64, input: u64, keys: [u64; 2], carried: [u64; 2], converted: u32) -> Self {
        let turns = State::at(state).live(s).count_ones();
        let last = turns.wrapping_sub(1);
        let raw = turns == 0 && converted == 0;
        let keys = if raw { input } else { buffer(keys, last) };
        Self { keys, positions: if turns == 0 { 0 } else { buffer(carried, last) }, raw }
    }

    /// `N` keys from number `first`, `STEP` apart; zero from number `n` on.
    #[inline(always)]
    pub fn keys<S: Simt, K: Key, const N: usize, const STEP: usize>(
        &self,
        s: &S,
        of: &Elements,
        first: u32,
        n: u32,
    ) -> [K; N] {
        let (mut keys, mut i) = ([K::of(0); N], 0);
        if s.branch(self.raw) {
            let raw = read::<S, N>(s, self.keys, of.size, first as u64, STEP as u64, n as u64);
            while i < N {
                keys[i] = K::of(raw[i]).ranked(of);
                i += 1;
            }
        } else {
            let from = array::<K>(self.keys).offset(first as usize);
            while i < N {
                if s.branch(first + ((STEP * i) as u32) < n) {
                    keys[i] = s.load_stream(from, STEP * i);
                }
                i += 1;
            }
        }
        keys
    }

    /// The position of key number `at`. Where there was no pass, all keys are equal.
    #[inline(always)]
    pub fn position<S: Simt>(&self, s: &S, at: u32) -> u32 {
        if s.branch(self.positions == 0) { at } else { s.load(array::<u32>(self.positions), at as usize) }
    }
}

/// The element of a key, in the low bytes. Of zeros, it is the first.
#[inline(always)]
pub fn element<S: Simt, K: Key>(s: &S, state: u64, of: &Elements, key: K) -> u64 {
    let mut bits = key.element(of).bits();
    if s.branch(key.is_zero(of)) {
        let words = State::at(state).words();
        if let Some((_, negative)) = of_special(s.load(words, FIRST)) {
            bits |= (negative as u64) << ((8 * of.size - 1) & 63);
        }
    }
    bits
}
