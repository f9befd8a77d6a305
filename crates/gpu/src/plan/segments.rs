//! The plan of reductions of segments.

use warpfold_kernels::reduce::call::Call;
use warpfold_kernels::reduce::recipe::code;
use warpfold_kernels::reduce::workspace::COUNTERS;
use warpfold_kernels::segment::Room;
use warpfold_kernels::segment::call::{COST, LEAST, SHORT, STRETCH_WARPS, Segments, SegmentsAt, WARPS};

use super::choose::{fast, recipe};
use super::policy::{SEGMENT_WARPS, STRETCH_TILES};
use super::{GpuPlan, Launch, Limits};
use warpfold_array::Op;
use warpfold_array::Values;
use warpfold_array::request::Spec;
use warpfold_core::DType;

/// Bytes of a tile of values.
const TILE: u64 = 4096;

/// The segments of an axis.
#[derive(Clone, Copy, Debug)]
pub struct Cut<'a> {
    /// The number of segments, at least one: one less than the number of offsets.
    pub segments: usize,
    /// Elements along the axis.
    pub len: usize,
    /// The offsets' dtype: integers of 4 or 8 bytes.
    pub offsets: DType,
    /// The result of no elements, if they do: one result.
    pub empty: Option<&'a Values>,
}

/// Whether offsets of a dtype can be read.
pub fn reads_offsets(dtype: DType) -> bool {
    !dtype.is_float() && dtype.size() >= 4
}

impl GpuPlan<SegmentsAt> {
    /// Reduces segments of elements that lie side by side. None, if no kernel does that with these options.
    pub fn segments(spec: &Spec, cut: Cut<'_>, limits: &Limits) -> Option<Self> {
        let fold = fast(spec).filter(|fold| fold.facts.segments)?;
        let (size, result) = (spec.input.size() as u64, spec.result());
        let (segments, len, blocks) = (cut.segments as u64, cut.len as u64, limits.multiprocessors as u64);
        let pair = if spec.op == Op::MinMax { 2 } else { 1 };
        let work = segments * COST + len * size;
        let most = blocks * SEGMENT_WARPS;
        // Several stretches to each warp, or some would have much more to do than others.
        let tiles = (work / ((work / LEAST).clamp(1, most) * 4 * TILE)).max(1);
        let tiles = (1 << tiles.ilog2()).min(STRETCH_TILES);
        // What long segments have is left to those.
        let few = work.min(segments * (COST + SHORT as u64));
        let grid = (few / (WARPS as u64 * LEAST)).clamp(1, most / WARPS as u64);
        let stretch = tiles * TILE / size;
        let short = SHORT as u64 / size;
        let room = Room::new(len, stretch, short);
        let bytes = cut.empty.map_or(&[][..], Values::as_bytes);
        let empty = [0, 1].map(|i| {
            let mut word = [0; 8];
            let each = bytes.chunks(result.size()).nth(i).unwrap_or(&[]);
            word[..each.len()].copy_from_slice(each);
            u64::from_le_bytes(word)
        });
        let shape = Segments {
            total: segments,
            len,
            size: cut.offsets.size() as u64,
            signed: (cut.offsets == DType::I32) as u64,
            filled: cut.empty.is_some() as u64,
            empty,
            tiles,
            stretches: room.stretches,
            cut: room.cut,
            parts: 4 * room.stretches + 2 * room.cut,
            ends: 0,
        };
        let recipe = recipe(spec, 0, true);
        debug_assert_eq!(recipe.output, code(result));
        let launch = |entry: &str, grid: u64, warps: u32, shape: Segments| {
            let call = Call { at: SegmentsAt::default(), recipe, shape };
            Launch::new(format!("{entry}_{}", fold.name), grid as u32, warps * 32, &call)
        };
        let mut launches = vec![launch("segments", grid, WARPS, shape)];
        if len > short {
            let each = STRETCH_WARPS as u64;
            let stretches = room.stretches.div_ceil(each).min(most / each);
            let ends = room.cut.min(2 * blocks);
            launches.push(launch("stretches", stretches, STRETCH_WARPS, shape));
            launches.push(launch("stretches", ends, STRETCH_WARPS, Segments { ends: 1, ..shape }));
        }
        Some(Self {
            launches,
            workspace: COUNTERS + 4 * (shape.parts + room.parts * fold.facts.words as u64) as usize,
            bytes: len * size + (segments + 1) * shape.size + segments * pair * result.size() as u64,
        })
    }
}
