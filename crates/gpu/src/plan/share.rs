//! How warps and blocks share sets of tiles: rows, or panels of columns.

use warpfold_kernels::reduce::shape::parts::turns;
use warpfold_kernels::reduce::shape::piece::Outputs;
use warpfold_kernels::reduce::shape::rows::Rows;
use warpfold_kernels::reduce::workspace::STATUS;

use super::policy::{ALONE, LAST_WAVE, ROWS_EACH, SPREAD, WARPS};

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
    /// The cheapest way for so many sets of `tiles` tiles, `most` to a warp where blocks share a set, else `limit`;
    /// `costs` as [`ROW_COSTS`](super::policy::ROW_COSTS). Of all warps a GPU has room for `resident` at a time, if
    /// that is known.
    pub(super) fn of(
        sets: u64,
        tiles: u64,
        processors: u64,
        [most, limit]: [u64; 2],
        costs: [f64; 3],
        resident: Option<u64>,
    ) -> Self {
        let enough = power_below(sets * tiles / (processors * SPREAD));
        let fits = tiles.div_ceil(WARPS).next_power_of_two();
        // A block need not share a set with others, nor leave parts, where sets are many, or the one is small.
        let alone = sets >= processors * ROWS_EACH || (sets == 1 && fits <= ALONE);
        let ways = (0..=limit.max(1).ilog2()).map(|bits| Self::by(sets, tiles, 1 << bits));
        let allowed = |way: &Self| match way.blocks {
            1 => way.tiles <= enough || alone && way.tiles <= fits,
            _ => way.tiles <= enough.min(most),
        };
        let cost = |way: &Self| way.cost(tiles, costs) * resident.map_or(1.0, |resident| way.waves(sets, resident));
        let way = ways.filter(allowed).min_by(|a, b| cost(a).total_cmp(&cost(b)));
        way.unwrap_or_else(|| Self::by(sets, tiles, 1))
    }

    /// With `each` tiles to a warp.
    fn by(sets: u64, tiles: u64, each: u64) -> Self {
        let warps = tiles.div_ceil(each).next_power_of_two();
        if warps <= WARPS {
            let block = (warps * sets.next_power_of_two()).min(WARPS);
            return Self { tiles: each, warps, blocks: 1, block };
        }
        Self { tiles: each, warps: WARPS, blocks: tiles.div_ceil(each * WARPS), block: WARPS }
    }

    /// What a set costs, in tiles of a warp. Warps of a block wait for each other, so those that have fewer tiles cost
    /// as much.
    fn cost(&self, tiles: u64, [start, longer, part]: [f64; 3]) -> f64 {
        let each = self.tiles.min(tiles) as f64;
        let taken = if self.warps == 1 { each } else { (self.tiles * self.warps * self.blocks) as f64 };
        let parts = if self.blocks > 1 { part * self.blocks as f64 } else { 0.0 };
        taken * (1.0 + start / each + longer * each.log2()) + parts
    }

    /// How much longer it takes than if all blocks ran at a time: the last ones wait for others, and then are alone.
    fn waves(&self, sets: u64, resident: u64) -> f64 {
        let waves = (self.grid(sets) * self.block) as f64 / resident as f64;
        if waves <= 1.0 || waves.fract() == 0.0 {
            return 1.0;
        }
        (waves.floor() + LAST_WAVE + (1.0 - LAST_WAVE) * waves.fract()) / waves
    }

    /// Whether there are counters enough for so many sets, whose blocks meet in groups of `size`.
    pub(super) fn counts(&self, sets: u64, size: u64) -> bool {
        self.blocks == 1 || sets * turns(self.blocks, size) < STATUS as u64
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
