//! The shape of a reduction and its launches, by the layout of the problem.

use warpfold_kernels::params::Plain;
use warpfold_kernels::reduce::any::{AXES, Stride, Strides};
use warpfold_kernels::reduce::call::{Call, CallAt};
use warpfold_kernels::reduce::recipe::Recipe;
use warpfold_kernels::reduce::shape::beside::Beside;
use warpfold_kernels::reduce::shape::map::{Divisor, Map};
use warpfold_kernels::reduce::shape::parts::{PANEL_GROUP, grouped, room};
use warpfold_kernels::reduce::shape::piece::{Dense, Kept, Outputs, Runs};
use warpfold_kernels::reduce::table::KEPT;

use std::slice;

use super::Launch;
use super::choose::{Fold, recipe};
use super::limits::Limits;
use super::policy::{
    ABREAST_BYTES, ANY_TILES, COLUMN_COSTS, MANY, MOST_TILES, ONE_ROW_TILES, ROW_COSTS, ROW_TILES, RUN_BYTES, SHALLOW,
    SHORT,
};
use super::share::{Blocks, Lanes, Share};
use warpfold_array::Op;
use warpfold_array::problem::{Dim, Problem};
use warpfold_array::request::Spec;

/// Where the elements of reduced axes lie, if there are not too many.
pub(super) fn map(reduced: &[Dim]) -> Option<Map> {
    let divisor = |axis: &Dim| Divisor::new(axis.len as u64);
    match reduced {
        [run] => Some(Map::one(run.x as i64)),
        [far, run] => Some(Map { run: divisor(run), far: far.x as i64, axes: 2, ..Map::one(run.x as i64) }),
        [beyond, far, run] => Some(Map {
            run: divisor(run),
            near: run.x as i64,
            far: far.x as i64,
            turn: divisor(far),
            beyond: beyond.x as i64,
            axes: 3,
        }),
        _ => None,
    }
}

/// Elements of a run that lanes count in 32 bits.
const MOST_RUN: usize = 1 << 30;

/// A plan in the making.
pub(super) struct Planner<'a> {
    pub(super) fold: Fold,
    pub(super) recipe: Recipe,
    pub(super) problem: &'a Problem,
    pub(super) processors: u64,
    /// Outputs of one result: two of minmax.
    pub(super) pair: usize,
    pub(super) words: usize,
    /// Whether the array begins with a line of 16 bytes.
    pub(super) aligned: bool,
    /// Places of a row's parts and elements of each, if columns are parts of rows.
    pub(super) parts: Option<(u64, u64)>,
    /// Columns from output to output, if there are some between them.
    pub(super) skip: u64,
}

impl<'a> Planner<'a> {
    pub(super) fn new(spec: &Spec, fold: Fold, fast: bool, problem: &'a Problem, limits: &Limits) -> Self {
        let pair = if spec.op == Op::MinMax { 2 } else { 1 };
        Self { pair, ..Self::of(fold, recipe(spec, problem.count as u64, fast), problem, limits) }
    }

    /// Of a fold that is told this.
    pub(super) fn of(fold: Fold, recipe: Recipe, problem: &'a Problem, limits: &Limits) -> Self {
        let processors = limits.multiprocessors as u64;
        Self { fold, recipe, problem, processors, pair: 1, words: 0, aligned: false, parts: None, skip: 0 }
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
        let call = Call { at: CallAt::default(), recipe: self.recipe, shape };
        Launch::new(entry, u32::try_from(grid).unwrap_or(u32::MAX), warps as u32 * 32, &call)
    }

    /// Elements from one output to the next.
    pub(super) fn out(&self, dim: &Dim) -> i64 {
        dim.out as i64 * self.pair as i64
    }

    /// Bytes from the first element to the end of the last in memory.
    pub(super) fn end(&self) -> u64 {
        let last = |dim: &Dim| (dim.x.max(0) * (dim.len as isize - 1)) as u64;
        self.problem.kept.iter().chain(&self.problem.reduced).map(last).sum::<u64>() + self.problem.size as u64
    }

    pub(super) fn kept(&self, dim: &Dim) -> Kept {
        Kept { len: dim.len as u64, x: dim.x as i64, mask: dim.mask as i64, out: self.out(dim) }
    }

    /// Kept axes, of which the last given varies fastest.
    pub(super) fn outputs<const K: usize>(&self, kept: &[Dim]) -> Outputs<K> {
        let mut outputs = Outputs { total: 1, axes: kept.len() as u64, axis: [Kept::default(); K] };
        for (to, dim) in outputs.axis.iter_mut().zip(kept.iter().rev()) {
            *to = self.kept(dim);
            outputs.total *= dim.len as u64;
        }
        outputs
    }

