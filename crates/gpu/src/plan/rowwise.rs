//! What to launch for operations on rows.

use warpfold_array::problem::{Dim, merge};
use warpfold_core::DType;
use warpfold_kernels::params::Plain;
use warpfold_kernels::reduce::any::AXES;
use warpfold_kernels::reduce::recipe::code;
use warpfold_kernels::reduce::shape::map::Divisor;
use warpfold_kernels::reduce::shape::piece::{Kept, Outputs};
use warpfold_kernels::rowwise::arrange::{Arrange, ArrangeAt};
use warpfold_kernels::rowwise::dense::room_bytes;
use warpfold_kernels::rowwise::spread::Slots;
use warpfold_kernels::rowwise::{
    LINES, MAP, MEET, NARROW, NONE, PACKS, PARTS, QUARTERS, RAGGED, REDUCE, Rowwise, RowwiseAt, SHORT, THREADS, TURNS,
    WARPS, WHOLE, WIDE, chunk, steps,
};

use super::Launch;
use super::limits::Limits;
use super::row_layout::RowLayout;
use super::together::Together;

/// Lanes to a short row whose packs are lines, at least.
const LANES: usize = 8;
/// Packs of a short row, at least: a block has no more rows than threads.
const PACKS_OF_ROW: usize = 4;
/// What a warp's places take, by the warps of a block that has short rows one after the other, which wait for one
/// another (`bench/record/nvidia-h200/2026-12-01/rows-slots.txt`): in parts small enough to be shared by rows. (With
/// one warp cross-entropy of whole rows lost an eighth, others nothing.)
const SHORT_COST: [(usize, usize); 3] = [(2, 1_000_000), (4, 1_010_000), (8, 1_060_000)];
/// Turns in which a block reads a row, at most: as many as have parts for each of its threads, whatever its warps.
pub(super) const MOST_TURNS: u64 = PARTS / WARPS as u64;
/// Blocks of a copy for each multiprocessor. Not measured.
const SPREAD: u64 = 16;
/// Bytes of a line.
pub(super) const LINE: usize = 16;

/// A number of bytes and more, so that what follows begins with a line.
#[must_use]
pub fn padded(bytes: usize) -> usize {
    bytes.next_multiple_of(256)
}

/// Weights or biases as kernels find them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Factor {
    /// There are none.
    Absent,
    /// They are like the elements, and fill whole lines, or have been copied to such.
    Narrow,
    /// They have been converted to numbers as the arithmetic has them, and elements are others.
    Wide,
}

impl Factor {
    fn code(self) -> u32 {
        match self {
            Factor::Absent => NONE,
            Factor::Narrow => NARROW,
            Factor::Wide => WIDE,
        }
    }
}

/// An operation on rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowOperation {
    /// Its name in the names of kernels.
    pub name: &'static str,
    /// The operation that notes the norms of rows for this one, if no earlier run has.
    pub noted_by: Option<&'static str>,
    /// The dtype of the elements.
    pub dtype: DType,
    /// Words of a node.
    pub node: usize,
    /// Whether there is a mask.
    pub masked: bool,
    /// Elements are multiplied by this number first.
    pub scale: f64,
    /// Added to the mean square, or to the variance.
    pub epsilon: f64,
    /// Added to each weight.
    pub offset: f64,
    /// Weights and biases.
    pub factors: [Factor; 2],
    /// The class of rows that are ignored.
    pub ignore: i64,
    /// Whether each row's loss has a gradient of its own.
    pub scaled: bool,
    /// Whether an earlier run has noted what follows from rows, or their norms.
    pub noted: bool,
}

/// The launches of an operation on rows, and bytes of room for what they note.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowPlan {
    /// First those that have no results, and only note the norms of rows.
    pub before: Vec<Launch<RowwiseAt>>,
    /// In order.
    pub launches: Vec<Launch<RowwiseAt>>,
    /// Bytes of parts.
    pub parts: usize,
}

impl RowOperation {
    /// An operation without options, whose nodes have so many words.
    #[must_use]
    pub fn new(name: &'static str, node: usize, dtype: DType) -> Self {
        Self {
            name,
            noted_by: None,
            dtype,
            node,
            masked: false,
            scale: 1.0,
            epsilon: 0.0,
            offset: 0.0,
            factors: [Factor::Absent; 2],
            ignore: 0,
            scaled: false,
            noted: false,
        }
    }

