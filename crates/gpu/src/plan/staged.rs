//! Plans for outputs of few elements: units of memory, many of which fit the stretch that a warp stages.

use std::ops::Range;

use warpfold_kernels::reduce::call::CallAt;
use warpfold_kernels::reduce::shape::map::Divisor;
use warpfold_kernels::reduce::shape::parts::room;
use warpfold_kernels::reduce::shape::piece::{ALONE, PACKS};
use warpfold_kernels::reduce::shape::stage::LINES;
use warpfold_kernels::reduce::shape::staged::{APART, FLAT, LINED, Staged};
use warpfold_kernels::reduce::table::KEPT;

use super::Launch;
use super::near::is_stepped;
use super::planner::Planner;
use super::policy::{SPREAD, STAGED_COSTS, STAGED_FLAT, STAGED_GAP, STAGED_TURNS, WARPS};
use warpfold_array::problem::{Dim, Problem};

/// Bytes that fit a warp's lines wherever they begin.
const FIT: usize = 16 * LINES as usize - 15;

/// Logarithms of the elements of a stretch that leaves a part.
const SUBTREES: Range<u32> = 5..10;

/// Units of memory that follow one another.
#[derive(Clone, Copy)]
struct Units {
    /// From unit to unit.
    along: Dim,
    /// The outputs of a unit: side by side.
    columns: Dim,
    /// Bytes of a unit.
    bytes: usize,
    /// Lines for which each unit has room, if units are staged one by one.
    lines: Option<usize>,
    /// Units that fit a tile.
    fit: usize,
}

impl Units {
    /// Units of one element each, which are not staged.
    fn elements(along: Dim, size: usize) -> Self {
        Self { along, columns: Dim { len: 1, ..along }, bytes: size, lines: None, fit: LINES as usize }
    }

    /// Units of `bytes` each.
    fn of(along: Dim, columns: Dim, bytes: usize) -> Option<Self> {
        if bytes > FIT {
            return None;
        }
        let pitch = along.x as usize;
        if pitch <= bytes + bytes / STAGED_GAP {
            let fit = (FIT - bytes).checked_div(pitch).unwrap_or(LINES as usize) + 1;
            return Some(Self { along, columns, bytes, lines: None, fit });
        }
        let lines = (bytes + 15).div_ceil(16);
        Some(Self { along, columns, bytes, lines: Some(lines), fit: LINES as usize / lines })
    }
}

