//! The shape of a reduction and its launches, by the layout of the problem.

use warpfold_kernels::params::Plain;
use warpfold_kernels::reduce::any::{AXES, Stride, Strides};
use warpfold_kernels::reduce::call::{Call, CallAt, Left};
use warpfold_kernels::reduce::recipe::{Recipe, flag};
use warpfold_kernels::reduce::shape::columns::Columns;
use warpfold_kernels::reduce::shape::panel::Pitch;
use warpfold_kernels::reduce::shape::parts::{Partials, room};
use warpfold_kernels::reduce::shape::piece::{Dense, Kept, Outputs};
use warpfold_kernels::reduce::shape::shallow::Shallow;
use warpfold_kernels::reduce::shape::short::Short;
use warpfold_kernels::reduce::shape::tiny::{self, Tiny};
use warpfold_kernels::reduce::table::KEPT;

use super::Launch;
use super::choose::{Fold, recipe};
use super::limits::Limits;
use super::policy::{ANY_TILES, COLUMN_TILES, MOST_TILES, ONE_ROW_TILES, ROW_TILES, WARPS};
use super::share::Share;
use warpfold_array::Op;
use warpfold_array::problem::{Dim, Problem};
use warpfold_array::request::Spec;

/// The panels of a matrix: stretches of columns side by side.
struct Panels {
    count: u64,
    /// Lanes that take one row of a panel.
    lanes: u64,
}

/// A plan in the making.
pub(super) struct Planner<'a> {
    pub(super) fold: Fold,
    pub(super) recipe: Recipe,
    pub(super) problem: &'a Problem,
    pub(super) processors: u64,
    /// Outputs of one result: two of minmax.
    pub(super) pair: usize,
    pub(super) words: usize,
    /// The partials that launches leave for another.
    pub(super) left: Left,
}

impl<'a> Planner<'a> {
    pub(super) fn new(spec: &Spec, fold: Fold, fast: bool, problem: &'a Problem, limits: &Limits) -> Self {
        Self {
            fold,
            recipe: recipe(spec, problem.count as u64, fast),
            problem,
            processors: limits.multiprocessors as u64,
            pair: if spec.op == Op::MinMax { 2 } else { 1 },
            words: 0,
            left: Left::NONE,
        }
    }

    /// Elements of 16 bytes.
    pub(super) fn per(&self) -> u64 {
        16 / self.problem.size as u64
    }

    /// Elements of a tile of a row.
    pub(super) fn tile(&self) -> u64 {
        256 * self.per()
    }

    pub(super) fn launch<G: Plain>(&self, entry: String, grid: u64, warps: u64, shape: G) -> Launch<CallAt> {
        let call = Call { at: CallAt::default(), left: self.left, recipe: self.recipe, shape };
        Launch::new(entry, u32::try_from(grid).unwrap_or(u32::MAX), warps as u32 * 32, &call)
    }

    /// Elements from one output to the next.
    fn out(&self, dim: &Dim) -> i64 {
        dim.out as i64 * self.pair as i64
    }

    /// Bytes from the first element to the end of the last in memory.
    pub(super) fn end(&self) -> u64 {
        let last = |dim: &Dim| (dim.x.max(0) * (dim.len as isize - 1)) as u64;
        self.problem.kept.iter().chain(&self.problem.reduced).map(last).sum::<u64>() + self.problem.size as u64
    }

    /// Kept axes, of which the last given varies fastest.
    pub(super) fn outputs<const K: usize>(&self, kept: &[Dim]) -> Outputs<K> {
        let mut outputs = Outputs { total: 1, axes: kept.len() as u64, axis: [Kept::default(); K] };
        for (to, dim) in outputs.axis.iter_mut().zip(kept.iter().rev()) {
            *to = Kept { len: dim.len as u64, x: dim.x as i64, mask: dim.mask as i64, out: self.out(dim) };
            outputs.total *= dim.len as u64;
        }
        outputs
    }

    /// The launches of the fast kernels, if the shape is one of theirs.
    pub(super) fn fast(&mut self) -> Option<Vec<Launch<CallAt>>> {
        let Problem { kept, reduced, .. } = self.problem;
        match reduced[..] {
            [axis] => Some(vec![self.one(kept, axis)?]),
            [outer, inner] => {
                if let Some(launch) = self.segments(kept, outer, inner) {
                    return Some(vec![launch]);
                }
                self.twice(kept, outer, inner)
            }
            _ => None,
        }
    }

    /// One reduced axis.
    pub(super) fn one(&mut self, kept: &[Dim], axis: Dim) -> Option<Launch<CallAt>> {
        let size = self.problem.size as isize;
        if axis.x == size && kept.len() <= KEPT {
            return self.rows(kept, axis.len as u64, Dense { stride: 0, segment: 63, end: self.end() });
        }
        let (&columns, outer) = kept.split_last()?;
        if columns.x == size && outer.len() <= KEPT && (!self.fold.facts.places || axis.len < u32::MAX as usize) {
            return self.columns(outer, columns, axis);
        }
        None
    }

