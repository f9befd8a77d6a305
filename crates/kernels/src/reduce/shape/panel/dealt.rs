//! Reading columns that are dealt out among the lanes of a row, a word at a time.
//!
//! Idea: where rows do not begin at multiples of what a lane has, neighbouring lanes read neighbouring words, so that a
//! warp reads a row without a gap wherever it begins. Of 1 and 2 bytes, a word of columns may lie in two of memory,
//! which are both read, and shifted. Of a full panel a lane's words are at distances that the compiler knows, so that
//! a row costs one address.

use crate::address::array;
use crate::reduce::shape::panel::tile::{Tile, lines, size};
use crate::reduce::shape::panel::{Lines, Strip};
use crate::source::{Bits, kept};
use warpfold_simt::Simt;

/// Bytes of a word.
const WORD: u32 = 4;
/// Lanes of a full panel.
const LANES: u32 = 32;

/// Columns of a word, at most as many as a lane has; one where columns may be apart.
#[inline(always)]
pub const fn run<B: Bits, L: Lines, const C: usize>() -> usize {
    if L::SEVERAL || !has_words::<B, C>() { 1 } else { (WORD / B::SIZE) as usize }
}

/// Whether a lane's columns are words of several each.
#[inline(always)]
pub const fn has_words<B: Bits, const C: usize>() -> bool {
    B::SIZE < WORD && size::<B, C>() >= WORD
}

/// Whether 32 lanes have all of their columns, dealt out by words.
#[inline(always)]
fn is_full<B: Bits, L: Lines, const C: usize>(strip: &Strip<L>) -> bool {
    strip.lanes == LANES && strip.beside == LANES * C as u32 && strip.run as usize == run::<B, L, C>()
}

/// A lane's columns of `N` rows that are there, an element at a time.
#[inline(always)]
pub fn elements<S: Simt, B: Bits, L: Lines, const C: usize, const N: usize>(
    s: &S,
    strip: &Strip<L>,
    tile: Tile,
) -> [[B; C]; N] {
    let (first, step) = lines::<S, B, L>(s, strip, tile);
    let at = |k: usize| array::<u8>(first).offset(step.wrapping_mul(k)).cast::<B>();
    if B::SIZE >= WORD && s.branch(is_full::<B, L, C>(strip)) {
        return warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| {
                warpfold_simt::array::from_fn(
                    #[inline(always)]
                    |j| s.load(at(k), j * LANES as usize),
                )
            },
        );
    }
    let (each, tail) = (strip.reduced.each(), strip.reduced.tail());
    let is_tail = tail != 0 && tile.row + 1 == strip.rows;
    let last = if is_tail { tail } else { strip.columns * each }.max(1) - 1;
    let column = |j: usize| strip.place((j as u64).min(last) as u32) as usize;
    if B::SIZE < WORD {
        let column: [usize; C] = warpfold_simt::array::from_fn(
            #[inline(always)]
            |j| column(j),
        );
        return warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| {
                warpfold_simt::array::from_fn(
                    #[inline(always)]
                    |j| s.load(at(k), column[j]),
                )
            },
        );
    }
    let (mut rows, mut j) = ([[B::ZERO; C]; N], 0);
    while j < C {
        // No lane has columns that begin beyond the panel's end.
        let place = strip.place(j as u32) as u64;
        if s.branch(j == 0 || strip.beside == 0 || place < strip.beside as u64 * each) {
            let (column, mut k) = (column(j), 0);
            while k < N {
                rows[k][j] = s.load(at(k), column);
                k += 1;
            }
        }
        j += 1;
    }
    rows
}

/// Rows of columns.
#[inline(always)]
fn turned<T: Copy, const C: usize, const N: usize>(columns: [[T; N]; C]) -> [[T; C]; N] {
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| {
            warpfold_simt::array::from_fn(
                #[inline(always)]
                |j| columns[j][k],
            )
        },
    )
}

