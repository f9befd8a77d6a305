//! How warps and blocks share sets of tiles: rows, or panels of columns.

use warpfold_array::problem::Dim;
use warpfold_kernels::reduce::facts::Facts;
use warpfold_kernels::reduce::shape::parts::turns;
use warpfold_kernels::reduce::shape::piece::Outputs;
use warpfold_kernels::reduce::shape::rows::Rows;
use warpfold_kernels::reduce::workspace::STATUS;

use super::policy::{ALONE, DESCRIBING_TEAM, LAST_WAVE, MOST_TEAM, ROOM, ROWS_EACH, SPREAD, TEAM, WARPS};

/// How the lanes of a block share rows of columns.
#[derive(Clone, Copy)]
pub(super) enum Lanes {
    /// So many lanes of a warp, a power of two, take one row, and the others the next rows.
    Abreast(u64),
    /// So many threads that follow one another, whichever warps these are of, have rows of their own.
    Team(u64),
    /// A warp has the columns of several units, along an axis, of so many lanes each.
    Units(Dim, u64),
}

impl Lanes {
    /// Lanes that take one row of a panel.
    pub(super) fn beside(&self) -> u64 {
        match *self {
            Self::Abreast(lanes) | Self::Team(lanes) => lanes,
            Self::Units(..) => 32,
        }
    }

    /// Blocks on a multiprocessor, if it has so many of whole size: of smaller ones there is room for more.
    pub(super) fn blocks(&self, whole: u64) -> u64 {
        match *self {
            Self::Team(lanes) => (whole * 32 * WARPS / (teams(lanes) * lanes)).min(ROOM),
            _ => whole,
        }
    }
}

/// Whether columns that need so many lanes are better taken by teams than by warps, some of whose lanes would be
/// without columns, or have other rows. On an H100, var f16 (2064888,65) took 187 us by warps and 161 by teams, var f16
/// (2684354,50) 400 staged and 141, describe bf16 (6710886,20) 427 and 233; but var f32 (1032444,65) 124 and 156, and
/// var f32 (3355443,20) 132 and 150.
pub(super) fn has_teams(facts: &Facts, size: usize, lanes: u64) -> bool {
    let describes = facts.describes();
    let least = if describes { DESCRIBING_TEAM } else { TEAM[(size > 2) as usize] };
    let most = if describes { u64::MAX } else { MOST_TEAM[(size > 2) as usize] };
    facts.teams && (least..=most).contains(&lanes) && !lanes.is_multiple_of(32)
}

/// Teams of so many lanes that a block has: a power of two, at least 8.
pub(super) fn teams(lanes: u64) -> u64 {
    1 << (32 * WARPS / lanes).ilog2()
}

/// Lanes of a team that has at least so many, at most 32: so many that teams fill warps.
pub(super) fn team(lanes: u64) -> u64 {
    lanes.next_multiple_of(32 / teams(lanes).min(32))
}

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
    /// `costs` as [`ROW_COSTS`](super::policy::ROW_COSTS). A block has at most so many `warps`, a power of two. Of all
    /// warps a GPU has room for `resident` at a time, if that is known.
    pub(super) fn of(
        sets: u64,
        tiles: u64,
        processors: u64,
        [most, limit]: [u64; 2],
        costs: [f64; 3],
        warps: u64,
        resident: Option<u64>,
    ) -> Self {
        let enough = power_below(sets * tiles / (processors * SPREAD));
        let fits = tiles.div_ceil(warps).next_power_of_two();
        // A block need not share a set with others, nor leave parts, where sets are many, or the one is small.
        let alone = sets >= processors * ROWS_EACH || (sets == 1 && fits <= ALONE);
        let ways = (0..=limit.max(1).ilog2()).map(|bits| Self::by(sets, tiles, 1 << bits, warps));
        let allowed = |way: &Self| match way.blocks {
            1 => way.tiles <= enough || alone && way.tiles <= fits,
            _ => way.tiles <= enough.min(most),
        };
        let cost = |way: &Self| way.cost(tiles, costs) * resident.map_or(1.0, |resident| way.waves(sets, resident));
        let way = ways.filter(allowed).min_by(|a, b| cost(a).total_cmp(&cost(b)));
        way.unwrap_or_else(|| Self::by(sets, tiles, 1, warps))
    }

    /// With `each` tiles to a warp.
    fn by(sets: u64, tiles: u64, each: u64, most: u64) -> Self {
        let warps = tiles.div_ceil(each).next_power_of_two();
        if warps <= most {
            let block = (warps * sets.next_power_of_two()).min(most);
            return Self { tiles: each, warps, blocks: 1, block };
        }
        Self { tiles: each, warps: most, blocks: tiles.div_ceil(each * most), block: most }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn teams_fill_warps_and_fit_a_block() {
        for least in 1..=32 {
            let lanes = team(least);
            let threads = teams(lanes) * lanes;
            assert!((least..least + 4).contains(&lanes), "{least}: {lanes}");
            assert!(threads.is_multiple_of(32) && (128..=32 * WARPS).contains(&threads), "{lanes}: {threads}");
            assert!(teams(lanes) >= 8 && teams(lanes).is_power_of_two(), "{lanes}");
        }
    }
}