    /// What all launches have in common.
    pub(super) fn call(&self, rows: &RowLayout) -> Rowwise {
        Rowwise {
            at: RowwiseAt::default(),
            rows: rows.rows as u64,
            len: rows.len as u64,
            end: rows.ends[0] as u64,
            inner: Divisor::new(rows.inner as u64),
            along: rows.steps[0][0] as i64,
            outer: rows.steps[0][1] as i64,
            second_end: rows.ends[1] as u64,
            second_along: rows.steps[1][0] as i64,
            second_outer: rows.steps[1][1] as i64,
            mask_along: rows.mask[0] as i64,
            mask_outer: rows.mask[1] as i64,
            mask_near: rows.mask[2] as i64,
            masked: self.masked as u64,
            ignore: self.ignore,
            noted: self.is_known() as u64,
            scale_step: self.scaled as u64,
            scale: self.scale,
            epsilon: self.epsilon,
            offset: self.offset,
            weights: self.factors[0].code(),
            biases: self.factors[1].code(),
            whole: RAGGED,
            phase: WHOLE,
            quarters: 0,
            quarter: 0,
            together: 1,
            lanes: 0,
            deep: 0,
            blocks: 1,
            turns: 1,
            kept: 0,
            from: 0,
            to: 0,
            parts: 0,
            under: 0,
        }
    }

    /// Plans the operation on rows that have elements; none if there are too many.
    #[must_use]
    pub fn plan(&self, rows: &RowLayout, limits: &Limits) -> Option<RowPlan> {
        let plan = self.of_rows(rows, limits, true)?;
        let Some(name) = self.noted_by.filter(|_| !self.noted) else { return Some(plan) };
        let before = RowOperation { name, noted_by: None, ..*self }.of_rows(rows, limits, false)?;
        Some(RowPlan { before: before.launches, parts: plan.parts.max(before.parts), ..plan })
    }

    /// Whether all that follows from rows has been noted.
    fn is_known(&self) -> bool {
        self.noted && self.noted_by.is_none()
    }

    /// Packs of a row of which a block has many, one after the other, at most. Longer ones are cut into quarters: of 16
    /// bits beyond half a warp's places, but norms and losses, which took up to a quarter less time without
    /// (`bench/record/nvidia-h200/2026-12-01/rows-slots.txt`).
    fn most_packs(&self) -> usize {
        let places = 32 * SHORT;
        match self.name {
            _ if self.dtype.size() > 2 => places,
            name if name.contains("norm") || name == "cross_entropy" => places - 1,
            _ => places / 2,
        }
    }

    /// The launches from which results are wanted, or notes alone.
    fn of_rows(&self, rows: &RowLayout, limits: &Limits, is_mapped: bool) -> Option<RowPlan> {
        let (size, call) = (self.dtype.size(), self.call(rows));
        let own = (rows.len * size).div_ceil(LINE);
        if own <= self.most_packs() {
            return self.short(&call, own.max(PACKS_OF_ROW), !self.masked && rows.is_dense(size));
        }
        let chunks = rows.len.div_ceil(chunk(size) as usize);
        if chunks <= WARPS as usize {
            let each = chunk(size) as usize / QUARTERS as usize;
            let quarters = rows.len.div_ceil(each) as u32;
            let Together { rows: together, warps, lanes } = Together::of(quarters);
            let fills = together * quarters == warps * QUARTERS && rows.rows.is_multiple_of(together as usize);
            let whole = if rows.len.is_multiple_of(each) && fills { PACKS } else { RAGGED };
            let call = Rowwise { quarters, quarter: Together::inverse(quarters), together, lanes, whole, ..call };
            let name = format!("rowwise_{}_{}", self.name, self.dtype);
            let launch = launch_of(name, rows.rows.div_ceil(together as usize), 32 * warps, &call)?;
            let launch = launch.with_room(room_bytes(warps, steps(size)));
            return Some(RowPlan { launches: vec![launch], ..RowPlan::default() });
        }
        self.longer(&call, limits, is_mapped)
    }

