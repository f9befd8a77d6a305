//! Reading a tile: a lane's columns of 8 rows, wherever these begin.
//!
//! Idea: a lane reads its columns at once where rows begin at multiples of what it reads, and else puts them together
//! (`shift`). Elements of 4 bytes and more are dealt out to neighbouring lanes instead, one at a time.

use crate::address::array;
use crate::reduce::fold::Tree;
use crate::reduce::shape::panel::shift::{beyond, can_exchange, can_shift, exchanged, shifted};
use crate::reduce::shape::panel::tile::{FOUR, Tile, lines, size};
use crate::reduce::shape::panel::{Lines, Strip};
use crate::reduce::shape::split::{STEPS, next};
use crate::source::{Bits, kept, words};
use warpfold_simt::Simt;

/// A lane's columns of `N` rows, all of which are there; if it `shifts`, side by side wherever these begin. A lane
/// without columns reads others'.
#[inline(always)]
pub fn load<S: Simt, B: Bits, L: Lines, const C: usize, const N: usize>(
    s: &S,
    strip: &Strip<L>,
    tile: Tile,
    shifts: bool,
) -> [[B; C]; N] {
    if L::SEVERAL { found(s, strip, tile) } else { load_there(s, strip, tile, shifts, N as u32) }
}

/// The same of rows in one run; after the first `there` rows, the last of them again.
#[inline(always)]
fn load_there<S: Simt, B: Bits, L: Lines, const C: usize, const N: usize>(
    s: &S,
    strip: &Strip<L>,
    tile: Tile,
    shifts: bool,
    there: u32,
) -> [[B; C]; N] {
    if B::SIZE > 2 || size::<B, C>() < 4 {
        return unshifted(s, strip, tile, there);
    }
    // Until all ways of reading have met, in words: elements would take a register each.
    apart(if s.branch(strip.at_once) {
        at_once::<S, B, _, C, N>(s, strip, tile, there)
    } else if s.branch(shifts && can_shift::<B, L, C>(strip, tile.row + ((N as u32 - 1) * tile.step) as u64)) {
        shifted::<S, B, _, C, N>(s, strip, tile, N as u32)
    } else if N > FOUR {
        let mut rows = [[0; 4]; N];
        let mut k = 0;
        while k < N {
            let four = dealt::<S, B, _, C, FOUR>(s, strip, tile, k as u32, there).map(together);
            rows = warpfold_simt::array::from_fn(
                #[inline(always)]
                |i| if i >= k && i < k + FOUR { four[i % FOUR] } else { rows[i] },
            );
            k += FOUR;
        }
        rows
    } else {
        dealt::<S, B, _, C, N>(s, strip, tile, 0, there).map(together)
    })
}

/// The same of rows that are read at once or dealt out.
#[inline(always)]
pub fn unshifted<S: Simt, B: Bits, L: Lines, const C: usize, const N: usize>(
    s: &S,
    strip: &Strip<L>,
    tile: Tile,
    there: u32,
) -> [[B; C]; N] {
    if s.branch(strip.at_once) {
        apart(at_once::<S, B, _, C, N>(s, strip, tile, there))
    } else {
        dealt(s, strip, tile, 0, there)
    }
}

/// The same of 8 rows, of which the last may not be whole if it is several of the array's; those that are not there
/// may have anything.
#[inline(always)]
pub fn load_some<S: Simt, B: Bits, L: Lines, const C: usize>(
    s: &S,
    strip: &Strip<L>,
    tile: Tile,
    shifts: bool,
) -> [[B; C]; STEPS] {
    if s.branch(strip.reduced.tail() == 0) {
        load_first(s, strip, tile, shifts)
    } else {
        one_by_one(s, strip, tile, shifts)
    }
}

