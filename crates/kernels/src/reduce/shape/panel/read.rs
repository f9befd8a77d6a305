//! Reading a tile: a lane's columns of 8 rows, wherever these begin.
//!
//! Idea: all rows are read before any is used; those that are not there are the last one again. Where rows do not
//! begin at multiples of what a lane reads, elements of 1 and 2 bytes are shifted into place ([`uneven`]), and others
//! are dealt out to neighbouring lanes, one at a time.

use crate::address::array;
use crate::reduce::shape::panel::tile::{Tile, at_once_again, filled, lines, size};
use crate::reduce::shape::panel::uneven::uneven;
use crate::reduce::shape::panel::{Lines, Strip};
use crate::reduce::shape::split::{STEPS, next};
use crate::source::{Bits, words};
use warpfold_simt::Simt;

/// Rows that are read together where that takes more registers than their elements do.
pub const FOUR: usize = STEPS / 2;

/// A lane's columns of `N` rows, all of which are there. A lane without columns reads others'.
#[inline(always)]
pub fn load<S: Simt, B: Bits, L: Lines, const C: usize, const N: usize>(
    s: &S,
    strip: &Strip<L>,
    tile: Tile,
) -> [[B; C]; N] {
    if s.branch(strip.at_once) { apart(at_once::<S, B, _, C, N>(s, strip, tile)) } else { dealt(s, strip, tile) }
}

/// A lane's columns of eight rows, all of them there (`whole`) or at least one of some lane; `blank` in the others, or
/// anything.
#[inline(always)]
pub fn load_tile<S: Simt, B: Bits, L: Lines, const C: usize>(
    s: &S,
    strip: &Strip<L>,
    tile: Tile,
    whole: bool,
    blank: Option<B>,
) -> [[B; C]; STEPS] {
    if L::SEVERAL {
        return filled(found(s, strip, tile), tile, blank.map(|blank| [blank; C]));
    }
    if B::SIZE <= 2 {
        let blank = blank.map(|blank| together::<B, C>([blank; C]));
        // Until all ways of reading have met, in words: elements would take a register each.
        return apart(if s.branch(whole && strip.at_once) {
            at_once::<S, B, _, C, STEPS>(s, strip, tile)
        } else {
            uneven::<S, B, _, C>(s, strip, tile, whole, blank)
        });
    }
    if s.branch(whole && strip.at_once) {
        apart(at_once::<S, B, _, C, STEPS>(s, strip, tile))
    } else if s.branch(strip.at_once) {
        filled(apart(at_once_again::<S, B, _, C>(s, strip, tile)), tile, blank.map(|blank| [blank; C]))
    } else {
        filled(dealt_again(s, strip, tile), tile, blank.map(|blank| [blank; C]))
    }
}

/// A lane's columns of eight rows, a row at a time; zero in those that are not there. Lanes may call it alone.
#[inline(always)]
pub fn load_few<S: Simt, B: Bits, L: Lines, const C: usize>(s: &S, strip: &Strip<L>) -> [[B; C]; STEPS] {
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| {
            if s.branch((k as u64) < strip.rows) {
                let [bits]: [_; 1] = load(s, strip, Tile::whole(k as u64, 0));
                bits
            } else {
                [B::ZERO; C]
            }
        },
    )
}

/// The same where each row has to be found. Those that are not there are the last row again.
#[inline(always)]
fn found<S: Simt, B: Bits, L: Lines, const C: usize, const N: usize>(
    s: &S,
    strip: &Strip<L>,
    tile: Tile,
) -> [[B; C]; N] {
    // One copy of a division.
    let last = strip.rows.max(1) - 1;
    let (mut at, mut k, rows) = ([0u64; N], 0, s.opaque(N as u32));
    while s.again(k < rows) {
        at = next(at, strip.at((tile.row + (k * tile.step) as u64).min(last)));
        k += 1;
    }
    if s.branch(strip.at_once) {
        return apart(at.map(
            #[inline(always)]
            |at| words(s, array(at), size::<B, C>()),
        ));
    }
    let last = strip.columns.max(1) - 1;
    let column: [usize; C] = warpfold_simt::array::from_fn(
        #[inline(always)]
        |j| strip.beside::<B>((j as u64).min(last)),
    );
    at.map(
        #[inline(always)]
        |at| {
            warpfold_simt::array::from_fn(
                #[inline(always)]
                |j| s.load(array::<u8>(at).offset(column[j]).cast::<B>(), 0),
            )
        },
    )
}

