//! Where a lane's rows are.

use crate::reduce::shape::panel::{Lines, Strip};
use crate::reduce::shape::split::STEPS;
use crate::source::Bits;
use warpfold_simt::Simt;

/// Where a lane's rows of a tile are.
#[derive(Clone, Copy)]
pub struct Tile {
    /// The first of them.
    pub row: u64,
    /// Rows from one to the next, a power of two.
    pub step: u32,
}

impl Tile {
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
pub const fn size<B: Bits, const C: usize>() -> u32 {
    B::SIZE * C as u32
}

/// The address of a lane's first column in its first row, and the bytes to the next, of a tile in one run.
#[inline(always)]
pub fn lines<S: Simt, B: Bits, L: Lines>(s: &S, strip: &Strip<L>, tile: Tile) -> (u64, usize) {
    let step = (tile.step as i64 * strip.reduced.bytes()) as usize;
    let first = strip.at(tile.row);
    // The multiples of it would take the registers that a word's columns need.
    (first, if B::SIZE <= 2 { (step >> 32) << 32 | s.anew(step as u32) as usize } else { step })
}