/// The same, a row at a time.
#[inline(always)]
fn one_by_one<S: Simt, B: Bits, L: Lines, const C: usize>(
    s: &S,
    strip: &Strip<L>,
    tile: Tile,
    shifts: bool,
) -> [[B; C]; STEPS] {
    // A loop: so large a closure is not inlined everywhere.
    let (mut rows, mut k) = ([[B::ZERO; C]; STEPS], 0);
    while k < STEPS {
        let row = tile.later(k).row;
        if s.branch(row < strip.rows) {
            // What follows a last row that is not whole is not the array's.
            let whole = B::SIZE > 4 || strip.reduced.tail() == 0 || row + 1 < strip.rows;
            let strip = Strip { at_once: strip.at_once && whole, ..*strip };
            [rows[k]] = load(s, &strip, Tile { row, step: 0 }, shifts);
        }
        k += 1;
    }
    rows
}

/// The same of 8 rows, all of them whole; those that are not there may have anything.
#[inline(always)]
pub fn load_first<S: Simt, B: Bits, L: Lines, const C: usize>(
    s: &S,
    strip: &Strip<L>,
    tile: Tile,
    shifts: bool,
) -> [[B; C]; STEPS] {
    if L::SEVERAL {
        let rows: [_; STEPS] = found(s, strip, tile);
        return warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| if tile.later(k).row < strip.rows { rows[k] } else { [B::ZERO; C] },
        );
    }
    if B::SIZE > 4 {
        return one_by_one(s, strip, tile, shifts);
    }
    let there = beyond(strip, tile);
    if shifts && B::SIZE <= 2 && s.branch(!strip.at_once && can_shift::<B, L, C>(strip, strip.last())) {
        let first = shifted::<S, B, _, C, FOUR>(s, strip, tile, there.min(FOUR as u32));
        let mut rows = [first[0], first[1], first[2], first[3], [0; 4], [0; 4], [0; 4], [0; 4]];
        if s.branch(there > FOUR as u32) {
            let [a, b, c, d] = shifted::<S, B, _, C, FOUR>(s, strip, tile.later(FOUR), there - FOUR as u32);
            rows = [first[0], first[1], first[2], first[3], a, b, c, d];
        }
        return apart(rows);
    }
    load_there(s, strip, Tile { row: tile.row.min(strip.last()), ..tile }, false, there)
}

/// The same where each row has to be found. Those that are not there are the last row again.
#[inline(always)]
fn found<S: Simt, B: Bits, L: Lines, const C: usize, const N: usize>(
    s: &S,
    strip: &Strip<L>,
    tile: Tile,
) -> [[B; C]; N] {
    // One copy of a division.
    let last = strip.last();
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

/// A lane's columns of four rows, of elements of 1 and 2 bytes, in words; instead of elements that are not there those
/// of the last row, or `zeros`. Rows before `whole` have all elements, and the warp's tile has no row from `after` on.
/// All lanes call it.
#[inline(always)]
pub fn load_words<S: Simt, B: Bits, L: Lines, const C: usize>(
    s: &S,
    strip: &Strip<L>,
    tile: Tile,
    [whole, after]: [u64; 2],
    zeros: bool,
) -> [[u32; 4]; FOUR] {
    let (last, has_tail) = (strip.last(), strip.reduced.tail() != 0);
    let can_exchange = can_exchange::<B, L, C>(strip, after);
    let rows: [[u32; 4]; FOUR] = if L::SEVERAL {
        found::<S, B, L, C, FOUR>(s, strip, tile).map(together)
    } else if s.branch(!strip.at_once && (after <= whole || !has_tail) && can_exchange) {
        exchanged::<S, B, _, C>(s, strip, tile, after > strip.rows)
    } else if s.branch(!strip.at_once || has_tail) {
        return loose::<S, B, _, C>(s, strip, tile, zeros);
    } else {
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| words(s, array(strip.at(tile.later(k).row.min(last))), size::<B, C>()),
        )
    };
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| {
            let is_blank = zeros && tile.later(k).row > last;
            rows[k].map(
                #[inline(always)]
                |word| if is_blank { 0 } else { word },
            )
        },
    )
}

