//! The route: the order in which the CPU walks memory, a pure function of the problem.

use super::crossing::crossing;
use super::moves::TILE;
use super::policy::{
    BLOCK, FEW_COLUMNS, FEW_DENSE_COLUMNS, LEAST_BROUGHT, LEAST_COPIED, LEAST_INNER, LEAST_LANE, LEAST_PIECE,
    LEAST_RUN, LEAST_RUNS, LEAST_SLABS, LEAST_STRETCH, LONG_RUN, MANY_RUNS, MOST_ABREAST, MOST_BESIDE, MOST_OF_PAIR,
    MOST_OF_TILES, MOST_SLAB, SHORT_RUN, SPREAD, TILE_ITEMS,
};
use std::cmp::Reverse;
use warpfold_array::problem::{Dim, Problem};

/// What a kernel takes.
#[derive(Clone, Copy)]
pub struct Takes {
    /// Whether elements may be combined in any order.
    pub free: bool,
    /// Whether columns' units may begin in any row. Elements are read in place.
    pub staggered: bool,
    /// Whether a node is one number.
    pub number: bool,
}

/// The order in which the CPU walks the array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Route {
    /// Nothing is reduced: each element is an output.
    Singles {
        /// The number of the axis in [`Problem::kept`] that is walked along.
        lane: usize,
    },
    /// The elements of one output after the other, and many short rows at a time.
    Rows,
    /// The fastest axis in memory is kept. Several rows of a matrix are reduced at a time, column by column.
    Columns {
        /// The number of that axis in [`Problem::kept`].
        lane: usize,
    },
    /// The fastest axis in memory is kept, and has so few columns that a block of the array holds many whole rows.
    Interleaved {
        /// The number of that axis in [`Problem::kept`].
        lane: usize,
    },
    /// Small slabs lie side by side along a kept axis, each of which has a few outputs whole. Many are transposed and
    /// reduced at a time.
    Slabs {
        /// The number of that axis in [`Problem::kept`].
        slab: usize,
    },
    /// One reduced axis is the fastest in memory, and another is slower than all kept axes. Runs are reduced in memory
    /// order.
    Runs,
    /// A few outputs, or a few stretches of an output, lie between the elements along a slow reduced axis. Tiles of all
    /// of them are read in memory order, and each one's stretch is brought together.
    Tiles {
        /// The number of that axis in [`Problem::reduced`].
        lane: usize,
        /// How many of the last of [`Problem::kept`] lie within it.
        within: usize,
        /// How many of the reduced axes before the lane lie within it, the nearest ones.
        beside: usize,
    },
    /// Rows in memory hold elements of many lanes: indices of outer reduced axes, perhaps of several outputs. Their
    /// units are reduced where they lie, whatever row they begin in.
    Crossed {
        /// The number in [`Problem::reduced`] of the first of the axes along which rows are walked.
        inner: usize,
    },
    /// The fastest axis in memory is an outer reduced one (a transposed array). Tiles are transposed as they are read.
    Transposed {
        /// The number of that axis in [`Problem::reduced`].
        lane: usize,
    },
}

