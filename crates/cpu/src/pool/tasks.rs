//! A pooling in parts: some planes whole, or some rows of one plane, or some columns of a plane that is one row.
//!
//! A plane has the last axes of an array, of which the outer ones are its rows. A part's source elements come to a
//! tile, which stays in the cache, and has a little more at its end, which vectors may read but never use.

use std::ops::Range;

use warpfold_array::{Error, memory};
use warpfold_core::Element;

use crate::gather::Gather;
use crate::parallel::for_each;
use crate::policy::ONE_THREAD;
use crate::rows::lines::{Lines, Part as Elements};

use super::call::Call;
use super::reach::Reach;

/// Elements that are computed together, as vectors.
pub const LANES: usize = 32;
/// Elements of a tile.
const TILE: usize = 1 << 15;
/// Planes that are transposed together: a cache line of the smallest elements.
const ACROSS: usize = 32;
/// Tasks of a thread.
const TASKS: usize = 8;

/// A pooling, or its gradient.
pub struct Plan {
    /// What results take along each axis.
    pub reach: [Reach; 3],
    planes: usize,
    /// Planes, rows and columns of a part.
    each: [usize; 3],
    threads: usize,
}

/// Some results.
#[derive(Clone, Debug)]
pub struct Part {
    pub planes: Range<usize>,
    pub rows: Range<usize>,
    pub columns: Range<usize>,
}

/// The elements of the source that a part takes, of each of its planes.
#[derive(Clone, Debug)]
pub struct Source {
    /// The first row.
    first: usize,
    /// Rows.
    pub rows: usize,
    /// The first column.
    pub column: usize,
    /// Columns.
    pub width: usize,
}

/// Neighbours of a group ([`super::reach`]) in a row of a part, which take source elements of the same taps.
pub struct Strip {
    /// The column of the group's number 0.
    pub first: usize,
    /// Numbers.
    pub numbers: Range<usize>,
    /// Where number 0 takes elements from, relative to a row of the source; number j from j elements on. (Of number 0,
    /// which need not be in the strip, they may be before the row.)
    pub taps: Vec<isize>,
    /// Taps with padding.
    pub padded: usize,
}

impl Plan {
    /// A plan for the planes of a call. `across`: planes are side by side in memory.
    pub fn new(call: &Call, reach: [Reach; 3], across: bool, threads: usize) -> Self {
        let of = |length: fn(&Reach) -> usize| reach.iter().map(length).product::<usize>();
        let (targets, sources) = (of(|reach| reach.targets), of(|reach| reach.sources));
        let (rows, columns) = (reach[0].targets * reach[1].targets, reach[2].targets);
        let plane = targets.max(sources);
        let least = if across { ACROSS.min(call.planes) } else { 1 };
        let planes = (TILE / plane).clamp(least, call.planes);
        // Of a tile's elements and those of the planes, with room for their products.
        let share = |n: usize| (n as u128 * TILE as u128 / (planes * plane) as u128).clamp(1, n as u128) as usize;
        let is_row = rows == 1 && sources == reach[2].sources;
        let each = [planes, share(rows), if is_row { share(columns).max(LANES).min(columns) } else { columns }];
        let small = call.planes.saturating_mul(plane) < ONE_THREAD;
        Self { reach, planes: call.planes, each, threads: if small { 1 } else { threads } }
    }

    fn rows(&self) -> usize {
        self.reach[0].targets * self.reach[1].targets
    }

