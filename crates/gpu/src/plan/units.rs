//! Units of memory: stretches that have all elements of one output, or of several side by side.

use std::ops::Range;

use warpfold_array::problem::Dim;
use warpfold_kernels::reduce::shape::stage::LINES;

use super::policy::{STAGED_GAP, TURN_SHARE};

/// Bytes that fit a warp's lines wherever they begin.
pub(super) const FIT: usize = 16 * LINES as usize - 15;

/// Bytes of a turn, at most.
const MOST_TURN: usize = 1 << 31;

/// Logarithms of the elements of a stretch that leaves a part: from 4 on if outputs are taken in pairs, whose parts are
/// small.
pub(super) const SUBTREES: Range<u32> = 5..10;

/// Units of memory that follow one another.
#[derive(Clone, Copy)]
pub(super) struct Units {
    /// From unit to unit.
    pub(super) along: Dim,
    /// The outputs of a unit: side by side.
    pub(super) columns: Dim,
    /// Bytes of a unit.
    pub(super) bytes: usize,
    /// Lines for which each unit has room, if units are staged one by one.
    pub(super) lines: Option<usize>,
    /// Units that fit a tile.
    pub(super) fit: usize,
    /// The turns in which a unit has its elements, if there are several; `bytes` are those of one.
    pub(super) turns: Option<Turns>,
}

impl Units {
    /// Units of a tile, at most.
    pub(super) fn most(&self) -> usize {
        self.fit.min(self.along.len)
    }

    /// Units of one element each, which are not staged.
    pub(super) fn elements(along: Dim, size: usize) -> Self {
        Self { along, columns: Dim { len: 1, ..along }, bytes: size, lines: None, fit: LINES as usize, turns: None }
    }

    /// Units of `bytes` each, of which a tile has as many as fit `room` bytes: [`FIT`], or more.
    pub(super) fn of(along: Dim, columns: Dim, bytes: usize, room: usize) -> Option<Self> {
        // Where one fits, it does wherever the array begins: so both plans of a reduction have the same kernel, but for
        // rows of half a tile, of which only one fits if they do not begin with lines.
        if bytes > FIT {
            return None;
        }
        let pitch = along.x as usize;
        if pitch <= bytes + bytes / STAGED_GAP {
            let fit = (room - bytes).checked_div(pitch).unwrap_or(LINES as usize) + 1;
            return Some(Self { along, columns, bytes, lines: None, fit, turns: None });
        }
        let lines = (bytes + 15).div_ceil(16);
        Some(Self { along, columns, bytes, lines: Some(lines), fit: LINES as usize / lines, turns: None })
    }
}

/// Turns in which outputs have their elements.
#[derive(Clone, Copy)]
pub(super) struct Turns {
    /// Bytes from one to the next.
    pub(super) far: i64,
    /// How many stretches of memory a tile has, at most: one of each turn, or one of all that are nested.
    pub(super) most: usize,
    /// Whether all turns of a unit lie in one stretch of memory.
    pub(super) nested: bool,
    /// Elements of one.
    pub(super) run: usize,
    /// Bytes of a unit in one, if a tile has a single unit: of its elements that are in the tile.
    pub(super) alone: usize,
}

impl Units {
    /// Units of `bytes` in each of some turns, of which a tile has `len` elements.
    pub(super) fn turned(along: Dim, columns: Dim, [far, run]: [Dim; 2], len: usize, size: usize) -> Option<Self> {
        let of = |elements: usize| (elements - 1).saturating_mul(run.x as usize).saturating_add(columns.len * size);
        let (bytes, alone) = (of(run.len), of(run.len.min(len)));
        // A stretch may begin with the last element of a turn.
        let most = if len < far.len * run.len { (run.len + len - 2) / run.len + 1 } else { far.len };
        let room = (16 * (LINES as usize / most)).checked_sub(15)?;
        let pitch = along.x.unsigned_abs();
        let beside = along.len > 1 && along.x > 0 && bytes <= room && pitch <= bytes + bytes / STAGED_GAP;
        let fit = if beside { (room - bytes) / pitch + 1 } else { 1 };
        // Where lines are mostly others', reading elements where they lie is faster.
        let wide = if fit > 1 { (fit.min(along.len) - 1) * pitch + bytes } else { alone };
        let dense = 100 * wide >= TURN_SHARE * 16 * (wide + 15).div_ceil(16);
        let turns = Turns { far: far.x as i64, most, nested: false, run: run.len, alone };
        // Lanes count a turn's bytes in 32 bits, and the last turn is that which ends last.
        let counts = bytes < MOST_TURN && far.x > 0 && far.x as usize >= bytes;
        let fits = alone <= room && dense && counts;
        fits.then_some(Self { along, columns, bytes, lines: None, fit, turns: Some(turns) })
    }
}

#[cfg(test)]
mod tests {
    use super::{Dim, Units};

    #[test]
    fn turns_are_counted_in_32_bits_and_do_not_overlap() {
        let axis = |len: usize, x: usize| Dim { len, x: x as isize, mask: 0, out: 0 };
        let turned = |run: usize, far: usize| {
            Units::turned(axis(100, 10 * run), axis(5, 2), [axis(2, far), axis(run, 10)], 128, 2).is_some()
        };
        assert!(turned(1000, 1_000_000) && turned(1 << 27, 1 << 40));
        assert!(!turned(1 << 28, 1 << 40) && !turned(1000, 5000));
    }
}