/// Whether all words that have columns of the panel in this row are the array's, and columns are dealt out.
#[inline(always)]
pub fn has_all_words<B: Bits, L: Lines, const C: usize>(strip: &Strip<L>, row: u64) -> bool {
    let row = row.min(strip.last());
    let used = (strip.beside * B::SIZE) as u64;
    let last = strip.panel.wrapping_add(strip.reduced.find(row).0 as u64).wrapping_add(used).wrapping_sub(1);
    let is_dealt = has_words::<B, C>() && !L::SEVERAL && strip.run as usize == run::<B, L, C>();
    // A lane may have as many columns as a word.
    let is_alone = used > 0 && strip.reduced.each() == 1;
    is_dealt && is_alone && strip.reduced.bytes() >= 0 && (last | (WORD - 1) as u64) < strip.input + strip.reduced.end()
}

/// A lane's columns of `N` rows, of 1 and 2 bytes, in words; after the first `there` rows, the last of them again.
#[inline(always)]
pub fn words<S: Simt, B: Bits, L: Lines, const C: usize, const N: usize>(
    s: &S,
    strip: &Strip<L>,
    tile: Tile,
    there: u32,
) -> [[u32; 4]; N] {
    let tile = Tile { row: tile.row.min(strip.last()), ..tile };
    let (first, step) = lines::<S, B, L>(s, &Strip { x: strip.panel, ..*strip }, tile);
    let all = (size::<B, C>() / WORD) as usize;
    let lane = (s.lane() & (strip.lanes - 1)) * WORD;
    let apart = strip.spread * B::SIZE;
    // The word after a full panel's last may be another's, or nobody's.
    let end = first.wrapping_add(step.wrapping_mul(N - 1) as u64).wrapping_add((strip.beside * B::SIZE + WORD) as u64);
    let is_inside = strip.reduced.bytes() >= 0 && end <= strip.input + strip.reduced.end();
    if s.branch(there == N as u32 && is_full::<B, L, C>(strip) && is_inside) {
        let first = first + lane as u64;
        let at = |k: usize| first.wrapping_add(step.wrapping_mul(k) as u64);
        let word = |at: u64, i: usize| kept(s, array::<u8>(at).offset(i * (LANES * WORD) as usize), WORD)[0];
        if s.branch((first as u32 | step as u32).is_multiple_of(WORD)) {
            return warpfold_simt::array::from_fn(
                #[inline(always)]
                |k| {
                    warpfold_simt::array::from_fn(
                        #[inline(always)]
                        |i| if i < all { word(at(k), i) } else { 0 },
                    )
                },
            );
        }
        return warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| {
                let (below, shift) = (at(k) & !(WORD as u64 - 1), 8 * (at(k) as u32 & (WORD - 1)));
                warpfold_simt::array::from_fn(
                    #[inline(always)]
                    |i| {
                        if i < all { s.funnel(word(below, i), word(below + WORD as u64, i), shift) } else { 0 }
                    },
                )
            },
        );
    }
    let words: [[u32; N]; 4] = warpfold_simt::array::from_fn(
        #[inline(always)]
        |i| {
            // No lane has columns in words that begin beyond the panel's end.
            let by = lane + i as u32 * apart;
            if i >= all || !s.branch(i as u32 * apart < strip.beside * B::SIZE) {
                return [0; N];
            }
            warpfold_simt::array::from_fn(
                #[inline(always)]
                |k| {
                    let at = first.wrapping_add(step.wrapping_mul((k as u32).min(there - 1) as usize) as u64);
                    let shift = at as u32 & (WORD - 1);
                    let last = (shift + strip.beside * B::SIZE - 1) & !(WORD - 1);
                    let word = |by: u32| kept(s, array::<u8>(at - shift as u64).offset(by.min(last) as usize), WORD)[0];
                    s.funnel(word(by), word(by + WORD), 8 * shift)
                },
            )
        },
    );
    turned(words)
}
