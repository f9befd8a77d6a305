//! How warps and blocks share sets of tiles: rows, or panels of columns.

use warpfold_array::problem::Dim;
use warpfold_kernels::reduce::facts::{EXACT, Facts};
use warpfold_kernels::reduce::shape::parts::turns;
use warpfold_kernels::reduce::shape::piece::Outputs;
use warpfold_kernels::reduce::shape::rows::Rows;
use warpfold_kernels::reduce::workspace::STATUS;

use super::policy::{
    ALONE, DESCRIBING_TEAM, FULL_PANELS, LAST_WAVE, MOST_TEAM, ROOM, ROWS_EACH, SHRUNK, SPREAD, TEAM, TORN_TEAM, WARPS,
    WIDE_TEAM,
};

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

/// Whether so many columns are better taken by teams of lanes than by warps, some of whose lanes would be without
/// columns, or have other rows. On an H100, var f16 (2064888,65) took 187 us by warps and 161 by teams, var f16
/// (2684354,50) 400 staged and 141, describe bf16 (6710886,20) 427 and 233; but var f32 (1032444,65) 124 and 156, and
/// var f32 (3355443,20) 132 and 150.
pub(super) fn has_teams(facts: &Facts, size: usize, width: u64) -> bool {
    let (lanes, describes, is_large) = (width.div_ceil(facts.wide), facts.describes(), size > 2);
    let is_torn = !width.is_multiple_of(facts.wide) && (facts.wide == 8 || size == 4);
    let least = match describes {
        true => DESCRIBING_TEAM,
        false if is_torn => TORN_TEAM[is_large as usize],
        false => TEAM[is_large as usize],
    };
    let most = match (describes, facts.most <= EXACT) {
        (true, _) => u64::MAX,
        // Stretches of many columns are slow: var u8 (2684354,100) along axis 0 took an H200 1294 us so, and 170 by
        // teams.
        (_, true) => 31,
        _ => MOST_TEAM[is_large as usize],
    };
    let are_idle = !is_large && facts.wide == 8 && lanes <= WIDE_TEAM;
    let wastes = are_idle && 100 * lanes < FULL_PANELS * lanes.next_multiple_of(32) && lanes > most;
    facts.teams && ((least..=most).contains(&lanes) || wastes) && !lanes.is_multiple_of(32)
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

/// The blocks that a kernel may have.
#[derive(Clone, Copy)]
pub(super) struct Blocks {
    /// Warps of a block, at most: a power of two.
    pub(super) warps: u64,
    /// How many of so many warps a multiprocessor has room for, if that is known.
    pub(super) resident: Option<u64>,
    /// Whether blocks may have other numbers of warps than powers of two.
    pub(super) shrinks: bool,
}

impl Blocks {
    /// Of kernels of rows: min f32 (1552,7,6177) along axes 1 and 2 took an H200 72 us in blocks of eight warps, six of
    /// which had tiles, and 77 in blocks of six.
    pub(super) const OF_ROWS: Self = Self { warps: WARPS, resident: None, shrinks: false };
}

/// How warps and blocks share sets of tiles (rows, or panels of columns).
#[derive(Clone, Copy)]
pub(super) struct Share {
    /// Tiles to a warp, a power of two.
    pub(super) tiles: u64,
    /// Warps to a set, a power of two.
    pub(super) warps: u64,
    /// Blocks to a set.
    pub(super) blocks: u64,
    /// Warps of a block: those of several sets, or of one set those that have tiles.
    pub(super) block: u64,
}

impl Share {
    /// The cheapest way for so many sets of `tiles` tiles, `most` to a warp where blocks share a set, else `limit`;
    /// `costs` as [`ROW_COSTS`](super::policy::ROW_COSTS). Blocks shrink to the warps that have tiles: on an H200, mean
    /// bf16 (361,371794) along axis 0, whose 46 tiles would take six of eight warps or three of four, took 110 us with
    /// idle warps.
    pub(super) fn of(
        sets: u64,
        tiles: u64,
        processors: u64,
        [most, limit]: [u64; 2],
        costs: [f64; 3],
        Blocks { warps, resident, shrinks }: Blocks,
    ) -> Self {
        let enough = power_below(sets * tiles / (processors * SPREAD));
        let fits = tiles.div_ceil(warps).next_power_of_two();
        // A block need not share a set with others, nor leave parts, where sets are many, or small.
        let small = ALONE[(2 * sets >= processors) as usize];
        let alone = sets >= processors * ROWS_EACH || fits <= small;
        let ways = (0..=limit.max(1).ilog2()).map(|bits| Self::by(sets, tiles, 1 << bits, warps));
        let ways = ways.flat_map(|way| [Some(way), way.shrunk(tiles).filter(|_| shrinks)]).flatten();
        let allowed = |way: &Self| match way.blocks {
            1 => way.tiles <= enough || alone && way.tiles <= fits,
            _ => way.tiles <= enough.min(most),
        };
        let waves = |way: &Self, resident: u64| way.waves(sets, processors, resident, warps);
        let cost = |way: &Self| way.cost(tiles, costs) * resident.map_or(1.0, |resident| waves(way, resident));
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

    /// Without the warps that have no tiles, if all of a block's are of one set.
    fn shrunk(self, tiles: u64) -> Option<Self> {
        let busy = tiles.div_ceil(self.tiles);
        (self.blocks == 1 && busy < self.warps).then_some(Self { block: busy, ..self })
    }

    /// What a set costs, in tiles of a warp. Warps of a block wait for each other, so those that have fewer tiles cost
    /// as much.
    fn cost(&self, tiles: u64, [start, longer, part]: [f64; 3]) -> f64 {
        let each = self.tiles.min(tiles) as f64;
        let warps = self.warps.min(self.block);
        let taken = if self.warps == 1 { each } else { (self.tiles * warps * self.blocks) as f64 };
        let taken = if self.block < self.warps { SHRUNK * taken } else { taken };
        let parts = if self.blocks > 1 { part * self.blocks as f64 } else { 0.0 };
        taken * (1.0 + start / each + longer * each.log2()) + parts
    }

    /// How much longer it takes than if all blocks ran at a time: the last ones wait for others, and then are alone; of
    /// blocks that have shrunk, fewer warps may fit than of `resident` whole ones of `most`.
    fn waves(&self, sets: u64, processors: u64, resident: u64, most: u64) -> f64 {
        let has_shrunk = self.block < self.warps;
        let fit = if has_shrunk { (resident * most / self.block).min(ROOM.max(resident)) } else { resident };
        let room = fit * if has_shrunk { self.block } else { most };
        let waves = (self.grid(sets) * self.block) as f64 / (processors * room) as f64;
        if waves <= 1.0 {
            return 1.0;
        }
        let last = if waves.fract() > 0.0 { LAST_WAVE + (1.0 - LAST_WAVE) * waves.fract() } else { 0.0 };
        (resident * most) as f64 / room as f64 * (waves.floor() + last) / waves
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
        if self.blocks > 1 { sets * self.blocks } else { sets.div_ceil((self.block / self.warps).max(1)) }
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