impl Planner<'_> {
    /// The launch for outputs of one run each, of few elements.
    pub(super) fn staged(&self, kept: &[Dim], run: Dim) -> Option<Launch<CallAt>> {
        let (size, per) = (self.problem.size, self.per() as usize);
        if !self.fold.facts.staged || run.len > PACKS as usize * 32 * per {
            return None;
        }
        let nothing = Dim { len: 1, x: 0, mask: 0, out: 0 };
        let (&inner, outer) = kept.split_last().unwrap_or((&nothing, &[]));
        let (outer, units) = if run.len == 1 {
            (outer, Units::elements(inner, size))
        } else if run.x == size as isize {
            let long = run.len.div_ceil(per) > 32 && self.problem.outputs < (self.processors * WARPS) as usize;
            (outer, Units::of(inner, nothing, run.len * size).filter(|_| !long)?)
        } else if inner.x == size as isize && run.x > 0 {
            let (&along, outer) = outer.split_last()?;
            let row = inner.len.saturating_mul(size);
            let bytes = (run.len - 1).saturating_mul(run.x as usize).saturating_add(row);
            let units = Units::of(along, inner, bytes)?;
            // Few wide units are few warps, each of which would have its columns in turns.
            let few = self.problem.outputs / inner.len < (self.processors * WARPS) as usize && inner.len > 64;
            // What is between the rows of a unit is staged, too.
            if few || units.lines.is_some() && inner.len > 1 || run.len * row < bytes / 2 {
                return None;
            }
            (outer, units)
        } else if is_stepped(run.x, size) && inner.x.abs() >= run.x {
            (outer, Units::of(inner, nothing, (run.len - 1).saturating_mul(run.x as usize) + size)?)
        } else {
            return None;
        };
        (outer.len() <= KEPT).then(|| self.units(outer, units, run, [0, 0]))
    }

    /// The launch that leaves a part of each stretch of rows of `run` elements a few steps apart, and a row's parts.
    /// The problem's outputs are rows. `beside` lies side by side between the steps: its innermost kept axis, or a
    /// reduced one, each element of which has a row of the sequence.
    pub(super) fn stretches(&self, run: Dim, beside: Option<Dim>) -> Option<(Launch<CallAt>, u64)> {
        let Problem { kept, size, .. } = self.problem;
        let columns = beside.unwrap_or(Dim { len: 1, x: 0, mask: 0, out: 0 });
        let is_row = columns.len > 1 && columns.out == 0;
        // Stretches are whole subtrees.
        let ways = SUBTREES.filter_map(|bits| {
            let len = 1usize << bits;
            let along = Dim { len: run.len.div_ceil(len), x: run.x << bits, mask: 0, out: 1 };
            let units = Units::of(along, columns, (len - 1) * run.x as usize + columns.len * size)?;
            let in_order = !(is_row && self.fold.facts.ordered) || run.len.is_multiple_of(len);
            (units.lines.is_none() && len < run.len && in_order).then_some((len, units))
        });
        let (len, mut units) = ways.max_by_key(|(len, units)| len * units.fit)?;
        let each = units.along.len;
        let parts = (each * if is_row { columns.len } else { 1 }) as u64;
        let of_row = |axis: &Dim| Dim { out: axis.out * room(parts) as isize, ..*axis };
        units.columns = if is_row { Dim { out: each as isize, ..columns } } else { of_row(&columns) };
        let outer = &kept[..kept.len() - (columns.out != 0) as usize];
        let outer: Vec<Dim> = outer.iter().map(of_row).collect();
        let beyond = if is_row { run.len } else { 0 };
        Some((self.units(&outer, units, Dim { len, ..run }, [run.len, beyond]), parts))
    }

    /// The launch for units outside which there are `outer` axes, and which are stretches of rows of `row` elements,
    /// `beyond` from column to column, or whole outputs.
    fn units(&self, outer: &[Dim], units: Units, run: Dim, [row, beyond]: [usize; 2]) -> Launch<CallAt> {
        let outputs = self.outputs::<KEPT>(outer);
        let Units { along, columns, bytes, lines, .. } = units;
        let wanted = (outputs.total * along.len as u64 / (self.processors * SPREAD)) as usize;
        let packs = run.len.div_ceil(self.per() as usize);
        let shared = Shared::of(packs, self.fold.facts.ordered, &units, wanted);
        let tiles = along.len.div_ceil(shared.per_tile) as u64;
        let dense = run.x == self.problem.size as isize;
        // Lanes that share an output are a power of two of words apart.
        let near = shared.lanes == 1 || shared.lanes * shared.packs <= STAGED_FLAT;
        let flat = dense && near && lines.is_none() && !along.x.unsigned_abs().is_multiple_of(16);
        let free = dense && row == 0 && !self.fold.facts.ordered && shared.lanes > 1;
        let lined = free && !flat && run.len * self.problem.size >= 32;
        let total = outputs.total * tiles;
        let turns = (total / (self.processors * SPREAD * 4)).clamp(1, STAGED_TURNS);
        let warps = total.div_ceil(turns);
        let block = warps.div_ceil(self.processors).clamp(1, WARPS);
        let shape = Staged {
            outputs,
            units: along.len as u64,
            pitch: along.x as i64,
            out: self.out(&along),
            width: Divisor::new(columns.len as u64),
            beside: self.out(&columns),
            lines: Divisor::new(lines.unwrap_or(1) as u64),
            len: run.len as u32,
            near: run.x as u32,
            bytes: bytes as u32,
            layout: [(lines.is_some(), APART), (flat, FLAT), (lined, LINED)]
                .map(|(is, bit)| is as u32 * bit)
                .iter()
                .sum(),
            per_tile: shared.per_tile as u32,
            turns: turns as u32,
            lanes: shared.lanes as u32,
            packs: shared.packs as u32,
            tiles,
            end: self.end(),
            row: row as u64,
            beyond: beyond as u64,
        };
        self.launch(format!("staged_{}", self.fold.name), warps.div_ceil(block), block, shape)
    }
}

/// How lanes share the outputs of a tile.
struct Shared {
    /// Lanes to an output.
    lanes: usize,
    /// Packs of a lane.
    packs: usize,
    /// Units of a tile.
    per_tile: usize,
}

impl Shared {
    /// The cheapest way for outputs of `packs` packs each, of tiles of `wanted` units or fewer; of at least as many as
    /// give each lane an output.
    fn of(packs: usize, ordered: bool, units: &Units, wanted: usize) -> Self {
        let width = units.columns.len;
        let way = |lanes: usize| {
            // Stretches of several lanes are whole subtrees.
            let each = packs.div_ceil(lanes);
            let mine = if lanes > 1 && ordered { each.next_power_of_two() } else { each };
            let most = if lanes == 1 { ALONE } else { PACKS };
            let abreast = 32 / lanes;
            let least = abreast.div_ceil(width);
            let per_tile = units.fit.min(wanted.max(least));
            let per_tile = if per_tile > least { per_tile - per_tile % least } else { per_tile };
            let [pack, exchange, output] = STAGED_COSTS;
            let cost =
                (per_tile * width).div_ceil(abreast) * (pack * mine + exchange * lanes.ilog2() as usize + output);
            let way = Self { lanes, packs: mine, per_tile };
            (mine <= most as usize).then_some((cost as f64 / (per_tile * width) as f64, way))
        };
        let ways = (0..=5).filter_map(|shift| way(1 << shift));
        let (_, best) = ways.min_by(|a, b| a.0.total_cmp(&b.0)).expect("32 lanes have room for all packs of a tile");
        best
    }
}
