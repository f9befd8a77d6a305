//! Reading a lane's columns where rows do not begin at multiples of what a lane reads.
//!
//! Idea: what a lane wants lies in words that begin below it, and is shifted into place. It reads all of these words
//! itself, for which the first-level cache has what neighbours read; or only the first, and has what follows from the
//! next lane. Both may read beyond a row's end, and so not where the array ends there.

use crate::address::array;
use crate::node::select;
use crate::reduce::shape::panel::tile::{FOUR, Tile, lines, size};
use crate::reduce::shape::panel::{Lines, Strip};
use crate::reduce::shape::piece::joined;
use crate::reduce::shape::split::STEPS;
use crate::source::{Bits, kept, words};
use warpfold_simt::{ALL, Simt};

/// Whether all of the words that have a lane's columns of a row are the array's.
#[inline(always)]
pub fn can_shift<B: Bits, L: Lines, const C: usize>(strip: &Strip<L>, row: u64) -> bool {
    let last = strip.at(row).wrapping_add(used::<B, L, C>(strip) as u64 - 1);
    // Lanes that are dealt their columns have none side by side.
    let beside = !L::SEVERAL && size::<B, C>() >= 4 && strip.spread == 1;
    strip.reduced.bytes() >= 0 && beside && (last | (word::<B, C>() as u64 - 1)) < strip.input + strip.reduced.end()
}

/// Bytes of a row that a lane has; of the first column, if it has none.
#[inline(always)]
fn used<B: Bits, L: Lines, const C: usize>(strip: &Strip<L>) -> u32 {
    (strip.columns.max(1) * strip.reduced.each()).min(C as u64) as u32 * B::SIZE
}

/// Bytes of a word that is read to be shifted.
#[inline(always)]
const fn word<B: Bits, const C: usize>() -> u32 {
    if size::<B, C>() == 16 { 8 } else { 4 }
}

/// How many of a lane's rows from the tile's first on are there, beyond which the last is read again; at least one.
#[inline(always)]
pub fn beyond<L: Lines>(strip: &Strip<L>, tile: Tile) -> u32 {
    let after = strip.rows.max(tile.row + 1) - 1 - tile.row;
    (after.min(STEPS as u64 * tile.step as u64) as u32 >> tile.step.trailing_zeros()) + 1
}

/// A lane's columns of `N` rows, wherever these begin; after the first `there` rows, the last of them again.
#[inline(always)]
pub fn shifted<S: Simt, B: Bits, L: Lines, const C: usize, const N: usize>(
    s: &S,
    strip: &Strip<L>,
    tile: Tile,
    there: u32,
) -> [[u32; 4]; N] {
    let row = tile.row.min(strip.last());
    let (first, step) = lines::<S, B, L>(s, strip, Tile { row, ..tile });
    let (used, word) = (used::<B, L, C>(strip), word::<B, C>());
    let mut rows = [[0; 4]; N];
    let mut k = 0;
    while k < N {
        let at = first.wrapping_add(step.wrapping_mul((k as u32).min(there - 1) as usize) as u64);
        let shift = at as u32 & (word - 1);
        let last = (shift + used - 1) & !(word - 1);
        let below = array::<u8>(at & !(word as u64 - 1));
        let part = |i: u32| kept(s, below.offset((i * word).min(last) as usize), word);
        let [[a, b, ..], [c, d, ..], [e, f, ..]] = [part(0), part(1), part(2)];
        rows[k] = match word {
            8 => joined::<B>([a, b, c, d], [e, f, 0, 0], shift),
            _ => [s.funnel(a, c, 8 * shift), s.funnel(c, e, 8 * shift), 0, 0],
        };
        k += 1;
    }
    rows
}

/// Whether all lines of the panel in rows before `after` are the array's.
#[inline(always)]
pub fn can_exchange<B: Bits, L: Lines, const C: usize>(strip: &Strip<L>, after: u64) -> bool {
    let line = size::<B, C>() as u64;
    let used = strip.beside as u64 * B::SIZE as u64 * strip.reduced.each();
    let last = strip.panel.wrapping_add(strip.reduced.find(after.min(strip.rows).max(1) - 1).0 as u64);
    let end = last.wrapping_add(used + line - 1) & !(line - 1);
    let beside = !L::SEVERAL && line >= 4 && strip.spread == 1 && strip.beside > 0;
    strip.reduced.bytes() >= 0 && beside && end <= strip.input + strip.reduced.end()
}

/// A lane's columns of four rows; in place of those that are not there, if the tile `ends`, the last again. A lane
/// reads the line below its columns, and has what follows from the next lane: fewer reads than those of [`shifted`],
/// but more instructions. All lanes call it.
#[inline(always)]
pub fn exchanged<S: Simt, B: Bits, L: Lines, const C: usize>(
    s: &S,
    strip: &Strip<L>,
    tile: Tile,
    ends: bool,
) -> [[u32; 4]; FOUR] {
    let size = size::<B, C>();
    let lane = s.lane() & (strip.lanes - 1);
    let used = strip.beside * B::SIZE * strip.reduced.each() as u32;
    let there = if s.branch(ends) { beyond(strip, tile) } else { FOUR as u32 };
    let tile = Tile { row: tile.row.min(strip.last()), ..tile };
    let (first, step) = lines::<S, B, L>(s, &Strip { x: strip.panel, ..*strip }, tile);
    let to = |k: usize| step.wrapping_mul((k as u32).min(there - 1) as usize) as u64;
    let shift = |k: usize| first.wrapping_add(to(k)) as u32 & (size - 1);
    // Beyond the last that has columns, it is the last again.
    let read = |k: usize, lane: u32| {
        let last = (shift(k) + used - 1) & !(size - 1);
        let below = first.wrapping_add(to(k)) & !(size as u64 - 1);
        words(s, array::<u8>(below).offset((lane * size).min(last) as usize), size)
    };
    let own: [[u32; 4]; FOUR] = warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| read(k, lane),
    );
    // No lane has what follows the last one's.
    let is_last = lane + 1 == strip.lanes;
    let mut end = [[0; 4]; FOUR];
    if s.branch(is_last) {
        end = warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| read(k, lane + 1),
        );
    }
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| {
            let next = |i: usize| select(is_last, end[k][i], s.shuffle_idx(ALL, own[k][i], s.lane() + 1));
            let [a, b, c, d] = own[k];
            match size {
                16 => joined::<B>(own[k], [next(0), next(1), next(2), next(3)], shift(k)),
                8 => joined::<B>([a, b, next(0), next(1)], [0; 4], shift(k)),
                _ => joined::<B>([a, next(0), c, d], [0; 4], shift(k)),
            }
        },
    )
}
