//! What to launch for sums over rows: the gradients of weights and biases.

use warpfold_core::DType;
use warpfold_kernels::rowwise::columns::{JOINED, ROWS};
use warpfold_kernels::rowwise::folded::{self, STEPS, waiting};
use warpfold_kernels::rowwise::{Rowwise, RowwiseAt, THREADS, WARPS};

use super::Launch;
use super::limits::Limits;
use super::rowwise::{LINE, RowLayout, RowOperation, launch};

/// Blocks for each multiprocessor, for which parts become smaller. Not measured.
const SPREAD: usize = 2;

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
        if let Some((first, parts, width)) = self.folded(rows, sums, limits) {
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

    /// The launch that has the results as well, how many parts it leaves, and of how many numbers each. None, if rows
    /// are longer than a warp has, or lie along two axes.
    fn folded(&self, rows: &RowLayout, sums: usize, limits: &Limits) -> Option<(Launch<RowwiseAt>, u64, u64)> {
        // The kernel of layer norm always has both sums.
        let sums = match (self.name, sums) {
            ("rms_norm_backward", 1) => 1,
            ("layer_norm_backward", _) => 2,
            _ => return None,
        };
        let size = self.dtype.size();
        let packs = (rows.len * size).div_ceil(LINE).next_power_of_two();
        let lanes = packs.clamp(STEPS, 32);
        // Rows that warps share are faster in two launches. For gradients of rms norm of bf16 (32768,4096) an H100 took
        // 547 us so, and 528 to 600 folded; of (524288,128) 436 and 208, and for those of layer norm 582 and 294.
        let shared = (waiting(sums) as u32 + 1) * THREADS * 4;
        if packs > 32 || limits.shared_bytes < shared || rows.inner < rows.rows {
            return None;
        }
        let blocks = |part: usize| rows.rows.div_ceil(part).div_ceil(WARPS as usize * (32 / lanes));
        let mut part = folded::ROWS;
        while part > STEPS && blocks(part) < SPREAD * limits.multiprocessors as usize {
            part /= 2;
        }
        let parts = rows.rows.div_ceil(part) as u64;
        let call = Rowwise { lanes: lanes.ilog2(), turns: (part / STEPS) as u64, parts, ..self.call(rows) };
        let launch = launch(format!("rowfolded_{}_{}", self.name, self.dtype), blocks(part), &call)?;
        Some((launch, parts, (sums * rows.len) as u64))
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