    /// The launch of a fast kernel, if the shape is one of theirs.
    pub(super) fn fast(&mut self) -> Option<Launch<CallAt>> {
        let Problem { kept, reduced, size, count, .. } = self.problem;
        // A reduction of nothing has one row, of an element for each output.
        let one = Dim { len: 1, x: 0, mask: 0, out: 0 };
        let reduced = if reduced.is_empty() { slice::from_ref(&one) } else { reduced };
        let size = *size as isize;
        let (&run, far) = reduced.split_last()?;
        let narrow = self.fold.narrow && self.fold.facts.shallow && self.problem.reduced.is_empty();
        match kept.split_last().filter(|_| narrow) {
            Some((&columns, outer)) if columns.x == size && columns.len >= SHALLOW && outer.len() <= KEPT => {
                return self.columns(outer, columns, run);
            }
            _ => {}
        }
        if let Some(launch) = Some(run).filter(|_| far.is_empty()).and_then(|run| self.units_abreast(kept, run)) {
            return Some(launch);
        }
        if let Some(launch) = Some(run).filter(|_| far.is_empty()).and_then(|run| self.staged(kept, run)) {
            return Some(launch);
        }
        if let Some(launch) = Some(run).filter(|_| far.is_empty()).and_then(|run| self.beside(kept, run)) {
            return Some(launch);
        }
        if let Some(launch) = self.turned() {
            return Some(launch);
        }
        if far.is_empty() && run.x == size && kept.len() <= KEPT {
            return self.long("rows", kept, run.len as u64, Dense { end: self.end() }, false);
        }
        let bytes = run.len * size as usize;
        // A warp would have few elements: norm f64 (2,8192,128,16) of axes 0 and 3 took an H200 1173 us so, and 531 in
        // columns.
        let many = *count as u64 >= 32 * self.per() || self.problem.outputs < 32 || !self.fold.facts.apart;
        if run.x == size && kept.len() <= KEPT && bytes >= RUN_BYTES && run.len < MOST_RUN && many {
            let aligned = bytes.is_multiple_of(16) && far.iter().all(|d| d.x % 16 == 0);
            let reduced = Runs { map: map(reduced)?, aligned: aligned as u64, end: self.end() };
            return self.long("runs", kept, *count as u64, reduced, (bytes as u64) < ABREAST_BYTES);
        }
        if self.fold.facts.places && *count >= u32::MAX as usize {
            return None;
        }
        let (&columns, outer) = kept.split_last().unwrap_or((&one, &[]));
        if outer.len() > KEPT {
            return None;
        }
        if far.is_empty() && columns.x == size {
            return self.columns(outer, columns, run);
        }
        let stepped = if far.is_empty() { self.stepped(outer, columns, run) } else { None };
        stepped.or_else(|| self.apart(outer, columns, reduced))
    }

    /// Few outputs side by side, whose rows follow one another without a gap.
    fn beside(&mut self, kept: &[Dim], rows: Dim) -> Option<Launch<CallAt>> {
        let (&columns, outer) = kept.split_last()?;
        let (size, wide) = (self.problem.size as isize, columns.len as isize);
        let dense = columns.x == size && rows.x == wide * size;
        let most = self.fold.facts.beside;
        let has_kernel = columns.len.is_power_of_two() && (2..=most).contains(&(wide as u64));
        // Of less than a tile, a warp would have little.
        let long = (rows.len * columns.len) as u64 >= self.tile();
        if !(dense && has_kernel && long && outer.len() <= KEPT) {
            return None;
        }
        let reduced = Beside { end: self.end(), wide: wide as u64, out: self.out(&columns) };
        // Parts have room for as many columns as the kernel takes.
        let words = self.fold.facts.words;
        self.fold.facts.words *= most as usize;
        let launch = self.long("beside", outer, (rows.len * columns.len) as u64, reduced, false);
        self.fold.facts.words = words;
        launch
    }

    /// Elements of an output in tiles. Where blocks share rows, neighbouring blocks take different ones if they are
    /// `abreast`.
    pub(super) fn long<R: Plain>(
        &mut self,
        class: &str,
        kept: &[Dim],
        len: u64,
        reduced: R,
        abreast: bool,
    ) -> Option<Launch<CallAt>> {
        let outputs = self.outputs::<KEPT>(kept);
        let total = outputs.total;
        let most = if total == 1 { ONE_ROW_TILES } else { ROW_TILES };
        let share = Share::of(
            total,
            len.div_ceil(self.tile()),
            self.processors,
            [most, MOST_TILES],
            ROW_COSTS,
            Blocks::OF_ROWS,
        );
        if !share.counts(total, grouped(self.fold.facts.words as u32)) {
            return None;
        }
        if share.blocks > 1 {
            self.words = (total * room(share.blocks)) as usize * self.fold.facts.words;
        }
        let shape = share.rows(outputs, len, abreast, reduced);
        Some(self.launch(format!("{class}_{}", self.fold.name), share.grid(total), share.block, shape))
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
        // Where outputs are many, a lane for each saves what warps exchange.
        let short = if self.problem.outputs as u64 >= self.processors * MANY { SHORT } else { 64 };
        let is_short = count <= short;
        let side_by_side =
            kept.last().filter(|d| has_columns && d.len >= 32 && (d.x.abs() < inner.x.abs() || is_short));
        let name = &self.fold.name;
        if let Some(&columns) = side_by_side {
            let outputs = self.outputs::<AXES>(&kept[..kept.len() - 1]);
            let panels = (columns.len as u64).div_ceil(32);
            let sets = outputs.total * panels;
            let share =
                Share::of(sets, count.div_ceil(8), self.processors, [ANY_TILES[1]; 2], COLUMN_COSTS, Blocks::OF_ROWS);
            if share.counts(sets, PANEL_GROUP) {
                let shape = self.shared(outputs, columns, (Lanes::Abreast(32), panels), count, &share, strides);
                let launch = self.launch(format!("any_columns_{name}"), share.grid(sets), share.block, shape);
                if share.blocks > 1 {
                    self.words = (sets * 32 * room(share.blocks)) as usize * self.fold.facts.words;
                }
                return launch;
            }
        }
        let outputs = self.outputs::<AXES>(kept);
        let total = outputs.total;
        let share = Share::of(
            total,
            count.div_ceil(256),
            self.processors,
            [ROW_TILES, ANY_TILES[0]],
            ROW_COSTS,
            Blocks::OF_ROWS,
        );
        let shape = share.rows(outputs, count, false, strides);
        let launch = self.launch(format!("any_rows_{name}"), share.grid(total), share.block, shape);
        if share.blocks > 1 {
            self.words = (total * room(share.blocks)) as usize * self.fold.facts.words;
        }
        launch
    }
}
