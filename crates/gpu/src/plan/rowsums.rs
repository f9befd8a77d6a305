//! What to launch for sums over rows: the gradients of weights and biases.

use warpfold_core::DType;
use warpfold_kernels::rowwise::columns::{JOINED, ROWS};
use warpfold_kernels::rowwise::folded;
use warpfold_kernels::rowwise::sweep::{STEPS, most_warps};
use warpfold_kernels::rowwise::swept::room_bytes;
use warpfold_kernels::rowwise::{Rowwise, RowwiseAt, WARPS};

use super::Launch;
use super::limits::Limits;
use super::row_layout::RowLayout;
use super::rowwise::{LINE, RowOperation, launch, launch_of};

/// Blocks for each multiprocessor, for which parts become smaller. Not measured.
const SPREAD: usize = 2;
/// Bytes of shared memory that a block of rows needs for nodes of warps.
const SLOTS: u32 = 2 << 10;
/// In rows, what a block takes before its first one. Not measured.
const BEGINS: f64 = 1.0;

/// Launches that leave sums over rows.
pub struct RowSums {
    /// In order.
    pub launches: Vec<Launch<RowwiseAt>>,
    /// Bytes of room for parts.
    pub bytes: usize,
    /// The place of the first sum among these, in numbers.
    pub first: usize,
    /// Whether the first launch has the operation's results, too.
    pub folded: bool,
}

impl RowOperation {
    /// The sums over rows, `sums` for each column. They need the norms of rows, if they are not found on the way.
    #[must_use]
    pub fn sums(&self, rows: &RowLayout, sums: usize, limits: &Limits) -> Option<RowSums> {
        let at_once = self.folded(rows, sums, limits).or_else(|| self.swept(rows, sums, limits));
        if let Some((first, parts, width)) = at_once {
            return self.joined(first, parts, width, rows, true);
        }
        let size = self.dtype.size();
        let packs = (rows.len * size).div_ceil(LINE);
        let lanes = packs.next_power_of_two().min(32);
        let stripes = packs.div_ceil(32) as u64;
        let under = ROWS * WARPS as u64 * (32 / lanes) as u64;
        let parts = (rows.rows as u64).div_ceil(under);
        let call = Rowwise { lanes: lanes.ilog2(), blocks: stripes, ..self.call(rows) };
        let grid = usize::try_from(parts * stripes).ok()?;
        let name = if sums == 1 { "products" } else { "columns" };
        let first = launch(format!("rowwise_{name}_{}", self.dtype), grid, &call)?;
        self.joined(first, parts, (sums * rows.len) as u64, rows, false)
    }

    /// How many sums a launch has that has the results as well. None, if there is none for rows as they lie.
    fn sums_at_once(&self, rows: &RowLayout, sums: usize) -> Option<usize> {
        // The kernels of layer norm always have both sums.
        match (self.name, sums) {
            _ if rows.inner < rows.rows => None,
            ("rms_norm_backward", 1) => Some(1),
            ("layer_norm_backward", _) => Some(2),
            _ => None,
        }
    }

    /// The launch that has the results as well, of rows that a warp has, how many parts it leaves, and of how many
    /// numbers each.
    fn folded(&self, rows: &RowLayout, sums: usize, limits: &Limits) -> Option<(Launch<RowwiseAt>, u64, u64)> {
        let sums = self.sums_at_once(rows, sums)?;
        let packs = (rows.len * self.dtype.size()).div_ceil(LINE).next_power_of_two();
        let lanes = packs.clamp(STEPS, 32);
        let shared = 4 * folded::room(sums, self.dtype.size()) as u32;
        if packs > 32 || limits.shared_bytes < shared {
            return None;
        }
        let blocks = |part: usize| rows.rows.div_ceil(part).div_ceil(WARPS as usize * (32 / lanes));
        let mut part = folded::rows(lanes);
        while part > STEPS && blocks(part) < SPREAD * limits.multiprocessors as usize {
            part /= 2;
        }
        let parts = rows.rows.div_ceil(part) as u64;
        let call = Rowwise { lanes: lanes.ilog2(), turns: (part / STEPS) as u64, parts, ..self.call(rows) };
        let launch = launch(format!("rowfolded_{}_{}", self.name, self.dtype), blocks(part), &call)?;
        Some((launch, parts, (sums * rows.len) as u64))
    }

