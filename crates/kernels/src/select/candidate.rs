//! An element's place in the order and its index, as one integer: the greatest comes first, and of equal elements the
//! one with the lowest index.

use crate::address::array;
use crate::sort::key::Key;
use warpfold_simt::{Shared, Simt};

/// A candidate.
pub trait Candidate: Copy {
    /// The place in the order.
    type Key: Key + Ord;
    /// Below all candidates.
    const NOTHING: Self;
    /// Not below any.
    const ANY: Self;
    /// Bytes of one in global memory.
    const BYTES: u64;
    /// Shared memory for candidates.
    type Room: Copy;

    /// That of an element.
    fn new(key: Self::Key, index: u32) -> Self;
    /// The place.
    fn key(self) -> Self::Key;
    /// The index.
    fn index(self) -> u32;
    /// Whether it comes before another one.
    fn is_above(self, other: Self) -> bool;
    /// The greatest below it; of nothing, nothing.
    fn below(self) -> Self;
    /// `width` of its bits from bit `shift`, of which the lowest 32 are the index's.
    fn digit(self, shift: u32, width: u32) -> u32;
    /// The same with a digit, where it had zeros.
    fn with(self, digit: u32, shift: u32) -> Self;

    /// The room of a block, for `N` candidates.
    fn room<S: Simt, const N: usize>(s: &S) -> Self::Room;
    /// Reads one.
    fn get<S: Simt>(s: &S, room: Self::Room, at: u32) -> Self;
    /// Writes one.
    fn put<S: Simt>(s: &S, room: Self::Room, at: u32, candidate: Self);

    /// Reads candidate number `at` of global memory.
    fn load<S: Simt>(s: &S, address: u64, at: u64) -> Self;
    /// Writes it.
    fn store<S: Simt>(s: &S, address: u64, at: u64, candidate: Self);
}

/// Of elements of up to 4 bytes.
impl Candidate for u64 {
    type Key = u32;
    const NOTHING: Self = 0;
    const ANY: Self = u64::MAX;
    const BYTES: u64 = 8;
    type Room = Shared<u64>;

    #[inline(always)]
    fn new(key: u32, index: u32) -> Self {
        (key as u64) << 32 | !index as u64
    }
    #[inline(always)]
    fn key(self) -> u32 {
        (self >> 32) as u32
    }
    #[inline(always)]
    fn index(self) -> u32 {
        !(self as u32)
    }
    #[inline(always)]
    fn is_above(self, other: Self) -> bool {
        self > other
    }
    #[inline(always)]
    fn below(self) -> Self {
        self.saturating_sub(1)
    }
    #[inline(always)]
    fn digit(self, shift: u32, width: u32) -> u32 {
        (self >> (shift & 63)) as u32 & ((1 << width) - 1)
    }
    #[inline(always)]
    fn with(self, digit: u32, shift: u32) -> Self {
        self | (digit as u64) << (shift & 63)
    }

    #[inline(always)]
    fn room<S: Simt, const N: usize>(s: &S) -> Self::Room {
        s.shared::<u64, N, 0>("candidates")
    }
    #[inline(always)]
    fn get<S: Simt>(s: &S, room: Self::Room, at: u32) -> Self {
        s.get(room, at)
    }
    #[inline(always)]
    fn put<S: Simt>(s: &S, room: Self::Room, at: u32, candidate: Self) {
        s.put(room, at, candidate);
    }

    #[inline(always)]
    fn load<S: Simt>(s: &S, address: u64, at: u64) -> Self {
        s.load(array::<u64>(address), at as usize)
    }
    #[inline(always)]
    fn store<S: Simt>(s: &S, address: u64, at: u64, candidate: Self) {
        s.store(array::<u64>(address), at as usize, candidate);
    }
}

/// Of elements of 8 bytes.
#[derive(Clone, Copy)]
pub struct Wide {
    key: u64,
    /// All bits of the index turned round.
    down: u32,
}

impl Candidate for Wide {
    type Key = u64;
    const NOTHING: Self = Wide { key: 0, down: 0 };
    const ANY: Self = Wide { key: u64::MAX, down: u32::MAX };
    const BYTES: u64 = 16;
    type Room = (Shared<u64>, Shared<u32>);

    #[inline(always)]
    fn new(key: u64, index: u32) -> Self {
        Wide { key, down: !index }
    }
    #[inline(always)]
    fn key(self) -> u64 {
        self.key
    }
    #[inline(always)]
    fn index(self) -> u32 {
        !self.down
    }
    #[inline(always)]
    fn is_above(self, other: Self) -> bool {
        self.key > other.key || self.key == other.key && self.down > other.down
    }
    #[inline(always)]
    fn below(self) -> Self {
        if self.down > 0 {
            Wide { key: self.key, down: self.down - 1 }
        } else if self.key > 0 {
            Wide { key: self.key - 1, down: u32::MAX }
        } else {
            self
        }
    }
    #[inline(always)]
    fn digit(self, shift: u32, width: u32) -> u32 {
        let bits =
            if shift >= u32::BITS { (self.key >> ((shift - u32::BITS) & 63)) as u32 } else { self.down >> shift };
        bits & ((1 << width) - 1)
    }
    #[inline(always)]
    fn with(self, digit: u32, shift: u32) -> Self {
        if shift >= u32::BITS {
            Wide { key: self.key | (digit as u64) << ((shift - u32::BITS) & 63), down: self.down }
        } else {
            Wide { key: self.key, down: self.down | digit << shift }
        }
    }

    #[inline(always)]
    fn room<S: Simt, const N: usize>(s: &S) -> Self::Room {
        (s.shared::<u64, N, 0>("candidates"), s.shared::<u32, N, 1>("indices of candidates"))
    }
    #[inline(always)]
    fn get<S: Simt>(s: &S, room: Self::Room, at: u32) -> Self {
        Wide { key: s.get(room.0, at), down: s.get(room.1, at) }
    }
    #[inline(always)]
    fn put<S: Simt>(s: &S, room: Self::Room, at: u32, candidate: Self) {
        s.put(room.0, at, candidate.key);
        s.put(room.1, at, candidate.down);
    }

    #[inline(always)]
    fn load<S: Simt>(s: &S, address: u64, at: u64) -> Self {
        let words = array::<u64>(address);
        Wide { key: s.load(words, 2 * at as usize), down: s.load(words, 2 * at as usize + 1) as u32 }
    }
    #[inline(always)]
    fn store<S: Simt>(s: &S, address: u64, at: u64, candidate: Self) {
        let words = array::<u64>(address);
        s.store(words, 2 * at as usize, candidate.key);
        s.store(words, 2 * at as usize + 1, candidate.down as u64);
    }
}
