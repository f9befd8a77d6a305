//! Plans of reductions in the order of the tree of elements that lie in another order: tiles of memory leave parts of
//! whole subtrees, which another launch reduces. Every element is read once, and nothing is copied.

use std::cmp::Reverse;

use warpfold_array::problem::{Dim, Problem};
use warpfold_kernels::reduce::shape::map::Divisor;
use warpfold_kernels::reduce::shape::parts::room;
use warpfold_kernels::reduce::shape::tiled::{Axes, Axis, GROUPS, LINES, ROWS, THREADS, Tiled, WIDE, WINDOW};
use warpfold_kernels::reduce::table::KEPT;

use super::choose::{Fold, Nodes, tiles};
use super::limits::Limits;
use super::near::{conflicts, is_near};
use super::parts::{joined, numbered, parting};
use super::policy::{TILED_BYTES, TILED_GROUP, TILED_LEAST, TILED_ROWS, TILED_STRETCH, TILED_WINDOW, TILES_SECONDS};
use super::transpose::{Asked, Copied, is_brief};

/// Lines that all banks of shared memory have.
const BANKS: usize = 8;

/// Axes, of which the last given varies fastest.
pub(super) fn axes(of: &[Dim]) -> Option<Axes<KEPT>> {
    let mut axes = Axes { count: of.len() as u64, axis: [Axis::default(); KEPT] };
    for (to, axis) in axes.axis.iter_mut().zip(of.iter().rev()) {
        let len = Divisor::new(axis.len as u64);
        *to = Axis { len, x: axis.x as i64, number: axis.mask as i64, out: axis.out as i64 };
    }
    (of.len() <= KEPT).then_some(axes)
}

/// An output's elements as columns of rows.
pub(super) struct Columns {
    /// Reduced axes that columns have; the others are the rows'.
    pub(super) split: usize,
    /// Rows of a column.
    pub(super) rows: usize,
    /// The innermost axis of rows, if it lies inside the steps of the run.
    pub(super) inner: Option<Dim>,
    /// The axis of columns, kept or reduced, whose elements share lines: upwards. `mask` is columns of an output.
    pub(super) run: Dim,
    /// Its number among the axes of [`columns`].
    at: usize,
    /// Bytes and columns from an output's first column to the run's first.
    pub(super) start: [i64; 2],
}

/// Axes of columns, kept and reduced, with the columns of an output from place to place as `mask`.
fn columns(problem: &Problem, split: usize) -> Vec<Dim> {
    let mut number = 1;
    let mut axes = Vec::new();
    for axis in problem.reduced[..split].iter().rev() {
        axes.push(Dim { mask: number, out: 0, ..*axis });
        number *= axis.len as isize;
    }
    axes.extend(problem.kept.iter().map(|axis| Dim { mask: 0, ..*axis }));
    axes.sort_by_key(|axis| Reverse(axis.x.unsigned_abs()));
    axes
}

/// The axes of columns outside runs.
pub(super) fn outer(problem: &Problem, of: &Columns) -> Vec<Dim> {
    let mut outer = columns(problem, of.split);
    outer.remove(of.at);
    outer
}

/// An axis of one place.
pub(super) const NO_AXIS: Dim = Dim { len: 1, x: 0, mask: 0, out: 0 };

/// Takes out the axis that goes on where the run ends, if there is one.
pub(super) fn going_on(outer: &mut Vec<Dim>, Columns { run, start, .. }: &Columns) -> Option<Dim> {
    let i = outer.iter().rposition(|axis| *start == [0; 2] && axis.x == run.x * run.len as isize)?;
    Some(outer.remove(i))
}