    /// Two reduced axes, of which the inner lies side by side and is a power of two of tiles long.
    pub(super) fn segments(&mut self, kept: &[Dim], outer: Dim, inner: Dim) -> Option<Launch<CallAt>> {
        let packs = inner.len * self.problem.size / 16;
        let whole = inner.len.is_power_of_two() && packs >= 256;
        if inner.x != self.problem.size as isize || !whole || kept.len() > KEPT {
            return None;
        }
        let reduced = Dense { stride: outer.x as i64, segment: packs.ilog2() as u64, end: self.end() };
        self.rows(kept, (outer.len * inner.len) as u64, reduced)
    }

    /// Two reduced axes, one after the other: parts of the inner, then the parts along the outer.
    fn twice(&mut self, kept: &[Dim], outer: Dim, inner: Dim) -> Option<Vec<Launch<CallAt>>> {
        if self.fold.facts.ordered && !inner.len.is_power_of_two() {
            return None;
        }
        let parts = self.problem.outputs * outer.len;
        if parts * self.fold.facts.words * 4 > self.problem.outputs * self.problem.count * self.problem.size / 4 {
            return None;
        }
        let first: Vec<Dim> = kept.iter().copied().chain([Dim { out: 0, ..outer }]).collect();
        let finish = Partials { outputs: self.outputs::<KEPT>(kept), count: outer.len as u64 };
        if kept.len() >= KEPT {
            return None;
        }
        self.recipe.flags |= flag::PARTS;
        // Planned twice: the first plan gives the number of words of the launch's own partials. The partials for the
        // second launch lie after them.
        self.one(&first, inner)?;
        self.left = Left { from: self.words as u64, within: outer.len as u64, each: inner.len as u64 };
        let launch = self.one(&first, inner)?;
        self.recipe.flags &= !flag::PARTS;
        self.words += parts * self.fold.facts.words;
        let grid = finish.outputs.total;
        let last = self.launch(format!("parts_{}", self.fold.name), grid, WARPS, finish);
        Some(vec![launch, last])
    }

    /// Elements of an output side by side.
    pub(super) fn rows(&mut self, kept: &[Dim], len: u64, reduced: Dense) -> Option<Launch<CallAt>> {
        let outputs = self.outputs::<KEPT>(kept);
        let total = outputs.total;
        let packs = len.div_ceil(self.per()).next_power_of_two();
        if self.fold.facts.few && packs == 1 {
            let warps = total.div_ceil(tiny::ROWS as u64).min(WARPS);
            let grid = total.div_ceil(tiny::ROWS as u64 * warps);
            return Some(self.launch(format!("tiny_{}", self.fold.name), grid, warps, Tiny { outputs, len }));
        }
        if self.fold.facts.short
            && packs <= 4 * 32
            && reduced.segment == 63
            && (packs <= 32 || total >= self.processors * WARPS)
        {
            let (lanes, steps) = (packs.min(32), packs.div_ceil(32));
            let per_warp = 8 / steps * (32 / lanes);
            let warps = total.div_ceil(per_warp).min(WARPS);
            let shape = Short { outputs, len, lanes: lanes as u32, steps: steps as u32 };
            let grid = total.div_ceil(per_warp * warps);
            return Some(self.launch(format!("short_{}", self.fold.name), grid, warps, shape));
        }
        let most = if total == 1 { ONE_ROW_TILES } else { ROW_TILES };
        let share = Share::of(total, len.div_ceil(self.tile()), self.processors, most, MOST_TILES);
        if !share.counts(total) {
            return None;
        }
        if share.blocks > 1 {
            self.words = (total * room(share.blocks)) as usize * self.fold.facts.words;
        }
        let shape = share.rows(outputs, len, reduced);
        Some(self.launch(format!("rows_{}", self.fold.name), share.grid(total), share.block, shape))
    }

