//! Plans of reductions in the order of the tree of columns that lie side by side and follow one another: lanes walk
//! down them abreast, and leave parts of whole subtrees, which another launch reduces.

use warpfold_array::problem::Problem;
use warpfold_kernels::reduce::shape::abreast::{Abreast, ROWS};
use warpfold_kernels::reduce::shape::map::Divisor;

use super::choose::Fold;
use super::limits::Limits;
use super::parts::{joined, parting};
use super::policy::{
    ABREAST_BLOCKS, ABREAST_COLUMNS, ABREAST_OTHERS, ABREAST_START, ABREAST_SUMS, ABREAST_TILES, ABREAST_TRIED, WARPS,
};
use super::tiled::{Columns, Laid, NO_AXIS, axes, going_on, outer};
use super::transpose::{Asked, Copied};

/// Lanes of a warp.
const LANES: usize = 32;

/// Whether lanes take this fold so, and faster than subtrees or nodes are left of columns: those need a large power of
/// two in the length of the innermost axis. On an H200 ([`ABREAST_SUMS`], `abreast-plans.txt`), 256 MiB in Fortran
/// order, us so and as nodes or subtrees: sum bf16 (62137,2160) 107 and 242, but (699050,192) 132 and 103; sum f64
/// (349525,96) 101 and 87; var f32 (699050,96) 137 and 175, but (349525,192) 130 and 128; of short columns, sum f64
/// (684784,49) 124 and by tiles 148, but (860370,39) 140 and 131.
fn is_better(fold: &Fold, problem: &Problem, rows: usize, window: usize) -> bool {
    let power = problem.reduced.last().map_or(1, |axis| 1 << axis.len.trailing_zeros().min(31));
    let most = match &*fold.name {
        "sum_f64" => ABREAST_SUMS / 4,
        "sum_f32" => ABREAST_SUMS,
        "var_f32" | "var_f64" | "livemean_f32" | "livevar_f32" => ABREAST_OTHERS,
        _ => 0,
    };
    // The kernel needs a window of rows in any case: a subtree goes on in one next column at most.
    power <= most && rows >= 3 * window
}

/// Plans both launches. None, if neighbours in memory are no columns of so many rows, or so few that most lanes would
/// have none.
pub(super) fn abreast(asked: &Asked<'_>, problem: &Problem, limits: &Limits) -> Option<Copied> {
    let Laid { fold, numbered, columns, window, parts } = Laid::of(asked, problem, limits)?;
    let Columns { split, rows, inner, run, start, .. } = &columns;
    let size = numbered.size;
    if !is_better(&fold, problem, *rows, window) || inner.is_some() || run.x as usize != size {
        return None;
    }
    let asked = Asked { fold: &fold, ..*asked };
    let planner = parting(&asked, &numbered, limits);
    let mut outer = outer(&numbered, &columns);
    let down = &numbered.reduced[*split..];
    let high = going_on(&mut outer, &columns).unwrap_or(NO_AXIS);
    let beside = run.len * high.len;
    // Sixteen columns: a warp has two tiles, one below the other, if there are rows for all warps of a block.
    let tiles = if 2 * beside == LANES && down.len() == 1 && *rows >= ABREAST_TILES * window { 2 } else { 1 };
    if tiles == 1 && beside < ABREAST_COLUMNS {
        return None;
    }
    let units: usize = outer.iter().map(|axis| axis.len).product();
    let warps = if tiles > 1 { WARPS as usize } else { beside.div_ceil(LANES).min(WARPS as usize) };
    let across = if tiles > 1 { 1 } else { beside.div_ceil(LANES * warps) };
    let beyond = if rows.is_multiple_of(window) { 0 } else { window - 1 };
    // Tiles of a block, one below the other.
    let each = if tiles > 1 { warps * tiles } else { 1 };
    let cut = Cut { rows: *rows, window, beyond, each, beside: units * across };
    let [fresh, below] = cut.best(limits.multiprocessors as usize * ABREAST_BLOCKS * WARPS as usize / warps);
    let shape = Abreast {
        outer: axes(&outer)?,
        across: axes(&numbered.reduced[..*split])?,
        down: axes(down)?,
        columns: numbered.reduced[..*split].iter().map(|axis| axis.len as u64).product(),
        rows: *rows as u64,
        start: *start,
        run: beside as u64,
        low: Divisor::new(run.len as u64),
        numbers: [run.mask as i64, high.mask as i64],
        outs: [run.out as i64, high.out as i64],
        beside: Divisor::new(across as u64),
        below: Divisor::new(below as u64),
        wide: Divisor::new(beside.min(LANES) as u64),
        fresh: fresh as u32,
        tiles: tiles as u32,
        beyond: beyond as u32,
        size: size as u32,
    };
    let grid = (units * across * below) as u64;
    if grid >= 1 << 31 || beside >= 1 << 31 || below * tiles * warps >= 1 << 31 {
        return None;
    }
    let first = planner.launch(format!("abreast_{}", fold.name), grid, warps as u64, shape);
    joined(first, parts, &asked, problem, limits)
}

/// How columns are cut into tiles.
struct Cut {
    rows: usize,
    window: usize,
    /// Rows that are read on.
    beyond: usize,
    /// Tiles of a block, one below the other.
    each: usize,
    /// Blocks side by side.
    beside: usize,
}

impl Cut {
    /// Rows of a tile and blocks one below the other, so that waves of so many blocks have few rows in all.
    fn best(&self, slots: usize) -> [usize; 2] {
        let most = (ROWS - self.window) / self.window * self.window;
        let fresh = |below: usize| self.rows.div_ceil(below * self.each).next_multiple_of(self.window);
        let cost = |below: usize| (self.beside * below).div_ceil(slots) * (fresh(below) + self.beyond + ABREAST_START);
        let least = self.rows.div_ceil(most * self.each);
        let below = (least..least + ABREAST_TRIED).min_by_key(|&below| cost(below)).unwrap_or(least);
        let fresh = fresh(below);
        [fresh, self.rows.div_ceil(fresh * self.each)]
    }
}
