//! A tile of a panel: which rows a lane has, and where they are.

use crate::address::array;
use crate::reduce::shape::panel::{Lines, Strip};
use crate::reduce::shape::piece::share;
use crate::reduce::shape::split::STEPS;
use crate::source::{Bits, kept_words};
use warpfold_simt::Simt;

/// Where a lane's rows of a tile are.
#[derive(Clone, Copy)]
pub struct Tile {
    /// The first of them; the strip's last if it is not there.
    pub row: u64,
    /// Rows from one to the next.
    pub step: u32,
    /// How many of the eight are there.
    pub there: u32,
    /// See [`Strip::goes_on`].
    pub more: bool,
}

impl Tile {
    /// A lane's eight rows from `row`, all there, or found one by one.
    #[inline(always)]
    pub fn whole(row: u64, step: u32) -> Self {
        Self { row, step, there: STEPS as u32, more: false }
    }

    /// The rows from `row`, of which those below `rows` are there; the strip has at least one.
    #[inline(always)]
    pub fn some(row: u64, step: u32, rows: u64) -> Self {
        let left = rows.saturating_sub(row).min(1 << 16) as u32;
        Self { row: row.min(rows - 1), step, there: share(left + step - 1, step).min(STEPS as u32), more: false }
    }

    /// So many rows of a lane later.
    #[inline(always)]
    pub fn later(self, k: usize) -> Self {
        Self { row: self.row + (k as u32 * self.step) as u64, ..self }
    }

    /// The number of row `k`, or of the last that is there.
    #[inline(always)]
    pub(super) fn number(&self, k: usize) -> u32 {
        (k as u32).min(self.there.max(1) - 1)
    }

    /// The address of row `k + 1`, from that of row `k`; no address outlives its read.
    #[inline(always)]
    pub(super) fn next<S: Simt>(&self, s: &S, k: usize, at: u64, bytes: usize) -> u64 {
        let at = at.wrapping_add(if (k as u32) + 1 < self.there { bytes as u64 } else { 0 });
        at >> 32 << 32 | s.opaque(at as u32) as u64
    }
}

/// Bytes of a lane's columns.
#[inline(always)]
pub(super) const fn size<B: Bits, const C: usize>() -> u32 {
    B::SIZE * C as u32
}

/// Rows of a tile, with `blank` for those that are not there, if there is one.
#[inline(always)]
pub(super) fn filled<R: Copy>(rows: [R; STEPS], tile: Tile, blank: Option<R>) -> [R; STEPS] {
    let Some(blank) = blank else { return rows };
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| if (k as u32) < tile.there { rows[k] } else { blank },
    )
}

/// The address of a lane's first column in its first row, and the bytes to the next, of a tile in one run.
#[inline(always)]
pub(super) fn lines<S: Simt, B: Bits, L: Lines>(s: &S, strip: &Strip<L>, tile: Tile) -> (u64, usize) {
    let step = (tile.step as i64 * strip.reduced.bytes()) as usize;
    let first = strip.at(tile.row);
    // The multiples of it would take the registers that a word's columns need.
    (first, if B::SIZE <= 2 { (step >> 32) << 32 | s.anew(step as u32) as usize } else { step })
}

/// A lane's columns of eight rows, each read at once, which may not all be there, so that some are read again.
#[inline(always)]
pub(super) fn at_once_again<S: Simt, B: Bits, L: Lines, const C: usize>(
    s: &S,
    strip: &Strip<L>,
    tile: Tile,
) -> [[u32; 4]; STEPS] {
    let (mut at, step) = lines::<S, B, L>(s, strip, tile);
    let (mut rows, mut k) = ([[0; 4]; STEPS], 0);
    while k < STEPS {
        rows[k] = kept_words(s, array(at), size::<B, C>());
        at = tile.next(s, k, at, step);
        k += 1;
    }
    rows
}
