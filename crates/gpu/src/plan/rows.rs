//! What to launch for segments and groups of rows, and to count bins.

use warpfold_core::DType;

use warpfold_kernels::group::bins::{self, Bins, BinsAt};
use warpfold_kernels::group::ends::{Ends, EndsAt};
use warpfold_kernels::group::turn::{self, Repeat, RepeatAt, Turn, TurnAt};
use warpfold_kernels::sort::state::BLOCKS;

use super::Launch;
use super::sort::{What, launch, numbers};

/// Blocks of counting for each multiprocessor.
const SPREAD: u64 = 6;

/// Rows in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rows {
    /// The number of rows.
    pub rows: usize,
    /// Elements of a row.
    pub columns: usize,
    /// Bytes from one row to the next.
    pub along: isize,
    /// Bytes from one element to the next.
    pub across: isize,
    /// Bytes of an element.
    pub size: usize,
}

impl Rows {
    /// Elements of a column that is written: one is zero.
    #[must_use]
    pub fn pitch(&self) -> usize {
        self.rows + 1
    }

    /// Rows as columns, in the order of positions unless their address is 0. None of no columns.
    #[must_use]
    pub fn turn(&self) -> Option<Launch<TurnAt>> {
        self.turn_to(self.pitch(), 1)
    }

    /// Results of columns, as rows. Elements are `step` apart in both; there are no positions.
    #[must_use]
    pub fn back(&self, step: usize) -> Option<Launch<TurnAt>> {
        self.turn_to(self.rows, step)
    }

    fn turn_to(&self, pitch: usize, step: usize) -> Option<Launch<TurnAt>> {
        let wide = (self.columns.next_power_of_two().ilog2()).min(turn::WIDE);
        let high = turn::TILE >> wide;
        let grid = pitch.div_ceil(high as usize) * self.columns.div_ceil(1 << wide);
        let call = Turn {
            at: TurnAt::default(),
            rows: self.rows as u64,
            columns: self.columns as u64,
            along: self.along as u64,
            across: self.across as u64,
            pitch: pitch as u64,
            step: step as u64,
            size: self.size as u32,
            wide,
        };
        (grid > 0).then(|| launch("rows_turn", grid as u32, &call))
    }

    /// `offsets` offsets, of `size` bytes each, repeated for each column.
    #[must_use]
    pub fn repeat(&self, offsets: usize, size: usize, signed: bool, multiprocessors: u32) -> Launch<RepeatAt> {
        let call = Repeat {
            at: RepeatAt::default(),
            offsets: offsets as u64,
            columns: self.columns as u64,
            rows: self.rows as u64,
            pitch: self.pitch() as u64,
            size: size as u32,
            signed: signed as u32,
        };
        numbers("rows_repeat", offsets * self.columns, multiprocessors, &call)
    }

    /// The first or the last row of each group.
    #[must_use]
    pub fn ends(&self, groups: usize, last: bool, fill: Option<u64>, multiprocessors: u32) -> Launch<EndsAt> {
        let call = Ends {
            at: EndsAt::default(),
            groups: groups as u64,
            columns: self.columns as u64,
            along: self.along as u64,
            across: self.across as u64,
            fill: fill.unwrap_or(0),
            size: self.size as u32,
            filled: fill.is_some() as u32,
            last: last as u32,
            unused: 0,
        };
        numbers("group_ends", groups * self.columns, multiprocessors, &call)
    }
}

/// Counts elements between edges, or finds the bin of each: the address of what is not wanted is 0.
#[must_use]
pub fn between(dtype: DType, n: usize, edges: &[f64], multiprocessors: u32) -> Launch<BinsAt> {
    let (first, last) = (edges[0], edges[edges.len() - 1]);
    let bins = edges.len() - 1;
    count(What::Values, dtype, n, bins, bins as f64 / (last - first), multiprocessors)
}

/// Counts labels: the addresses of edges and labels are 0.
#[must_use]
pub fn of_labels(dtype: DType, n: usize, groups: usize, multiprocessors: u32) -> Launch<BinsAt> {
    count(What::Labels { groups }, dtype, n, groups, 0.0, multiprocessors)
}

fn count(what: What, dtype: DType, n: usize, bins: usize, per_unit: f64, multiprocessors: u32) -> Launch<BinsAt> {
    let columns = (bins::ROOM / bins.max(1)).checked_ilog2().unwrap_or(0).min(5);
    let call = Bins {
        at: BinsAt::default(),
        n: n as u64,
        bins: bins as u64,
        per_unit: per_unit.to_bits(),
        elements: what.elements(dtype),
        columns,
        unused: 0,
    };
    let grid = (n as u64).div_ceil(bins::TILE).clamp(1, multiprocessors as u64 * SPREAD).min(BLOCKS as u64);
    launch("bins_count", grid as u32, &call)
}
