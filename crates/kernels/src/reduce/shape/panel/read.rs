//! Reading a tile: a lane's columns of 8 rows, wherever these begin.
//!
//! Idea: where rows do not begin at multiples of what a lane reads, each lane reads at the multiple below, has what
//! follows from the next lane, and shifts both into place. That reads beyond a row's end, but not beyond the array's as
//! long as another row follows. Elements of 4 bytes and more are dealt out to neighbouring lanes instead, one at a
//! time.

use crate::address::array;
use crate::node::select;
use crate::reduce::shape::panel::{Lines, Strip};
use crate::reduce::shape::piece::joined;
use crate::reduce::shape::split::{STEPS, next};
use crate::source::{Bits, words};
use warpfold_simt::{ALL, Simt};

/// Where a lane's rows of a tile are.
#[derive(Clone, Copy)]
pub struct Tile {
    /// The first of them.
    pub row: u64,
    /// Rows from one to the next.
    pub step: u32,
    /// Whether a whole row of the strip follows this tile, and so what a read beyond any of its rows finds, and all
    /// lanes of the warp are here.
    pub more: bool,
}

impl Tile {
    /// A lane's rows from `row`; lanes may read them alone.
    #[inline(always)]
    pub fn alone(row: u64, step: u32) -> Self {
        Self { row, step, more: false }
    }

    /// So many rows of a lane later.
    #[inline(always)]
    pub fn later(self, k: usize) -> Self {
        Self { row: self.row + (k as u32 * self.step) as u64, ..self }
    }
}

/// Rows that are read together where that takes more registers than their elements do.
pub const FOUR: usize = STEPS / 2;

/// Bytes of a lane's columns.
#[inline(always)]
const fn size<B: Bits, const C: usize>() -> u32 {
    B::SIZE * C as u32
}

/// A lane's columns of `N` rows, all of which are there. A lane without columns reads others'.
#[inline(always)]
pub fn load<S: Simt, B: Bits, L: Lines, const C: usize, const N: usize>(
    s: &S,
    strip: &Strip<L>,
    tile: Tile,
) -> [[B; C]; N] {
    if L::SEVERAL {
        return found(s, strip, tile);
    }
    if B::SIZE > 2 || size::<B, C>() < 4 {
        return if s.branch(strip.at_once) {
            apart(at_once::<S, B, _, C, N>(s, strip, tile))
        } else {
            dealt(s, strip, tile)
        };
    }
    // Until all ways of reading have met, in words: elements would take a register each.
    apart(if s.branch(strip.at_once) {
        at_once::<S, B, _, C, N>(s, strip, tile)
    } else if N.is_multiple_of(FOUR) {
        let mut rows = [[0; 4]; N];
        let mut k = 0;
        while k < N {
            let tile = tile.later(k);
            let four = if s.branch(can_shift::<B, L, C>(strip, tile)) {
                shifted::<S, B, _, C>(s, strip, tile)
            } else {
                dealt::<S, B, _, C, FOUR>(s, strip, tile).map(together)
            };
            rows = warpfold_simt::array::from_fn(
                #[inline(always)]
                |i| if i >= k && i < k + FOUR { four[i % FOUR] } else { rows[i] },
            );
            k += FOUR;
        }
        rows
    } else {
        dealt::<S, B, _, C, N>(s, strip, tile).map(together)
    })
}