    /// Outputs side by side.
    fn columns(&mut self, outer: &[Dim], columns: Dim, rows: Dim) -> Option<Launch<CallAt>> {
        let (width, wide) = (columns.len as u64, self.fold.facts.wide);
        let lanes = width.div_ceil(wide).next_power_of_two().min(32);
        let panels = width.div_ceil(lanes * wide);
        let outputs = self.outputs::<KEPT>(outer);
        if self.fold.facts.few && rows.len <= 8 && width >= 128 {
            let warps = width.div_ceil(32 * wide).min(WARPS).next_power_of_two();
            let panels = width.div_ceil(32 * wide * warps);
            let (x, out) = (columns.x as i64, self.out(&columns));
            let narrow = self.fold.narrow && out == 1;
            let mut reduced = self.pitch(outer, width, rows);
            // Reading several columns at once does not pay for writing their results one by one.
            reduced.aligned &= (narrow || !self.fold.facts.packed) as u64;
            let (grid, rows) = (outputs.total * panels, rows.len as u64);
            let shape = Shallow { outputs, width, x, out, rows, narrow: narrow as u64, panels, reduced };
            return Some(self.launch(format!("shallow_{}", self.fold.name), grid, warps, shape));
        }
        let reduced = self.pitch(outer, width, rows);
        let steps = (rows.len as u64).div_ceil(reduced.each);
        let sets = outputs.total * panels;
        let share = Share::of(sets, steps.div_ceil(8 * (32 / lanes)), self.processors, COLUMN_TILES, COLUMN_TILES);
        if !share.counts(sets) {
            return None;
        }
        if share.blocks > 1 {
            self.words = (sets * lanes * wide * room(share.blocks)) as usize * self.fold.facts.words;
        }
        let shape = self.panels(outputs, columns, Panels { count: panels, lanes }, steps, &share, reduced);
        let class = if lanes < 32 && self.fold.facts.ordered { "narrow" } else { "columns" };
        Some(self.launch(format!("{class}_{}", self.fold.name), share.grid(sets), share.block, shape))
    }

    /// The launch struct of `rows` rows of columns, in panels.
    fn panels<R, const K: usize>(
        &self,
        outputs: Outputs<K>,
        columns: Dim,
        panels: Panels,
        rows: u64,
        share: &Share,
        reduced: R,
    ) -> Columns<K, R> {
        Columns {
            outputs,
            width: columns.len as u64,
            x: columns.x as i64,
            mask: columns.mask as i64,
            out: self.out(&columns),
            rows,
            panels: panels.count,
            lanes: panels.lanes as u32,
            warps: share.warps as u32,
            tiles: share.tiles as u32,
            blocks: share.blocks as u32,
            first: 0,
            all: share.blocks as u32,
            reduced,
        }
    }

    /// How the rows of `width` columns lie.
    fn pitch(&self, outer: &[Dim], width: u64, rows: Dim) -> Pitch {
        let (size, wide) = (self.problem.size as u64, self.fold.facts.wide);
        let read = (size * wide) as isize;
        let aligned = |pitch: isize| pitch % read == 0 && outer.iter().all(|d| d.x % read == 0);
        let (len, dense) = (rows.len as u64, rows.x == (size * width) as isize);
        let each = wide / width.min(wide);
        if self.fold.facts.packed && dense && each > 1 && width.is_power_of_two() && len >= 2 * each {
            return Pitch { bytes: read as i64, aligned: aligned(read) as u64, each, tail: len % each * width };
        }
        let aligned = width.is_multiple_of(wide) && aligned(rows.x);
        Pitch { bytes: rows.x as i64, aligned: aligned as u64, each: 1, tail: 0 }
    }

    /// Any elements.
    pub(super) fn any(&mut self) -> Launch<CallAt> {
        let Problem { kept, reduced, count, .. } = self.problem;
        let count = *count as u64;
        let mut strides = Strides { axes: reduced.len() as u64, axis: [Stride::default(); AXES] };
        for (to, dim) in strides.axis.iter_mut().zip(reduced.iter().rev()) {
            *to = Stride { len: dim.len as u64, x: dim.x as i64, mask: dim.mask as i64 };
        }
        let inner = self.problem.inner();
        let has_columns = self.fold.facts.columns;
        let side_by_side =
            kept.last().filter(|d| has_columns && d.len >= 32 && (d.x.abs() < inner.x.abs() || count <= 64));
        let name = &self.fold.name;
        if let Some(&columns) = side_by_side {
            let outputs = self.outputs::<AXES>(&kept[..kept.len() - 1]);
            let panels = (columns.len as u64).div_ceil(32);
            let sets = outputs.total * panels;
            let share = Share::of(sets, count.div_ceil(8), self.processors, ANY_TILES[1], ANY_TILES[1]);
            if share.counts(sets) {
                let shape = self.panels(outputs, columns, Panels { count: panels, lanes: 32 }, count, &share, strides);
                let launch = self.launch(format!("any_columns_{name}"), share.grid(sets), share.block, shape);
                if share.blocks > 1 {
                    self.words = (sets * 32 * room(share.blocks)) as usize * self.fold.facts.words;
                }
                return launch;
            }
        }
        let outputs = self.outputs::<AXES>(kept);
        let total = outputs.total;
        let share = Share::of(total, count.div_ceil(256), self.processors, ROW_TILES, ANY_TILES[0]);
        let shape = share.rows(outputs, count, strides);
        let launch = self.launch(format!("any_rows_{name}"), share.grid(total), share.block, shape);
        if share.blocks > 1 {
            self.words = (total * room(share.blocks)) as usize * self.fold.facts.words;
        }
        launch
    }
}