impl Columns {
    /// Those with so many reduced axes, if elements of neighbouring columns share lines.
    fn of(problem: &Problem, split: usize) -> Option<Self> {
        let Problem { reduced, size, .. } = problem;
        let rows = &reduced[split..];
        let inner = rows.last().filter(|axis| rows.len() > 1 && is_near(axis.x, *size)).copied();
        let least = inner.map_or(0, |axis| axis.x * axis.len as isize);
        let is_run = |axis: &&Dim| {
            let step = axis.x.unsigned_abs();
            let most = if least > 0 { 2 * least as usize } else { 4 * size };
            step > 0 && step >= least as usize && step <= most.min(TILED_GROUP)
        };
        if inner.is_some_and(|axis| axis.x < 0) {
            return None;
        }
        let axes = columns(problem, split);
        let at = axes.iter().rposition(|axis| is_run(&axis))?;
        let run = axes[at];
        let back = run.x < 0;
        let last = run.len as isize - 1;
        let start = if back { [(run.x * last) as i64, (run.mask * last) as i64] } else { [0; 2] };
        let run = if back { Dim { x: -run.x, mask: -run.mask, ..run } } else { run };
        let rows = rows.iter().map(|axis| axis.len).product();
        Some(Self { split, rows, inner, run, at, start })
    }

    /// The best ones: of enough rows, if there are any.
    fn best(problem: &Problem) -> Option<Self> {
        let mut best: Option<Self> = None;
        for split in (0..problem.reduced.len()).rev() {
            let Some(columns) = Self::of(problem, split) else { continue };
            let is_enough = columns.rows >= TILED_ROWS;
            best = Some(columns);
            if is_enough {
                break;
            }
        }
        best
    }
}

/// How columns are cut into tiles.
struct Cut {
    wide: usize,
    fresh: usize,
    lines: usize,
    pitch: usize,
    apart: usize,
    beyond: usize,
}

/// A problem as columns, and the parts that these leave.
pub(super) struct Laid {
    pub(super) fold: Fold,
    pub(super) numbered: Problem,
    pub(super) columns: Columns,
    /// Elements of a part, and parts of an output.
    pub(super) window: usize,
    pub(super) parts: u64,
}

impl Laid {
    /// None, if no neighbours in memory are columns of enough rows.
    pub(super) fn of(asked: &Asked<'_>, problem: &Problem, limits: &Limits) -> Option<Self> {
        let fold = tiles(asked.fold)?;
        if asked.nodes == Nodes::None && is_brief(problem, limits, TILES_SECONDS) {
            return None;
        }
        let Problem { count, size, .. } = *problem;
        let numbered = numbered(problem);
        let window = WINDOW / if fold.name.ends_with("f64") { 8 } else { 4 };
        let parts = count.div_ceil(window) as u64;
        let places = room(parts) as isize;
        let kept = numbered.kept.iter().map(|axis| Dim { out: axis.out * places, ..*axis }).collect();
        let numbered = Problem { kept, ..numbered };
        let columns = Columns::best(&numbered)?;
        // Kernels count rows in 31 bits of lines.
        let rows = numbered.reduced[columns.split..].iter();
        let far: usize = rows.map(|axis| (axis.len - 1) * axis.x.unsigned_abs()).sum();
        let is_far = far >= 1 << 34 || problem.kept.len() > KEPT;
        let is_enough = count * size >= TILED_BYTES && columns.rows > 1;
        (is_enough && !is_far).then_some(Self { fold, numbered, columns, window, parts })
    }
}