/// The same of 8 rows; zero in those that are not there. Lanes may call it alone.
#[inline(always)]
pub fn load_some<S: Simt, B: Bits, L: Lines, const C: usize>(
    s: &S,
    strip: &Strip<L>,
    row: u64,
    step: u32,
) -> [[B; C]; STEPS] {
    if L::SEVERAL {
        let there = |k: usize| row + ((k as u32 * step) as u64) < strip.rows;
        let rows: [_; STEPS] = found(s, strip, Tile::alone(row, step));
        return warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| if there(k) { rows[k] } else { [B::ZERO; C] },
        );
    }
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| {
            let row = row + (k as u32 * step) as u64;
            if s.branch(row < strip.rows) {
                // The last row may not be whole, if elements have 2 bytes, and what follows it not the array's.
                let whole = B::SIZE != 2 || strip.reduced.tail() == 0 || row + 1 < strip.rows;
                let strip = Strip { at_once: strip.at_once && whole, ..*strip };
                let [bits]: [_; 1] = load(s, &strip, Tile::alone(row, 0));
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

/// A lane's columns of four rows, of elements of 1 and 2 bytes, in words. If some are not there (not `whole`), instead
/// of their elements those of the last row, or `zeros`. All lanes call it.
#[inline(always)]
pub fn load_words<S: Simt, B: Bits, L: Lines, const C: usize>(
    s: &S,
    strip: &Strip<L>,
    tile: Tile,
    whole: bool,
    zeros: bool,
) -> [[u32; 4]; FOUR] {
    if L::SEVERAL {
        let rows: [[B; C]; FOUR] = found(s, strip, tile);
        return warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| {
                let is_blank = zeros && tile.later(k).row >= strip.rows;
                together(rows[k]).map(
                    #[inline(always)]
                    |word| if is_blank { 0 } else { word },
                )
            },
        );
    }
    if s.branch(whole && can_shift::<B, L, C>(strip, tile)) {
        return shifted::<S, B, _, C>(s, strip, tile);
    }
    if s.branch(!strip.at_once || strip.reduced.tail() != 0) {
        return loose::<S, B, _, C>(s, strip, tile, zeros);
    }
    let last = strip.rows - 1;
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| {
            let row = tile.later(k).row;
            words(s, array(strip.at(row.min(last))), size::<B, C>()).map(
                #[inline(always)]
                |word| if zeros && row > last { 0 } else { word },
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

/// The address of a lane's first column in its first row, and the bytes to the next, of a tile in one run.
#[inline(always)]
fn lines<S: Simt, B: Bits, L: Lines>(s: &S, strip: &Strip<L>, tile: Tile) -> (u64, usize) {
    let step = (tile.step as i64 * strip.reduced.bytes()) as usize;
    let first = strip.at(tile.row);
    // The multiples of it would take the registers that a word's columns need.
    (first, if B::SIZE <= 2 { (step >> 32) << 32 | s.anew(step as u32) as usize } else { step })
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

/// Whether what follows each row of the tile is the array's, as far as one read goes.
#[inline(always)]
fn can_shift<B: Bits, L: Lines, const C: usize>(strip: &Strip<L>, tile: Tile) -> bool {
    !L::SEVERAL && tile.more && strip.reduced.bytes() >= size::<B, C>() as i64
}

#[inline(always)]
fn shifted<S: Simt, B: Bits, L: Lines, const C: usize>(s: &S, strip: &Strip<L>, tile: Tile) -> [[u32; 4]; FOUR] {
    let size = size::<B, C>();
    let lane = s.lane() & (strip.lanes - 1);
    let used = strip.beside * B::SIZE * strip.reduced.each() as u32;
    let (first, step) = lines::<S, B, L>(s, &Strip { x: strip.panel, ..*strip }, tile);
    let shift = |k: usize| (first as u32).wrapping_add((step as u32).wrapping_mul(k as u32)) & (size - 1);
    // Beyond the last that has columns, it is the last again.
    let read = |k: usize, lane: u32| {
        let last = (shift(k) + used - 1) & !(size - 1);
        let below = first.wrapping_add(step.wrapping_mul(k) as u64) & !(size as u64 - 1);
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

/// An element of each row at a time. Where there is none, it is the last row's, or zero.
#[inline(always)]
fn loose<S: Simt, B: Bits, L: Lines, const C: usize>(
    s: &S,
    strip: &Strip<L>,
    tile: Tile,
    zeros: bool,
) -> [[u32; 4]; FOUR] {
    let (each, tail) = (strip.reduced.each(), strip.reduced.tail());
    let columns = (strip.columns * each).max(1);
    let mut w = [[0u32; 4]; FOUR];
    let (mut e, all) = (0, s.opaque(C as u32));
    while s.again(e < all) {
        let column = (e as u64).min(columns - 1);
        let last = strip.rows - 1 - (tail != 0 && column >= tail) as u64;
        let bits: [u32; FOUR] = warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| {
                let row = tile.row + (k as u32 * tile.step) as u64;
                let at = array::<B>(strip.at(row.min(last)));
                let bits = s.load(at, column as usize * strip.spread as usize).to_bits() as u32;
                if zeros && row > last { 0 } else { bits }
            },
        );
        // Each element comes in at the end and moves on as others follow.
        let mut k = 0;
        while k < FOUR {
            w[k] = appended::<B, C>(w[k], bits[k]);
            k += 1;
        }
        e += 1;
    }
    w
}

/// The words of `C` elements moved on by one, with `bits` at the end.
#[inline(always)]
fn appended<B: Bits, const C: usize>(w: [u32; 4], bits: u32) -> [u32; 4] {
    let by = 8 * B::SIZE;
    let all = (size::<B, C>() / 4) as usize;
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |i| {
            let in_from = if i + 1 < all { w[i + 1] } else { bits };
            if i < all { w[i] >> by | in_from << (32 - by) } else { 0 }
        },
    )
}
