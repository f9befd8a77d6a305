//! How warps and blocks share sets of tiles: rows, or panels of columns.

use warpfold_kernels::reduce::shape::parts::turns;
use warpfold_kernels::reduce::shape::piece::Outputs;
use warpfold_kernels::reduce::shape::rows::Rows;
use warpfold_kernels::reduce::workspace::STATUS;

use super::policy::{ALONE, ROWS_EACH, SPREAD, WARPS};

/// The greatest power of two that is at most `x`, at least 1.
fn power_below(x: u64) -> u64 {
    1 << x.max(1).ilog2()
}

/// How warps and blocks share sets of tiles (rows, or panels of columns).
pub(super) struct Share {
    /// Tiles to a warp, a power of two.
    pub(super) tiles: u64,
    /// Warps to a set, a power of two.
    pub(super) warps: u64,
    /// Blocks to a set.
    pub(super) blocks: u64,
    /// Warps of a block.
    pub(super) block: u64,
}

impl Share {
    pub(super) fn of(sets: u64, tiles: u64, processors: u64, most: u64, limit: u64) -> Self {
        let mut each = power_below(sets * tiles / (processors * SPREAD)).min(most);
        let fits = tiles.div_ceil(WARPS).next_power_of_two();
        // A block need not share a set with others, nor leave parts, where sets are many, or the one is small.
        if (sets >= processors * ROWS_EACH && fits <= limit) || (sets == 1 && fits <= ALONE) {
            each = each.max(fits);
        }
        let warps = tiles.div_ceil(each).next_power_of_two();
        if warps <= WARPS {
            let block = (warps * sets.next_power_of_two()).min(WARPS);
            return Self { tiles: each, warps, blocks: 1, block };
        }
        Self { tiles: each, warps: WARPS, blocks: tiles.div_ceil(each * WARPS), block: WARPS }
    }

    /// Whether there are counters enough for so many sets.
    pub(super) fn counts(&self, sets: u64) -> bool {
        self.blocks == 1 || sets * turns(self.blocks) < STATUS as u64
    }

    /// The launch struct of rows of `len` elements.
    pub(super) fn rows<R, const K: usize>(
        &self,
        outputs: Outputs<K>,
        len: u64,
        abreast: bool,
        reduced: R,
    ) -> Rows<K, R> {
        Rows {
            outputs,
            len,
            tiles: self.tiles as u32,
            warps: self.warps as u32,
            blocks: self.blocks as u32,
            first: 0,
            all: self.blocks as u32,
            abreast: abreast as u32,
            reduced,
        }
    }

    pub(super) fn grid(&self, sets: u64) -> u64 {
        if self.blocks > 1 { sets * self.blocks } else { sets.div_ceil(self.block / self.warps) }
    }
}