    /// The same of rows that the warps of a block share, if all arrays' rows are lines.
    fn swept(&self, rows: &RowLayout, sums: usize, limits: &Limits) -> Option<(Launch<RowwiseAt>, u64, u64)> {
        let (sums, size) = (self.sums_at_once(rows, sums)?, self.dtype.size());
        let most = most_warps(size);
        let warps = u32::try_from((rows.len * size).div_ceil(32 * LINE)).ok()?;
        // A row that takes more warps than a block has is computed by halves, if it has one sum: two have no room.
        let (halves, warps) = (warps > most && sums == 1, warps.min(most));
        let longest = (warps << halves as u32) as usize * 32 * LINE;
        let begins_with_lines = |step: isize| step % LINE as isize == 0;
        let are_lines =
            (rows.len * size).is_multiple_of(LINE) && rows.steps.iter().all(|[step, _]| begins_with_lines(*step));
        if rows.len * size > longest || !are_lines || !limits.aligned {
            return None;
        }
        let room = |turns: u64| room_bytes(turns, sums, 32 * warps, size, halves);
        let of_step = if halves { 1 } else { STEPS as u64 };
        let parts = |turns: u64| (rows.rows as u64).div_ceil(turns * of_step);
        // What a multiprocessor does one after the other, in rows, and the parts that are written and read beside.
        let cost = |turns: u64| {
            let blocks = (most / warps).min((limits.shared_bytes - SLOTS) / room(turns));
            let waves = parts(turns).div_ceil((blocks * limits.multiprocessors) as u64);
            let beside = (2 * sums * size.max(4)) as f64 / (3 * size) as f64;
            (blocks as u64 * waves) as f64 * ((turns * of_step) as f64 + BEGINS + beside)
        };
        // Parts of fewer rows take as long as they save.
        let fewest = if halves { 4 } else { 2 };
        let fits = [2, 4, 8, 16, 32]
            .into_iter()
            .filter(|&turns| turns >= fewest && room(turns) <= limits.shared_bytes - SLOTS);
        let turns = fits.min_by(|a, b| cost(*a).total_cmp(&cost(*b)))?;
        let call = Rowwise { turns, parts: parts(turns), deep: halves as u32, ..self.call(rows) };
        let name = format!("rowswept_{}_{}", self.name, self.dtype);
        let launch = launch_of(name, usize::try_from(parts(turns)).ok()?, 32 * warps, &call)?;
        Some((launch.with_room(room(turns)), parts(turns), (sums * rows.len) as u64))
    }

    /// The launches that join the parts of the first, each of `width` numbers.
    fn joined(
        &self,
        first: Launch<RowwiseAt>,
        mut parts: u64,
        width: u64,
        rows: &RowLayout,
        folded: bool,
    ) -> Option<RowSums> {
        let call = Rowwise { under: width, ..self.call(rows) };
        let (mut launches, mut from, mut room) = (vec![first], 0, parts * width);
        let joined = if self.dtype == DType::F64 { "rowwise_join_f64" } else { "rowwise_join_f32" };
        while parts > 1 {
            let (fewer, blocks) = (parts.div_ceil(JOINED), width.div_ceil(32));
            let call = Rowwise { blocks, parts, from, to: room, ..call };
            launches.push(launch(joined.into(), usize::try_from(fewer * blocks).ok()?, &call)?);
            (from, parts, room) = (room, fewer, room + fewer * width);
        }
        let wide = self.dtype.size().max(4);
        Some(RowSums { launches, bytes: room as usize * wide, first: from as usize, folded })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { multiprocessors: 132, bandwidth: 4e12, aligned: true, shared_bytes: 227 << 10 };

    /// The kernel, grid, block and room of the first launch of the sums over rows.
    fn first(name: &'static str, dtype: DType, sums: usize, [rows, len]: [usize; 2], limits: &Limits) -> String {
        let size = dtype.size();
        let steps = [(size * len) as isize, size as isize];
        let rows = RowLayout::of(&[rows, len], [&steps, &steps, &[]], &[1], size).expect("dense rows");
        let op = RowOperation::new(name, 1, dtype);
        let all = op.sums(&rows, sums, limits).expect("a plan");
        let Launch { entry, grid, block, room, .. } = &all.launches[0];
        format!("{entry} {grid} {block} {room} {}", all.folded)
    }

    #[test]
    fn rows_of_lines_are_swept() {
        let of = |rows, len| first("rms_norm_backward", DType::BF16, 1, [rows, len], &LIMITS);
        assert_eq!(of(1 << 19, 128), "rowfolded_rms_norm_backward_bf16 1024 256 0 true");
        assert_eq!(of(32768, 4096), "rowswept_rms_norm_backward_bf16 512 512 147968 true");
        // Few rows are shared out among more blocks.
        assert_eq!(of(1000, 4096), "rowswept_rms_norm_backward_bf16 125 512 98368 true");
        assert_eq!(of(32768, 1474), "rowwise_products_bf16 1536 256 0 false");
        // By halves, where there is room.
        assert_eq!(of(16384, 8192), "rowswept_rms_norm_backward_bf16 512 512 229888 true");
        assert_eq!(of(16384, 8200), "rowwise_products_bf16 4224 256 0 false");
        let layer = |dtype, len| first("layer_norm_backward", dtype, 2, [32768, len], &LIMITS);
        assert_eq!(layer(DType::BF16, 4096), "rowswept_layer_norm_backward_bf16 512 512 229888 true");
        assert_eq!(layer(DType::BF16, 8192), "rowwise_columns_bf16 8192 256 0 false");
        assert_eq!(layer(DType::F32, 4096), "rowswept_layer_norm_backward_f32 2048 1024 229504 true");
        // Arrays that may begin anywhere.
        let limits = Limits { aligned: false, ..LIMITS };
        let anywhere = first("layer_norm_backward", DType::BF16, 2, [32768, 4096], &limits);
        assert_eq!(anywhere, "rowwise_columns_bf16 4096 256 0 false");
    }
}