    /// Checks that there is memory for the tiles of all threads.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn afford(&self) -> Result<(), Error> {
        let lengths = [self.planes, self.rows(), self.reach[2].targets];
        let sources: u128 = self.reach.iter().map(|reach| reach.sources as u128).product();
        if sources < 1 << 20 {
            return Ok(());
        }
        let part = |from: usize| Part {
            planes: 0..self.each[0],
            rows: from..lengths[1].min(from + self.each[1]),
            columns: 0..self.each[2],
        };
        let largest = (0..lengths[1]).step_by(self.each[1]).map(|from| self.source(&part(from)).len()).max();
        let tile = largest.unwrap_or(0).saturating_mul(self.each[0]);
        // A tile, the same apart, and indices or what windows take.
        memory::afford("the elements of windows", tile.saturating_mul(self.threads), 4 * size_of::<f64>())
    }

    /// Calls `work` with each part, on the threads, and with what `room` makes once for some of them.
    pub fn run<R>(&self, room: impl Fn() -> R + Sync, work: impl Fn(&Part, &mut R) + Sync) {
        let lengths = [self.planes, self.rows(), self.reach[2].targets];
        let parts = [0, 1, 2].map(|i| lengths[i].div_ceil(self.each[i]));
        let count: usize = parts.iter().product();
        let each = count.div_ceil(TASKS * self.threads).max(1);
        let task = |i: usize| {
            let mut room = room();
            for at in i * each..count.min((i + 1) * each) {
                let at = [at / parts[2] / parts[1], at / parts[2] % parts[1], at % parts[2]];
                let range = |i: usize| at[i] * self.each[i]..lengths[i].min((at[i] + 1) * self.each[i]);
                work(&Part { planes: range(0), rows: range(1), columns: range(2) }, &mut room);
            }
        };
        match self.threads {
            1 => (0..count.div_ceil(each)).for_each(task),
            _ => for_each(count.div_ceil(each), &task),
        }
    }

    /// What a part takes of each plane of the source.
    pub fn source(&self, part: &Part) -> Source {
        let [outer, middle, inner] = &self.reach;
        let (from, last) = (part.rows.start, part.rows.end - 1);
        let n = middle.targets;
        let depths = outer.span(&(from / n..last / n + 1));
        let one = from / n == last / n;
        let heights = if one { middle.span(&(from % n..last % n + 1)) } else { 0..middle.sources };
        let first = depths.start * middle.sources + heights.start;
        let end = (depths.end.max(1) - 1) * middle.sources + heights.end;
        let rows = if depths.is_empty() || heights.is_empty() { 0 } else { end - first };
        let columns = match part.columns.len() < inner.targets {
            // A column's place among those a step apart is that in the tile.
            true => {
                let span = inner.span(&part.columns);
                span.start / inner.source_step * inner.source_step..span.end
            }
            false => 0..inner.sources,
        };
        Source { first, rows, column: columns.start, width: columns.len() }
    }

    /// Calls `f` with each row of a part, and the rows that the row takes, counted from the source's first.
    pub fn each_row(&self, part: &Part, source: &Source, mut f: impl FnMut(usize, &[usize])) {
        let [outer, middle, _] = &self.reach;
        let (mut depths, mut heights, mut taken) = (Vec::new(), Vec::new(), Vec::new());
        for row in part.rows.clone() {
            outer.sources_of(row / middle.targets, &mut depths);
            middle.sources_of(row % middle.targets, &mut heights);
            taken.clear();
            for depth in &depths {
                taken.extend(heights.iter().map(|height| depth * middle.sources + height - source.first));
            }
            f(row, &taken);
        }
    }

    /// The strips of each row of a part, whose source is as [`apart`] leaves it.
    pub fn strips(&self, part: &Part, source: &Source) -> Vec<Strip> {
        let inner = &self.reach[2];
        let width = source.width.div_ceil(inner.source_step) as isize;
        let step = inner.source_step as isize;
        let mut strips = Vec::new();
        for group in &inner.groups {
            let first = |column: usize| column.saturating_sub(group.first).div_ceil(inner.target_step);
            for stretch in &group.stretches {
                let numbers = stretch.numbers.start.max(first(part.columns.start))
                    ..stretch.numbers.end.min(first(part.columns.end));
                if numbers.is_empty() {
                    continue;
                }
                let place = |offset: isize| offset.rem_euclid(step) * width + offset.div_euclid(step);
                let taps = group.offsets(&stretch.taps, source.column).map(place).collect();
                strips.push(Strip { first: group.first, numbers, taps, padded: stretch.padded });
            }
        }
        strips
    }
}

