//! Rows of elements of 1 and 2 bytes, wherever they begin.
//!
//! Idea: each lane begins at the multiple of 4 below its columns (of 16 bytes: at that of 16), reads some more, which
//! its neighbour also reads and so is in the first-level cache, and shifts all into place. An element at a time is left
//! where the last columns and the last rows of an array meet. Bottleneck: memory.

use crate::address::array;
use crate::reduce::shape::panel::tile::{Tile, at_once_again, filled, lines, size};
use crate::reduce::shape::panel::{Lines, Strip};
use crate::reduce::shape::piece::joined;
use crate::reduce::shape::split::STEPS;
use crate::source::{Bits, kept_words};
use warpfold_simt::Simt;

/// A lane's columns of eight rows, of elements of 1 and 2 bytes side by side, in words: all (`whole`), or the last
/// again for those that are not there, or `blank` if there is one. What only the last row lacks is of the row before,
/// or zero if there is a `blank`.
#[inline(always)]
pub fn uneven<S: Simt, B: Bits, L: Lines, const C: usize>(
    s: &S,
    strip: &Strip<L>,
    tile: Tile,
    whole: bool,
    blank: Option<[u32; 4]>,
) -> [[u32; 4]; STEPS] {
    // The last row may lack some, and what follows it not be the array's.
    let even = whole || strip.reduced.tail() == 0;
    if s.branch(even && strip.at_once) {
        return filled(at_once_again::<S, B, _, C>(s, strip, tile), tile, blank);
    }
    if s.branch(even && tile.more) {
        return filled(shifted::<S, B, _, C>(s, strip, tile), tile, blank);
    }
    filled(loose::<S, B, _, C>(s, strip, tile, blank.is_some()), tile, blank)
}

/// A lane's columns of eight rows: it reads from the multiple below of what it reads at a time, and shifts.
#[inline(always)]
fn shifted<S: Simt, B: Bits, L: Lines, const C: usize>(s: &S, strip: &Strip<L>, tile: Tile) -> [[u32; 4]; STEPS] {
    let size = size::<B, C>();
    let used = strip.beside * B::SIZE * strip.reduced.each() as u32;
    // Lanes beyond the last that has columns do as that one.
    let from = ((s.lane() & (strip.lanes - 1)) * size).min((used - 1) & !(size - 1));
    let (first, step) = lines::<S, B, L>(s, &Strip { x: strip.panel, ..*strip }, tile);
    let (mut at, mut k) = (first.wrapping_add(from as u64), 0);
    let first = at as u32;
    let mut read = [[0; 8]; STEPS];
    while k < STEPS {
        let below = array::<u8>(at & if size == 16 { !15 } else { !3 });
        read[k] = if size == 16 {
            let ([a, b, c, d], [e, f, g, h]) = (kept_words(s, below, 16), kept_words(s, below.offset(16), 16));
            [a, b, c, d, e, f, g, h]
        } else {
            warpfold_simt::array::from_fn(
                #[inline(always)]
                |i| if i as u32 <= size / 4 { s.load(below.cast::<u32>(), i) } else { 0 },
            )
        };
        at = tile.next(s, k, at, step);
        k += 1;
    }
    // Found again, since nothing of it is kept while rows arrive.
    let first = s.anew(first);
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| {
            let (w, shift) = (read[k], first.wrapping_add((step as u32).wrapping_mul(tile.number(k))));
            let [a, b, c, d, e, f, g, h] = w;
            if size == 16 {
                return joined::<B>([a, b, c, d], [e, f, g, h], shift & 15);
            }
            warpfold_simt::array::from_fn(
                #[inline(always)]
                |i| if (i as u32) < size / 4 { s.funnel(w[i], w[i + 1], 8 * shift) } else { 0 },
            )
        },
    )
}

/// An element of each of eight rows at a time.
#[inline(always)]
fn loose<S: Simt, B: Bits, L: Lines, const C: usize>(
    s: &S,
    strip: &Strip<L>,
    tile: Tile,
    zeros: bool,
) -> [[u32; 4]; STEPS] {
    let (each, tail) = (strip.reduced.each(), strip.reduced.tail());
    let columns = (strip.columns * each).max(1);
    let ends = tail != 0 && tile.row + (tile.number(STEPS) * tile.step) as u64 + 1 == strip.rows;
    let (first, step) = lines::<S, B, L>(s, strip, tile);
    let mut w = [[0u32; 4]; STEPS];
    let (mut e, all) = (0, s.opaque(C as u32));
    while s.again(e < all) {
        let column = (e as u64).min(columns - 1);
        let (lacks, mut at, mut k) = (ends && column >= tail, first, 0);
        while k < STEPS {
            let absent = lacks && k as u32 + 1 >= tile.there;
            let row = if absent { at.wrapping_sub(strip.reduced.bytes() as u64) } else { at };
            let bits = s.load(array::<B>(row), column as usize * strip.spread as usize).to_bits() as u32;
            // Each element comes in at the end and moves on as others follow.
            w[k] = appended::<B, C>(w[k], if zeros && absent { 0 } else { bits });
            at = tile.next(s, k, at, step);
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