/// Plans both launches. None, if no neighbours in memory are columns of enough rows.
pub(super) fn tiled(asked: &Asked<'_>, problem: &Problem, limits: &Limits) -> Option<Copied> {
    let Laid { fold, numbered, columns, window, parts } = Laid::of(asked, problem, limits)?;
    let asked = Asked { fold: &fold, ..*asked };
    let Columns { split, rows, inner, run, start, .. } = columns;
    let size = problem.size;
    let near = run.x as usize;
    let mut outer = outer(&numbered, &columns);
    // Whole columns follow one another in the output, and in memory.
    let follows = run.mask == 1 && start[1] == 0;
    let whole = follows && rows <= 2 * TILED_ROWS && (run.len * rows >= LINES || rows < window);
    if !whole && rows < window {
        return None;
    }
    let high = if whole { None } else { going_on(&mut outer, &columns) }.unwrap_or(NO_AXIS);
    let columns = run.len * high.len;

    let mut down: Vec<Dim> = numbered.reduced[split..].to_vec();
    let (mut group, mut step) = (1, 0);
    let row = columns * near;
    if let Some(inner) = inner {
        (group, step) = (inner.len, inner.x as usize);
        down.pop();
    } else if let [only] = down[..]
        && only.x == row as isize
        && row < TILED_STRETCH
        && !whole
    {
        // Rows of few columns lie side by side: a window's rows are a group.
        (group, step) = (window, row);
        down[0] = Dim { len: only.len.div_ceil(window), x: only.x * window as isize, ..only };
    }
    let is_line = |axis: &Dim| axis.x % 16 == 0;
    let in_lines = limits.aligned && start[0] % 16 == 0 && outer.iter().chain(&down).all(is_line);
    let shape = Shape { size, near, group, step, rows, window, columns, in_lines };
    // Outputs begin with whole windows, and so do runs.
    let begins = outer.iter().all(|axis| (axis.mask.unsigned_abs() * rows).is_multiple_of(window));
    let quads = whole && begins && shape.has_quads();
    let cut = if whole { shape.whole(quads) } else { shape.cut() }?;
    let aligned = shape.are_aligned(cut.wide);
    let all = numbered.reduced[..split].iter().map(|axis| axis.len).product::<usize>();
    let even = if cut.beyond == 0 && group == window && inner.is_none() {
        step
    } else if aligned && group == 1 && !whole || quads {
        16 * cut.pitch
    } else {
        0
    };
    let planner = parting(&asked, &numbered, limits);
    let shape = Tiled {
        outer: axes(&outer)?,
        across: axes(&numbered.reduced[..split])?,
        down: axes(&down)?,
        group: Divisor::new(group as u64),
        step: step as u64,
        columns: all as u64,
        rows: rows as u64,
        start,
        run: columns as u64,
        near: near as u64,
        low: Divisor::new(run.len as u64),
        numbers: [run.mask as i64, high.mask as i64],
        befores: [run.mask as i64 * rows as i64, high.mask as i64 * rows as i64],
        outs: [run.out as i64, high.out as i64],
        beside: Divisor::new(columns.div_ceil(cut.wide) as u64),
        below: Divisor::new(if whole { 1 } else { rows.div_ceil(cut.fresh) } as u64),
        wide: Divisor::new(cut.wide as u64),
        fresh: Divisor::new(cut.fresh as u64),
        lines: Divisor::new(cut.lines as u64),
        pitch: cut.pitch as u32,
        apart: cut.apart as u32,
        beyond: cut.beyond as u32,
        spread: if whole { shape.spread(&cut, quads) } else { 0 } as u32,
        even: even as u32,
        size: size as u32,
        end: planner.end(),
    };
    let grid = outer.iter().map(|axis| axis.len as u64).product::<u64>() * shape.beside.by * shape.below.by;
    if grid.max(shape.run) >= 1 << 31 || grid * TILED_LEAST > (problem.outputs * problem.count * size) as u64 {
        return None;
    }
    let first = planner.launch(format!("tiled_{}", fold.name), grid, THREADS as u64 / 32, shape);
    joined(first, parts, &asked, problem, limits)
}

/// What decides how large tiles are.
struct Shape {
    size: usize,
    near: usize,
    group: usize,
    step: usize,
    rows: usize,
    window: usize,
    columns: usize,
    in_lines: bool,
}

impl Shape {
    /// Whether rows of tiles of so many columns begin with lines.
    fn are_aligned(&self, wide: usize) -> bool {
        self.in_lines && ((wide * self.near).is_multiple_of(16) || wide >= self.columns)
    }

    /// Lines of a group of so many columns.
    fn lines(&self, wide: usize) -> usize {
        let before = if self.are_aligned(wide) { 0 } else { 16 - self.size };
        (before + (wide - 1) * self.near + (self.group - 1) * self.step + self.size).div_ceil(16)
    }

    /// Columns of equal tiles of at most so many.
    fn wide(&self, most: usize) -> usize {
        let most = most.min(self.columns);
        let equal = self.columns.div_ceil(self.columns.div_ceil(most));
        // Tiles begin where lines do, if rows do.
        let each = if self.in_lines { (16 / self.near).max(1) } else { 1 };
        if self.columns >= 8 * most { most } else { equal.next_multiple_of(each).min(most) }
    }

    /// Whether windows of whole columns are read by quads: four columns at once, or two of 8 bytes.
    fn has_quads(&self) -> bool {
        [2, 4, 8].contains(&self.rows) && self.group == 1 && self.near == self.size && self.in_lines
    }