impl Strip {
    /// Computes some of the strip's lanes at a time, by `f` of the first one's number in the strip and its column, and
    /// writes them to their places in a row that begins with the column `from`; columns of neighbours are a step apart.
    #[inline(always)]
    pub fn each<T: Copy>(
        &self,
        step: usize,
        from: usize,
        row: &mut [T],
        mut f: impl FnMut(usize, usize) -> [T; LANES],
    ) {
        let n = self.numbers.len();
        let first = self.first + self.numbers.start * step;
        for j in (0..n).step_by(LANES) {
            let column = first + j * step;
            let found = f(j, column);
            let to = &mut row[column - from..];
            let n = LANES.min(n - j);
            if step == 1 {
                to[..n].copy_from_slice(&found[..n]);
            } else {
                for (to, found) in to.iter_mut().step_by(step).zip(&found[..n]) {
                    *to = *found;
                }
            }
        }
    }
}

impl Source {
    /// The number of a row in its plane.
    pub fn row(&self, i: usize) -> usize {
        self.first + i
    }

    /// Elements of a plane.
    pub fn len(&self) -> usize {
        self.rows * self.width
    }

    /// The first element, in a plane whose rows have so many.
    pub fn start(&self, width: usize) -> usize {
        self.first * width + self.column
    }

    /// Copies the elements of all planes to a tile.
    ///
    /// # Safety
    /// The elements are readable, and `gather` is for their dtype.
    pub unsafe fn load<T: Element + Default>(
        &self,
        (lines, gather): (&Lines, Gather<T>),
        planes: &Range<usize>,
        width: usize,
        tile: &mut Vec<T>,
    ) {
        tile.resize(planes.len() * self.len() + LANES, T::default());
        if self.len() > 0 {
            let part = Elements { rows: planes.clone(), from: self.start(width), n: self.len() };
            // SAFETY: the caller's; there is room for the elements.
            unsafe { lines.load(gather, &part, tile.as_mut_ptr()) };
        }
    }
}

impl Part {
    /// The part of an array of results, whose rows have so many elements.
    pub fn elements(&self, width: usize) -> Elements {
        let n = self.rows.len() * self.columns.len();
        Elements { rows: self.planes.clone(), from: self.rows.start * width + self.columns.start, n }
    }
}

/// The elements of a row that are some steps apart, side by side: those at 0, `step`, `2 * step` and so on, then those
/// at 1, `1 + step` and so on.
#[inline(always)]
pub fn apart<T: Copy>(row: &[T], step: usize, to: &mut [T]) {
    if row.is_empty() {
        return;
    }
    #[inline(always)]
    fn known<T: Copy, const STEP: usize>(row: &[T], to: &mut [T]) {
        let width = row.len().div_ceil(STEP);
        let (whole, rest) = row.as_chunks::<STEP>();
        for (phase, to) in to.chunks_exact_mut(width).enumerate().take(STEP) {
            for (x, to) in whole.iter().zip(to.iter_mut()) {
                *to = x[phase];
            }
            if let Some(x) = rest.get(phase) {
                to[width - 1] = *x;
            }
        }
    }
    match step {
        1 => to[..row.len()].copy_from_slice(row),
        2 => known::<T, 2>(row, to),
        3 => known::<T, 3>(row, to),
        _ => {
            let width = row.len().div_ceil(step);
            for (phase, to) in to.chunks_exact_mut(width).enumerate().take(step.min(row.len())) {
                for (x, to) in row[phase..].iter().step_by(step).zip(to) {
                    *to = *x;
                }
            }
        }
    }
}

/// The elements of a row that [`apart`] has brought apart.
pub fn apart_len(width: usize, step: usize) -> usize {
    width.div_ceil(step) * step.min(width)
}