    /// Rows of a few packs, of which a block has many: one takes the places after another.
    fn short(&self, call: &Rowwise, own: usize, dense: bool) -> Option<RowPlan> {
        let (size, packs, rows) = (self.dtype.size(), own.next_power_of_two(), call.rows as usize);
        let is_whole = call.len as usize * size == LINE * own;
        // Rows that fill a warp's places are groups of lanes.
        let lines = is_whole && dense && size == 2 && own >= LANES && packs == own;
        let lines = lines && rows.is_multiple_of(32 * SHORT * WARPS as usize / own);
        let warps = if lines { WARPS as usize } else { short_warps(own) };
        let places = 32 * SHORT * warps;
        let together = places / own;
        let whole = match is_whole && together * own == places && rows.is_multiple_of(together) {
            true if lines => LINES,
            true => PACKS,
            false => RAGGED,
        };
        let lanes = packs.clamp(LANES, 32);
        let (lanes, deep) = (lanes.ilog2(), packs.div_ceil(lanes).ilog2());
        let (own, rows_of, warps) = (own as u32, together as u32, warps as u32);
        let inverse = Slots::inverse(own);
        let slots = Slots { packs: own, inverse, rows: rows_of, len: call.len as u32, warps, before: 0 };
        let call = Rowwise { lanes, deep, quarters: own, quarter: inverse, together: rows_of, whole, ..*call };
        let name = format!("rowshort_{}_{}", self.name, self.dtype);
        let launch = launch_of(name, rows.div_ceil(together), 32 * warps, &call)?;
        let launch = launch.with_room(room_bytes(warps, SHORT) + slots.beside());
        Some(RowPlan { launches: vec![launch], ..RowPlan::default() })
    }

    /// Rows that are longer than a block holds.
    fn longer(&self, call: &Rowwise, limits: &Limits, is_mapped: bool) -> Option<RowPlan> {
        let turn = WARPS as u64 * chunk(self.dtype.size());
        let turns = call.len.div_ceil(turn);
        let whole = if call.len.is_multiple_of(turn) { PACKS } else { RAGGED };
        let call = &Rowwise { whole, kept: self.kept(1, WARPS, limits), ..*call };
        if self.is_known() {
            let call = Rowwise { phase: MAP, blocks: turns, ..*call };
            let launch = self.of_blocks(call.rows * turns, &call)?;
            return Some(RowPlan { launches: vec![launch], ..RowPlan::default() });
        }
        let warps = self.turn_warps(call.len);
        let turn = warps as u64 * chunk(self.dtype.size());
        let in_turns = call.len.div_ceil(turn);
        if in_turns <= MOST_TURNS && self.has_turns(call.rows, limits) {
            let whole = if call.len.is_multiple_of(turn) { PACKS } else { RAGGED };
            let kept = self.kept(in_turns, warps, limits);
            let call = Rowwise { phase: TURNS, turns: in_turns, whole, kept, ..*call };
            let launch = self.of_warps(call.rows, warps, &call)?;
            return Some(RowPlan { launches: vec![launch], ..RowPlan::default() });
        }
        self.in_parts(call, turns, is_mapped)
    }

    /// A launch of so many blocks, with room for the turns of each.
    fn of_blocks(&self, blocks: u64, call: &Rowwise) -> Option<Launch<RowwiseAt>> {
        self.of_warps(blocks, WARPS, call)
    }

    /// The same of blocks of so many warps.
    fn of_warps(&self, blocks: u64, warps: u32, call: &Rowwise) -> Option<Launch<RowwiseAt>> {
        let name = format!("rowlonger_{}_{}", self.name, self.dtype);
        let launch = launch_of(name, blocks as usize, 32 * warps, call)?;
        Some(launch.with_room((call.kept * self.turn_bytes(warps)) as u32))
    }

    /// Rows that several blocks share.
    fn in_parts(&self, call: &Rowwise, blocks: u64, is_mapped: bool) -> Option<RowPlan> {
        let under = WARPS as u64 * chunk(self.dtype.size());
        let mut call = Rowwise { blocks, phase: REDUCE, under, ..*call };
        let mut launches = vec![self.of_blocks(call.rows * blocks, &call)?];
        let mut room = call.rows * blocks;
        call.parts = blocks;
        while call.parts > PARTS {
            let fewer = call.parts.div_ceil(PARTS);
            let meet = Rowwise { blocks: fewer, phase: MEET, to: room, ..call };
            launches.push(self.of_blocks(call.rows * fewer, &meet)?);
            call = Rowwise { parts: fewer, under: call.under * PARTS, from: room, ..call };
            room += call.rows * fewer;
        }
        // Where nothing is mapped, a block to a row notes what its parts have come to.
        let blocks = if is_mapped { blocks } else { 1 };
        let last = Rowwise { phase: MAP, blocks, ..call };
        launches.push(self.of_blocks(call.rows * blocks, &last)?);
        Some(RowPlan { launches, parts: room as usize * self.node * 4, ..RowPlan::default() })
    }
}