    /// Tiles of whole columns, of whole windows if these are read by `quads`.
    fn whole(&self, quads: bool) -> Option<Cut> {
        let (groups, beyond) = (self.rows.div_ceil(self.group), self.window - 1);
        // Columns that have what windows read on.
        let more = (beyond - 1) / self.rows + 1;
        let taken = 32 + (self.group - 1) * self.step;
        // The rows of a column are in one bank, and its neighbours in others.
        let room = if LINES / groups >= BANKS { LINES / groups / BANKS * BANKS } else { LINES / groups };
        let most = (16 * room).checked_sub(taken)? / self.near;
        let wide = self.wide(most.checked_sub(more).filter(|&wide| wide > 0)?);
        let each = if quads { (self.window / self.rows).max(16 / self.size) } else { 1 };
        let wide = if wide < self.columns { wide / each * each } else { wide };
        let (lines, pitch) = (self.lines(wide), room);
        let is_room = groups <= GROUPS && groups * pitch <= LINES && lines <= pitch && self.rows + beyond <= ROWS;
        is_room.then_some(Cut { wide, fresh: self.rows, lines, pitch, apart: 0, beyond })
    }

    /// Windows of a lane in a tile of whole columns: as many as there are, or some more if lanes then meet fewer others
    /// in a bank. The mean of bf16 (2,13,1720740,3) along axes 2 and 3 in order 1,0,3,2, tiles of three rows, had all
    /// lanes in one: 18 windows of 32 elements are 384 bytes of a row.
    fn spread(&self, cut: &Cut, quads: bool) -> usize {
        let least = (cut.wide * self.rows).div_ceil(32 * self.window);
        if quads {
            return least;
        }
        let unit = self.size.max(4);
        let together = 128 / unit;
        let at = |i: usize| {
            let (column, row) = (i / self.rows, i % self.rows);
            column * self.near + 16 * cut.pitch * (row / self.group) + row % self.group * self.step
        };
        let read = |windows: usize, step: usize| {
            conflicts((0..together).map(|lane| at(lane * windows * self.window + step) / unit), together)
        };
        let steps = (0..self.window).step_by(self.window / 4 + 1);
        let cost = |windows: usize| {
            let read: usize = steps.clone().map(|step| read(windows, step)).sum();
            windows.div_ceil(THREADS as usize / 32) * (read + steps.len() * TILED_WINDOW)
        };
        (least..=least + least / 4 + 3).min_by_key(|&windows| cost(windows)).unwrap_or(least)
    }

    /// Tiles of some rows.
    fn cut(&self) -> Option<Cut> {
        let beyond = if self.rows.is_multiple_of(self.window) { 0 } else { self.window - 1 };
        let most = TILED_STRETCH / self.size;
        // Where rows begin anywhere, fewer columns, so that all rows of a column are in one bank.
        let one = self.group == 1 && self.near == self.size && !self.in_lines;
        let wide = self.wide(if one { most - (16 / self.size - 1) } else { most.min(WIDE) });
        let lines = self.lines(wide);
        let stretch = ((wide - 1) * self.near + self.size).next_multiple_of(16);
        let mut pitch = lines;
        if self.group == self.window {
            // Windows of one column are as many banks apart as columns take.
            pitch += (stretch / 16).wrapping_sub(pitch) % BANKS;
        } else if self.group == 1 && 2 * lines > BANKS {
            pitch = lines.next_multiple_of(BANKS);
        }
        let apart = if self.group == 1 { 16 * pitch } else { stretch };
        // Rows that are read on lie behind all groups.
        let groups = |fresh: usize| {
            if self.group == 1 { fresh + beyond } else { (fresh + beyond + self.group - 1).div_ceil(self.group) + 1 }
        };
        let is_room = |fresh: usize| {
            let over = if self.group == 1 { 0 } else { beyond * apart / 16 };
            groups(fresh) <= GROUPS && groups(fresh) * pitch + over <= LINES && fresh + beyond <= ROWS
        };
        let all = self.rows.next_multiple_of(self.window);
        let most = (1..=ROWS / self.window).rev().map(|k| k * self.window).find(|&fresh| is_room(fresh))?.min(all);
        let fresh = self.rows.div_ceil(self.rows.div_ceil(most)).next_multiple_of(self.window);
        Some(Cut { wide, fresh, lines, pitch, apart, beyond })
    }
}