impl Route {
    /// The route for a problem and a kernel.
    pub fn of(problem: &Problem, takes: Takes) -> Self {
        let free = takes.free;
        let Problem { kept, reduced, size, .. } = problem;
        let long = |&lane: &usize| kept[lane].len >= TILE;
        if problem.count == 1
            && let Some(lane) = (0..kept.len()).filter(long).min_by_key(|&lane| kept[lane].x.abs())
        {
            return Route::Singles { lane };
        }
        if problem.count == 1
            && let Some(lane) = (0..kept.len()).max_by_key(|&lane| kept[lane].len)
        {
            return Route::Singles { lane };
        }
        if let Some(slab) = Self::slabs(problem) {
            return Route::Slabs { slab };
        }
        if takes.staggered
            && let Some(inner) = crossing(problem, takes.number)
        {
            return Route::Crossed { inner };
        }
        let Some((inner, outer)) = reduced.split_last() else { return Route::Rows };
        // Which axis is the fastest in memory? One that repeats its elements is none.
        let step = |dim: &Dim| if dim.x == 0 { usize::MAX } else { dim.x.unsigned_abs() };
        let nearest = |dims: &[Dim]| (0..dims.len()).min_by_key(|&i| step(&dims[i]));
        let of = |dims: &[Dim], i: Option<usize>| i.map_or(usize::MAX, |i| step(&dims[i]));
        let (lane, other) = (nearest(kept), nearest(outer));
        let is_pair = inner.len == 2 && problem.size <= MOST_OF_PAIR;
        let brings_runs = is_pair || inner.len >= LEAST_BROUGHT.0 || inner.len * problem.size >= LEAST_BROUGHT.1;
        if brings_runs
            && !free
            && let Some(tiles) = Self::tiles(problem, lane)
        {
            return tiles;
        }
        if let Some(lane) = lane
            && problem.has_runs_along(&kept[lane])
            && !outer.is_empty()
            && (inner.len < MOST_BESIDE || free && inner.len < BLOCK && problem.count >= MANY_RUNS * inner.len)
            && (kept[lane].len >= if inner.len * size < LEAST_COPIED { TILE / 4 } else { TILE } || free)
        {
            return Route::Columns { lane };
        }
        if let Some(tiles) = Self::tiles(problem, lane) {
            return tiles;
        }
        if let Some(tiles) = Self::blocks(problem) {
            return tiles;
        }
        let (of_lane, of_other) = (of(kept, lane), of(outer, other));
        match (lane, other) {
            _ if step(inner) <= of_lane.min(of_other) => match other {
                _ if Self::in_runs(problem) => Route::Runs,
                // Short runs, the next of which in memory is not the next of the index.
                Some(lane)
                    if outer[lane].x == inner.x * inner.len as isize
                        && inner.x == *size as isize
                        && inner.len * size < SHORT_RUN
                        && outer[lane].len >= FEW_COLUMNS =>
                {
                    Route::Transposed { lane }
                }
                _ => Route::Rows,
            },
            // Few columns, each of which lies in another order than that of its indices.
            (Some(kept_lane), Some(lane))
                if of_lane <= of_other
                    && kept[kept_lane].len < FEW_COLUMNS
                    && outer[lane].len >= FEW_COLUMNS
                    && of_other < step(inner) =>
            {
                Route::Transposed { lane }
            }
            (Some(lane), _) if of_lane <= of_other => {
                let few = if problem.has_dense_rows(&kept[lane]) { FEW_DENSE_COLUMNS } else { FEW_COLUMNS };
                let narrow = kept[lane].len < few;
                // Elements of few columns far apart would be gathered one by one, so a longer axis beside them is
                // taken.
                let is_wide = |dim: &Dim| dim.len >= TILE && (1..=SPREAD).contains(&dim.x);
                let wide = kept.iter().rposition(is_wide);
                if narrow
                    && !problem.has_dense_rows(&kept[lane])
                    && let Some(lane) = wide
                {
                    return Route::Columns { lane };
                }
                if narrow { Route::Interleaved { lane } } else { Route::Columns { lane } }
            }
            (_, Some(lane)) if outer[lane].len >= FEW_COLUMNS => Route::Transposed { lane },
            (Some(lane), _) if kept[lane].len >= TILE && inner.len < LEAST_INNER => Route::Columns { lane },
            _ => Route::Rows,
        }
    }

    /// Tiles, if a few outputs lie within a reduced axis that is neither the fastest nor the fastest of the index, and
    /// what is within has short runs.
    fn tiles(problem: &Problem, nearest: Option<usize>) -> Option<Self> {
        let Problem { kept, reduced, size, count, outputs, .. } = problem;
        let (inner, outer) = reduced.split_last()?;
        let column = *kept.get(nearest?).filter(|_| nearest == Some(kept.len() - 1))?;
        if *outputs > MOST_OF_TILES || *count < BLOCK || Self::in_runs(problem) {
            return None;
        }
        let end = |dim: &Dim| dim.x.unsigned_abs().saturating_mul(dim.len);
        let (lane, within) = if inner.x == *size as isize && end(inner) <= column.x as usize {
            // Runs of each output side by side, between them and those of the next index.
            let lane = outer.len().checked_sub(1)?;
            (lane, kept.iter().filter(|dim| end(dim) <= outer[lane].x.unsigned_abs()).count())
        } else if column.x == *size as isize && column.len < TILE {
            let follows = |dim: &Dim| dim.x.unsigned_abs() == end(&column);
            match outer.iter().position(follows) {
                Some(lane) => (lane, 1),
                // Rows of a few columns follow one another, in each of several stretches.
                None if !outer.is_empty()
                    && follows(inner)
                    && inner.len >= LEAST_STRETCH
                    && column.len >= FEW_COLUMNS =>
                {
                    (outer.len(), 1)
                }
                None => return None,
            }
        } else {
            return None;
        };
        let abreast: usize = kept[kept.len() - within..].iter().map(|dim| dim.len).product();
        let depth: usize = reduced[lane + 1..].iter().map(|dim| dim.len).product();
        let short = within > 0 && (inner.x != *size as isize || inner.len * size < LONG_RUN);
        let fits = depth.saturating_mul(abreast).saturating_mul(*size) <= TILE_ITEMS / 8;
        (short && fits && abreast <= MOST_ABREAST).then_some(Route::Tiles { lane, within, beside: 0 })
    }

