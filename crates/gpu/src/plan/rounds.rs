//! How the lanes of a warp share the outputs of a staged tile, and what that costs.

use warpfold_kernels::reduce::facts::Facts;
use warpfold_kernels::reduce::shape::piece::{ALONE, PACKS};

use super::policy::{DESCRIBED_COSTS, STAGED_COSTS, TILE_ROUNDS};

/// How a lane takes outputs.
pub(super) struct Sharing {
    /// Outputs of a unit, or pairs of them.
    pub(super) width: usize,
    /// Elements of a pack, for one output.
    pub(super) per: usize,
    /// Whether outputs are taken in pairs.
    pub(super) twins: bool,
}

/// How lanes share the outputs of a tile.
pub(super) struct Shared {
    /// Lanes to an output.
    pub(super) lanes: usize,
    /// Packs of a lane.
    pub(super) packs: usize,
    /// Units of a tile.
    pub(super) per_tile: usize,
    /// What an output costs: the unit is that of [`STAGED_COSTS`].
    pub(super) cost: f64,
}

impl Shared {
    /// Outputs that the lanes of a warp have side by side.
    pub(super) const fn abreast(&self) -> usize {
        32 / self.lanes
    }

    /// The cheapest way for outputs of `packs` packs each, or pairs of outputs, `width` of a unit, of tiles of `wanted`
    /// units or fewer, that `fit`; of at least as many as give each lane an output.
    pub(super) fn of(packs: usize, facts: &Facts, fit: usize, width: usize, wanted: usize) -> Self {
        let [pack, exchange, output, tile] = if facts.describes() {
            DESCRIBED_COSTS
        } else {
            let [pack, exchange, output, tile] = STAGED_COSTS;
            [pack * facts.words, exchange * facts.words, output, tile]
        };
        let lanes = (1..=32).filter_map(|most| {
            // Stretches of several lanes are whole subtrees.
            let each = packs.div_ceil(most);
            let each = if most > 1 && facts.ordered { each.next_power_of_two() } else { each };
            // No more lanes than have something of an output.
            let lanes = packs.div_ceil(each);
            (each <= if lanes == 1 { ALONE } else { PACKS } as usize).then_some((lanes, each))
        });
        let ways = lanes.flat_map(|(lanes, each)| {
            let abreast = 32 / lanes;
            // Whole lines of results that are as narrow as elements, unless there are fewer.
            let least = abreast.div_ceil(width);
            let most = fit.min(wanted.max(least));
            let most = if most > least { most - most % least } else { most };
            let levels = lanes.next_power_of_two().ilog2() as usize;
            // All that fits, or whole rounds of the lanes.
            let rounds = (most * width).div_ceil(abreast);
            let whole = (rounds.saturating_sub(TILE_ROUNDS)..=rounds).map(move |rounds| rounds * abreast / width);
            [most].into_iter().chain(whole).filter(move |&per_tile| (1..=most).contains(&per_tile)).map(
                move |per_tile| {
                    let outputs = per_tile * width;
                    let all = tile + outputs.div_ceil(abreast) * (pack * each + exchange * levels + output);
                    Self { lanes, packs: each, per_tile, cost: all as f64 / outputs as f64 }
                },
            )
        });
        ways.min_by(|a, b| a.cost.total_cmp(&b.cost)).expect("32 lanes have room for all packs of a tile")
    }
}