/// A lane's columns of `N` rows from number `from` on, dealt out among lanes if `spread` says so, an element at a time;
/// after the first `there` rows, the last of them again.
#[inline(always)]
pub fn dealt<S: Simt, B: Bits, L: Lines, const C: usize, const N: usize>(
    s: &S,
    strip: &Strip<L>,
    tile: Tile,
    from: u32,
    there: u32,
) -> [[B; C]; N] {
    let (first, step) = lines::<S, B, L>(s, strip, tile);
    let (each, tail) = (strip.reduced.each(), strip.reduced.tail());
    let is_tail = tail != 0 && tile.row + 1 == strip.rows;
    let last = if is_tail { tail } else { strip.columns * each }.max(1) - 1;
    let column: [usize; C] = warpfold_simt::array::from_fn(
        #[inline(always)]
        |j| (j as u64).min(last) as usize * strip.spread as usize,
    );
    // A loop: so large a closure is not inlined everywhere.
    let (mut rows, mut k) = ([[B::ZERO; C]; N], 0);
    while k < N {
        let number = (from + k as u32).min(there - 1) as usize;
        let at = array::<u8>(first).offset(step.wrapping_mul(number)).cast::<B>();
        rows[k] = warpfold_simt::array::from_fn(
            #[inline(always)]
            |j| s.load(at, column[j]),
        );
        k += 1;
    }
    rows
}

/// A lane's columns of `N` rows, each read at once; after the first `there` rows, the last of them again.
#[inline(always)]
pub fn at_once<S: Simt, B: Bits, L: Lines, const C: usize, const N: usize>(
    s: &S,
    strip: &Strip<L>,
    tile: Tile,
    there: u32,
) -> [[u32; 4]; N] {
    let (first, step) = lines::<S, B, L>(s, strip, tile);
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| {
            let k = (k as u32).min(there - 1) as usize;
            words(s, array::<u8>(first).offset(step.wrapping_mul(k)), size::<B, C>())
        },
    )
}

/// The same of rows of which a lane has several in a line, or its neighbours.
#[inline(always)]
pub fn at_once_beside<S: Simt, B: Bits, L: Lines, const C: usize, const N: usize>(
    s: &S,
    strip: &Strip<L>,
    tile: Tile,
) -> [[B; C]; N] {
    let (first, step) = lines::<S, B, L>(s, strip, tile);
    apart(warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| kept(s, array::<u8>(first).offset(step.wrapping_mul(k)), size::<B, C>()),
    ))
}

/// A lane's columns of the first `there` of `N` rows, at least one; after these the last of them again.
#[inline(always)]
pub fn load_up_to<S: Simt, B: Bits, L: Lines, const C: usize, const N: usize>(
    s: &S,
    strip: &Strip<L>,
    there: u32,
) -> [[B; C]; N] {
    let tile = Tile { row: 0, step: 1 };
    if N > FOUR && B::SIZE <= 2 {
        let rows: [_; STEPS] = load_first(s, strip, tile, true);
        return warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| rows[k % STEPS],
        );
    }
    if B::SIZE <= 2 && s.branch(!strip.at_once && can_shift::<B, L, C>(strip, strip.last())) {
        return apart(shifted::<S, B, _, C, N>(s, strip, tile, there));
    }
    load_there(s, strip, tile, false, there)
}

/// Rows with others in the place of elements that are left out, and the tree that need not look for them.
#[inline(always)]
pub fn sifted<S: Simt, F: Tree, const C: usize, const N: usize>(
    s: &S,
    f: &F,
    rows: [[F::Bits; C]; N],
) -> (F, [[F::Bits; C]; N]) {
    let (f, words) = f.whole(s, rows.map(together));
    (f, apart(words))
}

/// Elements of at most 16 bytes in all, as words.
#[inline(always)]
pub fn together<B: Bits, const C: usize>(elements: [B; C]) -> [u32; 4] {
    let per = 4 / B::SIZE as usize;
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |i| {
            let (mut word, mut j) = (0, 0);
            if per == 0 {
                let words = B::SIZE as usize / 4;
                let bits = if i / words < C { elements[i / words].to_bits() } else { 0 };
                return (bits >> (32 * (i % words))) as u32;
            }
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