    /// Tiles, if each index of a reduced axis has a small block of the array, whose elements do not lie in the order of
    /// their indices.
    fn blocks(problem: &Problem) -> Option<Self> {
        let Problem { kept, reduced, size, count, outputs, .. } = problem;
        let end = |dim: &Dim| dim.x.unsigned_abs().saturating_mul(dim.len);
        let is_plain = |dim: &Dim| dim.mask == 0 && dim.x > 0 && (dim.x as usize).is_multiple_of(*size);
        if *outputs > MOST_OF_TILES || *count < BLOCK || !reduced.iter().all(is_plain) {
            return None;
        }
        let product = |dims: &[Dim]| dims.iter().map(|dim| dim.len).product::<usize>();
        let mut lanes: Vec<usize> = (0..reduced.len()).filter(|&i| reduced[i].len >= LEAST_LANE).collect();
        lanes.sort_by_key(|&i| Reverse(reduced[i].x));
        lanes.into_iter().find_map(|lane| {
            let step = reduced[lane].x as usize;
            let (outer, inner) = (&reduced[..lane], &reduced[lane + 1..]);
            let beside = outer.iter().rev().take_while(|dim| end(dim) <= step).count();
            let (depth, abreast) = (product(inner), product(&outer[lane - beside..]));
            let is_short = inner.last().is_none_or(|run| run.x as usize != *size || run.len * size < LONG_RUN);
            let within = |dim: &Dim| end(dim) <= step;
            let beyond = |dim: &Dim| dim.x.unsigned_abs() >= step;
            let is_block = inner.iter().all(within) && kept.iter().chain(&outer[..lane - beside]).all(beyond);
            let bytes = depth.saturating_mul(abreast).saturating_mul(*size);
            let is_dense = bytes <= TILE_ITEMS / 8 && 2 * bytes >= step && depth * abreast > 1;
            // A run that is not tiny is copied as it lies.
            let is_row = |run: &Dim| run.x as usize == *size && run.len * size >= LEAST_PIECE;
            let is_rows = abreast == 1 && inner.len() == 1 && is_row(&inner[0]);
            let fits = is_short && is_block && is_dense && !is_rows && abreast <= MOST_ABREAST;
            fits.then_some(Route::Tiles { lane, within: 0, beside })
        })
    }

    /// The kept axis along which small slabs of more than one output, or of more than one run, lie side by side.
    fn slabs(problem: &Problem) -> Option<usize> {
        let Problem { kept, reduced, count, size, .. } = problem;
        let slab = (0..kept.len()).rev().find(|&i| kept[i].x as usize >= count.saturating_mul(*size))?;
        let (dim, inner) = (kept[slab], &kept[slab + 1..]);
        let each = inner.iter().map(|dim| dim.len).product::<usize>().checked_mul(*count)?;
        if each > MOST_SLAB || dim.len < LEAST_SLABS || inner.is_empty() && reduced.len() == 1 {
            return None;
        }
        // Rows of neighbouring outputs, with gaps between them, as far apart in a slab as from one slab to the next.
        if let ([lane], [row]) = (inner, &reduced[..])
            && has_gaps(lane, row, *size)
            && dim.x == row.x.saturating_mul(row.len as isize)
            && [dim.mask, lane.mask, row.mask] == [0; 3]
        {
            return Some(slab);
        }
        let mut dims: Vec<Dim> = inner.iter().chain(reduced).copied().collect();
        dims.sort_by_key(|dim| dim.x);
        let mut next = dims[0].x;
        let (unit, masked) = (next, dim.mask != 0);
        for dim in dims.iter().chain([&dim]) {
            if dim.x != next || next <= 0 || dim.mask != if masked { next / unit } else { 0 } {
                return None;
            }
            next = next.saturating_mul(dim.len as isize);
        }
        Some(slab)
    }

    /// Whether the elements of an output lie in so short runs that reading one output after the other would be slow.
    fn in_runs(problem: &Problem) -> bool {
        if problem.count == 0 {
            return false;
        }
        let Some((inner, outer)) = problem.reduced.split_last() else { return false };
        let (Some(slow), Some(kept)) = (outer.last(), problem.kept.first()) else { return false };
        let many = problem.count / inner.len >= LEAST_RUNS;
        many && inner.len.is_power_of_two() && (LEAST_RUN..=BLOCK).contains(&inner.len) && slow.x > kept.x
    }

    /// The route in words, for `explain`.
    pub fn describe(self) -> &'static str {
        match self {
            Route::Singles { .. } => "singles: nothing is reduced, and elements become results as they lie in memory",
            Route::Rows => "rows: each output's elements in turn, blocks of 4096 in L1",
            Route::Columns { .. } => "columns: 8 rows of a strip at a time, then a binary counter of strips",
            Route::Interleaved { .. } => {
                "interleaved: blocks of rows of the few columns, all in one go, then a binary counter of their nodes"
            }
            Route::Runs => "runs: each output's runs in memory order, then a binary counter of their nodes",
            Route::Crossed { .. } => {
                "crossed: units of 8 rows of all columns where they lie, and then their nodes in the index's order"
            }
            Route::Slabs { .. } => {
                "slabs: blocks of slabs are transposed, then all their outputs are reduced as columns"
            }
            Route::Tiles { .. } => {
                "tiles: stretches of the sequences of a few outputs, read in memory order and brought together"
            }
            Route::Transposed { .. } => "transposed: tiles are transposed into index order on the way in",
        }
    }
}

/// Whether rows of neighbours along an axis have gaps between them.
pub(super) fn has_gaps(axis: &Dim, rows: &Dim, size: usize) -> bool {
    axis.x == size as isize && rows.x > axis.x.saturating_mul(axis.len as isize)
}
