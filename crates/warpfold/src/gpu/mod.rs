//! What a GPU is to launch for a reduction: a plain value, made without a GPU.

use crate::dispatch::Spec;
use crate::problem::Problem;

/// Bytes at the start of the workspace that are zero whenever no kernel runs: counters, which kernels reset themselves.
pub const COUNTERS: usize = 64 << 10;

/// Which word of the counters a kernel sets if an output has no value (nothing to reduce, or only NaN).
pub const STATUS: usize = COUNTERS / 4 - 1;

/// What the planner has to know of a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Bytes per second that a plain read reaches, for predictions.
    pub bandwidth: f64,
}

/// One kernel launch. The first four words of the parameters are addresses, filled in before the launch: input (the first
/// element in canonical order, at `Problem::x_offset`), mask (likewise), output, workspace.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// The kernel.
    pub entry: String,
    /// Blocks.
    pub grid: u32,
    /// Threads per block.
    pub block: u32,
    /// The kernel's one parameter, a struct of so many 64-bit words.
    pub params: Vec<u64>,
}

/// All launches of a reduction, in order on one stream.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuPlan {
    /// In order.
    pub launches: Vec<Launch>,
    /// Bytes of workspace: [`COUNTERS`] bytes of zeros, then room for partial results.
    pub workspace: usize,
    /// Bytes read and written, once each.
    pub bytes: u64,
}

impl GpuPlan {
    /// Chooses kernels for a problem.
    pub fn new(spec: &Spec, problem: &Problem, limits: &Limits) -> Self {
        let _ = (spec, problem, limits);
        Self { launches: Vec::new(), workspace: COUNTERS, bytes: 0 }
    }
}

/// A part of an input that comes in parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk {
    /// Of the input's bytes in canonical order, the first.
    pub start: usize,
    /// How many.
    pub len: usize,
    /// What to launch when they are on the device. The first address is that of the part's first byte.
    pub launches: Vec<Launch>,
}

impl GpuPlan {
    /// Cuts the reduced axes of a problem whose input is dense into parts of at most `chunk_bytes`, to be launched in order
    /// with one workspace. None, if that cannot be.
    pub fn chunked(spec: &Spec, problem: &Problem, limits: &Limits, chunk_bytes: usize) -> Vec<Chunk> {
        let _ = (spec, problem, limits, chunk_bytes);
        Vec::new()
    }
}