/// A lane's columns of four rows that have to be found, of elements of 1 and 2 bytes, in words. Instead of elements
/// that are not there, those of the last row, or `zeros`.
#[inline(always)]
pub fn found_words<S: Simt, B: Bits, L: Lines, const C: usize>(
    s: &S,
    strip: &Strip<L>,
    tile: Tile,
    zeros: bool,
) -> [[u32; 4]; FOUR] {
    let rows: [[B; C]; FOUR] = found(s, strip, tile);
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| {
            let is_blank = zeros && tile.later(k).row >= strip.rows;
            together(rows[k]).map(
                #[inline(always)]
                |word| if is_blank { 0 } else { word },
            )
        },
    )
}

/// A lane's columns of `N` rows that are there, dealt out among lanes if `spread` says so, an element at a time.
#[inline(always)]
pub fn dealt<S: Simt, B: Bits, L: Lines, const C: usize, const N: usize>(
    s: &S,
    strip: &Strip<L>,
    tile: Tile,
) -> [[B; C]; N] {
    let (first, step) = lines::<S, B, L>(s, strip, tile);
    let (each, tail) = (strip.reduced.each(), strip.reduced.tail());
    let is_tail = tail != 0 && tile.row + 1 == strip.rows;
    let last = if is_tail { tail } else { strip.columns * each }.max(1) - 1;
    let column: [usize; C] = warpfold_simt::array::from_fn(
        #[inline(always)]
        |j| (j as u64).min(last) as usize * strip.spread as usize,
    );
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| {
            let at = array::<u8>(first).offset(step.wrapping_mul(k)).cast::<B>();
            warpfold_simt::array::from_fn(
                #[inline(always)]
                |j| s.load(at, column[j]),
            )
        },
    )
}

/// The same of eight rows of elements of 4 bytes or more, which may not all be there, so that some are read again.
#[inline(always)]
fn dealt_again<S: Simt, B: Bits, L: Lines, const C: usize>(s: &S, strip: &Strip<L>, tile: Tile) -> [[B; C]; STEPS] {
    let (mut at, step) = lines::<S, B, L>(s, strip, tile);
    let last = strip.columns.max(1) - 1;
    let column: [usize; C] = warpfold_simt::array::from_fn(
        #[inline(always)]
        |j| (j as u64).min(last) as usize * strip.spread as usize,
    );
    let mut rows = [[B::ZERO; C]; STEPS];
    let mut k = 0;
    while k < STEPS {
        rows[k] = warpfold_simt::array::from_fn(
            #[inline(always)]
            |j| s.load(array::<B>(at), column[j]),
        );
        at = tile.next(s, k, at, step);
        k += 1;
    }
    rows
}

/// A lane's columns of `N` rows that are there, each read at once.
#[inline(always)]
pub fn at_once<S: Simt, B: Bits, L: Lines, const C: usize, const N: usize>(
    s: &S,
    strip: &Strip<L>,
    tile: Tile,
) -> [[u32; 4]; N] {
    let (first, step) = lines::<S, B, L>(s, strip, tile);
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| words(s, array::<u8>(first).offset(step.wrapping_mul(k)), size::<B, C>()),
    )
}

/// Elements of at most 16 bytes in all, as words.
#[inline(always)]
pub fn together<B: Bits, const C: usize>(elements: [B; C]) -> [u32; 4] {
    let per = 4 / B::SIZE as usize;
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |i| {
            let (mut word, mut j) = (0, 0);
            while j < per && i * per + j < C {
                word |= (elements[i * per + j].to_bits() as u32) << (8 * B::SIZE as usize * j);
                j += 1;
            }
            word
        },
    )
}

/// Elements of words.
#[inline(always)]
fn apart<B: Bits, const C: usize, const N: usize>(words: [[u32; 4]; N]) -> [[B; C]; N] {
    words.map(
        #[inline(always)]
        |row| {
            warpfold_simt::array::from_fn(
                #[inline(always)]
                |j| B::nth(&row, j),
            )
        },
    )
}
