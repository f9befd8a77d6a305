//! Sums over all tiles before, in one launch (decoupled look-back: Merrill and Garland, 2016).
//!
//! Each tile has a word: first its own sum, later that of all up to it, with a bit that says which. Whoever wants what
//! is before a tile adds the words before it, backwards, up to one that has everything. The word is all there is, so
//! relaxed accesses are enough. Nobody waits for ever: tiles are numbered in the order in which their blocks begin, and
//! publish their own sums before they wait.

use warpfold_simt::{ALL, Global, Simt};

/// The sum of the tile alone.
const OWN: u32 = 1 << 30;
/// The sum of all tiles up to it.
const TOTAL: u32 = 1 << 31;
/// The bits of a sum.
const SUM: u32 = OWN - 1;
/// Words that a thread asks for at once.
const AHEAD: u32 = 4;

/// A word of each tile.
#[derive(Clone, Copy)]
pub struct Words {
    /// That of tile 0.
    pub words: Global<u32>,
    /// From one to the next.
    pub step: usize,
}

impl Words {
    #[inline(always)]
    fn at(self, tile: u32) -> usize {
        tile as usize * self.step
    }

    /// Says what the tile has.
    #[inline(always)]
    pub fn publish<S: Simt>(self, s: &S, tile: u32, own: u32) {
        s.store_volatile(self.words, self.at(tile), own | if tile == 0 { TOTAL } else { OWN });
    }

    /// The sum before the tile, by each thread for itself; and says what it is with it.
    #[inline(always)]
    pub fn before<S: Simt>(self, s: &S, tile: u32, own: u32) -> u32 {
        let (mut end, mut before) = (tile, 0);
        while s.again(end > 0) {
            let ahead: [u32; AHEAD as usize] = warpfold_simt::array::from_fn(
                #[inline(always)]
                |i| {
                    let i = i as u32;
                    if s.branch(i < end) { s.load_volatile(self.words, self.at(end - 1 - i)) } else { TOTAL }
                },
            );
            let mut found = false;
            for (i, mut word) in ahead.into_iter().enumerate() {
                if s.branch(!found) {
                    if s.branch(word == 0) {
                        word = s.load_when(self.words, self.at(end - 1 - i as u32), |word| word != 0);
                    }
                    before += word & SUM;
                    found = word & TOTAL != 0;
                }
            }
            end = if found { 0 } else { end - AHEAD };
        }
        if s.branch(tile > 0) {
            s.store_volatile(self.words, self.at(tile), TOTAL | (before + own));
        }
        before
    }

    /// The same, by a whole warp together for one sum.
    #[inline(always)]
    pub fn before_together<S: Simt>(self, s: &S, tile: u32, own: u32) -> u32 {
        let (mut end, mut before, lane) = (tile, 0, s.lane());
        while s.again(end > 0) {
            let word = if s.branch(lane < end) {
                s.load_when(self.words, self.at(end - 1 - lane), |word| word != 0)
            } else {
                TOTAL
            };
            let totals = s.ballot(ALL, word & TOTAL != 0);
            let mut sum = if lane <= totals.trailing_zeros() { word & SUM } else { 0 };
            for by in [1, 2, 4, 8, 16] {
                sum += s.shuffle_xor(ALL, sum, by);
            }
            before += sum;
            end = if totals != 0 { 0 } else { end - 32 };
        }
        if s.branch(tile > 0 && lane == 0) {
            s.store_volatile(self.words, self.at(tile), TOTAL | (before + own));
        }
        before
    }
}