/// Warps of a block of short rows of so many packs: those of which a row takes least, with the places left over.
fn short_warps(packs: usize) -> usize {
    let row = |warps: usize, cost: usize| warps * cost / (32 * SHORT * warps / packs);
    SHORT_COST.into_iter().min_by_key(|&(warps, cost)| row(warps, cost)).map_or(2, |(warps, _)| warps)
}

pub(super) fn launch(entry: String, grid: usize, call: &Rowwise) -> Option<Launch<RowwiseAt>> {
    launch_of(entry, grid, THREADS, call)
}

pub(super) fn launch_of(entry: String, grid: usize, threads: u32, call: &Rowwise) -> Option<Launch<RowwiseAt>> {
    Some(Launch::new(entry, i32::try_from(grid).ok()? as u32, threads, call))
}

/// Bytes of room for so many elements of a dtype, and for what is read after them.
#[must_use]
pub fn room(elements: usize, dtype: DType) -> usize {
    padded(elements * dtype.size() + 8 * 8)
}

/// The steps of a dense array in C order, of whose elements one is `step` after the other.
#[must_use]
pub fn in_c_order(shape: &[usize], step: isize) -> Vec<isize> {
    let (mut steps, mut step) = (vec![0; shape.len()], step);
    for (to, &len) in steps.iter_mut().zip(shape).rev() {
        *to = step;
        step *= len as isize;
    }
    steps
}

/// A copy of an array with elements of `from` as elements of `to`, of the axes' lengths, steps in bytes, and steps in
/// elements.
#[must_use]
pub fn arrange(axes: &[(usize, isize, isize)], [from, to]: [DType; 2], limits: &Limits) -> Launch<ArrangeAt> {
    let dims = axes.iter().filter(|(len, ..)| *len != 1);
    let dims = merge(dims.map(|&(len, x, out)| Dim { len, x, mask: 0, out }).collect());
    let mut axis = [Kept { len: 1, ..Kept::default() }; AXES];
    for (axis, dim) in axis.iter_mut().zip(dims.iter().rev()) {
        *axis = Kept { len: dim.len as u64, x: dim.x as i64, mask: 0, out: dim.out as i64 };
    }
    let total = dims.iter().map(|dim| dim.len as u64).product();
    let axes = Outputs { total, axes: dims.len().max(1) as u64, axis };
    let call = Arrange { at: ArrangeAt::default(), from: code(from), to: code(to), axes };
    let grid = total.div_ceil(THREADS as u64).min(limits.multiprocessors as u64 * SPREAD);
    const { assert!(Arrange::BYTES == size_of::<Arrange>()) };
    Launch::new("rowwise_arrange", grid as u32, THREADS, &call)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { multiprocessors: 132, bandwidth: 4e12, aligned: true, shared_bytes: 227 << 10 };

    fn plan(rows: usize, len: usize) -> Vec<String> {
        let layout = RowLayout::of(&[rows, len], [&[4 * len as isize, 4], &[], &[]], &[1], 4).expect("dense rows");
        let op = RowOperation::new("softmax", 2, DType::F32);
        let plan = op.plan(&layout, &LIMITS).expect("a plan");
        plan.launches.iter().map(|launch| format!("{} {}", launch.entry, launch.grid)).collect()
    }

    #[test]
    fn rows_are_shared_out_by_their_length() {
        assert_eq!(plan(1000, 16), ["rowshort_softmax_f32 16"]);
        assert_eq!(plan(1000, 24), ["rowshort_softmax_f32 12"]);
        assert_eq!(plan(1000, 150), ["rowshort_softmax_f32 77"]);
        assert_eq!(plan(1000, 500), ["rowshort_softmax_f32 500"]);
        assert_eq!(plan(1000, 1024), ["rowwise_softmax_f32 334"]);
        assert_eq!(plan(1000, 1536), ["rowwise_softmax_f32 500"]);
        assert_eq!(plan(1000, 2880), ["rowwise_softmax_f32 1000"]);
        assert_eq!(plan(1000, 8192), ["rowwise_softmax_f32 1000"]);
        assert_eq!(plan(2, 8193), ["rowlonger_softmax_f32 4"; 2]);
        assert_eq!(plan(1000, 8193), ["rowlonger_softmax_f32 1000"]);
        let very_long = plan(1, 8192 * 257);
        assert_eq!(very_long, ["rowlonger_softmax_f32 257", "rowlonger_softmax_f32 2", "rowlonger_softmax_f32 257"]);
    }
}
