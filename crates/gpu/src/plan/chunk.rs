//! Plans of one row that comes in chunks, each of which is a launch that goes on where the last one ended.

use warpfold_kernels::reduce::call::CallAt;
use warpfold_kernels::reduce::shape::parts::room;
use warpfold_kernels::reduce::shape::piece::Dense;
use warpfold_kernels::reduce::shape::rows::Rows;
use warpfold_kernels::reduce::table::KEPT;
use warpfold_kernels::reduce::workspace::COUNTERS;

use super::launch::Launch;
use super::planner::Planner;
use super::policy::{CHUNK_TILES, WARPS};

/// A piece of an input that comes in pieces, and what to launch for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk {
    /// Its first byte.
    pub start: usize,
    /// Its bytes.
    pub len: usize,
    /// What to launch when it is there; the input's address is the chunk's.
    pub launches: Vec<Launch<CallAt>>,
    /// Bytes of workspace that all chunks share.
    pub workspace: usize,
}

/// One row in chunks of at most `bytes` bytes; none, if that is too few.
pub(super) fn chunks(planner: &Planner<'_>, bytes: usize) -> Vec<Chunk> {
    let block = WARPS * CHUNK_TILES * planner.tile();
    let size = planner.problem.size;
    let chunk = (bytes / size) as u64 / block * block;
    if chunk == 0 {
        return Vec::new();
    }
    let count = planner.problem.count as u64;
    let total = count.div_ceil(block);
    let workspace = COUNTERS + 4 * room(total) as usize * planner.fold.facts.words;
    let piece = |i: u64| {
        let start = i * chunk;
        let len = chunk.min(count - start);
        let shape = Rows {
            outputs: planner.outputs::<KEPT>(&[]),
            len,
            tiles: CHUNK_TILES as u32,
            warps: WARPS as u32,
            blocks: len.div_ceil(block) as u32,
            first: (start / block) as u32,
            all: total as u32,
            abreast: 0,
            reduced: Dense { end: len * size as u64 },
        };
        let launch = planner.launch(format!("rows_{}", planner.fold.name), len.div_ceil(block), WARPS, shape);
        Chunk { start: start as usize * size, len: len as usize * size, launches: vec![launch], workspace }
    };
    (0..count.div_ceil(chunk)).map(piece).collect()
}
